//! Keys in the body, the query and the path: where they go, and that nothing else moves (P2).

use proptest::prelude::*;
use serde_json::Value;
use url::Url;

use super::id::SubmissionId;
use super::key_place::{check, into_json};
use super::request::FrozenRequest;
use super::submission::{Effect, Submission};
use crate::error::OutboxError;
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, ServerProfile};

const KEY: &str = "0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55";

fn post(url: &str) -> Submission {
    Submission::post(SubmissionId::parse(KEY).unwrap(), url)
}

fn pointer(pointer: &str) -> KeyPlace {
    KeyPlace::JsonPointer {
        pointer: pointer.to_owned(),
    }
}

fn query(name: &str) -> KeyPlace {
    KeyPlace::Query {
        name: name.to_owned(),
    }
}

fn path(placeholder: &str) -> KeyPlace {
    KeyPlace::Path {
        placeholder: placeholder.to_owned(),
    }
}

fn freeze(place: KeyPlace, submission: Submission) -> Result<FrozenRequest, OutboxError> {
    let base = Url::parse("https://api.example.com/v2").unwrap();
    let profile = ServerProfile {
        key_place: place,
        ..ServerProfile::standard()
    };
    FrozenRequest::freeze(submission, None, Some(&base), &profile, &Limits::default())
}

#[track_caller]
fn refused(place: KeyPlace, submission: Submission) -> String {
    match freeze(place, submission) {
        Err(OutboxError::Invalid { field, problem }) => {
            assert!(!problem.is_empty());
            field
        }
        other => panic!("not refused as invalid: {other:?}"),
    }
}

