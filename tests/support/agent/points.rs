//! Named points of this process's life, at which a test lets it die or stand still.
//!
//! A point is passed whenever the process comes by; the test names one, and which passing counts. The
//! process says `at POINT` on its output, so that the test knows that it came there, and then kills
//! itself, or waits for the command `go`. The calls `open`, `submit`, `settle`, `suspend` and `close` are
//! passed with each write of SQLite to the disk within them.

#![allow(
    unsafe_code,
    reason = "SQLite's system calls are replaced by C functions"
)]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};

use rusqlite::ffi;

use crate::say;

/// What becomes of the process there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Dies,
    Stands,
}

struct Point {
    name: String,
    left: AtomicI64,
    then: Then,
    /// SQLite's writes count now.
    writes: AtomicBool,
    may_go: Mutex<bool>,
    goes: Condvar,
}

static POINT: OnceLock<Point> = OnceLock::new();

/// Takes `NAME:N`: the n-th passing, from 1.
pub fn set(text: &str, then: Then) {
    let (name, passing) = text.split_once(':').expect("NAME:N");
    let point = Point {
        name: name.to_owned(),
        left: AtomicI64::new(passing.parse().expect("a number")),
        then,
        writes: AtomicBool::new(false),
        may_go: Mutex::new(false),
        goes: Condvar::new(),
    };
    assert!(POINT.set(point).is_ok(), "one point is enough");
    watch_disk();
}

/// The process comes by.
pub fn pass(name: &str) {
    if let Some(point) = POINT.get()
        && point.name == name
        && point.left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        say(&format!("at {name}"));
        match point.then {
            Then::Dies => die(),
            Then::Stands => stand(point),
        }
    }
}

/// Each write of SQLite within the call passes this point.
pub fn within<T>(name: &str, call: impl FnOnce() -> T) -> T {
    from_here(name);
    let result = call();
    if let Some(point) = POINT.get() {
        point.writes.store(false, Ordering::SeqCst);
    }
    result
}

/// Each write of SQLite passes this point from now on.
pub fn from_here(name: &str) {
    if let Some(point) = POINT.get()
        && point.name == name
    {
        point.writes.store(true, Ordering::SeqCst);
    }
}

/// The process is to stand somewhere.
pub fn stands() -> bool {
    POINT.get().is_some_and(|point| point.then == Then::Stands)
}

/// Whoever stands goes on.
pub fn go() {
    if let Some(point) = POINT.get() {
        *point.may_go.lock().expect("no panic") = true;
        point.goes.notify_all();
    }
}

fn stand(point: &Point) {
    let may_go = point.may_go.lock().expect("no panic");
    drop(point.goes.wait_while(may_go, |may_go| !*may_go));
}

/// As the system would do it: no destructor runs, nothing is flushed.
fn die() {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("its own signal");
    loop {
        std::thread::park();
    }
}

type Write = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
type Truncate = unsafe extern "C" fn(c_int, i64) -> c_int;

static WRITE: OnceLock<Write> = OnceLock::new();
static TRUNCATE: OnceLock<Truncate> = OnceLock::new();

fn watch_disk() {
    // SAFETY: the default VFS lives as long as the process, and what it calls under these names are
    // functions of these types.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(std::ptr::null());
        let get = (*vfs).xGetSystemCall.expect("a VFS of version 3");
        let set = (*vfs).xSetSystemCall.expect("a VFS of version 3");
        let system = get(vfs, c"pwrite".as_ptr()).expect("the system's pwrite");
        WRITE.get_or_init(|| std::mem::transmute::<unsafe extern "C" fn(), Write>(system));
        let own: unsafe extern "C" fn() = std::mem::transmute(write as Write);
        assert_eq!(set(vfs, c"pwrite".as_ptr(), Some(own)), ffi::SQLITE_OK);
        let system = get(vfs, c"ftruncate".as_ptr()).expect("the system's ftruncate");
        TRUNCATE.get_or_init(|| std::mem::transmute::<unsafe extern "C" fn(), Truncate>(system));
        let own: unsafe extern "C" fn() = std::mem::transmute(truncate as Truncate);
        assert_eq!(set(vfs, c"ftruncate".as_ptr(), Some(own)), ffi::SQLITE_OK);
    }
}

fn pass_write() {
    if let Some(point) = POINT.get()
        && point.writes.load(Ordering::SeqCst)
    {
        pass(&point.name);
    }
}

unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    pass_write();
    // SAFETY: passed on unchanged.
    unsafe { WRITE.get().expect("set before this")(file, bytes, length, at) }
}

unsafe extern "C" fn truncate(file: c_int, length: i64) -> c_int {
    pass_write();
    // SAFETY: passed on unchanged.
    unsafe { TRUNCATE.get().expect("set before this")(file, length) }
}
