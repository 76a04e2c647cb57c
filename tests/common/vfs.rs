//! A VFS of the test's own, under its own name: the system's, with its opens counted and its
//! randomness and time made deterministic.

#![allow(
    unsafe_code,
    reason = "SQLite's VFS interface is a table of C functions"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

pub static OPENS: AtomicU64 = AtomicU64::new(0);

/// Registers the VFS once, and gives its name.
pub fn register() -> String {
    static NAME: OnceLock<CString> = OnceLock::new();
    let name = NAME.get_or_init(|| {
        let name = CString::new("submit-once-sim").unwrap();
        // SAFETY: the default VFS lives for the whole process and is copied as it is; only plain
        // function pointers and the name are replaced. The copy is leaked, so it lives on too.
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
    OPENS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: passed on unchanged to the VFS that the copy was made of.
    unsafe {
        let system = ffi::sqlite3_vfs_find(std::ptr::null());
        (*system).xOpen.unwrap()(system, name, file, flags, out)
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
