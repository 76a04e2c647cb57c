//! The whole way from an answer to a state.

use std::time::Duration;

use super::classify::{History, Settles};
use super::classify_rules_tests::{REUSED, got_reused, replayed};
use super::classify_tests::{Exchange, behind_a_gateway, got, got_html, locking, table};
use super::profile::ServerProfile;
use crate::model::state::{Doubt, Ending, Event, Proof, State, SubmissionState};
use crate::model::submission::Effect;
use crate::model::transition::next;

/// P5. There is no judgement that the state function refuses, and none that calls a submission in doubt settled, but for a settling one.
#[test]
fn every_judgement_can_be_carried_out() {
    let profiles = [ServerProfile::standard(), locking(), behind_a_gateway()];
    for (status, ..) in table() {
        for profile in &profiles {
            for effect in [
                Effect::Safe,
                Effect::Overwrite,
                Effect::Keyed,
                Effect::Unkeyed,
            ] {
                for history in histories() {
                    for derived_id in [false, true] {
                        for exchange in dressed(status) {
                            let exchange = Exchange {
                                profile: profile.clone(),
                                effect,
                                history,
                                account: derived_id,
                                derived_id,
                                ..exchange
                            };
                            carry_out(&exchange);
                        }
                    }
                }
            }
        }
    }
}

/// Nothing before, and everything before.
fn histories() -> [History; 3] {
    let much = History {
        busy_answers: 9,
        busy_for: Duration::from_secs(999),
        same_answers: 9,
        same_for: Duration::from_secs(9_999),
        host_went_on: true,
        credentials_work: true,
        ..History::default()
    };
    [
        History::default(),
        History {
            same_status: Some(500),
            ..much
        },
        History {
            in_doubt: true,
            same_status: Some(401),
            ..much
        },
    ]
}

/// The answers that a status comes in.
fn dressed(status: u16) -> Vec<Exchange> {
    let reused = Exchange {
        status,
        ..got_reused(REUSED, false)
    };
    vec![
        got(status),
        got_html(status),
        reused,
        replayed(status),
        got(status).with("retry-after", "1"),
        got(status).with("stripe-should-retry", "true"),
        got(status).with("stripe-should-retry", "false"),
        replayed(status).with("stripe-should-retry", "true"),
        replayed(status).with("stripe-should-retry", "false"),
    ]
}

fn carry_out(exchange: &Exchange) {
    let judgement = exchange.judge();
    for earlier in 0..=2 {
        let state = State {
            visible: SubmissionState::InFlight,
            doubt: Doubt {
                open: true,
                unknown: earlier,
                applied: false,
            },
            cancel_requested: false,
        };
        let settles = judgement.settles == Settles::SinceConsent;
        let ending = Ending {
            proves: judgement.proves,
            closes_earlier: if settles { earlier } else { 0 },
            then: judgement.then,
        };
        let reached = next(&state, Event::AttemptEnded(ending)).unwrap().next;
        let rejected = matches!(reached.visible, SubmissionState::Rejected { .. });
        let in_doubt = earlier > 0 && !settles;
        assert!(!(rejected && in_doubt), "{}", exchange.status);
        let succeeded = reached.visible == SubmissionState::Succeeded;
        assert_eq!(
            succeeded,
            judgement.proves == Proof::Applied,
            "{}",
            exchange.status
        );
    }
}
