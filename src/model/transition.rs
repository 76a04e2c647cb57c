//! The one function that decides every change of a submission. Pure and total: a new state or event
//! doesn't compile until this file says what it means.

use super::state::{
    Decision, Doubt, Ending, Event, Evidence, HoldReason, IllegalTransition, Proof, RejectReason,
    State, SubmissionState, Then, Transition,
};
use crate::weakness::{self, Weakness};

/// Decides what an event does to a submission.
///
/// # Errors
/// [`IllegalTransition`] if the event can't happen in this state.
pub fn next(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    match state.visible {
        SubmissionState::Pending => from_pending(state, event),
        SubmissionState::InFlight => from_in_flight(state, event),
        SubmissionState::Held { reason } => from_held(state, reason, event),
        SubmissionState::Succeeded
        | SubmissionState::Rejected { .. }
        | SubmissionState::Cancelled
        | SubmissionState::Expired
        | SubmissionState::Superseded { .. }
        | SubmissionState::Abandoned => {
            if weakness::is_out(Weakness::NoTerminalGuard) {
                return from_held(state, HoldReason::Conflict, event);
            }
            Ok(from_final(state, event))
        }
    }
}

fn from_pending(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    if state.doubt.applied {
        return from_applied(state, event);
    }
    let in_doubt = state.doubt.in_doubt();
    match event {
        Event::Claimed => Ok(open(state)),
        Event::KeyLifetimeOver if in_doubt => Ok(hold(state, HoldReason::OutcomeUnknown)),
        Event::BudgetUsedUp if in_doubt => Ok(hold(state, HoldReason::OutcomeUnknown)),
        Event::BudgetUsedUp => Ok(reject(state, RejectReason::GaveUp)),
        Event::Cancel
        | Event::ExpiryPassed
        | Event::NewerAccepted { .. }
        | Event::NewerSucceeded { .. } => withdraw(state, event),
        Event::BodyMissing { never_sent: true } if !in_doubt => {
            Ok(reject(state, RejectReason::BodyMissing))
        }
        Event::BodyMissing { .. } | Event::RowDamaged => Ok(hold(state, HoldReason::Damaged)),
        Event::ParentFailed => Ok(parent_failed(state)),
        Event::ParentResultMissing => Ok(hold(state, HoldReason::ParentResultMissing)),
        Event::Purged => Ok(purge(state)),
        Event::LateProof(evidence) => late_proof(state, event, evidence),
        // A key has no age without an attempt; nothing open can end; and only what is held is decided.
        Event::KeyLifetimeOver | Event::AttemptEnded(_) | Event::LeaseLost | Event::Decided(_) => {
            illegal(state, event)
        }
    }
}

/// It took effect, and only its result is still asked for: whatever speaks against asking ends it as
/// the success that it is.
fn from_applied(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    match event {
        Event::Claimed => Ok(open(state)),
        Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::Cancel
        | Event::ExpiryPassed
        | Event::NewerAccepted { .. }
        | Event::NewerSucceeded { .. }
        | Event::BodyMissing { .. }
        | Event::RowDamaged
        | Event::Purged => Ok(succeed(state)),
        Event::LateProof(evidence) => late_proof(state, event, evidence),
        Event::ParentFailed
        | Event::ParentResultMissing
        | Event::AttemptEnded(_)
        | Event::LeaseLost
        | Event::Decided(_) => illegal(state, event),
    }
}

fn from_in_flight(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    match event {
        Event::Cancel => Ok(to(State {
            cancel_requested: true,
            ..*state
        })),
        Event::AttemptEnded(ending) => attempt_ended(state, event, ending),
        Event::LeaseLost => {
            let lost = Ending {
                proves: Proof::Unknown,
                closes_earlier: 0,
                then: Then::Retry,
            };
            attempt_ended(state, event, lost)
        }
        Event::LateProof(evidence) => {
            let mut doubt = state.doubt;
            if doubt.unknown == 0 {
                return illegal(state, event);
            }
            doubt.unknown -= 1;
            match evidence {
                Evidence::Applied => doubt.applied = true,
                Evidence::NotApplied(_) => {}
            }
            Ok(to(State { doubt, ..*state }))
        }
        Event::Purged => {
            let mut doubt = state.doubt;
            doubt.unknown = doubt.unknown.saturating_add(u32::from(doubt.open));
            doubt.open = false;
            Ok(purge(&State { doubt, ..*state }))
        }
        // They wait for the end of the attempt: the sweep that brings them comes again.
        // A newer one isn't sent meanwhile, but a decision can say that it happened.
        Event::ExpiryPassed | Event::NewerAccepted { .. } | Event::NewerSucceeded { .. } => {
            Ok(to(*state))
        }
        // They are looked at before a claim.
        Event::Claimed
        | Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::BodyMissing { .. }
        | Event::RowDamaged
        | Event::ParentFailed
        | Event::ParentResultMissing
        | Event::Decided(_) => illegal(state, event),
    }
}

