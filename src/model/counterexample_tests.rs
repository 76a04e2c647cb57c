//! Sequences of steps that broke a promise under an earlier wording of the rules, found by a model
//! checker, replayed against the state function. A1, A2 are attempts.

use super::state::{
    Decision, Ending, Event, Evidence, HoldReason, Proof, RejectReason, State, SubmissionState,
    Then,
};
use super::transition::next;
use super::transition_space::{accepted, newer};

/// A submission and what has happened to it.
struct Story(State);

impl Story {
    /// Accepted, and its first attempt ended without an answer.
    fn after_a_lost_answer() -> Self {
        Self(accepted())
            .then(Event::Claimed)
            .then(timed_out())
            .shows(SubmissionState::Pending)
    }

    fn then(self, event: Event) -> Self {
        Self(next(&self.0, event).unwrap().next)
    }

    #[track_caller]
    fn shows(self, visible: SubmissionState) -> Self {
        assert_eq!(self.0.visible, visible);
        self
    }

    #[track_caller]
    fn shows_hold(self, reason: HoldReason) -> Self {
        self.shows(SubmissionState::Held { reason })
    }

    #[track_caller]
    fn cannot(self, event: Event) -> Self {
        assert!(next(&self.0, event).is_err(), "{event:?} in {:?}", self.0);
        self
    }
}

fn ended(proves: Proof, then: Then) -> Event {
    Event::AttemptEnded(Ending {
        proves,
        closes_earlier: 0,
        then,
    })
}

fn timed_out() -> Event {
    ended(Proof::Unknown, Then::Retry)
}

fn could_not_connect() -> Event {
    ended(Proof::NotApplied, Then::Retry)
}

fn refused() -> Event {
    ended(Proof::NotApplied, Then::Refuse(RejectReason::Refused))
}

const NOT_APPLIED: Event = Event::LateProof(Evidence::NotApplied(None));
const APPLIED: Event = Event::LateProof(Evidence::Applied);

/// C1, P5. The server did A1; "A2 couldn't connect" says nothing about that.
#[test]
fn c1_a_cancelled_attempt_that_proves_nothing_was_done_does_not_speak_for_an_earlier_one() {
    Story::after_a_lost_answer()
        .then(Event::Claimed)
        .then(Event::Cancel)
        .shows(SubmissionState::InFlight)
        .then(could_not_connect())
        .shows_hold(HoldReason::CancelRequested);
    // With no earlier one, it does.
    Story(accepted())
        .then(Event::Claimed)
        .then(Event::Cancel)
        .then(could_not_connect())
        .shows(SubmissionState::Cancelled);
}

/// C2. The process died after the cancel; whoever takes over must not send.
#[test]
fn c2_what_was_cancelled_in_flight_is_not_sent_again_by_a_takeover() {
    Story(accepted())
        .then(Event::Claimed)
        .then(Event::Cancel)
        .then(Event::LeaseLost)
        .shows_hold(HoldReason::CancelRequested)
        .cannot(Event::Claimed);
}

/// C3. Two rows of the table fit: the cancel wins, so that the end of the doubt doesn't send again.
#[test]
fn c3_a_refusal_does_not_make_a_cancel_forgotten() {
    Story::after_a_lost_answer()
        .then(Event::Claimed)
        .then(Event::Cancel)
        .then(refused())
        .shows_hold(HoldReason::CancelRequested)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Cancelled);
}

/// C4. Held is not out of reach for a cancel, nor for an expiry.
#[test]
fn c4_a_cancel_of_what_is_held_is_remembered_when_the_doubt_ends() {
    let held = || {
        Story::after_a_lost_answer()
            .then(Event::Claimed)
            .then(refused())
            .shows_hold(HoldReason::OutcomeUnknown)
    };
    held()
        .then(Event::Cancel)
        .shows_hold(HoldReason::CancelRequested)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Cancelled);
    held()
        .then(Event::ExpiryPassed)
        .shows_hold(HoldReason::ExpiredInDoubt)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Expired);
    // A cancel says more than an expiry that comes after it, or before it.
    held()
        .then(Event::Cancel)
        .then(Event::ExpiryPassed)
        .shows_hold(HoldReason::CancelRequested);
    held()
        .then(Event::ExpiryPassed)
        .then(Event::Cancel)
        .shows_hold(HoldReason::CancelRequested);
    // A hold that isn't for doubt is cancelled at once.
    Story(accepted())
        .then(Event::Claimed)
        .then(ended(Proof::NotApplied, Then::Hold(HoldReason::Conflict)))
        .shows_hold(HoldReason::Conflict)
        .then(Event::Cancel)
        .shows(SubmissionState::Cancelled);
}

/// C5, first half. A1 took effect, as its late answer says while A2 is under way: whatever A2
/// brings, the action happened.
#[test]
fn c5_a_late_success_beats_every_answer_of_the_attempt_in_flight() {
    let conflict = ended(Proof::NotApplied, Then::Hold(HoldReason::Conflict));
    for end in [
        could_not_connect(),
        refused(),
        timed_out(),
        conflict,
        Event::LeaseLost,
    ] {
        for cancelled in [false, true] {
            let mut story = Story::after_a_lost_answer()
                .then(Event::Claimed)
                .then(APPLIED);
            if cancelled {
                story = story.then(Event::Cancel);
            }
            story.then(end).shows(SubmissionState::Succeeded);
        }
    }
}

