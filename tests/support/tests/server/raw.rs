//! Answers written by hand: what comes over the wire, and what is recorded of it.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::json;
use submit_once_reference_server::{
    Behaviour, End, HANG, Matcher, Piece, RawAnswer, ReferenceServer, RequestRecord,
};

use crate::client::PATIENCE;
use crate::{client, post, server};

const KEY: [(&str, &str); 1] = [("Idempotency-Key", "k")];

struct Seen {
    server: ReferenceServer,
    text: String,
    end: Option<ErrorKind>,
    record: RequestRecord,
}

impl Seen {
    fn head(&self) -> &str {
        self.text.split_once("\r\n\r\n").unwrap().0
    }

    fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").unwrap().1
    }

    fn declared(&self) -> usize {
        let line = self
            .head()
            .lines()
            .find(|line| line.starts_with("content-length: "));
        line.unwrap()
            .trim_start_matches("content-length: ")
            .parse()
            .unwrap()
    }

    /// The body of the true answer.
    fn truth(&self) -> String {
        let repeat = post(&self.server, "/orders", "k", "{}").unwrap();
        assert!(repeat.is_replay());
        String::from_utf8(repeat.body).unwrap()
    }

    /// An effect whose answer did not arrive.
    fn assert_lost(&self) {
        let record = &self.record;
        assert_eq!((record.effect, record.answered_at_ns), (Some(1), None));
        assert!(record.answer_lost && record.lost_at_ns.is_some());
        assert_eq!(self.server.summary().unwrap().answers_lost, 1);
    }

    fn assert_answered(&self) {
        let record = &self.record;
        assert_eq!((record.effect, record.lost_at_ns), (Some(1), None));
        assert!(!record.answer_lost && record.answered_at_ns.is_some());
        assert_eq!(record.status, Some(201));
    }
}

/// Sends one order under a script, and reads to the end of the connection.
fn seen(behaviour: Behaviour) -> Seen {
    let server = server();
    server.script(Matcher::path("/orders"), vec![behaviour]);
    let mut client = client(&server);
    client.send("POST", "/orders", &KEY, "{}");
    let (bytes, end) = client.drain();
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().remove(0);
    assert!(record.body_complete && record.handler_done_at_ns.is_some());
    Seen {
        server,
        text: String::from_utf8(bytes).unwrap(),
        end,
        record,
    }
}

#[test]
fn an_answer_can_end_after_its_headers() {
    let seen = seen(Behaviour::cut_after_headers());
    assert!(seen.text.starts_with("HTTP/1.1 201 Created\r\n"));
    assert!(seen.head().contains("content-type: application/json"));
    assert!(seen.head().contains("date: "));
    assert_eq!((seen.body(), seen.end), ("", None));
    assert_eq!(seen.declared(), seen.truth().len());
    assert_eq!(seen.record.status, Some(201));
    seen.assert_lost();
}

#[test]
fn an_answer_can_end_in_its_body_or_with_a_reset() {
    let half = seen(Behaviour::cut_in_body());
    let truth = half.truth();
    assert_eq!(
        (half.body(), half.end),
        (&truth[..truth.len() / 2], None::<ErrorKind>)
    );
    half.assert_lost();
    let reset = seen(Behaviour::cut_in_body().ending(End::Reset));
    assert_eq!(reset.end, Some(ErrorKind::ConnectionReset));
    reset.assert_lost();
}

#[test]
fn a_content_length_can_be_wrong_in_both_directions() {
    let long = seen(Behaviour::content_length_too_long(7));
    assert_eq!(long.declared(), long.body().len() + 7);
    assert_eq!(long.body(), long.truth());
    long.assert_lost();
    let short = seen(Behaviour::content_length_too_short(7));
    assert_eq!(short.declared(), short.body().len() - 7);
    assert_eq!(short.body(), short.truth());
    short.assert_lost();
}

#[test]
fn chunks_can_lack_the_one_that_ends_them() {
    let seen = seen(Behaviour::chunked_without_end());
    let truth = seen.truth();
    assert!(seen.head().contains("Transfer-Encoding: chunked"));
    assert!(!seen.head().contains("content-length"));
    assert_eq!(seen.body(), format!("{:x}\r\n{truth}\r\n", truth.len()));
    seen.assert_lost();
}

#[test]
fn a_reset_comes_with_an_effect_or_without_one() {
    let with = seen(Behaviour::reset_after_read());
    assert_eq!(
        (with.text.as_str(), with.end, with.record.status),
        ("", Some(ErrorKind::ConnectionReset), None)
    );
    with.assert_lost();

    let without = seen(Behaviour::reset_after_read().without_effect());
    assert_eq!(without.end, Some(ErrorKind::ConnectionReset));
    assert_eq!(
        (without.record.effect, without.record.answer_lost),
        (None, false)
    );
    let repeat = post(&without.server, "/orders", "k", "{}").unwrap();
    assert!(repeat.status == 201 && !repeat.is_replay());
}

#[test]
fn an_answer_can_come_a_byte_at_a_time() {
    let start = Instant::now();
    let seen = seen(Behaviour::trickle(Duration::from_millis(1)));
    assert!(start.elapsed() >= Duration::from_millis(seen.text.len() as u64));
    assert_eq!(seen.body(), seen.truth());
    seen.assert_answered();
}

