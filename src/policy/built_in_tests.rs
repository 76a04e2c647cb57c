//! The profiles that come with the library: what each says of its vendor, and how answers that
//! look like that vendor's are judged under it.

use std::time::Duration;

use super::built_in::{BuiltInProfile, built_in_profile};
use super::classify::{Counts, Settles};
use super::classify_tests::{CONFIGURATION, Exchange, REFUSED, RETRY, UNKNOWN, got, table};
use super::profile::{KeyPlace, KeyScope, KeySpelling, ReplayedErrors, ServerProfile};
use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;
const KEY_REUSED: Then = Then::Refuse(RejectReason::KeyReused);

fn header(name: &str) -> KeyPlace {
    KeyPlace::Header {
        name: name.to_owned(),
    }
}

/// Name, place of the key, retention in seconds, quiet time in seconds, locks, replays successes.
type Facts = (
    BuiltInProfile,
    &'static str,
    KeyPlace,
    Option<u64>,
    u64,
    bool,
    bool,
);

#[rustfmt::skip]
fn facts() -> Vec<Facts> {
    use BuiltInProfile as B;
    let usual = || header("Idempotency-Key");
    vec![
        (B::Standard, "standard", usual(), Some(DAY), 15, false, false),
        (B::Ietf, "ietf", usual(), Some(DAY), 1, true, true),
        // At least 24 hours, and 409 for a key in use.
        (B::Stripe, "stripe", usual(), Some(DAY), 1, true, true),
        // Each API has its own time; the second of two at once "might fail".
        (B::Paypal, "paypal", header("PayPal-Request-Id"), Some(6 * HOUR), 15, false, true),
        // 7 days in the newer text, 31 in the older one.
        (B::Adyen, "adyen", usual(), Some(7 * DAY), 1, true, true),
        // Not published.
        (B::Square, "square", KeyPlace::JsonPointer { pointer: "/idempotency_key".into() }, Some(DAY), 1, true, true),
        // "Any reasonable timeframe".
        (B::GoogleAip155, "google_aip155", KeyPlace::Query { name: "request_id".into() }, Some(HOUR), 15, false, true),
        // Synapse: 24 hours; the second of two at once waits for the first.
        (B::Matrix, "matrix", KeyPlace::Path { placeholder: "{key}".into() }, Some(DAY), 1, true, true),
        (B::PlainPut, "plain_put", KeyPlace::Nowhere, None, 15, false, false),
        (B::Unkeyed, "unkeyed", KeyPlace::Nowhere, Some(0), 15, false, false),
    ]
}

#[test]
fn every_profile_says_what_its_vendor_says() {
    let facts = facts();
    let named: Vec<_> = facts.iter().map(|(which, ..)| *which).collect();
    assert_eq!(named, BuiltInProfile::ALL);
    for (which, name, key_place, retention, quiet_time, locks, replays) in facts {
        let profile = built_in_profile(which);
        assert_eq!(profile.name, name);
        assert_eq!(profile.key_place, key_place, "{name}");
        assert_eq!(
            profile.retention,
            retention.map(Duration::from_secs),
            "{name}"
        );
        assert_eq!(
            profile.quiet_time,
            Duration::from_secs(quiet_time),
            "{name}"
        );
        assert_eq!(profile.locks, locks, "{name}");
        assert_eq!(profile.replays_success, replays, "{name}");
        let effect = match which {
            BuiltInProfile::PlainPut => Effect::Overwrite,
            BuiltInProfile::Unkeyed => Effect::Unkeyed,
            _ => Effect::Keyed,
        };
        assert_eq!(profile.effect, effect, "{name}");
        let scope = match which {
            BuiltInProfile::Matrix => KeyScope::Device,
            _ => KeyScope::Account,
        };
        assert_eq!(profile.key_scope, scope, "{name}");
        let errors = match which {
            BuiltInProfile::Standard
            | BuiltInProfile::Ietf
            | BuiltInProfile::Stripe
            | BuiltInProfile::Paypal
            | BuiltInProfile::Adyen => ReplayedErrors::All,
            _ => ReplayedErrors::Nothing,
        };
        assert_eq!(profile.errors_are_replayed, errors, "{name}");
    }
}

#[test]
fn every_profile_is_in_order_and_assumes_nothing_special() {
    for which in BuiltInProfile::ALL {
        let profile = built_in_profile(which);
        assert_eq!(profile.check_rules(), Ok(()), "{which:?}");
        assert_eq!(profile.key_spelling, KeySpelling::Raw);
        assert!(!profile.aborts_handlers && !profile.gateway_may_resend);
        assert!(profile.expected_content_types.is_empty());
        assert_eq!(profile.expected_member, None);
        assert!(profile.replay_markers.is_empty());
        assert!(profile.rules.iter().all(|rule| !rule.settles));
        // Servers that are known to lock have a short quiet time, and no others.
        let short = profile.quiet_time < Duration::from_secs(15);
        assert_eq!(short, profile.locks, "{which:?}");
    }
    assert_eq!(ServerProfile::default(), ServerProfile::standard());
    let custom = ServerProfile {
        name: "standard".to_owned(),
        ..ServerProfile::custom("mine")
    };
    assert_eq!(custom, ServerProfile::standard());
}

/// What no rule speaks of is judged by the same table everywhere.
#[test]
fn an_answer_with_nothing_inside_means_the_same_under_every_profile() {
    for which in BuiltInProfile::ALL {
        for (status, proves, then) in table() {
            got(status).on(built_in_profile(which)).means(proves, then);
        }
    }
}

