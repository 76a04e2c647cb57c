//! A drain: "deliver what is due, within this budget". What WorkManager and BGTaskScheduler call.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, oneshot};

use super::engine::{Demand, Engine};
use crate::clock::UptimeMs;
use crate::error::OutboxError;
use crate::model::state::SubmissionState;
use crate::trace::{TARGET, kind};

/// How long a drain may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct DrainBudget {
    /// The time after which `drain` returns. Nothing new is begun when what is begun would not end
    /// in time, by the slowest exchange of this drain so far.
    pub time: Duration,
    /// The drain ends when its caller stops waiting for it: nothing new is begun for it then, and
    /// what is on the wire comes to its end. Otherwise it goes on until its time is over.
    #[uniffi(default = false)]
    pub ends_with_caller: bool,
}

impl DrainBudget {
    /// A budget of this long.
    pub fn of(time: Duration) -> Self {
        Self {
            time,
            ends_with_caller: false,
        }
    }
}

/// What a drain did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct DrainReport {
    /// Attempts that ended during the drain.
    pub attempts: u32,
    /// Submissions that succeeded.
    pub succeeded: u32,
    /// Submissions that ended without success.
    pub ended_otherwise: u32,
    /// Submissions that are now held for a decision.
    pub held: u32,
    /// Attempts that will be repeated later.
    pub to_repeat: u32,
    /// Requests still on the wire when the drain returned.
    pub in_flight: u32,
    /// Why it returned.
    pub stopped: DrainStop,
    /// When something is due next, by this device's clock. Schedule the next run for it; nothing
    /// if no submission waits for a time.
    pub next_wake_at: Option<SystemTime>,
    /// Submissions wait for an unmetered network, and for nothing else. Schedule a run for one.
    pub awaits_unmetered: bool,
}

/// Why a drain returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum DrainStop {
    /// Nothing is due, and nothing is on the wire.
    NothingDue,
    /// Nothing else is due, and what is left waits for credentials that nobody has supplied.
    CredentialsNeeded,
    /// The budget ended.
    BudgetEnded,
    /// `suspend` or `close` was called.
    Suspended,
}

impl Engine {
    /// Delivers what is due within the budget. The work goes on if the caller stops waiting.
    pub(crate) fn drain(self: &Arc<Self>, budget: DrainBudget) -> Result<Draining, OutboxError> {
        let deadline = self.parts.clock.now().uptime.plus(budget.time);
        tracing::info!(target: TARGET, budget = ?budget.time, "drain begun");
        self.wait_as(|demand, sender| {
            // Without time it only looks, and ends no suspension.
            demand.suspended &= budget.time.is_zero();
            demand.winding_down &= budget.time.is_zero();
            Drain::new(deadline, budget.ends_with_caller, sender)
        })
    }

    /// Adds a drain, and gives what waits for its report.
    pub(super) fn wait_as(
        self: &Arc<Self>,
        ask: impl FnOnce(&mut Demand, DrainSender) -> Drain,
    ) -> Result<Draining, OutboxError> {
        let (sender, answer) = oneshot::channel();
        self.demand(|demand| {
            let drain = ask(demand, sender);
            demand.drains.push((demand.asked, drain));
        })?;
        Ok(Draining {
            answer,
            nudge: Arc::clone(&self.nudge),
        })
    }
}

/// Waiting for a drain's report.
pub(crate) struct Draining {
    pub(super) answer: oneshot::Receiver<Result<DrainReport, OutboxError>>,
    pub(super) nudge: Arc<Notify>,
}

impl Draining {
    pub(crate) async fn report(&mut self) -> Result<DrainReport, OutboxError> {
        let report = (&mut self.answer).await;
        report.unwrap_or(Err(OutboxError::Closed))
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        // The pump looks whether the drain was to end with this.
        self.answer.close();
        self.nudge.notify_one();
    }
}

/// What comes after a drain.
#[derive(Clone, Copy, Default)]
pub(super) struct Next {
    pub(super) wake_at: Option<SystemTime>,
    pub(super) awaits_unmetered: bool,
}

/// Where a drain's report goes.
pub(super) type DrainSender = oneshot::Sender<Result<DrainReport, OutboxError>>;

/// A caller of `drain`, as the pump sees it.
pub(super) struct Drain {
    pub(super) deadline: UptimeMs,
    /// It wants something begun, and doesn't only wait for what is on the wire.
    begins: bool,
    ends_with_caller: bool,
    slowest: Duration,
    report: DrainReport,
    sender: DrainSender,
}

impl Drain {
    pub(super) fn new(deadline: UptimeMs, ends_with_caller: bool, sender: DrainSender) -> Self {
        Self {
            deadline,
            begins: true,
            slowest: Duration::ZERO,
            report: DrainReport {
                attempts: 0,
                succeeded: 0,
                ended_otherwise: 0,
                held: 0,
                to_repeat: 0,
                in_flight: 0,
                stopped: DrainStop::NothingDue,
                next_wake_at: None,
                awaits_unmetered: false,
            },
            ends_with_caller,
            sender,
        }
    }

    /// One that begins nothing.
    pub(super) fn winding_down(deadline: UptimeMs, sender: DrainSender) -> Self {
        Self {
            begins: false,
            ..Self::new(deadline, false, sender)
        }
    }

    /// There is still time for an exchange like the slowest so far.
    pub(super) fn claims_at(&self, now: UptimeMs) -> bool {
        self.begins
            && now < self.deadline
            && now.plus(self.slowest) <= self.deadline
            && !self.is_over_early()
    }

    /// Its caller stopped waiting, and meant it.
    pub(super) fn is_over_early(&self) -> bool {
        self.ends_with_caller && self.sender.is_closed()
    }

    pub(super) fn note_exchange(&mut self, took: Duration) {
        self.slowest = self.slowest.max(took);
        self.report.attempts += 1;
    }

    pub(super) fn note_settled(&mut self, state: SubmissionState) {
        let report = &mut self.report;
        match state {
            SubmissionState::Succeeded => report.succeeded += 1,
            SubmissionState::Held { .. } => report.held += 1,
            SubmissionState::Pending | SubmissionState::InFlight => report.to_repeat += 1,
            SubmissionState::Rejected { .. }
            | SubmissionState::Cancelled
            | SubmissionState::Expired
            | SubmissionState::Superseded { .. }
            | SubmissionState::Abandoned => report.ended_otherwise += 1,
        }
    }

    pub(super) fn fail(self, error: OutboxError) {
        tracing::warn!(target: TARGET, error = kind(&error), "drain failed");
        // The caller may have stopped waiting; the work went on in any case.
        drop(self.sender.send(Err(error)));
    }

    pub(super) fn finish(self, stopped: DrainStop, in_flight: usize, next: Next) {
        let report = DrainReport {
            stopped,
            in_flight: u32::try_from(in_flight).unwrap_or(u32::MAX),
            next_wake_at: next.wake_at,
            awaits_unmetered: next.awaits_unmetered,
            ..self.report
        };
        tracing::info!(
            target: TARGET,
            attempts = report.attempts,
            succeeded = report.succeeded,
            ended_otherwise = report.ended_otherwise,
            held = report.held,
            to_repeat = report.to_repeat,
            in_flight = report.in_flight,
            stopped = ?report.stopped,
            "drain ended"
        );
        drop(self.sender.send(Ok(report)));
    }
}
