//! A write transaction, with what its commands count and tell in memory: that goes with them when they
//! are rolled back, and becomes true with the commit.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use rusqlite::Connection;

use super::Context;
use super::order::Touched;
use crate::clock::Now;
use crate::error::{OpenError, StorageError};
use crate::trace::{self, Told};

/// An open write transaction. The only way to change the database.
pub(crate) struct Tx<'a> {
    pub(crate) connection: &'a Connection,
    /// All clocks, read once for the transaction.
    pub(crate) now: Now,
    /// This boot, by the database's number for it.
    pub(crate) boot: i64,
    /// The last cursor of the change feed that this transaction has written.
    pub(crate) cursor: Cell<Option<i64>>,
    /// What its commands counted, for the totals.
    counted: RefCell<Vec<(&'static str, i64)>>,
    /// What its commands have to tell once it is committed.
    told: RefCell<Vec<Told>>,
    /// The calls that were counted in memory are to be written, whatever else is.
    pub(super) with_calls: Cell<bool>,
    /// Used instead of the quiet times of server profiles.
    pub(crate) quiet_time: Option<Duration>,
    /// What a body may have with its parts in it.
    pub(crate) max_body_bytes: u64,
    /// Changes whose consequences for others are still to be drawn.
    pub(super) touched: RefCell<VecDeque<Touched>>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(connection: &'a Connection, context: &Context) -> Self {
        Self {
            connection,
            now: context.clock.now(),
            boot: context.boot,
            cursor: Cell::new(None),
            counted: RefCell::default(),
            told: RefCell::default(),
            with_calls: Cell::new(false),
            quiet_time: context.quiet_time,
            max_body_bytes: context.max_body_bytes,
            touched: RefCell::default(),
        }
    }

    /// Counts something, unless the command is rolled back.
    pub(super) fn count(&self, total: &'static str, count: i64) {
        self.counted.borrow_mut().push((total, count));
    }

    /// Tells of something after the commit, if anybody listens.
    pub(super) fn tell(&self, told: impl FnOnce() -> Told) {
        if trace::is_heard() {
            self.told.borrow_mut().push(told());
        }
    }

    /// What has been counted.
    pub(super) fn counted(&self) -> Ref<'_, Vec<(&'static str, i64)>> {
        self.counted.borrow()
    }

    pub(super) fn committed(&self) -> Committed {
        Committed {
            cursor: self.cursor.get(),
            told: self.told.take(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            cursor: self.cursor.get(),
            counted: self.counted.borrow().len(),
            told: self.told.borrow().len(),
        }
    }

    /// Forgets what a command did that is rolled back.
    pub(super) fn go_back_to(&self, mark: &Mark) {
        self.cursor.set(mark.cursor);
        self.counted.borrow_mut().truncate(mark.counted);
        self.told.borrow_mut().truncate(mark.told);
    }
}

/// What a transaction had in memory before a command.
pub(super) struct Mark {
    cursor: Option<i64>,
    counted: usize,
    told: usize,
}

/// What was committed.
#[derive(Default)]
pub(super) struct Committed {
    /// The last cursor of the change feed, if there are changes.
    pub(super) cursor: Option<i64>,
    pub(super) told: Vec<Told>,
}

/// Ends a transaction of an opening: commits what has succeeded, and rolls back what has failed.
pub(super) fn end<T>(connection: &Connection, done: Result<T, OpenError>) -> Result<T, OpenError> {
    match done {
        Ok(value) => {
            connection
                .execute_batch("COMMIT")
                .map_err(StorageError::from)?;
            Ok(value)
        }
        Err(error) => {
            // Where SQLite has rolled back by itself, as it does after an I/O error, this fails. What
            // failed first is the reason.
            drop(connection.execute_batch("ROLLBACK"));
            Err(error)
        }
    }
}
