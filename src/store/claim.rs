//! The claim: what is ready goes by priority, then in the order of acceptance, and an attempt is
//! opened for each in the same transaction.

use std::collections::BTreeSet;

use super::gates::{self, Access, Refusals, Terms, Usable, ways};
use super::intake::thaw;
use super::owner::Owner;
use super::parts::{self, Resolved};
use super::step::expire_one;
use super::submissions::{self, Due, Row, ask, change, note_problem, or_quarantine};
use super::writer::Tx;
use super::{attempts, batches, probes, profiles};
use crate::error::{OutboxError, StorageError};
use crate::model::envelope::is_envelope;
use crate::model::request::FrozenRequest;
use crate::model::state::{Event, SubmissionState};
use crate::model::submission::Effect;
use crate::policy::age::{Reading, key_lifetime, lifetime_over};
use crate::policy::classify::History;
use crate::policy::limits::{FAIR_EVERY, Limits, STEP_ROWS};
use crate::policy::profile::{KeyScope, ServerProfile};
use crate::trace::Told;
use crate::weakness::{self, Weakness};

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
    let mut looked_at = BTreeSet::new();
    // What is looked at and not claimed leaves the queue (held, rejected), so this ends.
    for _ in 0..STEP_ROWS {
        let heads = heads(tx, rows - claims.len(), terms)?;
        if heads.is_empty() {
            break;
        }
        for seq in heads {
            if !looked_at.insert(seq) {
                // It would be looked at for ever, and nothing else would be sent.
                return Err(StorageError::Corrupt {
                    detail: "the queue's index names a submission that isn't in the queue"
                        .to_owned(),
                }
                .into());
            }
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

/// The first of what is ready and has its way open: by priority, then in the order of acceptance. One
/// of every eight claims goes to what was accepted first, so that nothing starves; the attempts' numbers
/// count the claims of all processes.
fn heads(tx: &Tx<'_>, most: usize, terms: &Terms) -> rusqlite::Result<Vec<i64>> {
    let next = attempts::next_number(tx.connection)?;
    let claims = next..next.saturating_add_unsigned(most as u64);
    let fair = claims
        .clone()
        .filter(|claim| claim % FAIR_EVERY == 0)
        .count();
    let mut heads: Vec<Head> = Vec::new();
    let mut oldest: Vec<Head> = Vec::new();
    for way in ways(tx, terms)? {
        if way.access != Access::Open {
            continue;
        }
        for ready in ["1", "2"].iter().take(1 + usize::from(terms.unmetered)) {
            heads_of(tx, way.channel, ready, most, &mut heads)?;
            if fair > 0 {
                oldest_of(tx, way.channel, ready, fair, &mut oldest)?;
            }
        }
    }
    heads.sort_by_key(|(priority, seq)| (std::cmp::Reverse(*priority), *seq));
    oldest.sort_by_key(|(_, seq)| *seq);
    let (mut by_priority, mut by_age) = (heads.into_iter(), oldest.into_iter());
    let mut taken: Vec<i64> = Vec::new();
    for claim in claims {
        let turn = if claim % FAIR_EVERY == 0 {
            &mut by_age
        } else {
            &mut by_priority
        };
        // Each list is as long as there are ready ones, or turns; so an end means that all are taken.
        let head = turn.find(|(_, seq)| !taken.contains(seq));
        taken.extend(head.map(|(_, seq)| seq));
    }
    Ok(taken)
}

/// Priority and row.
type Head = (i32, i64);

fn heads_of(
    tx: &Tx<'_>,
    channel: i64,
    ready: &str,
    most: usize,
    into: &mut Vec<Head>,
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

/// The first of each priority: a few steps in the index for each level that is in use.
fn oldest_of(
    tx: &Tx<'_>,
    channel: i64,
    ready: &str,
    most: usize,
    into: &mut Vec<Head>,
) -> rusqlite::Result<()> {
    let mut below = i64::from(i32::MAX) + 1;
    loop {
        let level: Option<i32> = tx
            .connection
            .prepare_cached(&format!(
                "SELECT max(priority) FROM submission
                 WHERE ready = {ready} AND channel = ?1 AND priority < ?2"
            ))?
            .query_row((channel, below), |row| row.get(0))?;
        let Some(level) = level else {
            return Ok(());
        };
        let mut statement = tx.connection.prepare_cached(&format!(
            "SELECT priority, seq FROM submission
             WHERE ready = {ready} AND channel = ?1 AND priority = ?2 ORDER BY seq LIMIT ?3"
        ))?;
        let rows = statement.query_map((channel, level, most as i64), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        for head in rows {
            into.push(head?);
        }
        below = i64::from(level);
    }
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
    if row.blockers != 0 {
        // It waits for others and is marked as ready: a flipped bit. It stays as it is.
        submissions::unready(tx, row.seq)?;
        return Ok(Turn::Left);
    }
    if row.expires.is_some_and(|expires| expires <= tx.now.wall) {
        return expire_one(tx, row).map(Turn::Ended);
    }
    let profile = profiles::read(tx.connection, row.profile)?;
    let credentials = match row.account.is_some() {
        true => terms.credentials.clone(),
        false => None,
    };
    let number = credentials.as_ref().map(|usable| usable.number);
    if let Some((event, problem)) = refuse(tx, &row, &profile, limits, reading, number)? {
        note_problem(tx, &row, problem)?;
        let transition = ask(tx, &row, event)?;
        if probes::instead_of(&row, &transition.next) {
            probes::ask_first(tx, &mut row)?;
            return Ok(Turn::Left);
        }
        return end(tx, row, event);
    }
    let resolved = match thaw(tx.connection, &row)? {
        Some(envelope) if is_envelope(&envelope) => batches::sealed(tx, &row, envelope)?,
        Some(template) => parts::resolved(tx, &row, template)?,
        None => Resolved::Damaged,
    };
    let request = match resolved {
        Resolved::Whole(request) => *request,
        Resolved::Damaged => {
            let problem = "the stored bytes are not the ones that were accepted";
            note_problem(tx, &row, problem)?;
            return end(tx, row, Event::RowDamaged);
        }
        Resolved::Nothing => {
            note_problem(tx, &row, "none of the batch's records can be read")?;
            let never_sent = attempts::never_sent(tx.connection, &row)?;
            return end(tx, row, Event::BodyMissing { never_sent });
        }
        // The last guard: a template is never sent.
        Resolved::Template => return end(tx, row, Event::ParentResultMissing),
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
    row.probes = 0;
    row.consent = row.consent && weakness::is_out(Weakness::ConsentStays);
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

fn end(tx: &Tx<'_>, mut row: Row, event: Event) -> Result<Turn, OutboxError> {
    let transition = ask(tx, &row, event)?;
    change(tx, &mut row, &transition, Due::Unchanged)?;
    Ok(Turn::Ended(transition.next.visible))
}

/// What the attempts before have shown.
fn history(tx: &Tx<'_>, row: &Row) -> Result<History, OutboxError> {
    let doubt = attempts::doubt(tx.connection, row.seq)?;
    let host_went_on = row.same_status.is_some() && gates::successes(tx, row.seq)? > row.same_well;
    let refusals = match row.same_status {
        Some(status) if row.account.is_some() => gates::refusals(tx, row.seq, status)?,
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
    if !row.consent
        && !weakness::is_out(Weakness::NoKeyLifetime)
        && let Some(problem) = forgotten(tx, row, profile, limits, reading, credentials)?
    {
        return Ok(Some((Event::KeyLifetimeOver, problem)));
    }
    if row.answered >= limits.retry_attempts && row.answered_for >= limits.retry_time {
        return Ok(Some((Event::BudgetUsedUp, "the retry budget is used up")));
    }
    Ok(None)
}

/// Why the server may not know the key of an attempt in doubt, asked with these credentials.
pub(super) fn forgotten(
    tx: &Tx<'_>,
    row: &Row,
    profile: &ServerProfile,
    limits: &Limits,
    reading: &Reading,
    credentials: Option<i64>,
) -> rusqlite::Result<Option<&'static str>> {
    let scoped = row.effect == Effect::Keyed && profile.key_scope == KeyScope::Token;
    if scoped && attempts::in_doubt_with_others(tx.connection, row.seq, credentials)? {
        return Ok(Some(
            "an attempt with other credentials is in doubt, and the key belongs to them",
        ));
    }
    let lifetime = key_lifetime(row.effect, profile, limits.horizon);
    let earliest = attempts::earliest_in_doubt(tx, row, reading)?;
    let over = lifetime_over(earliest.as_ref(), reading, lifetime);
    Ok(over.then_some("an attempt is in doubt and the server may have forgotten the key"))
}
