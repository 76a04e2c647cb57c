//! What comes back when no answer does, or none that is whole, over real sockets: what it proves, how
//! long the next attempt waits, and that nothing is ever sent under a second key. The server counts.

use std::time::Duration;

use submit_once::{
    Limits, OutboxConfig, ServerProfile, Submission, SubmissionId, SubmissionState, WaitingFor,
};
use submit_once_reference_server::{Behaviour, End, Matcher, Piece, ReferenceServer};

use crate::agents::{assert_converged, server};
use crate::stage::{Stage, fill_queue, telling_limits};

const BACKOFF: u64 = 20;
const QUIET: u64 = 120;

fn arrivals(server: &ReferenceServer) -> usize {
    server.records().len()
}

/// Pending, with the last attempt so marked, and the next not before.
fn waits(stage: &Stage, id: SubmissionId, mark: &str, least: u64) {
    assert_eq!(stage.snapshot(id).state, SubmissionState::Pending);
    assert_eq!(stage.marks(id).last().unwrap(), mark);
    let wait = stage.wait_of(id).unwrap();
    assert!(wait >= Duration::from_secs(least), "{wait:?}");
}

/// One order whose first attempt meets this. It leaves doubt, waits the quiet time out, and the next
/// attempt converges.
fn leaves_doubt(behaviour: Behaviour) {
    let server = server();
    let name = format!("{behaviour:?}");
    server.script(Matcher::Any, vec![behaviour]);
    let limits = Limits {
        request_timeout: Duration::from_millis(400),
        ..telling_limits()
    };
    let stage = Stage::with(&server.url(), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    waits(&stage, id, "unknown", QUIET);
    let snapshot = stage.snapshot(id);
    assert!(snapshot.in_doubt, "{name}");
    assert!(!snapshot.last_problem.unwrap().is_empty());
    stage.drain();
    stage.outbox.wake(id).unwrap();
    stage.drain();
    assert_eq!(arrivals(&server), 1, "not within the quiet time: {name}");
    server.release_all();
    stage.hours_later();
    stage.drain();
    assert_eq!(
        stage.snapshot(id).state,
        SubmissionState::Succeeded,
        "{name}"
    );
    assert_eq!(arrivals(&server), 2, "{name}");
    assert_converged(&server, 1);
    assert_eq!(server.summary().unwrap().keys, 1, "{name}");
}

#[test]
fn a_connection_that_ends_without_an_answer_leaves_doubt() {
    for behaviour in [
        Behaviour::CommitThenDrop,
        Behaviour::reset_after_read(),
        Behaviour::reset_after_read().without_effect(),
        Behaviour::raw(Vec::new()).without_effect(),
        // A part of the status line, and of the head.
        Behaviour::raw(vec![Piece::text("HTTP/1.1 20")]),
        Behaviour::raw(vec![Piece::StatusLine, Piece::Headers]),
        Behaviour::raw(vec![Piece::StatusLine, Piece::Headers]).ending(End::Reset),
    ] {
        leaves_doubt(behaviour);
    }
}

/// F15.
#[test]
fn silence_leaves_doubt() {
    for behaviour in [
        Behaviour::Hang { commit: true },
        Behaviour::Hang { commit: false },
        Behaviour::AnswerLate(Duration::from_secs(60)),
        // An answer that comes so slowly that its head isn't there in time.
        Behaviour::trickle(Duration::from_millis(50)),
        Behaviour::raw(vec![Piece::StatusLine, Piece::Headers]).ending(End::Hang),
    ] {
        leaves_doubt(behaviour);
    }
}

/// What a server may never send. Something has answered, and it can't be said what.
#[test]
fn an_answer_that_cannot_be_read_leaves_doubt() {
    for behaviour in [
        Behaviour::malformed_status_line(),
        Behaviour::raw(vec![Piece::text("SSH-2.0-OpenSSH_9.6\r\n")]),
        Behaviour::raw(vec![Piece::Bytes(vec![0; 512])]),
        // Interim answers, and then nothing: 102 isn't an answer.
        Behaviour::raw(vec![Piece::text("HTTP/1.1 102 Processing\r\n\r\n")]),
        // A switch of protocols that nobody asked for.
        Behaviour::raw(vec![Piece::text(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        )]),
        Behaviour::raw(vec![Piece::text(
            "HTTP/1.1 600 Beyond\r\nContent-Length: 0\r\n\r\n",
        )]),
    ] {
        leaves_doubt(behaviour);
    }
}

/// A head beyond all measure is either read or refused; neither loses or doubles the order.
#[test]
fn very_large_heads_converge() {
    for behaviour in [
        Behaviour::many_headers(90),
        Behaviour::many_headers(150),
        Behaviour::large_head(300 * 1024),
        Behaviour::large_head(2 * 1024 * 1024),
    ] {
        let server = server();
        server.script(Matcher::Any, vec![behaviour.clone()]);
        let stage = Stage::new(&server.url());
        let id = stage.submit("/orders");
        stage.drain();
        if stage.snapshot(id).state == SubmissionState::Pending {
            waits(&stage, id, "unknown", QUIET);
        }
        stage.hours_later();
        stage.drain();
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
        assert_converged(&server, 1);
    }
}

#[test]
fn interim_answers_are_read_past() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::interim(&[100, 102, 103])]);
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    let outcome = stage.snapshot(id).outcome.unwrap();
    assert_eq!((outcome.status, outcome.result_missing), (Some(201), false));
    assert_eq!(arrivals(&server), 1);
}

