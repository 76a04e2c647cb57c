//! When probes are asked: the column `probe_uptime`, and the index on it.

use std::time::Duration;

use rusqlite::named_params;

use crate::clock::{UptimeMs, whole_millis};
use crate::policy::limits::STEP_ROWS;
use crate::store::gates::{Access, Terms, access};
use crate::store::profiles;
use crate::store::rows::{Want, spell_want};
use crate::store::submissions::{Row, floor_left};
use crate::store::writer::Tx;

/// Asks after this long, and not before the quiet time is over.
pub(super) fn schedule(
    tx: &Tx<'_>,
    row: &mut Row,
    wait: Duration,
    want: Want,
) -> rusqlite::Result<()> {
    let floor = quiet_left(tx, row)?;
    let wait = wait.max(floor);
    let floor = row.floor.map(|_| tx.now.uptime.plus(floor));
    let at = tx.now.uptime.plus(wait);
    tx.connection
        .prepare_cached(
            "UPDATE submission SET ready = 0, due_uptime = NULL, probe_uptime = :at,
                probe_wall = :wall, delay = :delay, floor_uptime = :floor, boot = :boot,
                probes = :probes, failures = :failures, network_wait = :want
             WHERE seq = :seq",
        )?
        .execute(named_params! {
            ":at": at.0,
            ":wall": tx.now.wall.plus(wait).0,
            ":delay": whole_millis(wait),
            ":floor": floor.map(|floor| floor.0),
            ":boot": tx.boot,
            ":probes": row.probes,
            ":failures": row.failures,
            ":want": spell_want(want),
            ":seq": row.seq,
        })?;
    row.floor = floor;
    row.boot = Some(tx.boot);
    row.probe_at = Some(at);
    Ok(())
}

/// Asks no more.
pub(super) fn unschedule(tx: &Tx<'_>, row: &mut Row) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET probe_uptime = NULL, probe_wall = NULL, probes = ?2
             WHERE seq = ?1",
        )?
        .execute((row.seq, row.probes))?;
    row.probe_at = None;
    Ok(())
}

/// What is left of the quiet time.
pub(super) fn quiet_left(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<Duration> {
    let quiet = profiles::read(tx.connection, row.profile)?.quiet(tx.quiet_time);
    Ok(floor_left(tx, row, quiet))
}

/// A channel that has a probe to ask.
pub(super) struct Lot {
    pub(super) channel: i64,
    pub(super) access: Access,
    /// The first is due then.
    pub(super) first: UptimeMs,
}

/// The channels that have probes to ask, under these terms: a few, each found by a step in the index.
pub(super) fn lots(tx: &Tx<'_>, terms: &Terms) -> rusqlite::Result<Vec<Lot>> {
    let mut lots = Vec::new();
    let mut after = 0;
    while let Some(channel) = next_channel(tx, after)? {
        let first = tx
            .connection
            .prepare_cached(
                "SELECT min(probe_uptime) FROM submission
                 WHERE boot = ?1 AND channel = ?2 AND probe_uptime IS NOT NULL",
            )?
            .query_row((tx.boot, channel), |row| row.get(0))?;
        lots.push(Lot {
            channel,
            access: access(tx, channel, terms)?,
            first: UptimeMs(first),
        });
        after = channel;
    }
    Ok(lots)
}

fn next_channel(tx: &Tx<'_>, after: i64) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached(
            "SELECT min(channel) FROM submission
             WHERE boot = ?1 AND channel > ?2 AND probe_uptime IS NOT NULL",
        )?
        .query_row((tx.boot, after), |row| row.get(0))
}

/// The first of a channel whose time has come.
pub(super) fn due(tx: &Tx<'_>, channel: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached(
            "SELECT seq FROM submission
             WHERE boot = ?1 AND channel = ?2 AND probe_uptime <= ?3
             ORDER BY probe_uptime LIMIT ?4",
        )?
        .query_map((tx.boot, channel, tx.now.uptime.0, most as i64), |row| {
            row.get(0)
        })?
        .collect()
}

/// When probes are due next.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store) struct Next {
    pub(in crate::store) due: Option<Duration>,
    /// One is due, and waits for nothing but credentials.
    pub(in crate::store) needs_credentials: bool,
}

pub(in crate::store) fn next(tx: &Tx<'_>, terms: &Terms) -> rusqlite::Result<Next> {
    let mut next = Next::default();
    if of_other_boots(tx)? {
        next.due = Some(Duration::ZERO);
    }
    for lot in lots(tx, terms)? {
        let wait = lot.first.since(tx.now.uptime);
        let wait = match lot.access {
            Access::Open => Some(wait),
            Access::Gate(left) => Some(left.max(wait)),
            Access::Credentials => {
                next.needs_credentials |= wait.is_zero();
                // Until it is due nobody needs any.
                (!wait.is_zero()).then_some(wait)
            }
            Access::SignedOut => None,
        };
        next.due = next.due.into_iter().chain(wait).min();
    }
    Ok(next)
}

fn of_other_boots(tx: &Tx<'_>) -> rusqlite::Result<bool> {
    tx.connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM submission WHERE probe_uptime IS NOT NULL AND boot < ?1)
                OR EXISTS (SELECT 1 FROM submission WHERE probe_uptime IS NOT NULL AND boot > ?1)",
        )?
        .query_row([tx.boot], |row| row.get(0))
}

/// Brings the waits of earlier boots into this one, as those for attempts.
pub(in crate::store) fn rebase(tx: &Tx<'_>) -> rusqlite::Result<()> {
    for range in ["boot < :boot", "boot > :boot"] {
        tx.connection
            .prepare_cached(&format!(
                "UPDATE submission SET
                    probe_uptime = :uptime + max(0, min(probe_wall - :wall, delay)),
                    probe_wall = :wall + max(0, min(probe_wall - :wall, delay)),
                    floor_uptime = :uptime + max(0, min(probe_wall - :wall, delay))
                        - (probe_uptime - coalesce(floor_uptime, probe_uptime)),
                    boot = :boot
                 WHERE seq IN (SELECT seq FROM submission
                    WHERE probe_uptime IS NOT NULL AND {range} LIMIT :rows)"
            ))?
            .execute(named_params! {
                ":uptime": tx.now.uptime.0,
                ":wall": tx.now.wall.0,
                ":boot": tx.boot,
                ":rows": STEP_ROWS as i64,
            })?;
    }
    Ok(())
}

/// Asks earlier what could not be asked for want of a network. Returns how many.
pub(in crate::store) fn hasten(tx: &Tx<'_>, after: Duration, most: i64) -> rusqlite::Result<usize> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET
                probe_wall = probe_wall - (probe_uptime - max(coalesce(floor_uptime, :target), :target)),
                probe_uptime = max(coalesce(floor_uptime, :target), :target)
             WHERE seq IN (SELECT seq FROM submission
                WHERE probe_uptime IS NOT NULL AND boot = :boot AND network_wait > 0
                    AND probe_uptime > max(coalesce(floor_uptime, :target), :target)
                LIMIT :most)",
        )?
        .execute(named_params! {
            ":target": tx.now.uptime.plus(after).0,
            ":boot": tx.boot,
            ":most": most,
        })
}
