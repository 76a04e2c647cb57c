//! Servers that can't show who they are. Not one byte of a request leaves, and nothing is in doubt.

use std::io::{Read, Write};
use std::net::TcpListener;

use submit_once::{CertificatePin, TlsConfig, TrustRoots};
use submit_once_reference_server::{Identity, Options, ReferenceServer, TestCa, TlsOptions};

use crate::case::{Case, End, end_of, own, stage};
use crate::common::agents::PATIENCE;
use crate::secrets::{Said, order, sign_in};
use crate::stage::Stage;

pub fn cases() -> Vec<Case> {
    vec![
        own("an unknown CA", End::Again, |said| {
            let (ca, other) = (ca(), ca());
            refused(said, ca.localhost().unwrap(), trusting(&other))
        }),
        own("no CA of ours at all", End::Again, |said| {
            refused(said, ca().localhost().unwrap(), TlsConfig::default())
        }),
        own(
            "a certificate that vouches for itself",
            End::Again,
            |said| {
                let own = Identity::self_signed().unwrap();
                refused(said, own, trusting(&ca()))
            },
        ),
        own("another host's certificate", End::Again, |said| {
            let ca = ca();
            refused(said, ca.for_host("other.example").unwrap(), trusting(&ca))
        }),
        own("an expired certificate", End::Again, |said| {
            let ca = ca();
            refused(said, ca.expired().unwrap(), trusting(&ca))
        }),
        own("a certificate of tomorrow", End::Again, |said| {
            let ca = ca();
            refused(said, ca.not_yet_valid().unwrap(), trusting(&ca))
        }),
        own("another key than the pinned one", End::Again, |said| {
            let ca = ca();
            let pinned = pinned(&ca, ca.localhost().unwrap().spki_sha256());
            refused(said, ca.localhost().unwrap(), pinned)
        }),
        own("the pinned key of an unknown CA", End::Again, |said| {
            let own = ca().localhost().unwrap();
            let pin = own.spki_sha256();
            refused(said, own, pinned(&ca(), pin))
        }),
        own("plain HTTP behind https", End::Again, |said| {
            talks(said, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        }),
        own("a greeting of another protocol", End::Again, |said| {
            talks(said, b"SSH-2.0-OpenSSH_9.6\r\n")
        }),
        own("a handshake that ends at once", End::Again, |said| {
            talks(said, b"")
        }),
        own("an alert in place of a handshake", End::Again, |said| {
            talks(said, &[21, 3, 3, 0, 2, 2, 40])
        }),
        own("a trusted server", End::Done, |said| {
            let ca = ca();
            let server = serve(ca.localhost().unwrap());
            let stage = stage(&server.url(), |config| config.tls(trusting(&ca)));
            let id = order(&stage.outbox);
            said.note(stage.drain());
            assert!(
                server.tls_seen().application_bytes > 0,
                "the measure is blind"
            );
            let end = end_of(&stage, id);
            (Some(stage), end)
        }),
    ]
}

fn ca() -> TestCa {
    TestCa::new().unwrap()
}

fn trusting(ca: &TestCa) -> TlsConfig {
    TlsConfig {
        roots: Some(TrustRoots::ExtraOnly),
        extra_roots: vec![ca.pem().into_bytes()],
        pins: Vec::new(),
    }
}

fn pinned(ca: &TestCa, sha256: [u8; 32]) -> TlsConfig {
    TlsConfig {
        pins: vec![CertificatePin {
            host: "localhost".to_owned(),
            sha256: sha256.to_vec(),
        }],
        ..trusting(ca)
    }
}

fn serve(identity: Identity) -> ReferenceServer {
    ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(identity)),
        ..Options::default()
    })
    .unwrap()
}

/// Tries three times, hours apart.
fn refused(said: &mut Said, identity: Identity, tls: TlsConfig) -> (Option<Stage>, End) {
    let server = serve(identity);
    let stage = stage(&server.url(), |config| config.tls(tls));
    let id = order(&stage.outbox);
    for attempt in 1..=3 {
        said.note(stage.drain());
        assert!(server.wait_for_tls(|seen| seen.connections >= attempt, PATIENCE));
        stage.hours_later();
        sign_in(&stage.outbox);
    }
    assert_eq!(server.tls_seen().application_bytes, 0, "request bytes left");
    assert!(server.records().is_empty());
    let end = end_of(&stage, id);
    (Some(stage), end)
}

/// A server that speaks no TLS: says this, and listens to whatever comes.
fn talks(said: &mut Said, greeting: &'static [u8]) -> (Option<Stage>, End) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let hearing = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(greeting).unwrap();
        let mut heard = vec![0; 64 * 1024];
        // The greeting is answered by hanging up, perhaps with a reset.
        let first = socket.read(&mut heard).unwrap_or(0);
        drop(socket.shutdown(std::net::Shutdown::Write));
        let rest = socket.read(&mut heard[first..]).unwrap_or(0);
        heard.truncate(first + rest);
        heard
    });
    let stage = stage(&url, |config| config);
    let id = order(&stage.outbox);
    said.note(stage.drain());
    let heard = hearing.join().unwrap();
    for word in ["POST", "canary", "Bearer", "idempotency"] {
        let found = heard
            .windows(word.len())
            .any(|found| found == word.as_bytes());
        assert!(!found, "{word} went over the wire");
    }
    let end = end_of(&stage, id);
    (Some(stage), end)
}
