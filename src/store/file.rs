//! The files beside the database, and what they guard against.
//!
//! * `…-highwater` keeps the change feed's last cursor, written after each commit without a sync of
//!   its own. If it is ahead of the database when that is opened, acknowledged work has been lost.
//! * `…-ballast` is a small file that is given up when the disk is full, so that an answer can
//!   still be recorded.
//! * `…-suspect` is there after damage was met, until an opening has looked for it.
//! * The database and its log, `…-wal`, must still be there under the same inodes after each commit: a
//!   commit into a deleted file is lost with the process, and one into the log of a file that was
//!   replaced means nothing to the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::salvage;
use crate::error::StorageError;
use crate::policy::limits::BALLAST_BYTES;

/// What is looked at after each commit.
pub(super) struct Guards {
    database: PathBuf,
    wal: PathBuf,
    identities: [Option<(u64, u64)>; 2],
    high_water: HighWater,
    ballast: PathBuf,
    has_ballast: bool,
}

impl Guards {
    pub(super) fn new(database: &Path) -> Self {
        let wal = beside(database, "-wal");
        let ballast = beside(database, "-ballast");
        let has_ballast = lay_ballast(&ballast).is_ok();
        Self {
            database: database.to_owned(),
            identities: [identity(database), identity(&wal)],
            wal,
            high_water: HighWater::new(database),
            ballast,
            has_ballast,
        }
    }

    /// Checks the files and raises the high-water mark.
    pub(super) fn after_commit(
        &mut self,
        wrote: bool,
        cursor: Option<i64>,
    ) -> Result<(), StorageError> {
        if wrote {
            let found = [identity(&self.database), identity(&self.wal)];
            if found.contains(&None) || found != self.identities {
                return Err(StorageError::Moved);
            }
        }
        if let Some(cursor) = cursor {
            // A hint that costs no sync: where it can't be written, a loss is noticed a little
            // later.
            drop(self.high_water.raise(cursor));
        }
        Ok(())
    }

    /// Damage was met in the database.
    pub(super) fn suspect(&self) {
        salvage::suspect(&self.database);
    }

    /// Frees the ballast's room. True if there was any.
    pub(super) fn give_up_ballast(&mut self) -> bool {
        std::mem::replace(&mut self.has_ballast, false) && fs::remove_file(&self.ballast).is_ok()
    }

    /// Takes room again, where there is some.
    pub(super) fn lay_ballast(&mut self) {
        self.has_ballast = self.has_ballast || lay_ballast(&self.ballast).is_ok();
    }
}

/// Fills the ballast file with bytes, not a hole. Not synced: it only has to take room.
fn lay_ballast(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() == BALLAST_BYTES as u64) {
        return Ok(());
    }
    let result = fs::write(path, vec![0xb5; BALLAST_BYTES]);
    if result.is_err() {
        drop(fs::remove_file(path));
    }
    result
}

/// The file that keeps the highest cursor.
pub(super) struct HighWater {
    path: PathBuf,
    file: Option<File>,
}

impl HighWater {
    pub(super) fn new(database: &Path) -> Self {
        Self {
            path: beside(database, "-highwater"),
            file: None,
        }
    }

    /// The mark, or zero where there is none that can be believed.
    pub(super) fn read(&self) -> i64 {
        let mut bytes = [0; 16];
        let read = File::open(&self.path).and_then(|mut file| file.read_exact(&mut bytes));
        let (value, check) = bytes.split_at(8);
        match (read, value.try_into(), check.try_into()) {
            (Ok(()), Ok(value), Ok(check)) => {
                let value = i64::from_be_bytes(value);
                if mix(value) == u64::from_be_bytes(check) {
                    value
                } else {
                    0
                }
            }
            _ => 0,
        }
    }

    pub(super) fn raise(&mut self, value: i64) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(
                OpenOptions::new()
                    .create(true)
                    .truncate(false)
                    .write(true)
                    .open(&self.path)?,
            ),
        };
        let mut bytes = [0; 16];
        let (head, tail) = bytes.split_at_mut(8);
        head.copy_from_slice(&value.to_be_bytes());
        tail.copy_from_slice(&mix(value).to_be_bytes());
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&bytes)
    }
}

/// Tells a torn mark from a whole one (the finaliser of MurmurHash3).
fn mix(value: i64) -> u64 {
    let mut x = u64::from_ne_bytes(value.to_ne_bytes()) ^ 0x5_0b_31_70_0c_e0;
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Device and inode of a file.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// A path that continues the database's own name.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a folder's new entries durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
