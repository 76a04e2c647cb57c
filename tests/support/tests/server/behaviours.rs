//! Each misbehaviour does to the effect what it says, and shows the client what it says.

use std::time::Duration;

use submit_once_reference_server::{Behaviour, HANG, Matcher, ReferenceServer, RequestRecord};

use crate::client::{Answer, PATIENCE};
use crate::{client, post, server};

/// Sends one order under a script and waits for the end of its flight.
fn scripted(behaviour: Behaviour) -> (ReferenceServer, Option<Answer>, RequestRecord) {
    let server = server();
    server.script(Matcher::path("/orders"), vec![behaviour]);
    let answer = post(&server, "/orders", "k", "{}");
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().remove(0);
    (server, answer, record)
}

#[test]
fn commit_then_drop_has_an_effect_and_not_one_byte_of_an_answer() {
    let (server, answer, record) = scripted(Behaviour::CommitThenDrop);
    assert_eq!(answer, None);
    assert_eq!(
        (record.effect, record.status, record.answered_at_ns),
        (Some(1), None, None)
    );
    assert!(record.answer_lost && record.lost_at_ns.is_some());
    let repeat = post(&server, "/orders", "k", "{}").unwrap();
    assert!(repeat.is_replay());
    let summary = server.summary().unwrap();
    assert_eq!(
        (
            summary.effects,
            summary.answers_lost,
            summary.duplicate_effects
        ),
        (1, 1, 0)
    );
}

#[test]
fn half_an_answer_is_half_of_what_it_declares() {
    let (server, answer, record) = scripted(Behaviour::AnswerHalf);
    let half = answer.unwrap();
    let whole = post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!(half.status, 201);
    assert!(!half.complete && whole.complete);
    assert_eq!(
        half.header("content-length"),
        whole.header("content-length")
    );
    assert_eq!(half.body, whole.body[..whole.body.len() / 2]);
    assert_eq!(
        (record.effect, record.status, record.answered_at_ns),
        (Some(1), Some(201), None)
    );
    assert!(record.answer_lost);
}

#[test]
fn an_error_before_has_no_effect_and_leaves_the_key_free() {
    let (server, answer, record) = scripted(Behaviour::unavailable(7));
    let answer = answer.unwrap();
    assert_eq!(
        (answer.status, answer.header("Retry-After")),
        (503, Some("7"))
    );
    assert_eq!((record.effect, record.answer_lost), (None, false));
    let repeat = post(&server, "/orders", "k", "{}").unwrap();
    assert!(repeat.status == 201 && !repeat.is_replay());
    assert_eq!(server.summary().unwrap().errors_503, 1);
}

#[test]
fn an_error_after_covers_an_effect_that_a_repeat_replays() {
    let (server, answer, record) = scripted(Behaviour::ErrorAfter { status: 502 });
    assert_eq!(answer.unwrap().status, 502);
    assert_eq!(
        (record.effect, record.status, record.answer_lost),
        (Some(1), Some(502), true)
    );
    let repeat = post(&server, "/orders", "k", "{}").unwrap();
    assert!(repeat.status == 201 && repeat.is_replay());
    assert_eq!(server.effects_of("k").unwrap(), 1);
}

#[test]
fn a_frozen_error_is_replayed_with_the_marker_until_the_key_is_forgotten() {
    let (server, answer, record) = scripted(Behaviour::FreezeError { status: 500 });
    let first = answer.unwrap();
    assert_eq!(
        (first.status, first.is_replay(), record.effect),
        (500, false, None)
    );
    for _ in 0..2 {
        let repeat = post(&server, "/orders", "k", "{}").unwrap();
        assert_eq!((repeat.status, &repeat.body), (500, &first.body));
        assert_eq!(
            repeat.header("content-type"),
            Some("application/problem+json")
        );
        assert!(repeat.is_replay());
    }
    server.forget_keys().unwrap();
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 201);
    assert_eq!(server.summary().unwrap().effects, 1);
}

#[test]
fn an_arbitrary_answer_is_sent_as_it_is_and_has_no_effect() {
    let portal = Behaviour::respond(200, "text/html", "<html>Sign in</html>");
    let (server, answer, _) = scripted(portal);
    let answer = answer.unwrap();
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/html"))
    );
    assert_eq!(answer.body, b"<html>Sign in</html>");
    assert_eq!(server.summary().unwrap().effects, 0);

    let (_, answer, _) = scripted(Behaviour::redirect(307, "/elsewhere"));
    let answer = answer.unwrap();
    assert_eq!(
        (answer.status, answer.header("Location")),
        (307, Some("/elsewhere"))
    );
}

