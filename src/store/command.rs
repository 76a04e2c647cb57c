//! Commands of the writer: how one runs in a transaction, and how its caller gets the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};

use super::order;
use super::transaction::Tx;
use super::writer::lock;
use crate::error::{InboxError, OutboxError, StorageError};

/// A queued command, erased: runs in the transaction, then tells its caller.
pub(super) trait Command: Send {
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

pub(super) enum Ran {
    Keep,
    RollBack,
}

/// A transaction that came to nothing.
pub(super) struct Failed {
    pub(super) error: StorageError,
    /// It had one command only, so that what this one said was not built on another's.
    pub(super) alone: bool,
}

/// Where a follower waits for its answer.
pub(super) struct Slot<T> {
    pub(super) state: Mutex<SlotState<T>>,
    pub(super) changed: Condvar,
}

pub(super) enum SlotState<T> {
    Waiting,
    Lead,
    Done(T),
    Taken,
}

/// What a command refuses with: that of the boundary that it is for.
pub(super) trait Refusal: From<OutboxError> + Send + 'static {
    /// What the database said, if that is why.
    fn storage(&self) -> Option<&StorageError>;
}

impl Refusal for OutboxError {
    fn storage(&self) -> Option<&StorageError> {
        match self {
            Self::Storage { storage } => Some(storage),
            _ => None,
        }
    }
}

impl Refusal for InboxError {
    fn storage(&self) -> Option<&StorageError> {
        match self {
            Self::Storage { storage } => Some(storage),
            _ => None,
        }
    }
}

pub(super) struct Job<T, E, F> {
    pub(super) at_any_cost: bool,
    pub(super) work: Option<F>,
    pub(super) result: Option<Result<T, E>>,
    pub(super) slot: Arc<Slot<Result<T, E>>>,
}

impl<T, E, F> Command for Job<T, E, F>
where
    T: Send,
    E: Refusal,
    F: FnOnce(&Tx<'_>) -> Result<T, E> + Send,
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
            Err(OutboxError::from(StorageError::Internal {
                detail: "a database command panicked".to_owned(),
            })
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
            (Some(failed), _) => Err(OutboxError::from(failed.error.clone()).into()),
            (None, Some(Ok(value))) => Ok(value),
            (None, None) => Err(OutboxError::Closed.into()),
        };
        *lock(&self.slot.state) = SlotState::Done(result);
        self.slot.changed.notify_one();
    }

    fn at_any_cost(&self) -> bool {
        self.at_any_cost
    }

    fn storage_error(&self) -> Option<StorageError> {
        match &self.result {
            Some(Err(error)) => error.storage().cloned(),
            Some(Ok(_)) | None => None,
        }
    }

    fn lead(&self) {
        *lock(&self.slot.state) = SlotState::Lead;
        self.slot.changed.notify_one();
    }
}
