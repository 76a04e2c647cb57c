//! Walks every state and every event against the table of the design's section 3.

use super::state::{Event, Evidence, RejectReason, State, SubmissionState, Then};
use super::transition::next;
use super::transition_space::{events, newer, states};
use super::transition_table::{In, RULES, To, attempts_after, is_in, rule_of};

fn reason_said(event: Event) -> Option<RejectReason> {
    match event {
        Event::AttemptEnded(ending) => match ending.then {
            Then::Refuse(reason) => Some(reason),
            Then::Retry | Then::FetchResult | Then::Hold(_) => None,
        },
        Event::LateProof(Evidence::NotApplied(reason)) => reason,
        _ => None,
    }
}

/// What the table says: the next state, and which rule says it.
fn expected(state: &State, event: Event) -> Option<(usize, State)> {
    let ended = is_in(In::Final, state.visible);
    let doubt = if ended {
        state.doubt
    } else {
        attempts_after(state, event)?
    };
    let (rule, to) = rule_of(state, event)?;
    let visible = match to {
        To::Stays | To::Flag => state.visible,
        To::Pending => SubmissionState::Pending,
        To::InFlight => SubmissionState::InFlight,
        To::Held(reason) => SubmissionState::Held { reason },
        To::Succeeded => SubmissionState::Succeeded,
        To::Rejected(reason) => SubmissionState::Rejected { reason },
        To::RejectedAsSaid => SubmissionState::Rejected {
            reason: reason_said(event)?,
        },
        To::Cancelled => SubmissionState::Cancelled,
        To::Expired => SubmissionState::Expired,
        To::Superseded => SubmissionState::Superseded { by: newer() },
        To::Abandoned => SubmissionState::Abandoned,
        To::CantHappen => return None,
    };
    // The flag belongs to the open attempt, and ends with it.
    let cancel_requested = to == To::Flag || (to == To::Stays && state.cancel_requested);
    let next = State {
        visible,
        doubt,
        cancel_requested,
    };
    Some((rule, next))
}

#[test]
fn every_event_in_every_state_does_what_the_table_says() {
    let mut used = vec![false; RULES.len()];
    for state in states() {
        for event in events() {
            let answered = next(&state, event).ok().map(|transition| transition.next);
            let wanted = expected(&state, event);
            assert_eq!(
                answered,
                wanted.map(|(_, next)| next),
                "{event:?} in {state:?}"
            );
            if let Some((rule, _)) = wanted {
                used[rule] = true;
            }
        }
    }
    let unused: Vec<_> = RULES
        .iter()
        .zip(used)
        .filter(|(rule, used)| !used && rule.3 != To::CantHappen)
        .collect();
    assert!(unused.is_empty(), "rules that never decide: {unused:?}");
}
