//! The submission ID: one UUID per business action, and by default the key that the server sees.

use std::fmt;
use std::str::FromStr;

use uuid::{Builder, Uuid};

use crate::clock::WallMs;

/// The namespace of derived IDs. It is part of the persisted format: changing it would give every
/// derived action a second key.
const NAMESPACE: Uuid = Uuid::from_bytes([
    0x5b, 0x8c, 0x1f, 0x0e, 0x2d, 0x6a, 0x4e, 0x57, 0x9c, 0x1b, 0x7a, 0x30, 0xd4, 0x91, 0x66, 0xc2,
]);

/// The identity of one business action, for example "create this order".
///
/// A UUID of 36 lower-case characters. Keep it with your own record of the action: submitting
/// again with the same ID converges on the same submission, and only a new ID is a new action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubmissionId(Uuid);

impl SubmissionId {
    /// Mints a new, random, time-ordered ID (UUID version 7, RFC 9562) from the system's clock
    /// and randomness.
    ///
    /// Prefer [`Outbox::begin`](crate::Outbox::begin), which remembers the ID: one minted here is
    /// lost when the process dies before it was saved.
    ///
    /// # Errors
    /// [`IdError::NoRandomness`] if the system has no randomness to give.
    pub fn new() -> Result<Self, IdError> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|_| IdError::NoRandomness)?;
        let wall = std::time::SystemTime::now();
        Ok(Self::from_parts(WallMs::from_system_time(wall), random))
    }

    /// A version 7 ID of a given time and given random bytes.
    pub(crate) fn from_parts(at: WallMs, random: [u8; 10]) -> Self {
        let millis = u64::try_from(at.0).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// Derives the ID of an action that several devices, or a reinstalled app, must agree on.
    ///
    /// The same account, action and business key always give the same ID (UUID version 5, RFC
    /// 9562, over length-prefixed parts, so that `("ab", "c")` and `("a", "bc")` differ).
    pub fn derived(account: Option<&str>, action: &str, business_key: &str) -> Self {
        let mut name = Vec::new();
        match account {
            None => name.push(0),
            Some(account) => {
                name.push(1);
                push_part(&mut name, account);
            }
        }
        push_part(&mut name, action);
        push_part(&mut name, business_key);
        Self(Uuid::new_v5(&NAMESPACE, &name))
    }

    /// Reads an ID written as a hyphenated UUID. Upper case is accepted and becomes lower case.
    ///
    /// # Errors
    /// [`IdError::Malformed`] if it is anything else, [`IdError::Nil`] for the nil UUID.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let hyphenated = text.len() == 36;
        let uuid = Uuid::try_parse(text).ok().filter(|_| hyphenated);
        match uuid {
            None => Err(IdError::Malformed),
            Some(uuid) if uuid.is_nil() || uuid.is_max() => Err(IdError::Nil),
            Some(uuid) => Ok(Self(uuid)),
        }
    }

    /// The time a version 7 ID was minted at, or `None` for another version.
    pub(crate) fn minted_at(&self) -> Option<WallMs> {
        if self.0.get_version_num() != 7 {
            return None;
        }
        let [a, b, c, d, e, f, ..] = *self.0.as_bytes();
        Some(WallMs(i64::from_be_bytes([0, 0, a, b, c, d, e, f])))
    }

    /// True for an ID made by [`SubmissionId::derived`] or by any other version 5 scheme.
    pub(crate) fn is_derived(&self) -> bool {
        self.0.get_version_num() == 5
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

fn push_part(name: &mut Vec<u8>, part: &str) {
    name.extend_from_slice(&(part.len() as u64).to_be_bytes());
    name.extend_from_slice(part.as_bytes());
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

impl fmt::Debug for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SubmissionId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for SubmissionId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<SubmissionId> for String {
    fn from(id: SubmissionId) -> Self {
        id.to_string()
    }
}

/// Why a text is not a submission ID, or why none could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum IdError {
    /// The text is not a UUID.
    #[error(
        "a submission ID is a UUID of 36 characters, like 0191e2a4-7c1e-7d3b-9a52-3f1f6a1c0b55"
    )]
    Malformed,
    /// The nil or the max UUID: usually a default value that was never filled in.
    #[error("the nil and the max UUID cannot identify a submission; call begin(slot) for a new ID")]
    Nil,
    /// The system gave no randomness.
    #[error("the system gave no randomness for a new ID; try again")]
    NoRandomness,
}

/// Mints a new time-ordered submission ID. `begin(slot)` is the safer way, since it remembers it.
#[uniffi::export]
pub fn new_submission_id() -> Result<SubmissionId, IdError> {
    SubmissionId::new()
}

/// Derives the ID of an action that several devices must agree on: the same account, action and
/// business key always give the same ID.
#[uniffi::export]
pub fn derive_submission_id(
    account: Option<String>,
    action: String,
    business_key: String,
) -> SubmissionId {
    SubmissionId::derived(account.as_deref(), &action, &business_key)
}

/// Reads a submission ID from its text, and gives it back in its one canonical spelling.
#[uniffi::export]
pub fn parse_submission_id(text: String) -> Result<SubmissionId, IdError> {
    SubmissionId::parse(&text)
}

impl serde::Serialize for SubmissionId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SubmissionId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
