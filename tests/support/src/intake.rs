//! What is taken from a request: its head, and a digest of its body.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use sha2::{Digest, Sha256};

use crate::playbook::Head;

/// A complete body. Only this is kept of it, so that no body is too large.
pub(crate) struct Payload {
    pub(crate) sha256: [u8; 32],
    pub(crate) hex: String,
    pub(crate) bytes: u64,
}

/// A body that ended before it was complete.
pub(crate) struct BodyCut {
    pub(crate) bytes: u64,
}

impl Payload {
    /// Reads a body to its end.
    pub(crate) async fn read(mut body: Incoming) -> Result<Self, BodyCut> {
        let mut digest = Sha256::new();
        let mut bytes = 0_u64;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| BodyCut { bytes })?;
            if let Some(data) = frame.data_ref() {
                digest.update(data);
                bytes += data.len() as u64;
            }
        }
        let sha256: [u8; 32] = digest.finalize().into();
        Ok(Self {
            sha256,
            hex: hex(&sha256),
            bytes,
        })
    }
}

/// Takes from the head what is recorded.
pub(crate) fn head(parts: &Parts, key_header: &str) -> Head {
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    Head {
        method: parts.method.as_str().to_owned(),
        path: path.to_owned(),
        key: text(&parts.headers, key_header).filter(|key| !key.is_empty()),
        principal: parts.headers.get(AUTHORIZATION).map(principal),
        user_agent: text(&parts.headers, USER_AGENT.as_str()),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// A name for whoever has this credential, from which the credential cannot be read.
fn principal(credential: &HeaderValue) -> String {
    let mut name = hex(&Sha256::digest(credential.as_bytes()));
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
