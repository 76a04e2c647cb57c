//! The C functions of the VFS and of its files.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex};

use rusqlite::ffi;

use super::faults::{Change, Op, Part, Verdict};
use super::{Disk, disk, disk_of};

type Raw = *mut ffi::sqlite3_file;
type Methods = ffi::sqlite3_io_methods;

/// An open file of a database.
#[derive(Clone)]
struct Opened {
    disk: Arc<Disk>,
    part: Part,
    table: &'static Table,
}

/// One of the system's tables of file methods (a database's differs from its log's), and ours.
struct Table {
    system: Methods,
    ours: Methods,
}

static FILES: LazyLock<Mutex<HashMap<usize, Opened>>> = LazyLock::new(Mutex::default);
static TABLES: LazyLock<Mutex<HashMap<usize, &'static Table>>> = LazyLock::new(Mutex::default);

/// Puts our functions in the place of the system's.
pub(super) fn replace(vfs: &mut ffi::sqlite3_vfs) {
    vfs.xOpen = Some(open);
    vfs.xDelete = Some(delete);
    vfs.xAccess = Some(access);
    vfs.xRandomness = Some(randomness);
    vfs.xSleep = Some(sleep);
    vfs.xCurrentTimeInt64 = Some(current_time);
}

fn system() -> *mut ffi::sqlite3_vfs {
    // SAFETY: the default VFS is registered before anything can call this.
    unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: Raw,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: passed on unchanged to the VFS that the copy was made of; then the table of the file
    // that it opened is replaced by one with the same entries but those of `methods`.
    unsafe {
        let pass_on = move || (*system()).xOpen.unwrap()(system(), name, file, flags, out);
        let part = match flags {
            _ if name.is_null() => return pass_on(),
            flags if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 => Part::Main,
            flags if flags & ffi::SQLITE_OPEN_WAL != 0 => Part::Log,
            flags if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 => Part::Journal,
            _ => return pass_on(),
        };
        let path = CStr::from_ptr(name).to_str().unwrap();
        let database = PathBuf::from(path.strip_suffix(part.suffix()).unwrap());
        let disk = disk(&database);
        (*file).pMethods = std::ptr::null();
        let verdict = disk.faults.judge(Op::Open, part);
        if let Verdict::Fails(code) = verdict {
            return code;
        }
        let code = pass_on();
        if code != ffi::SQLITE_OK || (*file).pMethods.is_null() {
            return code;
        }
        disk.faults.tell(&Change::Opened(part));
        if verdict == Verdict::Half {
            (*(*file).pMethods).xClose.unwrap()(file);
            (*file).pMethods = std::ptr::null();
            return Op::Open.code();
        }
        if part != Part::Journal {
            disk.opens.fetch_add(1, Ordering::SeqCst);
        }
        let mut tables = TABLES.lock().unwrap();
        let table: &'static Table = tables.entry((*file).pMethods as usize).or_insert_with(|| {
            let system = *(*file).pMethods;
            let ours = methods(system);
            Box::leak(Box::new(Table { system, ours }))
        });
        let opened = Opened { disk, part, table };
        FILES.lock().unwrap().insert(file as usize, opened);
        (*file).pMethods = &raw const table.ours;
        code
    }
}

fn methods(system: Methods) -> Methods {
    Methods {
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(size),
        xLock: Some(lock),
        xCheckReservedLock: Some(check_lock),
        xShmMap: system.xShmMap.map(|_| shm_map as _),
        xShmLock: system.xShmLock.map(|_| shm_lock as _),
        ..system
    }
}

fn of(file: Raw) -> Opened {
    FILES.lock().unwrap()[&(file as usize)].clone()
}

impl Opened {
    fn judge(&self, op: Op) -> Verdict {
        self.disk.faults.judge(op, self.part)
    }