/// The draft's three problem documents differ by their titles only.
#[test]
fn ietf() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::ietf());
    says(400, br#"{"type":"https://developer.example.com/idempotency","title":"Idempotency-Key is missing","detail":"This operation is idempotent and it requires correct usage of Idempotency Key."}"#)
        .means(N, CONFIGURATION);
    let used = says(422, br#"{"type":"https://developer.example.com/idempotency","title":"Idempotency-Key is already used"}"#);
    used.means(N, KEY_REUSED);
    let outstanding = says(409, br#"{"type":"https://developer.example.com/idempotency","title":"A request is outstanding for this Idempotency-Key"}"#);
    assert_eq!(outstanding.means(Q, RETRY).counts, Counts::Busy);
}

#[test]
fn stripe() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::stripe());
    let in_use = says(409, br#"{"error":{"code":"idempotency_key_in_use","message":"There is currently another in-progress request using this Idempotent Key","type":"idempotency_error"}}"#);
    assert_eq!(in_use.means(Q, RETRY).counts, Counts::Busy);
    let other = br#"{"error":{"message":"Keys for idempotent requests can only be used with the same parameters they were first used with.","type":"idempotency_error"}}"#;
    says(400, other).means(N, KEY_REUSED);
    let declined = br#"{"error":{"code":"card_declined","decline_code":"generic_decline","type":"card_error"}}"#;
    says(402, declined).means(N, REFUSED);
    let stored = says(402, declined).with("idempotent-replayed", "true");
    assert_eq!(stored.means(N, REFUSED).settles, Settles::SinceConsent);
    let invalid = br#"{"error":{"param":"amount","type":"invalid_request_error"}}"#;
    says(400, invalid).means(N, CONFIGURATION);
    says(
        429,
        br#"{"error":{"code":"lock_timeout","type":"invalid_request_error"}}"#,
    )
    .means(N, RETRY);
    let error = br#"{"error":{"message":"An unknown error occurred","type":"api_error"}}"#;
    says(500, error).means(Q, RETRY);
    says(500, error)
        .with("stripe-should-retry", "false")
        .means(Q, UNKNOWN);
    says(500, error)
        .with("idempotent-replayed", "true")
        .means(Q, UNKNOWN);
    says(200, br#"{"id":"pi_1","object":"payment_intent"}"#).means(Y, RETRY);
    // Half of a 409: in use or not, nobody is refused.
    in_use.cut().means(Q, RETRY);
}

#[test]
fn paypal() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::paypal());
    says(422, br#"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"PAYPAL_REQUEST_ID_PREVIOUSLY_USED","description":"The PayPal-Request-Id was previously used"}],"debug_id":"1"}"#)
        .means(N, KEY_REUSED);
    says(400, br#"{"name":"DUPLICATE_REQUEST_ID","message":"The value of PayPal-Request-Id header has already been used"}"#)
        .means(N, KEY_REUSED);
    let declined =
        br#"{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"INSTRUMENT_DECLINED"}]}"#;
    says(422, declined).means(N, Then::Refuse(RejectReason::Invalid));
    says(500, br#"{"name":"INTERNAL_SERVER_ERROR"}"#).means(Q, RETRY);
}

#[test]
fn adyen() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::adyen());
    let in_progress = br#"{"status":422,"errorCode":"704","message":"request already processed or in progress","errorType":"validation"}"#;
    assert_eq!(says(422, in_progress).means(Q, RETRY).counts, Counts::Busy);
    // Half of it could be any 422.
    says(422, in_progress).cut().means(Q, RETRY);
    let invalid = br#"{"status":422,"errorCode":"100","message":"No amount specified","errorType":"validation"}"#;
    says(422, invalid).means(N, Then::Refuse(RejectReason::Invalid));
    for status in [422, 500, 503] {
        let transient = says(status, invalid).with("transient-error", "true");
        assert_eq!(transient.means(Q, RETRY).counts, Counts::Answered);
    }
    says(422, invalid)
        .with("transient-error", "false")
        .means(N, Then::Refuse(RejectReason::Invalid));
}

#[test]
fn square() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::square());
    let reused = br#"{"errors":[{"category":"INVALID_REQUEST_ERROR","code":"IDEMPOTENCY_KEY_REUSED","detail":"Different request parameters used for the same idempotency_key.","field":"idempotency_key"}]}"#;
    says(400, reused).means(N, KEY_REUSED);
    let derived = Exchange {
        derived_id: true,
        ..says(400, reused)
    };
    derived.means(N, Then::Hold(HoldReason::KeyUsedElsewhere));
    says(
        402,
        br#"{"errors":[{"category":"PAYMENT_METHOD_ERROR","code":"CARD_DECLINED"}]}"#,
    )
    .means(N, REFUSED);
}

#[test]
fn google_aip155() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::google_aip155());
    let aborted = br#"{"error":{"code":409,"status":"ABORTED","message":"concurrent"}}"#;
    assert_eq!(says(409, aborted).means(Q, RETRY).counts, Counts::Busy);
    says(503, br#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#).means(Q, RETRY);
    says(
        400,
        br#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
    )
    .means(N, CONFIGURATION);
}

#[test]
fn matrix() {
    let says = |status, body| got(status).saying(body).on(ServerProfile::matrix());
    says(200, br#"{"event_id":"$1"}"#).means(Y, RETRY);
    says(403, br#"{"errcode":"M_FORBIDDEN","error":"not in room"}"#).means(N, REFUSED);
    says(
        429,
        br#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2000}"#,
    )
    .means(N, RETRY);
    let unknown_token = says(401, br#"{"errcode":"M_UNKNOWN_TOKEN"}"#);
    unknown_token.means(N, Then::Refuse(RejectReason::Unauthorized));
    unknown_token.with_account().means(N, RETRY);
}
