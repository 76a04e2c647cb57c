//! What comes before the table of statuses, in its order; the budgets; the waits.

use std::time::Duration;

use super::classify::{Counts, History, Settles, Wait};
use super::classify_tests::{
    CONFIGURATION, Exchange, REFUSED, RETRY, UNKNOWN, got, got_html, locking, table,
};
use super::profile::ServerProfile;
use crate::model::state::{HoldReason, Proof, RejectReason, Then};

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};

const MARKERS: [&str; 6] = [
    "idempotent-replayed",
    "idempotency-replayed",
    "idempotent-replay",
    "x-idempotency-cache-hit",
    "x-idempotency-replayed",
    "request-idempotency",
];

fn busy(answers: u32, seconds: u64) -> History {
    History {
        busy_answers: answers,
        busy_for: Duration::from_secs(seconds),
        ..History::default()
    }
}

pub fn replayed(status: u16) -> Exchange {
    got(status).with("idempotent-replayed", "true")
}

/// A key that is frozen to an error gives the same error for ever: never retry it.
#[test]
fn a_stored_error_is_refused_or_held_and_never_asked_for_again() {
    for (status, ..) in table() {
        match status {
            200..=299 => assert_eq!(replayed(status).judge(), got(status).judge()),
            401 => {
                replayed(status).means(N, Then::Refuse(RejectReason::Unauthorized));
            }
            400 | 405 | 411 | 414..=417 | 426 | 428 | 431 => {
                replayed(status).means(N, CONFIGURATION);
            }
            422 => {
                replayed(status).means(N, Then::Refuse(RejectReason::Invalid));
            }
            400..=499 => {
                let judgement = replayed(status).means(N, REFUSED);
                assert!(judgement.keeps_result);
                assert_eq!(judgement.counts, Counts::Answered);
            }
            _ => {
                replayed(status).means(Q, UNKNOWN);
            }
        }
    }
}

/// P5 and C9: only a server that locks a key in use has one execution per key, so that its stored
/// refusal speaks for all attempts.
#[test]
fn a_stored_refusal_settles_earlier_attempts_only_where_the_server_locks() {
    for (status, ..) in table() {
        let on = |profile| Exchange {
            profile,
            ..replayed(status)
        };
        let settles = if (400..500).contains(&status) {
            Settles::SinceConsent
        } else {
            Settles::Nothing
        };
        assert_eq!(on(locking()).judge().settles, settles, "{status}");
        let standard = on(ServerProfile::standard());
        assert_eq!(standard.judge().settles, Settles::Nothing, "{status}");
        let unmarked = Exchange {
            profile: locking(),
            ..got(status)
        };
        assert_eq!(unmarked.judge().settles, Settles::Nothing, "{status}");
    }
}

#[test]
fn every_known_marker_counts_if_it_is_true_in_any_case() {
    for name in MARKERS {
        for value in ["true", "True", "TRUE"] {
            got(500).with(name, value).means(Q, UNKNOWN);
        }
        for value in ["false", "", "1", "yes", "truely"] {
            got(500).with(name, value).means(Q, RETRY);
        }
    }
    got(500).with("x-replayed", "true").means(Q, RETRY);
}

/// Rule 2: the server says what comes next; the status still says what is proven.
#[test]
fn stripe_should_retry_decides_about_every_answer_that_is_not_a_success() {
    for (status, proves, then) in table() {
        let told = |value| got(status).with("stripe-should-retry", value);
        if proves == Y {
            assert_eq!(told("false").judge(), got(status).judge(), "{status}");
            assert_eq!(told("true").judge(), got(status).judge(), "{status}");
            continue;
        }
        told("true").means(proves, RETRY);
        let stops = match (then, proves) {
            (Then::Retry, N) => REFUSED,
            (Then::Retry, _) => UNKNOWN,
            (stopped, _) => stopped,
        };
        told("false").means(proves, stops);
        told("junk").means(proves, then);
    }
}

/// Rule 2 comes before rule 3: Stripe marks a stored error and says in the same answer whether to
/// ask again.
#[test]
fn stripe_should_retry_comes_before_the_replay_marker() {
    replayed(500)
        .with("stripe-should-retry", "true")
        .means(Q, RETRY);
    replayed(409)
        .with("stripe-should-retry", "true")
        .means(N, RETRY);
    replayed(500)
        .with("stripe-should-retry", "false")
        .means(Q, UNKNOWN);
    let refused = Exchange {
        profile: locking(),
        ..replayed(402).with("stripe-should-retry", "false")
    };
    let judgement = refused.means(N, REFUSED);
    assert_eq!(judgement.settles, Settles::SinceConsent);
    // What is to be tried again is no final word about earlier attempts.
    let again = Exchange {
        profile: locking(),
        ..replayed(402).with("stripe-should-retry", "true")
    };
    assert_eq!(again.means(N, RETRY).settles, Settles::Nothing);
}

