//! Profiles as JSON: what is read, what is refused, and that nothing is lost.

use std::time::Duration;

use proptest::prelude::*;

use super::built_in::{BuiltInProfile, built_in_profile, profile_from_json};
use super::profile::{KeyPlace, KeyScope, KeySpelling, ReplayedErrors, ServerProfile};
use super::rules::{AnswerRule, RuleVerdict};
use crate::OutboxError;
use crate::model::state::RejectReason;
use crate::model::submission::Effect;

fn problem(text: &str) -> String {
    match profile_from_json(text) {
        Err(OutboxError::Invalid { field, problem }) => {
            assert_eq!(field, "profile");
            problem
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn what_is_left_out_is_as_in_the_standard_profile() {
    assert_eq!(profile_from_json("{}"), Ok(ServerProfile::standard()));
    let text = r#"{"name":"orders","key_place":{"header":{"name":"X-Key"}},"key_spelling":"sf-string",
        "effect":"none","retention":null,"quiet_time":1500,"locks":true,"key_scope":"token",
        "errors_are_replayed":"client_errors","expected_member":"/data","replay_markers":["X-Seen"],
        "rules":[{"first_status":409,"last_status":409,"verdict":"applied",
            "member":{"pointer":"/code","value":"done"}}]}"#;
    let expected = ServerProfile {
        name: "orders".to_owned(),
        key_place: KeyPlace::Header {
            name: "X-Key".to_owned(),
        },
        key_spelling: KeySpelling::SfString,
        effect: Effect::Safe,
        retention: None,
        quiet_time: Duration::from_millis(1_500),
        locks: true,
        key_scope: KeyScope::Token,
        errors_are_replayed: ReplayedErrors::ClientErrors,
        expected_member: Some("/data".to_owned()),
        replay_markers: vec!["X-Seen".to_owned()],
        rules: vec![AnswerRule::on(409, RuleVerdict::Applied).member("/code", Some("done"))],
        ..ServerProfile::standard()
    };
    assert_eq!(profile_from_json(text), Ok(expected));
}

/// A misspelled condition would make a rule fit every answer.
#[test]
fn a_misspelled_field_is_refused_wherever_it_is() {
    let rule = |inside: &str| {
        format!(
            r#"{{"rules":[{{"first_status":409,"last_status":409,"verdict":"busy"}},
            {{"first_status":400,"last_status":400,{inside}}}]}}"#
        )
    };
    for (text, name) in [
        (r#"{"quiet_tme":1}"#.to_owned(), "quiet_tme"),
        (r#"{"name":"a","Locks":true}"#.to_owned(), "Locks"),
        (
            rule(r#""verdict":"applied","membr":{"pointer":"/a"}"#),
            "membr",
        ),
        (
            rule(r#""verdict":"applied","member":{"pointer":"/a","valu":"x"}"#),
            "valu",
        ),
        (
            rule(r#""verdict":"applied","header":{"name":"a","is":"x"}"#),
            "is",
        ),
        (
            rule(r#""verdict":{"refused":{"reason":"invalid","why":1}}"#),
            "why",
        ),
        (
            r#"{"key_place":{"header":{"name":"a","nme":"b"}}}"#.to_owned(),
            "nme",
        ),
    ] {
        assert!(problem(&text).contains(&format!("{name:?}")), "{text}");
    }
}

#[test]
fn what_cannot_be_read_or_makes_no_sense_is_refused() {
    for text in [
        "",
        "{",
        "null",
        "[]",
        "7",
        r#"["orders"]"#,
        r#"{"quiet_time":-1}"#,
        r#"{"quiet_time":"1s"}"#,
        r#"{"retention":1.5}"#,
        r#"{"effect":"sometimes"}"#,
        r#"{"key_place":"somewhere"}"#,
        r#"{"name":"a","name":"b"}"#,
        r#"{"rules":[{"first_status":409,"verdict":"busy"}]}"#,
        r#"{"rules":[{"first_status":409,"last_status":409,"verdict":"bussy"}]}"#,
        r#"{"rules":[{"first_status":409,"last_status":408,"verdict":"busy"}]}"#,
        r#"{"rules":[{"first_status":409,"last_status":409,"verdict":"busy","settles":true}]}"#,
        r#"{"expected_member":"data"}"#,
        r#"{"replay_markers":[""]}"#,
    ] {
        assert!(!problem(text).is_empty(), "{text}");
    }
}

#[test]
fn the_built_in_ones_are_read_back_as_they_are() {
    for which in BuiltInProfile::ALL {
        let profile = built_in_profile(which);
        assert_eq!(profile_from_json(&profile.to_json()), Ok(profile));
    }
}

fn token() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9-]{0,12}"
}

fn pointer() -> impl Strategy<Value = String> {
    "(/([a-z \"é]|~0|~1){0,3}){0,3}"
}

fn millis() -> impl Strategy<Value = Duration> {
    (0..=i64::MAX as u64).prop_map(Duration::from_millis)
}

fn verdict() -> impl Strategy<Value = RuleVerdict> {
    prop::sample::select(vec![
        RuleVerdict::Applied,
        RuleVerdict::Credentials,
        RuleVerdict::Busy,
        RuleVerdict::Retry,
        RuleVerdict::RetryInDoubt,
        RuleVerdict::Wait,
        RuleVerdict::Held,
        RuleVerdict::Conflict,
        RuleVerdict::Refused {
            reason: RejectReason::Configuration,
        },
        RuleVerdict::Refused {
            reason: RejectReason::KeyReused,
        },
    ])
}

pub fn rule() -> impl Strategy<Value = AnswerRule> {
    let value = || prop::option::of("\\PC{0,8}");
    (
        (100..=599_u16, 0..=499_u16),
        prop::option::of((token(), value())),
        prop::option::of((pointer(), value())),
        verdict(),
        any::<bool>(),
    )
        .prop_map(|((first, more), header, member, verdict, settles)| {
            let mut rule = AnswerRule::between(first, first.saturating_add(more).min(599), verdict);
            if let Some((name, value)) = header {
                rule = rule.header(&name, value.as_deref());
            }
            if let Some((pointer, value)) = member {
                rule = rule.member(&pointer, value.as_deref());
            }
            rule.settles =
                settles && matches!(verdict, RuleVerdict::Applied | RuleVerdict::Refused { .. });
            rule
        })
}

fn key_place() -> impl Strategy<Value = KeyPlace> {
    prop_oneof![
        token().prop_map(|name| KeyPlace::Header { name }),
        pointer().prop_map(|pointer| KeyPlace::JsonPointer { pointer }),
        "\\PC{0,8}".prop_map(|name| KeyPlace::Query { name }),
        "\\PC{0,8}".prop_map(|placeholder| KeyPlace::Path { placeholder }),
        Just(KeyPlace::Nowhere),
    ]
}

/// Any profile that the checks let through.
pub fn profile() -> impl Strategy<Value = ServerProfile> {
    use Effect::{Keyed, Overwrite, Safe, Unkeyed};
    let effects = vec![Safe, Overwrite, Keyed, Unkeyed];
    let scopes = vec![KeyScope::Token, KeyScope::Account, KeyScope::Device];
    let replayed = vec![
        ReplayedErrors::Nothing,
        ReplayedErrors::ClientErrors,
        ReplayedErrors::All,
    ];
    (
        ("\\PC{0,12}", key_place(), any::<[bool; 6]>()),
        prop::sample::select(effects),
        prop::option::of(millis()),
        millis(),
        prop::sample::select(scopes),
        prop::sample::select(replayed),
        prop::collection::vec(rule(), 0..4),
        prop::collection::vec("[a-z]{1,5}/[a-z+]{1,5}", 0..3),
        prop::option::of(pointer()),
        prop::collection::vec(token(), 0..3),
    )
        .prop_map(
            |(
                (
                    name,
                    key_place,
                    [
                        quoted,
                        locks,
                        aborts_handlers,
                        gateway_may_resend,
                        replays,
                        latest_wins,
                    ],
                ),
                effect,
                retention,
                quiet_time,
                key_scope,
                errors_are_replayed,
                rules,
                expected_content_types,
                expected_member,
                replay_markers,
            )| ServerProfile {
                name,
                key_place,
                key_spelling: if quoted {
                    KeySpelling::SfString
                } else {
                    KeySpelling::Raw
                },
                effect,
                retention,
                quiet_time,
                locks,
                aborts_handlers,
                gateway_may_resend,
                latest_wins,
                key_scope,
                replays_success: replays,
                errors_are_replayed,
                rules,
                expected_content_types,
                expected_member,
                replay_markers,
            },
        )
}

proptest! {
    #[test]
    fn any_profile_is_read_back_as_it_was(profile in profile()) {
        prop_assert_eq!(profile.check_rules(), Ok(()));
        prop_assert_eq!(profile_from_json(&profile.to_json()), Ok(profile));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        drop(profile_from_json(&text));
        drop(profile_from_json(&String::from_utf8_lossy(&bytes)));
    }
}
