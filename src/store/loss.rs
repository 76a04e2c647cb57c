//! After a loss: acknowledged changes are gone, so nothing unsettled can be called "never sent".

use rusqlite::{Connection, named_params};

use super::totals;
use super::writer::Tx;
use crate::clock::Now;
use crate::model::id::SubmissionId;

/// What is known of a loss.
pub(super) struct Loss<'a> {
    pub(super) now: &'a Now,
    /// This boot, by the database's number for it.
    pub(super) boot: i64,
    /// The highest cursor of the change feed that was ever seen.
    pub(super) high_water: i64,
    /// What happened, in words for the app.
    pub(super) why: &'static str,
}

/// Puts everything unsettled in doubt since its acceptance, by an attempt of unknown outcome that
/// may have been lost with the rest, and carries the feed on behind the highest cursor ever seen.
pub(super) fn doubt_everything(
    connection: &Connection,
    loss: &Loss<'_>,
) -> Result<(), rusqlite::Error> {
    doubt_where(
        connection,
        loss.now,
        loss.boot,
        loss.why,
        "state IN ('pending', 'in_flight', 'held') AND NOT EXISTS (SELECT 1 FROM attempt
            WHERE submission = seq AND number <= 0 AND mark = 'unknown')",
    )?;
    doubt_inbox(connection)?;
    connection.execute("UPDATE meta SET doubt_before = ?1", [loss.now.wall.0])?;
    connection.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, :high) WHERE name = 'change'",
        named_params! { ":high": loss.high_water },
    )?;
    connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'change', :high
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'change')",
        named_params! { ":high": loss.high_water },
    )?;
    Ok(())
}

/// What the inbox would let run may have run already, in what was lost.
fn doubt_inbox(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute(
        "UPDATE inbox SET state = 'uncertain', ended_wall = NULL
         WHERE state = 'free' AND policy = 'at_most_once'",
        [],
    )?;
    connection.execute("UPDATE inbox SET doubt = 1 WHERE state <> 'done'", [])?;
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
        let condition = format!("seq = {seq}");
        doubt_where(tx.connection, &tx.now, tx.boot, LOST, &condition)?;
    }
    Ok(())
}

/// Why something is in doubt after changes were lost.
pub(super) const LOST: &str = "changes of the database were lost, an attempt may be among them";

/// The attempt's recorded age is past every lifetime, since it can't be known: nothing is sent again
/// without a decision, except where a repeat overwrites.
fn doubt_where(
    connection: &Connection,
    now: &Now,
    boot: i64,
    why: &str,
    condition: &str,
) -> Result<(), rusqlite::Error> {
    let raised = connection.execute(
        &format!(
            "INSERT INTO attempt (submission, number, mark, owner, epoch, boot, began_uptime,
                began_device, began_wall, age, ended_wall, ended_boot, ended_uptime, problem)
             SELECT seq, min(0, coalesce((SELECT min(number) - 1 FROM attempt
                    WHERE submission = seq), 0)),
                'unknown', 0, epoch, :boot, 0, accepted_wall, accepted_wall, :ever, :wall, :boot,
                :uptime, :why
             FROM submission WHERE effect <> 'none' AND {condition}"
        ),
        named_params! {
            ":boot": boot,
            ":ever": i64::MAX / 4,
            ":wall": now.wall.0,
            ":why": why,
            ":uptime": now.uptime.0,
        },
    )?;
    totals::add_one(connection, totals::DOUBTS_RAISED, raised)
}
