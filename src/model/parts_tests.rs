//! Parts from parents' results: where they may go, what is taken, and that nothing else moves (P2).

use proptest::prelude::*;
use url::Url;

use super::id::SubmissionId;
use super::links::{PartSource, PartTarget};
use super::parts::{ParentResult, fill, find, read_spelled, spell};
use super::request::FrozenRequest;
use super::submission::{Effect, Header, Submission};
use crate::error::OutboxError;
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, ServerProfile};

const KEY: &str = "0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55";

fn parent() -> SubmissionId {
    SubmissionId::derived(None, "create", "A-17")
}

fn post(url: &str) -> Submission {
    Submission::post(SubmissionId::parse(KEY).unwrap(), url)
}

fn at(pointer: &str) -> PartSource {
    PartSource::JsonPointer {
        pointer: pointer.to_owned(),
    }
}

fn from_header(name: &str) -> PartSource {
    PartSource::Header {
        name: name.to_owned(),
    }
}

fn path(placeholder: &str) -> PartTarget {
    PartTarget::Path {
        placeholder: placeholder.to_owned(),
    }
}

fn query(name: &str) -> PartTarget {
    PartTarget::Query {
        name: name.to_owned(),
    }
}

fn header(name: &str) -> PartTarget {
    PartTarget::Header {
        name: name.to_owned(),
    }
}

fn json(pointer: &str) -> PartTarget {
    PartTarget::Json {
        pointer: pointer.to_owned(),
    }
}

fn freeze_with(
    place: Option<KeyPlace>,
    submission: Submission,
    into: &[PartTarget],
) -> Result<FrozenRequest, OutboxError> {
    let base = Url::parse("https://api.example.com/v2").unwrap();
    let mut profile = ServerProfile::standard();
    profile.key_place = place.unwrap_or(profile.key_place);
    let submission = into.iter().fold(submission, |submission, into| {
        submission.part(parent(), at("/id"), into.clone())
    });
    FrozenRequest::freeze(submission, None, Some(&base), &profile, &Limits::default())
}

fn freeze(submission: Submission, into: &[PartTarget]) -> FrozenRequest {
    freeze_with(None, submission, into).unwrap()
}

fn filled(template: &FrozenRequest, values: &[&str]) -> Result<FrozenRequest, &'static str> {
    let values: Vec<_> = values
        .iter()
        .map(|value| Some((*value).to_owned()))
        .collect();
    fill(template, &values, 1_000_000)
}

#[track_caller]
fn refused(submission: Submission, into: &[PartTarget]) -> String {
    match freeze_with(None, submission, into) {
        Err(OutboxError::Invalid { field, problem }) => {
            assert!(!problem.is_empty());
            field
        }
        other => panic!("not refused as invalid: {other:?}"),
    }
}

fn text(request: &FrozenRequest) -> &str {
    std::str::from_utf8(request.body.as_bytes().unwrap()).unwrap()
}

#[test]
fn each_value_goes_to_its_place_and_nothing_else_moves() {
    let submission = post("/orders/{order}/photos/{n}.jpg?size=1.0e2&q=a%20b")
        .json("{ \"size\" : 1.0e2,\t\"links\": {} }")
        .header("X-App", "7");
    let into = [
        path("{order}"),
        path("{n}"),
        query("of order"),
        header("If-Match"),
        json("/links/order"),
        json("/n"),
    ];
    let template = freeze(submission, &into);
    assert_eq!(
        template.url,
        "https://api.example.com/v2/orders/%7Border%7D/photos/%7Bn%7D.jpg?size=1.0e2&q=a%20b"
    );
    let values = [
        r#""A/17 ü""#,
        "-1.50e+2",
        r#""a&b=c""#,
        r#""\"v1\"""#,
        r#"{"id" : 1.0e2, "x":[ ]}"#,
        "12345678901234567890.10",
    ];
    let whole = filled(&template, &values).unwrap();
    assert_eq!(
        whole.url,
        "https://api.example.com/v2/orders/A%2F17%20%C3%BC/photos/-1.50e%2B2.jpg\
         ?size=1.0e2&q=a%20b&of%20order=a%26b%3Dc"
    );
    assert_eq!(
        text(&whole),
        "{\"n\":12345678901234567890.10, \"size\" : 1.0e2,\t\"links\": \
         {\"order\":{\"id\" : 1.0e2, \"x\":[ ]}} }"
    );
    let headers: Vec<_> = whole
        .headers
        .iter()
        .map(|it| (&*it.name, &*it.value))
        .collect();
    assert_eq!(headers, [("x-app", "7"), ("if-match", "\"v1\"")]);
    assert_eq!(
        whole.body_digest,
        super::fingerprint::digest(text(&whole).as_bytes())
    );
    // The key, and what the submission is, are those of the template.
    assert_eq!(whole.wire_key, template.wire_key);
    assert_eq!(whole.fingerprint, template.fingerprint);
    assert_eq!(whole.origin, template.origin);
}

