//! The single writer, with leader and follower group commit.
//!
//! A caller that finds the writer free becomes the leader and commits on its own thread; a hop to
//! a writer thread would halve a lone caller's rate. Callers that arrive meanwhile queue up; one of
//! them is the next leader and takes the others along in one `BEGIN IMMEDIATE … COMMIT`, each in a
//! savepoint of its own and with its own answer. Nobody is answered before the commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;

use super::Context;
use super::command::{Command, Failed, Job, Ran, Refusal};
use super::file::Guards;
pub(super) use super::group_commit::lock;
use super::group_commit::{Closed, Ended, GroupCommit, Slot};
use super::owner::Owner;
use super::problem::is_indeterminate;
use super::totals::{self, Calls};
use super::transaction::Committed;
pub(super) use super::transaction::Tx;
use crate::clock::Now;
use crate::error::{OutboxError, StorageError};
use crate::policy::limits::CLOSING_BUSY_TIMEOUT;
use crate::trace;

/// Commands of one transaction at most, so that another process gets its turn.
const MOST_AT_ONCE: usize = 256;

/// Told after each commit that changed a submission.
type AfterCommit = Box<dyn Fn() + Send + Sync>;

struct Open {
    connection: Connection,
    guards: Guards,
}

pub(crate) struct Writer {
    group: GroupCommit<Box<dyn Command>, Open>,
    context: Context,
    calls: Calls,
    after_commit: Mutex<Option<AfterCommit>>,
    /// The file was moved or deleted: nothing that is read or written here counts any more.
    moved: AtomicBool,
}

impl Writer {
    pub(super) fn new(connection: Connection, guards: Guards, context: Context) -> Self {
        Self {
            group: GroupCommit::new(Open { connection, guards }, MOST_AT_ONCE),
            context,
            calls: Calls::default(),
            after_commit: Mutex::new(None),
            moved: AtomicBool::new(false),
        }
    }

    /// Sets what is called, without any lock held on the database, after each commit that changed
    /// a submission.
    pub(crate) fn set_after_commit(&self, tell: AfterCommit) {
        *lock(&self.after_commit) = Some(tell);
    }

    /// Calls that stored nothing.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Runs a command in a transaction and returns once that is durable.
    pub(crate) fn write<T, F>(&self, work: F) -> Result<T, OutboxError>
    where
        T: Send + 'static,
        F: FnOnce(&Tx<'_>) -> Result<T, OutboxError> + Send + 'static,
    {
        self.run(work, false)
    }

    /// The same for what must not be lost on a full disk: an answer that has arrived. If there is no
    /// room, the ballast makes some for the next try.
    pub(super) fn write_at_any_cost<T, F>(&self, work: F) -> Result<T, OutboxError>
    where
        T: Send + 'static,
        F: FnOnce(&Tx<'_>) -> Result<T, OutboxError> + Send + 'static,
    {
        self.run(work, true)
    }

    /// The same as both, for a command that refuses in its own words.
    pub(super) fn write_as<T, E, F>(&self, work: F, at_any_cost: bool) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.run(work, at_any_cost)
    }

    /// The clocks, and this boot's number, as a transaction reads them.
    pub(super) fn moment(&self) -> (Now, i64) {
        (self.context.clock.now(), self.context.boot)
    }

    /// Takes the ballast's room again, where there is some.
    pub(super) fn lay_ballast(&self) {
        self.group.between(|open| open.guards.lay_ballast());
    }

    /// Moves what is in the log into the database and empties it. What another process is reading stays
    /// for a later checkpoint.
    pub(super) fn clear_log(&self) {
        self.group.between(|open| {
            let cleared = open
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            drop(cleared);
        });
    }

    /// Refuses once the file was moved or deleted under the open database.
    pub(super) fn check_moved(&self) -> Result<(), StorageError> {
        if self.moved.load(Ordering::Acquire) {
            Err(StorageError::Moved)
        } else {
            Ok(())
        }
    }

    /// Remembers that damage was met, for the next opening.
    pub(super) fn note_damage<T, E: Refusal>(&self, result: &Result<T, E>) {
        if let Err(error) = result
            && let Some(StorageError::Corrupt { .. }) = error.storage()
        {
            self.group.between(|open| open.guards.suspect());
        }
    }

    fn run<T, E, F>(&self, work: F, at_any_cost: bool) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal,
        F: FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.check_moved().map_err(OutboxError::from)?;
        let slot = Arc::new(Slot::new());
        let job = Job {
            at_any_cost,
            work: Some(work),
            result: None,
            slot: Arc::clone(&slot),
        };
        let transact = |open: &mut Open, batch: &mut [_]| self.transact(open, batch);
        let result = self
            .group
            .run(Box::new(job), &slot, transact, |done| self.tell(&done))
            .map_err(|Closed| OutboxError::Closed)?;
        self.note_damage(&result);
        result
    }

