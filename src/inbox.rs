//! The inbox: durable once-records for effects on this side.
//!
//! What comes in may come again, and what is done here may be done again: a push message is delivered
//! twice, a worker runs a second time, an agent plans a step that it has done before. `begin` says, from
//! one table on disk and for all processes, whether it is still to do; `finish` records that it is done,
//! with the result that every later `begin` gets.

use std::sync::Arc;
use std::time::Duration;

use crate::error::InboxError;
use crate::model::inbox::{
    AppRow, AppStatement, InboxAnswer, InboxDecision, InboxFailure, InboxItem, InboxRun,
    UncertainItem,
};
use crate::outbox::Outbox;

/// The once-records of an outbox's file. Thread-safe; closed with the outbox that it came from.
#[derive(uniffi::Object)]
pub struct Inbox {
    outbox: Arc<Outbox>,
}

impl Inbox {
    pub(crate) fn of(outbox: Arc<Outbox>) -> Self {
        Self { outbox }
    }
}

#[uniffi::export]
impl Inbox {
    /// Asks whether an item is to be done now. One across all tasks and processes gets `Run`. Durable
    /// when it returns; an item that is done, or that another does, costs one read.
    ///
    /// # Errors
    /// [`InboxError::KeyReused`] if the key came with another content before.
    pub fn begin(&self, item: InboxItem) -> Result<InboxAnswer, InboxError> {
        self.outbox.store()?.inbox_begin(item)
    }

    /// Records that the run's effect has happened, and its result: every later `begin` gets that. Durable
    /// when it returns. A second call does nothing, and the first result stays. A run that is late, its
    /// item uncertain by now, may still say that it has happened.
    ///
    /// # Errors
    /// [`InboxError::RunLost`] if the run's time was over and another has begun meanwhile, or a decision
    /// was made.
    pub fn finish(&self, run: InboxRun, result: Option<Vec<u8>>) -> Result<(), InboxError> {
        self.outbox.store()?.inbox_finish(run, result, Vec::new())
    }

    /// The same, and carries out statements on the app's own tables, in one transaction: the effect and
    /// its record can't come apart. All of it happens, or nothing.
    ///
    /// # Errors
    /// [`InboxError::Statement`] if one isn't allowed or fails: nothing has happened, and the run goes
    /// on.
    pub fn finish_with(
        &self,
        run: InboxRun,
        result: Option<Vec<u8>>,
        statements: Vec<AppStatement>,
    ) -> Result<(), InboxError> {
        self.outbox.store()?.inbox_finish(run, result, statements)
    }

    /// Gives a run up. Durable when it returns. The same call again does nothing.
    ///
    /// # Errors
    /// As `finish`.
    pub fn fail(&self, run: InboxRun, failure: InboxFailure) -> Result<(), InboxError> {
        self.outbox.store()?.inbox_fail(run, failure)
    }

    /// Gives a run more time, from now on: 1 millisecond to 7 days. A run whose item is uncertain by now
    /// is at work again with that.
    ///
    /// # Errors
    /// As `finish`.
    pub fn extend(&self, run: InboxRun, lease: Duration) -> Result<(), InboxError> {
        self.outbox.store()?.inbox_extend(run, lease)
    }

    /// Decides what becomes of an item that is uncertain. The run that was lost has no say any more then.
    ///
    /// # Errors
    /// [`InboxError::NotUncertain`] if it isn't, or isn't any more.
    pub fn decide(
        &self,
        scope: String,
        key: String,
        decision: InboxDecision,
    ) -> Result<(), InboxError> {
        self.outbox.store()?.inbox_decide(scope, key, decision)
    }

    /// Items that wait for a decision, oldest first, of one scope or of all; up to 1,000. Runs whose
    /// process is gone are found, too.
    pub fn uncertain(
        &self,
        scope: Option<String>,
        limit: u32,
    ) -> Result<Vec<UncertainItem>, InboxError> {
        self.outbox.store()?.inbox_uncertain(scope, limit)
    }

    /// Reads the app's own tables, those whose names begin with `app_`; up to 10,000 rows.
    ///
    /// # Errors
    /// [`InboxError::Statement`] if it isn't allowed, writes, or fails.
    pub fn query(&self, statement: AppStatement) -> Result<Vec<AppRow>, InboxError> {
        self.outbox.store()?.inbox_query(statement)
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
