//! What the app hands over: one business action, described as the HTTP request that performs it.

use std::fmt;
use std::time::SystemTime;

use super::id::SubmissionId;
use super::links::{LanePolicy, ParentPart, PartSource, PartTarget};
use crate::policy::limits::MAX_NAME_BYTES;
use crate::policy::probe::StatusProbe;

/// One business action, to take effect once.
///
/// Everything in it is frozen when `submit` returns: retries send the same bytes. Build it with
/// [`Submission::new`] and the setters, or as a plain record from Kotlin and Swift.
#[derive(Clone, PartialEq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct Submission {
    /// The action's ID, from `begin(slot)`, or minted or derived by the app.
    pub id: SubmissionId,
    /// Whose action it is: it goes with that account's credentials, to whichever host its URL names.
    /// Leave it out for what belongs to nobody, such as logs, and for other people's hosts.
    #[uniffi(default = None)]
    pub account: Option<String>,
    /// The HTTP method in capitals, for example `POST`.
    #[uniffi(default = "POST")]
    pub method: String,
    /// An absolute `http` or `https` URL, or a path that starts with `/` and is joined to the
    /// outbox's base URL.
    pub url: String,
    /// How the server treats a repeat. Leave it out to take it from the method and the server
    /// profile: `GET`, `HEAD` and `OPTIONS` have no effect, everything else has the profile's.
    #[uniffi(default = None)]
    pub effect: Option<Effect>,
    /// Headers to store and send with each attempt. Never credentials: they are refused.
    #[uniffi(default = [])]
    pub headers: Vec<Header>,
    /// What to send.
    pub body: Body,
    /// Higher goes first; equal goes in the order of acceptance. Zero is normal; −100 to 100. Of every
    /// eight that are sent, one is the one that was accepted first, so that nothing starves. Within a
    /// lane it doesn't count.
    #[uniffi(default = 0)]
    pub priority: i32,
    /// After this time it isn't worth sending any more. What may already have happened is then
    /// held for a decision instead of being called expired.
    #[uniffi(default = None)]
    pub expires_at: Option<SystemTime>,
    /// Ordering key, of the account: within a lane, strictly first in, first out, one in flight.
    /// Without one it waits for no other.
    #[uniffi(default = None)]
    pub lane: Option<String>,
    /// What becomes of the lane if this one doesn't succeed. Left out: `Block`.
    #[uniffi(default = None)]
    pub lane_policy: Option<LanePolicy>,
    /// Latest-wins key, of the account, for writes that overwrite, for example `draft/42`: an older
    /// submission of the key that hasn't been sent is superseded by this one. Only where the effect is
    /// `Overwrite`, or the server profile says `latest_wins`, or for a `GET` without an effect, whose
    /// latest result `current` gives; not together with a lane.
    #[uniffi(default = None)]
    pub replaces: Option<String>,
    /// Sent only after these have succeeded: submissions of the same account that were accepted before.
    /// If one ends without success, this one is rejected.
    #[uniffi(default = [])]
    pub after: Vec<SubmissionId>,
    /// Parts of the request that are taken from the results of parents.
    #[uniffi(default = [])]
    pub parts: Vec<ParentPart>,
    /// How to ask the server whether it took effect.
    #[uniffi(default = None)]
    pub probe: Option<StatusProbe>,
    /// Wait for a network that costs nothing by the byte, as `network_available` tells of it; until
    /// somebody has told, none does. A request that is under way when the network changes is stopped.
    #[uniffi(default = false)]
    pub unmetered_only: bool,
}

impl Submission {
    /// A submission without headers or body. Add them with the setters.
    pub fn new(id: SubmissionId, method: &str, url: &str) -> Self {
        Self {
            id,
            account: None,
            method: method.to_owned(),
            url: url.to_owned(),
            effect: None,
            headers: Vec::new(),
            body: Body::Empty,
            priority: 0,
            expires_at: None,
            lane: None,
            lane_policy: None,
            replaces: None,
            after: Vec::new(),
            parts: Vec::new(),
            probe: None,
            unmetered_only: false,
        }
    }

    /// A `POST`, the usual case.
    pub fn post(id: SubmissionId, url: &str) -> Self {
        Self::new(id, "POST", url)
    }

