//! The single writer, with leader and follower group commit.
//!
//! A caller that finds the writer free becomes the leader and commits on its own thread; a hop to
//! a writer thread would halve a lone caller's rate. Callers that arrive meanwhile queue up; one of
//! them is the next leader and takes the others along in one `BEGIN IMMEDIATE … COMMIT`, each in a
//! savepoint of its own and with its own answer. Nobody is answered before the commit.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use super::Context;
use super::file::Guards;
use super::order::{self, Touched};
use super::owner::Owner;
use super::problem::is_indeterminate;
use crate::clock::Now;
use crate::error::{OutboxError, StorageError};
use crate::policy::limits::CLOSING_BUSY_TIMEOUT;

/// Commands of one transaction at most, so that another process gets its turn.
const MOST_AT_ONCE: usize = 256;

/// An open write transaction. The only way to change the database.
pub(crate) struct Tx<'a> {
    pub(crate) connection: &'a Connection,
    /// All clocks, read once for the transaction.
    pub(crate) now: Now,
    /// This boot, by the database's number for it.
    pub(crate) boot: i64,
    /// The last cursor of the change feed that this transaction has written.
    pub(crate) cursor: Cell<Option<i64>>,
    /// Used instead of the quiet times of server profiles.
    pub(crate) quiet_time: Option<Duration>,
    /// What a body may have with its parts in it.
    pub(crate) max_body_bytes: u64,
    /// Changes whose consequences for others are still to be drawn.
    pub(super) touched: RefCell<VecDeque<Touched>>,
}

/// Told after each commit that changed a submission.
type AfterCommit = Box<dyn Fn() + Send + Sync>;

/// A queued command, erased: runs in the transaction, then tells its caller.
trait Command: Send {
    fn run(&mut self, tx: &Tx<'_>) -> Ran;
    /// Answers the caller; `failed` if the transaction as a whole came to nothing.
    fn answer(&mut self, failed: Option<&Failed>);
    /// The ballast may be given up for it.
    fn at_any_cost(&self) -> bool;
    /// What the database said to the command, if it failed by that.
    fn storage_error(&self) -> Option<StorageError>;
    /// Makes the waiting caller the leader.
    fn lead(&self);
}

enum Ran {
    Keep,
    RollBack,
}

/// A transaction that came to nothing.
struct Failed {
    error: StorageError,
    /// It had one command only, so that what this one said was not built on another's.
    alone: bool,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Box<dyn Command>>,
    led: bool,
    closed: bool,
}

struct Open {
    connection: Connection,
    guards: Guards,
}

pub(crate) struct Writer {
    queue: Mutex<Queue>,
    open: Mutex<Option<Open>>,
    context: Context,
    after_commit: Mutex<Option<AfterCommit>>,
    /// The file was moved or deleted: nothing that is read or written here counts any more.
    moved: AtomicBool,
}

/// Where a follower waits for its answer.
struct Slot<T> {
    state: Mutex<SlotState<T>>,
    changed: Condvar,
}

enum SlotState<T> {
    Waiting,
    Lead,
    Done(Result<T, OutboxError>),
    Taken,
}

struct Job<T, F> {
    at_any_cost: bool,
    work: Option<F>,
    result: Option<Result<T, OutboxError>>,
    slot: Arc<Slot<T>>,
}

impl Writer {
    pub(super) fn new(connection: Connection, guards: Guards, context: Context) -> Self {
        Self {
            queue: Mutex::default(),
            open: Mutex::new(Some(Open { connection, guards })),
            context,
            after_commit: Mutex::new(None),
            moved: AtomicBool::new(false),
        }
    }