    fn system(&self) -> &'static Methods {
        &self.table.system
    }

    /// A call that changes no file, and has no half.
    fn plain(&self, op: Op, call: impl FnOnce(&'static Methods) -> c_int) -> c_int {
        match self.judge(op) {
            Verdict::Goes => call(self.system()),
            Verdict::Half => op.code(),
            Verdict::Fails(code) => code,
        }
    }

    /// A call whose whole effect is a change, seen if it was made, whatever SQLite is told of it.
    fn whole(&self, op: Op, change: &Change, call: impl FnOnce() -> c_int) -> c_int {
        let verdict = self.judge(op);
        if let Verdict::Fails(code) = verdict {
            return code;
        }
        let code = call();
        if code == ffi::SQLITE_OK {
            self.disk.faults.tell(change);
        }
        match verdict {
            Verdict::Half => op.code(),
            _ => code,
        }
    }
}

unsafe extern "C" fn close(file: Raw) -> c_int {
    let opened = of(file);
    let verdict = opened.judge(Op::Close);
    FILES.lock().unwrap().remove(&(file as usize));
    // SAFETY: the file was opened by the system's VFS, which this table is from.
    let code = unsafe { opened.system().xClose.unwrap()(file) };
    match verdict {
        Verdict::Goes => code,
        // The system's file is closed in any case.
        Verdict::Half | Verdict::Fails(_) => Op::Close.code(),
    }
}

unsafe extern "C" fn read(file: Raw, bytes: *mut c_void, length: c_int, at: i64) -> c_int {
    let opened = of(file);
    if opened.disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_READ;
    }
    let pass_on = |length| {
        // SAFETY: as for `close`; the length is what SQLite gave, or less.
        unsafe { opened.system().xRead.unwrap()(file, bytes, length, at) }
    };
    match opened.judge(Op::Read) {
        Verdict::Goes => pass_on(length),
        Verdict::Half => {
            pass_on(length / 2);
            Op::Read.code()
        }
        Verdict::Fails(code) => code,
    }
}

unsafe extern "C" fn write(file: Raw, bytes: *const c_void, length: c_int, at: i64) -> c_int {
    let opened = of(file);
    let (disk, part) = (&opened.disk, opened.part);
    if disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_WRITE;
    }
    if disk.full.load(Ordering::SeqCst) {
        return ffi::SQLITE_FULL;
    }
    let verdict = opened.judge(Op::Write);
    let length = match verdict {
        Verdict::Goes => length,
        Verdict::Half => length / 2,
        Verdict::Fails(code) => return code,
    };
    disk.writes.fetch_add(1, Ordering::SeqCst);
    disk.unsynced.fetch_add(1, Ordering::SeqCst);
    // SAFETY: as for `read`; SQLite's buffer has at least that length.
    let (code, written) = unsafe {
        let code = opened.system().xWrite.unwrap()(file, bytes, length, at);
        let written = usize::try_from(length).unwrap();
        (
            code,
            std::slice::from_raw_parts(bytes.cast::<u8>(), written),
        )
    };
    if code == ffi::SQLITE_OK && disk.faults.is_watched() {
        disk.faults.tell(&Change::Written {
            part,
            at: u64::try_from(at).unwrap(),
            bytes: written.to_vec(),
        });
    }
    match verdict {
        Verdict::Half => Op::Write.code(),
        _ => code,
    }
}

unsafe extern "C" fn truncate(file: Raw, size: i64) -> c_int {
    let opened = of(file);
    let change = Change::Truncated {
        part: opened.part,
        size: u64::try_from(size).unwrap(),
    };
    // SAFETY: as for `close`.
    opened.whole(Op::Truncate, &change, || unsafe {
        opened.system().xTruncate.unwrap()(file, size)
    })
}

