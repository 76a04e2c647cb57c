//! What a profile expects of an answer, its own replay markers, and bodies that were cut.

use super::classify::{Closes, Counts, Settles};
use super::classify_tests::{CONFIGURATION, Exchange, RETRY, UNKNOWN, got, got_html, locking};
use super::profile::ServerProfile;
use super::rules::{AnswerRule, RuleVerdict};
use crate::model::state::{Proof, RejectReason, Then};

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};

fn expecting_member() -> ServerProfile {
    ServerProfile {
        expected_member: Some("/data/id".to_owned()),
        ..ServerProfile::standard()
    }
}

fn expecting_json() -> ServerProfile {
    ServerProfile {
        expected_content_types: vec!["application/json".to_owned()],
        ..ServerProfile::standard()
    }
}

#[test]
fn a_success_without_the_expected_member_is_none_of_the_api() {
    for status in [200, 201, 202, 203] {
        let says = |body| got(status).saying(body).on(expecting_member());
        says(br#"{"data":{"id":null}}"#).means(Y, RETRY);
        for body in [b"{}".as_slice(), b"", b"welcome", br#"{"data":{"id":1}"#] {
            let judgement = says(body).means(Q, RETRY);
            assert!(!judgement.keeps_result);
            // A wrong expectation must not be asked about for ever.
            assert_eq!(judgement.counts, Counts::Answered);
        }
    }
}

#[test]
fn what_has_no_body_and_what_is_no_success_needs_no_member() {
    for status in [204, 205] {
        got(status)
            .saying(b"")
            .on(expecting_member())
            .means(Y, RETRY);
    }
    for status in [303, 400, 401, 409, 429, 500, 503] {
        let judgement = got(status).on(expecting_member()).judge();
        assert_eq!(judgement, got(status).judge(), "{status}");
    }
}

#[test]
fn an_expected_type_goes_for_errors_too_and_an_empty_body_needs_none() {
    let typed = |status, content_type| {
        let bare = Exchange {
            headers: Vec::new(),
            ..got(status)
        };
        bare.with("content-type", content_type).on(expecting_json())
    };
    typed(400, "application/json").means(N, CONFIGURATION);
    typed(400, "Application/JSON; charset=utf-8").means(N, CONFIGURATION);
    typed(201, "application/json").means(Y, RETRY);
    let judgement = typed(400, "application/problem+json").means(Q, RETRY);
    assert_eq!(judgement.counts, Counts::Answered);
    typed(201, "text/plain").saying(b"").means(Y, RETRY);
    for status in [429, 503] {
        let judgement = typed(status, "text/plain").means(Q, RETRY);
        assert_eq!(judgement.closes, Closes::Host, "{status}");
        let page = got_html(status).judge();
        assert_eq!(page.closes, Closes::Host, "{status}");
    }
}

/// Its status says that it took effect; but the profile has to look inside to believe it.
#[test]
fn a_cut_success_that_has_to_be_looked_into_is_unknown() {
    let inside = ServerProfile {
        rules: vec![AnswerRule::between(200, 299, RuleVerdict::Held).member("/errors", None)],
        ..ServerProfile::standard()
    };
    for profile in [expecting_member(), inside] {
        for status in [200, 201, 202, 203] {
            let judgement = got(status).cut().on(profile.clone()).means(Q, RETRY);
            assert_eq!(judgement.counts, Counts::Answered);
            got(status).cut().on(expecting_json()).means(Y, RETRY);
        }
        for status in [204, 205] {
            got(status).cut().on(profile.clone()).means(Y, RETRY);
        }
    }
    let by_header = ServerProfile {
        rules: vec![AnswerRule::between(200, 299, RuleVerdict::Held).header("x-partial", None)],
        ..ServerProfile::standard()
    };
    got(200).cut().on(by_header).means(Y, RETRY);
}

/// A server that says "already done" or "in progress" inside of a 400 or 422: half of such an
/// answer is no refusal. Where the body only names the reason of a refusal, half of it is one.
#[test]
fn a_cut_error_that_may_be_no_refusal_is_unknown() {
    let ruled = |verdict| ServerProfile {
        rules: vec![AnswerRule::on(400, verdict).member("/code", Some("done"))],
        ..ServerProfile::standard()
    };
    for verdict in [
        RuleVerdict::Applied,
        RuleVerdict::Busy,
        RuleVerdict::RetryInDoubt,
        RuleVerdict::Retry,
        RuleVerdict::Wait,
        RuleVerdict::Credentials,
        RuleVerdict::Held,
    ] {
        let judgement = got(400).cut().on(ruled(verdict)).means(Q, RETRY);
        assert_eq!(judgement.counts, Counts::Answered, "{verdict:?}");
        got(400).on(ruled(verdict)).means(N, CONFIGURATION);
        let other = got(404).cut().on(ruled(verdict)).judge();
        assert_eq!(other, got(404).cut().judge());
    }
    let reason = RejectReason::KeyReused;
    for verdict in [RuleVerdict::Refused { reason }, RuleVerdict::Conflict] {
        got(400).cut().on(ruled(verdict)).means(N, CONFIGURATION);
    }
}

/// Half an answer says nothing of a key, and half a multi-status is none.
#[test]
fn a_cut_error_proves_what_its_status_proves() {
    for status in [400, 401, 409, 422, 425, 500, 503] {
        let whole = got(status).judge();
        assert_eq!(got(status).cut().judge(), whole, "{status}");
    }
    let half = br#"{"results":[{"status":201}]}"#;
    got(207).saying(half).means(Y, RETRY);
    got(207).saying(half).cut().means(Q, UNKNOWN);
}

#[test]
fn a_profile_can_name_more_markers() {
    let marking = ServerProfile {
        replay_markers: vec!["X-Was-Seen".to_owned()],
        ..locking()
    };
    let seen = |status, value| got(status).with("x-was-seen", value).on(marking.clone());
    let judgement = seen(404, "True").means(N, Then::Refuse(RejectReason::Refused));
    assert_eq!(judgement.settles, Settles::SinceConsent);
    seen(500, "true").means(Q, UNKNOWN);
    seen(500, "no").means(Q, RETRY);
    got(500).with("x-was-seen", "true").means(Q, RETRY);
    // The common ones still count.
    let common = got(500).with("idempotent-replayed", "true");
    common.on(marking.clone()).means(Q, UNKNOWN);
    let named = |name: &str| ServerProfile {
        replay_markers: vec![name.to_owned()],
        ..ServerProfile::standard()
    };
    assert_eq!(named("x-was-seen").check_rules(), Ok(()));
    for wrong in ["", "x seen", "x-seen:"] {
        assert!(named(wrong).check_rules().is_err(), "{wrong}");
    }
}

#[test]
fn an_expected_member_is_a_pointer() {
    let expecting = |pointer: &str| ServerProfile {
        expected_member: Some(pointer.to_owned()),
        ..ServerProfile::standard()
    };
    assert_eq!(expecting("").check_rules(), Ok(()));
    assert_eq!(expecting("/data").check_rules(), Ok(()));
    let problem = expecting("data").check_rules().unwrap_err();
    assert!(problem.contains("expected_member"));
}
