//! After a loss: acknowledged changes are gone, so nothing unsettled can be called "never sent".

use rusqlite::{Connection, named_params};

use super::writer::Tx;
use crate::clock::Now;
use crate::model::id::SubmissionId;

/// Puts everything unsettled in doubt since its acceptance, by an attempt of unknown outcome that
/// may have been lost with the rest, and carries the feed on behind the highest cursor ever seen.
pub(super) fn doubt_everything(
    connection: &Connection,
    now: &Now,
    boot: i64,
    high_water: i64,
) -> Result<(), rusqlite::Error> {
    doubt_where(
        connection,
        now,
        boot,
        "state IN ('pending', 'in_flight', 'held')
            AND NOT EXISTS (SELECT 1 FROM attempt WHERE submission = seq AND number = 0)",
    )?;
    connection.execute("UPDATE meta SET doubt_before = ?1", [now.wall.0])?;
    connection.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, :high) WHERE name = 'change'",
        named_params! { ":high": high_water },
    )?;
    connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'change', :high
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'change')",
        named_params! { ":high": high_water },
    )?;
    Ok(())
}

/// Puts a submission that has just been accepted in doubt, if its ID is from before a loss: its
/// first acceptance, and an attempt, may be among what was lost.
pub(super) fn doubt_if_from_before(
    tx: &Tx<'_>,
    seq: i64,
    id: SubmissionId,
) -> Result<(), rusqlite::Error> {
    let before: i64 = tx
        .connection
        .prepare_cached("SELECT doubt_before FROM meta")?
        .query_row([], |row| row.get(0))?;
    if id.minted_at().is_some_and(|minted| minted.0 < before) {
        doubt_where(tx.connection, &tx.now, tx.boot, &format!("seq = {seq}"))?;
    }
    Ok(())
}

/// The attempt's recorded age is past every lifetime, since it can't be known: nothing is sent again
/// without a decision, except where a repeat overwrites.
fn doubt_where(
    connection: &Connection,
    now: &Now,
    boot: i64,
    condition: &str,
) -> Result<(), rusqlite::Error> {
    connection.execute(
        &format!(
            "INSERT INTO attempt (submission, number, mark, owner, epoch, boot, began_uptime,
                began_device, began_wall, age, ended_wall, ended_boot, ended_uptime, problem)
             SELECT seq, 0, 'unknown', 0, epoch, :boot, 0, accepted_wall, accepted_wall, :ever,
                :wall, :boot, :uptime, 'changes of the database were lost, an attempt may be among them'
             FROM submission WHERE effect <> 'none' AND {condition}"
        ),
        named_params! {
            ":boot": boot,
            ":ever": i64::MAX / 4,
            ":wall": now.wall.0,
            ":uptime": now.uptime.0,
        },
    )?;
    Ok(())
}
