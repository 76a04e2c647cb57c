//! An answer, and what it says besides its status.

use std::time::Duration;

use crate::clock::WallMs;
use crate::model::submission::Header;

use super::profile::ServerProfile;
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
    pub(super) fn is_replayed(&self) -> bool {
        self.headers.iter().any(|header| {
            REPLAY_MARKERS.contains(&header.name.as_str())
                && header.value.eq_ignore_ascii_case("true")
        })
    }

    /// How long the server asks to wait.
    pub(super) fn retry_after(&self, wall: WallMs) -> Option<Duration> {
        retry_after::parse(self.header("retry-after")?, self.header("date"), wall)
    }

    /// The server's clock, where it is one of the API that tells it: a portal's clock is its own.
    pub fn server_time(&self, profile: &ServerProfile) -> Option<WallMs> {
        let date = self.header("date").filter(|_| self.is_from_api(profile))?;
        retry_after::server_time(date).map(WallMs::from_system_time)
    }

    /// It looks like one of the API, and not like a page for people.
    pub(super) fn is_from_api(&self, profile: &ServerProfile) -> bool {
        // These have no body. Some frameworks name their default type, HTML, all the same.
        if matches!(self.status, 204 | 205 | 304) {
            return true;
        }
        let Some(content_type) = self.header("content-type") else {
            return true;
        };
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if profile.expected_content_types.is_empty() {
            !media_type.eq_ignore_ascii_case("text/html")
                && !media_type.eq_ignore_ascii_case("application/xhtml+xml")
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
