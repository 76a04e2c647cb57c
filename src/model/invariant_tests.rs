//! What must be true of every change, whatever the table says.

use proptest::prelude::*;

use super::state::{
    Decision, Ending, Event, Evidence, HoldReason, Proof, RejectReason, State, SubmissionState,
    Then, Transition,
};
use super::transition::next;
use super::transition_space::{
    HOLDS, REASONS, accepted, can_exist, events, is_for_doubt, newer, states, visible_states,
};

/// Every change that can happen.
fn changes() -> Vec<(State, Event, Transition)> {
    let mut all = Vec::new();
    for state in states() {
        for event in events() {
            if let Ok(transition) = next(&state, event) {
                all.push((state, event, transition));
            }
        }
    }
    all
}

#[test]
fn the_lists_of_the_space_are_whole() {
    // Exhaustive matches: a new variant doesn't compile until it is listed, too.
    let place_of_hold = |reason| match reason {
        HoldReason::OutcomeUnknown => 0,
        HoldReason::Conflict => 1,
        HoldReason::CancelRequested => 2,
        HoldReason::ExpiredInDoubt => 3,
        HoldReason::Restored => 4,
        HoldReason::Damaged => 5,
        HoldReason::ParentResultMissing => 6,
        HoldReason::KeyUsedElsewhere => 7,
    };
    let place_of_reason = |reason| match reason {
        RejectReason::Configuration => 0,
        RejectReason::Unauthorized => 1,
        RejectReason::Refused => 2,
        RejectReason::Invalid => 3,
        RejectReason::KeyReused => 4,
        RejectReason::GaveUp => 5,
        RejectReason::BodyMissing => 6,
        RejectReason::Dependency => 7,
        RejectReason::Split => 8,
    };
    assert_eq!(HOLDS.map(place_of_hold), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(REASONS.map(place_of_reason), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(visible_states().len(), 7 + 8 + 9);
    // Pending, in flight, held, succeeded, rejected, cancelled and expired, superseded, abandoned.
    assert_eq!(states().len(), 8 + 16 + (3 * 3 + 5 * 4) + 8 + 9 + 2 + 4 + 4);
}

/// P7.
#[test]
fn a_final_state_never_changes_and_takes_every_event() {
    for state in states() {
        for event in events() {
            if state.visible.is_final() {
                let transition = next(&state, event).unwrap();
                assert_eq!(transition.next, state, "{event:?}");
                assert!(!transition.fresh_start);
                let evidence = matches!(
                    event,
                    Event::LateProof(_) | Event::AttemptEnded(_) | Event::LeaseLost
                );
                assert_eq!(transition.late, evidence, "{event:?} is recorded beside it");
            }
        }
    }
    let finals = visible_states()
        .into_iter()
        .filter(SubmissionState::is_final);
    assert_eq!(finals.count(), 5 + 9);
}

/// P5.
#[test]
fn what_is_in_doubt_is_never_called_cancelled_expired_or_rejected() {
    for (state, event, transition) in changes() {
        let ends_without_effect = matches!(
            transition.next.visible,
            SubmissionState::Cancelled
                | SubmissionState::Expired
                | SubmissionState::Rejected { .. }
        );
        if ends_without_effect && !state.visible.is_final() {
            assert!(
                !transition.next.doubt.in_doubt() && !transition.next.doubt.applied,
                "{event:?} in {state:?}"
            );
        }
    }
}

/// P5.
#[test]
fn what_is_in_doubt_is_superseded_only_by_a_newer_one_that_succeeded() {
    for (state, event, transition) in changes() {
        let superseded = matches!(transition.next.visible, SubmissionState::Superseded { .. });
        if superseded && !state.visible.is_final() && state.doubt.in_doubt() {
            assert_eq!(event, Event::NewerSucceeded { by: newer() }, "{state:?}");
        }
    }
}

#[test]
fn an_applied_attempt_leads_to_nothing_but_success() {
    for (state, event, transition) in changes() {
        let applied_now = transition.next.doubt.applied && !state.visible.is_final();
        let asks_for_result = transition.next.visible == SubmissionState::Pending
            && match event {
                Event::AttemptEnded(ending) => ending.then == Then::FetchResult,
                Event::LateProof(evidence) => state.doubt.applied && evidence != Evidence::Applied,
                _ => false,
            };
        if applied_now && transition.next.visible != SubmissionState::InFlight && !asks_for_result {
            assert_eq!(
                transition.next.visible,
                SubmissionState::Succeeded,
                "{event:?} in {state:?}"
            );
        }
    }
}

#[test]
fn every_change_leads_to_a_state_that_can_exist() {
    for (state, event, transition) in changes() {
        let reached = transition.next;
        assert!(can_exist(&reached), "{event:?} in {state:?}: {reached:?}");
        if let SubmissionState::Held { reason } = reached.visible {
            assert!(reached.doubt.in_doubt() || !is_for_doubt(reason));
        }
    }
}

#[test]
fn no_event_but_evidence_closes_a_doubt() {
    for (state, event, transition) in changes() {
        let (before, after) = (state.doubt, transition.next.doubt);
        let closed = (before.unknown + u32::from(before.open))
            .saturating_sub(after.unknown + u32::from(after.open));
        let most = match event {
            Event::AttemptEnded(Ending {
                proves,
                closes_earlier,
                ..
            }) => closes_earlier + u32::from(proves != Proof::Unknown),
            Event::LateProof(_) => 1,
            _ => 0,
        };
        assert!(closed <= most, "{event:?} in {state:?}");
        assert!(after.applied || !before.applied, "{event:?} in {state:?}");
    }
}

/// P9: a decision to retry leads to a send without a further one, and nothing of the cancel or the
/// expiry before it is left.
#[test]
fn every_accepted_retry_can_be_sent() {
    let mut retried = 0;
    let decisions = [Decision::Retry, Decision::Fill];
    for (state, decision) in decisions
        .iter()
        .flat_map(|of| states().into_iter().map(|state| (state, *of)))
    {
        let Ok(decided) = next(&state, Event::Decided(decision)) else {
            continue;
        };
        if state.visible.is_final() {
            continue;
        }
        assert_eq!(decided.next.visible, SubmissionState::Pending);
        assert!(!decided.next.cancel_requested);
        let claimed = next(&decided.next, Event::Claimed).unwrap();
        assert_eq!(claimed.next.visible, SubmissionState::InFlight);
        assert!(!claimed.next.cancel_requested);
        retried += 1;
    }
    let held = |state: &&State| matches!(state.visible, SubmissionState::Held { .. });
    // What is damaged is never sent again; what lacks a part is sent once that is filled in.
    let damaged = 4;
    assert_eq!(retried, states().iter().filter(held).count() - damaged);
}

#[test]
fn only_a_decision_to_retry_starts_anew() {
    for (state, event, transition) in changes() {
        let retried = matches!(event, Event::Decided(Decision::Retry | Decision::Fill))
            && !state.visible.is_final();
        assert_eq!(transition.fresh_start, retried, "{event:?} in {state:?}");
    }
}

fn proven_nothing() -> impl Strategy<Value = Event> {
    let then = prop_oneof![
        Just(Then::Retry),
        Just(Then::FetchResult),
        prop::sample::select(REASONS.to_vec()).prop_map(Then::Refuse),
        prop::sample::select(vec![
            Then::Hold(HoldReason::OutcomeUnknown),
            Then::Hold(HoldReason::Conflict),
            Then::Hold(HoldReason::KeyUsedElsewhere),
        ]),
    ];
    let proves = prop::sample::select(vec![Proof::NotApplied, Proof::Unknown]);
    (proves, then).prop_map(|(proves, then)| {
        Event::AttemptEnded(Ending {
            proves,
            closes_earlier: 0,
            then,
        })
    })
}

/// Everything that can happen except evidence about the first attempt.
fn later_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Claimed),
        4 => proven_nothing(),
        1 => Just(Event::Cancel),
        1 => Just(Event::ExpiryPassed),
        1 => Just(Event::NewerAccepted { by: newer() }),
        1 => Just(Event::LeaseLost),
        1 => Just(Event::BudgetUsedUp),
        1 => Just(Event::KeyLifetimeOver),
        1 => Just(Event::RowDamaged),
        1 => any::<bool>().prop_map(|never_sent| Event::BodyMissing { never_sent }),
        1 => Just(Event::LateProof(Evidence::NotApplied(None))),
        1 => prop::sample::select(REASONS.to_vec())
            .prop_map(|reason| Event::LateProof(Evidence::NotApplied(Some(reason)))),
        2 => Just(Event::Decided(Decision::Retry)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// P5, as a property: the first attempt was lost on the way, and nothing that later ones bring
    /// makes up for that.
    #[test]
    fn no_answer_to_later_attempts_settles_the_first_unknown_one(
        steps in prop::collection::vec(later_event(), 0..60)
    ) {
        let mut state = accepted();
        for event in [Event::Claimed, Event::LeaseLost] {
            state = next(&state, event).unwrap().next;
        }
        for event in steps {
            let about_the_first =
                matches!(event, Event::LateProof(_)) && state.doubt.unknown == 1;
            if about_the_first {
                continue;
            }
            if let Ok(transition) = next(&state, event) {
                state = transition.next;
            }
            prop_assert!(state.doubt.unknown >= 1, "{event:?}: {state:?}");
            prop_assert!(!state.visible.is_final(), "{event:?}: {state:?}");
        }
    }

    /// P7, as a property.
    #[test]
    fn no_sequence_of_events_changes_a_final_state(
        steps in prop::collection::vec(
            prop_oneof![later_event(), prop::sample::select(events())],
            0..60,
        )
    ) {
        let mut state = accepted();
        let mut end = None;
        for event in steps {
            if let Ok(transition) = next(&state, event) {
                state = transition.next;
            }
            prop_assert!(can_exist(&state), "{event:?}: {state:?}");
            if state.visible.is_final() || end.is_some() {
                prop_assert_eq!(state, *end.get_or_insert(state), "{:?}", event);
            }
        }
    }
}
