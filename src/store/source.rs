//! The file that a body comes from: read at submit, and copied if it has to be kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::error::OutboxError;
use crate::model::body::{FileContent, check_size};
use crate::policy::limits::Limits;

/// Read at once: a few dozen system calls for a photo, and little memory for a film.
const CHUNK: usize = 128 * 1024;

/// A measured file that is to be copied. It isn't kept open: a batch of photos would use up what a
/// phone lets an app open.
pub(crate) struct Source {
    path: PathBuf,
    length: u64,
    digest: [u8; 32],
}

/// What a file doesn't have to be.
pub(crate) enum NotOpened {
    /// There is none.
    Missing,
    /// It is a symbolic link, or no regular file.
    NotRegular(&'static str),
    /// The system doesn't let us.
    Io(io::Error),
}

/// Opens a regular file, and follows no symbolic link to it. Doesn't wait for the other end of a
/// pipe.
pub(crate) fn open_regular(path: &Path) -> Result<File, NotOpened> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NotOpened::Missing,
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            NotOpened::NotRegular("it is a symbolic link; name the file itself")
        }
        _ => NotOpened::Io(error),
    })?;
    let metadata = file.metadata().map_err(NotOpened::Io)?;
    if metadata.is_file() {
        Ok(file)
    } else {
        Err(NotOpened::NotRegular(
            "it is a folder, a pipe or a device; only regular files can be submitted",
        ))
    }
}

/// Reads a file through, and says what there is to know of it. A small one is taken as it is.
pub(crate) fn read(
    path: &str,
    limits: &Limits,
) -> Result<(FileContent, Option<Source>), OutboxError> {
    let path = PathBuf::from(path);
    let file = open_regular(&path).map_err(refusal)?;
    let length = file.metadata().map_err(|error| unreadable(&error))?.len();
    check_size(length, limits)?;
    let small = u64::from(limits.inline_body_bytes);
    if length <= small {
        let mut bytes = Vec::new();
        // One more would show that it grows.
        file.take(length + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 != length {
            return Err(changes());
        }
        return Ok((FileContent::Whole(bytes), None));
    }
    let (read, digest) = hash(file, length + 1, |_| Ok(())).map_err(|error| unreadable(&error))?;
    if read != length {
        return Err(changes());
    }
    Ok((
        FileContent::Measured { length, digest },
        Some(Source {
            path,
            length,
            digest,
        }),
    ))
}

/// Why a copy was not made.
pub(super) enum NotCopied {
    /// The source: not what it was, or not readable.
    Source(OutboxError),
    /// The target.
    Target(io::Error),
}

impl Source {
    /// Copies what was measured, or refuses: by a clone where the file system can make one. What is
    /// in the copy is compared, not what was read.
    pub(super) fn copy(&self, mut target: &File) -> Result<(), NotCopied> {
        let source = open_regular(&self.path).map_err(|why| NotCopied::Source(refusal(why)))?;
        let most = self.length + 1;
        let copied = if clone(&source, target) {
            hash(target, most, |_| Ok(())).map_err(NotCopied::Target)?
        } else {
            let mut failed = false;
            let copied = hash(&source, most, |chunk| {
                io::Write::write_all(&mut target, chunk).inspect_err(|_| failed = true)
            });
            copied.map_err(|error| {
                if failed {
                    NotCopied::Target(error)
                } else {
                    NotCopied::Source(unreadable(&error))
                }
            })?
        };
        if copied == (self.length, self.digest) {
            Ok(())
        } else {
            Err(NotCopied::Source(changes()))
        }
    }
}

/// Shares the blocks of a file with another, which becomes its equal without taking room. A fresh
/// target is at its beginning afterwards, as before.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn clone(source: &File, target: &File) -> bool {
    rustix::fs::ioctl_ficlone(target, source).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn clone(_: &File, _: &File) -> bool {
    false
}

/// Reads to the end, and at most so many bytes. Returns how many there were, and SHA-256 of them.
pub(crate) fn hash(
    file: impl Read,
    most: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, [u8; 32])> {
    let mut file = file.take(most);
    let mut hash = Sha256::new();
    let mut length = 0;
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok((length, hash.finalize().into())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        hash.update(chunk);
        each(chunk)?;
        length += count as u64;
    }
}

fn refusal(why: NotOpened) -> OutboxError {
    match why {
        NotOpened::Missing => invalid("there is no such file; use a path, not a URI"),
        NotOpened::NotRegular(problem) => invalid(problem),
        NotOpened::Io(error) => unreadable(&error),
    }
}

fn unreadable(error: &io::Error) -> OutboxError {
    invalid(match error.kind() {
        io::ErrorKind::PermissionDenied => "the app may not read the file",
        io::ErrorKind::InvalidInput => "a path has no NUL in it",
        io::ErrorKind::InvalidFilename => "the path is too long",
        _ => "the file can't be read",
    })
}

fn changes() -> OutboxError {
    invalid("the file changes while it is read; submit it when it is complete")
}

fn invalid(problem: &str) -> OutboxError {
    OutboxError::Invalid {
        field: "body.path".to_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
