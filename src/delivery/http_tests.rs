//! The last look at the lease, on real sockets. What has left decides whether an attempt is in doubt.

use std::io::Write;
use std::net::TcpListener;

use super::super::http_rig::{
    Once, PATIENCE, answering, bytes, post, read_all, read_head, start, transport,
};
use super::super::transport::{Reported, WireRequest};
use super::*;

fn send(request: WireRequest, lease_held: bool) -> Reported {
    start(&transport(&TlsConfig::default()), request, lease_held).report()
}

fn get(url: String) -> WireRequest {
    WireRequest {
        method: "GET".to_owned(),
        ..post(url, bytes(b""))
    }
}

/// P4, C15: a process that was frozen until others may have taken over sends nothing.
#[test]
fn nothing_leaves_once_the_lease_is_lost() {
    for request in [
        |url| post(url, bytes(b"{}")),
        |url| post(url, bytes(b"")),
        get,
    ] {
        let server = Once::new(read_all);
        let reported = send(request(server.url.clone()), false);
        assert_eq!(String::from_utf8_lossy(&server.end()), "");
        assert_eq!(reported, Reported::Failed(Fault::NotSent));
    }
}

/// P5: what has left without an answer is in doubt, whether there is a body or not.
#[test]
fn a_request_without_a_body_whose_answer_is_lost_has_left() {
    let server = Once::new(|mut stream| read_head(&mut stream));
    let reported = send(post(server.url.clone(), bytes(b"")), true);
    assert!(!server.end().is_empty());
    assert_eq!(reported, Reported::Failed(Fault::Lost));
}

#[test]
fn only_a_request_with_an_effect_tells_that_its_body_is_empty() {
    for (method, told) in [("POST", true), ("DELETE", true), ("GET", false)] {
        let server = Once::new(|mut stream| {
            let head = read_head(&mut stream);
            stream
                .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            head.to_ascii_lowercase()
        });
        let request = WireRequest {
            method: method.to_owned(),
            ..post(server.url.clone(), bytes(b""))
        };
        let reported = send(request, true);
        let head = server.end();
        assert_eq!(head.contains("\r\ncontent-length: 0\r\n"), told, "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert!(matches!(reported, Reported::Answered(answer) if answer.status == 201));
    }
}

/// Connecting failed, so nothing has left: no doubt.
#[test]
fn a_request_that_found_no_server_has_not_left() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for body in [&b"{}"[..], b""] {
        let reported = send(post(format!("http://{free}/orders"), bytes(body)), true);
        assert_eq!(reported, Reported::Failed(Fault::Unreachable));
    }
}

/// A group of hosts has no route for TCP, as nothing has without a network.
#[cfg(target_os = "linux")]
#[test]
fn without_a_network_it_is_offline() {
    let reported = send(
        post("http://224.0.0.1/orders".to_owned(), bytes(b"{}")),
        true,
    );
    assert_eq!(reported, Reported::Failed(Fault::Offline));
}

#[test]
fn what_cannot_be_read_as_an_answer_is_no_answer() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(101));
    let large = format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "b".repeat(1_000_000));
    for answer in [
        "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 2xx OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        &many,
        &large,
    ] {
        let server = Once::new({
            let answer = answer.as_bytes().to_vec();
            move |mut stream| {
                read_head(&mut stream);
                // It is hung up on before it has said all.
                drop(stream.write_all(&answer));
            }
        });
        let reported = send(post(server.url.clone(), bytes(b"")), true);
        let begin = answer.get(..40).unwrap_or(answer);
        assert_eq!(reported, Reported::Failed(Fault::BadAnswer), "{begin}");
        server.end();
    }
    let most = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{}\r\n",
        "a: b\r\n".repeat(99)
    );
    let server = answering(most.as_bytes());
    let reported = send(post(server.url.clone(), bytes(b"")), true);
    assert!(matches!(reported, Reported::Answered(_)), "{reported:?}");
}

/// What the stack didn't ask for it can't decode: the body is there, and is not the answer's content.
#[test]
fn an_encoding_that_was_not_asked_for_is_not_complete() {
    for (encoding, complete) in [("br", false), ("identity", true)] {
        let server = answering(
            format!(
                "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: 2\r\n\r\n{{}}"
            )
            .as_bytes(),
        );
        let sent = start(
            &transport(&TlsConfig::default()),
            post(server.url.clone(), bytes(b"")),
            true,
        );
        let answer = sent.answer();
        assert_eq!((answer.complete, &answer.body[..]), (complete, &b"{}"[..]));
    }
}

/// An answer to HEAD tells of the body that a GET would have had.
#[test]
fn an_answer_that_has_no_body_is_complete_without() {
    for (method, status) in [
        ("HEAD", "200 OK"),
        ("POST", "204 No Content"),
        ("GET", "304 Same"),
    ] {
        let server = answering(
            format!("HTTP/1.1 {status}\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        );
        let request = WireRequest {
            method: method.to_owned(),
            ..post(server.url.clone(), bytes(b""))
        };
        let sent = start(&transport(&TlsConfig::default()), request, true);
        assert!(sent.answer().complete, "{method} {status}");
    }
}

/// A bomb is cut at the cap, after a few pieces of it.
#[test]
fn what_grows_in_decoding_is_cut_early() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let server = Once::new(move |mut stream| {
        read_head(&mut stream);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            bomb.len() + 1
        );
        stream.write_all(head.as_bytes()).unwrap();
        // One byte is missing for ever: whoever reads on waits until his patience ends.
        drop(stream.write_all(&bomb));
        read_all(stream);
    });
    let request = WireRequest {
        max_answer_bytes: 10_000,
        idle_timeout: PATIENCE * 10,
        ..post(server.url.clone(), bytes(b""))
    };
    let answer = start(&transport(&TlsConfig::default()), request, true).answer();
    assert_eq!((answer.complete, answer.body.len()), (false, 10_000));
    server.end();
}
