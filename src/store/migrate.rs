//! The schema: numbered SQL files, add-only, applied in one transaction.

use rusqlite::Connection;

use crate::error::{OpenError, StorageError};

/// "SubO" in ASCII: marks a file as ours, for `file(1)` and for ourselves.
pub(super) const APPLICATION_ID: i32 = 0x5375_624f;

/// What each version adds. A shipped file is never edited.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema/0001_outbox.sql"),
    include_str!("schema/0002_gates.sql"),
    include_str!("schema/0003_runs.sql"),
    include_str!("schema/0004_order.sql"),
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
            connection.execute_batch(sql).map_err(fail)?;
        }
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
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    connection.execute_batch(end).map_err(fail)?;
    migrated
}

fn not_ours() -> OpenError {
    OpenError::NotAnOutbox {
        detail: "another application's SQLite database".to_owned(),
    }
}
