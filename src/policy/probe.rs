//! Status probes: a `GET` that tells whether an effect exists.

use std::time::Duration;

use url::{Origin, Url};

use super::answer::{Answer, Seen};
use super::profile::ServerProfile;
use super::rules::{is_pointer, says_something};
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::json_text;
use crate::model::request::read_url;

/// A question to the server whether a submission took effect: a `GET` without side effects, asked
/// with its account's credentials when nothing else can tell, so that no person has to be asked.
///
/// An answer "it is there" settles the submission as succeeded. "It isn't there" counts only if the
/// last attempt had ended at least `Limits.horizon` before the question was asked, and none began
/// since: a request may still be on its way. Anything else is no answer, and is asked again a few
/// times before a person decides. Redirects aren't followed.
///
/// Nothing else of the submission is sent: no key, no body, no stored headers. One that can never be
/// asked is refused at submit, as `Invalid` with the field `probe`.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct StatusProbe {
    /// A path or URL at the same origin as the submission's, for example `/orders?client_id={id}`.
    /// `{id}` becomes the submission ID.
    pub url: String,
    /// Where in the JSON body of a 2xx the effect is found, by RFC 6901 pointer, for example `/0` for
    /// the first of a list. A value that is there, and isn't `null`, `false` or empty, means applied,
    /// and becomes the result; else it isn't there. Left out, a 2xx means applied, and its body is the
    /// result.
    #[uniffi(default = None)]
    pub pointer: Option<String>,
    /// A 404 or 410 means "it isn't there". Otherwise they are no answer.
    #[uniffi(default = true)]
    pub missing_means_not_applied: bool,
    /// It asks for the key's record, which the server forgets, and not for the effect itself. Past the
    /// key's lifetime "it isn't there" means nothing then.
    #[uniffi(default = false)]
    pub of_key_record: bool,
}

impl StatusProbe {
    /// A probe where a 2xx means applied, and a 404 or 410 not.
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            pointer: None,
            missing_means_not_applied: true,
            of_key_record: false,
        }
    }

    /// Sets where in the answer's JSON the effect is found.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }
}

impl std::fmt::Debug for StatusProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the URL, which may name a person.
        f.debug_struct("StatusProbe")
            .field("pointer", &self.pointer)
            .finish_non_exhaustive()
    }
}

/// A probe as it is kept: its URL is absolute, and its text never changes.
#[derive(Clone, PartialEq, Eq)]
pub struct FrozenProbe {
    /// The probe, with the URL that is asked.
    pub asks: StatusProbe,
    /// The same in the form that was stored, which the checksum covers.
    pub json: String,
}

impl FrozenProbe {
    /// Reads a probe strictly.
    ///
    /// # Errors
    /// [`OutboxError::Invalid`] with the field `probe`.
    pub(crate) fn freeze(
        probe: StatusProbe,
        id: SubmissionId,
        origin: &Origin,
        base: Option<&Url>,
    ) -> Result<Self, OutboxError> {
        if probe
            .pointer
            .as_deref()
            .is_some_and(|text| !is_pointer(text))
        {
            return Err(invalid(
                "the pointer is a JSON pointer (RFC 6901), such as /0",
            ));
        }
        let text = probe.url.replace("{id}", &id.to_string());
        if text.contains(['{', '}']) {
            return Err(invalid("{id} is the only placeholder of its URL"));
        }
        let url = read_url(&text, base).map_err(|error| match error {
            OutboxError::Invalid { problem, .. } => invalid(&problem),
            error => error,
        })?;
        if url.origin() != *origin {
            return Err(invalid("ask the host that the submission goes to"));
        }
        let asks = StatusProbe {
            url: url.into(),
            ..probe
        };
        Ok(Self {
            json: serde_json::to_string(&asks).unwrap_or_default(),
            asks,
        })
    }

    /// Reads a stored one. `None` if it can't be read any more.
    pub(crate) fn thaw(json: String) -> Option<Self> {
        let asks = serde_json::from_str(&json).ok()?;
        Some(Self { asks, json })
    }
}

fn invalid(problem: &str) -> OutboxError {
    OutboxError::Invalid {
        field: "probe".to_owned(),
        problem: problem.to_owned(),
    }
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// The effect is there.
    Applied {
        /// The result.
        result: Vec<u8>,
    },
    /// It isn't there now. What that is worth depends on when it was asked.
    Absent,
    /// The answer says nothing of the effect, or none came.
    NoAnswer,
    /// Nobody was asked: there is no network, or a portal in front of it.
    Unreached,
    /// The host asks everybody to wait, which says nothing of the effect.
    Busy {
        /// How long, if it says so.
        asked: Option<Duration>,
    },
    /// The credentials are refused.
    Refused,
}

/// Judges an answer to a probe. Redirects aren't followed, and a login page is no answer.
pub(crate) fn judge(
    probe: &StatusProbe,
    profile: &ServerProfile,
    answer: &Answer<'_>,
    wall: WallMs,
) -> Told {
    // A portal; a proxy that wants credentials; what RFC 6585 has for a portal.
    if (answer.status < 400 && answer.is_page()) || matches!(answer.status, 407 | 511) {
        return Told::Unreached;
    }
    match answer.status {
        // As for a send: it is about the host, whatever the body says.
        429 | 503 => {
            return Told::Busy {
                asked: answer.asked_wait(wall),
            };
        }
        401 => return Told::Refused,
        _ => {}
    }
    if !answer.complete || !answer.is_from_api(profile) {
        return Told::NoAnswer;
    }
    match answer.status {
        404 | 410 if probe.missing_means_not_applied => Told::Absent,
        200..=203 => found(probe, profile, &Seen::new(answer)),
        // Without a body there is nothing to look into.
        204 | 205 if probe.pointer.is_none() => Told::Applied { result: Vec::new() },
        _ => Told::NoAnswer,
    }
}

/// What a 2xx of the API says.
fn found(probe: &StatusProbe, profile: &ServerProfile, seen: &Seen<'_>) -> Told {
    let expected = profile.expected_member.as_deref();
    if expected.is_some_and(|pointer| seen.member(pointer).is_none()) {
        return Told::NoAnswer;
    }
    let Some(pointer) = &probe.pointer else {
        return Told::Applied {
            result: seen.answer.body.to_vec(),
        };
    };
    // The whole document, by the empty pointer, is there if it is JSON at all.
    if seen.member("").is_none() {
        return Told::NoAnswer;
    }
    let text = std::str::from_utf8(seen.answer.body);
    match seen.member(pointer).filter(|value| says_something(value)) {
        // As it is written: no number is spelled anew. A member that is there twice names nothing.
        Some(_) => match text.map(|text| json_text::find(text, pointer)) {
            Ok(Ok(value)) => Told::Applied {
                result: value.as_bytes().to_vec(),
            },
            Ok(Err(_)) | Err(_) => Told::NoAnswer,
        },
        None => Told::Absent,
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
