//! A VFS of the test's own: the system's, with every write and sync of a database seen, and made
//! to fail on demand. Its randomness is fixed.

#![allow(
    unsafe_code,
    reason = "SQLite's VFS interface is a table of C functions"
)]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
}

type Files = Mutex<HashMap<usize, (Arc<Disk>, &'static Table)>>;

static DISKS: LazyLock<Mutex<HashMap<PathBuf, Arc<Disk>>>> = LazyLock::new(Mutex::default);
static FILES: LazyLock<Files> = LazyLock::new(Mutex::default);
static TABLES: LazyLock<Mutex<HashMap<usize, &'static Table>>> = LazyLock::new(Mutex::default);

/// One of the system's tables of file methods (a database's differs from its log's), and ours.
struct Table {
    system: ffi::sqlite3_io_methods,
    ours: ffi::sqlite3_io_methods,
}

/// The disk under a database.
pub fn disk(database: &Path) -> Arc<Disk> {
    let folder = database.parent().unwrap().canonicalize().unwrap();
    let path = folder.join(database.file_name().unwrap());
    Arc::clone(DISKS.lock().unwrap().entry(path).or_default())
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
            vfs.xOpen = Some(open);
            vfs.xRandomness = Some(randomness);
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(vfs), 0), ffi::SQLITE_OK);
        }
        name
    });
    CStr::to_str(name).unwrap().to_owned()
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: passed on unchanged to the VFS that the copy was made of; then the table of the file
    // that it opened is replaced by one with the same entries but four.
    unsafe {
        let system = ffi::sqlite3_vfs_find(std::ptr::null());
        let code = (*system).xOpen.unwrap()(system, name, file, flags, out);
        if code != ffi::SQLITE_OK || name.is_null() || (*file).pMethods.is_null() {
            return code;
        }
        let path = PathBuf::from(CStr::from_ptr(name).to_str().unwrap());
        let is_log = flags & ffi::SQLITE_OPEN_WAL != 0;
        if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 && !is_log {
            return code;
        }
        let database = if is_log {
            PathBuf::from(path.to_str().unwrap().strip_suffix("-wal").unwrap())
        } else {
            path
        };
        let disk = disk(&database);
        disk.opens.fetch_add(1, Ordering::SeqCst);
        let mut tables = TABLES.lock().unwrap();
        let table: &'static Table = tables.entry((*file).pMethods as usize).or_insert_with(|| {
            let system = *(*file).pMethods;
            Box::leak(Box::new(Table {
                system,
                ours: ffi::sqlite3_io_methods {
                    xClose: Some(close),
                    xRead: Some(read),
                    xWrite: Some(write),
                    xSync: Some(sync),
                    ..system
                },
            }))
        });
        FILES.lock().unwrap().insert(file as usize, (disk, table));
        (*file).pMethods = &raw const table.ours;
        code
    }
}

fn of(file: *mut ffi::sqlite3_file) -> (Arc<Disk>, &'static ffi::sqlite3_io_methods) {
    let files = FILES.lock().unwrap();
    let (disk, table) = &files[&(file as usize)];
    (Arc::clone(disk), &table.system)
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let (_, system) = of(file);
    FILES.lock().unwrap().remove(&(file as usize));
    // SAFETY: the file was opened by the system's VFS, which this table is from.
    unsafe { system.xClose.unwrap()(file) }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    bytes: *mut c_void,
    length: c_int,
    at: i64,
) -> c_int {
    let (disk, system) = of(file);
    if disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_READ;
    }
    // SAFETY: as for `close`.
    unsafe { system.xRead.unwrap()(file, bytes, length, at) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    at: i64,
) -> c_int {
    let (disk, system) = of(file);
    if disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_WRITE;
    }
    if disk.full.load(Ordering::SeqCst) {
        return ffi::SQLITE_FULL;
    }
    disk.writes.fetch_add(1, Ordering::SeqCst);
    disk.unsynced.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as for `close`.
    unsafe { system.xWrite.unwrap()(file, bytes, length, at) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let (disk, system) = of(file);
    if disk.fails_sync.load(Ordering::SeqCst) || disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    disk.syncs.fetch_add(1, Ordering::SeqCst);
    disk.unsynced.store(0, Ordering::SeqCst);
    // SAFETY: as for `close`.
    unsafe { system.xSync.unwrap()(file, flags) }
}

unsafe extern "C" fn randomness(
    _: *mut ffi::sqlite3_vfs,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite hands over a buffer of that length.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(out.cast::<u8>(), usize::try_from(length).unwrap())
    };
    bytes.fill(0x5a);
    length
}
