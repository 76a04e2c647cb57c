//! Opening: find out what the file is before touching it, set and assert every setting, recover,
//! checkpoint, and make one synced write before anything is answered.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, named_params};

use super::bodies::Bodies;
use super::file::{self, Guards, HighWater, sync_folder};
use super::inbox::Inbox;
use super::loss::{self, Loss};
use super::owner::{self, Owner};
use super::salvage::{self, Salvaged};
use super::transaction::end;
use super::writer::Writer;
use super::{Context, OpenReport, Store, migrate, restored};
use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::error::{OpenError, StorageError};
use crate::model::inbox::InboxScope;
use crate::policy::limits::Limits;
use crate::weakness::{self, Weakness};

/// What opening needs.
pub(crate) struct StoreConfig {
    pub(crate) path: PathBuf,
    /// The name of the SQLite VFS; `None` for the default one.
    pub(crate) vfs: Option<String>,
    pub(crate) install_id: Option<String>,
    pub(crate) limits: Limits,
    pub(crate) inbox_scopes: Vec<InboxScope>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// SQLite's default, and that of phones' file systems.
pub(super) const PAGE_BYTES: i64 = 4_096;

/// Of the log, once it has been checkpointed: about a quarter of what SQLite lets it grow to.
const LOG_BYTES: i64 = 1024 * 1024;

/// Prepared statements that a connection keeps: more than the crate has. There are some 240 places of
/// `prepare_cached`, a few of them with several texts.
const STATEMENTS: usize = 384;

/// A database without a table has no more than this: all else is in its log.
const EMPTY_BYTES: u64 = 4 * PAGE_BYTES as u64;

/// Opens the database. A damaged one is salvaged first, by a process that has it alone.
pub(super) fn open_store(config: &StoreConfig) -> Result<Store, OpenError> {
    let found = look(&config.path);
    let is_ours = found.is_ok() || HighWater::new(&config.path).read() > 0;
    if let Err(error) = &found
        && !(is_damage(error) && is_ours)
    {
        return Err(error.clone());
    }
    let tried = file::identity(&config.path);
    if !salvage::is_under_way(&config.path) {
        let opening = owner::share_opening(&config.path)?;
        let opened = found.and_then(|()| open_whole(config, None));
        match opened {
            Err(error) if is_damage(&error) => drop(opening),
            opened => return opened,
        }
    }
    let _alone = owner::open_alone(&config.path)?;
    let salvaged = salvage::salvage(config, tried)?;
    let store = open_whole(config, salvaged)?;
    salvage::done(&config.path)?;
    Ok(store)
}

fn is_damage(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::Storage {
            storage: StorageError::Corrupt { .. }
        }
    )
}

fn open_whole(config: &StoreConfig, salvaged: Option<Salvaged>) -> Result<Store, OpenError> {
    let mut connection = connect(config, &config.path)?;
    prepare(&connection, &config.limits)?;
    let created = migrate::migrate(&connection)?;
    let high_water = HighWater::new(&config.path).read();
    salvage::check(&connection, &config.path)?;
    let token = token(config.entropy.as_ref());
    if !owner::any_alive(&connection, &config.path)?
        && !weakness::is_out(Weakness::NoCheckpointAtOpen)
    {
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(StorageError::from)?;
    }
    let restored = restored::is_copy(&connection, config.install_id.as_deref());
    if restored.map_err(StorageError::from)? && owner::any_locked(&config.path)? {
        return Err(OpenError::InvalidConfig {
            field: "install_id".to_owned(),
            problem: "another process has this very file open with another one".to_owned(),
        });
    }
    let lock = owner::lock_own(&config.path, &token)?;
    let boot = boot_write(&connection, config, &token, high_water, salvaged.is_some())?;
    let guards = Guards::new(&config.path);
    let mut reader = connect(config, &config.path)?;
    prepare(&reader, &config.limits)?;
    reader
        .pragma_update(None, "query_only", true)
        .map_err(StorageError::from)?;
    let context = Context {
        clock: Arc::clone(&config.clock),
        boot: boot.boot,
        quiet_time: config.limits.quiet_time,
        max_body_bytes: config.limits.max_body_bytes,
    };
    let inbox = Inbox::new(&config.inbox_scopes, &mut connection, &mut reader)?;
    let owner = Owner::new(boot.owner, &config.path, token.clone(), lock);
    let bodies = Bodies::new(
        &config.path,
        owner.folder(),
        &token,
        Arc::clone(&config.entropy),
        boot.lost_changes > 0 || salvage::any_kept(&config.path),
    );
    Ok(Store {
        writer: Arc::new(Writer::new(connection, guards, context)),
        reader: Mutex::new(Some(reader)),
        limits: config.limits.clone(),
        owner,
        bodies: Arc::new(bodies),
        inbox,
        report: OpenReport {
            // Made anew of what is left of an old one is not new.
            created: created && salvaged.is_none(),
            lost_changes: salvaged
                .as_ref()
                .map_or(boot.lost_changes, |salvaged| salvaged.lost_changes),
            shared: false,
            restored: boot.restored,
            salvaged: salvaged.map(|salvaged| salvaged.report),
        },
    })
}

