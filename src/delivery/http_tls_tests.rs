//! Whom the default transport trusts. A handshake that fails lets no byte of a request through.

use std::io::{Read, Write};
use std::net::TcpStream;

use rcgen::{KeyPair, date_time_ymd};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::super::http_certs::{Chain, Signed, leaf, server_config};
use super::super::http_pins::spelled;
use super::super::http_rig::{Once, bytes, post, read_head, start, transport};
use super::super::transport::Reported;
use super::*;
use crate::config::CertificatePin;
use crate::policy::classify::Fault;

fn pinned(tls: TlsConfig, pins: &[(&str, Vec<u8>)]) -> TlsConfig {
    let pins = pins.iter().map(|(host, sha256)| CertificatePin {
        host: (*host).to_owned(),
        sha256: sha256.clone(),
    });
    TlsConfig {
        pins: pins.collect(),
        ..tls
    }
}

/// What came through the handshake, and what the transport reported.
struct Met {
    arrived: String,
    reported: Reported,
    protocol: Option<Vec<u8>>,
}

impl Met {
    fn is_good(&self) -> bool {
        let answered = matches!(&self.reported, Reported::Answered(answer) if answer.status == 201);
        answered && self.arrived.starts_with("POST /orders HTTP/1.1\r\n")
    }

    fn is_refused_as(&self, fault: Fault) -> bool {
        self.arrived.is_empty() && self.reported == Reported::Failed(fault)
    }
}

fn meet(tls: &TlsConfig, leaf: &Signed, sent: Vec<CertificateDer<'static>>) -> Met {
    let config = server_config(leaf, sent, &[HTTP1]);
    let server = Once::new(move |stream| serve(stream, config));
    let url = server.url.replace("http://127.0.0.1", "https://localhost");
    let sent = start(&transport(tls), post(url, bytes(b"")), true);
    let reported = sent.report();
    let (arrived, protocol) = server.end();
    Met {
        arrived,
        reported,
        protocol,
    }
}

/// Reads what the client says inside of TLS, until it has said a head or hangs up.
fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> (String, Option<Vec<u8>>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut first = [0];
    if !matches!(stream.read(&mut first), Ok(1)) {
        return (String::new(), None);
    }
    let head = format!("{}{}", char::from(first[0]), read_head(&mut stream));
    let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).unwrap();
    (head, stream.conn.alpn_protocol().map(<[u8]>::to_vec))
}

#[test]
fn a_known_root_is_enough() {
    let chain = Chain::new();
    for roots in [TrustRoots::ExtraOnly, TrustRoots::Bundled] {
        let tls = TlsConfig {
            roots: Some(roots),
            ..chain.trusting()
        };
        let met = meet(&tls, &chain.leaf, chain.sent());
        assert!(met.is_good(), "{:?}", met.reported);
        assert_eq!(met.protocol.as_deref(), Some(HTTP1));
    }
}

#[test]
fn roots_are_read_in_pem_and_in_der_several_at_once() {
    let chain = Chain::new();
    let other = Signed::root("other");
    let pem = [other.certificate.pem(), chain.root.certificate.pem()].concat();
    for extra_roots in [
        vec![other.der().to_vec(), chain.root.der().to_vec()],
        vec![pem.into_bytes()],
    ] {
        let tls = TlsConfig {
            extra_roots,
            ..chain.trusting()
        };
        assert!(meet(&tls, &chain.leaf, chain.sent()).is_good());
    }
}

#[test]
fn an_unknown_root_a_wrong_host_and_a_missing_link_are_refused() {
    let (chain, other) = (Chain::new(), Chain::new());
    let unknown = meet(&other.trusting(), &chain.leaf, chain.sent());
    assert!(unknown.is_refused_as(Fault::Tls), "{:?}", unknown.reported);
    let bundled = meet(&TlsConfig::default(), &chain.leaf, chain.sent());
    assert!(bundled.is_refused_as(Fault::Tls), "{:?}", bundled.reported);
    let elsewhere = Chain::of(leaf("other.example"));
    let wrong = meet(&elsewhere.trusting(), &elsewhere.leaf, elsewhere.sent());
    assert!(wrong.is_refused_as(Fault::Tls), "{:?}", wrong.reported);
    let alone = meet(&chain.trusting(), &chain.leaf, vec![chain.leaf.der()]);
    assert!(alone.is_refused_as(Fault::Tls), "{:?}", alone.reported);
}

#[test]
fn a_certificate_of_another_time_is_a_matter_of_the_clock() {
    let (mut expired, key) = leaf("localhost");
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2020, 2, 1);
    let (mut early, early_key) = leaf("localhost");
    early.not_before = date_time_ymd(2900, 1, 1);
    early.not_after = date_time_ymd(2900, 2, 1);
    for leaf in [(expired, key), (early, early_key)] {
        let chain = Chain::of(leaf);
        let met = meet(&chain.trusting(), &chain.leaf, chain.sent());
        assert!(met.is_refused_as(Fault::TlsClock), "{:?}", met.reported);
    }
}

#[test]
fn a_pin_is_met_by_the_server_or_a_ca_above_it() {
    let chain = Chain::new();
    let spare = vec![7; 32];
    for above in [&chain.leaf, &chain.middle, &chain.root] {
        for host in ["localhost", "LocalHost", "localhost."] {
            let tls = pinned(
                chain.trusting(),
                &[(host, spare.clone()), (host, above.pin())],
            );
            let met = meet(&tls, &chain.leaf, chain.sent());
            assert!(met.is_good(), "{:?}", met.reported);
        }
    }
}