    /// Tells of a transaction that is over.
    fn tell(&self, committed: &Committed) {
        trace::tell(&committed.told);
        if committed.cursor.is_some()
            && let Some(tell) = lock(&self.after_commit).as_ref()
        {
            tell();
        }
    }

    fn transact(
        &self,
        open: &mut Open,
        batch: &mut [Box<dyn Command>],
    ) -> Ended<Failed, Committed> {
        let rows = open.connection.total_changes();
        // A lone command's refusal was not built on another's. Nor was that of the one that made SQLite
        // roll the whole transaction back.
        let mut ended_by = (batch.len() == 1).then_some(0);
        match self.try_transact(open, batch, &mut ended_by) {
            Ok(committed) => {
                let wrote = open.connection.total_changes() != rows;
                let moved = open.guards.after_commit(wrote, committed.cursor).err();
                let failed = moved.map(|error| {
                    self.moved.store(true, Ordering::Release);
                    Failed { error, ended_by }
                });
                Ended {
                    failed,
                    done: committed,
                }
            }
            Err(error) => {
                if !open.connection.is_autocommit() {
                    // If even this fails, the next BEGIN will say so.
                    drop(open.connection.execute_batch("ROLLBACK"));
                }
                if error == StorageError::Full && batch.iter().any(|command| command.at_any_cost())
                {
                    open.guards.give_up_ballast();
                }
                Ended {
                    failed: Some(Failed { error, ended_by }),
                    done: Committed::default(),
                }
            }
        }
    }

    fn try_transact(
        &self,
        open: &Open,
        batch: &mut [Box<dyn Command>],
        ended_by: &mut Option<usize>,
    ) -> Result<Committed, StorageError> {
        let connection = &open.connection;
        let rows = connection.total_changes();
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let tx = Tx::new(connection, &self.context);
        let alone = batch.len() == 1;
        for (n, command) in batch.iter_mut().enumerate() {
            let before = tx.mark();
            if !alone {
                connection
                    .prepare_cached("SAVEPOINT command")?
                    .execute([])?;
            }
            let ran = command.run(&tx);
            if connection.is_autocommit() {
                // SQLite rolled the whole transaction back: a full disk, an I/O error, a statement of the app
                // that took too long.
                *ended_by = Some(n);
                return Err(command
                    .storage_error()
                    .unwrap_or(StorageError::Indeterminate));
            }
            match (ran, alone) {
                (Ran::Keep, true) => {}
                (Ran::Keep, false) => {
                    connection.prepare_cached("RELEASE command")?.execute([])?;
                }
                (Ran::RollBack, true) => {
                    connection.prepare_cached("ROLLBACK")?.execute([])?;
                    return Ok(Committed::default());
                }
                (Ran::RollBack, false) => {
                    tx.go_back_to(&before);
                    connection
                        .prepare_cached("ROLLBACK TO command")?
                        .execute([])?;
                    connection.prepare_cached("RELEASE command")?.execute([])?;
                }
            }
        }
        let with_calls = tx.with_calls.get() || connection.total_changes() != rows;
        let moving = totals::add(connection, &tx.counted(), &self.calls, with_calls)?;
        match connection.prepare_cached("COMMIT")?.execute([]) {
            Ok(_) => {
                if let Some(moving) = moving {
                    moving.committed();
                }
                Ok(tx.committed())
            }
            Err(error) if is_indeterminate(&error) => Err(StorageError::Indeterminate),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives another process's transaction little time from here on. Waits for the one under way.
    pub(super) fn hurry(&self) {
        // If it can't be set, closing takes as long as everything else.
        self.group
            .between(|open| drop(open.connection.busy_timeout(CLOSING_BUSY_TIMEOUT)));
    }

    /// Refuses further commands, waits for the one under way, and closes the connection.
    pub(super) fn close(&self, owner: &Owner) {
        self.group.close(|open| {
            // What can't be written now is missing from the totals, and from nothing else.
            if let Ok(Some(moving)) = totals::add(&open.connection, &[], &self.calls, true) {
                moving.committed();
            }
            owner.leave(&open.connection);
            open.connection.flush_prepared_statement_cache();
            drop(open.connection.close());
        });
        *lock(&self.after_commit) = None;
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