/// Reads the first bytes with plain means, so that a file that isn't ours stays untouched.
fn look(path: &Path) -> Result<(), OpenError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unavailable(&error)),
    };
    if metadata.is_dir() {
        return Err(OpenError::IsDirectory);
    }
    if metadata.permissions().readonly() {
        return Err(OpenError::ReadOnly);
    }
    if metadata.len() == 0 {
        return Ok(());
    }
    let mut header = Vec::new();
    File::open(path)
        .and_then(|file| file.take(100).read_to_end(&mut header))
        .map_err(|error| unavailable(&error))?;
    if !header.starts_with(MAGIC) {
        if is_half_made(path) {
            return Ok(());
        }
        // What has our mark beside it was an outbox.
        if HighWater::new(path).read() > 0 {
            return Err(damaged("the file's header is damaged"));
        }
        return Err(OpenError::NotAnOutbox {
            detail: "it is not an SQLite database".to_owned(),
        });
    }
    // Offsets of the SQLite file format, section 1.3.
    let word = |at: usize| -> Option<i32> {
        let bytes = header.get(at..at + 4)?.try_into().ok()?;
        Some(i32::from_be_bytes(bytes))
    };
    let (Some(schema_cookie), Some(version), Some(application_id)) = (word(40), word(60), word(68))
    else {
        return Err(damaged("the file ends within its header"));
    };
    let has_log = fs::metadata(file::beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if application_id == 0 && schema_cookie == 0 && metadata.len() > EMPTY_BYTES && !has_log {
        return Err(damaged(EMPTY_HEADER));
    }
    if application_id != migrate::APPLICATION_ID && (application_id != 0 || schema_cookie != 0) {
        return Err(OpenError::NotAnOutbox {
            detail: "another application's SQLite database".to_owned(),
        });
    }
    if i64::from(version) > migrate::known() {
        return Err(OpenError::SchemaTooNew {
            found: i64::from(version),
            known: migrate::known(),
        });
    }
    Ok(())
}

/// A file that begins as an empty one does, and is longer.
const EMPTY_HEADER: &str = "the file's header is empty, and the rest isn't";

fn is_filled(metadata: std::io::Result<fs::Metadata>) -> bool {
    metadata.is_ok_and(|metadata| metadata.len() > EMPTY_BYTES)
}

/// True if the power went while SQLite wrote the first page: its journal says that the file was empty
/// before, and SQLite makes it so again.
fn is_half_made(path: &Path) -> bool {
    // The SQLite file format, section 3: the mark, and the pages that the database had.
    const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut header = [0; 20];
    let read = File::open(file::beside(path, "-journal"))
        .and_then(|mut journal| journal.read_exact(&mut header));
    read.is_ok() && header.starts_with(&JOURNAL) && header.ends_with(&[0; 4])
}

