//! Salvaging a damaged database: what can be read of it goes into a new one, and the damaged one is
//! kept under another name.
//!
//! It can be killed between any two steps:
//!
//! 1. A new database is built in the folder `…-salvage`, from a copy, and synced. A folder without a
//!    plan is left over from here: the damaged file is still in place, and the next opening begins
//!    anew.
//! 2. The plan is written: the name under which the damaged file is kept, and the report. From here
//!    on the next opening goes on.
//! 3. The damaged file, its log and its index are moved away, then the new file into place. As long
//!    as that is still in the folder, what has the database's name is the damaged one's.
//! 4. Once the first transaction in the new file is durable, the plan and the folder are deleted. A
//!    plan without a new file beside it is left over from here: nothing is left to be moved, but
//!    everything unsettled has yet to be put in doubt.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::connection::{StoreConfig, connect, damaged, prepare};
use super::file::{HighWater, beside, identity, sync_folder};
use super::inbox::Authorizer;
use super::{Salvage, bodies, migrate, owner, salvage_pages, salvage_rows};
use crate::error::{OpenError, StorageError};

/// What a salvage came to.
pub(super) struct Salvaged {
    pub(super) report: Salvage,
    pub(super) lost_changes: i64,
}

/// What step 2 writes down.
#[derive(serde::Serialize, serde::Deserialize)]
struct Plan {
    kept: u32,
    submissions: i64,
    damaged: i64,
    lost_changes: i64,
}

const SUFFIXES: [&str; 3] = ["-wal", "-shm", ""];

fn folder(database: &Path) -> PathBuf {
    beside(database, "-salvage")
}

fn plan_file(database: &Path) -> PathBuf {
    folder(database).join("plan")
}

fn new_file(database: &Path) -> PathBuf {
    folder(database).join("new.sqlite3")
}

/// Under which name a damaged file is kept.
fn kept(database: &Path, number: u32) -> PathBuf {
    beside(database, &format!(".damaged-{number}"))
}

/// True if a damaged file is kept beside the database: then its bodies are kept with it.
pub(super) fn any_kept(database: &Path) -> bool {
    kept(database, 1).exists()
}

/// True if a salvage got as far as its plan, and not to its end.
pub(super) fn is_under_way(database: &Path) -> bool {
    plan_file(database).exists()
}

/// The mark of a database in which damage was met while it was open.
fn suspicion(database: &Path) -> PathBuf {
    beside(database, "-suspect")
}

/// Damage was met while the database was open: the next opening looks for it.
pub(super) fn suspect(database: &Path) {
    // Where it can't be written, the damage is met again.
    drop(File::create(suspicion(database)));
}

/// Looks for damage that opening alone doesn't meet. Its cost grows with the file only where there is
/// a suspicion.
pub(super) fn check(connection: &Connection, database: &Path) -> Result<(), OpenError> {
    let sql = |error: rusqlite::Error| OpenError::from(StorageError::from(error));
    if let Some(missing) = migrate::missing(connection).map_err(sql)? {
        return Err(damaged(&format!("its schema has no {missing}")));
    }
    let no_meta: bool = connection
        .query_row(
            "SELECT NOT EXISTS (SELECT 1 FROM meta) AND EXISTS (SELECT 1 FROM sqlite_sequence)",
            [],
            |row| row.get(0),
        )
        .map_err(sql)?;
    if no_meta {
        return Err(damaged("the row of facts about it is gone"));
    }
    if suspicion(database).exists() && !owner::any_locked(database)? {
        let found: String = connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(sql)?;
        if found != "ok" {
            return Err(damaged(&found));
        }
        // What was met need not be what the check looks for.
        connection
            .execute_batch("REINDEX")
            .map_err(|error| match StorageError::from(error) {
                StorageError::Internal { detail } => damaged(&detail),
                other => other.into(),
            })?;
        drop(fs::remove_file(suspicion(database)));
    }
    Ok(())
}

