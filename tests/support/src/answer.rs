//! An answer as data: what is stored under a key, and what becomes a response.

use std::time::SystemTime;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::http::StatusCode;
use serde::Serialize;

/// The content type of every success of the server.
const JSON: &str = "application/json";
/// The content type of every refusal (RFC 9457).
const PROBLEM: &str = "application/problem+json";

/// An answer that can be stored, replayed and cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
}

/// The members of a problem document that clients may rely on.
#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
}

impl Answer {
    /// A JSON answer.
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self {
                status,
                headers: Vec::new(),
                content_type: Some(JSON.to_owned()),
                body: body.into(),
            },
            Err(error) => Self::broken(&error.to_string()),
        }
    }

    /// A refusal; `code` is its machine-readable name.
    fn problem(status: u16, code: &str, title: &str, detail: &str) -> Self {
        let problem = Problem {
            r#type: format!("urn:reference-server:{code}"),
            title,
            status,
            code,
            detail,
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        Self {
            status,
            headers: Vec::new(),
            content_type: Some(PROBLEM.to_owned()),
            body: body.into(),
        }
    }

    /// `place` says in words where the key should be.
    pub(crate) fn key_missing(place: &str) -> Self {
        let detail = format!("This request needs an idempotency key {place}.");
        Self::problem(
            400,
            "idempotency_key_missing",
            "Idempotency key is missing",
            &detail,
        )
    }

    pub(crate) fn unauthorized() -> Self {
        let mut answer = Self::problem(
            401,
            "credential_refused",
            "The credential is not accepted",
            "Authorization is missing, or its value is not, or no longer, accepted.",
        );
        answer
            .headers
            .push(("WWW-Authenticate".to_owned(), "Bearer".to_owned()));
        answer
    }

    pub(crate) fn not_found() -> Self {
        Self::problem(
            404,
            "not_found",
            "Not found",
            "No effect has this path or key.",
        )
    }

    pub(crate) fn in_progress() -> Self {
        Self::problem(
            409,
            "idempotency_request_in_progress",
            "A request with this key is in progress",
            "An earlier request with the same idempotency key has not been answered yet.",
        )
    }

    pub(crate) fn key_reused() -> Self {
        Self::problem(
            422,
            "idempotency_key_reused",
            "Idempotency key is already used",
            "The key was used before with another method, path, query or body.",
        )
    }

    /// The error of a script, which has no reason but the script.
    pub(crate) fn scripted_error(status: u16) -> Self {
        Self::problem(
            status,
            "scripted",
            "Scripted error",
            "The test asked for this error.",
        )
    }

    /// A control request that cannot be followed.
    pub(crate) fn control_refused(status: u16, detail: &str) -> Self {
        Self::problem(status, "control_refused", "Control request refused", detail)
    }

    /// The server itself failed: its database, or a script that cannot be sent.
    pub(crate) fn broken(detail: &str) -> Self {
        Self::problem(
            500,
            "reference_server_failed",
            "The reference server failed",
            detail,
        )
    }

    /// A 304 in its place, if its entity-tag is the one that the client asks by (RFC 9110, section 13.1.2).
    /// Tags in lists aren't looked at.
    pub(crate) fn unless_known(mut self, asked: Option<&str>) -> Self {
        let opaque = |tag: &str| tag.trim_start_matches("W/").to_owned();
        let own = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("etag"))
            .map(|(_, tag)| opaque(tag));
        if self.status == 200 && own.is_some() && own == asked.map(opaque) {
            self.status = 304;
            self.content_type = None;
            self.body = Bytes::new();
        }
        self
    }

    /// Whether HTTP can carry this answer.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.try_response().map(|_| ())
    }

    /// The response.
    ///
    /// An answer that HTTP cannot carry comes from a script, so it is told as a plain 500 in
    /// place of a panic in the middle of somebody's test.
    pub(crate) fn response(&self) -> Response<Bytes> {
        self.try_response().unwrap_or_else(|reason| {
            let mut response = Response::new(Self::broken(&reason).body);
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    fn try_response(&self) -> Result<Response<Bytes>, String> {
        let mut response = Response::new(self.body.clone());
        // hyper sends no 1xx as a final answer.
        *response.status_mut() = StatusCode::from_u16(self.status)
            .ok()
            .filter(|status| (200..600).contains(&status.as_u16()))
            .ok_or_else(|| format!("the status {} is not between 200 and 599", self.status))?;
        if let Some(content_type) = &self.content_type {
            let value = HeaderValue::from_str(content_type)
                .map_err(|_| format!("`{content_type}` is not a content type"))?;
            response.headers_mut().insert(CONTENT_TYPE, value);
        }
        let mut dated = false;
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| format!("`{name}` is not a header name"))?;
            // hyper frames the message itself; a second opinion would make it a broken one.
            if [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&header) {
                return Err(format!("the header `{name}` is the server's own"));
            }
            let content = HeaderValue::from_str(value)
                .map_err(|_| format!("the value of `{name}` is not a header value"))?;
            if header == DATE {
                // The server's own is not sent besides; an empty one stands for none at all.
                dated = true;
                if content.is_empty() {
                    continue;
                }
            }
            response.headers_mut().append(header, content);
        }
        if !dated {
            let now = httpdate::fmt_http_date(SystemTime::now());
            if let Ok(now) = HeaderValue::from_str(&now) {
                response.headers_mut().insert(DATE, now);
            }
        }
        Ok(response)
    }
}
