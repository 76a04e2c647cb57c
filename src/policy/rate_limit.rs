//! When a rate limit is reset: `RateLimit` (draft-ietf-httpapi-ratelimit-headers, the list of
//! structured fields and the older list of parameters) and the older headers `RateLimit-Reset` and
//! `X-RateLimit-Reset`. Junk is the same as nothing.

use std::time::{Duration, SystemTime};

use crate::clock::WallMs;
use crate::model::submission::Header;

/// A number above this is a time since 1970 and not a wait: it would be one of thirty years.
const EPOCH_FROM: u64 = 1_000_000_000;

/// A number above this is one of milliseconds: as seconds it would be in the year 5138.
const MILLIS_FROM: u64 = 100_000_000_000;

/// A limit says that nothing is left of it.
pub(super) fn is_exhausted(headers: &[Header]) -> bool {
    let remaining = find(headers, &["ratelimit-remaining", "x-ratelimit-remaining"]);
    if remaining.is_some_and(|value| number(value) == Some(0)) {
        return true;
    }
    limits(headers).any(|limit| limit.left == Some(0))
}

/// How long until the limit is reset. Of several limits, the longest of those that are used up.
pub(super) fn reset(headers: &[Header], date: Option<&str>, wall: WallMs) -> Option<Duration> {
    let mut limits: Vec<Limit> = limits(headers).collect();
    if limits.iter().any(|limit| limit.left == Some(0)) {
        limits.retain(|limit| limit.left == Some(0));
    }
    let structured = limits.iter().filter_map(|limit| limit.reset).max();
    structured.map(Duration::from_secs).or_else(|| {
        let value = find(headers, &["ratelimit-reset", "x-ratelimit-reset"])?;
        let value = number(value)?;
        if value < EPOCH_FROM {
            return Some(Duration::from_secs(value));
        }
        let now = date
            .and_then(super::retry_after::server_time)
            .unwrap_or_else(|| wall.to_system_time());
        let since = if value < MILLIS_FROM {
            Duration::from_secs(value)
        } else {
            Duration::from_millis(value)
        };
        let until = SystemTime::UNIX_EPOCH.checked_add(since)?;
        Some(until.duration_since(now).unwrap_or_default())
    })
}

/// One limit of a `RateLimit` field.
struct Limit {
    left: Option<u64>,
    reset: Option<u64>,
}

/// `"hourly";r=0;t=30, "daily";r=5;t=3600`, or as older drafts wrote it,
/// `limit=100, remaining=0, reset=30`.
fn limits(headers: &[Header]) -> impl Iterator<Item = Limit> {
    headers
        .iter()
        .filter(|header| header.name == "ratelimit")
        .flat_map(|header| {
            let value = header.value.as_str();
            let old = parameter(value, "reset").is_some();
            let parts: Vec<&str> = if old {
                vec![value]
            } else {
                value.split(',').collect()
            };
            parts
        })
        .map(|part| Limit {
            left: parameter(part, "r").or_else(|| parameter(part, "remaining")),
            reset: parameter(part, "t").or_else(|| parameter(part, "reset")),
        })
}

fn parameter(text: &str, name: &str) -> Option<u64> {
    text.split([';', ',']).find_map(|part| {
        let (found, value) = part.split_once('=')?;
        (found.trim() == name).then(|| number(value))?
    })
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn find<'a>(headers: &'a [Header], names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        headers
            .iter()
            .find(|header| header.name == *name)
            .map(|header| header.value.as_str())
    })
}
