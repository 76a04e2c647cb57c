//! The calls that wait: for a result, for a drain, for what is on the wire. Their futures do nothing
//! else, so that dropping one loses nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::cancellation::Cancellation;
use crate::delivery::drain::{DrainBudget, DrainReport};
use crate::delivery::wind_down::WindDown;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::outcome::Waited;
use crate::model::state::SubmissionState;
use crate::outbox::{Outbox, check_time};
use crate::runtime::run_blocking;

#[uniffi::export]
impl Outbox {
    /// Waits until a submission is settled or held, or the time is over. Resolves also if that
    /// happened before, or in another process (noticed within a second). Any number of callers may
    /// wait. Dropping the future changes nothing.
    pub async fn wait(&self, id: SubmissionId, timeout: Duration) -> Result<Waited, OutboxError> {
        check_time("timeout", timeout)?;
        let core = Arc::clone(&self.core);
        let mut changed = core.engine.changed().subscribe();
        let _observing = core.observe();
        let executor = &core.engine.parts().executor;
        let mut over = executor.sleep(timeout);
        loop {
            let store = self.store()?;
            let mut snapshot = run_blocking(executor, move || store.snapshot(id))
                .await
                .unwrap_or(Err(OutboxError::Closed))?
                .ok_or(OutboxError::UnknownId { id })?;
            self.see(&mut snapshot);
            match snapshot.state {
                SubmissionState::Pending | SubmissionState::InFlight => {}
                SubmissionState::Held { .. } => return Ok(Waited::Held { snapshot }),
                SubmissionState::Succeeded
                | SubmissionState::Rejected { .. }
                | SubmissionState::Cancelled
                | SubmissionState::Expired
                | SubmissionState::Superseded { .. }
                | SubmissionState::Abandoned => return Ok(Waited::Settled { snapshot }),
            }
            tokio::select! {
                biased;
                result = changed.changed() => {
                    if result.is_err() {
                        return Err(OutboxError::Closed);
                    }
                }
                () = &mut over => {
                    self.see(&mut snapshot);
                    return Ok(Waited::TimedOut { snapshot });
                }
            }
        }
    }

    /// Delivers what is due, until nothing is or the budget ends. For workers. A second drain in
    /// the same process joins the first. Dropping the future stops the waiting, and the work only if the budget says so. Fails
    /// if the database can't be used; what has been sent is not lost by that.
    pub async fn drain(&self, budget: DrainBudget) -> Result<DrainReport, OutboxError> {
        check_time("budget.time", budget.time)?;
        self.store()?;
        let mut changed = self.core.engine.changed().subscribe();
        let mut draining = self.core.engine.drain(budget)?;
        loop {
            tokio::select! {
                biased;
                report = draining.report() => return report,
                // It may have been this handle's end, while others hold the core.
                result = changed.changed() => {
                    self.store()?;
                    if result.is_err() {
                        return Err(OutboxError::Closed);
                    }
                }
            }
        }
    }

    /// As `wait`. Nothing if its caller has gone before.
    pub async fn wait_cancellable(
        &self,
        id: SubmissionId,
        timeout: Duration,
        cancellation: Arc<Cancellation>,
    ) -> Result<Option<Waited>, OutboxError> {
        cancellation.ends(self.wait(id, timeout)).await.transpose()
    }

    /// As `drain`. Nothing if its caller has gone before: what then becomes of the work is as the
    /// budget says.
    pub async fn drain_cancellable(
        &self,
        budget: DrainBudget,
        cancellation: Arc<Cancellation>,
    ) -> Result<Option<DrainReport>, OutboxError> {
        cancellation.ends(self.drain(budget)).await.transpose()
    }

    /// Begins nothing more, lets what is on the wire come to its end, for at most this long, and
    /// suspends. For an app that leaves the foreground: to suspend at once would put requests in
    /// doubt each time. `suspend` ends it early. Dropping the future changes nothing but that nobody
    /// suspends: do that, or call `start`.
    pub async fn wind_down(&self, time: Duration) -> Result<WindDown, OutboxError> {
        check_time("time", time)?;
        self.store()?;
        let engine = &self.core.engine;
        if engine.is_suspended() {
            // Whoever suspended it may still be at it: this waits for that.
            return engine.suspend().map(|()| WindDown::Finished);
        }
        let waited = engine.wind_down(time)?.report().await;
        self.store()?;
        engine.end_wind_down(waited)
    }
}
