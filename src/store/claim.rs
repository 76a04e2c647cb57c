//! A step of the pump: settle what was answered, take over what dead owners left, turn what has
//! expired, make ready what is due, and claim. One transaction, bounded, O(log n) for each row that
//! it touches: nothing that isn't due is looked at.

use std::time::Duration;

use super::attempts::{self, End};
use super::intake::thaw;
use super::owner::{self, Life, LockFile, Other, Owner};
use super::profiles;
use super::settle::{Finished, settle};
use super::submissions::{self, Due, Row, ask, change, note_problem, or_quarantine, set_floor};
use super::writer::Tx;
use crate::clock::{UptimeMs, WallMs};
use crate::error::OutboxError;
use crate::model::request::FrozenRequest;
use crate::model::state::{AttemptMark, Ending, Event, Proof, SubmissionState, Then};
use crate::model::submission::Effect;
use crate::policy::age::{Reading, key_lifetime, lifetime_over};
use crate::policy::limits::{LOOK_FOR_DEAD_EVERY, Limits, STEP_ROWS};

/// What a step is to do.
#[derive(Clone, Default)]
pub(crate) struct Step {
    /// Exchanges that have ended.
    pub(crate) finished: Vec<Finished>,
    /// Claims at most.
    pub(crate) capacity: usize,
    /// Requests of this outbox are on the wire: its lease must still hold.
    pub(crate) on_the_wire: bool,
}

/// What a step did.
pub(crate) struct Stepped {
    /// The state that each finished exchange led to.
    pub(crate) settled: Vec<SubmissionState>,
    /// The lease ran out while requests were on the wire. Nothing was claimed: stop them first,
    /// since others may have taken them over.
    pub(crate) lapsed: bool,
    /// Claimed, to be sent now.
    pub(crate) claims: Vec<Claim>,
    /// Until when the claims hold without being renewed.
    pub(crate) lease: UptimeMs,
    /// When something can be claimed next, whether there is room for it or not.
    pub(crate) due: Option<Duration>,
    /// When a step has something else to do: an expiry, or another process's submissions.
    pub(crate) chores: Option<Duration>,
}

/// A submission in flight, and its open attempt.
pub(crate) struct Claim {
    /// The submission's row.
    pub(crate) submission: i64,
    /// The attempt: the fence.
    pub(crate) attempt: i64,
    /// What to send.
    pub(crate) request: FrozenRequest,
    /// Failures in a row before this attempt.
    pub(crate) failures: u32,
    /// "In progress" answers before it, and the time since the first.
    pub(crate) busy: (u32, Duration),
}

pub(super) fn step(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    step: &Step,
    dead: &mut Vec<LockFile>,
) -> Result<Stepped, OutboxError> {
    let mut settled = Vec::with_capacity(step.finished.len());
    for finished in &step.finished {
        let state = settle(tx, finished);
        settled.extend(or_quarantine(tx, finished.submission, state)?.flatten());
    }
    let holds = owner::lease(tx, owner)?.is_some_and(|end| tx.now.uptime <= end);
    let lapsed = step.on_the_wire && !holds;
    let others_wait = take_over(tx, owner, limits, dead)?;
    expire(tx)?;
    rebase(tx)?;
    promote(tx)?;
    let capacity = if lapsed { 0 } else { step.capacity };
    let mut lease = tx.now.uptime;
    if capacity > 0 && has_ready(tx)? {
        // First, since the claims refer to this owner.
        lease = owner::extend(tx, owner, limits.lease)?;
    }
    let claims = claim(tx, owner, limits, capacity)?;
    if !claims.is_empty() || !settled.is_empty() {
        attempts::note_wall(tx)?;
    }
    Ok(Stepped {
        settled,
        lapsed,
        claims,
        lease,
        due: next_due(tx)?,
        chores: earliest([next_expiry(tx)?, others_wait]),
    })
}

/// The earliest of some times.
pub(crate) fn earliest<const N: usize>(times: [Option<Duration>; N]) -> Option<Duration> {
    times.into_iter().flatten().min()
}

