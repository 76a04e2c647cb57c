//! A step of the pump: settle what was answered, take over what dead owners left, turn what has
//! expired, make ready what is due, and claim. One transaction, bounded, O(log n) for each row that
//! it touches: nothing that isn't due is looked at.

use std::time::Duration;

use super::claim::{Claim, claim, has_ready};
use super::gates::{self, Access, SignedIn, Terms, Way, awaits_unmetered, signed_in, ways};
use super::owner::{self, LockFile, Owner};
use super::probes::{Probed, Question};
use super::purge::{self, Purged};
use super::settle::{Finished, settle};
use super::submissions::{self, Due, Row, ask, change, or_quarantine};
use super::takeover::take_over;
use super::writer::Tx;
use super::{attempts, order, probes};
use crate::clock::{UptimeMs, WallMs};
use crate::error::OutboxError;
use crate::model::state::{Event, SubmissionState};
use crate::policy::limits::{Limits, STEP_ROWS};

/// What a step is to do.
#[derive(Clone, Default)]
pub(crate) struct Step {
    /// Exchanges that have ended.
    pub(crate) finished: Vec<Finished>,
    /// Questions that have ended.
    pub(crate) probed: Vec<Probed>,
    /// Claims and questions at most.
    pub(crate) capacity: usize,
    /// Questions among them at most.
    pub(crate) questions: usize,
    /// Requests of this outbox are on the wire: its lease must still hold.
    pub(crate) on_the_wire: bool,
    /// What may be claimed.
    pub(crate) terms: Terms,
}

impl Step {
    /// It has something to write down that came from a server.
    pub(crate) fn has_answers(&self) -> bool {
        !self.finished.is_empty() || !self.probed.is_empty()
    }
}

/// What a step did.
pub(crate) struct Stepped {
    /// The state that each finished exchange led to, and each submission that was held or settled
    /// without one.
    pub(crate) settled: Vec<SubmissionState>,
    /// The lease ran out while requests were on the wire. Nothing was claimed: stop them first,
    /// since others may have taken them over.
    pub(crate) lapsed: bool,
    /// Claimed, to be sent now.
    pub(crate) claims: Vec<Claim>,
    /// Status probes, to be asked now.
    pub(crate) questions: Vec<Question>,
    /// Until when the claims hold without being renewed.
    pub(crate) lease: UptimeMs,
    /// When something can be claimed next, whether there is room for it or not.
    pub(crate) due: Option<Duration>,
    /// When something can be asked next, in the same way.
    pub(crate) ask: Option<Duration>,
    /// When a step has something else to do: an expiry, or another process's submissions.
    pub(crate) chores: Option<Duration>,
    /// Submissions wait for an unmetered network alone.
    pub(crate) awaits_unmetered: bool,
    /// The account that is signed in.
    pub(crate) signed_in: Option<SignedIn>,
    /// Submissions of that account wait for nothing but credentials.
    pub(crate) needs_credentials: bool,
    /// How far the purges of accounts have come.
    pub(crate) purged: Purged,
    /// The attempts that this outbox has in flight, if it has any on the wire.
    pub(crate) in_flight: Vec<i64>,
}

pub(super) fn step(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    step: &Step,
    dead: &mut Vec<LockFile>,
) -> Result<Stepped, OutboxError> {
    rebase(tx)?;
    let mut settled = Vec::with_capacity(step.finished.len());
    for finished in &step.finished {
        let state = settle(tx, finished, limits);
        settled.extend(or_quarantine(tx, finished.submission, state)?.flatten());
    }
    for probed in &step.probed {
        let state = probes::settle(tx, probed, limits);
        settled.extend(or_quarantine(tx, probed.about.submission, state)?.flatten());
    }
    let holds = owner::lease(tx, owner)?.is_some_and(|end| tx.now.uptime <= end);
    let lapsed = step.on_the_wire && !holds;
    let others_wait = take_over(tx, owner, limits, dead)?;
    let purged = purge::piece(tx)?;
    expire(tx, &mut settled)?;
    promote(tx)?;
    // Before the claim, which depends on whose turn it is.
    order::follow_up(tx)?;
    let capacity = if lapsed { 0 } else { step.capacity };
    let questions = probes::claim(tx, limits, capacity.min(step.questions), &step.terms)?;
    let capacity = capacity - questions.len();
    let mut lease = tx.now.uptime;
    if capacity > 0 && has_ready(tx, &step.terms)? {
        // First, since the claims refer to this owner.
        lease = owner::extend(tx, owner, limits.lease)?;
    }
    let claims = claim(tx, owner, limits, capacity, &step.terms, &mut settled)?;
    // Before it is looked what is due next.
    order::follow_up(tx)?;
    if !claims.is_empty() || !settled.is_empty() {
        attempts::note_wall(tx)?;
    }
    let ways = ways(tx, &step.terms)?;
    let next_probe = probes::next(tx, &step.terms)?;
    Ok(Stepped {
        settled,
        lapsed,
        claims,
        lease,
        questions,
        due: next_due(tx, &ways)?,
        ask: next_probe.due,
        awaits_unmetered: awaits_unmetered(tx, &step.terms)?,
        signed_in: signed_in(tx.connection)?,
        needs_credentials: next_probe.needs_credentials
            || ways.iter().any(|way| way.access == Access::Credentials),
        chores: earliest([
            next_expiry(tx)?,
            others_wait,
            (purged != Purged::Nothing).then_some(Duration::ZERO),
        ]),
        purged,
        in_flight: match step.on_the_wire {
            true => owner::in_flight(tx, owner)?,
            false => Vec::new(),
        },
    })
}

