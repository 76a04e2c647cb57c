//! The bytes on the wire, seen by servers of the test's own: what leaves, and when it must not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use submit_once::{DrainBudget, HoldReason, Outbox, OutboxConfig, Submission, SubmissionState};

use crate::agents::PATIENCE;
use crate::common::Place;
use crate::sockets::{block_on, limits, open, wait};

/// P4: the last look at the lease comes after the connection is made and before the first byte.
/// Here: suspended while connecting, so that nothing may be sent any more.
#[test]
fn what_is_stopped_while_connecting_sends_no_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let outbox = open(&place, &url);
    let id = outbox.begin("form".into()).unwrap();
    outbox
        .submit(Submission::post(id, "/orders").json("{}"))
        .unwrap();
    outbox.start().unwrap();
    // The TLS handshake waits for an answer that never comes.
    let (mut socket, _) = listener.accept().unwrap();
    let mut hello = [0; 1];
    socket.read_exact(&mut hello).unwrap();
    outbox.suspend().unwrap();
    assert!(!outbox.snapshot(id).unwrap().in_doubt);
}

/// F10: the request as it is on the wire: HTTP/1.1, a length, the key, and nothing of our own invention.
#[test]
fn the_wire_has_the_key_the_length_and_the_stored_headers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    let outbox = open(
        &place,
        &format!("http://{}", listener.local_addr().unwrap()),
    );
    for (slot, method) in [("a", "POST"), ("b", "DELETE")] {
        let id = outbox.begin(slot.into()).unwrap();
        let empty = Submission::new(id, method, "/things/1").header("X-Shop", "north");
        outbox.submit(empty).unwrap();
        outbox.start().unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0; 1];
            socket.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        assert!(head.starts_with(&format!(
            "{} /things/1 http/1.1\r\n",
            method.to_ascii_lowercase()
        )));
        assert!(
            head.contains(&format!("idempotency-key: {id}\r\n")),
            "{head}"
        );
        assert!(head.contains("content-length: 0\r\n"), "{head}");
        assert!(head.contains("accept-encoding: gzip\r\n"), "{head}");
        assert!(head.contains("x-shop: north\r\n"), "{head}");
        assert!(head.contains("user-agent: submit-once/"), "{head}");
        for unwanted in ["cookie", "transfer-encoding", "referer", "expect"] {
            assert!(!head.contains(unwanted), "{head}");
        }
        socket
            .write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
            .unwrap();
        drop(socket);
        assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    }
}

/// A TLS fault proves that nothing was sent, and is never bypassed.
#[test]
fn a_plain_server_behind_an_https_url_gets_no_request_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let plain = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let mut received = Vec::new();
        // The client hangs up, perhaps with a reset.
        drop(socket.read_to_end(&mut received));
        received
    });
    let place = Place::new();
    let outbox = open(&place, &url);
    let id = outbox.begin("form".into()).unwrap();
    let order = Submission::post(id, "/orders").json(r#"{"secret":"tea"}"#);
    outbox.submit(order).unwrap();
    let report = block_on(outbox.drain(DrainBudget::of(Duration::from_secs(10)))).unwrap();
    assert_eq!(report.to_repeat, 1);
    let snapshot = outbox.snapshot(id).unwrap();
    assert!(!snapshot.in_doubt);
    let problem = snapshot.last_problem.unwrap();
    assert!(problem.contains("certificate"), "{problem}");
    let received = plain.join().unwrap();
    for word in ["POST", "idempotency", "tea"] {
        let found = received
            .windows(word.len())
            .any(|window| window == word.as_bytes());
        assert!(!found, "{word} went over the wire");
    }
}

/// A request without a body is in doubt like any other when its answer is lost.
#[test]
fn a_lost_answer_to_an_empty_body_leaves_doubt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    let outbox = open(
        &place,
        &format!("http://{}", listener.local_addr().unwrap()),
    );
    let id = outbox.begin("capture".into()).unwrap();
    let capture = Submission::post(id, "/payments/1/capture");
    outbox.submit(capture).unwrap();
    outbox.start().unwrap();
    for answer in ["", "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"] {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = [0; 4_096];
        assert!(socket.read(&mut head).unwrap() > 0);
        socket.write_all(answer.as_bytes()).unwrap();
    }
    let snapshot = wait(&outbox, id);
    let unknown = SubmissionState::Held {
        reason: HoldReason::OutcomeUnknown,
    };
    assert_eq!(snapshot.state, unknown, "the first may have been applied");
}

/// The head of a 2xx counts, even if its body never ends.
#[test]
fn a_time_out_within_the_body_is_as_the_status_says() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    let config = OutboxConfig::at(place.path())
        .base_url(format!("http://{}", listener.local_addr().unwrap()))
        .limits(limits())
        .profile(submit_once::ServerProfile::unkeyed());
    let outbox = Outbox::open(config).unwrap();
    let id = outbox.begin("form".into()).unwrap();
    outbox
        .submit(Submission::post(id, "/orders").json("{}"))
        .unwrap();
    outbox.start().unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    let mut head = [0; 4_096];
    assert!(socket.read(&mut head).unwrap() > 0);
    socket
        .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{")
        .unwrap();
    // Whether it is looked at before or after the late evidence, it ends as a success.
    let succeeded = || outbox.snapshot(id).unwrap().state == SubmissionState::Succeeded;
    let begun = std::time::Instant::now();
    while !succeeded() && begun.elapsed() < PATIENCE {
        block_on(outbox.wait(id, Duration::from_millis(100))).unwrap();
    }
    let outcome = outbox.snapshot(id).unwrap().outcome.unwrap();
    assert_eq!((outcome.status, outcome.result_missing), (Some(201), true));
}
