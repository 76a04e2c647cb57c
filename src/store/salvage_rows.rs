//! Copying what can be read of a damaged database into a new one, row by row.

use std::collections::{BTreeMap, VecDeque};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};

use super::fetched;
use super::inbox::Authorizer;
use super::salvage_app;
use super::salvage_mend::{self, Known, Last};
use crate::clock::Now;
use crate::error::StorageError;

/// What was saved.
pub(super) struct Saved {
    pub(super) submissions: i64,
    pub(super) damaged: i64,
    pub(super) lost_changes: i64,
}

/// Where a damaged table is read to if its last row isn't known.
const FAR: i64 = 10_000;

/// Failed reads of a table at most. One damaged page of the lowest level takes some hundred.
const FAILURES: usize = 1_000;

/// Tables that aren't copied as they are: `meta` and `owner` are made anew, the feed goes on behind
/// its last cursor, and a run is asked for again.
const NOT_COPIED: &str = "'meta', 'owner', 'change', 'run_request'";

type Sql<T> = Result<T, rusqlite::Error>;

pub(super) fn copy(
    from: &Connection,
    into: &Connection,
    authorizer: &Authorizer,
    now: &Now,
    high_water: i64,
) -> Result<Saved, StorageError> {
    into.pragma_update(None, "foreign_keys", 0)?;
    into.execute_batch("BEGIN IMMEDIATE")?;
    for table in tables(into)? {
        copy_table(from, into, &table, high_water)?;
    }
    salvage_app::copy(from, into, authorizer, high_water)?;
    // Whoever runs something is gone.
    into.execute(
        "UPDATE inbox SET owner = NULL, boot = NULL, lease_uptime = NULL WHERE state = 'running'",
        [],
    )?;
    fetched::drop_damaged(into)?;
    let known = known(from, high_water)?;
    let feed = sequence(from, "change")?;
    sequences(from, into)?;
    let saved = salvage_mend::mend(from, into, now, &known)?;
    let seen = known.values().map(|known| known.cursor).max().unwrap_or(0);
    into.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('change', ?1)",
        [high_water.max(feed.unwrap_or(0)).max(seen)],
    )?;
    into.execute_batch("COMMIT")?;
    into.pragma_update(None, "foreign_keys", 1)?;
    Ok(Saved {
        lost_changes: (high_water - feed.unwrap_or(seen)).max(0),
        ..saved
    })
}

/// True for an error that says that what was to be read is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || is_other_schema(error)
}

/// True for an error that says that a table or column is missing, or is there already.
pub(super) fn is_other_schema(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqlInputError { .. })
        || error.sqlite_error_code() == Some(ErrorCode::Unknown)
}

