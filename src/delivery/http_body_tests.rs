//! Bodies on their way: pieces, files, progress.

use std::io::{Read, Write};
use std::sync::mpsc;

use super::super::http_rig::{Once, PATIENCE, bytes, post, read_all, read_head, start, transport};
use super::super::transport::Reported;
use super::*;
use crate::config::TlsConfig;
use crate::policy::classify::Fault;

/// Bytes of which no two pieces are the same.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn file(content: &[u8]) -> (tempfile::NamedTempFile, WireBody) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    let path = file.path().to_path_buf();
    let length = content.len() as u64;
    (file, WireBody::File { path, length })
}

fn answer_whole(length: usize) -> Once<(String, Vec<u8>)> {
    Once::new(move |mut stream| {
        let head = read_head(&mut stream).to_ascii_lowercase();
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        stream
            .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        (head, body)
    })
}

#[test]
fn large_bodies_arrive_whole_with_their_length_and_tell_how_far_they_are() {
    for length in [PIECE - 1, PIECE, PIECE + 1, 10 * PIECE + 7] {
        let content = pattern(length);
        let (_file, from_file) = file(&content);
        for body in [bytes(&content), from_file] {
            let server = answer_whole(length);
            let sent = start(
                &transport(&TlsConfig::default()),
                post(server.url.clone(), body),
                true,
            );
            assert_eq!(sent.answer().status, 201);
            let (head, arrived) = server.end();
            assert!(arrived == content, "other bytes arrived");
            let told = format!("\r\ncontent-length: {length}\r\n");
            assert!(head.contains(&told), "{head}");
            assert_eq!(sent.progress.load(Ordering::SeqCst), length as u64);
        }
    }
}

/// A server that reads nothing stops the body: it is neither read into memory nor said to be gone.
#[test]
fn a_body_waits_for_the_server() {
    const LENGTH: u64 = 1 << 32;
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH).unwrap();
    let body = WireBody::File {
        path: file.path().to_path_buf(),
        length: LENGTH,
    };
    let (end, ended) = mpsc::channel::<()>();
    let server = Once::new(move |mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        let _ = ended.recv_timeout(PATIENCE);
    });
    let sent = start(
        &transport(&TlsConfig::default()),
        post(server.url.clone(), body),
        true,
    );
    // An answer that comes before the body is whole is an answer.
    assert_eq!(sent.answer().status, 413);
    assert!(sent.progress.load(Ordering::SeqCst) < LENGTH / 16);
    end.send(()).unwrap();
    server.end();
}

/// Not a byte of the file is needed to find the lease lost.
#[test]
fn a_file_is_not_read_before_the_last_look() {
    let body = WireBody::File {
        path: "/nowhere/at/all".into(),
        length: 5,
    };
    let server = Once::new(read_all);
    let sent = start(
        &transport(&TlsConfig::default()),
        post(server.url.clone(), body),
        false,
    );
    assert_eq!(sent.report(), Reported::Failed(Fault::NotSent));
    assert!(server.end().is_empty());
}

#[test]
fn a_file_that_is_not_as_it_was_never_ends_as_if_whole() {
    const LENGTH: usize = 3 * PIECE;
    let content = pattern(LENGTH);
    let missing = WireBody::File {
        path: "/nowhere/at/all".into(),
        length: LENGTH as u64,
    };
    let (_shorter, shorter) = file(&content[..LENGTH - 1]);
    let (_longer, longer) = file(&pattern(LENGTH + 1));
    let relabel = |body| match body {
        WireBody::File { path, .. } => WireBody::File {
            path,
            length: LENGTH as u64,
        },
        bytes => bytes,
    };
    for body in [missing, relabel(shorter), relabel(longer)] {
        let server = Once::new(|mut stream| {
            let head = read_head(&mut stream);
            (head, read_all(stream))
        });
        let sent = start(
            &transport(&TlsConfig::default()),
            post(server.url.clone(), body),
            true,
        );
        assert_eq!(sent.report(), Reported::Failed(Fault::Lost));
        let (_, body) = server.end();
        assert!(body.len() < LENGTH, "{} bytes arrived", body.len());
    }
}

/// The file shrinks under way: what was read of it has left, and then the request breaks.
#[test]
fn a_file_that_is_cut_under_way_breaks_the_request() {
    const LENGTH: u64 = 1 << 26;
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH).unwrap();
    let body = WireBody::File {
        path: file.path().to_path_buf(),
        length: LENGTH,
    };
    let server = Once::new(move |mut stream| {
        read_head(&mut stream);
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        file.as_file().set_len(1).unwrap();
        read_all(stream).len() as u64
    });
    let sent = start(
        &transport(&TlsConfig::default()),
        post(server.url.clone(), body),
        true,
    );
    assert_eq!(sent.report(), Reported::Failed(Fault::Lost));
    assert!(server.end() < LENGTH - 1);
}

/// What is stopped while its body goes out, stops going out.
#[test]
fn a_body_stops_when_the_exchange_is_stopped() {
    const LENGTH: u64 = 1 << 32;
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(LENGTH).unwrap();
    let body = WireBody::File {
        path: file.path().to_path_buf(),
        length: LENGTH,
    };
    let (begun, has_begun) = mpsc::channel();
    let server = Once::new(move |mut stream| {
        read_head(&mut stream);
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        begun.send(()).unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or(0)
    });
    let sent = start(
        &transport(&TlsConfig::default()),
        post(server.url.clone(), body),
        true,
    );
    has_begun.recv_timeout(PATIENCE).unwrap();
    assert!(!sent.stop.stop());
    assert!(server.end() < LENGTH - 1);
}
