//! The claim: what is ready goes by priority, then in the order of acceptance, and an attempt is
//! opened for each in the same transaction.

use std::time::Duration;

use super::intake::thaw;
use super::owner::Owner;
use super::step::expire_one;
use super::submissions::{self, Due, Row, ask, change, note_problem, or_quarantine};
use super::writer::Tx;
use super::{attempts, profiles};
use crate::error::OutboxError;
use crate::model::request::FrozenRequest;
use crate::model::state::{Event, SubmissionState};
use crate::policy::age::{Reading, key_lifetime, lifetime_over};
use crate::policy::limits::{Limits, STEP_ROWS};

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
    /// "In progress" answers before it, and the waits that were set after them.
    pub(crate) busy: (u32, Duration),
}

/// Claims up to `capacity`, by priority, then in the order of acceptance.
pub(super) fn claim(
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

pub(super) fn has_ready(tx: &Tx<'_>) -> rusqlite::Result<bool> {
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
    if transition.next.visible != SubmissionState::InFlight {
        // A settled row that is marked as ready: a flipped bit. It stays as it is.
        submissions::unready(tx, row.seq)?;
        return Ok(None);
    }
    attempts::note_retry(tx, &row)?;
    attempts::prune(tx, &row)?;
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