fn attempt_ended(
    state: &State,
    event: Event,
    ending: Ending,
) -> Result<Transition, IllegalTransition> {
    let mut doubt = state.doubt;
    if !doubt.open || ending.closes_earlier > doubt.unknown {
        return illegal(state, event);
    }
    doubt.open = false;
    doubt.unknown -= ending.closes_earlier;
    match ending.proves {
        Proof::Applied => doubt.applied = true,
        Proof::NotApplied => {}
        Proof::Unknown => doubt.unknown = doubt.unknown.saturating_add(1),
    }
    let after = State { doubt, ..*state };
    // An applied attempt beats every answer; then the cancel flag wins over the answer.
    if doubt.applied {
        let asks = ending.then == Then::FetchResult && !state.cancel_requested;
        return Ok(if asks {
            visible(&after, SubmissionState::Pending)
        } else {
            succeed(&after)
        });
    }
    if state.cancel_requested {
        return Ok(cancel(&after));
    }
    Ok(match ending.then {
        Then::Retry => visible(&after, SubmissionState::Pending),
        // There is no result of what had no effect.
        Then::FetchResult => return illegal(state, event),
        // What can't be sent again is damaged, in doubt or not.
        Then::Hold(HoldReason::Damaged) => hold(&after, HoldReason::Damaged),
        Then::Refuse(RejectReason::BodyMissing) if doubt.in_doubt() => {
            hold(&after, HoldReason::Damaged)
        }
        // The doubt that it was about has been settled meanwhile.
        Then::Hold(HoldReason::OutcomeUnknown) if !doubt.in_doubt() => {
            visible(&after, SubmissionState::Pending)
        }
        Then::Refuse(_) | Then::Hold(HoldReason::Conflict | HoldReason::OutcomeUnknown)
            if doubt.in_doubt() && !weakness::is_out(Weakness::RefusalForgetsDoubt) =>
        {
            hold(&after, HoldReason::OutcomeUnknown)
        }
        Then::Refuse(reason) => reject(&after, reason),
        Then::Hold(reason @ (HoldReason::Conflict | HoldReason::KeyUsedElsewhere)) => {
            hold(&after, reason)
        }
        // No answer says these.
        Then::Hold(
            HoldReason::OutcomeUnknown
            | HoldReason::CancelRequested
            | HoldReason::ExpiredInDoubt
            | HoldReason::Restored
            | HoldReason::ParentResultMissing,
        ) => return illegal(state, event),
    })
}

fn from_held(
    state: &State,
    reason: HoldReason,
    event: Event,
) -> Result<Transition, IllegalTransition> {
    match event {
        Event::Cancel
        | Event::ExpiryPassed
        | Event::NewerAccepted { .. }
        | Event::NewerSucceeded { .. } => withdraw(state, event),
        Event::LateProof(evidence) => late_proof(state, event, evidence),
        Event::Decided(Decision::Happened) => Ok(succeed(state)),
        Event::Decided(Decision::GiveUp) => Ok(visible(state, SubmissionState::Abandoned)),
        Event::Decided(Decision::Retry)
            if !matches!(
                reason,
                HoldReason::Damaged | HoldReason::ParentResultMissing
            ) =>
        {
            Ok(Transition {
                fresh_start: true,
                ..visible(
                    &State {
                        cancel_requested: false,
                        ..*state
                    },
                    SubmissionState::Pending,
                )
            })
        }
        Event::Decided(Decision::Fill) if reason == HoldReason::ParentResultMissing => {
            Ok(Transition {
                fresh_start: true,
                ..visible(state, SubmissionState::Pending)
            })
        }
        // Found again, by a later look.
        Event::RowDamaged | Event::BodyMissing { .. } => Ok(hold(state, HoldReason::Damaged)),
        // What was held for another reason before its parent ended.
        Event::ParentFailed if state.doubt.in_doubt() => Ok(to(*state)),
        Event::ParentFailed => Ok(parent_failed(state)),
        // The decision comes first; the claim after it finds out that the part is missing.
        Event::ParentResultMissing => Ok(to(*state)),
        Event::Purged => Ok(purge(state)),
        // What is damaged or lacks a part could never be sent; the rest happens to what is not held.
        Event::Decided(Decision::Retry | Decision::Fill)
        | Event::Claimed
        | Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::AttemptEnded(_)
        | Event::LeaseLost => illegal(state, event),
    }
}

fn from_final(state: &State, event: Event) -> Transition {
    match event {
        Event::LateProof(_) | Event::AttemptEnded(_) | Event::LeaseLost => Transition {
            late: true,
            ..to(*state)
        },
        Event::Claimed
        | Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::Cancel
        | Event::ExpiryPassed
        | Event::NewerAccepted { .. }
        | Event::NewerSucceeded { .. }
        | Event::BodyMissing { .. }
        | Event::RowDamaged
        | Event::ParentFailed
        | Event::ParentResultMissing
        | Event::Purged
        | Event::Decided(_) => to(*state),
    }
}