/// Takes over what dead owners, and frozen ones whose lease is out, have in flight. Returns when to
/// look again, if another owner still has something.
fn take_over(
    tx: &Tx<'_>,
    own: &Owner,
    limits: &Limits,
    dead: &mut Vec<LockFile>,
) -> Result<Option<Duration>, OutboxError> {
    let mut look_again = None;
    for other in owner::others(tx.connection, own.id)? {
        let rows = in_flight_of(tx, other.id)?;
        let life = owner::life_of(own.folder(), &other.token)?;
        let (is_dead, lost) = match &life {
            Life::Dead(_) => (true, true),
            // A lock that is held proves that there was no reboot since; then both uptimes are of
            // one boot, unless the system names no boots. In doubt it keeps what it has.
            Life::Alive => (false, other.boot == tx.boot && lease_out(tx, &other)),
            // Without its file, it is gone after a reboot, or when its lease is out.
            Life::Unknown => {
                let gone = other.boot != tx.boot || lease_out(tx, &other);
                (gone, gone)
            }
        };
        if !lost {
            if !rows.is_empty() {
                look_again = Some(LOOK_FOR_DEAD_EVERY);
            }
            continue;
        }
        for seq in rows {
            let lost = lose(tx, seq, is_dead, limits);
            or_quarantine(tx, seq, lost)?;
        }
        if is_dead {
            tx.connection
                .prepare_cached("DELETE FROM owner WHERE id = ?1")?
                .execute([other.id])?;
        }
        if let Life::Dead(lock) = life {
            dead.push(lock);
        }
    }
    Ok(look_again)
}

fn lease_out(tx: &Tx<'_>, other: &Other) -> bool {
    tx.now.uptime > other.lease
}

fn in_flight_of(tx: &Tx<'_>, owner: i64) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached("SELECT seq FROM submission WHERE owner = ?1")?
        .query_map([owner], |row| row.get(0))?
        .collect()
}

/// A lost lease: the attempt is unknown, and the quiet time counts from here, since its real end
/// is not known. An attempt of a safe method has no effect, however it ended.
fn lose(tx: &Tx<'_>, seq: i64, ended: bool, limits: &Limits) -> Result<(), OutboxError> {
    let mut row = submissions::by_seq(tx.connection, seq)?;
    let (event, mark) = match row.effect {
        Effect::None => (
            Event::AttemptEnded(Ending {
                proves: Proof::NotApplied,
                closes_earlier: 0,
                then: Then::Retry,
            }),
            AttemptMark::NotApplied,
        ),
        Effect::Overwrite | Effect::Keyed | Effect::Unkeyed => {
            (Event::LeaseLost, AttemptMark::Unknown)
        }
    };
    let transition = ask(tx, &row, event)?;
    if let Some(attempt) = row.fence {
        attempts::end(
            tx,
            attempt,
            &End {
                mark,
                ended,
                status: None,
                problem: Some("its process ended or froze before the answer"),
            },
        )?;
    }
    let quiet = quiet_time(tx, &row, limits)?;
    row.owner = None;
    row.fence = None;
    if transition.next.visible.is_final() {
        super::settle::choose_result(tx, &row)?;
    }
    set_floor(tx, &mut row, quiet)?;
    let due = Due::In {
        delay: quiet,
        floor: quiet,
    };
    change(tx, &mut row, &transition, due)
}

/// How long the server may still be working on an attempt that got no answer.
pub(super) fn quiet_time(tx: &Tx<'_>, row: &Row, limits: &Limits) -> rusqlite::Result<Duration> {
    let profile = profiles::read(tx.connection, row.profile)?;
    Ok(limits.quiet_time.unwrap_or(profile.quiet_time))
}

