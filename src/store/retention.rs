//! Forgetting, in small bounded steps: settled submissions become tombstones, tombstones go when
//! no late duplicate can be expected, and the feed keeps its newest entries.
//!
//! Age is only believed by a server's clock: a device that starts with a wrong one must not forget
//! what it will need in a minute. Counts and bytes need no clock.

use rusqlite::named_params;

use super::writer::Tx;
use super::{attempts, changes};
use crate::clock::{WallMs, whole_millis};
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::policy::limits::{Limits, STEP_ROWS, VACUUM_PAGES};
use crate::trace::Told;

/// One step. True if there may be more to do.
pub(super) fn step(tx: &Tx<'_>, limits: &Limits) -> Result<bool, OutboxError> {
    let mut more = changes::trim(tx, limits.keep_changes, STEP_ROWS)?;
    // Only as far as both agree: a device can be wrong, and a server, too.
    let now = attempts::told_wall(tx)?.map(|told| told.min(tx.now.wall));
    let old = now.map(|now| now.minus(limits.keep_results));
    let buried = bury(tx, limits, old)?;
    let forgotten = match now {
        Some(now) => forget(tx, now, limits)?,
        None => 0,
    };
    more |= buried == STEP_ROWS || forgotten == STEP_ROWS || end_floors(tx)? == STEP_ROWS;
    more |= vacuum(tx)?;
    if buried + forgotten > 0 {
        tx.tell(|| Told::Retained {
            results: buried,
            tombstones: forgotten,
        });
    }
    Ok(more)
}

/// Turns the oldest settled submissions into tombstones: those that are old, and those above the
/// count or the bytes. Never an unsettled one, nor one that an unsettled one still needs: a parent, or
/// the last of a latest-wins key while a newer version has to wait for it.
fn bury(tx: &Tx<'_>, limits: &Limits, old: Option<WallMs>) -> rusqlite::Result<usize> {
    let (mut settled, mut bytes): (i64, i64) = tx
        .connection
        .prepare_cached("SELECT settled, result_bytes FROM meta")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let most = i64::from(limits.keep_results_count);
    let most_bytes = i64::try_from(limits.keep_results_bytes).unwrap_or(i64::MAX);
    let until = match old {
        _ if settled > most || bytes > most_bytes => WallMs(i64::MAX),
        Some(old) => old,
        None => return Ok(0),
    };
    let oldest: Vec<(i64, i64, i64)> = tx
        .connection
        .prepare_cached(
            "SELECT s.seq, s.settled_wall,
                (SELECT coalesce(sum(length(body)), 0) FROM answer WHERE submission = s.seq)
             FROM submission s WHERE s.settled_wall <= :until
                AND NOT EXISTS (SELECT 1 FROM dependency d JOIN submission c ON c.seq = d.child
                    WHERE d.parent = s.seq AND c.settled_wall IS NULL)
                AND NOT EXISTS (SELECT 1 FROM lane n
                    WHERE n.account = coalesce(s.account, '') AND n.name = s.lane
                    AND n.stopped = s.seq)
                AND NOT EXISTS (SELECT 1 FROM latest l
                    WHERE l.account = coalesce(s.account, '') AND l.name = s.replaces
                    AND CASE l.boot WHEN :boot THEN l.floor_uptime > :uptime
                        ELSE s.settled_wall + l.delay > :wall END)
             ORDER BY s.settled_wall LIMIT :rows",
        )?
        .query_map(
            named_params! {
                ":until": until.0,
                ":boot": tx.boot,
                ":uptime": tx.now.uptime.0,
                ":wall": tx.now.wall.0,
                ":rows": STEP_ROWS as i64,
            },
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?
        .collect::<Result<_, _>>()?;
    let mut buried = 0;
    for (seq, ended, size) in oldest {
        let is_old = old.is_some_and(|old| ended < old.0);
        if !is_old && settled <= most && bytes <= most_bytes {
            break;
        }
        bury_one(tx, seq)?;
        settled -= 1;
        bytes -= size;
        buried += 1;
    }
    Ok(buried)
}

/// Leaves nothing but the tombstone of a settled submission.
pub(super) fn bury_one(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "INSERT INTO tombstone (id, fingerprint, account, method, effect, state, reason,
                revision, attempts, status, accepted_wall, settled_wall, retention)
             SELECT s.id, s.fingerprint, s.account, coalesce(r.method, ''), s.effect, s.state,
                s.reason, s.revision, s.attempts, w.status, s.accepted_wall, s.settled_wall,
                coalesce((SELECT CASE WHEN json_valid(p.json)
                    THEN CAST(json_extract(p.json, '$.retention') AS INTEGER) END
                    FROM profile p WHERE p.id = s.profile), 0)
             FROM submission s LEFT JOIN request r ON r.seq = s.seq
                LEFT JOIN answer w ON w.attempt = s.result
             WHERE s.seq = ?1",
        )?
        .execute([seq])?;
    tx.connection
        .prepare_cached(
            "UPDATE meta SET settled = settled - 1, result_bytes = result_bytes -
                (SELECT coalesce(sum(length(body)), 0) FROM answer WHERE submission = ?1)",
        )?
        .execute([seq])?;
    let (account, lane, replaces): (Option<String>, Option<String>, Option<String>) = tx
        .connection
        .prepare_cached("SELECT account, lane, replaces FROM submission WHERE seq = ?1")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    // Its children are settled.
    tx.connection
        .prepare_cached("DELETE FROM dependency WHERE parent = ?1")?
        .execute([seq])?;
    tx.connection
        .prepare_cached("DELETE FROM submission WHERE seq = ?1")?
        .execute([seq])?;
    if let Some(lane) = lane {
        // One that was stopped stays so, until it is released.
        tx.connection
            .prepare_cached(
                "DELETE FROM lane WHERE account = coalesce(?1, '') AND name = ?2
                    AND stopped IS NULL AND NOT EXISTS (
                        SELECT 1 FROM submission WHERE account IS ?1 AND lane = ?2)",
            )?
            .execute((&account, lane))?;
    }
    if let Some(replaces) = replaces {
        tx.connection
            .prepare_cached(
                "DELETE FROM latest WHERE account = coalesce(?1, '') AND name = ?2
                    AND (floor_uptime IS NULL OR boot <> ?3 OR floor_uptime <= ?4)
                    AND NOT EXISTS (
                        SELECT 1 FROM submission WHERE account IS ?1 AND replaces = ?2)",
            )?
            .execute((&account, replaces, tx.boot, tx.now.uptime.0))?;
    }
    Ok(())
}

