//! Decisions: cancel, resolve, wake.

use std::time::Duration;

use rusqlite::{Connection, named_params};

use super::attempts;
use super::intake::thaw;
use super::order::parents;
use super::parts;
use super::probes;
use super::profiles;
use super::rows::{Want, read_id, spell_hold};
use super::step::rebase_one;
use super::submissions::{self, Due, Row, ask, by_id, change, floor_left, or_quarantine};
use super::takeover::quiet_time;
use super::view::{self, answer_checksum};
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::links::PartValue;
use crate::model::outcome::{CancelOutcome, Resolution, ResolvedAll, Snapshot};
use crate::model::request::invalid;
use crate::model::state::{Decision, Event, HoldReason, SubmissionState};
use crate::model::submission::Effect;
use crate::policy::age::{key_lifetime, lifetime_over};
use crate::policy::limits::{Limits, STEP_ROWS};
use crate::policy::profile::KeyScope;
use crate::weakness::{self, Weakness};

/// Cancels, or asks for it while an attempt is open.
pub(super) fn cancel(tx: &Tx<'_>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
    let Some(mut row) = by_id(tx.connection, id)? else {
        return view::snapshot(tx.connection, id)?.ok_or(OutboxError::UnknownId { id });
    };
    if !row.state.is_final() || weakness::is_out(Weakness::NoTerminalGuard) {
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

/// How far a decision about many has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResolvingAll {
    /// Everything up to this position has been looked at.
    pub(super) after: i64,
    pub(super) resolved: ResolvedAll,
}

/// The position of the last that is held.
pub(super) fn last_held(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT max(seq) FROM submission WHERE state = 'held'")?
        .query_row([], |row| row.get(0))
}

/// Carries a decision out for some of those up to `last` that are held for a reason, each at the
/// revision that it has now.
pub(super) fn resolve_some(
    tx: &Tx<'_>,
    so_far: ResolvingAll,
    last: i64,
    reason: HoldReason,
    resolution: &Resolution,
    limits: &Limits,
    credentials: Option<i64>,
) -> Result<ResolvingAll, OutboxError> {
    let ResolvingAll {
        mut after,
        mut resolved,
    } = so_far;
    let rows: Vec<(i64, [u8; 16], i64, Option<String>)> = tx
        .connection
        .prepare_cached(
            "SELECT seq, id, revision, reason FROM submission INDEXED BY submission_held
             WHERE state = 'held' AND seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3",
        )?
        .query_map((after, last, STEP_ROWS as i64), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<Result<_, _>>()?;
    let more = rows.len() == STEP_ROWS;
    for (seq, id, revision, held_for) in rows {
        after = seq;
        if held_for.as_deref() != Some(spell_hold(&reason)) {
            continue;
        }
        match resolve(tx, read_id(id), revision, resolution, limits, credentials) {
            Ok(_) => resolved.resolved = resolved.resolved.saturating_add(1),
            Err(OutboxError::NeedsConsent { .. } | OutboxError::CannotRetry { .. }) => {
                resolved.refused = resolved.refused.saturating_add(1);
            }
            // A row that can't be read is put aside.
            Err(error) => {
                or_quarantine::<Snapshot>(tx, seq, Err(error))?;
                resolved.refused = resolved.refused.saturating_add(1);
            }
        }
    }
    Ok(ResolvingAll {
        after: if more { after } else { last },
        resolved,
    })
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
    parents::supplied(tx, row)?;
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

/// Ends a backoff early, never a server's wait or a quiet time. Asks a status probe once more.
pub(super) fn wake(tx: &Tx<'_>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
    let Some(mut row) = by_id(tx.connection, id)? else {
        return view::snapshot(tx.connection, id)?.ok_or(OutboxError::UnknownId { id });
    };
    probes::wake(tx, &mut row)?;
    hasten(tx, &mut row)?;
    Ok(view::whole(tx.connection, id)?)
}

/// Makes due now what waits for its time alone.
pub(super) fn hasten(tx: &Tx<'_>, row: &mut Row) -> Result<(), OutboxError> {
    rebase_one(tx, row.seq)?;
    let woken = tx
        .connection
        .prepare_cached(
            "UPDATE submission SET revision = revision + 1,
                due_wall = due_wall - (due_uptime - max(coalesce(floor_uptime, :now), :now)),
                due_uptime = max(coalesce(floor_uptime, :now), :now)
             WHERE seq = :seq AND boot = :boot AND due_uptime > max(coalesce(floor_uptime, :now), :now)",
        )?
        .execute(named_params! {
            ":now": tx.now.uptime.0,
            ":boot": tx.boot,
            ":seq": row.seq,
        })?;
    if woken > 0 {
        row.revision += 1;
        submissions::feed(tx, row)?;
    }
    Ok(())
}