/// Turns what has expired. The wall clock decides, since the app named a wall time.
fn expire(tx: &Tx<'_>) -> Result<(), OutboxError> {
    let expired: Vec<i64> = tx
        .connection
        .prepare_cached(
            "SELECT seq FROM submission WHERE expires_wall <= ?1 AND state <> 'in_flight'
             ORDER BY expires_wall LIMIT ?2",
        )?
        .query_map((tx.now.wall.0, STEP_ROWS as i64), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in expired {
        let row = submissions::by_seq(tx.connection, seq).map_err(OutboxError::from);
        let turned = row.and_then(|row| expire_one(tx, row));
        or_quarantine(tx, seq, turned)?;
    }
    Ok(())
}

fn expire_one(tx: &Tx<'_>, mut row: Row) -> Result<(), OutboxError> {
    let transition = ask(tx, &row, Event::ExpiryPassed)?;
    tx.connection
        .prepare_cached("UPDATE submission SET expires_wall = NULL WHERE seq = ?1")?
        .execute([row.seq])?;
    change(tx, &mut row, &transition, Due::Unchanged)
}

/// Brings waits of earlier boots into this one: what is left by the wall clock, and never more than
/// the whole wait, in case the clock was set back.
pub(super) fn rebase(tx: &Tx<'_>) -> rusqlite::Result<()> {
    for range in ["boot < :boot", "boot > :boot"] {
        tx.connection
            .prepare_cached(&format!(
                "UPDATE submission SET
                    due_uptime = :uptime + max(0, min(due_wall - :wall, delay)),
                    due_wall = :wall + max(0, min(due_wall - :wall, delay)),
                    floor_uptime = :uptime + max(0, min(due_wall - :wall, delay))
                        - (due_uptime - coalesce(floor_uptime, due_uptime)),
                    boot = :boot
                 WHERE seq IN (SELECT seq FROM submission
                    WHERE due_uptime IS NOT NULL AND {range} LIMIT :rows)"
            ))?
            .execute(rusqlite::named_params! {
                ":uptime": tx.now.uptime.0,
                ":wall": tx.now.wall.0,
                ":boot": tx.boot,
                ":rows": STEP_ROWS as i64,
            })?;
    }
    Ok(())
}

/// Makes ready what has become due. Each row once for each wait.
fn promote(tx: &Tx<'_>) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET ready = 1, due_uptime = NULL WHERE seq IN (
                SELECT seq FROM submission WHERE boot = ?1 AND due_uptime <= ?2
                ORDER BY due_uptime LIMIT ?3)",
        )?
        .execute((tx.boot, tx.now.uptime.0, STEP_ROWS as i64))?;
    Ok(())
}

/// Claims up to `capacity`, by priority, then in the order of acceptance.
fn claim(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    capacity: usize,
) -> Result<Vec<Claim>, OutboxError> {
    let mut claims = Vec::new();
    if capacity == 0 {
        return Ok(claims);
    }
    let mut reading = None;
    let rows = capacity.min(STEP_ROWS);
    // What is looked at and not claimed leaves the queue (held, rejected), so this ends.
    for _ in 0..STEP_ROWS {
        let heads = heads(tx, rows - claims.len())?;
        if heads.is_empty() {
            break;
        }
        for seq in heads {
            let reading = match &reading {
                Some(reading) => reading,
                None => &*reading.insert(attempts::reading(tx)?),
            };
            let row = submissions::by_seq(tx.connection, seq).map_err(OutboxError::from);
            let claimed = row.and_then(|row| claim_one(tx, owner, limits, row, reading));
            claims.extend(or_quarantine(tx, seq, claimed)?.flatten());
        }
        if claims.len() == rows {
            break;
        }
    }
    Ok(claims)
}

/// The first of what is ready, over all channels that have something ready. There are as many of
/// them as hosts, a few; the next one is found by one step in the index.
fn heads(tx: &Tx<'_>, most: usize) -> rusqlite::Result<Vec<i64>> {
    let mut heads: Vec<(i32, i64)> = Vec::new();
    let mut channel: Option<i64> = next_channel(tx, 0)?;
    while let Some(id) = channel {
        let mut statement = tx.connection.prepare_cached(
            "SELECT priority, seq FROM submission WHERE ready = 1 AND channel = ?1
             ORDER BY priority DESC, seq LIMIT ?2",
        )?;
        let rows = statement.query_map((id, most as i64), |row| Ok((row.get(0)?, row.get(1)?)))?;
        for head in rows {
            heads.push(head?);
        }
        channel = next_channel(tx, id)?;
    }
    heads.sort_by_key(|(priority, seq)| (std::cmp::Reverse(*priority), *seq));
    heads.truncate(most);
    Ok(heads.into_iter().map(|(_, seq)| seq).collect())
}

