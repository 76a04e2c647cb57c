//! What a server says of waiting: `Retry-After` and the like.

use std::time::Duration;

use submit_once::classification::{Case, Next, judge};
use submit_once::{Header, Reported, ServerProfile, SubmissionState, WallMs, WireAnswer};

use crate::engine::fuzz;

const DAY: Duration = Duration::from_secs(86_400);
/// A wall time in 2025.
const NOW: WallMs = WallMs(1_750_000_000_000);

pub fn header(line: &str) -> Header {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    Header {
        name: name.to_ascii_lowercase(),
        value: value.to_owned(),
    }
}

fn asked(headers: Vec<Header>) -> Option<Duration> {
    let answer = Reported::Answered(WireAnswer {
        status: 503,
        headers,
        body: Vec::new(),
        complete: true,
    });
    let case = Case::of(ServerProfile::standard());
    let meaning = judge(&case, &answer, NOW);
    assert_eq!(meaning, judge(&case, &answer, NOW));
    assert_eq!(meaning.state, SubmissionState::Pending);
    assert_eq!(meaning.next, Some(Next::Host));
    meaning.asked
}

/// Whole seconds mean what they say; nobody waits longer than the cap, whatever is written.
#[test]
fn waits_are_read_or_are_nothing_and_never_over_the_cap() {
    fuzz("waits", "malformed waiting times", 250_000, |input| {
        let text = String::from_utf8_lossy(input);
        let headers: Vec<Header> = text.lines().map(header).collect();
        let asked_in_all = asked(headers.clone());
        assert!(asked_in_all.is_none_or(|asked| asked <= DAY));
        let mut named = headers.iter().filter(|header| header.name == "retry-after");
        if let (Some(one), None) = (named.next(), named.next()) {
            let value = one.value.trim();
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            if is_number {
                let seconds = value.parse().map_or(DAY, Duration::from_secs);
                assert_eq!(asked_in_all, Some(seconds.min(DAY)), "{value}");
            }
            let is_dated = value.bytes().any(|byte| byte.is_ascii_alphabetic());
            let looks_like_one = value.bytes().any(|byte| byte.is_ascii_digit());
            if asked(vec![one.clone()]).is_some() {
                assert!(looks_like_one, "a wait out of nothing: {value}");
                assert!(
                    is_dated
                        || value
                            .bytes()
                            .all(|byte| byte.is_ascii_digit() || byte == b'.'),
                    "a wait out of {value}"
                );
            }
        }
    });
}
