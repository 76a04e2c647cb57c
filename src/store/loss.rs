//! After a loss: acknowledged changes are gone, so nothing unsettled can be called "never sent".

use rusqlite::{Connection, named_params};

use crate::clock::Now;

/// Puts everything unsettled in doubt since its acceptance, by an attempt of unknown outcome that
/// may have been lost with the rest, and carries the feed on behind the highest cursor ever seen.
///
/// Its recorded age is past every lifetime, since it can't be known: nothing is sent again without
/// a decision, except where a repeat overwrites.
pub(super) fn doubt_everything(
    connection: &Connection,
    now: &Now,
    boot: i64,
    high_water: i64,
) -> Result<(), rusqlite::Error> {
    connection.execute(
        "INSERT INTO attempt (submission, number, mark, owner, epoch, boot, began_uptime,
            began_device, began_wall, age, ended_wall, problem)
         SELECT seq, 0, 'unknown', 0, epoch, :boot, 0, accepted_wall, accepted_wall, :ever, :wall,
            'changes of the database were lost, an attempt may be among them'
         FROM submission WHERE state IN ('pending', 'in_flight', 'held') AND effect <> 'none'
            AND NOT EXISTS (SELECT 1 FROM attempt WHERE submission = seq AND number = 0)",
        named_params! {
            ":boot": boot,
            ":ever": i64::MAX / 4,
            ":wall": now.wall.0,
        },
    )?;
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