#[test]
fn a_pin_that_nobody_meets_stops_the_handshake() {
    let chain = Chain::new();
    let tls = pinned(chain.trusting(), &[("localhost", vec![7; 32])]);
    let met = meet(&tls, &chain.leaf, chain.sent());
    assert!(met.is_refused_as(Fault::Tls), "{:?}", met.reported);
    // A dot at the end of a name is no way around.
    assert_eq!(spelled("API.example.com."), "api.example.com");
    let others = pinned(chain.trusting(), &[("other.example", vec![7; 32])]);
    assert!(meet(&others, &chain.leaf, chain.sent()).is_good());
}

/// A pinned CA's certificate is public: sent along with another chain it proves nothing.
#[test]
fn a_pinned_certificate_that_is_merely_sent_is_not_enough() {
    let (chain, other) = (Chain::new(), Chain::new());
    for borrowed in [&chain.middle, &chain.root, &chain.leaf] {
        let mut tls = pinned(other.trusting(), &[("localhost", borrowed.pin())]);
        tls.extra_roots.push(chain.root.der().to_vec());
        let mut sent = other.sent();
        sent.push(borrowed.der());
        let met = meet(&tls, &other.leaf, sent);
        assert!(met.is_refused_as(Fault::Tls), "{:?}", met.reported);
    }
}

/// A pin doesn't make a certificate good.
#[test]
fn a_pin_does_not_replace_a_root() {
    let (chain, other) = (Chain::new(), Chain::new());
    let tls = pinned(other.trusting(), &[("localhost", chain.leaf.pin())]);
    let met = meet(&tls, &chain.leaf, chain.sent());
    assert!(met.is_refused_as(Fault::Tls), "{:?}", met.reported);
}

fn problem(tls: &TlsConfig) -> String {
    match client_config(tls) {
        Ok(_) => "none".to_owned(),
        Err(OpenError::InvalidConfig { field, problem }) => format!("{field}: {problem}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    let root = Signed::root("root").der().to_vec();
    for (extra, field) in [
        (b"junk".to_vec(), "tls.extra_roots[1]: this is no cert"),
        (Vec::new(), "tls.extra_roots[1]: this is no cert"),
        (root[..40].to_vec(), "tls.extra_roots[1]: this is no cert"),
        (
            b"-----BEGIN CERTIFICATE-----\nMIIB".to_vec(),
            "tls.extra_roots[1]: the PEM text is damaged",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(),
            "tls.extra_roots[1]: this is no cert",
        ),
        (
            KeyPair::generate().unwrap().serialize_pem().into_bytes(),
            "tls.extra_roots[1]: there is no certificate",
        ),
    ] {
        let tls = TlsConfig {
            extra_roots: vec![root.clone(), extra],
            ..TlsConfig::default()
        };
        assert!(problem(&tls).starts_with(field), "{}", problem(&tls));
    }
    let none = TlsConfig {
        roots: Some(TrustRoots::ExtraOnly),
        ..TlsConfig::default()
    };
    assert!(problem(&none).starts_with("tls.extra_roots: "));
    for (host, length, field) in [
        ("", 32, "tls.pins[0].host: "),
        ("https://api.example.com", 32, "tls.pins[0].host: "),
        ("api.example.com:443", 32, "tls.pins[0].host: "),
        ("*.example.com", 32, "tls.pins[0].host: "),
        ("api.example.com", 31, "tls.pins[0].sha256: "),
        ("api.example.com", 33, "tls.pins[0].sha256: "),
    ] {
        let tls = pinned(TlsConfig::default(), &[(host, vec![0; length])]);
        assert!(
            problem(&tls).starts_with(field),
            "{host}: {}",
            problem(&tls)
        );
    }
    for host in [
        "api.example.com",
        "192.0.2.1",
        "2001:db8::1",
        "[::1]",
        "bücher.example",
    ] {
        let tls = pinned(TlsConfig::default(), &[(host, vec![0; 32])]);
        assert_eq!(problem(&tls), "none", "{host}");
    }
}

#[cfg(not(feature = "platform-verifier"))]
#[test]
fn the_platform_is_not_replaced_by_something_else() {
    let tls = TlsConfig {
        roots: Some(TrustRoots::Platform),
        ..TlsConfig::default()
    };
    assert!(problem(&tls).starts_with("tls.roots: "));
}

#[cfg(all(feature = "platform-verifier", target_os = "linux"))]
#[test]
fn the_platform_and_extra_roots_verify_and_pin() {
    let chain = Chain::new();
    let tls = TlsConfig {
        roots: Some(TrustRoots::Platform),
        ..chain.trusting()
    };
    assert!(meet(&tls, &chain.leaf, chain.sent()).is_good());
    let tls = pinned(tls, &[("localhost", chain.middle.pin())]);
    assert!(meet(&tls, &chain.leaf, chain.sent()).is_good());
    let tls = pinned(tls, &[("localhost", vec![7; 32])]);
    assert!(meet(&tls, &chain.leaf, chain.sent()).is_refused_as(Fault::Tls));
    let other = Chain::new();
    let met = meet(&tls, &other.leaf, other.sent());
    assert!(met.is_refused_as(Fault::Tls), "{:?}", met.reported);
}
