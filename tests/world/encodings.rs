//! Answers that are packed, cut, or stop coming, over real sockets (F67).

use std::time::{Duration, Instant};

use submit_once::{Limits, Outcome, ServerProfile, SubmissionState};
use submit_once_reference_server::{Behaviour, End, Matcher, Piece};

use crate::agents::{assert_converged, server};
use crate::stage::{Stage, telling_limits};

/// What became of one order, after one request.
fn outcome(behaviour: Behaviour, limits: Limits) -> Outcome {
    let server = server();
    server.script(Matcher::Any, vec![behaviour]);
    let stage = Stage::with(&server.url(), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_eq!(stage.marks(id), ["applied"]);
    assert_converged(&server, 1);
    assert_eq!(server.records().len(), 1);
    snapshot.outcome.unwrap()
}

fn is_missing(outcome: &Outcome) {
    assert_eq!(outcome.status, Some(201));
    assert!(outcome.result_missing);
    assert_eq!(outcome.body, None, "never half a body");
}

#[test]
fn a_packed_answer_is_kept_unpacked() {
    let outcome = outcome(Behaviour::gzip(), telling_limits());
    assert!(!outcome.result_missing);
    let body: serde_json::Value = serde_json::from_slice(&outcome.body.unwrap()).unwrap();
    assert_eq!(body["effect"], 1);
}

/// F67: all bytes came that were promised, and the trailer that proves them complete isn't among them.
#[test]
fn a_packed_answer_without_its_end_has_no_result() {
    is_missing(&outcome(Behaviour::gzip_truncated(), telling_limits()));
}

/// The size counts when unpacked: 33 KB on the wire would be 32 MiB.
#[test]
fn a_bomb_is_not_unpacked() {
    is_missing(&outcome(
        Behaviour::gzip_bomb(32 * 1024 * 1024),
        telling_limits(),
    ));
}

/// The same key again fetches the whole result, where the server gives it again.
#[test]
fn a_cut_packed_answer_is_asked_for_again() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::gzip_truncated()]);
    let profile = ServerProfile {
        replays_success: true,
        ..ServerProfile::standard()
    };
    let stage = Stage::with(&server.url(), |config| config.profile(profile));
    let id = stage.submit("/orders");
    stage.drain();
    stage.hours_later();
    stage.drain();
    let outcome = stage.snapshot(id).outcome.unwrap();
    assert!(!outcome.result_missing && outcome.body.is_some());
    assert_converged(&server, 1);
    assert_eq!(server.records().len(), 2);
}

/// What is sent packed by a server in trouble is read like any other answer.
#[test]
fn an_answer_that_is_only_said_to_be_packed_has_no_result() {
    let pieces = vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::text("Content-Encoding: gzip\r\n"),
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::Body,
    ];
    is_missing(&outcome(Behaviour::raw(pieces), telling_limits()));
}

fn impatient() -> Limits {
    Limits {
        request_timeout: Duration::from_secs(60),
        lease: Duration::from_secs(120),
        idle_timeout: Duration::from_millis(300),
        ..telling_limits()
    }
}

/// A body that stops coming isn't waited for until the request's time is over.
#[test]
fn a_body_that_falls_silent_is_cut() {
    let begun = Instant::now();
    let silent = Behaviour::AnswerHalf;
    is_missing(&outcome(silent, impatient()));
    let pieces = vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::HalfBody,
    ];
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::raw(pieces).ending(End::Hang)]);
    let stage = Stage::with(&server.url(), |config| config.limits(impatient()));
    let id = stage.submit("/orders");
    stage.drain();
    assert!(begun.elapsed() < Duration::from_secs(30));
    is_missing(&stage.snapshot(id).outcome.unwrap());
    assert_eq!(stage.marks(id), ["applied"]);
}

/// Slow isn't silent: a byte now and then is enough.
#[test]
fn a_body_that_comes_slowly_is_waited_for() {
    let outcome = outcome(Behaviour::trickle(Duration::from_millis(8)), impatient());
    assert!(!outcome.result_missing);
}
