//! What a submission *is*, in 33 bytes: tells a repeat from a reuse of its ID.

use sha2::{Digest, Sha256};

/// The format of the fingerprint. A new one gets a new number, so that an old row is never taken
/// for a reuse only because the format has changed.
const VERSION: u8 = 1;

/// A version byte and SHA-256 over the length-prefixed parts of a request's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 33]);

/// The parts of a request that make its identity. Other stored headers are frozen too, but an app
/// update may change its `User-Agent` without making a new action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Whose.
    pub account: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The canonical absolute URL.
    pub url: &'a str,
    /// The media type.
    pub content_type: Option<&'a str>,
    /// Place and spelling of the key, in their persisted form.
    pub key_place: &'a str,
    /// SHA-256 of the body.
    pub body_digest: &'a [u8; 32],
    /// What is taken from parents' results, in its persisted form. Without any it adds nothing, so that
    /// fingerprints from before there were parts stay what they are.
    pub parts: Option<&'a str>,
}

impl Fingerprint {
    /// The fingerprint of an identity.
    pub fn of(identity: &Identity<'_>) -> Self {
        let mut hash = PartHash::new();
        hash.optional(identity.account.map(str::as_bytes));
        hash.part(identity.method.as_bytes());
        hash.part(identity.url.as_bytes());
        hash.optional(identity.content_type.map(str::as_bytes));
        hash.part(identity.key_place.as_bytes());
        hash.part(identity.body_digest);
        if let Some(parts) = identity.parts {
            hash.part(parts.as_bytes());
        }
        let mut bytes = [VERSION; 33];
        if let Some((_, digest)) = bytes.split_first_mut() {
            digest.copy_from_slice(&hash.finish());
        }
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 33] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 33]) -> Self {
        Self(bytes)
    }
}

impl<'a> Identity<'a> {
    /// The names of the parts in which two identities differ.
    pub fn differences(&self, other: &Identity<'a>) -> Vec<String> {
        let parts = [
            ("account", self.account != other.account),
            ("method", self.method != other.method),
            ("url", self.url != other.url),
            ("content_type", self.content_type != other.content_type),
            ("key_place", self.key_place != other.key_place),
            ("body", self.body_digest != other.body_digest),
            ("parts", self.parts != other.parts),
        ];
        parts
            .iter()
            .filter(|(_, differs)| *differs)
            .map(|(name, _)| (*name).to_owned())
            .collect()
    }
}

/// SHA-256 over length-prefixed parts, so that no two lists of parts look alike.
pub(crate) struct PartHash(Sha256);

impl PartHash {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn optional(&mut self, bytes: Option<&[u8]>) {
        self.0.update([u8::from(bytes.is_some())]);
        if let Some(bytes) = bytes {
            self.part(bytes);
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// SHA-256 of some bytes.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
