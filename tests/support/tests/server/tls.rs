//! TLS: good and bad certificates, what is counted, and HTTP/2.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sha2::{Digest, Sha256};
use submit_once_reference_server::{
    Behaviour, Identity, Matcher, Options, ReferenceServer, TestCa, TlsOptions, TlsSeen,
};

use crate::client::PATIENCE;

const ORDER: &[u8] = b"POST /orders HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\n\
                       Content-Length: 2\r\nConnection: close\r\n\r\n{}";

fn with(identity: Identity) -> ReferenceServer {
    ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(identity)),
        ..Options::default()
    })
    .unwrap()
}

pub fn trusting(ca: &TestCa) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(ca.der().to_vec())).unwrap();
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn connect(
    server: &ReferenceServer,
    config: ClientConfig,
) -> StreamOwned<ClientConnection, TcpStream> {
    let tcp = TcpStream::connect(server.addr()).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp)
}

/// Sends an order; the error says why the certificate was refused.
fn order(server: &ReferenceServer, ca: &TestCa) -> Result<String, String> {
    let mut stream = connect(server, trusting(ca));
    stream.write_all(ORDER).map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .map_err(|error| error.to_string())?;
    Ok(answer)
}

#[test]
fn a_good_certificate_is_trusted_and_its_bytes_are_counted() {
    let ca = TestCa::new().unwrap();
    let server = with(ca.localhost().unwrap());
    assert_eq!(
        server.url(),
        format!("https://localhost:{}", server.addr().port())
    );
    assert_eq!(server.tls_seen(), TlsSeen::default());
    let answer = order(&server, &ca).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert!(server.wait_until_quiet(PATIENCE));
    assert_eq!(
        server.tls_seen(),
        TlsSeen {
            connections: 1,
            handshakes: 1,
            failed_handshakes: 0,
            application_bytes: ORDER.len() as u64,
        }
    );
    assert!(server.records()[0].answered_at_ns.is_some());
}

#[test]
fn a_bad_certificate_is_refused_before_a_byte_of_a_request() {
    let ca = TestCa::new().unwrap();
    let other = TestCa::new().unwrap();
    for (identity, reason) in [
        (ca.expired(), "certificate expired"),
        (ca.not_yet_valid(), "not valid yet"),
        (ca.for_host("shop.example"), "not valid for name"),
        (other.localhost(), "UnknownIssuer"),
    ] {
        let server = with(identity.unwrap());
        let error = order(&server, &ca).unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(server.wait_for_tls(|seen| seen.failed_handshakes == 1, PATIENCE));
        let seen = server.tls_seen();
        assert_eq!(
            (seen.connections, seen.handshakes, seen.application_bytes),
            (1, 0, 0)
        );
        assert!(server.records().is_empty());
    }
}

#[test]
fn pins_can_be_made_of_leaf_and_authority() {
    let ca = TestCa::new().unwrap();
    let identity = ca.localhost().unwrap();
    assert!(ca.pem().starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(identity.pem().starts_with("-----BEGIN CERTIFICATE-----"));
    let server = with(identity.clone());
    let mut stream = connect(&server, trusting(&ca));
    stream.write_all(ORDER).unwrap();
    let shown = stream.conn.peer_certificates().unwrap()[0].to_vec();
    assert_eq!(shown, identity.der());
    for (der, pin) in [
        (shown.as_slice(), identity.spki_sha256()),
        (ca.der(), ca.spki_sha256()),
    ] {
        // The public key of a certificate stands in it as it is hashed.
        let found = der.windows(91).any(|key| Sha256::digest(key)[..] == pin);
        assert!(found);
    }
    assert_ne!(
        ca.localhost().unwrap().spki_sha256(),
        identity.spki_sha256()
    );
}

#[test]
fn misbehaviour_works_through_tls() {
    let ca = TestCa::new().unwrap();
    let server = with(ca.localhost().unwrap());
    server.script(
        Matcher::Any,
        vec![
            Behaviour::CommitThenDrop,
            Behaviour::cut_after_headers(),
            Behaviour::reset_after_read(),
            Behaviour::interim(&[103]),
        ],
    );
    order(&server, &ca).unwrap_err();
    let cut = order(&server, &ca).unwrap();
    assert!(cut.starts_with("HTTP/1.1 201 Created\r\n") && cut.ends_with("\r\n\r\n"));
    let reset = order(&server, &ca).unwrap_err();
    assert!(reset.contains("reset"), "{reset}");
    assert!(order(&server, &ca).unwrap().starts_with("HTTP/1.1 103"));
    assert!(server.wait_until_quiet(PATIENCE));
    let summary = server.summary().unwrap();
    assert_eq!((summary.effects, summary.answers_lost), (1, 3));
}

#[test]
fn a_client_that_speaks_no_tls_is_a_failed_handshake() {
    let ca = TestCa::new().unwrap();
    let server = with(ca.localhost().unwrap());
    let mut tcp = TcpStream::connect(server.addr()).unwrap();
    tcp.write_all(ORDER).unwrap();
    assert!(server.wait_for_tls(|seen| seen.failed_handshakes == 1, PATIENCE));
    assert!(server.records().is_empty());
}

#[test]
fn the_protocol_is_agreed_on() {
    let ca = TestCa::new().unwrap();
    let http2 = ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(ca.localhost().unwrap()).with_http2()),
        ..Options::default()
    })
    .unwrap();
    let http1 = with(ca.localhost().unwrap());
    for (server, agreed) in [(&http2, "h2"), (&http1, "http/1.1")] {
        let mut config = trusting(&ca);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut stream = connect(server, config);
        stream.conn.complete_io(&mut stream.sock).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(agreed.as_bytes()));
    }
}
