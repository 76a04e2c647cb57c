//! Decisions of the app and its user: cancel, resolve, let a lane go on, try again now.

use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::outcome::{CancelOutcome, Resolution, ResolvedAll, Snapshot};
use crate::model::state::HoldReason;
use crate::outbox::Outbox;
use crate::store::cancel_outcome;

#[uniffi::export]
impl Outbox {
    /// Cancels a submission, and says honestly what that was worth.
    pub fn cancel(&self, id: SubmissionId) -> Result<CancelOutcome, OutboxError> {
        let store = self.store()?;
        let was_final = store
            .snapshot(id)?
            .is_some_and(|snapshot| snapshot.state.is_final());
        let mut snapshot = store.cancel(id)?;
        self.see(&mut snapshot);
        // Others may have waited for it.
        self.core.engine.nudge();
        Ok(cancel_outcome(snapshot, was_final))
    }

    /// Decides a held submission. The revision is that of the snapshot that the decision is about.
    pub fn resolve(
        &self,
        id: SubmissionId,
        revision: i64,
        resolution: Resolution,
    ) -> Result<Snapshot, OutboxError> {
        let credentials = self.core.engine.parts().desk.usable();
        let number = credentials.map(|usable| usable.number);
        let resolved = self.store()?.resolve(id, revision, resolution, number);
        let mut snapshot = resolved.map_err(|error| self.see_error(error))?;
        self.see(&mut snapshot);
        self.core.engine.nudge();
        Ok(snapshot)
    }

    /// Decides everything that is held for a reason, one by one: what the decision can't be made for
    /// stays held. Takes a transaction for every hundred or so.
    ///
    /// # Errors
    /// [`OutboxError::Storage`]. What was decided before stays decided; call again.
    pub fn resolve_all(
        &self,
        reason: HoldReason,
        resolution: Resolution,
    ) -> Result<ResolvedAll, OutboxError> {
        let credentials = self.core.engine.parts().desk.usable();
        let number = credentials.map(|usable| usable.number);
        let resolved = self.store()?.resolve_all(reason, &resolution, number);
        self.core.engine.nudge();
        resolved
    }

    /// Lets a lane go on that stopped since one of its submissions was rejected or given up. The lane
    /// is that of an account, or of nobody. True if it had stopped.
    pub fn release_lane(&self, account: Option<String>, lane: String) -> Result<bool, OutboxError> {
        let released = self.store()?.release_lane(account.as_deref(), &lane)?;
        self.core.engine.nudge();
        Ok(released)
    }

    /// Ends a backoff early: "try again now". Never shortens a server's wait or the quiet time,
    /// never makes a second submission. What is held for its doubt and has a status probe is asked about
    /// once more.
    pub fn wake(&self, id: SubmissionId) -> Result<Snapshot, OutboxError> {
        let mut snapshot = self.store()?.wake(id)?;
        self.see(&mut snapshot);
        self.core.engine.nudge();
        Ok(snapshot)
    }
}