/// What never reached anybody leaves no doubt, is tried for as long as it takes, and counts against no
/// budget.
fn never_leaves(
    url: &str,
    change: impl FnOnce(OutboxConfig) -> OutboxConfig,
) -> (Stage, SubmissionId) {
    let stage = Stage::with(url, change);
    let id = stage.submit("/orders");
    for attempt in 1..=12 {
        assert_eq!(stage.drain().attempts, 1);
        waits(&stage, id, "not_applied", BACKOFF);
        let snapshot = stage.snapshot(id);
        assert_eq!((snapshot.in_doubt, snapshot.attempts), (false, attempt));
        assert!(matches!(
            snapshot.waiting_for,
            Some(WaitingFor::Network { .. })
        ));
        assert_eq!(stage.number(id, "answered"), 0);
        stage.hours_later();
    }
    (stage, id)
}

/// F58.
#[test]
fn a_refused_connection_never_gives_up_and_leaves_no_doubt() {
    let server = server();
    server.go_offline();
    let (stage, id) = never_leaves(&server.url(), |config| config);
    assert_eq!(arrivals(&server), 0);
    server.go_online().unwrap();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_eq!(arrivals(&server), 1);
}

#[test]
fn a_name_that_does_not_exist_leaves_no_doubt() {
    never_leaves("http://nowhere.invalid", |config| config);
}

/// The queue of connections that wait to be accepted is full, so that the next one gets no answer.
#[test]
fn a_connection_that_is_not_accepted_in_time_leaves_no_doubt() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let _waiting = fill_queue(address);
    let limits = Limits {
        connect_timeout: Duration::from_millis(200),
        ..telling_limits()
    };
    let stage = Stage::with(&format!("http://{address}"), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    waits(&stage, id, "not_applied", BACKOFF);
    assert!(!stage.snapshot(id).in_doubt);
}

/// P5: a connect error says nothing of what was sent before.
#[test]
fn a_refused_connection_settles_no_earlier_doubt() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::CommitThenDrop]);
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    server.go_offline();
    for _ in 0..3 {
        stage.hours_later();
        stage.drain();
        assert!(stage.snapshot(id).in_doubt);
    }
    assert_eq!(
        stage.marks(id),
        ["unknown", "not_applied", "not_applied", "not_applied"]
    );
    server.go_online().unwrap();
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
    assert_eq!(arrivals(&server), 2);
}

/// F19: the connection breaks while the body is on its way.
#[test]
fn a_request_that_is_cut_half_way_leaves_doubt() {
    for end in [End::Reset, End::Close] {
        let server = server();
        let cut = Behaviour::cut_request(200_000).ending(end);
        server.script(Matcher::Any, vec![cut]);
        let limits = Limits {
            inline_body_bytes: 16 * 1024 * 1024,
            ..telling_limits()
        };
        let stage = Stage::with(&server.url(), |config| config.limits(limits));
        let id = SubmissionId::new().unwrap();
        let body = vec![b'x'; 8 * 1024 * 1024];
        let photo = Submission::post(id, "/photos").bytes("image/jpeg", body);
        stage.outbox.submit(photo).unwrap();
        stage.drain();
        waits(&stage, id, "unknown", QUIET);
        assert_eq!(server.summary().unwrap().effects, 0);
        stage.hours_later();
        stage.drain();
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
        assert_converged(&server, 1);
    }
}

