//! 207 and 208: one answer with many statuses.

use super::classify_tests::{RETRY, UNKNOWN, got};
use super::members::all_succeeded;
use crate::model::state::Proof;

fn succeeded(body: &str) -> bool {
    let json = serde_json::from_str(body).ok();
    all_succeeded(json.as_ref(), body.as_bytes())
}

#[test]
fn every_member_must_have_succeeded() {
    for all in [
        r#"[{"status":200},{"status":201}]"#,
        r#"{"results":[{"id":1,"status":"201"},{"id":2,"status":"204 No Content"}]}"#,
        r#"{"a":{"statusCode":200},"b":{"status_code":299}}"#,
        r#"{"multistatus":{"response":{"propstat":{"status":"HTTP/1.1 200 OK"}}}}"#,
        r#"{"status":207.0,"results":[{"status":200}]}"#.replace("207.0", "200").as_str(),
    ] {
        assert!(succeeded(all), "{all}");
    }
    for not_all in [
        r#"[{"status":200},{"status":404}]"#,
        r#"[{"status":200},{"status":199}]"#,
        r#"[{"status":200},{"status":300}]"#,
        r#"[{"status":200},{"deep":{"er":[{"status":"HTTP/1.1 423 Locked"}]}}]"#,
        r#"[{"status":200},{"status":null}]"#,
        r#"[{"status":200},{"status":"ok"}]"#,
        r#"[{"status":200},{"status":true}]"#,
        r#"[{"status":200},{"status":[200]}]"#,
        r#"[{"status":200},{"status":-200}]"#,
        r#"[{"status":200},{"status":200.5}]"#,
        r#"[{"status":200},{"status":""}]"#,
    ] {
        assert!(!succeeded(not_all), "{not_all}");
    }
}

/// What has no member says nothing: it is held.
#[test]
fn without_a_member_nothing_is_known() {
    for nothing in [
        "[]",
        "{}",
        "",
        "null",
        "200",
        r#""HTTP""#,
        r#"{"results":[]}"#,
        "plain",
    ] {
        assert!(!succeeded(nothing), "{nothing}");
    }
}

/// RFC 4918, section 13.
#[test]
fn webdav_says_it_in_xml() {
    let multistatus = |statuses: &[&str]| {
        let members: String = statuses
            .iter()
            .map(|status| {
                format!("<d:response><d:href>/a</d:href><d:status>{status}</d:status></d:response>")
            })
            .collect();
        format!(r#"<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">{members}</d:multistatus>"#)
    };
    assert!(succeeded(&multistatus(&[
        "HTTP/1.1 200 OK",
        "HTTP/1.1 201 Created"
    ])));
    assert!(succeeded(&multistatus(&["HTTP/1.1 204"])));
    assert!(succeeded(&multistatus(&["HTTP/2 200"])));
    for bad in [
        "HTTP/1.1 424 Failed Dependency",
        "HTTP/1.1",
        "HTTP/1.1 OK",
        "HTTP/",
    ] {
        assert!(!succeeded(&multistatus(&["HTTP/1.1 200 OK", bad])), "{bad}");
    }
    assert!(!succeeded(&multistatus(&[])));
    assert!(!all_succeeded(None, b"\xff\xfeHTTP/1.1 \xff"));
}

#[test]
fn both_statuses_are_looked_into() {
    for status in [207, 208] {
        let says = |body| got(status).saying(body);
        assert!(
            says(br#"[{"status":200}]"#)
                .means(Proof::Applied, RETRY)
                .keeps_result
        );
        says(br#"[{"status":200},{"status":500}]"#).means(Proof::Unknown, UNKNOWN);
        says(b"").means(Proof::Unknown, UNKNOWN);
    }
    got(206)
        .saying(br#"[{"status":200}]"#)
        .means(Proof::Unknown, UNKNOWN);
}
