//! Headers, read strictly: what is stored with a submission, and what credentials may be.

use super::request::invalid;
use super::submission::{Header, is_token};
use crate::error::OutboxError;
use crate::policy::limits::MAX_HEADERS_BYTES;
use crate::policy::profile::{KeyPlace, ServerProfile};

const NEVER_STORED: &str = "credentials are never stored; see supply_credentials";

/// Credentials are never stored; the others belong to one connection or to the core.
pub(crate) const REFUSED_HEADERS: [(&str, &str); 15] = [
    ("authorization", NEVER_STORED),
    ("cookie", NEVER_STORED),
    ("proxy-authorization", NEVER_STORED),
    ("connection", "it belongs to one connection"),
    ("keep-alive", "it belongs to one connection"),
    ("proxy-connection", "it belongs to one connection"),
    ("te", "it belongs to one connection"),
    ("trailer", "it belongs to one connection"),
    ("transfer-encoding", "it belongs to one connection"),
    ("upgrade", "it belongs to one connection"),
    ("expect", "it belongs to one connection"),
    ("host", "it comes from the URL"),
    ("content-length", "it comes from the body"),
    ("content-type", "it comes from the body"),
    ("accept-encoding", "the core decides what it can decode"),
];

pub(super) fn read_headers(
    headers: Vec<Header>,
    profile: &ServerProfile,
) -> Result<Vec<Header>, OutboxError> {
    let key_header = match &profile.key_place {
        KeyPlace::Header { name } => Some(name.to_ascii_lowercase()),
        KeyPlace::JsonPointer { .. }
        | KeyPlace::Query { .. }
        | KeyPlace::Path { .. }
        | KeyPlace::Nowhere => None,
    };
    let mut total = 0;
    let mut read: Vec<Header> = Vec::with_capacity(headers.len());
    for Header { name, value } in headers {
        let name = name.to_ascii_lowercase();
        if !is_token(&name) {
            return Err(invalid(
                "headers",
                "a header's name is letters, digits and hyphens",
            ));
        }
        let field = format!("headers.{name}");
        if let Some((_, reason)) = REFUSED_HEADERS.iter().find(|(refused, _)| *refused == name) {
            return Err(OutboxError::HeaderRefused {
                name,
                reason: (*reason).to_owned(),
            });
        }
        if key_header.as_deref() == Some(&name) {
            return Err(OutboxError::HeaderRefused {
                name,
                reason: "the core writes the key itself".to_owned(),
            });
        }
        if read.iter().any(|other| other.name == name) {
            return Err(invalid(
                &field,
                "the header is there twice; join its values with commas",
            ));
        }
        check_value(&field, &value)?;
        total += name.len() + value.len();
        read.push(Header { name, value });
    }
    if total > MAX_HEADERS_BYTES {
        return Err(invalid(
            "headers",
            "more than servers accept (16 KiB in all)",
        ));
    }
    Ok(read)
}

/// Reads the headers of credentials: any but those that HTTP or the core writes itself.
pub(crate) fn read_credentials(
    headers: Vec<Header>,
    profile: &ServerProfile,
) -> Result<Vec<Header>, OutboxError> {
    let mut read: Vec<Header> = Vec::with_capacity(headers.len());
    for Header { name, value } in headers {
        let name = name.to_ascii_lowercase();
        let reserved = REFUSED_HEADERS
            .iter()
            .find(|(refused, reason)| *refused == name && *reason != NEVER_STORED);
        let is_key = matches!(&profile.key_place,
            KeyPlace::Header { name: key } if key.eq_ignore_ascii_case(&name));
        if !is_token(&name) || read.iter().any(|other| other.name == name) {
            return Err(invalid(
                "headers",
                "each header has a name of its own, of letters, digits and hyphens",
            ));
        }
        if reserved.is_some() || is_key {
            return Err(OutboxError::HeaderRefused {
                reason: reserved
                    .map_or("the core writes the key itself", |(_, reason)| reason)
                    .to_owned(),
                name,
            });
        }
        check_value(&format!("headers.{name}"), &value)?;
        read.push(Header { name, value });
    }
    Ok(read)
}

/// RFC 9110, section 5.5, without the obsolete bytes: visible ASCII, spaces and tabs. This keeps
/// CR, LF and NUL out, and with them a second header smuggled into the first.
pub(super) fn check_value(field: &str, value: &str) -> Result<(), OutboxError> {
    if value
        .bytes()
        .all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
    {
        Ok(())
    } else {
        Err(invalid(
            field,
            "only visible ASCII, spaces and tabs; no line break, no NUL",
        ))
    }
}
