//! What is frozen of an accepted submission: byte for byte what was handed over (P2), with a
//! checksum that notices each change, and nothing of it in logs.

use url::Url;

use super::fingerprint::digest;
use super::id::SubmissionId;
use super::request::FrozenRequest;
use super::submission::{Body, Effect, Header, Submission};
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, KeySpelling, ServerProfile};

const ID: &str = "0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55";

fn post() -> Submission {
    Submission::post(SubmissionId::parse(ID).unwrap(), "/orders?draft=1")
}

fn freeze_with(profile: &ServerProfile, submission: Submission) -> FrozenRequest {
    let base = Url::parse("https://api.example.com/v2").unwrap();
    FrozenRequest::freeze(submission, None, Some(&base), profile, &Limits::default()).unwrap()
}

fn freeze(submission: Submission) -> FrozenRequest {
    freeze_with(&ServerProfile::standard(), submission)
}

/// P2.
#[test]
fn json_is_frozen_byte_for_byte() {
    for text in [
        "{ \"b\" : 1,\n\t\"a\":1.0e2 , \"a\": 2 }\r\n",
        "\"🛒 \\u0000 \\ud83d\\uded2 ünï \u{2028} e\u{301}\"",
        "12345678901234567890123456789.10",
        "null",
        "\"\\/\"",
    ] {
        let request = freeze(post().json(text));
        assert_eq!(request.body.as_bytes(), Some(text.as_bytes()), "{text:?}");
        assert_eq!(request.content_type.as_deref(), Some("application/json"));
        assert_eq!(request.body_digest, digest(text.as_bytes()));
    }
}

/// P2.
#[test]
fn bytes_are_frozen_as_they_are() {
    let every_byte: Vec<u8> = (0..=255).collect();
    for bytes in [
        b"".as_slice(),
        b"\0",
        b"a\0b\0",
        b"\xef\xbb\xbf with a byte order mark",
        "🛒".as_bytes(),
        b"\xff\xfe\xfd not UTF-8",
        b"line\r\nline\n",
        b"  spaces  ",
        &every_byte,
    ] {
        let request = freeze(post().bytes("text/plain; charset=UTF-8", bytes));
        assert_eq!(request.body.as_bytes(), Some(bytes));
        assert_eq!(
            request.content_type.as_deref(),
            Some("text/plain; charset=UTF-8")
        );
        assert_eq!(request.body_digest, digest(bytes));
    }
}

#[test]
fn no_body_has_no_content_type() {
    let request = freeze(post());
    assert!(request.body.length() == 0);
    assert_eq!(request.content_type, None);
}

#[test]
fn headers_keep_their_order_and_values_and_get_names_in_lower_case() {
    let request = freeze(
        post()
            .header("X-B", " 1, \t2 ")
            .header("Accept", "*/*")
            .header("x-a", ""),
    );
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|header| (header.name.as_str(), header.value.as_str()))
        .collect();
    assert_eq!(
        headers,
        [("x-b", " 1, \t2 "), ("accept", "*/*"), ("x-a", "")]
    );
}

/// P6: the key is the ID, in the one spelling of the profile.
#[test]
fn the_wire_key_is_the_id_as_the_profile_spells_it() {
    assert_eq!(freeze(post()).wire_key, ID);
    let upper = Submission {
        id: SubmissionId::parse(&ID.to_uppercase()).unwrap(),
        ..post()
    };
    assert_eq!(freeze(upper).wire_key, ID);
    let quoted = ServerProfile {
        key_spelling: KeySpelling::SfString,
        ..ServerProfile::standard()
    };
    assert_eq!(freeze_with(&quoted, post()).wire_key, format!("\"{ID}\""));
}

#[test]
fn the_effect_comes_from_the_submission_else_from_the_method_else_from_the_profile() {
    let effect_of = |method: &str, profile: &ServerProfile| {
        let id = SubmissionId::parse(ID).unwrap();
        freeze_with(profile, Submission::new(id, method, "/orders")).effect
    };
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert_eq!(effect_of(method, &ServerProfile::unkeyed()), Effect::Safe);
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "SEARCH"] {
        assert_eq!(effect_of(method, &ServerProfile::standard()), Effect::Keyed);
        assert_eq!(
            effect_of(method, &ServerProfile::unkeyed()),
            Effect::Unkeyed
        );
        assert_eq!(
            effect_of(method, &ServerProfile::plain_put()),
            Effect::Overwrite
        );
    }
    assert_eq!(
        freeze(post().effect(Effect::Overwrite)).effect,
        Effect::Overwrite
    );
}

