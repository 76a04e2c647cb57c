//! The whole way from an answer to a state.

use std::time::Duration;

use super::classify::{History, Settles};
use super::classify_rules_tests::{REUSED, got_reused, replayed};
use super::classify_tests::{Exchange, behind_a_gateway, got, got_html, locking, table};
use super::profile::{KeyScope, ServerProfile};
use super::rules::{AnswerRule, RuleVerdict};
use crate::model::state::{
    Doubt, Ending, Event, Proof, RejectReason, State, SubmissionState, Then,
};
use crate::model::submission::Effect;
use crate::model::transition::next;

/// P5. There is no judgement that the state function refuses, and none that calls a submission in doubt settled, but for a settling one.
#[test]
fn every_judgement_can_be_carried_out() {
    let profiles = [
        ServerProfile::standard(),
        locking(),
        behind_a_gateway(),
        ruling(),
    ];
    let mut settling = [0; 3];
    for (status, ..) in table() {
        for profile in &profiles {
            for effect in [
                Effect::Safe,
                Effect::Overwrite,
                Effect::Keyed,
                Effect::Unkeyed,
            ] {
                for history in histories() {
                    for (derived_id, following) in [(false, false), (true, false), (false, true)] {
                        for exchange in dressed(status) {
                            let exchange = Exchange {
                                profile: profile.clone(),
                                effect,
                                history,
                                account: derived_id,
                                derived_id,
                                following,
                                ..exchange
                            };
                            let settles = carry_out(&exchange);
                            settling[settles as usize] += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(settling.iter().all(|times| *times > 0), "{settling:?}");
}

/// Each verdict once, on answers that say so in a header.
fn ruling() -> ServerProfile {
    let reason = RejectReason::KeyReused;
    let rule =
        |name, verdict| AnswerRule::between(100, 599, verdict).header("x-verdict", Some(name));
    ServerProfile {
        rules: vec![
            rule("applied", RuleVerdict::Applied).settles(),
            rule("refused", RuleVerdict::Refused { reason }).settles(),
            rule("reused", RuleVerdict::Refused { reason }),
            rule("credentials", RuleVerdict::Credentials),
            rule("busy", RuleVerdict::Busy),
            rule("retry", RuleVerdict::Retry),
            rule("retry_in_doubt", RuleVerdict::RetryInDoubt),
            rule("wait", RuleVerdict::Wait),
            rule("held", RuleVerdict::Held),
            rule("conflict", RuleVerdict::Conflict),
        ],
        replays_success: true,
        key_scope: KeyScope::Token,
        ..ServerProfile::standard()
    }
}

const VERDICTS: [&str; 10] = [
    "applied",
    "refused",
    "reused",
    "credentials",
    "busy",
    "retry",
    "retry_in_doubt",
    "wait",
    "held",
    "conflict",
];

/// Nothing before, and everything before.
fn histories() -> [History; 4] {
    let much = History {
        busy_answers: 9,
        busy_for: Duration::from_secs(999),
        same_answers: 9,
        same_for: Duration::from_secs(9_999),
        host_went_on: true,
        refused_with: 2,
        others_succeed: true,
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
        History {
            in_doubt: true,
            fetches: Some(1),
            ..History::default()
        },
    ]
}

/// The answers that a status comes in.
fn dressed(status: u16) -> Vec<Exchange> {
    let reused = Exchange {
        status,
        ..got_reused(REUSED, false)
    };
    let ruled = VERDICTS
        .iter()
        .map(|name| got(status).with("x-verdict", name));
    let plain = vec![
        got(status),
        got(status).cut(),
        got_html(status),
        reused,
        replayed(status),
        got(status).with("retry-after", "1"),
        got(status).with("stripe-should-retry", "true"),
        got(status).with("stripe-should-retry", "false"),
        replayed(status).with("stripe-should-retry", "true"),
        replayed(status).with("stripe-should-retry", "false"),
    ];
    plain.into_iter().chain(ruled).collect()
}

fn carry_out(exchange: &Exchange) -> Settles {
    let judgement = exchange.judge();
    let applied = exchange.history.fetches.is_some();
    for earlier in 0..=2 {
        let state = State {
            visible: SubmissionState::InFlight,
            doubt: Doubt {
                open: true,
                unknown: earlier,
                applied,
            },
            cancel_requested: false,
        };
        let settles = judgement.settles != Settles::Nothing;
        let ending = Ending {
            proves: judgement.proves,
            closes_earlier: if settles { earlier } else { 0 },
            then: judgement.then,
        };
        let reached = next(&state, Event::AttemptEnded(ending)).unwrap().next;
        let rejected = matches!(reached.visible, SubmissionState::Rejected { .. });
        let in_doubt = earlier > 0 && !settles;
        assert!(!(rejected && in_doubt), "{}", exchange.status);
        let took_effect = applied || judgement.proves == Proof::Applied;
        let fetches = judgement.then == Then::FetchResult;
        assert_eq!(
            reached.visible == SubmissionState::Succeeded,
            took_effect && !fetches,
            "{}",
            exchange.status
        );
        assert!(!fetches || reached.visible == SubmissionState::Pending);
    }
    judgement.settles
}
