//! Attempts. Doubt is derived from them, and stored nowhere else.

use rusqlite::{Connection, OptionalExtension, named_params};

use super::rows::spell_mark;
use super::submissions::Row;
use super::totals;
use super::writer::Tx;
use crate::clock::{UptimeMs, WallMs, from_millis};
use crate::model::state::{AttemptMark, Doubt};
use crate::model::submission::Effect;
use crate::policy::age::{Began, Reading, age};
use crate::policy::limits::KEEP_ATTEMPTS;

/// What is known of a submission's attempts.
pub(super) fn doubt(connection: &Connection, submission: i64) -> rusqlite::Result<Doubt> {
    let mut statement = connection.prepare_cached(
        "SELECT mark, count(*) FROM attempt
         WHERE submission = ?1 AND mark <> 'not_applied' GROUP BY mark",
    )?;
    let mut rows = statement.query([submission])?;
    let mut doubt = Doubt::default();
    while let Some(row) = rows.next()? {
        match row.get_ref(0)?.as_str()? {
            "open" => doubt.open = true,
            "unknown" => doubt.unknown = row.get(1)?,
            _ => doubt.applied = true,
        }
    }
    Ok(doubt)
}

/// True if no byte of a submission can have left so far: each attempt is still on record and ended,
/// certainly without effect, before there was an answer. Of a safe method that says nothing.
pub(super) fn never_sent(connection: &Connection, row: &Row) -> rusqlite::Result<bool> {
    if row.attempts == 0 || row.effect == Effect::Safe {
        return Ok(row.attempts == 0);
    }
    let (all, unsent): (u32, u32) = connection
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE mark = 'not_applied' AND status IS NULL)
             FROM attempt WHERE submission = ?1",
        )?
        .query_row([row.seq], |found| Ok((found.get(0)?, found.get(1)?)))?;
    Ok(all == row.attempts && unsent == row.attempts && row.answered == 0)
}

/// Drops old attempts that certainly had no effect. Those in doubt, and those with an effect, stay.
pub(super) fn prune(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    if row.attempts > KEEP_ATTEMPTS {
        tx.connection
            .prepare_cached(
                "DELETE FROM attempt WHERE submission = ?1 AND number <= ?2
                 AND mark = 'not_applied'",
            )?
            .execute((row.seq, row.attempts - KEEP_ATTEMPTS))?;
    }
    Ok(())
}

/// Opens an attempt, in the transaction that claims. Its number is the fence.
pub(super) fn open(
    tx: &Tx<'_>,
    row: &Row,
    owner: i64,
    reading: &Reading,
    credentials: Option<i64>,
) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached(
            "INSERT INTO attempt (submission, number, mark, owner, epoch, consented, boot,
                began_uptime, began_device, began_wall, credentials)
             VALUES (:submission, :number, 'open', :owner, :epoch, :consented, :boot, :uptime,
                :device, :wall, :credentials)",
        )?
        .insert(named_params! {
            ":submission": row.seq,
            ":number": row.attempts + 1,
            ":owner": owner,
            ":epoch": row.epoch,
            ":consented": row.consent,
            ":boot": reading.boot,
            ":uptime": reading.uptime.0,
            ":device": reading.device.0,
            ":wall": reading.wall.0,
            ":credentials": credentials,
        })
}

/// The number that the next attempt of any submission gets.
pub(super) fn next_number(connection: &Connection) -> rusqlite::Result<i64> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'attempt'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or_default() + 1)
}

/// True if nobody knows whether the last attempt took effect.
pub(super) fn last_is_unknown(connection: &Connection, row: &Row) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM attempt WHERE submission = ?1 AND number = ?2 AND mark = 'unknown'",
        )?
        .exists((row.seq, row.attempts))
}

/// The status of the last attempt's answer.
pub(super) fn last_status(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<Option<u16>> {
    if row.attempts == 0 {
        return Ok(None);
    }
    let status = tx
        .connection
        .prepare_cached("SELECT status FROM attempt WHERE submission = ?1 AND number = ?2")?
        .query_row((row.seq, row.attempts), |found| found.get(0))
        .optional()?;
    Ok(status.flatten())
}

/// True if the last attempt was sent with other credentials than these.
pub(super) fn changed_credentials(
    tx: &Tx<'_>,
    row: &Row,
    now: Option<i64>,
) -> rusqlite::Result<bool> {
    tx.connection
        .prepare_cached(
            "SELECT 1 FROM attempt WHERE submission = ?1 AND number = ?2 AND credentials IS NOT ?3",
        )?
        .exists((row.seq, row.attempts, now))
}

/// True if an attempt that may have taken effect, or has, was sent with other credentials.
pub(super) fn in_doubt_with_others(
    connection: &Connection,
    submission: i64,
    now: Option<i64>,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM attempt WHERE submission = ?1 AND mark <> 'not_applied'
             AND credentials IS NOT ?2",
        )?
        .exists((submission, now))
}

