//! The frozen body: read strictly, once. Its fingerprint is that of its bytes, wherever they are
//! kept.

use super::fingerprint::digest;
use super::headers::check_value;
use super::request::invalid;
use super::submission::Body;
use crate::error::OutboxError;
use crate::policy::limits::Limits;

/// The bytes that are sent at every attempt.
#[derive(Clone, PartialEq, Eq)]
pub enum FrozenBody {
    /// In the row.
    Inline(Vec<u8>),
    /// In a file beside the database.
    File {
        /// Its name in the folder of bodies. Empty as long as nothing has been copied there.
        name: String,
        /// Its length in bytes.
        length: u64,
    },
}

impl FrozenBody {
    /// The length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// The bytes, if they are in the row.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Inline(bytes) => Some(bytes),
            Self::File { .. } => None,
        }
    }
}

/// What was read, at submit, of the file that a body comes from.
pub enum FileContent {
    /// All of it: it is small.
    Whole(Vec<u8>),
    /// What it is to be told by. The bytes are copied later, if they have to be.
    Measured {
        /// Bytes.
        length: u64,
        /// SHA-256 of them.
        digest: [u8; 32],
    },
}

/// A body that has been read.
pub(super) struct Read {
    pub(super) content_type: Option<String>,
    pub(super) body: FrozenBody,
    pub(super) digest: [u8; 32],
    pub(super) from_file: bool,
}

impl Read {
    pub(super) fn bytes(content_type: Option<String>, bytes: Vec<u8>, from_file: bool) -> Self {
        Self {
            content_type,
            digest: digest(&bytes),
            body: FrozenBody::Inline(bytes),
            from_file,
        }
    }
}

pub(super) fn read(
    body: Body,
    file: Option<FileContent>,
    limits: &Limits,
) -> Result<Read, OutboxError> {
    let read = match body {
        Body::Empty => Read::bytes(None, Vec::new(), false),
        Body::Bytes {
            content_type,
            bytes,
        } => Read::bytes(Some(read_content_type(content_type)?), bytes, false),
        Body::Json { text } => {
            let content_type = "application/json".to_owned();
            Read::bytes(Some(content_type), text.into_bytes(), false)
        }
        Body::File { content_type, .. } => {
            let content_type = Some(read_content_type(content_type)?);
            match file {
                Some(FileContent::Whole(bytes)) => Read::bytes(content_type, bytes, true),
                Some(FileContent::Measured { length, digest }) => Read {
                    content_type,
                    body: FrozenBody::File {
                        name: String::new(),
                        length,
                    },
                    digest,
                    from_file: true,
                },
                None => return Err(invalid("body.path", "the file has not been read")),
            }
        }
    };
    check_size(read.body.length(), limits)?;
    // A file is sent as it is; nobody has looked into it.
    if !read.from_file
        && read.content_type.as_deref() == Some("application/json")
        && !read.body.as_bytes().is_some_and(is_json)
    {
        return Err(invalid("body", "the text is not valid JSON"));
    }
    Ok(read)
}

fn read_content_type(content_type: String) -> Result<String, OutboxError> {
    check_value("content_type", &content_type)?;
    if content_type.contains('/') {
        Ok(content_type)
    } else {
        Err(invalid(
            "content_type",
            "use a media type, such as image/jpeg",
        ))
    }
}

pub(crate) fn check_size(bytes: u64, limits: &Limits) -> Result<(), OutboxError> {
    let most = limits.max_body_bytes;
    if bytes > most {
        return Err(OutboxError::BodyTooLarge { bytes, most });
    }
    Ok(())
}

/// RFC 8259. Skipping a string leaves its bytes unread, so that they are looked at before.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok())
}