/// Salvages the file that was tried, or goes on with a salvage. `None` if another process has done it
/// meanwhile. The caller has the database alone.
pub(super) fn salvage(
    config: &StoreConfig,
    tried: Option<(u64, u64)>,
) -> Result<Option<Salvaged>, OpenError> {
    let database = &config.path;
    if !is_under_way(database) {
        if identity(database) != tried {
            return Ok(None);
        }
        if let Err(error) = build(config) {
            drop(fs::remove_dir_all(folder(database)));
            return Err(error);
        }
    }
    let text = fs::read(plan_file(database)).map_err(|error| storage(&error))?;
    let plan: Plan = serde_json::from_slice(&text).map_err(|_| StorageError::Unavailable {
        detail: "the plan of a salvage can't be read".to_owned(),
    })?;
    install(database, &plan).map_err(|error| storage(&error))?;
    Ok(Some(Salvaged {
        report: Salvage {
            kept_at: kept(database, plan.kept).to_string_lossy().into_owned(),
            submissions: plan.submissions,
            damaged: plan.damaged,
        },
        lost_changes: plan.lost_changes,
    }))
}

/// Steps 1 and 2.
fn build(config: &StoreConfig) -> Result<(), OpenError> {
    let database = &config.path;
    let (folder, new) = (folder(database), new_file(database));
    let copy = folder.join("copy.sqlite3");
    let disk = |error: io::Error| OpenError::from(storage(&error));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(disk)?;
    }
    fs::create_dir(&folder).map_err(disk)?;
    // Reading a database writes to it. The copy may be written to, and mended.
    fs::copy(database, &copy).map_err(disk)?;
    match fs::copy(beside(database, "-wal"), beside(&copy, "-wal")) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(disk(error)),
        _ => {}
    }
    let mut into = connect(config, &new)?;
    prepare(&into, &config.limits)?;
    let authorizer = Authorizer::of(&mut into).map_err(StorageError::from)?;
    migrate::migrate(&into)?;
    let from = salvage_pages::open(config, &copy, &into)?;
    let high_water = HighWater::new(database).read();
    let saved = salvage_rows::copy(&from, &into, &authorizer, &config.clock.now(), high_water)?;
    drop(from);
    into.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(StorageError::from)?;
    drop(into);
    for suffix in SUFFIXES {
        drop(fs::remove_file(beside(&copy, suffix)));
    }
    let number = (1..u32::MAX)
        .find(|number| {
            let kept = kept(database, *number);
            SUFFIXES
                .iter()
                .all(|suffix| !beside(&kept, suffix).exists())
        })
        .unwrap_or(u32::MAX);
    let plan = Plan {
        kept: number,
        submissions: saved.submissions,
        damaged: saved.damaged,
        lost_changes: saved.lost_changes,
    };
    File::open(&new)
        .and_then(|file| file.sync_all())
        .and_then(|()| write_plan(database, &plan))
        .map_err(disk)
}

fn write_plan(database: &Path, plan: &Plan) -> io::Result<()> {
    let unfinished = folder(database).join("plan.part");
    let mut file = File::create(&unfinished)?;
    file.write_all(serde_json::to_string(plan)?.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, plan_file(database))?;
    sync_folder(&folder(database))?;
    sync_parent(database)
}

/// Step 3.
fn install(database: &Path, plan: &Plan) -> io::Result<()> {
    let new = new_file(database);
    if !new.exists() {
        return Ok(());
    }
    let kept = kept(database, plan.kept);
    for suffix in SUFFIXES {
        let (from, to) = (beside(database, suffix), beside(&kept, suffix));
        if !from.exists() {
            continue;
        }
        if to.exists() {
            return Err(io::Error::other("a kept file is in the way"));
        }
        fs::rename(from, to)?;
    }
    sync_parent(database)?;
    fs::rename(new, database)?;
    sync_parent(database)
}

/// Step 4.
pub(super) fn done(database: &Path) -> Result<(), StorageError> {
    match fs::remove_file(plan_file(database)) {
        // With the plan left, the next opening would doubt what is new.
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(storage(&error)),
        _ => {}
    }
    // What is left of the folder does no harm.
    drop(fs::remove_dir_all(folder(database)));
    drop(fs::remove_file(suspicion(database)));
    sync_parent(database).map_err(|error| storage(&error))
}

fn sync_parent(database: &Path) -> io::Result<()> {
    match database.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

fn storage(error: &io::Error) -> StorageError {
    match bodies::storage(error) {
        StorageError::Unavailable { .. } => StorageError::Unavailable {
            detail: format!("salvaging a damaged database: {error}"),
        },
        other => other,
    }
}