/// Attempts since the first that took effect.
pub(super) fn since_applied(connection: &Connection, submission: i64) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(
            "SELECT count(*) FROM attempt WHERE submission = ?1 AND id > (
                SELECT min(id) FROM attempt WHERE submission = ?1 AND mark = 'applied')",
        )?
        .query_row([submission], |row| row.get(0))
}

/// True if the attempt consumed a consent to a second effect.
pub(super) fn had_consent(connection: &Connection, attempt: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT consented FROM attempt WHERE id = ?1")?
        .query_row([attempt], |row| row.get(0))
}

/// Counts an attempt, by what became of the one before. One that follows a missing network is normal.
pub(super) fn note_retry(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    let answered_silent: Option<(bool, bool)> = tx
        .connection
        .prepare_cached(
            "SELECT status IS NOT NULL, mark = 'unknown' OR silent FROM attempt
             WHERE submission = ?1 AND number = ?2",
        )?
        .query_row((row.seq, row.attempts), |found| {
            Ok((found.get(0)?, found.get(1)?))
        })
        .optional()?;
    tx.count(totals::ATTEMPTS, 1);
    let cause = match answered_silent {
        None => return Ok(()),
        Some((true, _)) => totals::AFTER_ANSWER,
        Some((false, true)) => totals::AFTER_SILENCE,
        Some((false, false)) => totals::AFTER_NO_CONNECTION,
    };
    tx.count(cause, 1);
    if cause != totals::AFTER_NO_CONNECTION {
        tx.connection
            .prepare_cached("UPDATE meta SET abnormal_retries = abnormal_retries + 1")?
            .execute([])?;
    }
    Ok(())
}

/// Notes of an attempt without an effect that it may have left all the same, and got no answer.
pub(super) fn note_silent(tx: &Tx<'_>, attempt: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE attempt SET silent = 1 WHERE id = ?1")?
        .execute([attempt])?;
    Ok(())
}

/// How an attempt ended, for its row.
pub(super) struct End<'a> {
    pub(super) mark: AttemptMark,
    /// Its own process said so, or its owner is dead. A lost lease alone is not an end.
    pub(super) ended: bool,
    pub(super) status: Option<u16>,
    pub(super) problem: Option<&'a str>,
}

/// Ends an attempt, or adds late evidence to one.
pub(super) fn end(tx: &Tx<'_>, attempt: i64, end: &End<'_>) -> rusqlite::Result<()> {
    let best = told_wall(tx)?.unwrap_or(tx.now.wall);
    tx.connection
        .prepare_cached(
            "UPDATE attempt SET mark = :mark,
                ended_boot = CASE WHEN :ended AND ended_wall IS NULL THEN :boot ELSE ended_boot END,
                ended_uptime = CASE WHEN :ended AND ended_wall IS NULL THEN :uptime
                    ELSE ended_uptime END,
                ended_best = CASE WHEN :ended AND ended_wall IS NULL THEN :best ELSE ended_best END,
                ended_wall = coalesce(ended_wall, CASE WHEN :ended THEN :wall END),
                status = coalesce(:status, status), problem = coalesce(:problem, problem)
             WHERE id = :id",
        )?
        .execute(named_params! {
            ":mark": spell_mark(end.mark),
            ":ended": end.ended,
            ":wall": tx.now.wall.0,
            ":boot": tx.boot,
            ":uptime": tx.now.uptime.0,
            ":best": best.0,
            ":status": end.status,
            ":problem": end.problem,
            ":id": attempt,
        })?;
    Ok(())
}

/// The mark of one attempt; nothing if it is no longer there.
pub(super) fn mark(connection: &Connection, attempt: i64) -> rusqlite::Result<Option<AttemptMark>> {
    let text: Option<String> = connection
        .prepare_cached("SELECT mark FROM attempt WHERE id = ?1")?
        .query_row([attempt], |row| row.get(0))
        .optional()?;
    Ok(text.map(|text| match text.as_str() {
        "open" => AttemptMark::Open,
        "unknown" => AttemptMark::Unknown,
        "not_applied" => AttemptMark::NotApplied,
        _ => AttemptMark::Applied,
    }))
}

/// The first attempt that nobody knows the effect of.
pub(super) fn earliest_unknown(
    connection: &Connection,
    submission: i64,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT id FROM attempt WHERE submission = ?1 AND mark = 'unknown'
             ORDER BY number LIMIT 1",
        )?
        .query_row([submission], |found| found.get(0))
        .optional()
}

/// True while an attempt has its submission in flight.
pub(super) fn is_in_flight(connection: &Connection, attempt: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM attempt a JOIN submission s ON s.seq = a.submission
             WHERE a.id = ?1 AND s.fence = a.id",
        )?
        .exists([attempt])
}

/// How many unknown attempts there are besides this one, from an epoch on.
pub(super) fn unknown_since(
    connection: &Connection,
    row: &Row,
    epoch: i64,
    besides: i64,
) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(
            "SELECT count(*) FROM attempt WHERE submission = ?1 AND mark = 'unknown'
             AND epoch >= ?2 AND id <> ?3",
        )?
        .query_row((row.seq, epoch, besides), |found| found.get(0))
}

