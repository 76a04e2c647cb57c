//! Connections: how they are reused, cut while a body is coming, and closed under a client.

use std::io::ErrorKind;

use submit_once_reference_server::{Behaviour, End, HANG, Matcher, RequestRecord};

use crate::client::PATIENCE;
use crate::{client, post, server};

const LONG: &[u8] = b"POST /orders HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\n\
                      Content-Length: 1000000\r\n\r\n";

#[test]
fn a_record_says_which_connection_it_came_on() {
    let server = server();
    let mut first = client(&server);
    first.post("/orders", "a", "{}").unwrap();
    first.post("/orders", "b", "{}").unwrap();
    post(&server, "/orders", "c", "{}").unwrap();
    let places: Vec<(u64, u64)> = server
        .records()
        .iter()
        .map(|record| (record.connection, record.nth_on_connection))
        .collect();
    assert_eq!(places, [(1, 1), (1, 2), (2, 1)]);
}

#[test]
fn a_reused_connection_closes_once_the_request_is_read() {
    let server = server();
    server.script(Matcher::path("/orders"), vec![Behaviour::CloseAfterRead]);
    let mut kept = client(&server);
    assert_eq!(kept.post("/orders", "a", "{}").unwrap().status, 201);
    assert_eq!(kept.post("/orders", "b", "{}"), None);
    let again = post(&server, "/orders", "b", "{}").unwrap();
    assert!(again.status == 201 && !again.is_replay());
    assert!(server.wait_until_quiet(PATIENCE));

    let records = server.records();
    let stale = &records[1];
    assert!(stale.body_complete && stale.lost_at_ns.is_some());
    assert_eq!(
        (stale.effect, stale.status, stale.answer_lost),
        (None, None, false)
    );
    assert_eq!(stale.behaviour, Behaviour::CloseAfterRead);
    assert_eq!(server.summary().unwrap().effects, 2);
}

#[test]
fn as_a_standing_order_it_leaves_each_connection_one_answer() {
    let server = server();
    server.always(Matcher::Any, Behaviour::CloseAfterRead);
    for key in ["a", "b"] {
        let mut kept = client(&server);
        assert_eq!(kept.post("/orders", key, "{}").unwrap().status, 201);
        assert_eq!(kept.post("/orders", key, "{}"), None);
    }
}

#[test]
fn an_upload_is_cut_while_its_body_is_coming() {
    for (end, error) in [
        (End::Reset, Some(ErrorKind::ConnectionReset)),
        (End::Close, None),
    ] {
        let server = server();
        server.script(
            Matcher::key("k"),
            vec![Behaviour::cut_request(10).ending(end)],
        );
        let mut client = client(&server);
        client.send_raw(LONG);
        client.send_raw(b"0123");
        let some = |records: &[RequestRecord]| records.iter().any(|r| r.body_bytes == 4);
        assert!(server.wait_for(some, PATIENCE));
        client.send_raw(b"4567890123");
        let (bytes, how) = client.drain();
        assert_eq!((bytes, how), (vec![], error));
        assert!(server.wait_until_quiet(PATIENCE));
        let record = server.records().remove(0);
        assert_eq!(
            (record.body_bytes, record.body_complete, record.effect),
            (14, false, None)
        );
        assert_eq!((record.status, record.answer_lost), (None, false));
        assert_eq!(server.summary().unwrap().bodies_cut, 1);
    }
}

#[test]
fn an_upload_is_cut_before_its_first_byte() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::cut_request(0)]);
    let mut client = client(&server);
    client.send_raw(LONG);
    assert_eq!(client.drain().1, Some(ErrorKind::ConnectionReset));
    assert_eq!(server.records()[0].body_bytes, 0);
}

#[test]
fn an_upload_can_stall() {
    let server = server();
    server.script(
        Matcher::Any,
        vec![Behaviour::cut_request(1).ending(End::Hang)],
    );
    let mut client = client(&server);
    client.send_raw(LONG);
    client.send_raw(b"some of it");
    server.wait_until_held(HANG, PATIENCE).unwrap();
    // More that nobody reads does not hide the end of the connection.
    client.send_raw(b"more of it");
    client.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    assert_eq!(server.records()[0].effect, None);
}

#[test]
fn an_error_can_come_before_the_body() {
    let server = server();
    let early = Behaviour::ErrorEarly {
        status: 413,
        headers: vec![("X-Why".into(), "too large".into())],
    };
    server.script(Matcher::key("k"), vec![early]);
    let mut client = client(&server);
    client.send_raw(LONG);
    let answer = client.receive().unwrap();
    assert_eq!(
        (answer.status, answer.header("X-Why")),
        (413, Some("too large"))
    );
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().remove(0);
    assert_eq!(
        (record.body_bytes, record.body_complete, record.effect),
        (0, false, None)
    );
    assert!(record.answered_at_ns.is_some());
}

#[test]
fn a_body_is_counted_while_it_comes() {
    let server = server();
    let mut client = client(&server);
    client.send_raw(LONG);
    client.send_raw(b"only this");
    let seen = |records: &[RequestRecord]| records.iter().any(|r| r.body_bytes == 9);
    assert!(server.wait_for(seen, PATIENCE));
    client.hang_up();
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().remove(0);
    assert_eq!((record.body_bytes, record.body_complete), (9, false));
}
