//! What `submit` refuses, each with the error that an app gets. URLs are in `url_tests.rs`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use url::Url;

use super::id::SubmissionId;
use super::request::FrozenRequest;
use super::submission::{Header, Submission};
use crate::error::OutboxError;
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, ServerProfile};

const BASE: &str = "https://api.example.com/v2";

fn id() -> SubmissionId {
    SubmissionId::parse("0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55").unwrap()
}

pub fn post(url: &str) -> Submission {
    Submission::post(id(), url)
}

pub fn freeze_at(base: Option<&str>, submission: Submission) -> Result<FrozenRequest, OutboxError> {
    let base = base.map(|base| Url::parse(base).unwrap());
    FrozenRequest::freeze(
        submission,
        None,
        base.as_ref(),
        &ServerProfile::standard(),
        &Limits::default(),
    )
}

pub fn freeze(submission: Submission) -> Result<FrozenRequest, OutboxError> {
    freeze_at(Some(BASE), submission)
}

/// The field that is refused as invalid.
#[track_caller]
pub fn invalid_field(result: Result<FrozenRequest, OutboxError>) -> String {
    match result {
        Err(OutboxError::Invalid { field, problem }) => {
            assert!(!problem.is_empty());
            field
        }
        other => panic!("not refused as invalid: {other:?}"),
    }
}

#[track_caller]
fn refused_header(name: &str, value: &str) -> String {
    match freeze(post("/orders").header(name, value)) {
        Err(OutboxError::HeaderRefused { name, reason }) => {
            assert!(!reason.is_empty());
            name
        }
        other => panic!("{name} not refused: {other:?}"),
    }
}

/// P10: a URL is stored, and credentials are not.
#[test]
fn a_method_is_a_word_in_capitals() {
    let too_long = "P".repeat(33);
    for method in [
        "", "post", "Post", "POST ", " POST", "PO ST", "POST\r\n", "POST\0", "POST/1", "PÖST",
        "CONNECT", "TRACE", &too_long,
    ] {
        let result = freeze(Submission::new(id(), method, "/orders"));
        assert_eq!(invalid_field(result), "method", "{method:?}");
    }
    for method in [
        "GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "M-SEARCH",
    ] {
        let request = freeze(Submission::new(id(), method, "/orders")).unwrap();
        assert_eq!(request.method, method);
    }
}

/// A line break in a value would be a second header, with any name.
#[test]
fn a_header_value_is_visible_ascii() {
    for value in [
        "a\r\nX-Evil: 1",
        "a\rb",
        "a\nb",
        "\n",
        "a\0b",
        "\u{1b}[0m",
        "\u{7f}",
        "grün",
        "🛒",
        "\u{a0}",
    ] {
        let result = freeze(post("/orders").header("X-Note", value));
        assert_eq!(invalid_field(result), "headers.x-note", "{value:?}");
    }
    for value in ["", "a", "a, b;c=\"d\"", "tab\there", "~!"] {
        let request = freeze(post("/orders").header("X-Note", value)).unwrap();
        assert_eq!(request.headers[0].value, value);
    }
}

#[test]
fn a_header_name_is_a_token() {
    let too_long = "x".repeat(1025);
    for name in [
        "",
        " ",
        "X Note",
        "X-Note:",
        "X-Note\r\nY",
        "X\0",
        "Grün",
        "X(1)",
        &too_long,
    ] {
        let result = freeze(post("/orders").header(name, "1"));
        assert_eq!(invalid_field(result), "headers", "{name:?}");
    }
}

#[test]
fn a_header_that_is_there_twice_is_refused_in_any_case() {
    for second in ["X-Note", "x-note", "X-NOTE"] {
        let result = freeze(post("/orders").header("X-Note", "1").header(second, "2"));
        assert_eq!(invalid_field(result), "headers.x-note");
    }
}

/// P10: credentials are never stored, whatever their spelling.
#[test]
fn credentials_in_headers_are_refused_and_not_repeated_in_the_error() {
    for name in ["authorization", "cookie", "proxy-authorization"] {
        let titled = name.replacen(&name[..1], &name[..1].to_uppercase(), 1);
        for spelled in [name.to_owned(), titled, name.to_uppercase()] {
            assert_eq!(refused_header(&spelled, "Bearer secret"), name);
            let error = freeze(post("/orders").header(&spelled, "Bearer secret")).unwrap_err();
            assert!(!format!("{error:?} {error}").contains("secret"));
        }
    }
}

#[test]
fn headers_of_one_connection_and_of_the_body_are_refused() {
    for name in [
        "Connection",
        "Keep-Alive",
        "Proxy-Connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Expect",
        "Host",
        "Content-Length",
        "Content-Type",
        "Accept-Encoding",
    ] {
        assert_eq!(refused_header(name, "1"), name.to_lowercase());
    }
}

