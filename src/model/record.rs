//! One record of a batch, read strictly once.

use super::fingerprint::digest;
use super::id::SubmissionId;
use super::json_text::{self, Added, Astray};

/// A JSON object with an ID of its own, as it goes to the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// As it stands in its member.
    pub(crate) id: String,
    /// The text.
    pub(crate) body: String,
}

/// The first half of SHA-256: enough against flipped bits.
pub(crate) fn checksum(body: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest(body)) {
        *to = from;
    }
    half
}

impl Record {
    /// Reads a record, byte for byte, but for an ID that it lacks and, for `one_line`, the line breaks
    /// between its tokens.
    pub(crate) fn read(
        text: &str,
        id_member: &str,
        one_line: bool,
        fresh: impl FnOnce() -> SubmissionId,
    ) -> Result<Self, &'static str> {
        let text = json_text::value(text).ok_or("it isn't JSON")?;
        let pointer = format!("/{}", id_member.replace('~', "~0").replace('/', "~1"));
        let fresh = fresh().to_string();
        let (id, body) = match json_text::add(text, &pointer, &json_text::quoted(&fresh)) {
            Ok(Added::Text(with_id)) => (fresh, with_id),
            Ok(Added::There(id)) => (read_id(id)?, text.to_owned()),
            Err(Astray::Repeated) => return Err("it has the member of its ID more than once"),
            Err(Astray::Nothing | Astray::NotJson | Astray::Pointer) => {
                return Err("it isn't a JSON object");
            }
        };
        // Within a text JSON has no line breaks as they are, only escaped ones.
        let body = match one_line {
            true => body.replace(['\n', '\r'], ""),
            false => body,
        };
        Ok(Self { id, body })
    }
}

fn read_id(json: &str) -> Result<String, &'static str> {
    match json.as_bytes().first() {
        Some(b'"') => {
            serde_json::from_str(json).map_err(|_| "its ID isn't a text that can be read")
        }
        Some(b'-' | b'0'..=b'9') => Ok(json.to_owned()),
        _ => Err("its ID is neither a text nor a number"),
    }
}