#[test]
fn a_trickle_ends_with_its_client_and_the_answer_is_lost() {
    let server = server();
    let slow = Behaviour::raw_delivered(vec![
        Piece::StatusLine,
        Piece::Pace(Duration::from_secs(3600)),
        Piece::Headers,
    ]);
    server.script(Matcher::Any, vec![slow]);
    let mut client = client(&server);
    client.send("POST", "/orders", &KEY, "{}");
    let sent = |records: &[RequestRecord]| records.iter().any(|record| record.status.is_some());
    assert!(server.wait_for(sent, PATIENCE));
    assert_eq!(server.in_flight().len(), 1);
    client.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(server.records()[0].answer_lost);
}

#[test]
fn interim_answers_come_before_the_real_one() {
    let seen = seen(Behaviour::interim(&[100, 102, 103]));
    let mut answers = seen.text.splitn(4, "\r\n\r\n");
    for status in [100, 102, 103] {
        assert_eq!(answers.next(), Some(format!("HTTP/1.1 {status} ").as_str()));
    }
    assert!(answers.next().unwrap().starts_with("HTTP/1.1 201 Created"));
    assert!(seen.text.ends_with(&seen.truth()));
    seen.assert_answered();
}

#[test]
fn a_head_can_have_too_many_lines_or_bytes() {
    let many = seen(Behaviour::many_headers(150));
    assert!(many.head().lines().count() > 150);
    assert_eq!(many.body(), many.truth());
    many.assert_answered();
    let large = seen(Behaviour::large_head(300 * 1024));
    assert!(large.head().len() >= 300 * 1024);
    assert!(large.head().len() < 301 * 1024);
    assert_eq!(large.body(), large.truth());
    large.assert_answered();
}

#[test]
fn a_status_line_can_be_none() {
    let seen = seen(Behaviour::malformed_status_line());
    assert!(seen.text.starts_with("HTTP/1.1 two hundred"));
    assert_eq!(seen.body(), seen.truth());
    assert_eq!(seen.record.status, None);
    seen.assert_lost();
}

#[test]
fn without_an_effect_the_pieces_speak_of_a_503() {
    let seen = seen(Behaviour::cut_after_headers().without_effect());
    assert!(seen.text.starts_with("HTTP/1.1 503 Service Unavailable"));
    assert_eq!(
        (
            seen.record.status,
            seen.record.effect,
            seen.record.answer_lost
        ),
        (Some(503), None, false)
    );
    assert_eq!(seen.server.summary().unwrap().effects, 0);
}

#[test]
fn a_client_can_be_left_hanging_in_the_middle_of_an_answer() {
    let server = server();
    let stuck = Behaviour::cut_in_body().ending(End::Hang);
    server.script(Matcher::Any, vec![stuck.clone(), stuck]);
    let mut waiting = client(&server);
    waiting.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held(HANG, PATIENCE).unwrap();
    assert_eq!(server.in_flight().len(), 1);
    server.release(HANG);
    assert!(waiting.drain().0.starts_with(b"HTTP/1.1 201 Created"));
    assert!(server.wait_until_quiet(PATIENCE));

    let mut leaving = client(&server);
    leaving.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held(HANG, PATIENCE).unwrap();
    leaving.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    let records = server.records();
    assert!(records.iter().all(|record| record.answer_lost));
    assert!(records[1].replayed && records[1].held_at.is_none());
}

#[test]
fn a_client_content_with_a_part_finds_its_flight_over() {
    let server = server();
    let too_much = vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::Body,
        Piece::text("more than was promised"),
    ];
    server.always(Matcher::Any, Behaviour::raw(too_much));
    for _ in 0..200 {
        let answer = post(&server, "/orders", "k", "{}").unwrap();
        assert!(answer.complete);
        assert!(server.in_flight().is_empty());
    }
    assert_eq!(server.summary().unwrap().max_in_flight_per_key, 1);
}

#[test]
fn raw_answers_are_scripted_over_http_and_recorded_without_their_pieces() {
    let server = server();
    let raw = json!({"commit": true, "end": "reset", "delivered": true, "pieces": [
        "status_line", "headers", {"content_length": -1}, {"bytes": "X-Own: 1\r\n"},
        {"repeat": {"bytes": "X-Many: 1\r\n", "times": 2}}, "end_of_head",
        {"pause": 1}, {"pace": 1}, {"bytes": [123]}, {"pace": 0}, "half_body",
    ]});
    let order = json!({"behaviours": [{"raw": raw}]}).to_string();
    let mut control = client(&server);
    let answer = control.call("POST", "/_control/script", &[], &order);
    assert_eq!(answer.unwrap().status, 200);
    let answer = post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!((answer.status, answer.header("X-Own")), (201, Some("1")));
    assert!(server.wait_until_quiet(PATIENCE));
    let stripped = RawAnswer {
        commit: true,
        pieces: vec![],
        end: End::Reset,
        delivered: true,
    };
    assert_eq!(server.records()[0].behaviour, Behaviour::Raw(stripped));

    let huge = json!({"repeat": {"bytes": "12345678", "times": u32::MAX}});
    let order = json!({"always": {"raw": {"pieces": [huge]}}}).to_string();
    let refused = control.call("POST", "/_control/script", &[], &order);
    assert_eq!(refused.unwrap().status, 400);
}

#[test]
fn a_raw_answer_that_is_too_large_is_a_500_and_not_a_crash() {
    let huge = Behaviour::raw(vec![Piece::Repeat {
        bytes: vec![0; 1024],
        times: u32::MAX,
    }]);
    let server = server();
    server.script(Matcher::Any, vec![huge]);
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 500);
    assert_eq!(server.summary().unwrap().effects, 0);
}
