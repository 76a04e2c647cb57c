//! A copy of a database: a backup that was restored, a cloned device. The original goes on without
//! it, so nobody knows here what it has sent meanwhile.

use rusqlite::{Connection, OptionalExtension, named_params};

use super::loss::{self, Loss};

/// True if another installation made the file. One that doesn't say who it is has no copies.
pub(super) fn is_copy(connection: &Connection, install_id: Option<&str>) -> rusqlite::Result<bool> {
    let stored: Option<String> = connection
        .query_row("SELECT install_id FROM meta", [], |row| row.get(0))
        .optional()?
        .flatten();
    Ok(match (stored, install_id) {
        (Some(stored), Some(own)) => stored != own,
        (None, _) | (_, None) => false,
    })
}

/// Makes the copy a database of its own: what the original had open is none of its business.
pub(super) fn cut_off(connection: &Connection, install_id: Option<&str>) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE meta SET database_id = randomblob(16), install_id = ?1",
        [install_id],
    )?;
    // Two devices may name their boots alike: counted, say.
    connection.execute(
        "UPDATE boot SET token = 'copied ' || id || ' ' || token",
        [],
    )?;
    // The quiet time begins anew: when the original's attempts end can't be known here.
    connection.execute(
        "UPDATE submission SET owner = NULL, floor_uptime = coalesce(floor_uptime, 0), boot = NULL
         WHERE owner IS NOT NULL",
        [],
    )?;
    connection.execute("DELETE FROM owner", [])?;
    connection.execute("DELETE FROM run_request", [])?;
    connection.execute(
        "UPDATE host SET failures = 0, closed_uptime = NULL, closed_wall = NULL, delay = NULL,
            boot = NULL",
        [],
    )?;
    connection.execute("UPDATE account SET closed = 0, refusals = 0", [])?;
    Ok(())
}

/// Holds everything unsettled, in doubt since its acceptance. What is damaged, or misses its
/// parent's result, stays held for that: it can't be sent as it is.
pub(super) fn hold_everything(connection: &Connection, loss: &Loss<'_>) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE attempt SET ended_wall = coalesce(ended_wall, :wall),
            problem = 'the database is a copy, and its original may have got the answer',
            mark = CASE WHEN EXISTS (SELECT 1 FROM submission
                WHERE seq = submission AND effect = 'none') THEN 'not_applied' ELSE 'unknown' END
         WHERE mark = 'open'",
        named_params! { ":wall": loss.now.wall.0 },
    )?;
    loss::doubt_everything(connection, loss)?;
    // The feed first: it tells the state that the update leads to.
    connection.execute(
        &format!(
            "INSERT INTO change (submission_id, state, reason, revision, at_wall)
             SELECT id, 'held', 'restored', revision + 1, :wall FROM submission WHERE {TO_HOLD}
             ORDER BY seq"
        ),
        named_params! { ":wall": loss.now.wall.0 },
    )?;
    connection.execute(
        &format!(
            "UPDATE submission SET state = 'held', reason = 'restored', revision = revision + 1,
                cancel_requested = 0, consent = 0, ready = 0, due_uptime = NULL,
                probe_uptime = NULL, network_wait = 0, fence = NULL,
                problem = 'the database is a copy of another installation''s'
             WHERE {TO_HOLD}"
        ),
        [],
    )?;
    Ok(())
}

const TO_HOLD: &str = "state IN ('pending', 'in_flight')
    OR (state = 'held' AND coalesce(reason, '') NOT IN ('damaged', 'parent_result_missing'))";
