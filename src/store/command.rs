//! Commands of the writer: how one runs in a transaction, and how its caller gets the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::group_commit::{Queued, Slot};
use super::order;
use super::transaction::Tx;
use crate::error::{InboxError, OutboxError, StorageError};

/// A queued command, erased: runs in the transaction, then tells its caller.
pub(super) trait Command: Send {
    fn run(&mut self, tx: &Tx<'_>) -> Ran;
    /// Answers the caller; `failed` if the transaction as a whole, where it was the `n`th, came to
    /// nothing.
    fn answer(&mut self, n: usize, failed: Option<&Failed>);
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
    /// The command whose own refusal says why.
    pub(super) ended_by: Option<usize>,
}

impl Queued for Box<dyn Command> {
    type Failed = Failed;

    fn answer(&mut self, n: usize, failed: Option<&Failed>) {
        self.as_mut().answer(n, failed);
    }

    fn lead(&self) {
        self.as_ref().lead();
    }
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

    fn answer(&mut self, n: usize, failed: Option<&Failed>) {
        let result = match (failed, self.result.take()) {
            (None, Some(result)) => result,
            // Its own refusal says more, unless it may be about what another command had written
            // and the transaction has taken back.
            (Some(failed), Some(Err(error))) if failed.ended_by == Some(n) => Err(error),
            (Some(failed), _) => Err(OutboxError::from(failed.error.clone()).into()),
            // Closed before its turn.
            (None, None) => Err(OutboxError::Closed.into()),
        };
        self.slot.answer(result);
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
        self.slot.lead();
    }
}