/// P6: a second key in the request could only be another one.
#[test]
fn the_header_of_the_key_is_refused() {
    for name in ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"] {
        assert_eq!(refused_header(name, "1"), "idempotency-key");
    }
    let other_place = ServerProfile {
        key_place: KeyPlace::Header {
            name: "PayPal-Request-Id".to_owned(),
        },
        ..ServerProfile::standard()
    };
    let freeze = |submission| {
        FrozenRequest::freeze(
            submission,
            None,
            base().as_ref(),
            &other_place,
            &Limits::default(),
        )
    };
    let refused = freeze(post("/orders").header("paypal-request-id", "1"));
    assert!(matches!(refused, Err(OutboxError::HeaderRefused { .. })));
    assert!(freeze(post("/orders").header("Idempotency-Key", "1")).is_ok());
}

fn base() -> Option<Url> {
    Url::parse(BASE).ok()
}

#[test]
fn headers_larger_than_servers_accept_are_refused() {
    // The name counts, too.
    let sized = |bytes: usize| post("/orders").header("x-a", &"v".repeat(bytes - 3));
    assert_eq!(invalid_field(freeze(sized(16 * 1024 + 1))), "headers");
    assert!(freeze(sized(16 * 1024)).is_ok());
    let many = (0..1_000).fold(post("/orders"), |submission, number| {
        submission.header(&format!("x-{number}"), "0123456789")
    });
    assert!(freeze(many.clone()).is_ok());
    assert_eq!(
        invalid_field(freeze(many.header("x-more", &"v".repeat(4_096)))),
        "headers"
    );
}

#[test]
fn a_body_over_the_limit_is_refused_with_both_numbers() {
    let most = 256 * 1024;
    let limits = Limits {
        max_body_bytes: most,
        ..Limits::default()
    };
    let freeze = |submission: Submission| {
        FrozenRequest::freeze(
            submission,
            None,
            base().as_ref(),
            &ServerProfile::standard(),
            &limits,
        )
    };
    let limit = usize::try_from(most).unwrap();
    let sized = |bytes: usize| post("/photos").bytes("image/jpeg", vec![0; bytes]);
    let bytes = most + 1;
    assert_eq!(
        freeze(sized(limit + 1)),
        Err(OutboxError::BodyTooLarge { bytes, most })
    );
    assert_eq!(freeze(sized(limit)).unwrap().body.length(), most);
    let text = format!("\"{}\"", "a".repeat(limit));
    let json = freeze(post("/orders").json(text));
    assert!(matches!(json, Err(OutboxError::BodyTooLarge { .. })));
}

#[test]
fn text_that_is_not_json_is_refused_as_json() {
    for text in [
        "",
        " ",
        "{",
        "{}{}",
        "{'a':1}",
        "{\"a\":1,}",
        "[1,]",
        "NaN",
        "undefined",
        "01",
        "+1",
        "\"\t\"",
        "\"\0\"",
        "\u{feff}{}",
        "{} // note",
        "\"\\x41\"",
    ] {
        assert_eq!(
            invalid_field(freeze(post("/orders").json(text))),
            "body",
            "{text:?}"
        );
    }
    let bytes = |bytes: &[u8]| post("/orders").bytes("application/json", bytes);
    for bad in [b"".as_slice(), b"\xff", b"\"\xc3\"", b"\xef\xbb\xbf{}"] {
        assert_eq!(invalid_field(freeze(bytes(bad))), "body", "{bad:?}");
    }
}

#[test]
fn a_content_type_is_a_media_type_and_a_safe_header_value() {
    for content_type in [
        "",
        "json",
        "image",
        "image/png\r\nX-Evil: 1",
        "image/\0",
        "imäge/png",
        "image/png\n",
    ] {
        let result = freeze(post("/photos").bytes(content_type, b"1"));
        assert_eq!(invalid_field(result), "content_type", "{content_type:?}");
    }
}

#[test]
fn an_expiry_is_a_time_between_1970_and_9999() {
    let at = |time: SystemTime| freeze(post("/orders").expires_at(time));
    let last_second = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    for time in [
        UNIX_EPOCH - Duration::from_nanos(1),
        UNIX_EPOCH - Duration::from_secs(86_400),
        last_second + Duration::from_millis(1),
        UNIX_EPOCH + Duration::from_secs(i64::MAX as u64 / 4),
    ] {
        assert_eq!(invalid_field(at(time)), "expires_at", "{time:?}");
    }
    assert_eq!(at(UNIX_EPOCH).unwrap().expires_at.unwrap().0, 0);
    assert_eq!(
        at(last_second).unwrap().expires_at.unwrap().0,
        253_402_300_799_000
    );
    assert_eq!(freeze(post("/orders")).unwrap().expires_at, None);
}

#[test]
fn the_fields_of_a_record_built_without_setters_are_read_as_strictly() {
    let header = Header {
        name: "Cookie".to_owned(),
        value: "secret".to_owned(),
    };
    let record = Submission {
        headers: vec![header],
        ..post("/orders")
    };
    assert!(matches!(
        freeze(record),
        Err(OutboxError::HeaderRefused { .. })
    ));
}