#[test]
fn stripe_should_retry_keeps_the_wait_that_the_server_asked_for() {
    let judgement = got(400)
        .with("stripe-should-retry", "true")
        .with("retry-after", "30")
        .means(N, RETRY);
    assert_eq!(judgement.wait, Wait::Server(Duration::from_secs(30)));
}

/// A captive portal answers 200 with a login page, and redirects to one. That is no success and no
/// refusal, and it uses up no budget.
#[test]
fn a_page_for_people_is_no_answer_of_the_api() {
    // 511 comes from what intercepts a connection and from nobody else: nothing arrived.
    got_html(511).means(N, RETRY);
    for status in [200, 201, 302, 303, 307] {
        let judgement = got_html(status).means(Q, RETRY);
        assert_eq!(judgement.counts, Counts::Transport, "{status}");
        assert!(!judgement.keeps_result);
    }
    for status in [400, 401, 403, 404, 409, 422, 500, 502, 503] {
        let judgement = got_html(status).means(Q, RETRY);
        assert_eq!(judgement.counts, Counts::Answered, "{status}");
        assert!(!judgement.keeps_result);
    }
}

#[test]
fn html_is_known_in_every_spelling_and_an_answer_without_a_type_is_believed() {
    let typed = |content_type| {
        Exchange {
            headers: Vec::new(),
            ..got(200)
        }
        .with("content-type", content_type)
    };
    for html in [
        "TEXT/HTML",
        "text/html;charset=utf-8",
        "application/xhtml+xml",
        " text/html ; x",
    ] {
        typed(html).means(Q, RETRY);
    }
    for other in [
        "application/json",
        "text/plain",
        "application/vnd.api+json",
        "text/html5",
        "",
    ] {
        typed(other).means(Y, RETRY);
    }
    let untyped = Exchange {
        headers: Vec::new(),
        ..got(200)
    };
    untyped.means(Y, RETRY);
}

/// Some frameworks name their default type, HTML, on answers that have no body.
#[test]
fn an_answer_that_cannot_have_a_body_is_no_page() {
    for status in [204, 205] {
        let empty = Exchange {
            body: b"",
            ..got_html(status)
        };
        empty.means(Y, RETRY);
    }
}

#[test]
fn a_profile_can_say_which_types_its_api_answers_with() {
    let strict = |exchange: Exchange| Exchange {
        profile: ServerProfile {
            expected_content_types: vec!["application/json".to_owned(), "image/PNG".to_owned()],
            ..ServerProfile::standard()
        },
        ..exchange
    };
    strict(got(200)).means(Y, RETRY);
    strict(got_html(200)).means(Q, RETRY);
    for (content_type, proves) in [("image/png", Y), ("text/plain", Q), ("", Q)] {
        let exchange = Exchange {
            headers: Vec::new(),
            ..got(201)
        };
        strict(exchange.with("content-type", content_type)).means(proves, RETRY);
    }
    let html_is_expected = Exchange {
        profile: ServerProfile {
            expected_content_types: vec!["text/html".to_owned()],
            ..ServerProfile::standard()
        },
        ..got_html(200)
    };
    html_is_expected.means(Y, RETRY);
}

/// Rule 3 comes before rule 6.
#[test]
fn a_stored_error_counts_also_as_a_page() {
    got_html(417)
        .with("idempotent-replayed", "true")
        .means(N, CONFIGURATION);
    got_html(200)
        .with("idempotent-replayed", "true")
        .means(Q, RETRY);
}

#[test]
fn retry_after_turns_a_refusal_of_403_and_413_into_a_wait_and_no_other() {
    for (status, proves, then) in table() {
        let exchange = got(status).with("retry-after", "7");
        if let 403 | 413 = status {
            let judgement = exchange.means(N, RETRY);
            assert_eq!(judgement.wait, Wait::Server(Duration::from_secs(7)));
            assert!(!judgement.keeps_result);
        } else {
            let judgement = exchange.means(proves, then);
            if then == RETRY && proves != Y {
                assert_eq!(
                    judgement.wait,
                    Wait::Server(Duration::from_secs(7)),
                    "{status}"
                );
            }
        }
    }
    got(403).with("retry-after", "soon").means(N, REFUSED);
}

