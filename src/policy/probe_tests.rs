use url::Url;

use super::{FrozenProbe, StatusProbe, Told, judge};
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::submission::Header;
use crate::policy::answer::Answer;
use crate::policy::profile::ServerProfile;

const ID: &str = "0190a1b2-c3d4-7e5f-8a6b-1c2d3e4f5a6b";

fn freeze(probe: StatusProbe) -> Result<FrozenProbe, OutboxError> {
    let base = Url::parse("https://api.example.com/v2").unwrap();
    let id = SubmissionId::parse(ID).unwrap();
    FrozenProbe::freeze(probe, id, &base.origin(), Some(&base))
}

fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

struct Case {
    probe: StatusProbe,
    profile: ServerProfile,
    status: u16,
    content_type: Option<&'static str>,
    body: &'static str,
    complete: bool,
}

/// A 200 in JSON.
fn case() -> Case {
    Case {
        probe: StatusProbe::at("/x"),
        profile: ServerProfile::default(),
        status: 200,
        content_type: Some("application/json"),
        body: r#"[{"n":1}]"#,
        complete: true,
    }
}

fn told(case: &Case) -> Told {
    let headers: Vec<Header> = case
        .content_type
        .iter()
        .map(|value| header("content-type", value))
        .collect();
    let answer = Answer {
        status: case.status,
        headers: &headers,
        body: case.body.as_bytes(),
        complete: case.complete,
    };
    judge(&case.probe, &case.profile, &answer, WallMs(0))
}

fn at(pointer: &str, body: &'static str) -> Told {
    told(&Case {
        probe: StatusProbe::at("/x").pointer(pointer),
        body,
        ..case()
    })
}

fn status(status: u16) -> Told {
    told(&Case { status, ..case() })
}

fn applied(result: &str) -> Told {
    Told::Applied {
        result: result.as_bytes().to_vec(),
    }
}

#[test]
fn a_path_is_joined_to_the_base_and_an_id_is_filled_in_wherever_it_stands() {
    for (text, url) in [
        (
            "/orders?id={id}",
            format!("https://api.example.com/v2/orders?id={ID}"),
        ),
        (
            "/orders/{id}/x/{id}",
            format!("https://api.example.com/v2/orders/{ID}/x/{ID}"),
        ),
        (
            "https://api.example.com/o#part",
            "https://api.example.com/o".to_owned(),
        ),
        (
            "https://API.example.com:443/o",
            "https://api.example.com/o".to_owned(),
        ),
    ] {
        let frozen = freeze(StatusProbe::at(text)).unwrap();
        assert_eq!(frozen.asks.url, url);
        // The stored text is read back as it was, and isn't joined or filled in again.
        assert!(FrozenProbe::thaw(frozen.json.clone()) == Some(frozen));
    }
    assert!(FrozenProbe::thaw("{".to_owned()).is_none());
}

#[test]
fn what_can_not_be_asked_is_refused_with_the_field() {
    for bad in [
        StatusProbe::at("https://example.com/o"),
        StatusProbe::at("http://api.example.com/o"),
        StatusProbe::at("https://api.example.com:8443/o"),
        StatusProbe::at("//api.example.com/o"),
        StatusProbe::at("ftp://api.example.com/o"),
        StatusProbe::at("https://me@api.example.com/o"),
        StatusProbe::at("/with space"),
        StatusProbe::at("/{key}"),
        StatusProbe::at("/{ id }"),
        StatusProbe::at(""),
        StatusProbe::at("/o").pointer("0"),
        StatusProbe::at("/o").pointer("/~2"),
    ] {
        let Err(OutboxError::Invalid { field, .. }) = freeze(bad) else {
            panic!("accepted");
        };
        assert_eq!(field, "probe");
    }
    let id = SubmissionId::parse(ID).unwrap();
    let origin = Url::parse("https://api.example.com").unwrap().origin();
    let without_base = FrozenProbe::freeze(StatusProbe::at("/o"), id, &origin, None);
    assert!(without_base.is_err());
}

