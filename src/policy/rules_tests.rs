//! Rules of a profile: their conditions, their verdicts, their order and what is wrong with one.

use std::time::Duration;

use super::classify::{Closes, Counts, History, Settles, Wait};
use super::classify_tests::{
    Exchange, REFUSED, RETRY, UNKNOWN, behind_a_gateway, got, got_html, locking,
};
use super::profile::ServerProfile;
use super::rules::{AnswerRule, RuleVerdict, is_pointer};
use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};
use RuleVerdict::{Applied, Busy, Conflict, Credentials, Held, Retry, RetryInDoubt, Wait as Waits};

const INVALID: RuleVerdict = RuleVerdict::Refused {
    reason: RejectReason::Invalid,
};
const IS_INVALID: Then = Then::Refuse(RejectReason::Invalid);

fn ruled(rules: &[AnswerRule]) -> ServerProfile {
    ServerProfile {
        rules: rules.to_vec(),
        ..ServerProfile::standard()
    }
}

fn under(rule: AnswerRule, exchange: Exchange) -> Exchange {
    exchange.on(ruled(&[rule]))
}

#[test]
fn a_rule_is_about_its_statuses_and_no_others() {
    let rule = || AnswerRule::between(410, 412, Applied);
    for status in 410..=412 {
        under(rule(), got(status)).means(Y, RETRY);
    }
    for status in [409, 413] {
        assert_eq!(under(rule(), got(status)).judge(), got(status).judge());
    }
    under(AnswerRule::on(599, Applied), got(599)).means(Y, RETRY);
    under(AnswerRule::on(100, Applied), got(100)).means(Y, RETRY);
}

#[test]
fn a_header_is_looked_for_in_any_case_and_with_any_value_if_none_is_named() {
    let with = |value| got(400).with("x-reason", value);
    let any = || AnswerRule::on(400, Applied).header("X-Reason", None);
    let exact = || AnswerRule::on(400, Applied).header("X-REASON", Some("Done"));
    under(any(), with("")).means(Y, RETRY);
    under(exact(), with(" done ")).means(Y, RETRY);
    under(exact(), with("undone").with("x-reason", "DONE")).means(Y, RETRY);
    for other in [with("done, done"), with(""), got(400)] {
        assert_eq!(under(exact(), other).judge(), got(400).judge());
    }
    under(any(), got(400).with("x-reasons", "done")).means(N, super::classify_tests::CONFIGURATION);
}

