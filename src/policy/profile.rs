//! Server profiles: data that says how one server treats keys.

use std::time::Duration;

use super::rules::{AnswerRule, is_pointer};
use crate::model::submission::{Effect, is_token};
use crate::weakness::{self, Weakness};

/// How one server treats idempotency keys. Data, frozen with each submission.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
#[serde(default)]
pub struct ServerProfile {
    /// A name for logs and listings.
    pub name: String,
    /// Where the key goes.
    pub key_place: KeyPlace,
    /// How the key is written.
    pub key_spelling: KeySpelling,
    /// The effect of a submission that names none and whose method isn't safe.
    pub effect: Effect,
    /// How long the server remembers a key after the first attempt. Past it (minus `Limits.horizon`, and
    /// ten minutes at least) a submission in doubt is held, since the same key would execute again. `None`:
    /// for ever.
    #[serde(with = "millis_option")]
    pub retention: Option<Duration>,
    /// How long the server may still be working on an attempt that got no answer.
    #[serde(with = "millis")]
    pub quiet_time: Duration,
    /// The server is known to lock a key in use, so that two requests with one key never execute
    /// at once.
    pub locks: bool,
    /// A lost connection ends the handler, perhaps between its effect and the record of the key:
    /// a key lifetime of zero.
    pub aborts_handlers: bool,
    /// A gateway before the server re-sends requests by itself, so that an answer "not applied"
    /// speaks for one copy only.
    pub gateway_may_resend: bool,
    /// A keyed write of this API overwrites what the one before wrote, so that `replaces` may be used
    /// with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub latest_wins: bool,
    /// For whom the server remembers a key.
    pub key_scope: KeyScope,
    /// A repeat is answered with the first success and its body, so that a body that was cut can be
    /// asked for again with the same key.
    pub replays_success: bool,
    /// Which errors the server keeps under the key and gives again for ever.
    pub errors_are_replayed: ReplayedErrors,
    /// What answers mean beyond their status. Asked before everything else; the first that fits
    /// counts.
    pub rules: Vec<AnswerRule>,
    /// Media types that an answer of this API has. Empty: any but HTML.
    pub expected_content_types: Vec<String>,
    /// A member, by RFC 6901 pointer, that the JSON body of every success has: a 2xx without it is
    /// no answer of this API.
    pub expected_member: Option<String>,
    /// Names of headers that mark an answer as replayed, if their value is `true`, besides the
    /// common ones.
    pub replay_markers: Vec<String>,
}

/// For whom a server remembers a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum KeyScope {
    /// For one token: with a refreshed one the same key executes again. In doubt, nothing is sent
    /// again with other credentials without a decision. Credentials aren't stored, so after a
    /// restart nobody can tell whether they are the same, and they count as others.
    Token,
    /// For the account, whatever its token is.
    Account,
    /// For the device, or the session that the account has on it; a refreshed token is the same.
    Device,
}

/// Which errors a server keeps under the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum ReplayedErrors {
    /// None: a repeat executes again.
    Nothing,
    /// Those with a status of 400 to 499.
    ClientErrors,
    /// All.
    All,
}

/// Where in the request the key goes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// A header of this name.
    Header {
        /// The header's name.
        name: String,
    },
    /// A member of a JSON body, by RFC 6901 pointer. Written when a submission is accepted, into an
    /// object that must be there already; the rest of the text stays as it is. Only where the
    /// effect is `Keyed`. Bodies from files are refused.
    JsonPointer {
        /// The pointer, for example `/request_id`.
        pointer: String,
    },
    /// A query parameter, added behind those that are there. Only where the effect is `Keyed`.
    Query {
        /// The parameter's name, for example `request_id`.
        name: String,
    },
    /// A placeholder in the path of the submission's URL, for example `/orders/{key}`. It must be
    /// there once where the effect is `Keyed`, and is replaced whatever the effect is.
    Path {
        /// The placeholder, for example `{key}`.
        placeholder: String,
    },
    /// Nowhere: the server doesn't know keys.
    Nowhere,
}

/// How the key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Enum)]
#[serde(rename_all = "kebab-case")]
pub enum KeySpelling {
    /// As it is. Most servers take `"k"` and `k` for two keys, and want this.
    Raw,
    /// In double quotes: a structured-field string (RFC 9651), as the IETF draft writes it. In a
    /// header only.
    SfString,
}

impl ServerProfile {
    /// How long an attempt that got no answer keeps the next one waiting; `instead` is what the limits
    /// say.
    pub(crate) fn quiet(&self, instead: Option<Duration>) -> Duration {
        if weakness::is_out(Weakness::NoQuietTime) {
            return Duration::ZERO;
        }
        instead.unwrap_or(self.quiet_time)
    }

    /// The profile in its persisted form.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What is wrong with its rules and expectations.
    pub(crate) fn check_rules(&self) -> Result<(), &'static str> {
        for rule in &self.rules {
            rule.check()?;
        }
        if self
            .expected_member
            .as_deref()
            .is_some_and(|pointer| !is_pointer(pointer))
        {
            return Err("expected_member is a JSON pointer (RFC 6901), such as /data");
        }
        if !self.replay_markers.iter().all(|name| is_token(name)) {
            return Err("replay_markers are names of headers");
        }
        Ok(())
    }

    /// It has to look inside the body of such an answer to judge it. A refusal is one whatever its
    /// body names as the reason.
    pub(super) fn looks_inside(&self, status: u16) -> bool {
        let success = (200..300).contains(&status);
        (success && self.expected_member.is_some())
            || self.rules.iter().any(|rule| {
                rule.member.is_some() && rule.is_about(status) && (success || !rule.refuses())
            })
    }

    /// The key as the server reads it.
    pub(crate) fn spell(&self, key: &str) -> String {
        match self.key_spelling {
            KeySpelling::Raw => key.to_owned(),
            KeySpelling::SfString => format!("\"{key}\""),
        }
    }
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(crate::clock::whole_millis(*value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

mod millis_option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value.map(crate::clock::whole_millis).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}
