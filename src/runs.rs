//! Background runs: what a scheduler such as WorkManager needs to know so that it runs when there
//! is something to deliver, and only then.
//!
//! The outbox remembers that a run was asked for, in the transaction that made it necessary:
//! [`Receipt::run_requested`](crate::Receipt::run_requested). Only the caller that is told so
//! schedules one, and says [`Outbox::run_scheduled`]. The run begins with
//! [`Outbox::clear_run_request`] and drains after that, so that a submission that comes too late
//! for its last look asks for the next run. [`Outbox::adopt_run_requests`], called once after opening,
//! says that there is a scheduler, and finds what a process asked for that died before it could
//! schedule it.

use std::sync::atomic::Ordering;

use crate::error::OutboxError;
use crate::outbox::Outbox;

/// The network that a background run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum RunNetwork {
    /// Any.
    Any,
    /// One that costs nothing by the byte.
    Unmetered,
}

#[uniffi::export]
impl Outbox {
    /// Asks for a background run. True if none was asked for: schedule one then, and call
    /// `run_scheduled`. Durable when it returns. `submit` does it by itself.
    pub fn request_run(&self, network: RunNetwork) -> Result<bool, OutboxError> {
        self.store()?.request_run(network)
    }

    /// Tells that the scheduler has taken the run over, and will keep it when the process ends.
    pub fn run_scheduled(&self, network: RunNetwork) -> Result<(), OutboxError> {
        self.store()?.run_scheduled(network)
    }

    /// Takes the request back: the first thing that a run does, and what to do if the scheduler
    /// refuses. What is submitted from here on asks for another run.
    pub fn clear_run_request(&self, network: RunNetwork) -> Result<(), OutboxError> {
        self.store()?.clear_run_request(network)
    }

    /// Says that this handle has a scheduler: from here on, what it submits tells whether a run has
    /// to be scheduled. Takes over the requests of those who couldn't schedule theirs, since they died
    /// before or have no scheduler: schedule each, and call `run_scheduled`. For the start of a process.
    pub fn adopt_run_requests(&self) -> Result<Vec<RunNetwork>, OutboxError> {
        let adopted = self.store()?.adopt_run_requests()?;
        self.schedules.store(true, Ordering::Release);
        Ok(adopted)
    }
}
