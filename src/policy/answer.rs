//! An answer, and what it says besides its status.

use std::cell::OnceCell;
use std::time::Duration;

use serde_json::Value;

use crate::clock::WallMs;
use crate::model::submission::Header;

use super::members::all_succeeded;
use super::profile::ServerProfile;
use super::rate_limit;
use super::retry_after;

/// An answer, as far as classifying needs it.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: &'a [Header],
    /// The body, or the beginning of it.
    pub body: &'a [u8],
    /// The body arrived whole.
    pub complete: bool,
}

/// Names that libraries and services give the marker; any case, value true.
const REPLAY_MARKERS: [&str; 6] = [
    "idempotent-replayed",
    "idempotency-replayed",
    "idempotent-replay",
    "x-idempotency-cache-hit",
    "x-idempotency-replayed",
    "request-idempotency",
];

impl<'a> Answer<'a> {
    /// A header's first value.
    pub(super) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers
            .iter()
            .find(|header| header.name == name)
            .map(|header| header.value.as_str())
    }

    /// It is the stored answer of one earlier execution. Without a marker it may be, too.
    pub(super) fn is_replayed(&self, profile: &ServerProfile) -> bool {
        let is_marker = |name: &str| {
            REPLAY_MARKERS.contains(&name)
                || profile
                    .replay_markers
                    .iter()
                    .any(|marker| marker.eq_ignore_ascii_case(name))
        };
        self.headers
            .iter()
            .any(|header| is_marker(&header.name) && header.value.eq_ignore_ascii_case("true"))
    }

    /// How long the server asks to wait: `Retry-After`, else when a limit that is used up is reset.
    pub(super) fn asked_wait(&self, wall: WallMs) -> Option<Duration> {
        self.retry_after(wall)
            .or_else(|| self.is_limited().then(|| self.limit_reset(wall)).flatten())
    }

    /// The wait that `Retry-After` asks for.
    pub(super) fn retry_after(&self, wall: WallMs) -> Option<Duration> {
        let value = self.header("retry-after")?;
        retry_after::parse(value, self.header("date"), wall)
    }

    /// The answer says that a rate limit is used up.
    pub(super) fn is_limited(&self) -> bool {
        self.status == 429 || rate_limit::is_exhausted(self.headers)
    }

    fn limit_reset(&self, wall: WallMs) -> Option<Duration> {
        rate_limit::reset(self.headers, self.header("date"), wall)
    }

    /// The server's clock, where it is one of the API that tells it: a portal's clock is its own.
    pub fn server_time(&self, profile: &ServerProfile) -> Option<WallMs> {
        let date = self.header("date").filter(|_| self.is_from_api(profile))?;
        retry_after::server_time(date).map(WallMs::from_system_time)
    }

    /// A page for people.
    pub(super) fn is_page(&self) -> bool {
        self.media_type().is_some_and(|media_type| {
            media_type.eq_ignore_ascii_case("text/html")
                || media_type.eq_ignore_ascii_case("application/xhtml+xml")
        })
    }

    fn media_type(&self) -> Option<&'a str> {
        let content_type = self.header("content-type")?;
        Some(content_type.split(';').next().unwrap_or_default().trim())
    }

    /// It looks like one of the API, and not like a page for people.
    pub(super) fn is_from_api(&self, profile: &ServerProfile) -> bool {
        // These have no body. Some frameworks name their default type, HTML, all the same.
        if matches!(self.status, 204 | 205 | 304) {
            return true;
        }
        let Some(media_type) = self.media_type() else {
            return true;
        };
        if profile.expected_content_types.is_empty() {
            !self.is_page()
        } else {
            self.body.is_empty()
                || profile
                    .expected_content_types
                    .iter()
                    .any(|expected| expected.eq_ignore_ascii_case(media_type))
        }
    }

    /// A problem document (RFC 9457) or any other error that speaks of the key.
    pub(super) fn tells_of_reused_key(&self) -> bool {
        const LOOKS_AT: usize = 4_096;
        let start = self.body.get(..LOOKS_AT).unwrap_or(self.body);
        start.windows(10).any(|window| {
            window.eq_ignore_ascii_case(b"idempotenc") || window.eq_ignore_ascii_case(b"idempotent")
        })
    }
}

/// An answer with its JSON, read once and only if somebody asks.
pub(super) struct Seen<'a> {
    pub(super) answer: &'a Answer<'a>,
    json: OnceCell<Option<Value>>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(answer: &'a Answer<'a>) -> Self {
        Self {
            answer,
            json: OnceCell::new(),
        }
    }

    /// A member of the JSON body, by pointer; nothing if the body isn't whole or isn't JSON.
    pub(super) fn member(&self, pointer: &str) -> Option<&Value> {
        self.json()?.pointer(pointer)
    }

    fn json(&self) -> Option<&Value> {
        self.json
            .get_or_init(|| {
                let whole = self.answer.complete.then_some(self.answer.body)?;
                serde_json::from_slice(whole).ok()
            })
            .as_ref()
    }

    /// A 207 or 208 whose every member succeeded.
    pub(super) fn all_members_succeeded(&self) -> bool {
        self.answer.complete && all_succeeded(self.json(), self.answer.body)
    }
}
