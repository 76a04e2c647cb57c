//! Status probes: what would be held for its doubt is asked about first, and what is held for it is
//! asked about meanwhile.
//!
//! A probe is no attempt: nothing is recorded of it but when to ask next and how often it was in vain.
//! One that is asked is due again after the time of a lease, so that it survives its process; two that
//! are asked at once only find the same. "It isn't there" closes the attempts that had ended, with the
//! horizon behind them, when it was asked. It is bound to their number: a claim makes it void.

mod horizon;
mod queue;

use std::time::Duration;

use rusqlite::{OptionalExtension, named_params};

use self::horizon::{Horizon, horizon};
use self::queue::{due, lots, quiet_left, schedule, unschedule};
pub(super) use self::queue::{hasten, next, rebase};
use super::attempts::{self, End};
use super::claim::forgotten;
use super::gates::{self, Access, HostGate, Terms, Usable};
use super::intake::thaw;
use super::profiles;
use super::rows::Want;
use super::settle::{KeptAnswer, keep_answer};
use super::submissions::{
    self, Due, Row, ask, change, feed, note_problem, or_quarantine, state_of,
};
use super::totals;
use super::writer::Tx;
use crate::clock::{WallMs, whole_millis};
use crate::error::OutboxError;
use crate::model::state::{
    AttemptMark, Event, Evidence, HoldReason, State, SubmissionState, Transition,
};
use crate::model::transition;
use crate::policy::backoff::exponential;
use crate::policy::limits::{Limits, PROBE_TRIES};
use crate::policy::probe::{StatusProbe, Told};
use crate::policy::profile::ServerProfile;

/// A probe to ask now.
pub(crate) struct Question {
    pub(crate) about: Bound,
    pub(crate) probe: StatusProbe,
    pub(crate) profile: ServerProfile,
    /// Whose credentials to ask with, and which.
    pub(crate) credentials: Option<Usable>,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The submission's row.
    pub(crate) submission: i64,
    /// Attempts begun when it was asked.
    pub(crate) attempts: u32,
    /// All that they sent had arrived or was gone when it was asked.
    pub(crate) settled: bool,
    /// It asks for the key's record.
    pub(crate) of_key_record: bool,
    /// Which of the account's credentials it is asked with.
    pub(crate) credentials: Option<i64>,
}

/// What came of a question.
#[derive(Clone)]
pub(crate) struct Probed {
    pub(crate) about: Bound,
    /// `None`: it was stopped from this side, which says nothing.
    pub(crate) told: Option<Told>,
    /// Of the answer, where there was one.
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    /// The server's clock, where the answer told it.
    pub(crate) server_time: Option<WallMs>,
    /// A random share of a wait to add to it, in thousandths.
    pub(crate) spread: u32,
}

const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

/// True if a transition holds for a doubt that a probe may still end.
pub(super) fn instead_of(row: &Row, to: &State) -> bool {
    to.visible == UNKNOWN && row.has_probe && row.probes < PROBE_TRIES
}

/// Asks about a pending submission that would be held otherwise.
pub(super) fn ask_first(tx: &Tx<'_>, row: &mut Row) -> Result<(), OutboxError> {
    schedule(tx, row, Duration::ZERO, Want::Nothing)?;
    row.revision += 1;
    tx.connection
        .prepare_cached("UPDATE submission SET revision = ?2 WHERE seq = ?1")?
        .execute((row.seq, row.revision))?;
    feed(tx, row)
}

/// After a change: asks about what is held for doubt, goes on about what would be, and forgets the rest.
pub(super) fn follow(
    tx: &Tx<'_>,
    row: &mut Row,
    to: &State,
    due: Option<Due>,
) -> rusqlite::Result<()> {
    if !row.has_probe {
        return Ok(());
    }
    let doubtful = to.doubt.unknown > 0 && !to.doubt.applied;
    match due {
        Some(Due::Unchanged) if row.probe_at.is_some() && !doubtful => {
            unschedule(tx, row)?;
            // Its doubt is over, so nothing speaks against sending it.
            submissions::make_due(tx, row)
        }
        Some(Due::Unchanged) => Ok(()),
        None if doubtful && is_held_for_doubt(row.state) => {
            if row.probe_at.is_none() && row.probes < PROBE_TRIES {
                schedule(tx, row, Duration::ZERO, Want::Nothing)?;
            }
            Ok(())
        }
        Some(Due::Now | Due::In { .. }) | None => unschedule(tx, row),
    }
}

fn is_held_for_doubt(state: SubmissionState) -> bool {
    let SubmissionState::Held { reason } = state else {
        return false;
    };
    match reason {
        HoldReason::OutcomeUnknown | HoldReason::CancelRequested | HoldReason::ExpiredInDoubt => {
            true
        }
        // A copy is released by a call of its own; the others aren't about a doubt.
        HoldReason::Restored
        | HoldReason::Conflict
        | HoldReason::Damaged
        | HoldReason::ParentResultMissing
        | HoldReason::KeyUsedElsewhere => false,
    }
}