/// Cancel, expiry and a newer one, for what is pending or held.
fn withdraw(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    if state.doubt.applied {
        // Put aside as damaged while its result was asked for: it took effect all the same.
        return Ok(succeed(state));
    }
    let in_doubt = state.doubt.in_doubt();
    Ok(match event {
        Event::Cancel => cancel(state),
        // A cancel was there first, and says more.
        Event::ExpiryPassed
            if state.visible
                == (SubmissionState::Held {
                    reason: HoldReason::CancelRequested,
                }) =>
        {
            to(*state)
        }
        Event::ExpiryPassed if in_doubt => hold(state, HoldReason::ExpiredInDoubt),
        Event::ExpiryPassed => visible(state, SubmissionState::Expired),
        // In doubt, the older one stays and is not sent; the newer one waits out its doubt.
        Event::NewerAccepted { .. } if in_doubt => to(*state),
        // After its success the older one has been overwritten, whatever it did; its unknown
        // attempts stay on record.
        Event::NewerAccepted { by } | Event::NewerSucceeded { by } => {
            visible(state, SubmissionState::Superseded { by })
        }
        Event::Claimed
        | Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::BodyMissing { .. }
        | Event::RowDamaged
        | Event::ParentFailed
        | Event::ParentResultMissing
        | Event::AttemptEnded(_)
        | Event::LeaseLost
        | Event::LateProof(_)
        | Event::Purged
        | Event::Decided(_) => return illegal(state, event),
    })
}

/// A parent ended without success, or one before it in its lane: it can't be sent any more. In doubt,
/// as after a loss, it can't be called undone either.
fn parent_failed(state: &State) -> Transition {
    if state.doubt.in_doubt() {
        hold(state, HoldReason::OutcomeUnknown)
    } else {
        reject(state, RejectReason::Dependency)
    }
}

/// Signed out for good: nobody will decide any more.
fn purge(state: &State) -> Transition {
    if state.doubt.applied {
        succeed(state)
    } else if state.doubt.in_doubt() {
        visible(state, SubmissionState::Abandoned)
    } else {
        visible(state, SubmissionState::Cancelled)
    }
}

/// Evidence about an earlier attempt, for what is pending or held.
fn late_proof(
    state: &State,
    event: Event,
    evidence: Evidence,
) -> Result<Transition, IllegalTransition> {
    let mut doubt = state.doubt;
    if doubt.unknown == 0 {
        return illegal(state, event);
    }
    doubt.unknown -= 1;
    let refused = match evidence {
        Evidence::Applied => {
            doubt.applied = true;
            return Ok(succeed(&State { doubt, ..*state }));
        }
        Evidence::NotApplied(refused) => refused,
    };
    let after = State { doubt, ..*state };
    if doubt.in_doubt() {
        return Ok(to(after));
    }
    let SubmissionState::Held { reason } = state.visible else {
        return Ok(to(after));
    };
    Ok(match reason {
        HoldReason::CancelRequested => cancel(&after),
        HoldReason::ExpiredInDoubt => visible(&after, SubmissionState::Expired),
        HoldReason::OutcomeUnknown => match refused {
            Some(reason) => reject(&after, reason),
            None => visible(&after, SubmissionState::Pending),
        },
        HoldReason::Conflict
        | HoldReason::Restored
        | HoldReason::Damaged
        | HoldReason::ParentResultMissing
        | HoldReason::KeyUsedElsewhere => to(after),
    })
}

fn open(state: &State) -> Transition {
    let doubt = Doubt {
        open: true,
        ..state.doubt
    };
    visible(&State { doubt, ..*state }, SubmissionState::InFlight)
}

fn cancel(state: &State) -> Transition {
    if state.doubt.in_doubt() && !weakness::is_out(Weakness::CancelForgetsDoubt) {
        hold(state, HoldReason::CancelRequested)
    } else {
        visible(state, SubmissionState::Cancelled)
    }
}

fn hold(state: &State, reason: HoldReason) -> Transition {
    visible(state, SubmissionState::Held { reason })
}

fn reject(state: &State, reason: RejectReason) -> Transition {
    visible(state, SubmissionState::Rejected { reason })
}

fn succeed(state: &State) -> Transition {
    visible(state, SubmissionState::Succeeded)
}

/// Another visible state. A cancel flag belongs to an open attempt and ends with it.
fn visible(state: &State, visible: SubmissionState) -> Transition {
    to(State {
        visible,
        cancel_requested: false,
        ..*state
    })
}

fn to(next: State) -> Transition {
    Transition {
        next,
        fresh_start: false,
        late: false,
    }
}

fn illegal(state: &State, event: Event) -> Result<Transition, IllegalTransition> {
    Err(IllegalTransition {
        state: *state,
        event,
    })
}
