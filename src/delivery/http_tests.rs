//! The last look at the lease, on real sockets. What has left decides whether an attempt is in doubt.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::*;
use crate::clock::{SystemClock, UptimeMs};
use crate::delivery::lease::Lease;
use crate::delivery::transport::Reported;
use crate::runtime::OwnRuntime;

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends one request and returns what was reported.
fn send(url: String, body: &[u8], lease_held: bool) -> Reported {
    let lease = Lease::new(Arc::new(SystemClock::new(None)));
    if lease_held {
        lease.extend(UptimeMs(i64::MAX));
    }
    let (sender, receiver) = mpsc::channel();
    let (exchange, _stop) = Exchange::observed(
        move || lease.holds(),
        move |reported| drop(sender.send(reported)),
    );
    let executor = Arc::new(OwnRuntime::start().unwrap());
    let transport =
        HttpTransport::new(&Limits::default(), &TlsConfig::default(), executor).unwrap();
    let request = WireRequest {
        method: "POST".to_owned(),
        url,
        headers: Vec::new(),
        body: WireBody::Bytes(Bytes::copy_from_slice(body)),
        max_answer_bytes: 1_000,
        idle_timeout: PATIENCE,
    };
    transport.start(request, exchange);
    receiver.recv_timeout(PATIENCE).unwrap()
}

/// Sends one request to a server that does `serve` with the connection. Returns what the server
/// read and what was reported.
fn exchange(
    body: &[u8],
    lease_held: bool,
    serve: impl FnOnce(TcpStream) -> Vec<u8> + Send + 'static,
) -> (Vec<u8>, Reported) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/orders", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let reported = send(url, body, lease_held);
    (server.join().unwrap(), reported)
}

fn read_all(mut stream: TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

/// Reads the head of a request without a body.
fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    head
}

/// P4: a process that was frozen until others may have taken over sends nothing.
#[test]
fn nothing_leaves_once_the_lease_is_lost() {
    for body in [&b"{}"[..], b""] {
        let (arrived, reported) = exchange(body, false, read_all);
        assert_eq!(String::from_utf8_lossy(&arrived), "");
        assert_eq!(reported, Reported::Failed(Fault::NotSent));
    }
}

/// P5: what has left without an answer is in doubt, whether there is a body or not.
#[test]
fn a_request_without_a_body_whose_answer_is_lost_has_left() {
    let (arrived, reported) = exchange(b"", true, |mut stream| read_head(&mut stream));
    assert!(!arrived.is_empty());
    assert_eq!(reported, Reported::Failed(Fault::Lost));
}

#[test]
fn a_request_without_a_body_has_the_length_zero() {
    let (arrived, reported) = exchange(b"", true, |mut stream| {
        let head = read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        head
    });
    let head = String::from_utf8_lossy(&arrived).to_ascii_lowercase();
    assert!(head.contains("\r\ncontent-length: 0\r\n"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert!(matches!(reported, Reported::Answered(answer) if answer.status == 201));
}

/// Connecting failed, so nothing has left: no doubt.
#[test]
fn a_request_that_found_no_server_has_not_left() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for body in [&b"{}"[..], b""] {
        let reported = send(format!("http://{free}/orders"), body, true);
        assert_eq!(reported, Reported::Failed(Fault::Unreachable));
    }
}
