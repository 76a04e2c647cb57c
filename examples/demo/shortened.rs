//! The library's default policy, with some times shortened so that a day fits into seconds.

use std::time::Duration;

use submit_once::{Limits, ServerProfile, default_limits};

/// The app and its worker use the same.
pub fn limits() -> Limits {
    Limits {
        // Above the longest that the server works on an order whose client is gone, with a margin
        // for a busy machine.
        quiet_time: Some(Duration::from_millis(1_000)),
        request_timeout: Duration::from_secs(2),
        backoff_first: Duration::from_millis(200),
        backoff_most: Duration::from_secs(1),
        ..default_limits()
    }
}

/// Says what differs from the default policy: nothing but this.
pub fn print() {
    let (short, default) = (limits(), default_limits());
    let quiet = ServerProfile::standard().quiet_time;
    println!("the library's default policy, but for these times:");
    for (name, from, to) in [
        ("quiet time", quiet, short.quiet_time.unwrap_or(quiet)),
        (
            "request timeout",
            default.request_timeout,
            short.request_timeout,
        ),
        ("first backoff", default.backoff_first, short.backoff_first),
        ("longest backoff", default.backoff_most, short.backoff_most),
    ] {
        println!("  {name:<16} {from:?} → {to:?}");
    }
}