#[test]
fn keys_in_every_place_leave_room_for_parts() {
    for (place, url, body) in [
        (
            KeyPlace::Path {
                placeholder: "{key}".to_owned(),
            },
            "https://api.example.com/v2/orders/7/lines/KEY?a=7",
            r#"{"o":7,"a":1}"#,
        ),
        (
            KeyPlace::Query {
                name: "key".to_owned(),
            },
            "https://api.example.com/v2/orders/7/lines/%7Bkey%7D?key=KEY&a=7",
            r#"{"o":7,"a":1}"#,
        ),
        (
            KeyPlace::JsonPointer {
                pointer: "/key".to_owned(),
            },
            "https://api.example.com/v2/orders/7/lines/%7Bkey%7D?a=7",
            r#"{"o":7,"key":"KEY","a":1}"#,
        ),
    ] {
        let submission = post("/orders/{order}/lines/{key}").json(r#"{"a":1}"#);
        let into = [path("{order}"), query("a"), json("/o")];
        let template = freeze_with(Some(place), submission, &into).unwrap();
        let whole = filled(&template, &["7", "7", "7"]).unwrap();
        assert_eq!(whole.url, url.replace("KEY", KEY));
        assert_eq!(text(&whole), body.replace("KEY", KEY));
    }
}

#[test]
fn the_places_of_the_key_are_taken() {
    let key = |place, into| freeze_with(Some(place), post("/o/{key}").json("{}"), &[into]);
    let name = || "key".to_owned();
    for (place, into) in [
        (KeyPlace::Header { name: name() }, header("Key")),
        (KeyPlace::Query { name: name() }, query("key")),
        (
            KeyPlace::JsonPointer {
                pointer: "/key".to_owned(),
            },
            json("/key"),
        ),
        (
            KeyPlace::Path {
                placeholder: "{key}".to_owned(),
            },
            path("{key}"),
        ),
    ] {
        let refused = key(place, into);
        assert!(
            matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "parts[0].into"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_place_that_is_not_there_or_is_taken_is_refused() {
    for (url, into) in [
        ("/orders", path("{id}")),
        ("/orders/{id}/{id}", path("{id}")),
        ("/orders?id={id}", path("{id}")),
        ("/orders#{id}", path("{id}")),
        ("/orders/{id}/../all", path("{id}")),
        ("/orders/id", path("id")),
        ("/orders/{}", path("{}")),
        ("/orders/{a,b}", path("{a,b}")),
        ("/orders?id=1", query("id")),
        ("/orders?%69d", query("id")),
        ("/orders", query("")),
        ("/orders", header("x-app")),
        ("/orders", header("X-App")),
        ("/orders", header("Authorization")),
        ("/orders", header("content-type")),
        ("/orders", header("Idempotency-Key")),
        ("/orders", header("not a name")),
        ("/orders", json("/a")),
        ("/orders", json("/missing/id")),
        ("/orders", json("/list/0")),
        ("/orders", json("/twice/id")),
        ("/orders", json("id")),
        ("/orders", json("")),
    ] {
        let submission = post(url)
            .json(r#"{"a":null,"list":[1],"twice":{},"twice":{}}"#)
            .header("X-App", "1");
        assert_eq!(
            refused(submission, std::slice::from_ref(&into)),
            "parts[0].into",
            "{url} {into:?}"
        );
    }
    let unlike = [json("/a"), json("/a/b")];
    assert_eq!(
        refused(post("/orders").json("{}"), &unlike),
        "parts[1].into"
    );
    let twice = [header("If-Match"), header("if-match")];
    assert_eq!(refused(post("/orders"), &twice), "parts[1].into");
    assert_eq!(refused(post("/orders"), &[json("/a")]), "parts[0].into");
    let text = post("/orders").bytes("text/plain", "{}");
    assert_eq!(refused(text, &[json("/a")]), "parts[0].into");
    let large = post("/orders").json(format!("{{\"a\":\"{}\"}}", "x".repeat(300_000)));
    assert_eq!(refused(large, &[json("/b")]), "parts[0].into");
    let file = post("/orders").file("application/json", "/order.json");
    let whole = super::body::FileContent::Whole(b"{}".to_vec());
    let refused = FrozenRequest::freeze(
        file.part(parent(), at("/id"), json("/b")),
        Some(whole),
        Some(&Url::parse("https://api.example.com").unwrap()),
        &ServerProfile::standard(),
        &Limits::default(),
    );
    assert!(matches!(refused, Err(OutboxError::Invalid { field, .. }) if field == "parts[0].into"));
}

#[test]
fn a_source_that_no_result_has_is_refused() {
    for from in [
        at("id"),
        at("/~2"),
        from_header("Set-Cookie"),
        from_header("Date"),
    ] {
        let submission = post("/orders").part(parent(), from.clone(), query("id"));
        assert_eq!(refused(submission, &[]), "parts[0].from", "{from:?}");
    }
}

fn result(content_type: Option<&str>, body: &str) -> ParentResult {
    ParentResult {
        content_type: content_type.map(str::to_owned),
        headers: [("location", "/orders/17"), ("link", "a"), ("link", "b")]
            .map(|(name, value)| Header {
                name: name.to_owned(),
                value: value.to_owned(),
            })
            .into(),
        body: Some(body.as_bytes().to_vec()),
    }
}

#[test]
fn a_value_is_taken_as_it_is_written() {
    let body =
        "{\"id\" : 1.50e+2 , \"a\":[{},{\"~/\":\"\\u00fc\"}], \"o\":{ \"x\" : 1 }, \"f\":false}";
    for content_type in [
        None,
        Some("application/json; charset=utf-8"),
        Some("a/hal+JSON"),
    ] {
        let result = result(content_type, body);
        for (pointer, value) in [
            ("/id", "1.50e+2"),
            ("/a/1/~0~1", "\"\\u00fc\""),
            ("/o", "{ \"x\" : 1 }"),
            ("/f", "false"),
            ("", body),
        ] {
            assert_eq!(
                find(&at(pointer), &result).as_deref(),
                Ok(value),
                "{pointer}"
            );
        }
    }
    let created = result(Some("text/html"), "");
    assert_eq!(
        find(&from_header("location"), &created).as_deref(),
        Ok("\"/orders/17\"")
    );
}

#[test]
fn what_a_result_lacks_is_not_made_up() {
    let body = r#"{"id":null,"a":[],"twice":1,"twice":2}"#;
    for pointer in ["/id", "/ID", "/a/0", "/a/-", "/id/x", "/twice"] {
        assert!(
            find(&at(pointer), &result(None, body)).is_err(),
            "{pointer}"
        );
    }
    assert!(find(&at("/id"), &result(Some("text/html"), r#"{"id":1}"#)).is_err());
    assert!(find(&at("/id"), &result(None, "<html>")).is_err());
    assert!(find(&at("/id"), &result(None, "")).is_err());
    assert!(find(&at("/id"), &ParentResult::default()).is_err());
    assert!(find(&from_header("etag"), &result(None, body)).is_err());
    assert!(find(&from_header("link"), &result(None, body)).is_err());
}

#[test]
fn what_cannot_go_to_its_place_is_refused() {
    for (into, value) in [
        (path("{id}"), r#""..""#),
        (path("{id}"), r#"".""#),
        (path("{id}"), r#""""#),
        (path("{id}"), "true"),
        (path("{id}"), "null"),
        (path("{id}"), "[1]"),
        (path("{id}"), r#""\ud800""#),
        (path("{dot}"), r#"".""#),
        (query("id"), r#""""#),
        (query("id"), "{}"),
        (header("if-match"), r#""a\r\nx: y""#),
        (header("if-match"), r#""\u0000""#),
        (header("if-match"), r#""ü""#),
        (header("if-match"), r#"" a""#),
    ] {
        let template = freeze(post("/o/{id}/x/.{dot}"), std::slice::from_ref(&into));
        assert!(filled(&template, &[value]).is_err(), "{into:?} {value}");
    }
    // Two that make dots together.
    let template = freeze(post("/o/{a}{b}"), &[path("{a}"), path("{b}")]);
    assert!(filled(&template, &[r#"".""#, r#""a""#]).is_ok());
    assert!(filled(&template, &[r#"".""#, r#"".""#]).is_err());
    let template = freeze(post("/o/%2E{a}"), &[path("{a}")]);
    assert!(filled(&template, &[r#"".""#]).is_err());
}

#[test]
fn the_limits_of_a_request_hold_after_parts_too() {
    let long = |bytes| format!("\"{}\"", "x".repeat(bytes));
    let template = freeze(
        post("/o/{id}").json("{}"),
        &[path("{id}"), query("q"), header("x-a"), json("/a")],
    );
    assert!(filled(&template, &[&long(8_100), "1", "1", "1"]).is_ok());
    assert!(filled(&template, &[&long(8_200), "1", "1", "1"]).is_err());
    assert!(filled(&template, &["1", &long(8_200), "1", "1"]).is_err());
    assert!(filled(&template, &["1", "1", &long(16_300), "1"]).is_ok());
    assert!(filled(&template, &["1", "1", &long(16_400), "1"]).is_err());
    let values = [None, None, None, Some(long(100))];
    assert!(fill(&template, &values, 200).is_ok());
    assert!(fill(&template, &values, 50).is_err());
}

#[test]
fn parts_are_identity_and_are_stored_in_one_form() {
    let one = freeze(post("/orders"), &[header("If-Match")]);
    let same = freeze(post("/orders"), &[header("if-match")]);
    let other = freeze(post("/orders"), &[header("if-none-match")]);
    let none = freeze(post("/orders"), &[]);
    assert_eq!(one.fingerprint, same.fingerprint);
    assert_ne!(one.fingerprint, other.fingerprint);
    assert_ne!(one.fingerprint, none.fingerprint);
    assert_ne!(
        one.checksum(&one.body_digest),
        none.checksum(&none.body_digest)
    );
    let spelled = spell(&one.links.parts).unwrap();
    let id = parent();
    assert_eq!(
        spelled,
        format!(
            r#"[{{"parent":"{id}","from":{{"json_pointer":{{"pointer":"/id"}}}},"into":{{"header":{{"name":"if-match"}}}}}}]"#
        )
    );
    assert_eq!(read_spelled(&spelled), Some(one.links.parts));
    assert_eq!(spell(&[]), None);
}

#[test]
fn safe_methods_take_parts_too() {
    let get = Submission::new(SubmissionId::parse(KEY).unwrap(), "GET", "/orders/{id}");
    let template = freeze(get, &[path("{id}")]);
    assert_eq!(template.effect, Effect::Safe);
    assert_eq!(
        filled(&template, &["7"]).unwrap().url,
        "https://api.example.com/v2/orders/7"
    );
}

proptest! {
    /// Whatever a server answers: the same host, the same number of segments, and the value as it is.
    #[test]
    fn no_value_changes_where_a_request_goes(
        value in prop_oneof![any::<String>(), "[./\\\\%{}2eEabB7D?#@:]{0,12}"],
        other in "[./%{}ab7BD]{1,6}",
    ) {
        let template = freeze(
            post("/o/{a}/x/{b}?q=1").json("{}"),
            &[path("{a}"), path("{b}"), query("r"), json("/v")],
        );
        let value_json = serde_json::Value::from(value.clone()).to_string();
        let other_json = serde_json::Value::from(other.clone()).to_string();
        let values = [&*value_json, &*other_json, &*value_json, &*value_json];
        let Ok(whole) = filled(&template, &values) else {
            let dots = |text: &str| matches!(text, "" | "." | "..");
            prop_assert!(dots(&value) || dots(&other), "{value:?} {other:?}");
            return Ok(());
        };
        let url = Url::parse(&whole.url).unwrap();
        prop_assert_eq!(url.as_str(), &whole.url);
        prop_assert_eq!(url.origin().ascii_serialization(), template.origin);
        let segments: Vec<_> = url.path_segments().unwrap().collect();
        prop_assert_eq!(segments.len(), 5);
        let decoded = |text: &str| {
            let pair = format!("v={text}");
            url::form_urlencoded::parse(pair.as_bytes()).next().unwrap().1.into_owned()
        };
        prop_assert_eq!(decoded(segments[2]), &*value);
        prop_assert_eq!(decoded(segments[4]), &*other);
        let parameters: Vec<_> = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        prop_assert_eq!(&parameters, &[("q".to_owned(), "1".to_owned()), ("r".to_owned(), value.clone())]);
        let body: serde_json::Value = serde_json::from_str(text(&whole)).unwrap();
        prop_assert_eq!(body, serde_json::json!({ "v": value }));
    }
}
