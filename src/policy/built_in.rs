//! The server profiles that come with the library. What they say of a vendor is what its published
//! documents say; where those are silent, they say the careful thing.

use std::time::Duration;

use serde_json::Value;

use crate::model::state::RejectReason;
use crate::model::submission::Effect;

use super::profile::{KeyPlace, KeyScope, KeySpelling, ReplayedErrors, ServerProfile};
use super::rules::{AnswerRule, RuleVerdict};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Where it isn't known whether a server locks a key that is in use: longer than handlers commonly
/// work.
const QUIET: Duration = Duration::from_secs(15);

/// Where a server is known to lock a key in use, so that overlapping requests do no harm.
const QUIET_WITH_LOCKS: Duration = Duration::from_secs(1);

const REUSED: RuleVerdict = RuleVerdict::Refused {
    reason: RejectReason::KeyReused,
};

fn header(name: &str) -> KeyPlace {
    KeyPlace::Header {
        name: name.to_owned(),
    }
}

impl ServerProfile {
    /// A server that reads an `Idempotency-Key` header and remembers keys for 24 hours. The
    /// default: careful where the server is unknown.
    pub fn standard() -> Self {
        Self {
            name: "standard".to_owned(),
            key_place: header("Idempotency-Key"),
            key_spelling: KeySpelling::Raw,
            effect: Effect::Keyed,
            retention: Some(DAY),
            quiet_time: QUIET,
            locks: false,
            aborts_handlers: false,
            gateway_may_resend: false,
            latest_wins: false,
            key_scope: KeyScope::Account,
            replays_success: false,
            errors_are_replayed: ReplayedErrors::All,
            rules: Vec::new(),
            expected_content_types: Vec::new(),
            expected_member: None,
            replay_markers: Vec::new(),
        }
    }

    /// A profile to change: the standard one under a name of its own.
    pub fn custom(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::standard()
        }
    }

    /// A server that keeps to draft-ietf-httpapi-idempotency-key-header-07, and so locks a key in
    /// use: it answers a concurrent repeat with 409.
    pub fn ietf() -> Self {
        Self {
            quiet_time: QUIET_WITH_LOCKS,
            locks: true,
            replays_success: true,
            ..Self::custom("ietf")
        }
    }

    /// Stripe's API v1: keys for a day, errors kept once an endpoint began to work, 500 among them
    /// (<https://docs.stripe.com/api/idempotent_requests>, <https://docs.stripe.com/error-low-level>).
    pub fn stripe() -> Self {
        Self {
            quiet_time: QUIET_WITH_LOCKS,
            locks: true,
            replays_success: true,
            rules: vec![
                AnswerRule::on(409, RuleVerdict::Busy)
                    .member("/error/code", Some("idempotency_key_in_use")),
                AnswerRule::between(400, 499, REUSED)
                    .member("/error/type", Some("idempotency_error")),
            ],
            ..Self::custom("stripe")
        }
    }

    /// PayPal's REST APIs: a repeat gets the latest status. Each API keeps keys for a time of its
    /// own, so this is a careful guess: set `retention` to that of yours
    /// (<https://developer.paypal.com/reference/guidelines/idempotency>).
    pub fn paypal() -> Self {
        Self {
            key_place: header("PayPal-Request-Id"),
            retention: Some(HOUR * 6),
            replays_success: true,
            rules: vec![
                AnswerRule::between(400, 499, REUSED).member(
                    "/details/0/issue",
                    Some("PAYPAL_REQUEST_ID_PREVIOUSLY_USED"),
                ),
                AnswerRule::between(400, 499, REUSED).member("/name", Some("DUPLICATE_REQUEST_ID")),
            ],
            ..Self::custom("paypal")
        }
    }

    /// Adyen: keys for a week at least, within the company account and the region
    /// (<https://docs.adyen.com/development-resources/api-idempotency>).
    pub fn adyen() -> Self {
        Self {
            retention: Some(DAY * 7),
            quiet_time: QUIET_WITH_LOCKS,
            locks: true,
            replays_success: true,
            rules: vec![
                AnswerRule::between(400, 599, RuleVerdict::RetryInDoubt)
                    .header("transient-error", Some("true")),
                AnswerRule::on(422, RuleVerdict::Busy).member("/errorCode", Some("704")),
            ],
            ..Self::custom("adyen")
        }
    }

    /// Square: the key is the body's `idempotency_key`. How long it is kept isn't published
    /// (<https://developer.squareup.com/docs/build-basics/common-api-patterns/idempotency>).
    pub fn square() -> Self {
        Self {
            key_place: KeyPlace::JsonPointer {
                pointer: "/idempotency_key".to_owned(),
            },
            quiet_time: QUIET_WITH_LOCKS,
            locks: true,
            replays_success: true,
            errors_are_replayed: ReplayedErrors::Nothing,
            rules: vec![
                AnswerRule::between(400, 499, REUSED)
                    .member("/errors/0/code", Some("IDEMPOTENCY_KEY_REUSED")),
            ],
            ..Self::custom("square")
        }
    }

    /// APIs after Google's AIP-155 (<https://google.aip.dev/155>), with `request_id` as a query
    /// parameter. For methods that take it in the body set a JSON pointer. "Any reasonable
    /// timeframe", it says of the memory: an hour is a careful guess.
    pub fn google_aip155() -> Self {
        Self {
            key_place: KeyPlace::Query {
                name: "request_id".to_owned(),
            },
            retention: Some(HOUR),
            replays_success: true,
            errors_are_replayed: ReplayedErrors::Nothing,
            ..Self::custom("google_aip155")
        }
    }

    /// Matrix: the key is the transaction ID in the path of a `PUT`; write `{key}` there, as in
    /// `/rooms/…/send/m.room.message/{key}`. Remembered for the device, for a day as Synapse does it
    /// (<https://spec.matrix.org/latest/client-server-api/#transaction-identifiers>).
    pub fn matrix() -> Self {
        Self {
            key_place: KeyPlace::Path {
                placeholder: "{key}".to_owned(),
            },
            quiet_time: QUIET_WITH_LOCKS,
            locks: true,
            key_scope: KeyScope::Device,
            replays_success: true,
            errors_are_replayed: ReplayedErrors::Nothing,
            ..Self::custom("matrix")
        }
    }

    /// A server that overwrites: `PUT` with no key.
    pub fn plain_put() -> Self {
        Self {
            key_place: KeyPlace::Nowhere,
            effect: Effect::Overwrite,
            retention: None,
            errors_are_replayed: ReplayedErrors::Nothing,
            ..Self::custom("plain_put")
        }
    }

    /// A server without idempotency: nothing is sent again once an attempt is in doubt.
    pub fn unkeyed() -> Self {
        Self {
            key_place: KeyPlace::Nowhere,
            effect: Effect::Unkeyed,
            retention: Some(Duration::ZERO),
            errors_are_replayed: ReplayedErrors::Nothing,
            ..Self::custom("unkeyed")
        }
    }
}

