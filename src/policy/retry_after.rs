//! How long a server asks to wait: `Retry-After` (RFC 9110, section 10.2.3), as seconds or as one of
//! the three forms of an HTTP date. A date is read relative to the answer's own `Date`, since the
//! device's clock may be wrong. Junk is the same as nothing.

use std::time::{Duration, SystemTime};

use crate::clock::WallMs;

/// Reads the header. A date that has passed is a wait of zero.
pub fn parse(value: &str, date: Option<&str>, wall: WallMs) -> Option<Duration> {
    let value = value.trim();
    if let Some(seconds) = seconds(value) {
        return Some(seconds);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let from = date
        .and_then(|date| httpdate::parse_http_date(date.trim()).ok())
        .unwrap_or_else(|| wall.to_system_time());
    Some(until.duration_since(from).unwrap_or_default())
}

/// The time of an answer by the server's clock, from its `Date` header.
pub fn server_time(date: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(date.trim()).ok()
}

/// Whole seconds, or with a fraction, as some servers write them. No sign, no exponent.
fn seconds(value: &str) -> Option<Duration> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || value.ends_with('.') {
        return None;
    }
    // More seconds than fit are as good as the most that fit: the caller has a cap.
    let whole = whole.parse::<u64>().unwrap_or(u64::from(u32::MAX));
    let millis = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    Some(Duration::from_secs(whole.min(u64::from(u32::MAX))) + Duration::from_millis(millis))
}