fn next_channel(tx: &Tx<'_>, after: i64) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached("SELECT min(channel) FROM submission WHERE ready = 1 AND channel > ?1")?
        .query_row([after], |row| row.get(0))
}

fn has_ready(tx: &Tx<'_>) -> rusqlite::Result<bool> {
    Ok(next_channel(tx, 0)?.is_some())
}

fn claim_one(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    mut row: Row,
    reading: &Reading,
) -> Result<Option<Claim>, OutboxError> {
    if row.expires.is_some_and(|expires| expires <= tx.now.wall) {
        expire_one(tx, row)?;
        return Ok(None);
    }
    if let Some((event, problem)) = refuse(tx, &row, limits, reading)? {
        let transition = ask(tx, &row, event)?;
        note_problem(tx, &row, problem)?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        return Ok(None);
    }
    let Some(request) = thaw(tx.connection, &row)? else {
        let transition = ask(tx, &row, Event::RowDamaged)?;
        note_problem(
            tx,
            &row,
            "the stored bytes are not the ones that were accepted",
        )?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        return Ok(None);
    };
    let transition = ask(tx, &row, Event::Claimed)?;
    attempts::note_retry(tx, &row)?;
    let attempt = attempts::open(tx, &row, owner.id, reading)?;
    row.attempts += 1;
    row.consent = false;
    row.owner = Some(owner.id);
    row.fence = Some(attempt);
    change(tx, &mut row, &transition, Due::Unchanged)?;
    Ok(Some(Claim {
        submission: row.seq,
        attempt,
        request,
        failures: row.failures,
        busy: (row.busy, row.busy_for),
    }))
}

/// Reasons not to send what is due.
fn refuse(
    tx: &Tx<'_>,
    row: &Row,
    limits: &Limits,
    reading: &Reading,
) -> rusqlite::Result<Option<(Event, &'static str)>> {
    if !row.consent {
        let profile = profiles::read(tx.connection, row.profile)?;
        let lifetime = key_lifetime(row.effect, &profile, limits.horizon);
        let earliest = attempts::earliest_in_doubt(tx, row, reading)?;
        if lifetime_over(earliest.as_ref(), reading, lifetime) {
            return Ok(Some((
                Event::KeyLifetimeOver,
                "an attempt is in doubt and the server may have forgotten the key",
            )));
        }
    }
    if row.answered >= limits.retry_attempts && row.answered_for >= limits.retry_time {
        return Ok(Some((Event::BudgetUsedUp, "the retry budget is used up")));
    }
    Ok(None)
}

/// When something of this outbox becomes due.
fn next_due(tx: &Tx<'_>) -> rusqlite::Result<Option<Duration>> {
    let (ready, other_boot, due): (bool, bool, Option<i64>) = tx
        .connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM submission WHERE ready = 1),
                EXISTS (SELECT 1 FROM submission WHERE due_uptime IS NOT NULL AND boot < ?1)
                    OR EXISTS (SELECT 1 FROM submission
                        WHERE due_uptime IS NOT NULL AND boot > ?1),
                (SELECT min(due_uptime) FROM submission WHERE boot = ?1
                    AND due_uptime IS NOT NULL)",
        )?
        .query_row([tx.boot], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if ready || other_boot {
        return Ok(Some(Duration::ZERO));
    }
    Ok(due.map(|due| UptimeMs(due).since(tx.now.uptime)))
}

fn next_expiry(tx: &Tx<'_>) -> rusqlite::Result<Option<Duration>> {
    let expiry: Option<i64> = tx
        .connection
        .prepare_cached(
            "SELECT min(expires_wall) FROM submission
             WHERE expires_wall IS NOT NULL AND state <> 'in_flight'",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(expiry.map(|expiry| WallMs(expiry).since(tx.now.wall)))
}
