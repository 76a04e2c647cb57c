//! Records and flights: what is counted, and that a dead client does not end a flight.

use submit_once_reference_server::{Behaviour, Matcher};

use crate::client::PATIENCE;
use crate::{client, post, server};

const KEY: [(&str, &str); 1] = [("Idempotency-Key", "k")];

#[test]
fn a_handler_ends_its_work_when_its_client_is_gone() {
    let server = server();
    server.script(
        Matcher::key("k"),
        vec![Behaviour::HoldBefore("work".into())],
    );
    let mut client = client(&server);
    client.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held("work", PATIENCE).unwrap();
    client.hang_up();
    assert!(server.wait_for(|records| records[0].lost_at_ns.is_some(), PATIENCE));

    let record = server.in_flight().remove(0);
    assert_eq!((record.effect, record.answer_lost), (None, false));
    server.release("work");
    assert!(server.wait_until_quiet(PATIENCE));

    let record = server.records().remove(0);
    assert_eq!(
        (record.effect, record.answer_lost, record.status),
        (Some(1), true, None)
    );
    assert!(record.handler_done_at_ns > record.lost_at_ns);
    assert_eq!(server.effects_of("k").unwrap(), 1);
}

#[test]
fn a_client_that_is_killed_and_comes_back_too_early_is_found_out() {
    let server = server();
    server.script(
        Matcher::key("k"),
        vec![Behaviour::HoldBefore("work".into())],
    );
    let mut killed = client(&server);
    killed.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held("work", PATIENCE).unwrap();
    killed.hang_up();
    assert!(server.wait_for(|records| records[0].lost_at_ns.is_some(), PATIENCE));

    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 409);
    server.release("work");
    assert!(server.wait_until_quiet(PATIENCE));
    assert_eq!(server.summary().unwrap().max_in_flight_per_key, 2);
}

#[test]
fn requests_that_follow_each_other_do_not_overlap() {
    let server = server();
    // A connection each: another thread of the server may take the next request while the one
    // that wrote the last answer has not returned from the write.
    for _ in 0..500 {
        post(&server, "/orders", "k", "{}").unwrap();
        // No wait: a client that has its answer is out of the air in every view.
        assert!(server.in_flight().is_empty());
    }
    let summary = server.summary().unwrap();
    assert_eq!((summary.requests, summary.effects), (500, 1));
    assert_eq!(
        (summary.max_in_flight_per_key, summary.answers_lost),
        (1, 0)
    );
}

#[test]
fn a_dropped_answer_ends_its_flight_before_the_client_can_retry() {
    let server = server();
    server.always(Matcher::key("k"), Behaviour::CommitThenDrop);
    server.always(Matcher::key("h"), Behaviour::AnswerHalf);
    for _ in 0..200 {
        assert_eq!(post(&server, "/orders", "k", "{}"), None);
        assert!(!post(&server, "/others", "h", "{}").unwrap().complete);
    }
    assert!(server.wait_until_quiet(PATIENCE));
    let summary = server.summary().unwrap();
    assert_eq!(
        (summary.max_in_flight_per_key, summary.answers_lost),
        (1, 400)
    );
}

#[test]
fn a_request_whose_body_is_cut_is_recorded_and_has_no_effect() {
    let server = server();
    let mut client = client(&server);
    client.send_raw(
        b"POST /orders HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\n\
          Content-Length: 100\r\n\r\nonly this",
    );
    server
        .wait_for_request(Matcher::key("k"), PATIENCE)
        .unwrap();
    client.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().remove(0);
    assert!(!record.body_complete && !record.answer_lost);
    assert_eq!(
        (record.body_sha256, record.effect, record.status),
        (None, None, None)
    );
    let summary = server.summary().unwrap();
    assert_eq!(
        (summary.requests, summary.effects, summary.bodies_cut),
        (1, 0, 1)
    );
}

#[test]
fn a_record_says_who_sent_what_when_and_keeps_no_credential() {
    let server = server();
    let mut client = client(&server);
    let mut as_user = |token: &str, key: &str| {
        let headers = [
            ("Authorization", token),
            ("User-Agent", "test/1"),
            ("Idempotency-Key", key),
        ];
        client.call("POST", "/orders?a=b", &headers, "abc").unwrap();
    };
    as_user("Bearer secret-1", "k-1");
    as_user("Bearer secret-1", "k-2");
    as_user("Bearer secret-2", "k-3");
    assert!(server.wait_until_quiet(PATIENCE));
    let records = server.records();
    let first = &records[0];
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/orders?a=b")
    );
    assert_eq!(
        (first.key.as_deref(), first.user_agent.as_deref()),
        (Some("k-1"), Some("test/1"))
    );
    assert_eq!(
        (first.body_bytes, first.body_complete, first.status),
        (3, true, Some(201))
    );
    assert!(first.body_sha256.as_ref().unwrap().starts_with("ba7816bf"));
    assert!(first.arrived_at_ns < first.handler_done_at_ns.unwrap());
    assert!(first.handler_done_at_ns < first.answered_at_ns);
    assert!(first.arrived_wall_ms > 1_600_000_000_000);
    assert_eq!(first.principal.as_ref().unwrap().len(), 16);
    assert_eq!(first.principal, records[1].principal);
    assert_ne!(first.principal, records[2].principal);
    assert!(!format!("{records:?}").contains("secret"));
}

#[test]
fn an_answer_without_a_body_is_an_answer() {
    let server = server();
    server.script(
        Matcher::path("/empty"),
        vec![Behaviour::Respond {
            status: 204,
            headers: vec![],
            body: vec![],
            content_type: None,
        }],
    );
    assert_eq!(post(&server, "/empty", "k", "{}").unwrap().status, 204);
    let close = [("Connection", "close")];
    let head = client(&server).call("HEAD", "/thing", &close, "").unwrap();
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(
        server
            .records()
            .iter()
            .all(|record| record.answered_at_ns.is_some())
    );
}

#[test]
fn a_large_answer_counts_as_answered_only_when_all_of_it_is_taken() {
    let server = server();
    let large = vec![b'x'; 24 * 1024 * 1024];
    server.script(
        Matcher::Any,
        vec![Behaviour::respond(200, "text/plain", large.clone()); 2],
    );
    let mut reader = client(&server);
    reader.send("GET", "/large", &[], "");
    assert!(server.wait_for(
        |records| records.iter().any(|r| r.status.is_some()),
        PATIENCE
    ));
    // More than the sockets can buffer, and nobody reads.
    assert_eq!(server.in_flight().len(), 1);
    assert_eq!(reader.receive().unwrap().body.len(), large.len());
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(server.records()[0].answered_at_ns.is_some());

    let mut leaver = client(&server);
    leaver.send("GET", "/large", &[], "");
    assert!(server.wait_for(|r| r.len() == 2 && r[1].status.is_some(), PATIENCE));
    leaver.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(server.records()[1].lost_at_ns.is_some());
}
