//! Refused credentials: whom they stop, and when the same key may go out with others.

use super::classify::{Closes, Counts, History, Settles, Wait};
use super::classify_tests::{
    CONFIGURATION, Exchange, REFUSED, RETRY, UNKNOWN, behind_a_gateway, got, got_html, locking,
};
use super::profile::{KeyScope, ReplayedErrors, ServerProfile};
use super::rules::{AnswerRule, RuleVerdict};
use crate::model::state::{Proof, RejectReason, Then};
use crate::model::submission::Effect;

use Proof::{NotApplied as N, Unknown as Q};

const UNAUTHORIZED: Then = Then::Refuse(RejectReason::Unauthorized);
const IN_DOUBT: History = History {
    in_doubt: true,
    never_sent: false,
    busy_answers: 0,
    busy_for: std::time::Duration::ZERO,
    same_status: None,
    same_answers: 0,
    same_for: std::time::Duration::ZERO,
    host_went_on: false,
    refused_with: 0,
    others_succeed: false,
    fetches: None,
};

fn scoped(key_scope: KeyScope) -> ServerProfile {
    ServerProfile {
        key_scope,
        ..ServerProfile::standard()
    }
}

#[test]
fn an_account_waits_for_new_credentials_without_losing_an_attempt() {
    let judgement = got(401).with_account().means(N, RETRY);
    assert_eq!(judgement.counts, Counts::Nothing);
    assert_eq!(judgement.closes, Closes::Account);
    assert_eq!(judgement.wait, Wait::Nothing);
    assert_eq!(judgement.settles, Settles::Nothing);
    assert!(!judgement.keeps_result);
}

#[test]
fn nobody_has_no_credentials_to_renew() {
    let judgement = got(401).means(N, UNAUTHORIZED);
    assert_eq!(judgement.closes, Closes::Nothing);
    assert_eq!(judgement.counts, Counts::Answered);
}

/// C10: with another token the same key is another one to such a server.
#[test]
fn a_key_of_the_token_is_held_when_in_doubt() {
    for (scope, history, then) in [
        (KeyScope::Token, History::default(), RETRY),
        (KeyScope::Token, IN_DOUBT, UNKNOWN),
        (KeyScope::Account, IN_DOUBT, RETRY),
        (KeyScope::Device, IN_DOUBT, RETRY),
    ] {
        let refused = got(401).with_account().on(scoped(scope)).after(history);
        // The others of the account wait in any case.
        assert_eq!(refused.means(N, then).closes, Closes::Account, "{scope:?}");
    }
}

/// A write without a key has none that a token could own.
#[test]
fn what_overwrites_has_no_key_to_belong_to_a_token() {
    for effect in [Effect::Overwrite, Effect::Safe] {
        let refused = Exchange {
            effect,
            ..got(401)
                .with_account()
                .on(scoped(KeyScope::Token))
                .after(IN_DOUBT)
        };
        refused.means(N, RETRY);
    }
}

