//! Forgetting, in small bounded steps: settled submissions become tombstones, tombstones go when
//! no late duplicate can be expected, and the feed keeps its newest entries.

use rusqlite::named_params;

use super::changes;
use super::writer::Tx;
use crate::error::OutboxError;
use crate::policy::limits::{Limits, STEP_ROWS};

/// One step. True if there may be more to do.
pub(super) fn step(tx: &Tx<'_>, limits: &Limits) -> Result<bool, OutboxError> {
    let buried = bury(tx, limits)?;
    let forgotten = forget(tx, limits)?;
    let trimmed = changes::trim(tx, limits.keep_changes, STEP_ROWS)?;
    if buried || forgotten {
        // Some pages at a time; the rest comes with the next step.
        tx.connection
            .execute_batch("PRAGMA incremental_vacuum(64)")?;
    }
    Ok(buried || forgotten || trimmed)
}

/// Turns settled submissions into tombstones. Never an unsettled one, whatever its age.
fn bury(tx: &Tx<'_>, limits: &Limits) -> rusqlite::Result<bool> {
    let before = tx.now.wall.minus(limits.keep_results).0;
    let old: Vec<i64> = tx
        .connection
        .prepare_cached(
            "SELECT seq FROM submission WHERE settled_wall < ?1 ORDER BY settled_wall LIMIT ?2",
        )?
        .query_map((before, STEP_ROWS as i64), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &old {
        tx.connection
            .prepare_cached(
                "INSERT INTO tombstone (id, fingerprint, account, method, effect, state, reason,
                    revision, attempts, status, accepted_wall, settled_wall)
                 SELECT s.id, s.fingerprint, s.account, r.method, s.effect, s.state, s.reason,
                    s.revision, s.attempts, w.status, s.accepted_wall, s.settled_wall
                 FROM submission s JOIN request r ON r.seq = s.seq
                    LEFT JOIN answer w ON w.attempt = s.result
                 WHERE s.seq = ?1",
            )?
            .execute([seq])?;
        tx.connection
            .prepare_cached("DELETE FROM submission WHERE seq = ?1")?
            .execute([seq])?;
    }
    Ok(old.len() == STEP_ROWS)
}

/// Drops old tombstones. From then on an unknown time-ordered ID from before is refused, since it
/// can't be told from one that was settled. Derived IDs carry no time, so theirs stay for ever.
fn forget(tx: &Tx<'_>, limits: &Limits) -> rusqlite::Result<bool> {
    let before = tx
        .now
        .wall
        .minus(limits.keep_results)
        .minus(limits.keep_tombstones)
        .0;
    let dropped = tx
        .connection
        .prepare_cached(
            "DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone
                WHERE settled_wall < :before AND substr(hex(id), 13, 1) <> '5'
                ORDER BY settled_wall LIMIT :rows)",
        )?
        .execute(named_params! {
            ":before": before,
            ":rows": STEP_ROWS as i64,
        })?;
    if dropped > 0 {
        tx.connection
            .prepare_cached("UPDATE meta SET remembers_since = max(remembers_since, ?1)")?
            .execute([before])?;
    }
    Ok(dropped == STEP_ROWS)
}
