//! Server profiles: data that says how one server treats keys.

use std::time::Duration;

use crate::model::submission::Effect;

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
    /// Media types that an answer of this API has. Empty: any but HTML.
    pub expected_content_types: Vec<String>,
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
    /// A place in a JSON body, by RFC 6901 pointer. *Not supported yet.*
    JsonPointer {
        /// The pointer.
        pointer: String,
    },
    /// A query parameter. *Not supported yet.*
    Query {
        /// The parameter's name.
        name: String,
    },
    /// A placeholder in the path. *Not supported yet.*
    Path {
        /// The placeholder.
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
    /// In double quotes: a structured-field string (RFC 9651), as the IETF draft writes it.
    SfString,
}

impl ServerProfile {
    /// A server that reads an `Idempotency-Key` header and remembers keys for 24 hours. The
    /// default: careful where the server is unknown.
    pub fn standard() -> Self {
        Self {
            name: "standard".to_owned(),
            key_place: KeyPlace::Header {
                name: "Idempotency-Key".to_owned(),
            },
            key_spelling: KeySpelling::Raw,
            effect: Effect::Keyed,
            retention: Some(Duration::from_secs(24 * 60 * 60)),
            quiet_time: Duration::from_secs(15),
            locks: false,
            aborts_handlers: false,
            gateway_may_resend: false,
            expected_content_types: Vec::new(),
        }
    }

    /// A server that keeps to draft-ietf-httpapi-idempotency-key-header-07, and so locks a key in
    /// use: it answers a concurrent repeat with 409.
    pub fn ietf() -> Self {
        Self {
            name: "ietf".to_owned(),
            quiet_time: Duration::from_secs(1),
            locks: true,
            ..Self::standard()
        }
    }

    /// A server that overwrites: `PUT` with no key.
    pub fn plain_put() -> Self {
        Self {
            name: "plain_put".to_owned(),
            key_place: KeyPlace::Nowhere,
            effect: Effect::Overwrite,
            retention: None,
            ..Self::standard()
        }
    }

    /// A server without idempotency: nothing is sent again once an attempt is in doubt.
    pub fn unkeyed() -> Self {
        Self {
            name: "unkeyed".to_owned(),
            key_place: KeyPlace::Nowhere,
            effect: Effect::Unkeyed,
            retention: Some(Duration::ZERO),
            ..Self::standard()
        }
    }

    /// The profile in its persisted form.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The key as the server reads it.
    pub(crate) fn spell(&self, key: &str) -> String {
        match self.key_spelling {
            KeySpelling::Raw => key.to_owned(),
            KeySpelling::SfString => format!("\"{key}\""),
        }
    }
}

/// What fields are read as that an older version of the library didn't know when it stored a profile.
impl Default for ServerProfile {
    fn default() -> Self {
        Self::standard()
    }
}

/// The standard profile: an `Idempotency-Key` header, keys remembered for 24 hours.
#[uniffi::export]
pub fn standard_profile() -> ServerProfile {
    ServerProfile::standard()
}

/// A server that keeps to the IETF draft and locks a key in use.
#[uniffi::export]
pub fn ietf_profile() -> ServerProfile {
    ServerProfile::ietf()
}

/// A server that overwrites: `PUT` with no key.
#[uniffi::export]
pub fn plain_put_profile() -> ServerProfile {
    ServerProfile::plain_put()
}

/// A server without idempotency.
#[uniffi::export]
pub fn unkeyed_profile() -> ServerProfile {
    ServerProfile::unkeyed()
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