/// Ends the floors that are over, and drops the keys that nothing else is left of.
fn end_floors(tx: &Tx<'_>) -> rusqlite::Result<usize> {
    // How much of one is over can't be known after a reboot.
    tx.connection
        .prepare_cached(
            "UPDATE latest SET floor_uptime = ?2 + delay, boot = ?1
             WHERE floor_uptime IS NOT NULL AND (boot < ?1 OR boot > ?1)",
        )?
        .execute((tx.boot, tx.now.uptime.0))?;
    let over: Vec<(String, String)> = tx
        .connection
        .prepare_cached(
            "SELECT account, name FROM latest
             WHERE floor_uptime IS NOT NULL AND boot = ?1 AND floor_uptime <= ?2 LIMIT ?3",
        )?
        .query_map((tx.boot, tx.now.uptime.0, STEP_ROWS as i64), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    for (account, name) in &over {
        tx.connection
            .prepare_cached(
                "UPDATE latest SET floor_seq = NULL, floor_uptime = NULL, delay = NULL, boot = NULL
                 WHERE account = ?1 AND name = ?2",
            )?
            .execute((account, name))?;
        tx.connection
            .prepare_cached(
                "DELETE FROM latest WHERE account = ?1 AND name = ?2 AND NOT EXISTS (
                    SELECT 1 FROM submission WHERE account IS nullif(?1, '') AND replaces = ?2)",
            )?
            .execute((account, name))?;
    }
    Ok(over.len())
}

/// Drops old tombstones of time-ordered IDs, none before its server has forgotten the key. From then on
/// an unknown ID that is as old as the newest of them is refused, since it can't be told from one that
/// was settled.
fn forget(tx: &Tx<'_>, now: WallMs, limits: &Limits) -> rusqlite::Result<usize> {
    let keep = whole_millis(limits.keep_results.saturating_add(limits.keep_tombstones));
    let old: Vec<([u8; 16], i64)> = tx
        .connection
        .prepare_cached(
            "SELECT id, settled_wall FROM tombstone
             WHERE settled_wall < ?1 - ?2 AND settled_wall < ?1 - retention
                AND substr(hex(id), 13, 1) = '7'
             ORDER BY settled_wall LIMIT ?3",
        )?
        .query_map((now.0, keep, STEP_ROWS as i64), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    for (id, settled) in &old {
        // An ID minted under a wrong clock may claim to be from after its own end.
        let minted = SubmissionId::from_bytes(*id)
            .minted_at()
            .map_or(*settled, |minted| minted.0.min(*settled));
        tx.connection
            .prepare_cached("DELETE FROM tombstone WHERE id = ?1")?
            .execute([id])?;
        tx.connection
            .prepare_cached("UPDATE meta SET remembers_since = max(remembers_since, ?1)")?
            .execute([minted + 1])?;
    }
    Ok(old.len())
}

/// Gives free pages back to the file system, some at a time. True if there are more.
fn vacuum(tx: &Tx<'_>) -> rusqlite::Result<bool> {
    let free: i64 = tx
        .connection
        .prepare_cached("PRAGMA freelist_count")?
        .query_row([], |row| row.get(0))?;
    if free == 0 {
        return Ok(false);
    }
    let mut vacuum = tx
        .connection
        .prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
    // Each step frees one page.
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(free > VACUUM_PAGES)
}
