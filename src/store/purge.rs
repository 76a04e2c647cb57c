//! Signing out for good: everything of an account ends, and only tombstones stay.
//!
//! The mark is set in the transaction that signs out, so that nothing of the account is claimed from
//! then on. The rest is done a piece at a time, by whoever comes: the call itself, a step of any
//! process that has the database open, the next opening. A kill in between leaves the mark.

use rusqlite::{Connection, OptionalExtension};

use super::gates;
use super::order;
use super::retention::bury_one;
use super::rows::spell_mark;
use super::submissions::{self, Due, ask, change, or_quarantine};
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::outcome::SignedOutReport;
use crate::model::state::{AttemptMark, Event, SubmissionState};
use crate::model::submission::Effect;
use crate::policy::limits::STEP_ROWS;

/// How far the purges have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Purged {
    /// There is none.
    #[default]
    Nothing,
    /// There is more to do.
    Some,
    /// One is done.
    All,
}

/// Signs out whoever is signed in, and marks it. Credentials that any process still has of it are of
/// no use from then on. Returns who it was, or of whom an earlier purge isn't done.
pub(super) fn begin(tx: &Tx<'_>) -> Result<Option<String>, OutboxError> {
    let Some(signed_in) = gates::signed_in(tx.connection)? else {
        return Ok(under_way(tx)?.map(|(account, _)| account));
    };
    gates::sign_out(tx)?;
    tx.connection
        .prepare_cached(
            "UPDATE account SET refused = supplied, counted = supplied, refused_attempt = 0,
                refusals = 0, works = NULL, works_attempt = 0, closed = 0, purge_cancelled = 0,
                purge_abandoned = 0, purge_succeeded = 0,
                purging = 1 + coalesce(
                    (SELECT seq FROM sqlite_sequence WHERE name = 'submission'), 0)
             WHERE name = ?1",
        )?
        .execute([&signed_in.name])?;
    Ok(Some(signed_in.name))
}

/// Open attempts that certainly had no effect, as their process knows.
pub(super) fn note_unsent(tx: &Tx<'_>, attempts: &[i64]) -> rusqlite::Result<()> {
    for attempt in attempts {
        tx.connection
            .prepare_cached(
                "UPDATE attempt SET mark = 'not_applied', ended_wall = ?2
                 WHERE id = ?1 AND mark = 'open'",
            )?
            .execute((attempt, tx.now.wall.0))?;
    }
    Ok(())
}

/// What the purge of an account has done so far.
pub(super) fn report(tx: &Tx<'_>, account: &str) -> rusqlite::Result<SignedOutReport> {
    tx.connection
        .prepare_cached(
            "SELECT purge_cancelled, purge_abandoned, purge_succeeded FROM account
             WHERE name = ?1",
        )?
        .query_row([account], |row| {
            Ok(SignedOutReport {
                account: Some(account.to_owned()),
                kept: 0,
                cancelled: row.get(0)?,
                abandoned: row.get(1)?,
                succeeded: row.get(2)?,
            })
        })
}

/// True if there is a purge to go on with.
pub(super) fn any(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM account WHERE purging IS NOT NULL")?
        .exists([])
}

/// True if an account is still being purged.
pub(super) fn is_under_way(tx: &Tx<'_>, account: &str) -> rusqlite::Result<bool> {
    tx.connection
        .prepare_cached("SELECT 1 FROM account WHERE name = ?1 AND purging IS NOT NULL")?
        .exists([account])
}

