//! Latest wins: whose turn it is (`src/store/order/latest.rs`).

use submit_once::rules::Event;
use submit_once::{SubmissionId, SubmissionState};

use crate::rule::Rule;
use crate::setting::{Delivery, Quiet};
use crate::world::{NEWER, OLDER, Submission, World};

impl Delivery {
    /// Something of the same latest-wins key goes first.
    pub(crate) fn is_blocked(&self, world: &World, which: usize) -> bool {
        if !self.setting.pair {
            return false;
        }
        let [older, newer] = &world.submissions;
        let other = if which == OLDER { newer } else { older };
        let in_flight = |of: &Submission| of.visible == SubmissionState::InFlight;
        if in_flight(other) && self.has(Rule::OneInFlightPerKey) {
            return true;
        }
        if which == OLDER && newer.is_unsettled() && self.has(Rule::OlderWaits) {
            return true;
        }
        if !self.has(Rule::QuietAcrossPair)
            || (other.visible.is_final() && !self.has(Rule::QuietAfterEnd))
        {
            return false;
        }
        let quiet = if self.has(Rule::PairQuietIsFull) {
            Quiet::Full
        } else {
            Quiet::ServerOnly
        };
        !Self::is_quiet(other.begun(), quiet)
    }

    /// Ends the older where the newer makes it void.
    pub(crate) fn supersede(&self, world: &mut World) {
        let [older, newer] = &mut world.submissions;
        if !newer.accepted || !older.is_unsettled() || older.visible == SubmissionState::InFlight {
            return;
        }
        let by = newer_id();
        if newer.visible == SubmissionState::Succeeded {
            self.change(older, Event::NewerSucceeded { by });
        } else if newer.is_unsettled() {
            self.change(older, Event::NewerAccepted { by });
        }
    }

    /// The newer is accepted.
    pub(crate) fn accept(&self, world: &mut World) {
        world.submissions[NEWER].accepted = true;
        world.submissions[NEWER].expires = self.setting.expires;
    }
}

fn newer_id() -> SubmissionId {
    SubmissionId::derived(None, "model", "newer")
}
