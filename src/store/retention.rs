//! Forgetting, in small bounded steps: settled submissions become tombstones, tombstones go when
//! no late duplicate can be expected, and the feed keeps its newest entries.
//!
//! Age is only believed by a server's clock: a device that starts with a wrong one must not forget
//! what it will need in a minute.

use super::writer::Tx;
use super::{attempts, changes};
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::policy::limits::{Limits, STEP_ROWS};

/// One step. True if there may be more to do.
pub(super) fn step(tx: &Tx<'_>, limits: &Limits) -> Result<bool, OutboxError> {
    let mut more = changes::trim(tx, limits.keep_changes, STEP_ROWS)?;
    if let Some(told) = attempts::told_wall(tx)? {
        // And only as far as the device agrees: a server can be wrong, too.
        let now = told.min(tx.now.wall);
        let buried = bury(tx, now.minus(limits.keep_results))?;
        let before = now.minus(limits.keep_results).minus(limits.keep_tombstones);
        let forgotten = forget(tx, before)?;
        if buried || forgotten {
            // Some pages at a time; the rest comes with the next step.
            tx.connection
                .execute_batch("PRAGMA incremental_vacuum(64)")?;
        }
        more |= buried || forgotten;
    }
    Ok(more)
}

/// Turns settled submissions into tombstones. Never an unsettled one, whatever its age.
fn bury(tx: &Tx<'_>, before: WallMs) -> rusqlite::Result<bool> {
    let old: Vec<i64> = tx
        .connection
        .prepare_cached(
            "SELECT seq FROM submission WHERE settled_wall < ?1 ORDER BY settled_wall LIMIT ?2",
        )?
        .query_map((before.0, STEP_ROWS as i64), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &old {
        bury_one(tx, *seq)?;
    }
    Ok(old.len() == STEP_ROWS)
}

/// Leaves nothing but the tombstone of a settled submission.
pub(super) fn bury_one(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "INSERT INTO tombstone (id, fingerprint, account, method, effect, state, reason,
                revision, attempts, status, accepted_wall, settled_wall)
             SELECT s.id, s.fingerprint, s.account, coalesce(r.method, ''), s.effect, s.state,
                s.reason, s.revision, s.attempts, w.status, s.accepted_wall, s.settled_wall
             FROM submission s LEFT JOIN request r ON r.seq = s.seq
                LEFT JOIN answer w ON w.attempt = s.result
             WHERE s.seq = ?1",
        )?
        .execute([seq])?;
    tx.connection
        .prepare_cached("DELETE FROM submission WHERE seq = ?1")?
        .execute([seq])?;
    Ok(())
}

/// Drops old tombstones of time-ordered IDs. From then on an unknown ID that is as old as the newest
/// of them is refused, since it can't be told from one that was settled.
fn forget(tx: &Tx<'_>, before: WallMs) -> rusqlite::Result<bool> {
    let old: Vec<([u8; 16], i64)> = tx
        .connection
        .prepare_cached(
            "SELECT id, settled_wall FROM tombstone
             WHERE settled_wall < ?1 AND substr(hex(id), 13, 1) = '7'
             ORDER BY settled_wall LIMIT ?2",
        )?
        .query_map((before.0, STEP_ROWS as i64), |row| {
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
    Ok(old.len() == STEP_ROWS)
}
