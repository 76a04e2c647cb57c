//! Answers that no server should give.

use std::time::Duration;

use submit_once_reference_server::{Behaviour, End as Close, Piece};

use crate::case::{Case, End, always, once};
use crate::secrets::{ANSWER, PLANTED};

/// Written by hand, after the effect. What counts as given is said by whoever asks.
fn by_hand(head: &str, body: &str) -> Behaviour {
    Behaviour::raw(vec![Piece::text(head), Piece::text(body)])
}

/// The true answer, with these lines in its head.
fn with(lines: &str) -> Behaviour {
    Behaviour::raw_delivered(vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::text(lines),
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::Body,
    ])
}

fn says(status: u16, headers: &[(&str, &str)], body: &str) -> Behaviour {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Behaviour::Respond {
        status,
        headers: headers.iter().map(pair).collect(),
        body: body.as_bytes().to_vec(),
        content_type: Some("application/json".to_owned()),
    }
}

pub fn cases() -> Vec<Case> {
    [
        unreadable(),
        framing(),
        endless(),
        packed(),
        heads(),
        meanings(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn unreadable() -> Vec<Case> {
    vec![
        once(
            "a malformed status line",
            End::Doubt,
            Behaviour::malformed_status_line(),
        ),
        once(
            "a greeting of another protocol",
            End::Doubt,
            by_hand("SSH-2.0-x\r\n", ""),
        ),
        once(
            "zeros",
            End::Doubt,
            Behaviour::raw(vec![Piece::Bytes(vec![0; 4_096])]),
        ),
        once("a body and no head", End::Doubt, by_hand("", r#"{"n":1}"#)),
        once(
            "a reset in place of an answer",
            End::Doubt,
            Behaviour::reset_after_read(),
        ),
        once(
            "a null byte in a header",
            End::Doubt,
            by_hand("HTTP/1.1 201 Created\r\nX-A: a\0b\r\n\r\n", ""),
        ),
        once(
            "a line of a header that goes on",
            End::Doubt,
            by_hand(
                "HTTP/1.1 201 Created\r\nX-A: a\r\n b\r\ncontent-length: 0\r\n\r\n",
                "",
            ),
        ),
        once(
            "a space before the colon",
            End::Doubt,
            by_hand("HTTP/1.1 201 Created\r\nContent-Length : 2\r\n\r\n", "{}"),
        ),
        once(
            "a version of the future",
            End::Doubt,
            by_hand("HTTP/3.7 201 Created\r\n\r\n", "{}"),
        ),
    ]
}

fn framing() -> Vec<Case> {
    let created =
        |lines: &str, body: &str| by_hand(&format!("HTTP/1.1 201 Created\r\n{lines}\r\n"), body);
    vec![
        once(
            "a length that is too long",
            End::NoResult,
            Behaviour::content_length_too_long(9),
        ),
        once(
            "chunks without an end",
            End::NoResult,
            Behaviour::chunked_without_end(),
        ),
        once(
            "a length and chunks",
            End::NoResult,
            created(
                "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                "4\r\n{\"a\"\r\nzz\r\n",
            ),
        ),
        once(
            "a length that is too short",
            End::Done,
            Behaviour::content_length_too_short(1),
        ),
        once(
            "two lengths",
            End::Doubt,
            created("Content-Length: 2\r\nContent-Length: 7\r\n", "{}00000"),
        ),
        once(
            "a length below zero",
            End::Doubt,
            created("Content-Length: -2\r\n", "{}"),
        ),
        once(
            "a length beyond all numbers",
            End::Doubt,
            created("Content-Length: 99999999999999999999999\r\n", "{}"),
        ),
        once(
            "a chunk beyond all numbers",
            End::NoResult,
            created("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n{}"),
        ),
        once(
            // What isn't chunked ends with the connection (RFC 9112, section 6.3).
            "an unknown transfer coding",
            End::Done,
            created(
                "Transfer-Encoding: cow\r\nContent-Type: application/json\r\n",
                "{}",
            ),
        ),
    ]
}

fn endless() -> Vec<Case> {
    let kilobyte = |times| Piece::Repeat {
        bytes: vec![b'x'; 1_024],
        times,
    };
    vec![
        once(
            "a hundred thousand headers",
            End::Doubt,
            Behaviour::many_headers(100_000),
        ),
        once(
            "a head of eight megabytes",
            End::Doubt,
            Behaviour::large_head(8 << 20),
        ),
        once("silence", End::Doubt, Behaviour::Hang { commit: true }),
        once(
            "a head that trickles",
            End::Doubt,
            Behaviour::trickle(Duration::from_millis(100)),
        ),
        once(
            "a body that never ends",
            End::NoResult,
            Behaviour::raw(vec![
                Piece::StatusLine,
                Piece::Headers,
                Piece::text("Connection: close\r\n"),
                Piece::EndOfHead,
                kilobyte(8_192),
            ]),
        ),
        once(
            "a body that falls silent",
            End::NoResult,
            Behaviour::raw(vec![
                Piece::StatusLine,
                Piece::Headers,
                Piece::ContentLength(0),
                Piece::EndOfHead,
                Piece::HalfBody,
            ])
            .ending(Close::Hang),
        ),
    ]
}

fn packed() -> Vec<Case> {
    vec![
        once("a bomb", End::NoResult, Behaviour::gzip_bomb(4 << 20)),
        once(
            "a bomb without its end",
            End::NoResult,
            Behaviour::gzip_truncated(),
        ),
        once(
            "said to be packed",
            End::NoResult,
            with("Content-Encoding: gzip\r\n"),
        ),
        once(
            "packed in a way that nobody asked for",
            End::NoResult,
            with("Content-Encoding: br\r\n"),
        ),
        once(
            "packed, and a page of another length",
            End::Done,
            Behaviour::gzip(),
        ),
    ]
}

fn heads() -> Vec<Case> {
    let interim = |lines: &str| format!("HTTP/1.1 103 Early Hints\r\n{lines}\r\n");
    vec![
        once(
            "interim answers",
            End::Done,
            Behaviour::interim(&[100, 102, 103, 103, 100]),
        ),
        once(
            "an interim answer that plants a cookie",
            End::Done,
            Behaviour::raw_delivered(vec![
                Piece::text(&interim(&format!("Set-Cookie: a={PLANTED}\r\n"))),
                Piece::StatusLine,
                Piece::Headers,
                Piece::ContentLength(0),
                Piece::EndOfHead,
                Piece::Body,
            ]),
        ),
        once(
            "a change of the protocol that nobody asked for",
            End::Doubt,
            by_hand(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: canary\r\n\r\n",
                "canary",
            ),
        ),
        once(
            "a cookie",
            End::Done,
            with(&format!("Set-Cookie: a={PLANTED}; Path=/\r\n")),
        ),
        once(
            "other ways to the server",
            End::Done,
            with(&format!(
                "Alt-Svc: h2=\"{PLANTED}:1\"\r\nRefresh: 0; url={PLANTED}\r\n"
            )),
        ),
        once(
            "bytes that are no text in a header",
            End::Done,
            Behaviour::raw_delivered(vec![
                Piece::StatusLine,
                Piece::Headers,
                Piece::Bytes(b"X-A: \xff\xfe\x80\r\n".to_vec()),
                Piece::ContentLength(0),
                Piece::EndOfHead,
                Piece::Body,
            ]),
        ),
        once(
            "an error before the body was read",
            End::Doubt,
            Behaviour::ErrorEarly {
                status: 503,
                headers: Vec::new(),
            },
        ),
        once(
            "a wait without end",
            End::Again,
            says(429, &[("Retry-After", "99999999999999999999")], "{}"),
        ),
        once(
            "a wait below zero",
            End::Again,
            says(429, &[("Retry-After", "-5")], "{}"),
        ),
        once(
            "a clock of another age",
            End::Again,
            says(
                429,
                &[
                    ("Date", "Fri, 31 Dec 9999 23:59:59 GMT"),
                    ("Retry-After", "1"),
                ],
                "{}",
            ),
        ),
        once(
            "lines smuggled into a header",
            End::Done,
            with(&format!(
                "X-A: a\r\nIdempotency-Key: {PLANTED}\r\nAuthorization: {PLANTED}\r\n"
            )),
        ),
    ]
}

fn meanings() -> Vec<Case> {
    let deep = "[".repeat(60_000);
    vec![
        once(
            "a refusal that repeats what was sent",
            End::Refused,
            says(422, &[], &format!(r#"{{"error":"{ANSWER}"}}"#)),
        ),
        once("JSON without a bottom", End::Refused, says(400, &[], &deep)),
        once(
            "a body that is no text",
            End::Refused,
            Behaviour::Respond {
                status: 400,
                headers: Vec::new(),
                body: vec![0xff; 2_000],
                content_type: Some("application/json".to_owned()),
            },
        ),
        once(
            "a challenge",
            End::Again,
            says(
                401,
                &[("WWW-Authenticate", &format!("Basic realm=\"{PLANTED}\""))],
                "{}",
            ),
        ),
        once(
            "a challenge of a proxy",
            End::Again,
            says(
                407,
                &[("Proxy-Authenticate", &format!("Basic realm=\"{PLANTED}\""))],
                "{}",
            ),
        ),
        once(
            "a status beyond all statuses",
            End::Doubt,
            by_hand("HTTP/1.1 999 ?\r\ncontent-length: 0\r\n\r\n", ""),
        ),
        always("a portal", End::Doubt, Behaviour::portal_html_200()),
    ]
}
