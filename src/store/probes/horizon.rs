//! When "it isn't there" can be believed: once no attempt can still be on its way.

use std::time::Duration;

use rusqlite::named_params;

use crate::clock::{UptimeMs, WallMs};
use crate::policy::age::{Ended, passed};
use crate::store::attempts;
use crate::store::submissions::Row;
use crate::store::writer::Tx;

/// How it stands with the attempts that a probe would speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Horizon {
    /// Whatever they sent has arrived or is gone.
    Passed,
    /// That will be so after this long.
    In(Duration),
    /// One hasn't ended: its process lost its lease, and may be frozen before its first byte.
    Open,
}

/// Looks at the last attempt and at all that nobody knows the effect of.
pub(super) fn horizon(tx: &Tx<'_>, row: &Row, whole: Duration) -> rusqlite::Result<Horizon> {
    note_dead(tx, row)?;
    let reading = attempts::reading(tx)?;
    let mut least: Option<Duration> = None;
    for (attempt, ended) in ends(tx, row)? {
        let Some(ended) = ended else {
            return Ok(Horizon::Open);
        };
        let ago = match passed(&ended, &reading) {
            Some(ago) => ago,
            None => {
                // It counts from here on, by a clock that can be trusted.
                note_again(tx, attempt)?;
                Duration::ZERO
            }
        };
        least = Some(least.map_or(ago, |least| least.min(ago)));
    }
    let left = whole.saturating_sub(least.unwrap_or(whole));
    Ok(if left.is_zero() {
        Horizon::Passed
    } else {
        Horizon::In(left)
    })
}

fn ends(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<Vec<(i64, Option<Ended>)>> {
    tx.connection
        .prepare_cached(
            "SELECT id, ended_wall, ended_boot, ended_uptime, ended_best FROM attempt
             WHERE submission = ?1 AND (mark IN ('open', 'unknown') OR number = ?2)",
        )?
        .query_map((row.seq, row.attempts), |found| {
            let wall: Option<i64> = found.get(1)?;
            let ended = match wall {
                None => None,
                Some(wall) => Some(Ended {
                    boot: found.get(2)?,
                    uptime: UptimeMs(found.get::<_, Option<i64>>(3)?.unwrap_or_default()),
                    device: WallMs(wall),
                    wall: WallMs(found.get::<_, Option<i64>>(4)?.unwrap_or(wall)),
                }),
            };
            Ok((found.get(0)?, ended))
        })?
        .collect()
}

/// What its process never told of, and that process is dead. When it died isn't known, so that the end
/// is now. A dead owner leaves no row, and numbers of owners aren't used twice.
fn note_dead(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    note_ends(
        tx,
        "submission = :key AND mark = 'unknown' AND ended_wall IS NULL
            AND owner NOT IN (SELECT id FROM owner)",
        row.seq,
    )
}

fn note_again(tx: &Tx<'_>, attempt: i64) -> rusqlite::Result<()> {
    note_ends(tx, "id = :key", attempt)
}

fn note_ends(tx: &Tx<'_>, which: &str, key: i64) -> rusqlite::Result<()> {
    let best = attempts::told_wall(tx)?.unwrap_or(tx.now.wall);
    tx.connection
        .prepare_cached(&format!(
            "UPDATE attempt SET ended_wall = :wall, ended_boot = :boot, ended_uptime = :uptime,
                ended_best = :best WHERE {which}"
        ))?
        .execute(named_params! {
            ":wall": tx.now.wall.0,
            ":boot": tx.boot,
            ":uptime": tx.now.uptime.0,
            ":best": best.0,
            ":key": key,
        })?;
    Ok(())
}