fn order() -> FrozenRequest {
    freeze(post().json(r#"{"item":7}"#).header("X-Client", "shop/3"))
}

fn checksum(request: &FrozenRequest) -> [u8; 32] {
    request.checksum(&request.body_digest)
}

/// P2. Checksums are stored: this value was computed apart from this code.
#[test]
fn a_checksum_is_the_same_for_ever() {
    // The profile is stored as text, and this one was written by an older version.
    let order = FrozenRequest {
        profile_json: concat!(
            r#"{"name":"standard","key_place":{"header":{"name":"Idempotency-Key"}},"#,
            r#""key_spelling":"raw","effect":"keyed","retention":86400000,"quiet_time":15000,"#,
            r#""locks":false,"aborts_handlers":false,"gateway_may_resend":false,"#,
            r#""expected_content_types":[]}"#,
        )
        .to_owned(),
        ..order()
    };
    let hex: String = checksum(&order)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        hex,
        "ce494d73cc188387624736f3e61e881cff4d7a011a055485460bf9854dba5d91"
    );
}

type Change = (&'static str, fn(&mut FrozenRequest));

/// P11. A queue of an older version stays readable: its profiles lack what was added since, and the
/// checksum covers the text that was stored, not what this version would write.
#[test]
fn a_profile_without_newer_fields_is_read_as_the_standard_one() {
    let older = r#"{"name":"shop","key_place":{"header":{"name":"X-Key"}},"retention":1000}"#;
    let profile: ServerProfile = serde_json::from_str(older).unwrap();
    assert_eq!(
        profile,
        ServerProfile {
            name: "shop".to_owned(),
            key_place: KeyPlace::Header {
                name: "X-Key".to_owned()
            },
            retention: Some(std::time::Duration::from_secs(1)),
            ..ServerProfile::standard()
        }
    );
}

/// P2: a bit that flips in the database must not reach the wire.
#[test]
fn each_part_that_is_sent_changes_the_checksum() {
    let changes: [Change; 14] = [
        ("id", |r| r.id = SubmissionId::derived(None, "a", "b")),
        ("wire key", |r| r.wire_key.push('0')),
        ("account", |r| r.account = Some(String::new())),
        ("method", |r| r.method = "PUT".to_owned()),
        ("url", |r| r.url.push('0')),
        ("content type", |r| {
            r.content_type = Some("application/jsom".to_owned())
        }),
        ("no content type", |r| r.content_type = None),
        ("header's name", |r| r.headers[0].name.push('s')),
        ("header's value", |r| r.headers[0].value.push(' ')),
        ("no header", |r| r.headers.clear()),
        ("one more header", |r| r.headers.push(r.headers[0].clone())),
        ("boundary of a header", |r| {
            r.headers[0] = Header {
                name: "x-clients".to_owned(),
                value: "hop/3".to_owned(),
            };
        }),
        ("profile", |r| r.profile_json.push(' ')),
        ("effect", |r| r.effect = Effect::Unkeyed),
    ];
    let original = checksum(&order());
    for (part, change) in changes {
        let mut request = order();
        change(&mut request);
        assert_ne!(checksum(&request), original, "{part}");
    }
    let mut request = order();
    request.fingerprint = freeze(post()).fingerprint;
    assert_ne!(checksum(&request), original, "fingerprint");
    assert_ne!(
        order().checksum(&digest(br#"{"item":6}"#)),
        original,
        "body"
    );
}

#[test]
fn the_checksum_takes_the_digest_that_the_body_has_now() {
    let request = order();
    let mut bytes = request.body.as_bytes().unwrap().to_vec();
    bytes[2] ^= 1;
    assert_ne!(request.checksum(&digest(&bytes)), checksum(&order()));
}

/// No body, no header's value, no query and no credential in a log.
#[test]
fn debug_output_hides_what_people_type_in() {
    let submission = Submission {
        account: None,
        url: "/orders?token=HIDDEN".to_owned(),
        ..post()
    }
    .header("X-Note", "HIDDEN")
    .json(r#"{"card":"HIDDEN"}"#);
    let request = freeze(submission.clone());
    let file = Body::File {
        content_type: "image/HIDDEN".to_owned(),
        path: "/data/HIDDEN".to_owned(),
    };
    let texts = [
        format!("{submission:?} {submission:#?}"),
        format!("{request:?} {request:#?}"),
        format!("{:?} {:?}", submission.body, submission.headers),
        format!(
            "{:?}",
            post().bytes("text/HIDDEN", b"HIDDEN".as_slice()).body
        ),
        format!("{file:?}"),
    ];
    let in_decimal = "72, 73, 68, 68, 69, 78";
    for text in texts {
        assert!(
            !text.contains("HIDDEN") && !text.contains(in_decimal),
            "{text}"
        );
    }
    assert!(
        format!("{request:?}").contains(ID),
        "the ID is what logs need"
    );
    assert!(format!("{submission:?}").contains("17 bytes"));
}
