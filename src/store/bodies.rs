//! Bodies in files, in the folder `…-bodies` beside the database.
//!
//! A file is whole and durable before the row that names it is: written under another name, synced,
//! renamed, its folder synced. It goes after its submission is settled: the file first, then its
//! row in `body_file`, so that a crash in between leaves a row to clean up by. A file without a row
//! is left over from a submit that came to nothing; its name begins with the token of the outbox
//! that wrote it, and it is deleted once that outbox is gone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::{Connection, OptionalExtension};

use super::file::{beside, sync_folder};
use super::owner::{Life, life_of};
use super::source::{NotCopied, Source};
use super::writer::Tx;
use crate::entropy::Entropy;
use crate::error::{OutboxError, StorageError};
use crate::model::body::FrozenBody;
use crate::model::outcome::{Receipt, ReceiptKind};
use crate::model::request::FrozenRequest;
use crate::policy::limits::{RELEASED_AT_ONCE, STEP_ROWS};

/// What a file is called until it is whole.
const UNFINISHED: &str = ".part";

/// The folder of bodies, as one open outbox sees it.
pub(super) struct Bodies {
    folder: PathBuf,
    owners: PathBuf,
    /// What our files' names begin with.
    token: String,
    entropy: Arc<dyn Entropy>,
    /// Where the next look for orphans begins.
    looked: AtomicUsize,
    /// Changes were lost: files without rows may be all that is left of somebody's work.
    after_loss: bool,
}

