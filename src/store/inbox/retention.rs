//! What the inbox forgets, in small bounded steps: results first, later that something was done. What
//! waits for a decision waits.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{OptionalExtension, named_params};

use super::lives::Lives;
use super::record;
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::inbox::InboxScope;
use crate::policy::limits::{INBOX_SCOPES_AT_ONCE, KEEP_INBOX_KEYS, KEEP_INBOX_RESULTS, STEP_ROWS};
use crate::store::owner::Owner;
use crate::store::writer::Tx;
use crate::trace::Told;

/// How long the scopes remember.
pub(super) struct Keeping(BTreeMap<String, Keep>);

#[derive(Clone, Copy)]
struct Keep {
    results: Duration,
    /// `None`: for ever.
    keys: Option<Duration>,
}

const DEFAULT: Keep = Keep {
    results: KEEP_INBOX_RESULTS,
    keys: Some(KEEP_INBOX_KEYS),
};

impl Keep {
    /// What ended before this is forgotten.
    fn until(&self, now: WallMs, keys: Duration) -> i64 {
        now.minus(self.results.saturating_add(keys)).0
    }
}

impl Keeping {
    pub(super) fn new(scopes: &[InboxScope]) -> Self {
        let keep = |scope: &InboxScope| Keep {
            results: scope.keep_results,
            keys: scope.keep_keys,
        };
        Self(
            scopes
                .iter()
                .map(|scope| (scope.name.clone(), keep(scope)))
                .collect(),
        )
    }

    /// One step: some scopes, behind the one that the last step ended with. True if there may be more.
    pub(super) fn step(
        &self,
        tx: &Tx<'_>,
        own: &Owner,
        now: WallMs,
        behind: &mut String,
    ) -> Result<bool, OutboxError> {
        let mut rows = 0;
        for _ in 0..INBOX_SCOPES_AT_ONCE {
            let Some(scope) = next_scope(tx, behind)? else {
                behind.clear();
                break;
            };
            let keep = self.0.get(&scope).copied().unwrap_or(DEFAULT);
            let forgotten = forget(tx, &scope, keep, now)?;
            rows += forgotten;
            if forgotten >= STEP_ROWS {
                // The same scope again.
                tell(tx, rows);
                return Ok(true);
            }
            *behind = scope;
        }
        rows += self.drop_lost(tx, own, now.minus(self.longest()))?;
        tell(tx, rows);
        Ok(!behind.is_empty() || rows >= STEP_ROWS)
    }

    /// Deletes runs that were lost long ago, that may be repeated, and that nobody has asked for since. They
    /// may have happened: where that is remembered for ever, they stay.
    fn drop_lost(&self, tx: &Tx<'_>, own: &Owner, until: WallMs) -> Result<usize, OutboxError> {
        let mut lives = Lives::new(tx.connection, own, tx.boot, tx.now.uptime);
        let mut old = tx.connection.prepare_cached(
            "SELECT seq, scope FROM inbox INDEXED BY inbox_running
         WHERE state = 'running' AND policy = 'at_least_once' AND began_wall < ?1
         ORDER BY began_wall",
        )?;
        let old: Vec<(i64, String)> = old
            .query_map([until.0], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut dropped = 0;
        for (seq, scope) in old {
            let keep = self.0.get(&scope).unwrap_or(&DEFAULT);
            if keep.keys.is_none() {
                continue;
            }
            if dropped == STEP_ROWS {
                break;
            }
            let Some(record) = record::by_seq(tx.connection, seq)? else {
                continue;
            };
            if lives.lost(&record.hold)? {
                tx.connection
                    .prepare_cached("DELETE FROM inbox WHERE seq = ?1")?
                    .execute([seq])?;
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    /// The longest that anything is remembered that has an end.
    fn longest(&self) -> Duration {
        self.0
            .values()
            .chain([&DEFAULT])
            .map(|keep| {
                keep.results
                    .saturating_add(keep.keys.unwrap_or(KEEP_INBOX_KEYS))
            })
            .max()
            .unwrap_or_default()
    }
}

fn next_scope(tx: &Tx<'_>, behind: &str) -> rusqlite::Result<Option<String>> {
    tx.connection
        .prepare_cached(
            "SELECT scope FROM inbox INDEXED BY inbox_ended
             WHERE ended_wall IS NOT NULL AND scope > ?1 ORDER BY scope LIMIT 1",
        )?
        .query_row([behind], |row| row.get(0))
        .optional()
}

/// Forgets what is old of one scope. Returns how many rows changed.
fn forget(tx: &Tx<'_>, scope: &str, keep: Keep, now: WallMs) -> rusqlite::Result<usize> {
    let dropped = tx
        .connection
        .prepare_cached(
            "UPDATE inbox SET result = NULL, dropped = 1 WHERE seq IN (
                SELECT seq FROM inbox INDEXED BY inbox_ended WHERE scope = :scope
                AND state = 'done' AND dropped = 0 AND ended_wall < :until
                ORDER BY ended_wall LIMIT :rows)",
        )?
        .execute(named_params! {
            ":scope": scope,
            ":until": now.minus(keep.results).0,
            ":rows": STEP_ROWS as i64,
        })?;
    let mut delete = tx.connection.prepare_cached(
        "DELETE FROM inbox WHERE seq IN (
            SELECT seq FROM inbox INDEXED BY inbox_ended WHERE scope = :scope
            AND state = :state AND dropped = :dropped AND ended_wall < :until
            AND (doubt = 0 OR :doubts)
            ORDER BY ended_wall LIMIT :rows)",
    )?;
    let mut delete = |state: &str, dropped: bool, keys: Duration| {
        delete.execute(named_params! {
            ":scope": scope,
            ":state": state,
            ":dropped": dropped,
            ":until": keep.until(now, keys),
            ":doubts": keep.keys.is_some(),
            ":rows": STEP_ROWS as i64,
        })
    };
    let done = match keep.keys {
        Some(keys) => delete("done", true, keys)?,
        None => 0,
    };
    // What came to nothing has no reason to stay for ever; what may have happened has, as what is done.
    let free = delete("free", false, keep.keys.unwrap_or(KEEP_INBOX_KEYS))?;
    Ok(dropped.max(done).max(free))
}

fn tell(tx: &Tx<'_>, rows: usize) {
    if rows > 0 {
        tx.tell(|| Told::InboxRetained { rows });
    }
}