pub(super) fn damaged(detail: &str) -> OpenError {
    StorageError::Corrupt {
        detail: detail.to_owned(),
    }
    .into()
}

/// Makes the folder of a database, so that its path has one spelling from the first opening on.
pub(crate) fn make_folder(folder: &Path) -> Result<(), OpenError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| unavailable(&error))?;
    if let Some(parent) = folder.parent().filter(|parent| parent.is_dir()) {
        sync_folder(parent).map_err(|error| unavailable(&error))?;
    }
    Ok(())
}

pub(super) fn unavailable(error: &std::io::Error) -> OpenError {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::ReadOnly
        }
        _ => StorageError::Unavailable {
            detail: error.to_string(),
        }
        .into(),
    }
}

/// Opens a database file as the store's are opened.
pub(super) fn connect(config: &StoreConfig, path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match &config.vfs {
        None => Connection::open_with_flags(path, flags),
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs.as_str()),
    };
    let connection = connection.map_err(StorageError::from)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Sets every setting, and reads it back: a pragma that SQLite doesn't take is silently ignored.
pub(super) fn prepare(connection: &Connection, limits: &Limits) -> Result<(), OpenError> {
    let sql = |error: rusqlite::Error| OpenError::from(StorageError::from(error));
    // First, since every other statement may meet another process's lock.
    connection.busy_timeout(limits.busy_timeout).map_err(sql)?;
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        // Else every binding of a value that a partial index was compared with makes SQLite prepare the
        // statement anew: several times as long as running it.
        (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
    ] {
        if connection.set_db_config(config, on).map_err(sql)? != on {
            return Err(not_taken("a database setting"));
        }
    }
    let (application_id, version) = migrate::identify(connection)?;
    if application_id == 0 && version == 0 {
        // Where the first checkpoint was cut off the header is in the log, and was seen there.
        if connection.path().map(fs::metadata).is_some_and(is_filled) {
            return Err(damaged(EMPTY_HEADER));
        }
        // Only before the first table.
        connection
            .pragma_update(None, "page_size", PAGE_BYTES)
            .map_err(sql)?;
        connection
            .pragma_update(None, "auto_vacuum", "INCREMENTAL")
            .map_err(sql)?;
    }
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(read_only_or(sql))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(not_taken("journal_mode"));
    }
    // NORMAL lost accepted work in 717 of 1,792 simulated power cuts, FULL in none.
    let full = if weakness::is_out(Weakness::SyncNormal) {
        1
    } else {
        2
    };
    set(connection, "synchronous", full)?;
    // fsync alone doesn't reach the medium on Apple systems; elsewhere the setting does nothing.
    set(connection, "fullfsync", 1)?;
    set(connection, "checkpoint_fullfsync", 1)?;
    // Bodies of settled submissions don't stay behind in free pages.
    set(connection, "secure_delete", 1)?;
    set(connection, "cell_size_check", 1)?;
    // After a checkpoint the log is cut to this instead of staying as long as it ever was.
    set(connection, "journal_size_limit", LOG_BYTES)?;
    if !weakness::is_out(Weakness::NoPersistWal) {
        persist_wal(connection)?;
    }
    Ok(())
}

fn read_only_or(
    sql: impl Fn(rusqlite::Error) -> OpenError,
) -> impl Fn(rusqlite::Error) -> OpenError {
    move |error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ReadOnly) => OpenError::ReadOnly,
        _ => sql(error),
    }
}

fn set(connection: &Connection, name: &'static str, value: i64) -> Result<(), OpenError> {
    let sql = |error: rusqlite::Error| OpenError::from(StorageError::from(error));
    connection.pragma_update(None, name, value).map_err(sql)?;
    let is: i64 = connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(sql)?;
    if is == value {
        Ok(())
    } else {
        Err(not_taken(name))
    }
}

fn not_taken(name: &str) -> OpenError {
    StorageError::Internal {
        detail: format!("SQLite didn't take {name}"),
    }
    .into()
}