#[test]
fn a_member_is_compared_as_text_and_without_a_value_must_say_something() {
    let fits = |pointer: &str, value: Option<&str>, body: &'static [u8]| {
        let rule = AnswerRule::on(400, Applied).member(pointer, value);
        under(rule, got(400).saying(body)).judge().proves == Y
    };
    for (pointer, value, body) in [
        (
            "/error/code",
            Some("done"),
            br#"{"error":{"code":"done"}}"#.as_slice(),
        ),
        (
            "/errors/1/code",
            Some("b"),
            br#"{"errors":[{"code":"a"},{"code":"b"}]}"#,
        ),
        ("/code", Some("704"), br#"{"code":704}"#),
        ("/code", Some("704"), br#"{"code":"704"}"#),
        ("/done", Some("true"), br#"{"done":true}"#),
        ("/a~1b/~0", Some("x"), br#"{"a/b":{"~":"x"}}"#),
        ("", Some("done"), br#""done""#),
        ("/errors", None, br#"{"errors":[1]}"#),
        ("/errors", None, br#"{"errors":{"a":1}}"#),
        ("/errors", None, br#"{"errors":"x"}"#),
        ("/errors", None, br#"{"errors":true}"#),
        ("/errors", None, br#"{"errors":0}"#),
    ] {
        assert!(fits(pointer, value, body), "{pointer} {value:?}");
    }
    for (pointer, value, body) in [
        ("/code", Some("done"), br#"{"code":"Done"}"#.as_slice()),
        ("/code", Some("done"), br#"{"error":{"code":"done"}}"#),
        ("/code", Some("null"), br#"{"code":null}"#),
        ("/code", Some("[]"), br#"{"code":[]}"#),
        ("/code", Some("{}"), br#"{"code":{}}"#),
        ("/code", Some("1.0"), br#"{"code":1}"#),
        ("/errors/0", None, br#"{"errors":[]}"#),
        ("/errors", None, br#"{"errors":[]}"#),
        ("/errors", None, br#"{"errors":{}}"#),
        ("/errors", None, br#"{"errors":""}"#),
        ("/errors", None, br#"{"errors":false}"#),
        ("/errors", None, br#"{"errors":null}"#),
        ("/errors", None, b"{}"),
        ("/errors", None, b""),
        ("/errors", None, br#"{"errors":[1]"#),
        ("/errors", None, b"\xff\xfe"),
    ] {
        assert!(!fits(pointer, value, body), "{pointer} {value:?}");
    }
}

#[test]
fn all_conditions_must_hold() {
    let rule = || {
        AnswerRule::on(400, Applied)
            .header("x-a", Some("1"))
            .member("/b", Some("2"))
    };
    let both = || got(400).with("x-a", "1").saying(br#"{"b":2}"#);
    under(rule(), both()).means(Y, RETRY);
    for lacking in [
        both().saying(b"{}"),
        got(400).with("x-a", "2").saying(br#"{"b":2}"#),
        got(400).saying(br#"{"b":2}"#),
    ] {
        assert_eq!(under(rule(), lacking).judge().proves, N);
    }
}

/// A page is in nobody's JSON, but a status and a header are those of a page, too.
#[test]
fn a_rule_comes_before_everything_else() {
    let rule = || AnswerRule::on(400, Busy);
    for exchange in [
        got(400).with("stripe-should-retry", "false"),
        got(400).with("idempotent-replayed", "true"),
        got_html(400),
    ] {
        assert_eq!(under(rule(), exchange).means(Q, RETRY).counts, Counts::Busy);
    }
}

#[test]
fn the_first_rule_that_fits_counts() {
    let rules = [
        AnswerRule::on(409, Applied).member("/code", Some("done")),
        AnswerRule::on(409, INVALID).member("/code", None),
        AnswerRule::between(400, 499, Held),
    ];
    let says = |body| got(409).saying(body).on(ruled(&rules));
    says(br#"{"code":"done"}"#).means(Y, RETRY);
    says(br#"{"code":"other"}"#).means(N, IS_INVALID);
    says(b"{}").means(Q, UNKNOWN);
}

/// What each verdict proves, what comes next, how it counts and whom it stops.
#[test]
fn every_verdict_is_carried_out() {
    let reused = RuleVerdict::Refused {
        reason: RejectReason::KeyReused,
    };
    let key_reused = Then::Refuse(RejectReason::KeyReused);
    let unauthorized = Then::Refuse(RejectReason::Unauthorized);
    let conflict = Then::Hold(HoldReason::Conflict);
    for (verdict, proves, then, counts, closes) in [
        (Applied, Y, RETRY, Counts::Answered, Closes::Nothing),
        (INVALID, N, IS_INVALID, Counts::Answered, Closes::Nothing),
        (reused, N, key_reused, Counts::Answered, Closes::Nothing),
        (
            Credentials,
            N,
            unauthorized,
            Counts::Answered,
            Closes::Nothing,
        ),
        (Busy, Q, RETRY, Counts::Busy, Closes::Nothing),
        (Retry, N, RETRY, Counts::Answered, Closes::Nothing),
        (RetryInDoubt, Q, RETRY, Counts::Answered, Closes::Nothing),
        (Waits, N, RETRY, Counts::Answered, Closes::Host),
        (Held, Q, UNKNOWN, Counts::Answered, Closes::Nothing),
        (Conflict, N, conflict, Counts::Answered, Closes::Nothing),
    ] {
        let exchange = got(404).with("retry-after", "40");
        let judgement = under(AnswerRule::on(404, verdict), exchange).means(proves, then);
        assert_eq!(judgement.counts, counts, "{verdict:?}");
        assert_eq!(judgement.closes, closes, "{verdict:?}");
        assert_eq!(judgement.settles, Settles::Nothing, "{verdict:?}");
        let is_result = proves == Y || matches!(then, Then::Refuse(_));
        assert_eq!(judgement.keeps_result, is_result, "{verdict:?}");
        if then == RETRY && proves != Y {
            let asked = Wait::Server(Duration::from_secs(40));
            assert_eq!(judgement.wait, asked, "{verdict:?}");
        }
    }
    let derived = Exchange {
        derived_id: true,
        ..under(AnswerRule::on(404, reused), got(404))
    };
    derived.means(N, Then::Hold(HoldReason::KeyUsedElsewhere));
    let account = under(AnswerRule::on(403, Credentials), got(403)).with_account();
    assert_eq!(account.means(N, RETRY).closes, Closes::Account);
}

#[test]
fn busy_by_a_rule_has_the_same_budget_as_any() {
    let long = History {
        busy_answers: 2,
        busy_for: Duration::from_secs(120),
        ..History::default()
    };
    let exchange = under(AnswerRule::on(423, Busy), got(423)).after(long);
    assert_eq!(exchange.means(Q, UNKNOWN).counts, Counts::Busy);
}

/// Only what says that nothing happened says so of all attempts; what took effect may have done so
/// at an earlier one, which must not be marked as without effect.
#[test]
fn a_settling_refusal_speaks_for_all_attempts_and_a_success_for_none_by_this() {
    let settled = |verdict| {
        let rule = AnswerRule::on(404, verdict).settles();
        under(rule, got(404)).judge().settles
    };
    assert_eq!(settled(INVALID), Settles::Everything);
    assert_eq!(settled(Applied), Settles::Nothing);
    let reused = RuleVerdict::Refused {
        reason: RejectReason::KeyReused,
    };
    assert_eq!(settled(reused), Settles::Everything);
}

/// C14: another copy of the request may still be under way.
#[test]
fn behind_a_gateway_that_resends_no_rule_settles() {
    let profile = ServerProfile {
        rules: vec![AnswerRule::on(404, INVALID).settles()],
        ..behind_a_gateway()
    };
    let judgement = got(404).on(profile).means(Q, IS_INVALID);
    assert_eq!(judgement.settles, Settles::Nothing);
}

/// GraphQL answers 200 with its errors inside.
#[test]
fn a_success_can_be_refused_by_what_is_inside() {
    let profile = || ServerProfile {
        rules: vec![
            AnswerRule::between(200, 299, INVALID).member("/errors", None),
            AnswerRule::between(200, 299, Held).member("/data/rejected/0", None),
        ],
        expected_member: Some("/data".to_owned()),
        ..locking()
    };
    let says = |body| got(200).saying(body).on(profile());
    says(br#"{"data":{"id":1}}"#).means(Y, RETRY);
    says(br#"{"data":{"id":1},"errors":[]}"#).means(Y, RETRY);
    says(br#"{"data":null,"errors":[{"message":"no"}]}"#).means(N, IS_INVALID);
    says(br#"{"data":{"rejected":["line 2"]}}"#).means(Q, UNKNOWN);
    says(br#"{"message":"welcome"}"#).means(Q, RETRY);
}

#[test]
fn a_fetch_by_a_rule_is_never_in_doubt() {
    for (verdict, then) in [(Held, REFUSED), (RetryInDoubt, RETRY), (Busy, RETRY)] {
        let fetch = Exchange {
            effect: Effect::Safe,
            ..under(AnswerRule::on(404, verdict), got(404))
        };
        fetch.means(N, then);
    }
}

#[test]
fn a_wrong_rule_is_refused() {
    let fine = || AnswerRule::between(100, 599, INVALID);
    assert_eq!(fine().check(), Ok(()));
    let settling = fine().header("x-a", None).member("", None).settles();
    assert_eq!(settling.check(), Ok(()));
    for (wrong, why) in [
        (AnswerRule::on(99, Applied), "statuses"),
        (AnswerRule::between(500, 600, Applied), "statuses"),
        (AnswerRule::between(500, 499, Applied), "statuses"),
        (fine().header("", None), "header"),
        (fine().header("x y", None), "header"),
        (fine().header("x-ü", None), "header"),
        (fine().member("error", None), "pointer"),
        (fine().member("/a~2", None), "pointer"),
        (AnswerRule::on(404, Busy).settles(), "all attempts"),
        (AnswerRule::on(404, Credentials).settles(), "all attempts"),
        (AnswerRule::on(404, Retry).settles(), "all attempts"),
        (AnswerRule::on(404, RetryInDoubt).settles(), "all attempts"),
        (AnswerRule::on(404, Waits).settles(), "all attempts"),
        (AnswerRule::on(404, Held).settles(), "all attempts"),
        (AnswerRule::on(404, Conflict).settles(), "all attempts"),
    ] {
        let problem = wrong.check().unwrap_err();
        assert!(problem.contains(why), "{wrong:?}: {problem}");
        assert_eq!(ruled(&[fine(), wrong]).check_rules(), Err(problem));
    }
}

#[test]
fn a_pointer_is_one_of_rfc_6901() {
    for pointer in ["", "/", "/a", "/a/0/b", "/a~0b~1c", "//"] {
        assert!(is_pointer(pointer), "{pointer}");
    }
    for other in ["a", "a/b", "/~", "/a~", "/~2", "/a~0~", "#/a"] {
        assert!(!is_pointer(other), "{other}");
    }
}

/// Rules are stored with every submission: their form is part of the file format.
#[test]
fn the_stored_form_of_a_rule_is_pinned() {
    let rule = AnswerRule::between(400, 409, INVALID)
        .header("x-code", Some("7"))
        .member("/error/code", None)
        .settles();
    let stored = r#"{"first_status":400,"last_status":409,"header":{"name":"x-code","value":"7"},"member":{"pointer":"/error/code","value":null},"verdict":{"refused":{"reason":"invalid"}},"settles":true}"#;
    assert_eq!(serde_json::to_string(&rule).unwrap(), stored);
    assert_eq!(serde_json::from_str::<AnswerRule>(stored).unwrap(), rule);
    let least = r#"{"first_status":409,"last_status":409,"verdict":"busy"}"#;
    let least: AnswerRule = serde_json::from_str(least).unwrap();
    assert_eq!(least, AnswerRule::on(409, Busy));
    for (verdict, word) in [
        (Applied, "applied"),
        (Credentials, "credentials"),
        (Retry, "retry"),
        (RetryInDoubt, "retry_in_doubt"),
        (Waits, "wait"),
        (Held, "held"),
        (Conflict, "conflict"),
    ] {
        assert_eq!(
            serde_json::to_string(&verdict).unwrap(),
            format!("\"{word}\"")
        );
    }
}
