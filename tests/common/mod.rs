//! What the test binaries share.
#![allow(dead_code, unused_imports, reason = "each test binary uses its part")]

pub mod agents;
pub mod attack;
pub mod sim;
pub mod vfs;

use std::path::PathBuf;

use tempfile::TempDir;

/// A private folder for one test, with the path of a database in it.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// One in memory where the system has such a folder: a kill loses nothing of it, and its syncs cost
    /// nothing.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self {
            folder: folder.unwrap(),
        }
    }

    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("outbox.sqlite3")
    }

    pub fn path(&self) -> String {
        self.database().to_str().unwrap().to_owned()
    }

    /// The files in the folder of bodies.
    pub fn bodies(&self) -> Vec<PathBuf> {
        let folder = self.folder().join("outbox.sqlite3-bodies");
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// A file of the app's own, with these bytes.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A raw connection beside the library, to look, or to break things on purpose.
    pub fn sql(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.database()).unwrap();
        connection
            .busy_timeout(std::time::Duration::from_secs(5))
            .unwrap();
        connection
    }
}
