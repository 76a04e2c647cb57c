//! Who has the database open, and who of them is dead.
//!
//! Each open outbox holds an OS lock on a file of its own in the folder `…-owners`. The system
//! gives the lock back when the process ends, however it ends, and keeps it while the process is
//! frozen. So an owner is dead if and only if its lock can be taken. Where its file is gone (a cleaner
//! app, say) nothing is known, and its lease decides.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, named_params};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::bodies;
use super::connection;
use super::file::beside;
use super::writer::Tx;
use crate::clock::UptimeMs;
use crate::error::{OpenError, OutboxError, StorageError};
use crate::weakness::{self, Weakness};

/// This outbox, as others see it.
pub(super) struct Owner {
    pub(super) id: i64,
    token: String,
    folder: PathBuf,
    /// Held for its lock, until the outbox closes.
    lock: Mutex<Option<LockFile>>,
}

/// A locked file of an owner: our own, or that of a dead one.
pub(super) struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Deletes the file, once nothing in the database names it.
    pub(super) fn remove(self) {
        // A leftover is harmless: nobody looks for it.
        drop(fs::remove_file(&self.path));
    }
}

fn folder(database: &Path) -> PathBuf {
    beside(database, "-owners")
}

fn unavailable(error: &dyn std::fmt::Display) -> StorageError {
    StorageError::Unavailable {
        detail: format!("an owner's lock: {error}"),
    }
}

/// Makes and locks the file, before anybody can know its name.
pub(super) fn lock_own(database: &Path, token: &str) -> Result<LockFile, OpenError> {
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

/// The file in the folder of owners that is locked while a database is being opened.
const OPENING: &str = "opening";

/// Held while opening: others may open meanwhile, nobody salvages.
pub(super) fn share_opening(database: &Path) -> Result<File, OpenError> {
    lock_opening(database, FlockOperation::NonBlockingLockShared)
}

/// Held by the one that has the database alone: nobody has it open, or opens it meanwhile.
pub(super) fn open_alone(database: &Path) -> Result<File, OpenError> {
    let lock = lock_opening(database, FlockOperation::NonBlockingLockExclusive)?;
    if any_locked(database)? {
        return Err(StorageError::Busy.into());
    }
    Ok(lock)
}

fn lock_opening(database: &Path, how: FlockOperation) -> Result<File, OpenError> {
    let folder = folder(database);
    fs::create_dir_all(&folder).map_err(|error| not_made(&error))?;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(OPENING))
        .map_err(|error| not_made(&error))?;
    match flock(&file, how) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => Err(StorageError::Busy.into()),
        Err(error) => Err(unavailable(&error).into()),
    }
}

/// It is the first file that an opening makes, so it meets a disk that is full or read-only.
fn not_made(error: &std::io::Error) -> OpenError {
    match (bodies::storage(error), connection::unavailable(error)) {
        (StorageError::Full, _) => StorageError::Full.into(),
        (_, OpenError::ReadOnly) => OpenError::ReadOnly,
        _ => unavailable(error).into(),
    }
}

/// True if an open outbox holds its lock, whatever the database says of it.
pub(super) fn any_locked(database: &Path) -> Result<bool, StorageError> {
    let folder = folder(database);
    for entry in fs::read_dir(&folder).map_err(|error| unavailable(&error))? {
        let name = entry.map_err(|error| unavailable(&error))?.file_name();
        let name = name.to_string_lossy();
        if name != OPENING && matches!(life_of(&folder, &name)?, Life::Alive) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What an owner's lock tells.
pub(super) enum Life {
    /// Its lock is held.
    Alive,
    /// Its lock could be taken, and is held here now.
    Dead(LockFile),
    /// Its file is gone.
    Unknown,
}

pub(super) fn life_of(folder: &Path, token: &str) -> Result<Life, StorageError> {
    let path = folder.join(token);
    let file = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Life::Unknown),
        Err(error) => return Err(unavailable(&error)),
    };
    // Shared: two that look at once don't take each other for the owner.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(Life::Dead(LockFile { path, _file: file })),
        Err(Errno::WOULDBLOCK) if weakness::is_out(Weakness::HeldLockIsDead) => {
            Ok(Life::Dead(LockFile { path, _file: file }))
        }
        Err(Errno::WOULDBLOCK) => Ok(Life::Alive),
        Err(error) => Err(unavailable(&error)),
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
    pub(super) fn new(id: i64, database: &Path, token: String, lock: LockFile) -> Self {
        Self {
            id,
            token,
            folder: folder(database),
            lock: Mutex::new(Some(lock)),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the lock up, and forgets this owner if it has nothing in flight. What is left is
    /// taken over by the next.
    pub(super) fn leave(&self, connection: &Connection) {
        let forgotten = connection.execute(
            "DELETE FROM owner WHERE id = ?1
                AND NOT EXISTS (SELECT 1 FROM submission WHERE owner = ?1)",
            [self.id],
        );
        let lock = self
            .lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let (Ok(1), Some(lock)) = (forgotten, lock) {
            lock.remove();
        }
    }
}

/// Any other owner that is alive, or may be.
pub(super) fn any_alive(connection: &Connection, database: &Path) -> Result<bool, StorageError> {
    let folder = folder(database);
    for other in others(connection, 0)? {
        if !matches!(life_of(&folder, &other.token)?, Life::Dead(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Until when this owner's claims hold, as everybody reads it. `None` once another has struck it
/// off.
pub(super) fn lease(tx: &Tx<'_>, owner: &Owner) -> rusqlite::Result<Option<UptimeMs>> {
    tx.connection
        .prepare_cached("SELECT lease_uptime FROM owner WHERE id = ?1")?
        .query_row([owner.id], |row| row.get(0).map(UptimeMs))
        .optional()
}

/// The attempts that this owner has in flight, as everybody reads it.
pub(super) fn in_flight(tx: &Tx<'_>, owner: &Owner) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached("SELECT fence FROM submission WHERE owner = ?1 AND fence IS NOT NULL")?
        .query_map([owner.id], |row| row.get(0))?
        .collect()
}

/// Extends the lease from now on, under the name that it had. Returns the new end. Only for an
/// owner whose lease still holds, or that has nothing on the wire: what was on the wire when a
/// lease ran out may be somebody else's by now.
pub(super) fn extend(tx: &Tx<'_>, owner: &Owner, lease: Duration) -> Result<UptimeMs, OutboxError> {
    let until = tx.now.uptime.plus(lease);
    tx.connection
        .prepare_cached(
            "INSERT INTO owner (id, token, boot, lease_uptime) VALUES (:id, :token, :boot, :until)
             ON CONFLICT (id) DO UPDATE SET lease_uptime = excluded.lease_uptime",
        )?
        .execute(named_params! {
            ":id": owner.id,
            ":token": owner.token,
            ":boot": tx.boot,
            ":until": until.0,
        })?;
    Ok(until)
}