/// What can be read, if anything.
pub(super) fn readable<T>(read: Sql<T>) -> Sql<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(
            rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The tables, in an order that the guards allow: attempts before what is settled, records before a batch
/// that is sealed, a submission before its tombstone.
fn tables(into: &Connection) -> Sql<Vec<String>> {
    into.prepare(&format!(
        r"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
            AND name NOT IN ({NOT_COPIED})
         ORDER BY CASE name WHEN 'batch' THEN 1 WHEN 'submission' THEN 1 WHEN 'tombstone' THEN 2 ELSE 0 END, name"
    ))?
    .query_map([], |row| row.get(0))?
    .collect()
}

/// The columns that a table has on both sides.
pub(super) fn columns(from: &Connection, into: &Connection, table: &str) -> Sql<Vec<String>> {
    let names = |connection: &Connection| -> Sql<Vec<String>> {
        connection
            .prepare("SELECT name FROM pragma_table_info(?1)")?
            .query_map([table], |row| row.get(0))?
            .collect()
    };
    let here = readable(names(from))?.unwrap_or_default();
    let mut both = names(into)?;
    both.retain(|name| here.contains(name));
    Ok(both)
}

pub(super) fn copy_table(from: &Connection, into: &Connection, table: &str, far: i64) -> Sql<()> {
    let columns = columns(from, into, table)?;
    if columns.is_empty() {
        return Ok(());
    }
    let quoted: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let (list, name) = (quoted.join(", "), quote(table));
    let places = vec!["?"; columns.len()].join(", ");
    let mut insert = into.prepare(&format!(
        "INSERT OR IGNORE INTO {name} ({list}) VALUES ({places})"
    ))?;
    let mut copy = |row: &Row<'_>| -> Sql<()> {
        let mut values = Vec::with_capacity(columns.len());
        for (n, column) in columns.iter().enumerate() {
            let value = row.get_ref(n)?;
            if !fits(table, column, value) {
                return Ok(());
            }
            values.push(whole(value));
        }
        match insert.execute(rusqlite::params_from_iter(values)) {
            // What the schema refuses is damaged. It is missed later.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Ok(())
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::TypeMismatch) => Ok(()),
            done => done.map(|_| ()),
        }
    };
    let has_rowid = into.prepare(&format!("SELECT rowid FROM {name} LIMIT 0"));
    if has_rowid.is_ok() {
        walk(from, table, &list, far, &mut copy)
    } else {
        walk_keys(from, table, &list, &columns, &mut copy)
    }
}

/// A name that may be a word of SQL: those of the app's own tables.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Keys and digests have one length. Without its own, a submission can't be told from another.
fn fits(table: &str, column: &str, value: ValueRef<'_>) -> bool {
    let length = match (table, column) {
        ("submission" | "tombstone", "id") | ("slot" | "fetched", "submission_id") => 16,
        ("submission" | "tombstone", "fingerprint") => 33,
        _ => return true,
    };
    value.as_blob().is_ok_and(|blob| blob.len() == length)
}

