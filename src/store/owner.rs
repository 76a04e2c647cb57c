//! Who has the database open, and who of them is dead.
//!
//! Each open outbox holds an OS lock on a file of its own in the folder `…-owners`. The system
//! gives the lock back when the process ends, however it ends, and keeps it while the process is
//! frozen. So an owner is dead if and only if its lock can be taken.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, named_params};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::file::beside;
use super::writer::Tx;
use crate::clock::UptimeMs;
use crate::error::{OpenError, OutboxError, StorageError};

/// This outbox, as others see it.
pub(super) struct Owner {
    pub(super) id: i64,
    folder: PathBuf,
    /// Held for its lock.
    _lock: LockFile,
}

/// A locked file of an owner: our own, or that of a dead one.
pub(super) struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Deletes a dead owner's file, once nothing in the database names it.
    pub(super) fn remove(self) {
        // A leftover is harmless: nobody looks for it.
        drop(fs::remove_file(&self.path));
    }
}

fn folder(database: &Path) -> PathBuf {
    beside(database, "-owners")
}

/// Makes and locks the file, before anybody can know its name.
pub(super) fn lock_own(database: &Path, token: &str) -> Result<LockFile, OpenError> {
    let unavailable = |error: &dyn std::fmt::Display| StorageError::Unavailable {
        detail: format!("the owner's lock: {error}"),
    };
    let folder = folder(database);
    fs::create_dir_all(&folder).map_err(|error| unavailable(&error))?;
    let path = folder.join(token);
    let file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(&path)
        .map_err(|error| unavailable(&error))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| unavailable(&error))?;
    Ok(LockFile { path, _file: file })
}

/// Takes the lock of an owner if it is dead.
pub(super) fn lock_dead(folder: &Path, token: &str) -> Result<Option<LockFile>, StorageError> {
    let path = folder.join(token);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        // Its file is gone, and with it the only lock there could be. Make one to hold: two
        // survivors must not both take over, but they are in one write transaction each anyway.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| unreachable_folder(&error))?,
        Err(error) => return Err(unreachable_folder(&error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(LockFile { path, _file: file })),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(unreachable_folder(&error)),
    }
}

fn unreachable_folder(error: &dyn std::fmt::Display) -> StorageError {
    StorageError::Unavailable {
        detail: format!("an owner's lock: {error}"),
    }
}

/// Another open outbox, or what is left of one.
pub(super) struct Other {
    pub(super) id: i64,
    pub(super) token: String,
    pub(super) boot: i64,
    pub(super) lease: UptimeMs,
}

pub(super) fn others(connection: &Connection, own: i64) -> Result<Vec<Other>, rusqlite::Error> {
    connection
        .prepare_cached("SELECT id, token, boot, lease_uptime FROM owner WHERE id <> ?1")?
        .query_map([own], |row| {
            Ok(Other {
                id: row.get(0)?,
                token: row.get(1)?,
                boot: row.get(2)?,
                lease: UptimeMs(row.get(3)?),
            })
        })?
        .collect()
}

impl Owner {
    pub(super) fn new(id: i64, database: &Path, lock: LockFile) -> Self {
        Self {
            id,
            folder: folder(database),
            _lock: lock,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Forgets this owner, if it has nothing in flight. What is left is taken over by the next.
    pub(super) fn leave(&self, connection: &Connection) {
        let forgotten = connection.execute(
            "DELETE FROM owner WHERE id = ?1
                AND NOT EXISTS (SELECT 1 FROM submission WHERE owner = ?1)",
            [self.id],
        );
        if matches!(forgotten, Ok(1)) {
            drop(fs::remove_file(&self._lock.path));
        }
    }
}

/// Any other owner that is alive.
pub(super) fn any_alive(
    connection: &Connection,
    database: &Path,
    own: i64,
) -> Result<bool, StorageError> {
    let folder = folder(database);
    for other in others(connection, own)? {
        if lock_dead(&folder, &other.token)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Extends the lease from now on. Returns the new end.
pub(super) fn renew(tx: &Tx<'_>, owner: &Owner, lease: Duration) -> Result<UptimeMs, OutboxError> {
    let until = tx.now.uptime.plus(lease);
    tx.connection
        .prepare_cached("UPDATE owner SET lease_uptime = :until WHERE id = :id")?
        .execute(named_params! { ":until": until.0, ":id": owner.id })?;
    Ok(until)
}
