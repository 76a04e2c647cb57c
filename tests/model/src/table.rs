//! The state function: the core's own. With a rule taken out, the row of an earlier wording instead.

use submit_once::rules::{Ending, Event, Evidence, Proof, State, Then, Transition, next};
use submit_once::{HoldReason, SubmissionState};

use crate::rule::Rule;
use crate::setting::Delivery;

impl Delivery {
    /// What an event does. Nothing where the state function knows no such thing.
    pub(crate) fn next(&self, state: &State, event: Event) -> Option<Transition> {
        let state = self.forgetful(state, event);
        let mut transition = next(&state, event).ok()?;
        if let Some(visible) = self.earlier_wording(&state, event, &transition) {
            transition.next.visible = visible;
            transition.next.cancel_requested = false;
        }
        Some(transition)
    }

    /// What earlier wordings did not look at.
    fn forgetful(&self, state: &State, event: Event) -> State {
        let mut state = *state;
        let Event::AttemptEnded(Ending { proves, then, .. }) = event else {
            if event == Event::LeaseLost && !self.has(Rule::CancelOutlivesLease) {
                state.cancel_requested = false;
            }
            return state;
        };
        if !self.has(Rule::LateSuccessWins) && proves == Proof::NotApplied {
            state.doubt.applied = false;
        }
        if !self.has(Rule::CancelBeatsRefusal) && matches!(then, Then::Refuse(_)) {
            state.cancel_requested = false;
        }
        if !self.has(Rule::DoubtPerAttempt) && proves == Proof::NotApplied {
            state.doubt.unknown = 0;
        }
        state
    }

    /// Where an earlier wording led, if that was elsewhere.
    fn earlier_wording(
        &self,
        state: &State,
        event: Event,
        to: &Transition,
    ) -> Option<SubmissionState> {
        match event {
            Event::AttemptEnded(ending)
                if !self.has(Rule::CancelAsksEveryAttempt)
                    && state.cancel_requested
                    && ending.proves == Proof::NotApplied
                    && !state.doubt.applied =>
            {
                Some(SubmissionState::Cancelled)
            }
            Event::Cancel
                if !self.has(Rule::HeldTakesCancel)
                    && matches!(state.visible, SubmissionState::Held { .. }) =>
            {
                Some(state.visible)
            }
            Event::LateProof(Evidence::Applied)
                if !self.has(Rule::LateSuccessWaits)
                    && state.visible == SubmissionState::InFlight =>
            {
                Some(SubmissionState::Succeeded)
            }
            Event::LateProof(Evidence::NotApplied(_))
                if !self.has(Rule::HoldEndsWithDoubt)
                    && is_for_doubt(state.visible)
                    && !to.next.doubt.in_doubt() =>
            {
                Some(state.visible)
            }
            Event::NewerSucceeded { .. }
                if !self.has(Rule::SuccessSupersedesDoubt)
                    && state.doubt.in_doubt()
                    && !state.visible.is_final() =>
            {
                Some(state.visible)
            }
            _ => None,
        }
    }
}

/// Held, since nobody knows whether it happened.
pub(crate) fn is_for_doubt(visible: SubmissionState) -> bool {
    matches!(
        visible,
        SubmissionState::Held {
            reason: HoldReason::OutcomeUnknown
                | HoldReason::CancelRequested
                | HoldReason::ExpiredInDoubt
        }
    )
}
