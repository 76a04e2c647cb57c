//! The claim: what is ready goes by priority, then in the order of acceptance, and an attempt is
//! opened for each in the same transaction.

use super::gates::{self, Access, Refusals, Terms, Usable, ways};
use super::intake::thaw;
use super::owner::Owner;
use super::step::expire_one;
use super::submissions::{self, Due, Row, ask, change, note_problem, or_quarantine};
use super::writer::Tx;
use super::{attempts, profiles};
use crate::error::OutboxError;
use crate::model::request::FrozenRequest;
use crate::model::state::{Event, SubmissionState};
use crate::model::submission::Effect;
use crate::policy::age::{Reading, key_lifetime, lifetime_over};
use crate::policy::classify::History;
use crate::policy::limits::{Limits, STEP_ROWS};
use crate::policy::profile::{KeyScope, ServerProfile};
use crate::trace::Told;

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
    /// What the attempts before have shown.
    pub(crate) history: History,
    /// The last attempt was answered by a server that isn't the right one.
    pub(crate) misdirected: bool,
    /// Whose credentials to send it with, and which.
    pub(crate) credentials: Option<Usable>,
}

/// What became of a submission whose turn it was.
enum Turn {
    Claimed(Box<Claim>),
    /// Not sent: held or settled instead.
    Ended(SubmissionState),
    Left,
}

/// Claims up to `capacity`, by priority, then in the order of acceptance. Notes what was not sent but
/// held or settled instead.
pub(super) fn claim(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    capacity: usize,
    terms: &Terms,
    ended: &mut Vec<SubmissionState>,
) -> Result<Vec<Claim>, OutboxError> {
    let mut claims = Vec::new();
    if capacity == 0 {
        return Ok(claims);
    }
    let mut reading = None;
    let rows = capacity.min(STEP_ROWS);
    // What is looked at and not claimed leaves the queue (held, rejected), so this ends.
    for _ in 0..STEP_ROWS {
        let heads = heads(tx, rows - claims.len(), terms)?;
        if heads.is_empty() {
            break;
        }
        for seq in heads {
            let reading = match &reading {
                Some(reading) => reading,
                None => &*reading.insert(attempts::reading(tx)?),
            };
            let row = submissions::by_seq(tx.connection, seq).map_err(OutboxError::from);
            let turn = row.and_then(|row| claim_one(tx, owner, limits, row, reading, terms));
            match or_quarantine(tx, seq, turn)? {
                Some(Turn::Claimed(claim)) => claims.push(*claim),
                Some(Turn::Ended(state)) => ended.push(state),
                Some(Turn::Left) | None => {}
            }
        }
        if claims.len() == rows {
            break;
        }
    }
    Ok(claims)
}

/// The first of what is ready and has its way open.
fn heads(tx: &Tx<'_>, most: usize, terms: &Terms) -> rusqlite::Result<Vec<i64>> {
    let mut heads: Vec<(i32, i64)> = Vec::new();
    for way in ways(tx, terms)? {
        if way.access != Access::Open {
            continue;
        }
        heads_of(tx, way.channel, "1", most, &mut heads)?;
        if terms.unmetered {
            heads_of(tx, way.channel, "2", most, &mut heads)?;
        }
    }
    heads.sort_by_key(|(priority, seq)| (std::cmp::Reverse(*priority), *seq));
    heads.truncate(most);
    Ok(heads.into_iter().map(|(_, seq)| seq).collect())
}

