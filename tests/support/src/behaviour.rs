//! What the server can be told to do with a request, and which requests are meant.
//!
//! Every behaviour has two halves: what happens to the *effect*, and what the client gets to
//! *see*. The interesting ones let the two differ.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::gzip::Gzip;
use crate::raw::{End, RawAnswer};

/// The name under which [`Behaviour::Hang`] waits for
/// [`ReferenceServer::release`](crate::ReferenceServer::release).
pub const HANG: &str = "hang";

/// What the server does with one request.
///
/// The JSON form is the snake_case name; a variant with a value is an object with that name as its
/// only member. Times are milliseconds:
///
/// ```
/// use std::time::Duration;
/// use submit_once_reference_server::Behaviour;
///
/// let late: Behaviour = serde_json::from_str(r#"{"answer_late": 250}"#)?;
/// assert_eq!(late, Behaviour::AnswerLate(Duration::from_millis(250)));
/// let dropped: Behaviour = serde_json::from_str(r#""commit_then_drop""#)?;
/// assert_eq!(dropped, Behaviour::CommitThenDrop);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Refusals of the server itself (400, 409, 422) are given as they are; a behaviour that such a
/// request drew is used up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Behaviour {
    /// Effect and answer.
    #[default]
    Normal,
    /// The effect is committed, then the connection closes before the first byte of an answer.
    CommitThenDrop,
    /// The effect is committed at once, the answer is sent after this time. The key is no longer
    /// locked meanwhile: a repeat is replayed. Ends early when the client hangs up.
    AnswerLate(#[serde(with = "crate::forms::milliseconds")] Duration),
    /// The handler works this long before its effect, whether the client is still there or not,
    /// and holds the key's lock all the while.
    WorkLate(#[serde(with = "crate::forms::milliseconds")] Duration),
    /// The effect is committed; the answer declares its whole length, sends half, and the
    /// connection closes.
    AnswerHalf,
    /// An error without an effect. The key is not stored, so a repeat may succeed.
    ErrorBefore {
        /// The status, 200 to 599.
        status: u16,
        /// Further headers as pairs of name and value, `Retry-After` for example.
        #[serde(default)]
        headers: Vec<(String, String)>,
    },
    /// The effect and its 201 are committed under the key, but this answer is an error. A repeat
    /// replays the 201.
    ErrorAfter {
        /// The status, 200 to 599.
        status: u16,
    },
    /// No effect; the error itself is stored under the key, and repeats get it again, with the
    /// replay marker, until the key is forgotten.
    FreezeError {
        /// The status, 200 to 599.
        status: u16,
    },
    /// No answer until [`HANG`] is released or the client hangs up. With `commit` the effect
    /// happens first. Without it the handler stands before its effect: released, it goes on as
    /// usual; left by its client, it ends without an effect.
    Hang {
        /// Whether the effect happens before the server falls silent.
        commit: bool,
    },
    /// This answer, whatever was asked, without an effect: a captive portal, a redirect, a proxy, a
    /// configuration. A 200 with an `ETag` is a 304 to a client that asks by that.
    Respond {
        /// The status, 200 to 599.
        status: u16,
        /// Further headers as pairs of name and value, `Location` for example.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body. In JSON a string, or a list of bytes.
        #[serde(default, with = "crate::forms::text_or_bytes")]
        body: Vec<u8>,
        /// The content type; `None` sends none.
        #[serde(default)]
        content_type: Option<String>,
    },
    /// The handler stands right before its effect until this name is released, whether its client
    /// is still there or not, and holds the key's lock.
    HoldBefore(String),
    /// The handler stands right after its effect, before any answer, until this name is released.
    /// It still holds the key's lock.
    HoldAfter(String),
    /// Bytes that hyper would not send, and an end of the connection, once the request has been
    /// read whole. Over HTTP/2, which has no such bytes, a 500 without an effect.
    Raw(RawAnswer),
    /// The connection ends while the body is still coming, once this many bytes of it have come
    /// (or all, if there are fewer). No effect, no answer.
    CutRequest {
        /// How many bytes are read at least; what came in the same packet is counted too.
        after_bytes: u64,
        /// How the connection ends. Default in JSON: with a RST.
        #[serde(default = "reset")]
        end: End,
    },
    /// An error as soon as the head has come; the body is not read, and the connection closes.
    /// No effect.
    ErrorEarly {
        /// The status, 200 to 599.
        status: u16,
        /// Further headers as pairs of name and value.
        #[serde(default)]
        headers: Vec<(String, String)>,
    },
    /// The end of a kept-alive connection that its client does not know of yet: a request that
    /// reuses a connection is read, and the connection closes without an answer or an effect.
    ///
    /// The first request of a connection does not draw it: it stays in its script.
    CloseAfterRead,
    /// The effect; its answer is compressed.
    Gzip(Gzip),
}

/// What `cut_request` does unless it is told.
fn reset() -> End {
    End::Reset
}

impl Behaviour {
    /// [`Behaviour::ErrorBefore`] with 503 and `Retry-After`.
    #[must_use]
    pub fn unavailable(retry_after_seconds: u64) -> Self {
        Self::ErrorBefore {
            status: 503,
            headers: vec![("Retry-After".to_owned(), retry_after_seconds.to_string())],
        }
    }

    /// [`Behaviour::Respond`] with a body and its content type.
    #[must_use]
    pub fn respond(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Respond {
            status,
            headers: Vec::new(),
            body: body.into(),
            content_type: Some(content_type.to_owned()),
        }
    }

    /// [`Behaviour::Respond`] that points elsewhere.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::Respond {
            status,
            headers: vec![("Location".to_owned(), location.to_owned())],
            body: Vec::new(),
            content_type: None,
        }
    }

    /// The answer that this behaviour gives without looking at key or effect, if it is of that
    /// kind.
    pub(crate) fn answer_before(&self) -> Option<Answer> {
        match self {
            Self::ErrorBefore { status, headers } | Self::ErrorEarly { status, headers } => {
                Some(Answer {
                    headers: headers.clone(),
                    ..Answer::scripted_error(*status)
                })
            }
            // What the pieces speak of.
            Self::Raw(RawAnswer { commit: false, .. }) => Some(Answer::scripted_error(503)),
            Self::Respond {
                status,
                headers,
                body,
                content_type,
            } => Some(Answer {
                status: *status,
                headers: headers.clone(),
                content_type: content_type.clone(),
                body: body.clone().into(),
            }),
            Self::Normal
            | Self::CommitThenDrop
            | Self::AnswerLate(_)
            | Self::WorkLate(_)
            | Self::AnswerHalf
            | Self::ErrorAfter { .. }
            | Self::FreezeError { .. }
            | Self::Hang { .. }
            | Self::HoldBefore(_)
            | Self::HoldAfter(_)
            | Self::Raw(_)
            | Self::CutRequest { .. }
            | Self::CloseAfterRead
            | Self::Gzip(_) => None,
        }
    }

    /// Itself without the body of [`Behaviour::Respond`] and the pieces of [`Behaviour::Raw`],
    /// which can be large and are known to the test anyway.
    pub(crate) fn without_body(&self) -> Self {
        match self {
            Self::Respond {
                status,
                headers,
                body: _,
                content_type,
            } => Self::Respond {
                status: *status,
                headers: headers.clone(),
                body: Vec::new(),
                content_type: content_type.clone(),
            },
            Self::Raw(raw) => Self::Raw(RawAnswer {
                commit: raw.commit,
                pieces: Vec::new(),
                end: raw.end,
                delivered: raw.delivered,
            }),
            other => other.clone(),
        }
    }

    /// Whether the answer of this behaviour, if it has one of its own, can be sent.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::ErrorAfter { status } | Self::FreezeError { status } => {
                Answer::scripted_error(*status).check()
            }
            Self::Raw(raw) => raw.check(),
            Self::Gzip(gzip) => gzip.check(),
            other => other
                .answer_before()
                .map_or(Ok(()), |answer| answer.check()),
        }
    }
}

/// Which requests a script is for.
///
/// As JSON: `"any"`, `{"key": "k-1"}` or `{"path_prefix": "/orders"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Matcher {
    /// Every request, reads included.
    Any,
    /// Requests with exactly this key.
    Key(String),
    /// Requests whose path, with its query, begins like this.
    PathPrefix(String),
}

impl Matcher {
    /// [`Matcher::Key`].
    #[must_use]
    pub fn key(key: impl Into<String>) -> Self {
        Self::Key(key.into())
    }

    /// [`Matcher::PathPrefix`].
    #[must_use]
    pub fn path(prefix: impl Into<String>) -> Self {
        Self::PathPrefix(prefix.into())
    }

    /// Whether a request with this key and path (with query) is meant.
    #[must_use]
    pub fn matches(&self, key: Option<&str>, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Key(wanted) => key == Some(wanted.as_str()),
            Self::PathPrefix(prefix) => path.starts_with(prefix.as_str()),
        }
    }
}
