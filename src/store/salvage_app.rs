//! Copying the app's own tables, as far as they can be read. Their definitions are taken from the damaged
//! schema, so that they may do no more than when they were made.

use rusqlite::Connection;

use super::inbox::{Authorizer, define};
use super::salvage_rows::{copy_table, readable, sequence};
use crate::error::StorageError;

pub(super) fn copy(
    from: &Connection,
    into: &Connection,
    authorizer: &Authorizer,
    far: i64,
) -> Result<(), StorageError> {
    let found = || {
        from.prepare(
            r"SELECT type, name, sql FROM sqlite_schema
             WHERE name LIKE 'app\_%' ESCAPE '\' AND sql IS NOT NULL ORDER BY rowid",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<(String, String, String)>, _>>()
    };
    let found = readable(found())?.unwrap_or_default();
    let (tables, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(kind, _, _)| kind == "table");
    for (_, name, sql) in &tables {
        if define(into, authorizer, sql)? {
            copy_table(from, into, name, far)?;
            copy_sequence(from, into, name)?;
        }
    }
    // Triggers last: what is copied has had its effect.
    for (_, _, sql) in &others {
        define(into, authorizer, sql)?;
    }
    Ok(())
}

/// Numbers that were used once aren't used again.
fn copy_sequence(from: &Connection, into: &Connection, table: &str) -> rusqlite::Result<()> {
    if let Some(ever) = sequence(from, table)? {
        let there = into.execute(
            "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
            (table, ever),
        )?;
        if there == 0 {
            into.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                (table, ever),
            )?;
        }
    }
    Ok(())
}