impl Bodies {
    pub(super) fn new(
        database: &Path,
        owners: &Path,
        token: &str,
        entropy: Arc<dyn Entropy>,
        after_loss: bool,
    ) -> Self {
        Self {
            folder: beside(database, "-bodies"),
            owners: owners.to_owned(),
            token: token.to_owned(),
            entropy,
            looked: AtomicUsize::new(0),
            after_loss,
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes the body of a request to a file, if that is where it belongs, and says so in the
    /// request.
    pub(super) fn place(
        &self,
        request: &mut FrozenRequest,
        source: Option<&Source>,
        inline_most: u32,
    ) -> Result<Option<Draft>, OutboxError> {
        let length = request.body.length();
        let draft = match (&request.body, source) {
            (FrozenBody::Inline(bytes), _) if length <= u64::from(inline_most) => {
                debug_assert!(bytes.len() as u64 == length, "a body has one length");
                return Ok(None);
            }
            (FrozenBody::Inline(bytes), _) => {
                self.write(|mut file| file.write_all(bytes).map_err(NotCopied::Target))?
            }
            (FrozenBody::File { .. }, Some(source)) => self.write(|file| source.copy(file))?,
            (FrozenBody::File { .. }, None) => return Err(gone().into()),
        };
        request.body = FrozenBody::File {
            name: draft.name.clone(),
            length,
        };
        Ok(Some(draft))
    }

    fn write(
        &self,
        fill: impl FnOnce(&File) -> Result<(), NotCopied>,
    ) -> Result<Draft, OutboxError> {
        self.make_folder().map_err(|error| storage(&error))?;
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        let name = format!("{}.{:032x}", self.token, u128::from_be_bytes(random));
        let mut draft = Draft {
            path: self.path(&format!("{name}{UNFINISHED}")),
            name,
            kept: false,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft.path)
            .map_err(|error| storage(&error))?;
        fill(&file).map_err(|why| match why {
            NotCopied::Source(error) => error,
            NotCopied::Target(error) => storage(&error).into(),
        })?;
        let whole = self.path(&draft.name);
        file.sync_all()
            .and_then(|()| fs::rename(&draft.path, &whole))
            .map_err(|error| storage(&error))?;
        draft.path = whole;
        sync_folder(&self.folder).map_err(|error| storage(&error))?;
        Ok(draft)
    }

    fn make_folder(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Ok(()) => match self.folder.parent() {
                Some(parent) => sync_folder(parent),
                None => Ok(()),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(&self.folder)?.is_dir() {
                    Ok(())
                } else {
                    Err(io::ErrorKind::NotADirectory.into())
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Notes the file of a request, in the transaction that stores that. It is there: whoever deletes
    /// what has no row does so in a transaction, too.
    pub(super) fn note(
        &self,
        tx: &Tx<'_>,
        submission: i64,
        request: &FrozenRequest,
    ) -> Result<(), OutboxError> {
        let FrozenBody::File { name, length } = &request.body else {
            return Ok(());
        };
        let is_there = fs::symlink_metadata(self.path(name))
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == *length);
        if !is_name(name) || !is_there {
            return Err(gone().into());
        }
        tx.connection
            .prepare_cached("INSERT INTO body_file (name, submission) VALUES (?1, ?2)")?
            .execute((name, submission))?;
        Ok(())
    }

    /// Deletes the files of settled submissions, some of them. Returns the names of those that are
    /// gone.
    pub(super) fn delete(&self, names: Vec<String>) -> Vec<String> {
        let mut gone = names;
        gone.retain(|name| !is_name(name) || remove(&self.path(name)));
        gone
    }

    /// Some files of outboxes that are gone, as they may be orphans. True if there are more to look
    /// at.
    pub(super) fn suspects(&self) -> (Vec<String>, bool) {
        if self.after_loss {
            return (Vec::new(), false);
        }
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return (Vec::new(), false);
        };
        let from = self.looked.load(Ordering::Acquire);
        let names: Vec<_> = entries
            .skip(from)
            .take(STEP_ROWS)
            .map(|entry| {
                entry
                    .ok()
                    .and_then(|entry| entry.file_name().into_string().ok())
            })
            .collect();
        let more = names.len() == STEP_ROWS;
        let next = if more { from + STEP_ROWS } else { 0 };
        self.looked.store(next, Ordering::Release);
        let suspects = names
            .into_iter()
            .flatten()
            .filter(|name| token_of(name).is_some_and(|token| token != self.token))
            .collect();
        (suspects, more)
    }

    /// True if any of them is one.
    pub(super) fn any_orphan(
        &self,
        connection: &Connection,
        suspects: &[String],
    ) -> Result<bool, OutboxError> {
        for name in suspects {
            if is_orphan(connection, &self.owners, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes those of them that have no row and whose owner is gone. In a transaction, so that no
    /// submit can name one meanwhile.
    pub(super) fn delete_orphans(
        &self,
        connection: &Connection,
        suspects: &[String],
    ) -> Result<(), OutboxError> {
        for name in suspects {
            if is_orphan(connection, &self.owners, name)? {
                remove(&self.path(name));
            }
        }
        Ok(())
    }
}

/// True if no row has the name and nobody is left who may be about to write one.
fn is_orphan(connection: &Connection, owners: &Path, name: &str) -> Result<bool, OutboxError> {
    let Some(token) = token_of(name) else {
        return Ok(false);
    };
    let whole = name.strip_suffix(UNFINISHED).unwrap_or(name);
    let has_row: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM body_file WHERE name = ?1)")?
        .query_row([whole], |row| row.get(0))?;
    if has_row {
        return Ok(false);
    }
    Ok(match life_of(owners, token)? {
        Life::Alive => false,
        Life::Dead(_) => true,
        // It has left in order, or was taken over: then it isn't known any more.
        Life::Unknown => connection
            .prepare_cached("SELECT 1 FROM owner WHERE token = ?1")?
            .query_row([token], |_| Ok(()))
            .optional()?
            .is_none(),
    })
}

/// The files of settled submissions, some of them.
pub(super) fn released(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached("SELECT name FROM body_file WHERE released = 1 LIMIT ?1")?
        .query_map([RELEASED_AT_ONCE as i64], |row| row.get(0))?
        .collect()
}

/// The submission is settled, so that its file can go.
pub(super) fn release(tx: &Tx<'_>, submission: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE body_file SET released = 1 WHERE submission = ?1")?
        .execute([submission])?;
    Ok(())
}

/// Forgets files that are gone.
pub(super) fn forget(tx: &Tx<'_>, names: &[String]) -> rusqlite::Result<()> {
    for name in names {
        tx.connection
            .prepare_cached("DELETE FROM body_file WHERE name = ?1")?
            .execute([name])?;
    }
    Ok(())
}

/// True for what could be one of our names, and never for a path to somewhere else.
pub(super) fn is_name(name: &str) -> bool {
    token_of(name).is_some() && !name.ends_with(UNFINISHED)
}

/// The token that a file's name begins with. `None` for files that aren't ours.
fn token_of(name: &str) -> Option<&str> {
    let whole = name.strip_suffix(UNFINISHED).unwrap_or(name);
    let (token, random) = whole.split_once('.')?;
    let hex = |text: &str, also: &[u8]| {
        text.bytes().all(|byte| {
            byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || also.contains(&byte)
        })
    };
    (token.len() == 36 && hex(token, b"-") && random.len() == 32 && hex(random, b""))
        .then_some(token)
}

fn remove(path: &Path) -> bool {
    match fs::remove_file(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn gone() -> StorageError {
    StorageError::Unavailable {
        detail: "the copy of the body is gone".to_owned(),
    }
}

pub(super) fn storage(error: &io::Error) -> StorageError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Unavailable {
            detail: format!("the folder of bodies: {error}"),
        },
    }
}

/// A body's file whose row has not been stored. Deleted if it never is.
pub(super) struct Draft {
    name: String,
    path: PathBuf,
    kept: bool,
}

impl Draft {
    /// A row names it, or may.
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // In a panic nobody knows whether the row was stored; a leftover is found later.
        if !self.kept && !std::thread::panicking() {
            remove(&self.path);
        }
    }
}

/// Keeps the file of a body that a row names, or may name: where it is not certain that the row is
/// durable, only its absence later on says so.
pub(super) fn keep_if_stored(draft: Option<Draft>, result: Result<&Receipt, &OutboxError>) {
    let stored = match result {
        Ok(receipt) => receipt.kind == ReceiptKind::Accepted,
        Err(OutboxError::Storage { storage }) => {
            matches!(storage, StorageError::Indeterminate | StorageError::Moved)
        }
        Err(_) => false,
    };
    if let (Some(draft), true) = (draft, stored) {
        draft.keep();
    }
}