#[test]
fn a_success_means_applied_and_its_body_is_the_result() {
    for found in 200..=203 {
        assert_eq!(status(found), applied(r#"[{"n":1}]"#), "{found}");
    }
    assert_eq!(
        told(&Case {
            status: 204,
            body: "",
            ..case()
        }),
        applied("")
    );
    let text = Case {
        content_type: Some("text/plain"),
        body: "yes",
        ..case()
    };
    assert_eq!(told(&text), applied("yes"));
    let unnamed = Case {
        content_type: None,
        ..case()
    };
    assert_eq!(told(&unnamed), applied(r#"[{"n":1}]"#));
}

#[test]
fn with_a_pointer_only_what_is_there_counts() {
    assert_eq!(at("/0", r#"[{"n":1}]"#), applied(r#"{"n":1}"#));
    assert_eq!(at("/a~1b/n", r#"{"a/b":{"n":"x"}}"#), applied(r#""x""#));
    assert_eq!(at("", r#"{"n":1}"#), applied(r#"{"n":1}"#));
    assert_eq!(at("/n", r#"{"n":0}"#), applied("0"));
    // As the server wrote it.
    assert_eq!(
        at("/b", r#"{"b": {"z": 1.50, "a":12345678901234567890123}}"#),
        applied(r#"{"z": 1.50, "a":12345678901234567890123}"#)
    );
    assert_eq!(at("/b", r#"{"b":1,"b":2}"#), Told::NoAnswer);
    for body in [
        "[]",
        "{}",
        "null",
        "17",
        r#"["no"]"#,
        r#"{"0":null}"#,
        r#"{"0":false}"#,
        r#"{"0":""}"#,
        r#"{"0":[]}"#,
        r#"{"0":{}}"#,
    ] {
        let expected = if body == r#"["no"]"# {
            applied(r#""no""#)
        } else {
            Told::Absent
        };
        assert_eq!(at("/0", body), expected, "{body}");
    }
    // An empty document says that there is nothing, an unreadable one says nothing.
    assert_eq!(at("", "[]"), Told::Absent);
    for body in ["", "no", "[", "<xml/>"] {
        assert_eq!(at("/0", body), Told::NoAnswer, "{body}");
    }
    let no_body = Case {
        probe: StatusProbe::at("/x").pointer("/0"),
        status: 204,
        body: "",
        ..case()
    };
    assert_eq!(told(&no_body), Told::NoAnswer);
}

#[test]
fn missing_means_not_there_unless_the_probe_says_otherwise() {
    assert_eq!(status(404), Told::Absent);
    assert_eq!(status(410), Told::Absent);
    for missing in [404, 410] {
        let unsure = Case {
            probe: StatusProbe {
                missing_means_not_applied: false,
                ..StatusProbe::at("/x")
            },
            status: missing,
            ..case()
        };
        assert_eq!(told(&unsure), Told::NoAnswer);
        // A page for people, of whoever wrote it.
        let page = Case {
            status: missing,
            content_type: Some("text/html; charset=utf-8"),
            ..case()
        };
        assert_eq!(told(&page), Told::NoAnswer);
    }
}

#[test]
fn no_other_status_says_anything() {
    let telling = [200, 201, 202, 203, 204, 205, 404, 410];
    for other in (100..600).filter(|status| !telling.contains(status)) {
        let expected = match other {
            407 | 511 => Told::Unreached,
            401 => Told::Refused,
            429 | 503 => Told::Busy { asked: None },
            _ => Told::NoAnswer,
        };
        assert_eq!(status(other), expected, "{other}");
    }
}

#[test]
fn what_is_cut_or_is_not_of_the_api_says_nothing() {
    for whole in [200, 204, 404] {
        let cut = Case {
            status: whole,
            complete: false,
            ..case()
        };
        assert_eq!(told(&cut), Told::NoAnswer, "{whole}");
    }
    let portal = Case {
        content_type: Some("text/html"),
        body: "<html>",
        ..case()
    };
    assert_eq!(told(&portal), Told::Unreached);
    let redirect = Case {
        status: 302,
        ..portal
    };
    assert_eq!(told(&redirect), Told::Unreached);
}

#[test]
fn the_profiles_expectations_count() {
    let strict = || Case {
        profile: ServerProfile {
            expected_content_types: vec!["application/vnd.api+json".to_owned()],
            expected_member: Some("/data".to_owned()),
            ..ServerProfile::default()
        },
        content_type: Some("application/vnd.api+json"),
        body: r#"{"data":[]}"#,
        ..case()
    };
    assert_eq!(told(&strict()), applied(r#"{"data":[]}"#));
    let other_type = Case {
        content_type: Some("application/json"),
        ..strict()
    };
    assert_eq!(told(&other_type), Told::NoAnswer);
    let missing = Case {
        status: 404,
        ..other_type
    };
    assert_eq!(told(&missing), Told::NoAnswer);
    let other_body = Case {
        body: "{}",
        ..strict()
    };
    assert_eq!(told(&other_body), Told::NoAnswer);
}