fn under_way(tx: &Tx<'_>) -> rusqlite::Result<Option<(String, i64)>> {
    tx.connection
        .prepare_cached("SELECT name, purging FROM account WHERE purging IS NOT NULL LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// One bounded piece.
pub(super) fn piece(tx: &Tx<'_>) -> Result<Purged, OutboxError> {
    let Some((account, before)) = under_way(tx)? else {
        return Ok(Purged::Nothing);
    };
    // The latest first: a child goes before its parent, and the end of one sets nothing going that
    // would only be ended next.
    let rows: Vec<i64> = tx
        .connection
        .prepare_cached(
            "SELECT seq FROM submission WHERE account = ?1 AND seq < ?2
             ORDER BY seq DESC LIMIT ?3",
        )?
        .query_map((&account, before, STEP_ROWS as i64), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &rows {
        // What can't be read is put aside and stays, visibly: it must not stop the rest.
        or_quarantine(tx, *seq, purge_one(tx, &account, *seq))?;
    }
    let Some(last) = rows.last() else {
        return finish(tx, &account);
    };
    tx.connection
        .prepare_cached("UPDATE account SET purging = ?2 WHERE name = ?1")?
        .execute((&account, last))?;
    Ok(Purged::Some)
}

fn purge_one(tx: &Tx<'_>, account: &str, seq: i64) -> Result<(), OutboxError> {
    let mut row = submissions::by_seq(tx.connection, seq)?;
    if !row.state.is_final() {
        // One that is open is in flight in another process, whose answer finds nothing to settle. A safe
        // method has no effect, however its attempt ends.
        let mark = match row.effect {
            Effect::Safe => AttemptMark::NotApplied,
            Effect::Overwrite | Effect::Keyed | Effect::Unkeyed => AttemptMark::Unknown,
        };
        tx.connection
            .prepare_cached("UPDATE attempt SET mark = ?2 WHERE submission = ?1 AND mark = 'open'")?
            .execute((seq, spell_mark(mark)))?;
        let transition = ask(tx, &row, Event::Purged)?;
        row.owner = None;
        row.fence = None;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        // What was submitted after the mark may wait for it.
        order::follow_up_purged(tx)?;
        count(tx, account, row.state)?;
    }
    let is_parent = tx
        .connection
        .prepare_cached("SELECT 1 FROM dependency WHERE parent = ?1")?
        .exists([seq])?;
    if !is_parent {
        // Else a child came after the mark: retention takes both.
        bury_one(tx, seq)?;
    }
    Ok(())
}

fn count(tx: &Tx<'_>, account: &str, state: SubmissionState) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE account SET purge_succeeded = purge_succeeded + ?2,
                purge_abandoned = purge_abandoned + ?3, purge_cancelled = purge_cancelled + ?4
             WHERE name = ?1",
        )?
        .execute((
            account,
            state == SubmissionState::Succeeded,
            state == SubmissionState::Abandoned,
            state == SubmissionState::Cancelled,
        ))?;
    Ok(())
}

/// What hangs on no submission: intents, fetched values, lanes and latest-wins keys that nothing is left of.
fn finish(tx: &Tx<'_>, account: &str) -> Result<Purged, OutboxError> {
    for rest in [
        "DELETE FROM slot WHERE account = ?1 AND name IN (
            SELECT name FROM slot WHERE account = ?1 LIMIT ?2)",
        "DELETE FROM lane WHERE account = ?1 AND name IN (
            SELECT name FROM lane l WHERE account = ?1 AND NOT EXISTS (
                SELECT 1 FROM submission s WHERE s.account = ?1 AND s.lane = l.name) LIMIT ?2)",
        "DELETE FROM latest WHERE account = ?1 AND name IN (
            SELECT name FROM latest l WHERE account = ?1 AND NOT EXISTS (
                SELECT 1 FROM submission s WHERE s.account = ?1 AND s.replaces = l.name)
                AND (floor_uptime IS NULL OR boot <> ?3 OR floor_uptime <= ?4) LIMIT ?2)",
        "DELETE FROM fetched WHERE account = ?1 AND name IN (
            SELECT name FROM fetched WHERE account = ?1 LIMIT ?2)",
    ] {
        // A floor that isn't over keeps its key until it is: the same account may come back at once.
        let mut statement = tx.connection.prepare_cached(rest)?;
        let rows = if statement.parameter_count() == 4 {
            statement.execute((account, STEP_ROWS as i64, tx.boot, tx.now.uptime.0))?
        } else {
            statement.execute((account, STEP_ROWS as i64))?
        };
        if rows == STEP_ROWS {
            return Ok(Purged::Some);
        }
    }
    tx.connection
        .prepare_cached("UPDATE account SET purging = NULL WHERE name = ?1")?
        .execute([account])?;
    Ok(Purged::All)
}
