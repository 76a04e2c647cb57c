//! The end of waits that are for want of a network.

use std::time::Duration;

use rusqlite::named_params;

use super::probes;
use super::step::rebase;
use super::writer::Tx;

/// Waits of one transaction: a bounded share of the writer's time.
const AT_ONCE: i64 = 1_024;

/// Makes submissions that wait for a network due `after` from now, but not before what the server
/// asked for or the quiet time. True if there may be more.
pub(super) fn hasten(tx: &Tx<'_>, after: Duration) -> rusqlite::Result<bool> {
    let rebased = rebase(tx)?;
    let hastened = tx
        .connection
        .prepare_cached(
            "UPDATE submission SET
                due_wall = due_wall - (due_uptime - max(coalesce(floor_uptime, :target), :target)),
                due_uptime = max(coalesce(floor_uptime, :target), :target)
             WHERE seq IN (SELECT seq FROM submission
                WHERE network_wait > 0 AND boot = :boot
                    AND due_uptime > max(coalesce(floor_uptime, :target), :target)
                LIMIT :most)",
        )?
        .execute(named_params! {
            ":target": tx.now.uptime.plus(after).0,
            ":boot": tx.boot,
            ":most": AT_ONCE,
        })?;
    let asked = probes::hasten(tx, after, AT_ONCE)?;
    Ok(rebased || hastened.max(asked) as i64 == AT_ONCE)
}