    /// A `GET`: something to fetch.
    pub fn get(id: SubmissionId, url: &str) -> Self {
        Self::new(id, "GET", url)
    }

    /// Sets a JSON body. The text is sent as it is, byte for byte.
    #[must_use]
    pub fn json(mut self, text: impl Into<String>) -> Self {
        self.body = Body::Json { text: text.into() };
        self
    }

    /// Sets a body of any bytes.
    #[must_use]
    pub fn bytes(mut self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Bytes {
            content_type: content_type.to_owned(),
            bytes: bytes.into(),
        };
        self
    }

    /// Sets the body to what is in a file.
    #[must_use]
    pub fn file(mut self, content_type: &str, path: impl Into<String>) -> Self {
        self.body = Body::File {
            content_type: content_type.to_owned(),
            path: path.into(),
        };
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(Header {
            name: name.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    /// Sets the effect.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the lane.
    #[must_use]
    pub fn lane(mut self, lane: impl Into<String>) -> Self {
        self.lane = Some(lane.into());
        self
    }

    /// Sets what becomes of the lane if this one doesn't succeed.
    #[must_use]
    pub fn lane_policy(mut self, policy: LanePolicy) -> Self {
        self.lane_policy = Some(policy);
        self
    }

    /// Sets the latest-wins key.
    #[must_use]
    pub fn replaces(mut self, key: impl Into<String>) -> Self {
        self.replaces = Some(key.into());
        self
    }

    /// Adds a parent: this one is sent after that has succeeded.
    #[must_use]
    pub fn after(mut self, parent: SubmissionId) -> Self {
        self.after.push(parent);
        self
    }

    /// Adds a part that is taken from a parent's result.
    #[must_use]
    pub fn part(mut self, parent: SubmissionId, from: PartSource, into: PartTarget) -> Self {
        self.parts.push(ParentPart { parent, from, into });
        self
    }

    /// Sets how to ask the server whether it took effect.
    #[must_use]
    pub fn probe(mut self, probe: StatusProbe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Sets whose it is.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// Sets the time after which it isn't worth sending any more.
    #[must_use]
    pub fn expires_at(mut self, time: SystemTime) -> Self {
        self.expires_at = Some(time);
        self
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("effect", &self.effect)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// How often the action may happen at the server, and what protects it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, uniffi::Enum,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A safe method: it changes nothing, so it is never in doubt.
    #[serde(rename = "none")]
    Safe,
    /// Naturally idempotent: a repeat overwrites with the same. Its key never gets too old.
    Overwrite,
    /// The server recognises the key and performs the action once. The default.
    Keyed,
    /// The server doesn't recognise repeats: after an attempt in doubt nothing is sent again
    /// without a decision.
    Unkeyed,
}

/// A header to store with a submission.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct Header {
    /// The name, case-insensitive.
    pub name: String,
    /// The value: visible ASCII, spaces and tabs.
    pub value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The bytes to send.
#[derive(Clone, PartialEq, Eq, uniffi::Enum)]
#[uniffi::export(Debug)]
pub enum Body {
    /// Nothing; `Content-Length: 0` where the method expects a body.
    Empty,
    /// Any bytes.
    Bytes {
        /// The media type, for example `image/jpeg`.
        content_type: String,
        /// The bytes, sent as they are.
        bytes: Vec<u8>,
    },
    /// JSON with `Content-Type: application/json`. The text must be valid JSON and is sent byte
    /// for byte, with its own white space and order of keys.
    Json {
        /// The JSON text.
        text: String,
    },
    /// What is in a file, copied when it is submitted: the app may delete the file then. It is sent
    /// as it is; nobody looks into it. Only a regular file, and no symbolic link. `submit` takes as
    /// long as reading the file, and copying it where the file system can't clone.
    File {
        /// The media type, for example `image/jpeg`.
        content_type: String,
        /// The path of the file; not a URI.
        path: String,
    },
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Bytes { bytes, .. } => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Json { text } => write!(f, "Json({} bytes)", text.len()),
            Self::File { .. } => f.write_str("File"),
        }
    }
}

/// A header's name: a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
