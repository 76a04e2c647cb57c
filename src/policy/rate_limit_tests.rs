//! Rate limits in all their spellings, and where they count.

use std::time::Duration;

use super::classify::Wait;
use super::classify_tests::{Exchange, REFUSED, RETRY, got};
use super::rate_limit::{is_exhausted, reset};
use crate::clock::WallMs;
use crate::model::state::Proof;
use crate::model::submission::Header;

/// Sun, 06 Nov 1994 08:49:37 GMT.
const WALL: WallMs = WallMs(784_111_777_000);
/// A second in 2033, as `X-RateLimit-Reset` counts them, and the `Date` half a minute before.
const EPOCH: &str = "2000000000";
const DATE: &str = "Wed, 18 May 2033 03:32:50 GMT";

fn headers(list: &[(&str, &str)]) -> Vec<Header> {
    list.iter()
        .map(|(name, value)| Header {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        })
        .collect()
}

fn seconds(list: &[(&str, &str)]) -> Option<u64> {
    reset(&headers(list), None, WALL).map(|wait| wait.as_secs())
}

fn exhausted(list: &[(&str, &str)]) -> bool {
    is_exhausted(&headers(list))
}

#[test]
fn the_reset_is_read_in_all_its_forms() {
    for (list, wait) in [
        (vec![("ratelimit", r#""default";r=0;t=30"#)], 30),
        (vec![("ratelimit", r#""default"; r=50; t=31"#)], 31),
        (vec![("ratelimit", r#""a";t=32;r=0;pk=:abc=:"#)], 32),
        // The longest of those that are used up.
        (
            vec![("ratelimit", r#""hour";r=0;t=33, "day";r=9;t=9000"#)],
            33,
        ),
        (
            vec![("ratelimit", r#""hour";r=0;t=34,"day";r=0;t=9000"#)],
            9_000,
        ),
        // None is known to be used up: the longest of all.
        (
            vec![("ratelimit", r#""hour";r=1;t=35, "day";r=9;t=9000"#)],
            9_000,
        ),
        // In two fields.
        (
            vec![
                ("ratelimit", r#""hour";r=0;t=36"#),
                ("ratelimit", r#""day";r=2;t=9"#),
            ],
            36,
        ),
        // A name with separators in it.
        (vec![("ratelimit", r#""a,b;r=5";r=0;t=37"#)], 37),
        (vec![("ratelimit", "limit=100, remaining=0, reset=38")], 38),
        (vec![("ratelimit", "limit=100,reset=39")], 39),
        (vec![("ratelimit-reset", "40")], 40),
        (vec![("x-ratelimit-reset", " 41 ")], 41),
        (
            vec![("ratelimit-reset", "42"), ("x-ratelimit-reset", "1")],
            42,
        ),
        // The structured field comes first.
        (
            vec![("x-ratelimit-reset", "1"), ("ratelimit", r#""a";r=0;t=43"#)],
            43,
        ),
        (
            vec![("x-ratelimit-reset", "44"), ("ratelimit", r#""a";r=0"#)],
            44,
        ),
        (vec![("x-ratelimit-reset", "999999999")], 999_999_999),
    ] {
        assert_eq!(seconds(&list), Some(wait), "{list:?}");
    }
}

#[test]
fn a_time_since_1970_is_relative_to_the_clock_of_the_server() {
    let list = headers(&[("x-ratelimit-reset", EPOCH)]);
    let half_a_minute = Some(Duration::from_secs(30));
    assert_eq!(reset(&list, Some(DATE), WALL), half_a_minute);
    // Without a date, to that of the device.
    let device = WallMs(2_000_000_000_000 - 9_000);
    assert_eq!(reset(&list, None, device), Some(Duration::from_secs(9)));
    assert_eq!(
        reset(&list, Some("junk"), device),
        Some(Duration::from_secs(9))
    );
    let over = WallMs(2_000_000_001_000);
    assert_eq!(reset(&list, None, over), Some(Duration::ZERO));
}

#[test]
fn junk_is_no_reset_and_no_limit() {
    for junk in [
        "",
        "soon",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        "99999999999999999999999",
        "NaN",
    ] {
        assert_eq!(seconds(&[("x-ratelimit-reset", junk)]), None, "{junk}");
        let field = format!("\"a\";r={junk};t={junk}");
        assert_eq!(seconds(&[("ratelimit", &field)]), None, "{junk}");
        assert!(!exhausted(&[("ratelimit", &field)]), "{junk}");
        assert!(!exhausted(&[("x-ratelimit-remaining", junk)]), "{junk}");
    }
    for junk in [
        "", ",,,", ";;;", "=", "r", "t=", "\"", "\"a\"", ";r=", "reset=",
    ] {
        assert_eq!(seconds(&[("ratelimit", junk)]), None, "{junk}");
        assert!(!exhausted(&[("ratelimit", junk)]), "{junk}");
    }
    // As large as a number can be: the caller has a cap.
    let most = u64::MAX.to_string();
    assert!(seconds(&[("ratelimit", &format!("\"a\";r=0;t={most}"))]).is_some());
    seconds(&[("x-ratelimit-reset", &most)]);
}

#[test]
fn a_limit_is_used_up_when_nothing_is_left_of_it() {
    for list in [
        [("ratelimit", r#""a";r=0;t=1"#)],
        [("ratelimit", r#""a";r=5;t=1, "b";r=0"#)],
        [("ratelimit", "limit=1, remaining=0, reset=1")],
        [("ratelimit-remaining", "0")],
        [("x-ratelimit-remaining", " 0 ")],
        [("x-ratelimit-remaining", "000")],
    ] {
        assert!(exhausted(&list), "{list:?}");
    }
    for list in [
        [("ratelimit", r#""a";r=1;t=1"#)],
        [("ratelimit", r#""a";t=1"#)],
        [("ratelimit-policy", r#""a";q=0;w=1"#)],
        [("x-ratelimit-remaining", "1")],
        [("x-ratelimit-limit", "0")],
    ] {
        assert!(!exhausted(&list), "{list:?}");
    }
}

fn wait(exchange: Exchange) -> Wait {
    exchange.judge().wait
}

fn asked(seconds: u64) -> Wait {
    Wait::Server(Duration::from_secs(seconds))
}

/// `Retry-After`, then `t`, then the older reset, then the backoff; never more than the cap.
#[test]
fn the_headers_count_in_their_order() {
    let all = || {
        got(429)
            .with("x-ratelimit-reset", "3")
            .with("ratelimit", r#""a";r=0;t=2"#)
    };
    assert_eq!(wait(all().with("retry-after", "1")), asked(1));
    assert_eq!(wait(all().with("retry-after", "junk")), asked(2));
    assert_eq!(wait(all()), asked(2));
    assert_eq!(wait(got(429).with("x-ratelimit-reset", "3")), asked(3));
    assert_eq!(wait(got(429)), Wait::Backoff);
    let long = got(429).with("ratelimit", r#""a";r=0;t=999999999"#);
    assert_eq!(wait(long), asked(86_400));
}

/// Every answer of such an API names the next reset; only of a used-up limit it says "wait".
#[test]
fn a_reset_counts_on_a_429_or_where_a_limit_is_used_up() {
    let resets = |status| got(status).with("x-ratelimit-reset", "50");
    assert_eq!(wait(resets(429)), asked(50));
    for status in [403, 409, 425, 500, 503] {
        assert_eq!(wait(resets(status)), Wait::Backoff, "{status}");
        let used_up = resets(status).with("x-ratelimit-remaining", "0");
        assert_eq!(wait(used_up), asked(50), "{status}");
        let left = resets(status).with("x-ratelimit-remaining", "7");
        assert_eq!(wait(left), Wait::Backoff, "{status}");
    }
}

/// As GitHub does it.
#[test]
fn a_403_with_a_used_up_limit_is_a_wait_and_a_413_needs_to_be_told() {
    resets_nothing(got(403)).means(Proof::NotApplied, REFUSED);
    let used_up = got(403).with("x-ratelimit-remaining", "0");
    assert_eq!(used_up.means(Proof::NotApplied, RETRY).wait, Wait::Backoff);
    let too_large = || got(413).with("ratelimit", r#""a";r=0;t=30"#);
    too_large().means(Proof::NotApplied, REFUSED);
    let told = too_large().with("retry-after", "5");
    assert_eq!(told.means(Proof::NotApplied, RETRY).wait, asked(5));
}

fn resets_nothing(exchange: Exchange) -> Exchange {
    exchange
        .with("x-ratelimit-remaining", "12")
        .with("x-ratelimit-reset", EPOCH)
}
