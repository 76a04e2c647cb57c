//! Opening a copy of a damaged database for reading: where its first page is damaged, it is made
//! anew. All tables are found from there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::Connection;

use super::bodies::storage;
use super::connection::{PAGE_BYTES, StoreConfig, connect};
use super::file::beside;
use super::migrate;
use super::salvage_rows::is_damage;
use crate::error::{OpenError, StorageError};

/// Of the first page.
const HEADER_BYTES: usize = 100;

/// Opens the copy. `model` is a new database of the same schema.
pub(super) fn open(
    config: &StoreConfig,
    copy: &Path,
    model: &Connection,
) -> Result<Connection, OpenError> {
    if let Some(connection) = try_open(config, copy)? {
        return Ok(connection);
    }
    let disk = |error: io::Error| OpenError::from(storage(&error));
    mend_header(copy).map_err(disk)?;
    if let Some(connection) = try_open(config, copy)? {
        return Ok(connection);
    }
    // Closing has brought what was in the log into the file, as far as it could be read.
    for suffix in ["-wal", "-shm"] {
        drop(fs::remove_file(beside(copy, suffix)));
    }
    empty_schema(copy).map_err(disk)?;
    let connection = connect(config, copy)?;
    fill_schema(&connection, model).map_err(StorageError::from)?;
    drop(connection);
    connect(config, copy)
}

/// The copy, if its schema can be read.
fn try_open(config: &StoreConfig, copy: &Path) -> Result<Option<Connection>, OpenError> {
    let connection = connect(config, copy)?;
    let tables = connection
        .pragma_update(None, "cell_size_check", 1)
        .and_then(|()| {
            connection
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?
                .query_map([], |row| row.get::<_, String>(0))?
                .collect::<Result<Vec<_>, _>>()
        });
    match tables {
        Ok(tables) => {
            let whole = ["submission", "request", "attempt", "profile", "meta"]
                .iter()
                .all(|name| tables.iter().any(|table| table == name));
            Ok(whole.then_some(connection))
        }
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(StorageError::from(error).into()),
    }
}

/// Writes the header that our databases have (SQLite file format, section 1.3), without what need
/// not be true for reading: sizes, the free list, and that pages may be moved.
fn mend_header(copy: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(copy)?;
    let page = PAGE_BYTES.unsigned_abs();
    let length = file.metadata()?.len();
    file.set_len(length.div_ceil(page).max(1) * page)?;
    write_header(&mut file, if has_log(copy) { 2 } else { 1 })?;
    file.sync_all()
}

fn has_log(copy: &Path) -> bool {
    beside(copy, "-wal").exists()
}

fn write_header(file: &mut File, journal: u8) -> io::Result<()> {
    let version = u32::try_from(migrate::known()).unwrap_or_default();
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(b"SQLite format 3\0");
    header.extend_from_slice(&[0x10, 0, journal, journal, 0, 64, 32, 32]);
    let words = [
        // The change counter. It differs from that at the end, so that the size isn't believed.
        1,
        0,
        0,
        0,
        // The schema's counter and format.
        1,
        4,
        0,
        0,
        // UTF-8.
        1,
        version,
        0,
        migrate::APPLICATION_ID.cast_unsigned(),
    ];
    for word in words {
        header.extend_from_slice(&word.to_be_bytes());
    }
    header.resize(HEADER_BYTES, 0);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)
}

/// Makes the first page that of a schema without tables.
fn empty_schema(copy: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(copy)?;
    write_header(&mut file, 1)?;
    // A leaf without cells, its content beginning at the page's end.
    let mut rest = vec![0x0d, 0, 0, 0, 0, 0x10, 0, 0];
    rest.resize(
        usize::try_from(PAGE_BYTES).unwrap_or_default() - HEADER_BYTES,
        0,
    );
    file.write_all(&rest)?;
    file.sync_all()
}

/// Tells where the tables are: with `auto_vacuum` their first pages come in the order in which they
/// were made, so they are the same in every database of a schema; those of the app come behind them.
fn fill_schema(connection: &Connection, model: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "writable_schema", 1)?;
    let mut rows =
        model.prepare("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema")?;
    let mut rows = rows.query([])?;
    let mut insert = connection.prepare(
        "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    while let Some(row) = rows.next()? {
        insert.execute((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, Option<String>>(4)?,
        ))?;
    }
    Ok(())
}