/// A server that refuses before it has read the body, and closes: its answer may be lost in the noise.
/// Read, it is a refusal; lost, it leaves doubt. Never an effect, and never a success.
#[test]
fn a_refusal_before_the_body_is_read() {
    let server = server();
    let error = Behaviour::ErrorEarly {
        status: 413,
        headers: Vec::new(),
    };
    server.always(Matcher::Any, error);
    let stage = Stage::new(&server.url());
    let id = SubmissionId::new().unwrap();
    let body = vec![b'x'; 8 * 1024 * 1024];
    let film = Submission::post(id, "/films").bytes("video/mp4", body);
    stage.outbox.submit(film).unwrap();
    stage.drain();
    let snapshot = stage.snapshot(id);
    match snapshot.state {
        SubmissionState::Rejected { .. } => assert_eq!(stage.marks(id), ["not_applied"]),
        _ => waits(&stage, id, "unknown", QUIET),
    }
    assert_converged(&server, 0);
}

/// F67: a success that is cut is a success, without half a body for a result; where the server gives
/// it again, it is asked for with the same key.
#[test]
fn a_success_that_is_cut_is_one() {
    for behaviour in [
        Behaviour::AnswerHalf,
        Behaviour::cut_after_headers(),
        Behaviour::cut_in_body(),
        Behaviour::cut_in_body().ending(End::Reset),
        Behaviour::content_length_too_long(7),
        Behaviour::chunked_without_end(),
        Behaviour::chunked_without_end().ending(End::Reset),
    ] {
        for replays_success in [false, true] {
            let server = server();
            server.script(Matcher::Any, vec![behaviour.clone()]);
            let profile = ServerProfile {
                replays_success,
                ..ServerProfile::standard()
            };
            let stage = Stage::with(&server.url(), |config| config.profile(profile));
            let id = stage.submit("/orders");
            stage.drain();
            assert_eq!(stage.marks(id), ["applied"]);
            assert_eq!(arrivals(&server), 1);
            if replays_success {
                assert!(stage.wait_of(id).unwrap() >= Duration::from_secs(BACKOFF));
            }
            stage.hours_later();
            stage.drain();
            let snapshot = stage.snapshot(id);
            assert_eq!(snapshot.state, SubmissionState::Succeeded, "{behaviour:?}");
            let outcome = snapshot.outcome.unwrap();
            assert_eq!(outcome.result_missing, !replays_success, "{behaviour:?}");
            assert_eq!(outcome.body.is_some(), replays_success, "{behaviour:?}");
            assert_eq!(arrivals(&server), 1 + usize::from(replays_success));
            assert_converged(&server, 1);
        }
    }
}

/// Bytes beyond the length that was promised are nobody's answer.
#[test]
fn surplus_bytes_of_one_answer_are_not_taken_for_the_next() {
    let server = server();
    server.script(
        Matcher::path("/first"),
        vec![Behaviour::content_length_too_short(20).ending(End::Hang)],
    );
    let stage = Stage::new(&server.url());
    stage.submit("/first");
    stage.drain();
    let id = stage.submit("/second");
    stage.drain();
    stage.hours_later();
    stage.drain();
    let outcome = stage.snapshot(id).outcome.unwrap();
    let body = String::from_utf8(outcome.body.unwrap()).unwrap();
    assert!(body.contains(r#""path":"/second""#), "{body}");
    server.release_all();
    assert_converged(&server, 2);
}

#[test]
fn a_success_that_is_too_large_is_one_without_its_result() {
    let server = server();
    let large = format!("[{}1]", "1,".repeat(100_000));
    let answer = Behaviour::respond(201, "application/json", large);
    server.script(Matcher::Any, vec![answer]);
    let limits = Limits {
        max_answer_bytes: 10_000,
        ..telling_limits()
    };
    let stage = Stage::with(&server.url(), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    let outcome = snapshot.outcome.unwrap();
    assert_eq!((outcome.result_missing, outcome.body), (true, None));
    assert_eq!(stage.marks(id), ["applied"]);
    assert_eq!(arrivals(&server), 1);
}