/// Text that is no text any more would make every reader stumble; its checksum tells that it differs.
fn whole(value: ValueRef<'_>) -> ToSqlOutput<'_> {
    match value {
        ValueRef::Text(bytes) => match String::from_utf8_lossy(bytes) {
            std::borrow::Cow::Borrowed(_) => ToSqlOutput::Borrowed(value),
            std::borrow::Cow::Owned(text) => ToSqlOutput::Owned(text.into()),
        },
        other => ToSqlOutput::Borrowed(other),
    }
}

/// Visits the rows that can be read: where reading fails, what is left of the range is halved, the
/// large ranges before the small ones, until nothing but what can't be read is left or it has failed
/// too often.
fn walk(
    from: &Connection,
    table: &str,
    list: &str,
    far: i64,
    visit: &mut dyn FnMut(&Row<'_>) -> Sql<()>,
) -> Sql<()> {
    let name = quote(table);
    let end = |which: &str| -> Sql<Option<i64>> {
        let found = from.query_row(&format!("SELECT {which}(rowid) FROM {name}"), [], |row| {
            row.get::<_, Option<i64>>(0)
        });
        Ok(readable(found)?.map(Option::unwrap_or_default))
    };
    let far = far.max(sequence(from, table)?.unwrap_or(0)).max(FAR);
    let last = end("max")?.unwrap_or(far);
    // Decided results have negative numbers.
    let first = end("min")?.unwrap_or(-far);
    let sql =
        format!("SELECT {list}, rowid FROM {name} WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid");
    let Some(mut statement) = readable(from.prepare(&sql))? else {
        return Ok(());
    };
    let at = statement.column_count() - 1;
    let mut left = VecDeque::from([(first, last)]);
    let mut failures = 0;
    while let Some((low, high)) = left.pop_front() {
        let mut next = low;
        let mut rows = statement.query((low, high))?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    next = row.get::<_, i64>(at)?.saturating_add(1);
                    visit(row)?;
                }
                Ok(None) => break,
                Err(error) if is_damage(&error) => {
                    failures += 1;
                    if next < high && failures < FAILURES {
                        let middle = next + (high - next) / 2;
                        left.extend([(next, middle), (middle + 1, high)]);
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The same for a table without row numbers: from both ends up to what can't be read.
fn walk_keys(
    from: &Connection,
    table: &str,
    list: &str,
    columns: &[String],
    visit: &mut dyn FnMut(&Row<'_>) -> Sql<()>,
) -> Sql<()> {
    let Some(key) = columns.first() else {
        return Ok(());
    };
    let (name, key) = (quote(table), quote(key));
    for direction in ["ASC", "DESC"] {
        let sql = format!("SELECT {list} FROM {name} ORDER BY {key} {direction}");
        let Some(mut statement) = readable(from.prepare(&sql))? else {
            return Ok(());
        };
        let mut rows = statement.query([])?;
        loop {
            match rows.next() {
                Ok(Some(row)) => visit(row)?,
                Ok(None) => return Ok(()),
                Err(error) if is_damage(&error) => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The IDs that the index and the change feed name, with what they tell of them.
fn known(from: &Connection, high_water: i64) -> Sql<BTreeMap<[u8; 16], Known>> {
    let mut known: BTreeMap<[u8; 16], Known> = BTreeMap::new();
    let columns = ["id".to_owned(), "seq".to_owned()];
    walk_keys(from, "submission", "id, seq", &columns, &mut |row| {
        if let (Some(id), Some(seq)) = (readable(row.get(0))?, readable(row.get(1))?) {
            known.entry(id).or_default().seq = Some(seq);
        }
        Ok(())
    })?;
    let list = "submission_id, state, reason, revision, at_wall, cursor";
    walk(from, "change", list, high_water, &mut |row| {
        let read = (|| {
            let last = Last {
                state: row.get(1)?,
                reason: row.get(2)?,
                revision: row.get(3)?,
                at: row.get(4)?,
            };
            Ok((row.get(0)?, last, row.get(5)?))
        })();
        if let Some((id, last, cursor)) = readable(read)? {
            let known = known.entry(id).or_default();
            if cursor > known.cursor {
                known.last = Some(last);
                known.cursor = cursor;
            }
        }
        Ok(())
    })?;
    Ok(known)
}

/// The highest number that a table ever had, as far as it can be read.
pub(super) fn sequence(connection: &Connection, table: &str) -> Sql<Option<i64>> {
    let found = connection
        .query_row(
            "SELECT seq FROM sqlite_sequence WHERE name = ?1",
            [table],
            |row| row.get(0),
        )
        .optional();
    Ok(readable(found)?.flatten())
}

/// Numbers that were used once aren't used again.
fn sequences(from: &Connection, into: &Connection) -> Sql<()> {
    for (table, used) in [
        (
            "submission",
            "SELECT seq FROM submission UNION ALL SELECT seq FROM request
             UNION ALL SELECT submission FROM attempt UNION ALL SELECT checked_seq FROM fetched",
        ),
        (
            "attempt",
            "SELECT id FROM attempt UNION ALL SELECT fence FROM submission
             UNION ALL SELECT attempt FROM answer",
        ),
        (
            "boot",
            "SELECT id FROM boot UNION ALL SELECT boot FROM submission
             UNION ALL SELECT boot FROM attempt UNION ALL SELECT boot FROM host",
        ),
        (
            "owner",
            "SELECT owner FROM submission UNION ALL SELECT owner FROM attempt",
        ),
        // A record that can't be read is forgotten, too.
        ("inbox_run", "SELECT run FROM inbox"),
    ] {
        let used: i64 = into.query_row(
            &format!(
                "SELECT coalesce(max(n), 0) FROM (SELECT 0 AS n UNION ALL {used}) WHERE n < 1 << 53"
            ),
            [],
            |row| row.get(0),
        )?;
        let ever = sequence(from, table)?.unwrap_or(0).max(used);
        into.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [table])?;
        into.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
            (table, ever),
        )?;
    }
    Ok(())
}
