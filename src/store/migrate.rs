//! The schema: numbered SQL files, add-only, applied in one transaction.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::connection::damaged;
use super::salvage_rows::is_other_schema;
use super::transaction::end;
use crate::error::{OpenError, StorageError};
use crate::weakness::{self, Weakness};

/// "SubO" in ASCII: marks a file as ours, for `file(1)` and for ourselves.
pub(super) const APPLICATION_ID: i32 = 0x5375_624f;

/// What each version adds. A shipped file is never edited.
///
/// The file may hold tables, indexes, views and triggers of the app, whose names begin with `app_`: nothing of
/// ours may. Its views and triggers may name our tables, or what isn't there, since they are judged when they
/// are used. `ALTER TABLE` with `RENAME` or `DROP COLUMN` reads the whole schema, and fails on such a view: a step
/// that needs it must make a new table instead, and copy. `CREATE` and `ADD COLUMN` don't.
///
/// Where our tables begin in a file is the same in every file of schema 5, and salvage counts on it. The tables of
/// a later step come behind the app's, wherever these end, so the next step must tell salvage where its own are.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema/0001_outbox.sql"),
    include_str!("schema/0002_gates.sql"),
    include_str!("schema/0003_runs.sql"),
    include_str!("schema/0004_order.sql"),
    include_str!("schema/0005_records.sql"),
];

/// The newest schema that this version knows.
pub(super) fn known() -> i64 {
    MIGRATIONS.len() as i64
}

/// Whose file it is, and of which schema.
pub(super) fn identify(connection: &Connection) -> Result<(i32, i64), StorageError> {
    let application_id = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok((application_id, version))
}

/// Brings the schema up to date. True if the file was new.
pub(super) fn migrate(connection: &Connection) -> Result<bool, OpenError> {
    let fail = |error: rusqlite::Error| OpenError::from(StorageError::from(error));
    connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
    let migrated = (|| {
        let (application_id, version) = identify(connection)?;
        if application_id != APPLICATION_ID && (application_id != 0 || version != 0) {
            return Err(not_ours());
        }
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(fail)?;
        let new = application_id == 0;
        if new && tables > 0 {
            return Err(not_ours());
        }
        if version > known() {
            return Err(OpenError::SchemaTooNew {
                found: version,
                known: known(),
            });
        }
        let done = usize::try_from(version).unwrap_or(0);
        for sql in MIGRATIONS.iter().skip(done) {
            connection.execute_batch(sql).map_err(|error| {
                // What a step makes is there already, or what it builds on is missing: the version
                // is a lie.
                if !new && is_other_schema(&error) {
                    damaged("its version isn't that of its schema")
                } else {
                    fail(error)
                }
            })?;
        }
        weaken(connection).map_err(fail)?;
        if version < known() {
            connection
                .pragma_update(None, "application_id", APPLICATION_ID)
                .map_err(fail)?;
            connection
                .pragma_update(None, "user_version", known())
                .map_err(fail)?;
        }
        Ok(new)
    })();
    end(connection, migrated)
}

/// The tables, columns, indexes and triggers of a schema, by name.
fn names(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    connection
        .prepare(
            r"SELECT type || ' ' || name FROM sqlite_schema
             WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
             UNION ALL SELECT m.name || '.' || c.name
             FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'",
        )?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// The first thing that the schema should have and doesn't.
pub(super) fn missing(connection: &Connection) -> rusqlite::Result<Option<String>> {
    static EXPECTED: OnceLock<BTreeSet<String>> = OnceLock::new();
    let expected = match EXPECTED.get() {
        Some(expected) => expected,
        None => {
            let model = Connection::open_in_memory()?;
            for sql in MIGRATIONS {
                model.execute_batch(sql)?;
            }
            weaken(&model)?;
            EXPECTED.get_or_init(|| names(&model).unwrap_or_default())
        }
    };
    let found = names(connection)?;
    Ok(expected.difference(&found).next().cloned())
}

/// Takes the second lock of a door out whose first one a test has taken out.
fn weaken(connection: &Connection) -> rusqlite::Result<()> {
    if weakness::is_out(Weakness::NoTerminalGuard) {
        connection.execute_batch("DROP TRIGGER IF EXISTS submission_final")?;
    }
    Ok(())
}

fn not_ours() -> OpenError {
    OpenError::NotAnOutbox {
        detail: "another application's SQLite database".to_owned(),
    }
}