fn heads_of(
    tx: &Tx<'_>,
    channel: i64,
    ready: &str,
    most: usize,
    into: &mut Vec<(i32, i64)>,
) -> rusqlite::Result<()> {
    let mut statement = tx.connection.prepare_cached(&format!(
        "SELECT priority, seq FROM submission WHERE ready = {ready} AND channel = ?1
         ORDER BY priority DESC, seq LIMIT ?2"
    ))?;
    let rows = statement.query_map((channel, most as i64), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for head in rows {
        into.push(head?);
    }
    Ok(())
}

pub(super) fn has_ready(tx: &Tx<'_>, terms: &Terms) -> rusqlite::Result<bool> {
    Ok(ways(tx, terms)?
        .iter()
        .any(|way| way.access == Access::Open))
}

fn claim_one(
    tx: &Tx<'_>,
    owner: &Owner,
    limits: &Limits,
    mut row: Row,
    reading: &Reading,
    terms: &Terms,
) -> Result<Turn, OutboxError> {
    if row.expires.is_some_and(|expires| expires <= tx.now.wall) {
        return expire_one(tx, row).map(Turn::Ended);
    }
    let profile = profiles::read(tx.connection, row.profile)?;
    let credentials = match row.has_account {
        true => terms.credentials.clone(),
        false => None,
    };
    let number = credentials.as_ref().map(|usable| usable.number);
    if let Some((event, problem)) = refuse(tx, &row, &profile, limits, reading, number)? {
        let transition = ask(tx, &row, event)?;
        note_problem(tx, &row, problem)?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        return Ok(Turn::Ended(transition.next.visible));
    }
    let Some(request) = thaw(tx.connection, &row)? else {
        let transition = ask(tx, &row, Event::RowDamaged)?;
        note_problem(
            tx,
            &row,
            "the stored bytes are not the ones that were accepted",
        )?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        return Ok(Turn::Ended(transition.next.visible));
    };
    let transition = ask(tx, &row, Event::Claimed)?;
    if transition.next.visible != SubmissionState::InFlight {
        // A settled row that is marked as ready: a flipped bit. It stays as it is.
        submissions::unready(tx, row.seq)?;
        return Ok(Turn::Left);
    }
    let history = history(tx, &row)?;
    if profile.key_scope == KeyScope::Token && attempts::changed_credentials(tx, &row, number)? {
        // Another token is another key to the server: what it stored under the last one says nothing
        // of this one.
        row.epoch += 1;
    }
    let misdirected = attempts::last_status(tx, &row)? == Some(421);
    attempts::note_retry(tx, &row)?;
    attempts::prune(tx, &row)?;
    let attempt = attempts::open(tx, &row, owner.id, reading, number)?;
    row.attempts += 1;
    tx.tell(|| Told::Claimed {
        id: row.id,
        attempt,
        number: row.attempts,
    });
    row.consent = false;
    row.owner = Some(owner.id);
    row.fence = Some(attempt);
    change(tx, &mut row, &transition, Due::Unchanged)?;
    Ok(Turn::Claimed(Box::new(Claim {
        submission: row.seq,
        attempt,
        request,
        failures: row.failures,
        history,
        misdirected,
        credentials,
    })))
}

/// What the attempts before have shown.
fn history(tx: &Tx<'_>, row: &Row) -> Result<History, OutboxError> {
    let doubt = attempts::doubt(tx.connection, row.seq)?;
    let host_went_on = row.same_status.is_some() && gates::successes(tx, row.seq)? > row.same_well;
    let refusals = match row.same_status {
        Some(status) if row.has_account => gates::refusals(tx, row.seq, status)?,
        Some(_) | None => Refusals::default(),
    };
    Ok(History {
        in_doubt: doubt.in_doubt(),
        never_sent: attempts::never_sent(tx.connection, row)?,
        busy_answers: row.busy,
        busy_for: row.busy_for,
        same_status: row.same_status,
        same_answers: row.same,
        same_for: row.same_for,
        host_went_on,
        refused_with: refusals.with,
        others_succeed: refusals.others_succeed,
        fetches: match doubt.applied {
            true => Some(attempts::since_applied(tx.connection, row.seq)?),
            false => None,
        },
    })
}

/// Reasons not to send what is due.
fn refuse(
    tx: &Tx<'_>,
    row: &Row,
    profile: &ServerProfile,
    limits: &Limits,
    reading: &Reading,
    credentials: Option<i64>,
) -> rusqlite::Result<Option<(Event, &'static str)>> {
    if !row.consent {
        let scoped = row.effect == Effect::Keyed && profile.key_scope == KeyScope::Token;
        if scoped && attempts::in_doubt_with_others(tx.connection, row.seq, credentials)? {
            return Ok(Some((
                Event::KeyLifetimeOver,
                "an attempt with other credentials is in doubt, and the key belongs to them",
            )));
        }
        let lifetime = key_lifetime(row.effect, profile, limits.horizon);
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
