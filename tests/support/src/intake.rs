//! What is taken from a request: its head, and a digest of its body.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, IF_NONE_MATCH, USER_AGENT};
use hyper::http::request::Parts;
use sha2::{Digest, Sha256};

use crate::key_place::KeyPlace;
use crate::options::Options;
use crate::playbook::Head;
use crate::socket::Line;

/// The longest body that is kept to look for a key in it.
const KEPT_LIMIT: u64 = 16 * 1024 * 1024;

/// A complete body. Only this is kept of it, so that no body is too large.
pub(crate) struct Payload {
    pub(crate) sha256: [u8; 32],
    pub(crate) hex: String,
    pub(crate) bytes: u64,
    pub(crate) key: Option<String>,
}

/// A body that ended before it was complete.
pub(crate) struct BodyCut;

impl Payload {
    /// Reads a body to its end, finds its key, and says to `seen` how many bytes have come.
    pub(crate) async fn read(
        mut body: Incoming,
        place: &KeyPlace,
        seen: impl Fn(u64),
    ) -> Result<Self, BodyCut> {
        let mut digest = Sha256::new();
        let mut bytes = 0_u64;
        let mut kept = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyCut)?;
            if let Some(data) = frame.data_ref() {
                digest.update(data);
                bytes += data.len() as u64;
                seen(bytes);
                if place.is_in_body() && bytes <= KEPT_LIMIT {
                    kept.extend_from_slice(data);
                }
            }
        }
        let key = if bytes <= KEPT_LIMIT {
            place.in_body(&kept)
        } else {
            None
        };
        let sha256: [u8; 32] = digest.finalize().into();
        Ok(Self {
            sha256,
            hex: hex(&sha256),
            bytes,
            key,
        })
    }
}

/// Reads a body until so many bytes have come or its end, and leaves the rest.
pub(crate) async fn skim(mut body: Incoming, enough: u64, seen: impl Fn(u64)) {
    let mut bytes = 0_u64;
    while bytes < enough
        && let Some(Ok(frame)) = body.frame().await
    {
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        seen(bytes);
    }
}

/// Takes from the head what is recorded.
pub(crate) fn head(parts: &Parts, options: &Options, line: &Line) -> Head {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    Head {
        method: parts.method.as_str().to_owned(),
        path: path.to_owned(),
        key: options.key_place.in_head(parts, &options.key_header),
        principal: parts
            .headers
            .get(AUTHORIZATION)
            .map(|credential| principal(credential.as_bytes())),
        user_agent: text(&parts.headers, USER_AGENT.as_str()),
        if_none_match: text(&parts.headers, IF_NONE_MATCH.as_str()),
        connection: line.connection,
        nth_on_connection: line.next_request(),
    }
}

pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A name for whoever has this credential, from which the credential cannot be read.
pub(crate) fn principal(credential: &[u8]) -> String {
    let mut name = hex(&Sha256::digest(credential));
    name.truncate(16);
    name
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