#[test]
fn a_403_is_a_refusal_unless_the_profile_says_that_it_means_credentials() {
    got(403).with_account().means(N, REFUSED);
    let profile = ServerProfile {
        rules: vec![
            AnswerRule::on(403, RuleVerdict::Credentials).member("/code", Some("token_expired")),
        ],
        ..ServerProfile::standard()
    };
    let expired = got(403)
        .saying(br#"{"code":"token_expired"}"#)
        .with_account()
        .on(profile.clone());
    assert_eq!(expired.means(N, RETRY).closes, Closes::Account);
    got(403).with_account().on(profile).means(N, REFUSED);
}

/// A login page of a portal says nothing of the server's opinion.
#[test]
fn a_page_with_401_closes_no_account() {
    let judgement = got_html(401).with_account().means(Q, RETRY);
    assert_eq!(judgement.closes, Closes::Nothing);
}

#[test]
fn behind_a_gateway_a_refused_credential_is_in_doubt_and_still_stops_the_account() {
    let judgement = got(401)
        .with_account()
        .on(behind_a_gateway())
        .means(Q, RETRY);
    assert_eq!(judgement.closes, Closes::Account);
}

#[test]
fn a_stored_401_is_refused_and_closes_no_account() {
    let stored = got(401).with("idempotent-replayed", "true").with_account();
    let judgement = stored.on(locking()).means(N, UNAUTHORIZED);
    assert_eq!(judgement.closes, Closes::Nothing);
    assert_eq!(judgement.settles, Settles::SinceConsent);
}

/// "Don't ask again" is obeyed: with these credentials nobody does.
#[test]
fn stripe_should_retry_false_doesnt_end_what_waits_for_credentials() {
    let told = |word| got(401).with("stripe-should-retry", word).with_account();
    assert_eq!(told("false").means(N, RETRY).closes, Closes::Account);
    assert_eq!(told("true").means(N, RETRY).closes, Closes::Account);
    let nobody = got(401).with("stripe-should-retry", "false");
    nobody.means(N, UNAUTHORIZED);
}

/// What an answer says to others it says whatever becomes of this one.
#[test]
fn stripe_should_retry_leaves_the_gate_of_the_host_as_the_status_says() {
    for (status, proves, then) in [(429, N, REFUSED), (503, Q, UNKNOWN)] {
        for (word, then) in [("true", RETRY), ("false", then)] {
            let told = got(status).with("stripe-should-retry", word);
            let judgement = told.with("retry-after", "9").means(proves, then);
            assert_eq!(judgement.closes, Closes::Host, "{status} {word}");
            let asked = Wait::Server(std::time::Duration::from_secs(9));
            assert_eq!(judgement.wait, asked, "{status} {word}");
        }
    }
}

/// A key that is frozen to "wait" must not stop everybody for ever.
#[test]
fn a_host_that_others_get_through_to_is_not_closed_again_by_one_key() {
    for (status, proves) in [(429, N), (503, Q)] {
        let told_before = History {
            same_status: Some(status),
            host_went_on: true,
            ..History::default()
        };
        let closes = |exchange: Exchange| exchange.means(proves, RETRY).closes;
        assert_eq!(closes(got(status).after(told_before)), Closes::Nothing);
        for lacking in [
            History {
                same_status: None,
                ..told_before
            },
            History {
                same_status: Some(500),
                ..told_before
            },
            History {
                host_went_on: false,
                ..told_before
            },
        ] {
            assert_eq!(closes(got(status).after(lacking)), Closes::Host);
        }
        let unfrozen = ServerProfile {
            errors_are_replayed: ReplayedErrors::Nothing,
            ..ServerProfile::standard()
        };
        let exchange = got(status).after(told_before).on(unfrozen);
        assert_eq!(closes(exchange), Closes::Host);
    }
}

/// Which gate each status closes: one for everybody, one for the account, and no other.
#[test]
fn only_a_429_a_503_and_refused_credentials_stop_others() {
    for status in 100..=599 {
        let closes = |exchange: Exchange| exchange.judge().closes;
        let host = match status {
            429 | 503 => Closes::Host,
            _ => Closes::Nothing,
        };
        assert_eq!(closes(got(status)), host, "{status}");
        let limited = got(status).with("ratelimit", r#""a";r=0;t=9"#);
        assert_eq!(closes(limited), host, "{status}");
        let account = match status {
            401 => Closes::Account,
            _ => host,
        };
        assert_eq!(closes(got(status).with_account()), account, "{status}");
        assert_eq!(
            closes(got(status).with_account().cut()),
            account,
            "{status}"
        );
        // A stored answer is about its key and says nothing of the host now.
        let stored = got(status).with("idempotent-replayed", "true");
        assert_eq!(closes(stored.with_account()), Closes::Nothing, "{status}");
    }
    got(400).with_account().means(N, CONFIGURATION);
}