#[test]
fn an_answer_that_http_cannot_carry_is_a_500_and_not_a_panic() {
    let (_, answer, record) = scripted(Behaviour::respond(99, "text/plain", "?"));
    let answer = answer.unwrap();
    assert_eq!((answer.status, record.status), (500, Some(500)));
    assert!(answer.json()["detail"].as_str().unwrap().contains("99"));
}

#[test]
fn a_late_answer_has_its_effect_at_once() {
    let server = server();
    server.script(
        Matcher::key("k"),
        vec![Behaviour::AnswerLate(Duration::from_secs(3600))],
    );
    let mut slow = client(&server);
    slow.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
    let done = |records: &[RequestRecord]| records[0].handler_done_at_ns.is_some();
    assert!(server.wait_for(|r| !r.is_empty() && done(r), PATIENCE));
    // The key is free: the delay is the network's, not the handler's.
    assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
    slow.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(server.records()[0].answer_lost);
}

#[test]
fn a_late_answer_arrives_after_its_delay() {
    let delay = Duration::from_millis(50);
    let (_, answer, record) = scripted(Behaviour::AnswerLate(delay));
    assert_eq!(answer.unwrap().status, 201);
    let waited = record.answered_at_ns.unwrap() - record.arrived_at_ns;
    assert!(waited >= 50_000_000 && !record.answer_lost);
    assert!(record.handler_done_at_ns.unwrap() < record.answered_at_ns.unwrap());
}

#[test]
fn late_work_has_its_effect_after_the_delay() {
    let (_, answer, record) = scripted(Behaviour::WorkLate(Duration::from_millis(50)));
    assert_eq!(answer.unwrap().status, 201);
    assert!(record.handler_done_at_ns.unwrap() - record.arrived_at_ns >= 50_000_000);
}

#[test]
fn a_silent_server_answers_when_released() {
    for commit in [true, false] {
        let server = server();
        server.script(Matcher::Any, vec![Behaviour::Hang { commit }]);
        let mut client = client(&server);
        client.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
        server.wait_until_held(HANG, PATIENCE).unwrap();
        assert_eq!(server.effects_of("k").unwrap(), u64::from(commit));
        server.release(HANG);
        assert_eq!(client.receive().unwrap().status, 201);
        assert_eq!(server.effects_of("k").unwrap(), 1);
    }
}

#[test]
fn a_silent_server_gives_up_with_its_client() {
    for commit in [true, false] {
        let server = server();
        server.script(Matcher::Any, vec![Behaviour::Hang { commit }]);
        let mut client = client(&server);
        client.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
        server.wait_until_held(HANG, PATIENCE).unwrap();
        client.hang_up();
        assert!(server.wait_until_quiet(PATIENCE));
        let record = server.records().remove(0);
        assert_eq!(record.effect.is_some(), commit);
        assert_eq!((record.answer_lost, record.held_at), (commit, None));
        let repeat = post(&server, "/orders", "k", "{}").unwrap();
        assert_eq!(repeat.is_replay(), commit);
    }
}

#[test]
fn scripts_are_used_up_in_order_and_standing_orders_are_not() {
    let server = server();
    let error = |status| Behaviour::ErrorBefore {
        status,
        headers: vec![],
    };
    server.always(Matcher::path("/orders"), error(500));
    server.script(Matcher::key("a"), vec![error(501), error(502)]);
    server.script(Matcher::path("/orders"), vec![error(503)]);
    let mut client = client(&server);
    let mut status = |key: &str| client.post("/orders", key, "{}").unwrap().status;
    assert_eq!(
        ["a", "b", "a", "a", "b"].map(&mut status),
        [501, 503, 502, 500, 500]
    );
    server.clear_scripts();
    assert_eq!(post(&server, "/orders", "a", "{}").unwrap().status, 201);
}

#[test]
fn a_tag_that_the_client_knows_is_answered_by_304() {
    let server = server();
    let tagged = Behaviour::Respond {
        status: 200,
        headers: vec![("ETag".to_owned(), r#"W/"a""#.to_owned())],
        body: b"{}".to_vec(),
        content_type: None,
    };
    server.always(Matcher::Any, tagged);
    for (tag, status) in [(r#"W/"a""#, 304), (r#""a""#, 304), (r#""b""#, 200)] {
        let headers = [("If-None-Match", tag)];
        let answer = client(&server)
            .call("GET", "/config", &headers, "")
            .unwrap();
        assert_eq!(answer.status, status, "{tag}");
        assert_eq!(answer.body.is_empty(), status == 304);
    }
}
