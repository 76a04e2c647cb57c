//! Signing out for good, as far as it concerns what is on the wire.

use std::sync::Arc;

use super::engine::{Engine, lock};
use crate::error::OutboxError;
use crate::model::outcome::SignedOutReport;
use crate::model::state::Proof;

impl Engine {
    /// Signs out whoever is signed in, stops its requests, and ends and drops everything of it.
    pub(crate) fn purge(self: &Arc<Self>) -> Result<SignedOutReport, OutboxError> {
        let account = {
            // No turn comes between the mark and the stop, so that nothing is sent after the mark.
            let mut gate = lock(&self.gate);
            self.collect(&mut gate);
            let Some(account) = self.parts().store.begin_purge()? else {
                return Ok(SignedOutReport::default());
            };
            let unsent = self
                .stop_account(&mut gate, &account)
                .into_iter()
                .filter(|stopped| stopped.judgement.proves == Proof::NotApplied)
                .map(|stopped| stopped.attempt)
                .collect();
            // The purge itself ends what they were attempts of, and counts it.
            self.parts().store.note_unsent(unsent)?;
            account
        };
        self.parts().store.purge(&account)
    }
}