/// C5, second half. Succeeded while A2 may still be sent would let a newer write overtake it.
#[test]
fn c5_a_late_success_waits_for_the_attempt_in_flight() {
    Story::after_a_lost_answer()
        .then(Event::Claimed)
        .then(APPLIED)
        .shows(SubmissionState::InFlight)
        .cannot(Event::Claimed);
}

/// C6. A probe speaks for the attempts that had ended when it began, each on its own; which ones
/// those are is decided where the clock is. What it doesn't close stays in doubt.
#[test]
fn c6_a_probe_does_not_cancel_what_a_frozen_process_may_still_send() {
    Story::after_a_lost_answer()
        .then(Event::Claimed)
        .then(Event::LeaseLost) // A2's process is frozen right before its first byte
        .then(Event::Cancel)
        .shows_hold(HoldReason::CancelRequested)
        .then(NOT_APPLIED) // the probe, for A1
        .shows_hold(HoldReason::CancelRequested)
        .then(APPLIED) // A2's process thawed and sent
        .shows(SubmissionState::Succeeded);
}

/// C6. An attempt that is still open is closed by its own end only.
#[test]
fn c6_a_probe_cannot_close_an_open_attempt() {
    Story(accepted())
        .then(Event::Claimed)
        .cannot(NOT_APPLIED)
        .cannot(APPLIED);
    Story::after_a_lost_answer()
        .then(Event::Claimed)
        .then(NOT_APPLIED)
        .shows(SubmissionState::InFlight)
        .cannot(NOT_APPLIED);
}

/// C7. Nothing is held for a doubt that is over.
#[test]
fn c7_a_hold_for_doubt_ends_with_the_last_doubt() {
    let in_doubt = Story::after_a_lost_answer;
    in_doubt()
        .then(Event::Cancel)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Cancelled);
    in_doubt()
        .then(Event::ExpiryPassed)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Expired);
    in_doubt()
        .then(Event::KeyLifetimeOver)
        .shows_hold(HoldReason::OutcomeUnknown)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Pending);
    let stored_refusal = Evidence::NotApplied(Some(RejectReason::Invalid));
    in_doubt()
        .then(Event::KeyLifetimeOver)
        .then(Event::LateProof(stored_refusal))
        .shows(SubmissionState::Rejected {
            reason: RejectReason::Invalid,
        });
}

/// C7. A process that thaws and finds its lease lost knows that it never sent.
#[test]
fn c7_an_attempt_that_never_sent_ends_the_doubt_of_its_takeover() {
    Story(accepted())
        .then(Event::Claimed)
        .then(Event::LeaseLost)
        .then(Event::Cancel)
        .shows_hold(HoldReason::CancelRequested)
        .then(NOT_APPLIED)
        .shows(SubmissionState::Cancelled);
}

/// C8, P9. The decision is stored: it starts anew, forgets the expiry, and leads to a send.
#[test]
fn c8_a_retry_of_what_expired_or_outlived_its_key_is_sent() {
    for held_by in [
        Event::ExpiryPassed,
        Event::KeyLifetimeOver,
        Event::BudgetUsedUp,
        Event::Cancel,
    ] {
        let held = Story::after_a_lost_answer().then(held_by);
        let retried = next(&held.0, Event::Decided(Decision::Retry)).unwrap();
        assert!(
            retried.fresh_start,
            "{held_by:?}: the expiry and the budget are over"
        );
        Story(retried.next)
            .shows(SubmissionState::Pending)
            .then(Event::Claimed)
            .shows(SubmissionState::InFlight)
            .then(timed_out())
            .shows(SubmissionState::Pending);
    }
}

/// C12, P4. The quiet time is kept by whoever makes things due; so no way back may skip `pending`,
/// or forget that an attempt is unknown.
#[test]
fn c12_every_way_to_another_attempt_goes_through_pending_with_its_doubt() {
    let retry = Event::Decided(Decision::Retry);
    let ways: [&[Event]; 4] = [
        &[timed_out()],
        &[Event::LeaseLost],
        &[
            ended(Proof::Unknown, Then::Hold(HoldReason::OutcomeUnknown)),
            retry,
        ],
        &[Event::Cancel, timed_out(), retry],
    ];
    for way in ways {
        let mut story = Story(accepted()).then(Event::Claimed);
        for event in way {
            story = story.cannot(Event::Claimed).then(*event);
        }
        let story = story.shows(SubmissionState::Pending);
        assert_eq!(story.0.doubt.unknown, 1, "{way:?}");
    }
}

/// C13, as far as one submission knows of it: an older one in doubt stays until the newer one has
/// succeeded, and has been overwritten then, whatever it did.
#[test]
fn c13_an_older_write_in_doubt_is_superseded_by_success_only() {
    let superseded = SubmissionState::Superseded { by: newer() };
    let accepted_newer = Event::NewerAccepted { by: newer() };
    let newer_succeeded = Event::NewerSucceeded { by: newer() };
    for held_by in [Event::Cancel, Event::ExpiryPassed, Event::BudgetUsedUp] {
        let story = Story::after_a_lost_answer().then(held_by);
        let held = story.0.visible;
        story
            .then(accepted_newer)
            .shows(held)
            .then(newer_succeeded)
            .shows(superseded);
    }
    Story(accepted()).then(accepted_newer).shows(superseded);
    // In flight it waits for its own end, also when a decision says that the newer one happened.
    Story(accepted())
        .then(Event::Claimed)
        .then(accepted_newer)
        .then(newer_succeeded)
        .shows(SubmissionState::InFlight)
        .then(timed_out())
        .then(newer_succeeded)
        .shows(superseded);
}