/// Marks them as proven to be without effect, which settles their doubt.
pub(super) fn close_unknown_since(
    tx: &Tx<'_>,
    row: &Row,
    epoch: i64,
    besides: i64,
) -> rusqlite::Result<()> {
    let closed = tx
        .connection
        .prepare_cached(
            "UPDATE attempt SET mark = 'not_applied', ended_wall = coalesce(ended_wall, ?4)
             WHERE submission = ?1 AND mark = 'unknown' AND epoch >= ?2 AND id <> ?3",
        )?
        .execute((row.seq, epoch, besides, tx.now.wall.0))?;
    tx.count(totals::DOUBTS_SETTLED, closed as i64);
    Ok(())
}

/// When the earliest attempt began that is in doubt, or whose result is still asked for. Its age is recorded, in case the clock is set back
/// later.
pub(super) fn earliest_in_doubt(
    tx: &Tx<'_>,
    row: &Row,
    reading: &Reading,
) -> rusqlite::Result<Option<Began>> {
    let found = tx
        .connection
        .prepare_cached(
            "SELECT id, boot, began_uptime, began_device, began_wall, age FROM attempt
             WHERE submission = ?1 AND mark <> 'not_applied' ORDER BY number LIMIT 1",
        )?
        .query_row([row.seq], |found| {
            Ok((
                found.get::<_, i64>(0)?,
                Began {
                    boot: found.get(1)?,
                    uptime: UptimeMs(found.get(2)?),
                    device: WallMs(found.get(3)?),
                    wall: WallMs(found.get(4)?),
                    at_least: from_millis(found.get(5)?),
                },
            ))
        })
        .optional()?;
    let Some((id, began)) = found else {
        return Ok(None);
    };
    if let Some(age) = age(&began, reading) {
        tx.connection
            .prepare_cached("UPDATE attempt SET age = max(age, ?2) WHERE id = ?1")?
            .execute((id, crate::clock::whole_millis(age)))?;
    }
    Ok(Some(began))
}

/// The wall time by a server that answered in this boot, carried forward by the uptime.
pub(super) fn told_wall(tx: &Tx<'_>) -> rusqlite::Result<Option<WallMs>> {
    let told: Option<(i64, i64)> = tx
        .connection
        .prepare_cached("SELECT server_wall, server_uptime FROM meta WHERE server_boot = ?1")?
        .query_row([tx.boot], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(told.map(|(wall, at)| WallMs(wall).plus(tx.now.uptime.since(UptimeMs(at)))))
}

/// The latest time that the device has shown, in milliseconds.
fn highest_wall(tx: &Tx<'_>) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached("SELECT highest_wall FROM meta")?
        .query_row([], |row| row.get(0))
}

/// The clocks, as the database relates them to what it has seen before.
pub(super) fn reading(tx: &Tx<'_>) -> rusqlite::Result<Reading> {
    let highest = highest_wall(tx)?;
    let uptime = tx.now.uptime;
    let told = told_wall(tx)?;
    Ok(Reading {
        boot: tx.boot,
        uptime,
        device: tx.now.wall,
        wall: told.unwrap_or(tx.now.wall),
        behind: told.is_none() && tx.now.wall.0 < highest,
    })
}

/// The latest of all that says what time it is. What began or ended at that time is never taken for older
/// than it is, whoever has set the clock back.
pub(super) fn latest_wall(tx: &Tx<'_>) -> rusqlite::Result<WallMs> {
    let highest = highest_wall(tx)?;
    let told = told_wall(tx)?.unwrap_or(tx.now.wall);
    Ok(told.max(tx.now.wall).max(WallMs(highest)))
}

/// When something ends that is kept for a time: by the device's clock, unless that has been set back. Then
/// by a server's, where one has told it in this boot, or by the latest time that the device has shown: else
/// it would be forgotten as soon as the clock is right again.
pub(super) fn end_wall(tx: &Tx<'_>) -> rusqlite::Result<WallMs> {
    let highest = highest_wall(tx)?;
    if tx.now.wall.0 >= highest.saturating_sub(HIGHEST_LAG) {
        return Ok(tx.now.wall);
    }
    Ok(told_wall(tx)?.unwrap_or(WallMs(highest)))
}

/// The highest wall time may lag this much, to save a write in most transactions.
const HIGHEST_LAG: i64 = 60_000;

/// Remembers how far the wall clock has come.
pub(super) fn note_wall(tx: &Tx<'_>) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE meta SET highest_wall = ?1 WHERE highest_wall < ?1 - ?2")?
        .execute((tx.now.wall.0, HIGHEST_LAG))?;
    Ok(())
}

/// Remembers a server's clock.
pub(super) fn note_server_time(tx: &Tx<'_>, wall: WallMs) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE meta SET server_wall = ?1, server_boot = ?2, server_uptime = ?3
             WHERE server_boot IS NOT ?2 OR server_uptime < ?3 - ?4",
        )?
        .execute((wall.0, tx.boot, tx.now.uptime.0, HIGHEST_LAG))?;
    Ok(())
}
