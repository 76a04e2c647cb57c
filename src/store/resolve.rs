//! Decisions: cancel, resolve, wake.

use std::time::Duration;

use rusqlite::named_params;

use super::attempts;
use super::intake::thaw;
use super::order::parents;
use super::parts;
use super::profiles;
use super::rows::Want;
use super::step::rebase_one;
use super::submissions::{self, Due, Row, ask, by_id, change, floor_left};
use super::takeover::quiet_time;
use super::view::{self, answer_checksum};
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::links::PartValue;
use crate::model::outcome::{CancelOutcome, Resolution, Snapshot};
use crate::model::request::invalid;
use crate::model::state::{Decision, Event, HoldReason, SubmissionState};
use crate::model::submission::Effect;
use crate::policy::age::{key_lifetime, lifetime_over};
use crate::policy::limits::Limits;
use crate::policy::profile::KeyScope;

/// Cancels, or asks for it while an attempt is open.
pub(super) fn cancel(tx: &Tx<'_>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
    let Some(mut row) = by_id(tx.connection, id)? else {
        return view::snapshot(tx.connection, id)?.ok_or(OutboxError::UnknownId { id });
    };
    if !row.state.is_final() {
        let transition = ask(tx, &row, Event::Cancel)?;
        let changes = transition.next.visible != row.state
            || transition.next.cancel_requested != row.cancel_requested;
        if changes {
            change(tx, &mut row, &transition, Due::Unchanged)?;
        }
    }
    Ok(view::whole(tx.connection, id)?)
}

/// What a cancelled submission's snapshot says, in a word. `was_final` before the call.
pub(crate) fn cancel_outcome(snapshot: Snapshot, was_final: bool) -> CancelOutcome {
    match snapshot.state {
        SubmissionState::Cancelled if !was_final => CancelOutcome::Cancelled,
        state if state.is_final() => CancelOutcome::AlreadyFinal { snapshot },
        _ => CancelOutcome::MayHaveHappened { snapshot },
    }
}

/// Carries out a decision about a held submission, if nothing has changed since the revision that
/// it is about.
pub(super) fn resolve(
    tx: &Tx<'_>,
    id: SubmissionId,
    revision: i64,
    resolution: &Resolution,
    limits: &Limits,
    credentials: Option<i64>,
) -> Result<Snapshot, OutboxError> {
    let Some(mut row) = by_id(tx.connection, id)? else {
        return match view::snapshot(tx.connection, id)? {
            Some(current) => Err(OutboxError::NotHeld {
                current: Box::new(current),
            }),
            None => Err(OutboxError::UnknownId { id }),
        };
    };
    let current = Box::new(view::whole(tx.connection, id)?);
    if row.revision != revision {
        return Err(OutboxError::Stale { current });
    }
    if !matches!(row.state, SubmissionState::Held { .. }) {
        return Err(OutboxError::NotHeld { current });
    }
    match resolution {
        Resolution::RetrySameKey {
            accept_second_effect,
        } => retry(
            tx,
            &mut row,
            *accept_second_effect,
            current,
            limits,
            credentials,
        )?,
        Resolution::FillParts { values } => fill(tx, &mut row, values, current, limits)?,
        Resolution::ItHappened { result } => happened(tx, &mut row, result.as_deref())?,
        Resolution::GiveUp => {
            let transition = ask(tx, &row, Event::Decided(Decision::GiveUp))?;
            change(tx, &mut row, &transition, Due::Unchanged)?;
        }
    }
    Ok(view::whole(tx.connection, id)?)
}