/// Asks now what waits for its time, or once more what was asked in vain.
pub(super) fn wake(tx: &Tx<'_>, row: &mut Row) -> Result<(), OutboxError> {
    let doubt = attempts::doubt(tx.connection, row.seq)?;
    let asks = is_held_for_doubt(row.state) && doubt.in_doubt() && row.has_probe;
    if row.state == SubmissionState::Pending && row.probe_at.is_some() {
        return ask_first(tx, row);
    }
    if asks {
        // The revision stays, so that a decision about it doesn't become stale.
        schedule(tx, row, Duration::ZERO, Want::Nothing)?;
    }
    Ok(())
}

/// Takes what is due and has its way open.
pub(super) fn claim(
    tx: &Tx<'_>,
    limits: &Limits,
    most: usize,
    terms: &Terms,
) -> Result<Vec<Question>, OutboxError> {
    let mut questions = Vec::new();
    if most == 0 {
        return Ok(questions);
    }
    for lot in lots(tx, terms)? {
        if lot.access != Access::Open {
            continue;
        }
        for seq in due(tx, lot.channel, most.saturating_sub(questions.len()))? {
            let row = submissions::by_seq(tx.connection, seq).map_err(OutboxError::from);
            let question = row.and_then(|row| claim_one(tx, row, limits, terms));
            questions.extend(or_quarantine(tx, seq, question)?.flatten());
        }
    }
    Ok(questions)
}

fn claim_one(
    tx: &Tx<'_>,
    mut row: Row,
    limits: &Limits,
    terms: &Terms,
) -> Result<Option<Question>, OutboxError> {
    let doubt = attempts::doubt(tx.connection, row.seq)?;
    let asked_about = row.state == SubmissionState::Pending || is_held_for_doubt(row.state);
    let Some(request) = thaw(tx.connection, &row)? else {
        if row.state.is_final() {
            unschedule(tx, &mut row)?;
            return Ok(None);
        }
        let transition = ask(tx, &row, Event::RowDamaged)?;
        note_problem(
            tx,
            &row,
            "the stored bytes are not the ones that were accepted",
        )?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        return Ok(None);
    };
    let (true, true, Some(probe)) = (asked_about, doubt.unknown > 0, request.probe) else {
        // A flipped bit, or a state that was set for many at once.
        unschedule(tx, &mut row)?;
        return Ok(None);
    };
    let credentials = match row.account.is_some() {
        true => terms.credentials.clone(),
        false => None,
    };
    let about = Bound {
        submission: row.seq,
        attempts: row.attempts,
        settled: horizon(tx, &row, limits.horizon)? == Horizon::Passed,
        of_key_record: probe.asks.of_key_record,
        credentials: credentials.as_ref().map(|usable| usable.number),
    };
    on_the_wire(tx, &row, limits)?;
    Ok(Some(Question {
        about,
        probe: probe.asks,
        profile: request.profile,
        credentials,
    }))
}

/// Due again if nobody tells what came of it. A lease is longer than a request may take.
fn on_the_wire(tx: &Tx<'_>, row: &Row, limits: &Limits) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET probe_uptime = :at, probe_wall = :wall, delay = :delay,
                network_wait = 0 WHERE seq = :seq",
        )?
        .execute(named_params! {
            ":at": tx.now.uptime.plus(limits.lease).0,
            ":wall": tx.now.wall.plus(limits.lease).0,
            ":delay": whole_millis(limits.lease),
            ":seq": row.seq,
        })?;
    Ok(())
}

/// Writes what a question found. Returns the state that it led to, if it led to another.
pub(super) fn settle(
    tx: &Tx<'_>,
    probed: &Probed,
    limits: &Limits,
) -> Result<Option<SubmissionState>, OutboxError> {
    if let Some(server_time) = probed.server_time {
        attempts::note_server_time(tx, server_time)?;
    }
    // Retention may have dropped it, and its tombstone says how it ended.
    let row = submissions::by_seq(tx.connection, probed.about.submission).optional()?;
    let Some(mut row) = row.filter(|row| !row.state.is_final()) else {
        return Ok(None);
    };
    let before = row.state;
    let gate = gate(tx, &row, probed, limits)?;
    match &probed.told {
        Some(Told::Applied { result }) => applied(tx, &mut row, probed, result)?,
        // Another attempt has begun since, or a decision was made: what was found is of the past.
        _ if row.attempts != probed.about.attempts || row.probe_at.is_none() => {}
        Some(Told::Absent) => absent(tx, &mut row, probed, limits)?,
        Some(Told::NoAnswer) => in_vain(tx, &mut row, probed, limits)?,
        // Without an account there are no others to ask with.
        Some(Told::Refused) if !gate => in_vain(tx, &mut row, probed, limits)?,
        Some(Told::Unreached | Told::Busy { .. } | Told::Refused) => {
            row.failures = row.failures.saturating_add(1);
            let wait = backoff(row.failures, probed, limits);
            schedule(tx, &mut row, wait, Want::Network)?;
        }
        None => schedule(tx, &mut row, Duration::ZERO, Want::Nothing)?,
    }
    Ok((row.state != before).then_some(row.state))
}