/// Keeps the log when the last connection closes: a plain open and close of the database's files
/// by anything else in the process, a folder backup say, drops SQLite's POSIX locks, and another
/// process could then delete the log that is in use.
#[allow(
    unsafe_code,
    reason = "rusqlite has no safe call for this file control"
)]
fn persist_wal(connection: &Connection) -> Result<(), OpenError> {
    use rusqlite::ffi;
    let mut on: std::ffi::c_int = 1;
    // SAFETY: the handle is that of an open connection, used by this thread alone; the file
    // control reads one C int from the pointer and writes one back while the call lasts.
    let code = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_PERSIST_WAL,
            (&raw mut on).cast(),
        )
    };
    if code == ffi::SQLITE_OK && on == 1 {
        Ok(())
    } else {
        Err(not_taken("PERSIST_WAL"))
    }
}

struct Boot {
    boot: i64,
    owner: i64,
    lost_changes: i64,
    restored: bool,
}

/// The write that makes everything read so far durable: what a killed process had written but
/// not yet synced becomes visible again on opening, and must not be answered before it is safe.
fn boot_write(
    connection: &Connection,
    config: &StoreConfig,
    token: &str,
    high_water: i64,
    salvaged: bool,
) -> Result<Boot, OpenError> {
    let sql = |error: rusqlite::Error| OpenError::from(StorageError::from(error));
    let now = config.clock.now();
    let unsynced = weakness::is_out(Weakness::NoBootWrite);
    if unsynced {
        set(connection, "synchronous", 1)?;
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
    let written = (|| {
        let restored = restored::is_copy(connection, config.install_id.as_deref())?;
        if restored {
            restored::cut_off(connection, config.install_id.as_deref())?;
        }
        // Not only for a new file: its maker may have been killed right after making the tables.
        connection.execute(
            "INSERT INTO meta (one, database_id, install_id, highest_wall)
             VALUES (1, randomblob(16), :install_id, :wall)
             ON CONFLICT (one) DO UPDATE SET highest_wall = max(highest_wall, :wall),
                install_id = coalesce(install_id, :install_id)",
            named_params! { ":install_id": config.install_id, ":wall": now.wall.0 },
        )?;
        let boot_token = now
            .boot
            .clone()
            .unwrap_or_else(|| format!("opening:{token}"));
        connection.execute(
            "INSERT INTO boot (token, first_uptime, first_wall) VALUES (?1, ?2, ?3)
             ON CONFLICT (token) DO NOTHING",
            (&boot_token, now.uptime.0, now.wall.0),
        )?;
        let boot: i64 = connection.query_row(
            "SELECT id FROM boot WHERE token = ?1",
            [&boot_token],
            |row| row.get(0),
        )?;
        connection.execute(
            "INSERT INTO owner (token, boot, lease_uptime) VALUES (:token, :boot, :uptime)",
            named_params! { ":token": token, ":boot": boot, ":uptime": now.uptime.0 },
        )?;
        let owner = connection.last_insert_rowid();
        let last: Option<i64> = connection
            .query_row(
                "SELECT seq FROM sqlite_sequence WHERE name = 'change'",
                [],
                |row| row.get(0),
            )
            .optional()?;
        let lost_changes = (high_water - last.unwrap_or(0)).max(0);
        let mut loss = Loss {
            now: &now,
            boot,
            high_water,
            why: loss::LOST,
        };
        if restored {
            loss.why = "the database is a copy, and its original may have sent it";
            restored::hold_everything(connection, &loss)?;
        } else if lost_changes > 0 || salvaged {
            loss::doubt_everything(connection, &loss)?;
        }
        Ok(Boot {
            boot,
            owner,
            lost_changes,
            restored,
        })
    })();
    let written = written.map_err(|error: rusqlite::Error| match StorageError::from(error) {
        // These statements break no rule of the schema by themselves: what they met did.
        StorageError::Internal { detail } => damaged(&detail),
        other => other.into(),
    });
    let boot = end(connection, written)?;
    if unsynced {
        set(connection, "synchronous", 2)?;
    }
    Ok(boot)
}

fn token(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes)
        .into_uuid()
        .to_string()
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