/// The earliest of some times.
pub(crate) fn earliest<const N: usize>(times: [Option<Duration>; N]) -> Option<Duration> {
    times.into_iter().flatten().min()
}

/// Turns what has expired. The wall clock decides, since the app named a wall time.
fn expire(tx: &Tx<'_>, ended: &mut Vec<SubmissionState>) -> Result<(), OutboxError> {
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
        ended.extend(or_quarantine(tx, seq, turned)?);
    }
    Ok(())
}

pub(super) fn expire_one(tx: &Tx<'_>, mut row: Row) -> Result<SubmissionState, OutboxError> {
    let transition = ask(tx, &row, Event::ExpiryPassed)?;
    tx.connection
        .prepare_cached("UPDATE submission SET expires_wall = NULL WHERE seq = ?1")?
        .execute([row.seq])?;
    change(tx, &mut row, &transition, Due::Unchanged)?;
    Ok(transition.next.visible)
}

/// Brings waits of earlier boots into this one: what is left by the wall clock, and never more than
/// the whole wait, in case the clock was set back.
pub(super) fn rebase(tx: &Tx<'_>) -> rusqlite::Result<bool> {
    gates::rebase(tx)?;
    probes::rebase(tx)?;
    let rows = STEP_ROWS as i64;
    let earlier = rebase_where(tx, "boot < :boot AND :seq = 0", 0, rows)?;
    let later = rebase_where(tx, "boot > :boot AND :seq = 0", 0, rows)?;
    Ok(earlier + later > 0)
}

/// The same for one row.
pub(super) fn rebase_one(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    rebase_where(tx, "boot <> :boot AND seq = :seq", seq, 1).map(|_| ())
}

fn rebase_where(tx: &Tx<'_>, range: &str, seq: i64, rows: i64) -> rusqlite::Result<usize> {
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
            ":seq": seq,
            ":rows": rows,
        })
}

/// Makes ready what has become due. Each row once for each wait.
fn promote(tx: &Tx<'_>) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET due_uptime = NULL,
                ready = CASE blockers WHEN 0 THEN 1 + unmetered ELSE 0 END WHERE seq IN (
                SELECT seq FROM submission WHERE boot = ?1 AND due_uptime <= ?2
                ORDER BY due_uptime LIMIT ?3)",
        )?
        .execute((tx.boot, tx.now.uptime.0, STEP_ROWS as i64))?;
    Ok(())
}

/// When something can be claimed: at once, or when a wait ends, or when a gate opens.
fn next_due(tx: &Tx<'_>, ways: &[Way]) -> rusqlite::Result<Option<Duration>> {
    let (other_boot, due): (bool, Option<i64>) = tx
        .connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM submission WHERE due_uptime IS NOT NULL AND boot < ?1)
                    OR EXISTS (SELECT 1 FROM submission
                        WHERE due_uptime IS NOT NULL AND boot > ?1),
                (SELECT min(due_uptime) FROM submission WHERE boot = ?1
                    AND due_uptime IS NOT NULL)",
        )?
        .query_row([tx.boot], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if other_boot {
        return Ok(Some(Duration::ZERO));
    }
    let opens = ways.iter().filter_map(|way| match way.access {
        Access::Open => Some(Duration::ZERO),
        Access::Gate(left) => Some(left),
        // A condition that has a name: its end is an event.
        Access::Credentials | Access::SignedOut => None,
    });
    let due = due.map(|due| UptimeMs(due).since(tx.now.uptime));
    Ok(opens.chain(due).min())
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