/// What an answer says of the host and of the credentials, as for a send. True if a gate was closed.
fn gate(tx: &Tx<'_>, row: &Row, probed: &Probed, limits: &Limits) -> rusqlite::Result<bool> {
    match (&probed.told, probed.about.credentials) {
        (Some(Told::Busy { asked }), _) => {
            let asked = asked.map(|asked| asked.min(limits.server_wait_most));
            let gate = HostGate {
                asked,
                spread: probed.spread,
            };
            gates::close_host(tx, row.seq, &gate, limits).map(|()| true)
        }
        (Some(Told::Refused), Some(number)) => {
            gates::refuse_credentials(tx, row.seq, 0, number).map(|()| true)
        }
        _ => Ok(false),
    }
}

fn backoff(times: u32, probed: &Probed, limits: &Limits) -> Duration {
    let wait = exponential(times, limits);
    wait + wait.saturating_mul(probed.spread) / 1_000
}

/// It took effect, by whichever attempt: that is true whenever it was asked.
fn applied(tx: &Tx<'_>, row: &mut Row, probed: &Probed, result: &[u8]) -> Result<(), OutboxError> {
    let Some(attempt) = attempts::earliest_unknown(tx.connection, row.seq)? else {
        return Ok(());
    };
    let transition = ask(tx, row, Event::LateProof(Evidence::Applied))?;
    let end = End {
        mark: AttemptMark::Applied,
        ended: false,
        status: None,
        problem: None,
    };
    attempts::end(tx, attempt, &end)?;
    tx.count(totals::DOUBTS_SETTLED, 1);
    let answer = KeptAnswer {
        status: probed.status,
        content_type: probed.content_type.clone(),
        headers: Vec::new(),
        body: Some(result.to_vec()),
    };
    keep_answer(tx, row, attempt, &answer, true)?;
    change(tx, row, &transition, Due::Unchanged)
}

fn absent(tx: &Tx<'_>, row: &mut Row, probed: &Probed, limits: &Limits) -> Result<(), OutboxError> {
    // The record of a key may be forgotten by now; the effect isn't.
    if probed.about.of_key_record {
        let reading = attempts::reading(tx)?;
        let profile = profiles::read(tx.connection, row.profile)?;
        let asked_with = probed.about.credentials;
        if forgotten(tx, row, &profile, limits, &reading, asked_with)?.is_some() {
            return in_vain(tx, row, probed, limits);
        }
    }
    if probed.about.settled {
        return not_applied(tx, row);
    }
    match horizon(tx, row, limits.horizon)? {
        Horizon::In(left) => Ok(schedule(tx, row, left, Want::Nothing)?),
        Horizon::Passed => Ok(schedule(tx, row, Duration::ZERO, Want::Nothing)?),
        Horizon::Open => in_vain(tx, row, probed, limits),
    }
}

/// None of its attempts took effect, nor will.
fn not_applied(tx: &Tx<'_>, row: &mut Row) -> Result<(), OutboxError> {
    let mut state = state_of(tx.connection, row)?;
    while state.doubt.unknown > 0 {
        let proof = Event::LateProof(Evidence::NotApplied(None));
        #[cfg(debug_assertions)]
        crate::trace::asked(&state, proof);
        state = transition::next(&state, proof)?.next;
    }
    attempts::close_unknown_since(tx, row, 0, 0)?;
    let floor = quiet_left(tx, row)?;
    let transition = Transition {
        next: state,
        fresh_start: false,
        late: false,
    };
    let due = Due::In {
        delay: floor,
        floor,
    };
    change(tx, row, &transition, due)
}

/// Asks again a few times; then a person decides. Once more when the horizon has passed, since "it isn't
/// there" says something from then on.
fn in_vain(
    tx: &Tx<'_>,
    row: &mut Row,
    probed: &Probed,
    limits: &Limits,
) -> Result<(), OutboxError> {
    row.probes = row.probes.saturating_add(1);
    if row.probes < PROBE_TRIES {
        let wait = backoff(row.probes, probed, limits);
        return Ok(schedule(tx, row, wait, Want::Nothing)?);
    }
    unschedule(tx, row)?;
    if row.state == SubmissionState::Pending {
        let transition = ask(tx, row, Event::KeyLifetimeOver)?;
        change(tx, row, &transition, Due::Unchanged)?;
    }
    let once_more = match horizon(tx, row, limits.horizon)? {
        Horizon::Passed => None,
        Horizon::In(left) => Some(left),
        Horizon::Open => Some(limits.horizon),
    };
    if row.probes == PROBE_TRIES
        && let Some(wait) = once_more
    {
        schedule(tx, row, wait, Want::Nothing)?;
    }
    Ok(())
}