    /// Sets what is called, without any lock held on the database, after each commit that changed
    /// a submission.
    pub(crate) fn set_after_commit(&self, tell: AfterCommit) {
        *lock(&self.after_commit) = Some(tell);
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

    /// Takes the ballast's room again, where there is some.
    pub(super) fn lay_ballast(&self) {
        if let Some(open) = lock(&self.open).as_mut() {
            open.guards.lay_ballast();
        }
    }

    /// Moves what is in the log into the database and empties it. What another process is reading stays
    /// for a later checkpoint.
    pub(super) fn clear_log(&self) {
        if let Some(open) = lock(&self.open).as_ref() {
            let cleared = open
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            drop(cleared);
        }
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
    pub(super) fn note_damage<T>(&self, result: &Result<T, OutboxError>) {
        if let Err(OutboxError::Storage {
            storage: StorageError::Corrupt { .. },
        }) = result
            && let Some(open) = lock(&self.open).as_ref()
        {
            open.guards.suspect();
        }
    }

    fn run<T, F>(&self, work: F, at_any_cost: bool) -> Result<T, OutboxError>
    where
        T: Send + 'static,
        F: FnOnce(&Tx<'_>) -> Result<T, OutboxError> + Send + 'static,
    {
        self.check_moved()?;
        let slot = Arc::new(Slot {
            state: Mutex::new(SlotState::Waiting),
            changed: Condvar::new(),
        });
        let job = Job {
            at_any_cost,
            work: Some(work),
            result: None,
            slot: Arc::clone(&slot),
        };
        let lead = {
            let mut queue = lock(&self.queue);
            if queue.closed {
                return Err(OutboxError::Closed);
            }
            queue.waiting.push_back(Box::new(job));
            !std::mem::replace(&mut queue.led, true)
        };
        if lead {
            self.lead();
        }
        loop {
            let mut state = lock(&slot.state);
            loop {
                match std::mem::replace(&mut *state, SlotState::Taken) {
                    SlotState::Done(result) => {
                        drop(state);
                        self.note_damage(&result);
                        return result;
                    }
                    SlotState::Lead => break,
                    SlotState::Waiting | SlotState::Taken => {
                        *state = SlotState::Waiting;
                        state = slot
                            .changed
                            .wait(state)
                            .unwrap_or_else(PoisonError::into_inner);
                    }
                }
            }
            *state = SlotState::Waiting;
            drop(state);
            self.lead();
        }
    }

    /// Takes what is queued through one transaction, then hands the lead on.
    fn lead(&self) {
        let mut open = lock(&self.open);
        let mut batch: Vec<Box<dyn Command>> = {
            let mut queue = lock(&self.queue);
            let count = queue.waiting.len().min(MOST_AT_ONCE);
            queue.waiting.drain(..count).collect()
        };
        let changed = match open.as_mut() {
            Some(open) => self.transact(open, &mut batch),
            None => {
                // Closed: a command that never ran answers so by itself.
                for command in &mut batch {
                    command.answer(None);
                }
                false
            }
        };
        drop(open);
        {
            let mut queue = lock(&self.queue);
            match queue.waiting.front() {
                Some(next) => next.lead(),
                None => queue.led = false,
            }
        }
        if changed && let Some(tell) = lock(&self.after_commit).as_ref() {
            tell();
        }
    }

    fn transact(&self, open: &mut Open, batch: &mut [Box<dyn Command>]) -> bool {
        let rows = open.connection.total_changes();
        let alone = batch.len() == 1;
        match self.try_transact(open, batch) {
            Ok(cursor) => {
                let wrote = open.connection.total_changes() != rows;
                let failed = open.guards.after_commit(wrote, cursor).err().map(|error| {
                    self.moved.store(true, Ordering::Release);
                    Failed { error, alone }
                });
                for command in batch {
                    command.answer(failed.as_ref());
                }
                cursor.is_some()
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
                let failed = Failed { error, alone };
                for command in batch {
                    command.answer(Some(&failed));
                }
                false
            }
        }
    }

    fn try_transact(
        &self,
        open: &Open,
        batch: &mut [Box<dyn Command>],
    ) -> Result<Option<i64>, StorageError> {
        let connection = &open.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let tx = Tx {
            connection,
            now: self.context.clock.now(),
            boot: self.context.boot,
            cursor: Cell::new(None),
            quiet_time: self.context.quiet_time,
            max_body_bytes: self.context.max_body_bytes,
            touched: RefCell::default(),
        };
        let alone = batch.len() == 1;
        for command in batch {
            let before = tx.cursor.get();
            if !alone {
                connection
                    .prepare_cached("SAVEPOINT command")?
                    .execute([])?;
            }
            let ran = command.run(&tx);
            if connection.is_autocommit() {
                // SQLite rolled the whole transaction back: a full disk, an I/O error.
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
                    return Ok(None);
                }
                (Ran::RollBack, false) => {
                    tx.cursor.set(before);
                    connection
                        .prepare_cached("ROLLBACK TO command")?
                        .execute([])?;
                    connection.prepare_cached("RELEASE command")?.execute([])?;
                }
            }
        }
        match connection.prepare_cached("COMMIT")?.execute([]) {
            Ok(_) => Ok(tx.cursor.get()),
            Err(error) if is_indeterminate(&error) => Err(StorageError::Indeterminate),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives another process's transaction little time from here on. Waits for the one under way.
    pub(super) fn hurry(&self) {
        if let Some(open) = lock(&self.open).as_ref() {
            // If it can't be set, closing takes as long as everything else.
            drop(open.connection.busy_timeout(CLOSING_BUSY_TIMEOUT));
        }
    }

    /// Refuses further commands, waits for the one under way, and closes the connection.
    pub(super) fn close(&self, owner: &Owner) {
        lock(&self.queue).closed = true;
        if let Some(open) = lock(&self.open).take() {
            owner.leave(&open.connection);
            open.connection.flush_prepared_statement_cache();
            drop(open.connection.close());
        }
        *lock(&self.after_commit) = None;
    }
}

impl<T, F> Command for Job<T, F>
where
    T: Send,
    F: FnOnce(&Tx<'_>) -> Result<T, OutboxError> + Send,
{
    fn run(&mut self, tx: &Tx<'_>) -> Ran {
        let Some(work) = self.work.take() else {
            return Ran::RollBack;
        };
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let value = work(tx)?;
            order::follow_up(tx)?;
            Ok(value)
        }));
        tx.touched.borrow_mut().clear();
        let result = worked.unwrap_or_else(|_| {
            Err(StorageError::Internal {
                detail: "a database command panicked".to_owned(),
            }
            .into())
        });
        let ran = if result.is_ok() {
            Ran::Keep
        } else {
            Ran::RollBack
        };
        self.result = Some(result);
        ran
    }

    fn answer(&mut self, failed: Option<&Failed>) {
        let result = match (failed, self.result.take()) {
            // Its own refusal says more, unless it may be about what another command had written
            // and the transaction has taken back.
            (None | Some(Failed { alone: true, .. }), Some(Err(error))) => Err(error),
            (Some(failed), _) => Err(failed.error.clone().into()),
            (None, Some(Ok(value))) => Ok(value),
            (None, None) => Err(OutboxError::Closed),
        };
        *lock(&self.slot.state) = SlotState::Done(result);
        self.slot.changed.notify_one();
    }

    fn at_any_cost(&self) -> bool {
        self.at_any_cost
    }

    fn storage_error(&self) -> Option<StorageError> {
        match &self.result {
            Some(Err(OutboxError::Storage { storage })) => Some(storage.clone()),
            _ => None,
        }
    }

    fn lead(&self) {
        *lock(&self.slot.state) = SlotState::Lead;
        self.slot.changed.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