unsafe extern "C" fn sync(file: Raw, flags: c_int) -> c_int {
    let opened = of(file);
    let disk = &opened.disk;
    if disk.fails_sync.load(Ordering::SeqCst) || disk.unreachable.load(Ordering::SeqCst) {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    match opened.judge(Op::Sync) {
        Verdict::Fails(code) => {
            disk.faults.tell(&Change::Dropped(opened.part));
            return code;
        }
        Verdict::Half => {
            disk.faults.tell(&Change::Synced(opened.part));
            return Op::Sync.code();
        }
        Verdict::Goes => {}
    }
    disk.syncs.fetch_add(1, Ordering::SeqCst);
    disk.unsynced.store(0, Ordering::SeqCst);
    // SAFETY: as for `close`.
    let code = unsafe { opened.system().xSync.unwrap()(file, flags) };
    disk.faults.tell(&Change::Synced(opened.part));
    code
}

unsafe extern "C" fn size(file: Raw, size: *mut i64) -> c_int {
    // SAFETY: as for `close`.
    of(file).plain(Op::Size, |system| unsafe {
        system.xFileSize.unwrap()(file, size)
    })
}

unsafe extern "C" fn lock(file: Raw, level: c_int) -> c_int {
    // SAFETY: as for `close`.
    of(file).plain(Op::Lock, |system| unsafe {
        system.xLock.unwrap()(file, level)
    })
}

unsafe extern "C" fn check_lock(file: Raw, out: *mut c_int) -> c_int {
    // SAFETY: as for `close`.
    of(file).plain(Op::CheckLock, |system| unsafe {
        system.xCheckReservedLock.unwrap()(file, out)
    })
}

unsafe extern "C" fn shm_map(
    file: Raw,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: as for `close`.
    of(file).plain(Op::ShmMap, |system| unsafe {
        system.xShmMap.unwrap()(file, region, size, extend, out)
    })
}

unsafe extern "C" fn shm_lock(file: Raw, offset: c_int, count: c_int, flags: c_int) -> c_int {
    let opened = of(file);
    // SAFETY: as for `close`.
    let pass_on =
        |system: &Methods| unsafe { system.xShmLock.unwrap()(file, offset, count, flags) };
    if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
        // The system has no way to refuse.
        return pass_on(opened.system());
    }
    opened.plain(Op::ShmLock, pass_on)
}

unsafe extern "C" fn delete(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: passed on unchanged; SQLite's names are UTF-8 and end with a zero.
    let (path, pass_on) = unsafe {
        let pass_on = || (*system()).xDelete.unwrap()(system(), name, sync_folder);
        (CStr::from_ptr(name).to_str().unwrap(), pass_on)
    };
    let Some((disk, part)) = disk_of(path.as_ref()) else {
        return pass_on();
    };
    let verdict = disk.faults.judge(Op::Delete, part);
    if let Verdict::Fails(code) = verdict {
        return code;
    }
    let code = pass_on();
    if code == ffi::SQLITE_OK {
        let synced = sync_folder != 0;
        disk.faults.tell(&Change::Deleted { part, synced });
    }
    match verdict {
        Verdict::Half => Op::Delete.code(),
        _ => code,
    }
}

unsafe extern "C" fn access(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: as for `delete`.
    unsafe {
        let path = CStr::from_ptr(name).to_str().unwrap();
        let verdict = disk_of(path.as_ref()).map_or(Verdict::Goes, |(disk, part)| {
            disk.faults.judge(Op::Access, part)
        });
        match verdict {
            Verdict::Goes => (*system()).xAccess.unwrap()(system(), name, flags, out),
            Verdict::Half => Op::Access.code(),
            Verdict::Fails(code) => code,
        }
    }
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

/// Nobody else comes nearer to letting go while one thread sleeps.
unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    std::thread::yield_now();
    microseconds
}

/// 2025-06-15, as a Julian day in milliseconds.
unsafe extern "C" fn current_time(_: *mut ffi::sqlite3_vfs, out: *mut i64) -> c_int {
    // SAFETY: SQLite hands over a place for it.
    unsafe { *out = 210_866_760_000_000 + 1_750_000_000_000 };
    ffi::SQLITE_OK
}
