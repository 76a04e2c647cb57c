//! Where the idempotency key is in a request.

use hyper::http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::intake::text;

/// Where the server looks for the key. Each real API has its own idea.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlace {
    /// In the header [`Options::key_header`](crate::Options::key_header).
    #[default]
    Header,
    /// In the JSON body at this pointer (RFC 6901), `/client/reference` for example: a string or
    /// a number. Bodies above 16 MiB are not looked into.
    ///
    /// The key is known only once the body is complete. Scripts for it by
    /// [`Matcher::Key`](crate::Matcher::Key) come too late; use the path.
    JsonPointer(String),
    /// In the query, under this name.
    Query(String),
    /// The segment of the path that follows this prefix: `/orders/` finds the key of
    /// `/orders/k-1/lines`.
    PathSegment(String),
}

impl KeyPlace {
    /// The key, if it is in the head.
    pub(crate) fn in_head(&self, parts: &Parts, header: &str) -> Option<String> {
        let key = match self {
            Self::Header => text(&parts.headers, header),
            Self::JsonPointer(_) => None,
            Self::Query(name) => query(parts.uri.query().unwrap_or_default(), name),
            Self::PathSegment(prefix) => parts
                .uri
                .path()
                .strip_prefix(prefix.as_str())
                .and_then(|rest| rest.split('/').next())
                .map(decoded),
        };
        key.filter(|key| !key.is_empty())
    }

    /// Whether a key can be there at all.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (place, fits) = match self {
            Self::Header => return Ok(()),
            Self::JsonPointer(place) | Self::PathSegment(place) => (place, place.starts_with('/')),
            Self::Query(place) => (place, !place.is_empty()),
        };
        if fits { Ok(()) } else { Err(place.clone()) }
    }

    /// Whether the body is needed to find the key.
    pub(crate) fn is_in_body(&self) -> bool {
        matches!(self, Self::JsonPointer(_))
    }

    /// The key, if it is in the body.
    pub(crate) fn in_body(&self, body: &[u8]) -> Option<String> {
        let Self::JsonPointer(pointer) = self else {
            return None;
        };
        match serde_json::from_slice::<Value>(body)
            .ok()?
            .pointer(pointer)?
        {
            Value::String(key) if !key.is_empty() => Some(key.clone()),
            Value::Number(key) => Some(key.to_string()),
            _ => None,
        }
    }

    /// The place in words.
    pub(crate) fn describe(&self, header: &str) -> String {
        match self {
            Self::Header => format!("in the header {header}"),
            Self::JsonPointer(pointer) => format!("in the JSON body at {pointer}"),
            Self::Query(name) => format!("in the query as {name}"),
            Self::PathSegment(prefix) => format!("in the path after {prefix}"),
        }
    }
}

/// The first value of a name in a query.
pub(crate) fn query(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(found, _)| found == name)
        .map(|(_, value)| value.into_owned())
}

/// Undoes percent encoding. A plus sign stays one, as it does in a path.
pub(crate) fn decoded(segment: &str) -> String {
    let escaped = segment
        .replace('+', "%2B")
        .replace('&', "%26")
        .replace('=', "%3D");
    form_urlencoded::parse(escaped.as_bytes())
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned())
}
