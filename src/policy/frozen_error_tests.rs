//! A key that is frozen to an error without saying so, and what tells it from a host that is down.

use std::time::Duration;

use super::classify::{Closes, History, Settles};
use super::classify_tests::{Exchange, RETRY, UNKNOWN, behind_a_gateway, got, got_html, table};
use super::profile::{ReplayedErrors, ServerProfile};
use crate::model::state::{Proof, RejectReason, Then};

use Proof::{NotApplied as N, Unknown as Q};

/// All that is asked: the fourth 500, over ten minutes, while others got through.
fn frozen() -> History {
    History {
        same_status: Some(500),
        same_answers: 3,
        same_for: Duration::from_secs(600),
        host_went_on: true,
        ..History::default()
    }
}

#[test]
fn the_same_error_for_long_while_others_get_through_is_frozen() {
    let judgement = got(500).after(frozen()).means(Q, UNKNOWN);
    assert_eq!(judgement.settles, Settles::Nothing);
    assert_eq!(judgement.closes, Closes::Nothing);
    // A 501 is refused at once, unless there is doubt: then it is the same.
    let not_implemented = History {
        same_status: Some(501),
        ..frozen()
    };
    got(501).after(not_implemented).means(Q, UNKNOWN);
}

#[test]
fn with_one_condition_missing_it_is_not() {
    let lacking = [
        History {
            same_status: None,
            ..frozen()
        },
        History {
            same_status: Some(501),
            ..frozen()
        },
        History {
            same_answers: 2,
            ..frozen()
        },
        History {
            same_for: Duration::from_millis(599_999),
            ..frozen()
        },
        History {
            host_went_on: false,
            ..frozen()
        },
    ];
    for history in lacking {
        got(500).after(history).means(Q, RETRY);
    }
    got_html(500).after(frozen()).means(Q, RETRY);
    for errors_are_replayed in [ReplayedErrors::Nothing, ReplayedErrors::ClientErrors] {
        let profile = ServerProfile {
            errors_are_replayed,
            ..ServerProfile::standard()
        };
        got(500).after(frozen()).on(profile).means(Q, RETRY);
    }
}

/// An outage is per host, and these say that there is one.
#[test]
fn no_other_error_is_ever_taken_for_a_frozen_one() {
    for (status, proves, then) in table() {
        if let 500 | 501 = status {
            continue;
        }
        let history = History {
            same_status: Some(status),
            same_answers: 1_000,
            same_for: Duration::from_secs(1_000_000),
            ..frozen()
        };
        got(status).after(history).means(proves, then);
    }
}

#[test]
fn the_server_can_still_ask_for_another_try() {
    let told = |word| got(500).after(frozen()).with("stripe-should-retry", word);
    told("true").means(Q, RETRY);
    told("false").means(Q, UNKNOWN);
}

#[test]
fn a_gateway_changes_nothing_about_it() {
    got(500)
        .after(frozen())
        .on(behind_a_gateway())
        .means(Q, UNKNOWN);
}

const UNAUTHORIZED: Then = Then::Refuse(RejectReason::Unauthorized);

/// Four of eight libraries replay a 401 under its key: the account must not be stopped for it.
#[test]
fn a_401_of_one_key_while_the_credentials_work_for_others_is_frozen() {
    let seen = History {
        same_status: Some(401),
        same_answers: 1,
        refused_with: 2,
        others_succeed: true,
        ..History::default()
    };
    let judgement = got(401).with_account().after(seen).means(N, UNAUTHORIZED);
    assert_eq!(judgement.closes, Closes::Nothing);
    assert!(judgement.keeps_result);
    for lacking in [
        History {
            same_status: None,
            ..seen
        },
        History {
            same_status: Some(500),
            ..seen
        },
        History {
            others_succeed: false,
            ..seen
        },
    ] {
        let refused: Exchange = got(401).with_account().after(lacking);
        assert_eq!(refused.means(N, RETRY).closes, Closes::Account);
    }
}