#[test]
fn in_json_the_key_comes_first_in_its_object_and_nothing_else_moves() {
    for (pointer, before, after) in [
        ("/key", "{}", r#"{"key":"KEY"}"#),
        ("/key", " { } ", r#" {"key":"KEY" } "#),
        ("/key", r#"{"a":1.0e2}"#, r#"{"key":"KEY","a":1.0e2}"#),
        (
            "/key",
            "\n{ \"a\" : [1, 2],\t\"a\":null}",
            "\n{\"key\":\"KEY\", \"a\" : [1, 2],\t\"a\":null}",
        ),
        (
            "/meta/key",
            r#"{"key":1,"meta":{"a":{}}}"#,
            r#"{"key":1,"meta":{"key":"KEY","a":{}}}"#,
        ),
        (
            "/a/1/key",
            r#"{"a":[{},{}]}"#,
            r#"{"a":[{},{"key":"KEY"}]}"#,
        ),
        ("/0/key", "[{}]", r#"[{"key":"KEY"}]"#),
        ("/a~1b/~0k", r#"{"a\/b":{}}"#, r#"{"a\/b":{"~k":"KEY"}}"#),
        ("//", r#"{"":{}}"#, r#"{"":{"":"KEY"}}"#),
        ("/grün \"x\"", "{}", r#"{"grün \"x\"":"KEY"}"#),
        (
            "/🛒/k",
            "{\"\\ud83d\\uded2\":{}}",
            "{\"\\ud83d\\uded2\":{\"k\":\"KEY\"}}",
        ),
    ] {
        let after = after.replace("KEY", KEY);
        let request = freeze(self::pointer(pointer), post("/orders").json(before)).unwrap();
        assert_eq!(request.body.as_bytes(), Some(after.as_bytes()), "{pointer}");
        assert_eq!(request.url, "https://api.example.com/v2/orders");
        // Submitted again with the key in it, it is the same.
        let again = freeze(self::pointer(pointer), post("/orders").json(after)).unwrap();
        assert!(again.body == request.body);
        assert_eq!(again.fingerprint, request.fingerprint);
    }
}

#[test]
fn in_json_a_place_that_is_not_there_or_is_taken_is_refused() {
    for (place, body) in [
        ("/a/key", "{}"),
        ("/a/key", r#"{"a":1}"#),
        ("/a/key", r#"{"a":[]}"#),
        ("/a/0/key", r#"{"a":[]}"#),
        ("/a/00/key", r#"{"a":[{}]}"#),
        ("/a/-/key", r#"{"a":[{}]}"#),
        ("/a/+0/key", r#"{"a":[{}]}"#),
        ("/a//key", r#"{"a":[{}]}"#),
        ("/0", "[]"),
        ("/key", "null"),
        ("/key", "\"text\""),
        ("/key", r#"{"key":"other"}"#),
        ("/key", r#"{"key":null}"#),
        ("/key", r#"{"\u006bey":"other"}"#),
        ("/a/key", r#"{"a":{},"a":{}}"#),
    ] {
        let field = refused(pointer(place), post("/orders").json(body));
        assert_eq!(field, "body", "{place} {body}");
    }
    let twice = format!(r#"{{"key":"{KEY}","key":"{KEY}"}}"#);
    assert_eq!(
        refused(pointer("/key"), post("/orders").json(twice)),
        "body"
    );
}

#[test]
fn a_body_that_is_not_json_takes_no_key() {
    let place = || pointer("/key");
    assert_eq!(refused(place(), post("/orders")), "body");
    for content_type in ["text/plain", "application/jsonx", "application/json-seq"] {
        let submission = post("/orders").bytes(content_type, b"{}".as_slice());
        assert_eq!(refused(place(), submission), "body", "{content_type}");
    }
    for bytes in [b"".as_slice(), b"{", b"\xef\xbb\xbf{}", b"{}\xff"] {
        let submission = post("/orders").bytes("application/vnd.api+json", bytes);
        assert_eq!(refused(place(), submission), "body", "{bytes:?}");
    }
    for content_type in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/merge-patch+json",
    ] {
        let submission = post("/orders").bytes(content_type, b"{}".as_slice());
        let body = freeze(place(), submission).unwrap().body;
        let after = format!(r#"{{"key":"{KEY}"}}"#);
        assert_eq!(body.as_bytes(), Some(after.as_bytes()));
    }
}

/// The limit is on what is sent.
#[test]
fn the_key_counts_for_the_size_of_the_body() {
    let limits = Limits {
        max_body_bytes: 50,
        ..Limits::default()
    };
    let profile = ServerProfile {
        key_place: pointer("/key"),
        ..ServerProfile::standard()
    };
    let freeze = |body: &str| {
        let submission = post("https://api.example.com/").json(body);
        FrozenRequest::freeze(submission, None, None, &profile, &limits)
    };
    assert!(freeze("{}").is_ok());
    let refused = freeze(r#"{"a":1}"#);
    let too_large = OutboxError::BodyTooLarge {
        bytes: 52,
        most: 50,
    };
    assert_eq!(refused, Err(too_large));
}

#[test]
fn in_the_query_the_key_comes_last() {
    for (name, url, after) in [
        ("key", "/orders", "/orders?key=KEY"),
        ("key", "/orders?", "/orders?key=KEY"),
        ("key", "/orders?a=%2f+b&&", "/orders?a=%2f+b&&&key=KEY"),
        (
            "key",
            "/orders?keys=1&Key=2#there",
            "/orders?keys=1&Key=2&key=KEY",
        ),
        ("a b&c", "/orders", "/orders?a%20b%26c=KEY"),
        ("schlüssel", "/orders", "/orders?schl%C3%BCssel=KEY"),
    ] {
        let request = freeze(query(name), post(url).json("{}")).unwrap();
        let after = format!("https://api.example.com/v2{}", after.replace("KEY", KEY));
        assert_eq!(request.url, after);
        assert_eq!(request.body.as_bytes(), Some(b"{}".as_slice()));
    }
    for (name, url) in [
        ("key", format!("/orders?key={KEY}")),
        ("key", "/orders?a=1&k%65y".to_owned()),
        ("a b", "/orders?a+b=".to_owned()),
        ("key", format!("/{}", "a".repeat(8_160))),
    ] {
        assert_eq!(refused(query(name), post(&url)), "url", "{url}");
    }
}

#[test]
fn in_the_path_the_key_takes_the_placeholder() {
    for (placeholder, url, after) in [
        (
            "{key}",
            "/orders/{key}",
            "https://api.example.com/v2/orders/KEY",
        ),
        (
            ":key",
            "/orders/:key/pay?a=1#b",
            "https://api.example.com/v2/orders/KEY/pay?a=1",
        ),
        (
            "{key}",
            "https://other.example/{key}",
            "https://other.example/KEY",
        ),
        (
            "%7Bkey%7D",
            "/a-%7Bkey%7D-b",
            "https://api.example.com/v2/a-KEY-b",
        ),
    ] {
        let request = freeze(path(placeholder), post(url)).unwrap();
        assert_eq!(request.url, after.replace("KEY", KEY));
    }
    for (placeholder, url) in [
        ("{key}", "/orders"),
        ("{key}", "/{key}/{key}"),
        ("{key}", "/orders?id={key}"),
        ("{key}", "/orders#{key}"),
        ("{key}", "/{key}?id={key}"),
        ("key", "https://key.example/orders"),
        ("https", "https://api.example.com/orders"),
        ("key", "https://api.example.com?key"),
        ("aa", "/aaa"),
    ] {
        assert_eq!(refused(path(placeholder), post(url)), "url", "{url}");
    }
}

/// A key belongs to an action that the server recognises by it. A placeholder can't be sent.
#[test]
fn without_a_keyed_effect_only_a_placeholder_is_replaced() {
    let get = |url: &str| Submission::new(SubmissionId::parse(KEY).unwrap(), "GET", url);
    let request = freeze(query("key"), get("/orders?key=mine")).unwrap();
    assert_eq!(request.url, "https://api.example.com/v2/orders?key=mine");
    assert!(
        freeze(pointer("/key"), get("/orders"))
            .unwrap()
            .body
            .length()
            == 0
    );
    assert!(freeze(path("{key}"), get("/orders")).is_ok());
    let put = post("/orders/{key}").effect(Effect::Overwrite);
    let request = freeze(path("{key}"), put).unwrap();
    assert!(request.url.ends_with(KEY));
    let twice = get("/{key}/{key}");
    assert_eq!(refused(path("{key}"), twice), "url");
}

/// The place is part of what a submission is.
#[test]
fn the_same_request_with_the_key_elsewhere_is_another() {
    let body = format!(r#"{{"key":"{KEY}"}}"#);
    let order = || post("/orders").json(body.as_str());
    let in_body = freeze(pointer("/key"), order()).unwrap();
    let in_header = freeze(ServerProfile::standard().key_place, order()).unwrap();
    assert!(in_body.body == in_header.body);
    assert_ne!(in_body.fingerprint, in_header.fingerprint);
}

#[test]
fn places_that_no_request_can_have_are_refused() {
    let long = "x".repeat(1_025);
    for place in ["", "key", "/a~", "/~2", "/a\n", &format!("/{long}")] {
        assert!(check(&pointer(place)).is_err(), "{place:?}");
    }
    for place in ["/key", "/", "/a~0~1/b", "/0/-"] {
        assert_eq!(check(&pointer(place)), Ok(()), "{place:?}");
    }
    for name in ["", "a\0", &long] {
        assert!(check(&query(name)).is_err(), "{name:?}");
    }
    assert_eq!(check(&query("request id")), Ok(()));
    for placeholder in ["", "a/b", "?", "#k", "a b", "\\", "\r", &long] {
        assert!(check(&path(placeholder)).is_err(), "{placeholder:?}");
    }
    assert_eq!(check(&path("{key}")), Ok(()));
}

/// Writes a value with white space wherever there may be some.
fn write(value: &Value, spaces: &mut impl Iterator<Item = &'static str>, out: &mut String) {
    let mut space = |out: &mut String| out.push_str(spaces.next().unwrap_or_default());
    space(out);
    match value {
        Value::Array(elements) => {
            out.push('[');
            for (n, element) in elements.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(element, spaces, out);
            }
            if elements.is_empty() {
                out.push_str(spaces.next().unwrap_or_default());
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (n, (name, member)) in members.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(spaces.next().unwrap_or_default());
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(spaces.next().unwrap_or_default());
                out.push(':');
                write(member, spaces, out);
            }
            out.push_str(spaces.next().unwrap_or_default());
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
    out.push_str(spaces.next().unwrap_or_default());
}

/// Pointers to all objects in a value.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                objects(member, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(elements) => {
            for (n, element) in elements.iter().enumerate() {
                objects(element, &format!("{at}/{n}"), found);
            }
        }
        _ => {}
    }
}

fn values() -> impl Strategy<Value = Value> {
    let text = "[a-c/~\"\\\\{}\\[\\],: üß🛒\n]{0,4}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let any = leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    });
    // An object at the top, so that there is one.
    prop::collection::btree_map(text, any, 0..4).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Read again, it is the value with one member more; without the inserted text, it is the text.
    #[test]
    fn one_member_is_inserted_and_nothing_else_changes(
        value in values(),
        spaces in prop::collection::vec(prop::sample::select(vec!["", "", " ", "\n\t", "\r\n  "]), 1..9),
        which in any::<prop::sample::Index>(),
        name in "[k-m][k-m/~\"\\\\{ü]{0,3}",
    ) {
        let mut text = String::new();
        write(&value, &mut spaces.iter().copied().cycle(), &mut text);
        let mut parents = Vec::new();
        objects(&value, "", &mut parents);
        let parent = &parents[which.index(parents.len())];
        let pointer = format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"));
        let after = into_json(&text, &pointer, KEY).unwrap().unwrap();

        let mut expected: Value = serde_json::from_str(&text).unwrap();
        let object = expected.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let was_empty = object.is_empty();
        prop_assert!(object.insert(name.clone(), Value::from(KEY)).is_none());
        prop_assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), expected);

        let comma = if was_empty { "" } else { "," };
        let inserted = format!("{}:\"{KEY}\"{comma}", Value::from(name));
        let same = text.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let taken_out = (0..=same).rev().any(|at| {
            after.get(at..).is_some_and(|rest| rest.starts_with(&inserted))
                && format!("{}{}", &after[..at], &after[at + inserted.len()..]) == text
        });
        prop_assert!(taken_out, "{text} became {after}");

        prop_assert_eq!(into_json(&after, &pointer, KEY), Ok(None));
    }
}
