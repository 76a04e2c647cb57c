//! A VFS of the test's own: the system's, with every call for a database seen, and made to fail on
//! demand. Its time, its sleep and its randomness are fixed.

#![allow(
    unsafe_code,
    reason = "SQLite's VFS interface is a table of C functions"
)]

mod calls;
mod faults;

pub use faults::{Change, Faults, Mode, Op, Part};

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use rusqlite::ffi;

/// What happens on the disk under one database and its log.
#[derive(Default)]
pub struct Disk {
    pub opens: AtomicU64,
    pub writes: AtomicU64,
    pub syncs: AtomicU64,
    /// Writes to the log since its last sync.
    pub unsynced: AtomicU64,
    /// Writes fail: no room.
    pub full: AtomicBool,
    /// Syncs fail: the medium said no.
    pub fails_sync: AtomicBool,
    /// Reads, writes and syncs fail: not reachable, as on a locked phone.
    pub unreachable: AtomicBool,
    /// Single calls that fail, and what the calls do.
    pub faults: Faults,
}

type Disks = Mutex<HashMap<PathBuf, Arc<Disk>>>;

static DISKS: LazyLock<Disks> = LazyLock::new(Mutex::default);

/// The disk under a database.
pub fn disk(database: &Path) -> Arc<Disk> {
    Arc::clone(DISKS.lock().unwrap().entry(key(database)).or_default())
}

/// Forgets the disk under a database that is closed.
pub fn forget(database: &Path) {
    DISKS.lock().unwrap().remove(&key(database));
}

fn key(database: &Path) -> PathBuf {
    let folder = database.parent().unwrap().canonicalize().unwrap();
    folder.join(database.file_name().unwrap())
}

/// The disk that has a file of this name, if it is under a database that is known.
fn disk_of(file: &Path) -> Option<(Arc<Disk>, Part)> {
    let name = file.to_str()?;
    let disks = DISKS.lock().unwrap();
    [Part::Log, Part::Journal, Part::Main]
        .into_iter()
        .find_map(|part| {
            let database = Path::new(name.strip_suffix(part.suffix())?);
            Some((Arc::clone(disks.get(database)?), part))
        })
}

/// Registers the VFS once, and gives its name.
pub fn register() -> String {
    static NAME: OnceLock<CString> = OnceLock::new();
    let name = NAME.get_or_init(|| {
        let name = CString::new("submit-once-sim").unwrap();
        // SAFETY: the default VFS lives for the whole process and is copied as it is; only plain
        // function pointers and the name are replaced. The copy is leaked, so it lives on too, and
        // so does the name, which moves into a static that never changes.
        unsafe {
            let system = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut vfs = Box::new(std::ptr::read(system));
            vfs.pNext = std::ptr::null_mut();
            vfs.zName = name.as_ptr();
            calls::replace(&mut vfs);
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(vfs), 0), ffi::SQLITE_OK);
        }
        name
    });
    CStr::to_str(name).unwrap().to_owned()
}