#[test]
fn a_wait_is_read_by_the_clock_of_the_server_and_has_a_longest() {
    let wait = |exchange: Exchange| exchange.judge().wait;
    for status in [429, 503] {
        assert_eq!(wait(got(status)), Wait::Backoff);
        let dated = got(status).with("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(wait(dated), Wait::Server(Duration::from_secs(60)));
        let server_is_ahead = got(status)
            .with("date", "Sun, 06 Nov 1994 09:50:07 GMT")
            .with("retry-after", "Sun, 06 Nov 1994 09:50:37 GMT");
        assert_eq!(wait(server_is_ahead), Wait::Server(Duration::from_secs(30)));
        let a_year = got(status).with("retry-after", "31536000");
        assert_eq!(wait(a_year), Wait::Server(Duration::from_secs(86_400)));
        let junk = got(status).with("retry-after", "-1");
        assert_eq!(wait(junk), Wait::Backoff);
    }
    let page = got_html(503).with("retry-after", "20");
    assert_eq!(wait(page), Wait::Server(Duration::from_secs(20)));
    let full_disk = got(507).with("retry-after", "20");
    assert_eq!(wait(full_disk), Wait::Server(Duration::from_secs(20)));
}

/// Attempts *and* time: three looks within a second are no budget used up, nor is one long wait.
#[test]
fn a_key_in_use_is_asked_about_until_both_halves_of_the_budget_are_used_up() {
    for status in [102, 409] {
        for (answers, seconds, then) in [
            (0, 0, RETRY),
            (1, 100_000, RETRY), // the second answer
            (2, 119, RETRY),     // the third, a second early
            (2, 120, UNKNOWN),
            (100, 119, RETRY),
            (100, 120, UNKNOWN),
            (u32::MAX, u64::MAX, UNKNOWN),
        ] {
            let exchange = Exchange {
                history: busy(answers, seconds),
                ..got(status)
            };
            let judgement = exchange.means(Q, then);
            assert_eq!(judgement.counts, Counts::Busy);
            assert!(!judgement.keeps_result);
        }
    }
}

/// What is locked by something else did nothing; so there is no doubt to hold it for.
#[test]
fn what_stays_locked_is_a_conflict() {
    for (answers, seconds, then) in [
        (2, 119, RETRY),
        (1, 120, RETRY),
        (2, 120, Then::Hold(HoldReason::Conflict)),
    ] {
        let exchange = Exchange {
            history: busy(answers, seconds),
            ..got(423)
        };
        assert_eq!(exchange.means(N, then).counts, Counts::Busy);
    }
}

pub const REUSED: &[u8] = br#"{"type":"https://developer.example.com/idempotency",
    "title":"Idempotency-Key is already used"}"#;

pub fn got_reused(body: &'static [u8], derived_id: bool) -> Exchange {
    Exchange {
        headers: Vec::new(),
        body,
        derived_id,
        ..got(422)
    }
    .with("content-type", "application/problem+json")
}

#[test]
fn a_422_that_speaks_of_the_key_is_a_reused_key_and_any_other_is_invalid_content() {
    let key_reused = Then::Refuse(RejectReason::KeyReused);
    let invalid = Then::Refuse(RejectReason::Invalid);
    for body in [REUSED, b"keys for IDEMPOTENT requests", b"idempotence"] {
        assert!(got_reused(body, false).means(N, key_reused).keeps_result);
    }
    for body in [
        b"{}".as_slice(),
        b"",
        b"idempoten",
        br#"{"title":"quantity is missing"}"#,
    ] {
        got_reused(body, false).means(N, invalid);
        got_reused(body, true).means(N, invalid);
    }
    const LATE: [u8; 5_000] = {
        let mut body = [b' '; 5_000];
        let (word, mut at) = (b"idempotency", 0);
        while at < word.len() {
            body[4_100 + at] = word[at];
            at += 1;
        }
        body
    };
    got_reused(&LATE, false).means(N, invalid);
}

/// Another device derived the same ID and sent something else: that is nobody's refusal.
#[test]
fn a_reused_key_of_a_derived_id_was_used_elsewhere() {
    let elsewhere = Then::Hold(HoldReason::KeyUsedElsewhere);
    got_reused(REUSED, true).means(N, elsewhere);
}
