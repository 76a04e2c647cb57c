//! Which of a disk's calls fail, and how; and what the others do to its files.

use std::sync::Mutex;

use rusqlite::ffi;

/// A file of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    Main,
    Log,
    Journal,
}

impl Part {
    pub const ALL: [Self; 3] = [Self::Main, Self::Log, Self::Journal];

    /// What its name adds to the database's.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Log => "-wal",
            Self::Journal => "-journal",
        }
    }
}

/// What SQLite asks of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Open,
    Close,
    Read,
    Write,
    Truncate,
    Sync,
    Size,
    Lock,
    CheckLock,
    ShmMap,
    ShmLock,
    Delete,
    Access,
}

impl Op {
    /// It moves bytes between a file and the medium.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Truncate | Self::Sync)
    }

    /// How SQLite is told that it failed.
    pub fn code(self) -> i32 {
        match self {
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Close => ffi::SQLITE_IOERR_CLOSE,
            Self::Read => ffi::SQLITE_IOERR_READ,
            Self::Write => ffi::SQLITE_IOERR_WRITE,
            Self::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Size => ffi::SQLITE_IOERR_FSTAT,
            Self::Lock => ffi::SQLITE_IOERR_LOCK,
            Self::CheckLock => ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
            Self::ShmMap => ffi::SQLITE_IOERR_SHMMAP,
            Self::ShmLock => ffi::SQLITE_IOERR_SHMLOCK,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
            Self::Access => ffi::SQLITE_IOERR_ACCESS,
        }
    }
}

/// How the calls from a number on fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// This call, before it did anything.
    Once,
    /// This call, after it did half of its work, or all where there is no half.
    Half,
    /// This write and every later one: there is no room.
    Full,
    /// This call and every later one: the disk is gone.
    Gone,
    /// Every later read, write, truncation and sync of the same file: the lock is had, the bytes aren't.
    FileGone,
}

impl Mode {
    pub const ALL: [Self; 5] = [
        Self::Once,
        Self::Half,
        Self::Full,
        Self::Gone,
        Self::FileGone,
    ];
}

/// What a call did to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is there, empty if it wasn't before.
    Opened(Part),
    Written {
        part: Part,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncated {
        part: Part,
        size: u64,
    },
    Synced(Part),
    /// The sync failed; what it was for counts as written from now on, and is not.
    Dropped(Part),
    /// It is gone; for good only if its folder was synced.
    Deleted {
        part: Part,
        synced: bool,
    },
}

impl Change {
    /// What it is, without its bytes.
    pub fn name(&self) -> String {
        match self {
            Self::Written { part, at, bytes } => {
                format!("{} bytes at {at} of {part:?}", bytes.len())
            }
            other => format!("{other:?}"),
        }
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Goes,
    Half,
    Fails(i32),
}

type Watcher = Box<dyn FnMut(&Change) + Send>;

/// The faults of one disk. Nothing is counted, and nothing fails, before it is armed.
#[derive(Default)]
pub struct Faults {
    plan: Mutex<Plan>,
    watcher: Mutex<Option<Watcher>>,
}

#[derive(Default)]
struct Plan {
    armed: bool,
    fails: Option<(usize, Mode)>,
    made: Vec<(Op, Part)>,
    hit: bool,
}

impl Faults {
    /// Counts the calls from now on, and lets those fail that are asked for, counted from zero.
    pub fn arm(&self, fails: Option<(usize, Mode)>) {
        *self.plan.lock().unwrap() = Plan {
            armed: true,
            fails,
            ..Plan::default()
        };
    }

    /// All is well again. The calls since `arm`, in order.
    pub fn disarm(&self) -> Vec<(Op, Part)> {
        std::mem::take(&mut *self.plan.lock().unwrap()).made
    }

    /// True once a call has failed.
    pub fn hit(&self) -> bool {
        self.plan.lock().unwrap().hit
    }

    /// Tells somebody of every change, after it.
    pub fn watch(&self, watcher: Option<Watcher>) {
        *self.watcher.lock().unwrap() = watcher;
    }

    pub(super) fn judge(&self, op: Op, part: Part) -> Verdict {
        let mut plan = self.plan.lock().unwrap();
        if !plan.armed {
            return Verdict::Goes;
        }
        let number = plan.made.len();
        plan.made.push((op, part));
        let Some((first, mode)) = plan.fails else {
            return Verdict::Goes;
        };
        if number < first {
            return Verdict::Goes;
        }
        let same_file = plan.made.get(first).is_some_and(|(_, one)| *one == part);
        let fails = match mode {
            Mode::Once | Mode::Half => number == first,
            Mode::Full => op == Op::Write,
            Mode::Gone => true,
            Mode::FileGone => same_file && op.is_of_bytes(),
        };
        if !fails {
            return Verdict::Goes;
        }
        plan.hit = true;
        match mode {
            Mode::Half => Verdict::Half,
            Mode::Full => Verdict::Fails(ffi::SQLITE_FULL),
            Mode::Once | Mode::Gone | Mode::FileGone => Verdict::Fails(op.code()),
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watcher.lock().unwrap().is_some()
    }

    pub(super) fn tell(&self, change: &Change) {
        if let Some(watcher) = &mut *self.watcher.lock().unwrap() {
            watcher(change);
        }
    }
}