fn retry(
    tx: &Tx<'_>,
    row: &mut Row,
    accept_second_effect: bool,
    current: Box<Snapshot>,
    limits: &Limits,
    credentials: Option<i64>,
) -> Result<(), OutboxError> {
    let unsendable = matches!(
        row.state,
        SubmissionState::Held {
            reason: HoldReason::Damaged | HoldReason::ParentResultMissing
        }
    );
    if unsendable || parents::failed(tx.connection, row)? {
        return Err(OutboxError::CannotRetry { current });
    }
    let credentials = credentials.filter(|_| row.account.is_some());
    let reading = attempts::reading(tx)?;
    let profile = profiles::read(tx.connection, row.profile)?;
    let lifetime = key_lifetime(row.effect, &profile, limits.horizon);
    let earliest = attempts::earliest_in_doubt(tx, row, &reading)?;
    // With other credentials it would be another key to the server, and the next claim would hold it
    // again.
    let other_key = row.effect == Effect::Keyed
        && profile.key_scope == KeyScope::Token
        && attempts::in_doubt_with_others(tx.connection, row.seq, credentials)?;
    let over = other_key || lifetime_over(earliest.as_ref(), &reading, lifetime);
    if over && !accept_second_effect {
        return Err(OutboxError::NeedsConsent { current });
    }
    let transition = ask(tx, row, Event::Decided(Decision::Retry))?;
    row.failures = 0;
    row.answered = 0;
    row.answered_for = Duration::ZERO;
    row.busy = 0;
    row.busy_for = Duration::ZERO;
    row.same_status = None;
    row.same = 0;
    row.same_for = Duration::ZERO;
    row.want = Want::Nothing;
    if accept_second_effect && earliest.is_some() {
        // Kept also where it isn't needed yet: the lifetime may end before the next claim.
        row.consent = true;
        row.epoch += 1;
    }
    let due = after_quiet_time(tx, row, limits)?;
    change(tx, row, &transition, due)
}

/// A decision doesn't shorten the quiet time: the server may still be working.
fn after_quiet_time(tx: &Tx<'_>, row: &Row, limits: &Limits) -> rusqlite::Result<Due> {
    let floor = floor_left(tx, row, quiet_time(tx, row, limits)?);
    Ok(Due::In {
        delay: floor,
        floor,
    })
}

fn fill(
    tx: &Tx<'_>,
    row: &mut Row,
    values: &[PartValue],
    current: Box<Snapshot>,
    limits: &Limits,
) -> Result<(), OutboxError> {
    let missing = SubmissionState::Held {
        reason: HoldReason::ParentResultMissing,
    };
    if row.state != missing {
        return Err(invalid(
            "resolution",
            "FillParts is for what is held since its parent's result lacks a part",
        ));
    }
    let Some(template) = thaw(tx.connection, row)? else {
        return Err(OutboxError::CannotRetry { current });
    };
    parts::supply(tx, row, &template, values)?;
    let transition = ask(tx, row, Event::Decided(Decision::Fill))?;
    let due = after_quiet_time(tx, row, limits)?;
    change(tx, row, &transition, due)
}

fn happened(tx: &Tx<'_>, row: &mut Row, result: Option<&str>) -> Result<(), OutboxError> {
    let transition = ask(tx, row, Event::Decided(Decision::Happened))?;
    if let Some(result) = result {
        let body = Some(result.as_bytes());
        // Attempts are numbered from one, so that a decision's result never meets theirs.
        tx.connection
            .prepare_cached(
                "INSERT INTO answer (attempt, submission, headers, missing, checksum, body)
                 VALUES (:attempt, :submission, '[]', 0, :checksum, :body)",
            )?
            .execute(named_params! {
                ":attempt": -row.seq,
                ":submission": row.seq,
                ":checksum": answer_checksum(None, None, &[], body),
                ":body": body,
            })?;
    }
    change(tx, row, &transition, Due::Unchanged)
}

/// Ends a backoff early, never a server's wait or a quiet time.
pub(super) fn wake(tx: &Tx<'_>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
    let Some(row) = by_id(tx.connection, id)? else {
        return view::snapshot(tx.connection, id)?.ok_or(OutboxError::UnknownId { id });
    };
    rebase_one(tx, row.seq)?;
    tx.connection
        .prepare_cached(
            "UPDATE submission SET
                due_wall = due_wall - (due_uptime - max(coalesce(floor_uptime, :now), :now)),
                due_uptime = max(coalesce(floor_uptime, :now), :now)
             WHERE seq = :seq AND boot = :boot AND due_uptime > max(coalesce(floor_uptime, :now), :now)",
        )?
        .execute(named_params! {
            ":now": tx.now.uptime.0,
            ":boot": tx.boot,
            ":seq": row.seq,
        })?;
    if row.state == SubmissionState::Pending {
        submissions::feed(tx, &row)?;
    }
    Ok(view::whole(tx.connection, id)?)
}