/// What fields are read as that an older version of the library didn't know when it stored a profile.
impl Default for ServerProfile {
    fn default() -> Self {
        Self::standard()
    }
}

/// The profiles by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum BuiltInProfile {
    /// An `Idempotency-Key` header, remembered for 24 hours: the default.
    Standard,
    /// A server that keeps to the IETF draft and locks a key in use.
    Ietf,
    /// Stripe's API v1.
    Stripe,
    /// PayPal's REST APIs.
    Paypal,
    /// Adyen.
    Adyen,
    /// Square: the key is in the body.
    Square,
    /// APIs after Google's AIP-155: the key is a query parameter.
    GoogleAip155,
    /// Matrix: the key is in the path, as `{key}`.
    Matrix,
    /// A server that overwrites: `PUT` with no key.
    PlainPut,
    /// A server without idempotency.
    Unkeyed,
}

impl BuiltInProfile {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Standard,
        Self::Ietf,
        Self::Stripe,
        Self::Paypal,
        Self::Adyen,
        Self::Square,
        Self::GoogleAip155,
        Self::Matrix,
        Self::PlainPut,
        Self::Unkeyed,
    ];
}

/// A profile that comes with the library, to use or to change single fields of.
#[uniffi::export]
pub fn built_in_profile(which: BuiltInProfile) -> ServerProfile {
    match which {
        BuiltInProfile::Standard => ServerProfile::standard(),
        BuiltInProfile::Ietf => ServerProfile::ietf(),
        BuiltInProfile::Stripe => ServerProfile::stripe(),
        BuiltInProfile::Paypal => ServerProfile::paypal(),
        BuiltInProfile::Adyen => ServerProfile::adyen(),
        BuiltInProfile::Square => ServerProfile::square(),
        BuiltInProfile::GoogleAip155 => ServerProfile::google_aip155(),
        BuiltInProfile::Matrix => ServerProfile::matrix(),
        BuiltInProfile::PlainPut => ServerProfile::plain_put(),
        BuiltInProfile::Unkeyed => ServerProfile::unkeyed(),
    }
}

/// A server profile from its JSON form, for configurations that are fetched or made by a tool. Times
/// are whole milliseconds. Fields that it leaves out are those of the standard profile.
///
/// # Errors
/// [`OutboxError::Invalid`](crate::OutboxError::Invalid) says what can't be read, which field nobody
/// knows, or what is wrong with a rule.
#[uniffi::export]
pub fn profile_from_json(text: &str) -> Result<ServerProfile, crate::OutboxError> {
    let invalid = |problem: String| crate::OutboxError::Invalid {
        field: "profile".to_owned(),
        problem,
    };
    let given: Value = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    if !given.is_object() {
        return Err(invalid("a profile is a JSON object".to_owned()));
    }
    let profile: ServerProfile =
        serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
    let read: Value = serde_json::from_str(&profile.to_json()).unwrap_or_default();
    if let Some(name) = unknown(&given, &read) {
        return Err(invalid(format!("there is no field {name:?}")));
    }
    profile
        .check_rules()
        .map_err(|problem| invalid(problem.to_owned()))?;
    Ok(profile)
}

/// A member of what was given that nobody has read: a misspelled one, which would silently be the
/// default, and a rule without its condition.
fn unknown(given: &Value, read: &Value) -> Option<String> {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => {
            given.iter().find_map(|(name, value)| match read.get(name) {
                Some(read) => unknown(value, read),
                None => Some(name.clone()),
            })
        }
        (Value::Array(given), Value::Array(read)) => given
            .iter()
            .zip(read)
            .find_map(|(given, read)| unknown(given, read)),
        _ => None,
    }
}
