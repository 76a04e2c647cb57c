//! A result that was cut and is asked for again, and what a 303 led to.

use super::classify::{self, Counts, History, Judgement, Settles, Wait};
use super::classify_tests::{
    Exchange, FAULTS, REFUSED, RETRY, UNKNOWN, behind_a_gateway, got, got_html, table,
};
use super::limits::{FETCH_RESULT_ATTEMPTS, Limits};
use super::profile::ServerProfile;
use super::rules::{AnswerRule, RuleVerdict};
use crate::model::state::{Proof, Then};
use crate::model::submission::Effect;

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};

const FETCH: Then = Then::FetchResult;

fn replaying() -> ServerProfile {
    ServerProfile {
        replays_success: true,
        ..ServerProfile::standard()
    }
}

fn fetched(times: u32) -> History {
    History {
        fetches: Some(times),
        ..History::default()
    }
}

fn fault(fault: classify::Fault, exchange: &Exchange) -> Judgement {
    classify::fault(fault, &exchange.circumstances(&Limits::default()))
}

#[test]
fn a_cut_result_is_asked_for_again_where_the_server_gives_it_again() {
    for status in [200, 201, 202, 203] {
        let judgement = got(status).cut().on(replaying()).means(Y, FETCH);
        assert!(!judgement.keeps_result);
        got(status).cut().means(Y, RETRY);
        got(status).on(replaying()).means(Y, RETRY);
    }
}

#[test]
fn by_effect_only_a_keyed_write_an_overwrite_and_a_fetch_are_asked_again() {
    for (effect, replays_success, then) in [
        (Effect::Safe, false, FETCH),
        (Effect::Safe, true, FETCH),
        (Effect::Overwrite, false, RETRY),
        (Effect::Overwrite, true, FETCH),
        (Effect::Keyed, false, RETRY),
        (Effect::Keyed, true, FETCH),
        (Effect::Unkeyed, false, RETRY),
        (Effect::Unkeyed, true, RETRY),
    ] {
        let profile = ServerProfile {
            replays_success,
            ..ServerProfile::standard()
        };
        let cut = Exchange {
            effect,
            ..got(200).cut().on(profile)
        };
        cut.means(Y, then);
    }
}

/// The first answer was cut, and so is each one after it: asked for as often as the limit says.
#[test]
fn a_result_is_asked_for_a_few_times() {
    let mut history = History::default();
    let mut asked = 0;
    while got(200).cut().on(replaying()).after(history).judge().then == FETCH {
        asked += 1;
        history = fetched(asked - 1);
        assert!(asked < 100, "it ends");
    }
    assert_eq!(asked, FETCH_RESULT_ATTEMPTS);
}

/// Whatever comes of asking, the effect stays; and when asking is over, it is a success.
#[test]
fn whatever_is_answered_to_the_question_for_a_result_it_is_asked_again_or_ends() {
    for (status, proves, then) in table() {
        let answered = |before| got(status).on(replaying()).after(fetched(before));
        let asks = if proves == Y { RETRY } else { FETCH };
        answered(0).means(proves, asks);
        answered(FETCH_RESULT_ATTEMPTS - 2).means(proves, asks);
        answered(FETCH_RESULT_ATTEMPTS - 1).means(proves, then);
    }
    for one in FAULTS {
        let asked = got(0).on(replaying()).after(fetched(0));
        assert_eq!(fault(one, &asked).then, FETCH, "{one:?}");
        let at_last = got(0).on(replaying()).after(fetched(u32::MAX));
        assert_ne!(fault(one, &at_last).then, FETCH, "{one:?}");
    }
}

#[test]
fn what_is_asked_for_waits_as_the_server_says() {
    let limited = got(429).with("retry-after", "8").on(replaying());
    let judgement = limited.after(fetched(0)).means(N, FETCH);
    assert_eq!(
        judgement.wait,
        Wait::Server(std::time::Duration::from_secs(8))
    );
    assert_eq!(judgement.closes, classify::Closes::Host);
}

#[test]
fn what_a_rule_calls_applied_is_asked_for_when_it_was_cut() {
    let profile = ServerProfile {
        rules: vec![AnswerRule::on(409, RuleVerdict::Applied).header("x-done", None)],
        ..replaying()
    };
    let done = || got(409).with("x-done", "1").on(profile.clone());
    assert!(done().means(Y, RETRY).keeps_result);
    assert!(!done().cut().means(Y, FETCH).keeps_result);
}

/// Applied with its result if the success is one of the API, else nobody knows.
#[test]
fn where_a_303_led_only_a_success_of_the_api_counts() {
    for (status, proves, _) in table() {
        let judgement = got(status).following().judge();
        if proves == Y {
            assert_eq!(judgement, got(status).judge(), "{status}");
        } else {
            got(status).following().means(Q, UNKNOWN);
            assert_eq!(judgement.settles, Settles::Nothing);
        }
        got_html(status).following().means(
            if matches!(status, 204 | 205) { Y } else { Q },
            if matches!(status, 204 | 205) {
                RETRY
            } else {
                UNKNOWN
            },
        );
    }
    let expecting = ServerProfile {
        expected_member: Some("/id".to_owned()),
        ..ServerProfile::standard()
    };
    let found = got(200).following().on(expecting);
    found.means(Q, UNKNOWN);
    found.saying(br#"{"id":4}"#).means(Y, RETRY);
}

#[test]
fn a_rule_can_say_what_a_303_led_to() {
    let ruled = |rule| ServerProfile {
        rules: vec![rule],
        ..ServerProfile::standard()
    };
    let done = AnswerRule::on(404, RuleVerdict::Applied);
    got(404).following().on(ruled(done)).means(Y, RETRY);
    let settles = AnswerRule::on(
        200,
        RuleVerdict::Refused {
            reason: crate::model::state::RejectReason::Refused,
        },
    );
    let refused = got(200).following().on(ruled(settles.settles()));
    assert_eq!(refused.means(Q, UNKNOWN).settles, Settles::Nothing);
    // Neither a marker nor Stripe's header changes what it is.
    got(500)
        .following()
        .with("stripe-should-retry", "true")
        .means(Q, UNKNOWN);
    got(404)
        .following()
        .with("idempotent-replayed", "true")
        .means(Q, UNKNOWN);
}

/// A 303 is an answer: the action was done or it wasn't, and no fault of the second request says
/// which. The whole is tried again.
#[test]
fn a_fault_on_the_way_where_a_303_led_leaves_doubt() {
    for one in FAULTS {
        let judgement = fault(one, &got(0).following());
        assert_eq!((judgement.proves, judgement.then), (Q, RETRY), "{one:?}");
        assert_eq!(judgement.counts, Counts::Transport);
        let gateway = fault(one, &got(0).following().on(behind_a_gateway()));
        assert_eq!(gateway, judgement);
    }
}

/// A fetch that is sent elsewhere is a fetch: a busy host there refuses nothing.
#[test]
fn a_fetch_that_was_sent_elsewhere_is_judged_as_any() {
    for (status, ..) in table() {
        let fetch = |exchange| Exchange {
            effect: Effect::Safe,
            ..exchange
        };
        let there = fetch(got(status).following()).judge();
        assert_eq!(there, fetch(got(status)).judge(), "{status}");
    }
    let busy = Exchange {
        effect: Effect::Safe,
        ..got(503).following()
    };
    busy.means(N, RETRY);
    let gone = Exchange {
        effect: Effect::Safe,
        ..got(404).following()
    };
    gone.means(N, REFUSED);
}
