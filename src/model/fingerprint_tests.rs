use super::fingerprint::{Fingerprint, Identity, digest};
use super::id::SubmissionId;
use super::request::{FrozenRequest, key_place_text};
use super::submission::Submission;
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, KeySpelling, ServerProfile};

const URL: &str = "https://api.example.com/v2/orders?draft=1";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn order<'a>(body_digest: &'a [u8; 32]) -> Identity<'a> {
    Identity {
        account: None,
        method: "POST",
        url: URL,
        content_type: Some("application/json"),
        key_place: "header:idempotency-key:raw",
        body_digest,
        parts: None,
    }
}

/// P3. Fingerprints are stored: these values were computed apart from this code, and can't change
/// without another version byte.
#[test]
fn a_fingerprint_is_the_same_for_ever() {
    let body = digest(br#"{"item":7}"#);
    assert_eq!(
        hex(Fingerprint::of(&order(&body)).as_bytes()),
        "0166f2678335c690bf7fb5b336a4fb41181916dae19deb45b643a34e1ffadc63ac"
    );
    let nothing = digest(b"");
    let note = Identity {
        account: Some("alice"),
        method: "PUT",
        url: "https://api.example.com/notes/7",
        content_type: None,
        key_place: "nowhere",
        body_digest: &nothing,
        parts: None,
    };
    assert_eq!(
        hex(Fingerprint::of(&note).as_bytes()),
        "01a424affbc4659fa83b5754ce3c437fc8b6ac74c7fa19f747cba2208a7c1e53f2"
    );
}

/// P3: same ID, other fingerprint is a reuse; so each part must count, and is named.
#[test]
fn each_part_changes_the_fingerprint_and_is_named() {
    let body = digest(br#"{"item":7}"#);
    let other_body = digest(br#"{"item": 7}"#);
    let original = order(&body);
    let others = [
        (
            "account",
            Identity {
                account: Some("alice"),
                ..original
            },
        ),
        (
            "account",
            Identity {
                account: Some(""),
                ..original
            },
        ),
        (
            "method",
            Identity {
                method: "PUT",
                ..original
            },
        ),
        (
            "url",
            Identity {
                url: "https://api.example.com/v2/orders",
                ..original
            },
        ),
        (
            "content_type",
            Identity {
                content_type: Some("application/json; charset=utf-8"),
                ..original
            },
        ),
        (
            "content_type",
            Identity {
                content_type: None,
                ..original
            },
        ),
        (
            "key_place",
            Identity {
                key_place: "header:idempotency-key:sf-string",
                ..original
            },
        ),
        (
            "body",
            Identity {
                body_digest: &other_body,
                ..original
            },
        ),
        (
            "parts",
            Identity {
                parts: Some("[]"),
                ..original
            },
        ),
    ];
    for (name, other) in others {
        assert_ne!(
            Fingerprint::of(&original),
            Fingerprint::of(&other),
            "{name}"
        );
        assert_eq!(original.differences(&other), [name]);
        assert_eq!(other.differences(&original), [name]);
    }
    assert!(original.differences(&original).is_empty());
}

#[test]
fn several_differences_are_all_named_in_a_fixed_order() {
    let body = digest(b"1");
    let other_body = digest(b"2");
    let other = Identity {
        account: Some("alice"),
        method: "PUT",
        url: "https://api.example.com/",
        content_type: None,
        key_place: "nowhere",
        body_digest: &other_body,
        parts: Some("[]"),
    };
    assert_eq!(
        order(&body).differences(&other),
        [
            "account",
            "method",
            "url",
            "content_type",
            "key_place",
            "body",
            "parts"
        ]
    );
}

#[test]
fn what_moves_from_one_part_to_its_neighbour_makes_another_fingerprint() {
    let body = digest(b"");
    let original = order(&body);
    let (method, url) = ("POSTh", &URL[1..]);
    assert_ne!(
        Fingerprint::of(&original),
        Fingerprint::of(&Identity {
            method,
            url,
            ..original
        })
    );
}

fn frozen(submission: Submission, profile: &ServerProfile) -> FrozenRequest {
    FrozenRequest::freeze(submission, None, None, profile, &Limits::default()).unwrap()
}

fn submission() -> Submission {
    let id = SubmissionId::parse("0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55").unwrap();
    Submission::post(id, URL).json(r#"{"item":7}"#)
}

#[test]
fn a_frozen_request_has_the_fingerprint_of_its_identity() {
    let profile = ServerProfile::standard();
    let request = frozen(submission(), &profile);
    let place = key_place_text(&profile);
    assert_eq!(
        request.fingerprint,
        Fingerprint::of(&request.identity(&place, None))
    );
    assert_eq!(
        request.identity(&place, None),
        order(&digest(br#"{"item":7}"#))
    );
    let stored = Fingerprint::from_bytes(*request.fingerprint.as_bytes());
    assert_eq!(stored, request.fingerprint);
}

/// An update of the app changes its `User-Agent`, and a retry its trace ID; neither is a new action.
#[test]
fn other_headers_the_id_the_priority_and_the_expiry_are_not_identity() {
    let profile = ServerProfile::standard();
    let original = frozen(submission(), &profile).fingerprint;
    let other_id = Submission {
        id: SubmissionId::parse("3b241101-e2bb-4255-8caf-4136c566a962").unwrap(),
        ..submission()
    };
    let later = std::time::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000);
    for same in [
        submission().header("User-Agent", "shop/3"),
        submission()
            .header("User-Agent", "shop/4")
            .header("X-Trace", "1"),
        submission().priority(9),
        submission().expires_at(later),
        other_id,
    ] {
        assert_eq!(frozen(same, &profile).fingerprint, original);
    }
}

#[test]
fn the_place_and_the_spelling_of_the_key_are_identity_and_the_rest_of_a_profile_is_not() {
    let standard = ServerProfile::standard();
    let original = frozen(submission(), &standard).fingerprint;
    let with = |name: &str, key_spelling| ServerProfile {
        key_place: KeyPlace::Header {
            name: name.to_owned(),
        },
        key_spelling,
        ..standard.clone()
    };
    let renamed = ServerProfile {
        name: "mine".to_owned(),
        ..ServerProfile::ietf()
    };
    for same in [with("IDEMPOTENCY-KEY", KeySpelling::Raw), renamed] {
        assert_eq!(frozen(submission(), &same).fingerprint, original);
    }
    for other in [
        with("PayPal-Request-Id", KeySpelling::Raw),
        with("Idempotency-Key", KeySpelling::SfString),
        ServerProfile::unkeyed(),
    ] {
        assert_ne!(frozen(submission(), &other).fingerprint, original);
    }
}

/// The texts enter stored fingerprints.
#[test]
fn the_text_of_a_key_place_is_the_same_for_ever() {
    let text = |key_place, key_spelling| {
        key_place_text(&ServerProfile {
            key_place,
            key_spelling,
            ..ServerProfile::standard()
        })
    };
    let own = str::to_owned;
    for (place, raw, quoted) in [
        (
            KeyPlace::Header { name: own("X-Key") },
            "header:x-key:raw",
            "header:x-key:sf-string",
        ),
        (
            KeyPlace::JsonPointer {
                pointer: own("/Key"),
            },
            "json:/Key:raw",
            "json:/Key:sf-string",
        ),
        (
            KeyPlace::Query { name: own("Key") },
            "query:Key:raw",
            "query:Key:sf-string",
        ),
        (
            KeyPlace::Path {
                placeholder: own("Key"),
            },
            "path:Key:raw",
            "path:Key:sf-string",
        ),
        (KeyPlace::Nowhere, "nowhere", "nowhere"),
    ] {
        assert_eq!(text(place.clone(), KeySpelling::Raw), raw);
        assert_eq!(text(place, KeySpelling::SfString), quoted);
    }
}
