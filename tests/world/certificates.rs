//! TLS over real sockets: a certificate that can't be verified is never bypassed. Not one byte of a
//! request leaves, nothing is in doubt, and the next attempt waits long (F74).

use std::time::Duration;

use submit_once::{CertificatePin, SubmissionId, SubmissionState, TlsConfig, TrustRoots};
use submit_once_reference_server::{Identity, Options, ReferenceServer, TestCa, TlsOptions};

use crate::agents::{PATIENCE, assert_converged};
use crate::stage::Stage;

const UNVERIFIED: &str = "could not be verified";
const CLOCK: &str = "not valid at this device's time";

fn serve(identity: Identity, listen: Option<std::net::SocketAddr>) -> ReferenceServer {
    let defaults = Options::default();
    ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(identity)),
        listen: listen.unwrap_or(defaults.listen),
        ..defaults
    })
    .unwrap()
}

fn trusting(ca: &TestCa) -> TlsConfig {
    TlsConfig {
        extra_roots: vec![ca.pem().into_bytes()],
        ..TlsConfig::default()
    }
}

fn pinned(ca: &TestCa, host: &str, pins: &[[u8; 32]]) -> TlsConfig {
    let pin = |sha256: &[u8; 32]| CertificatePin {
        host: host.to_owned(),
        sha256: sha256.to_vec(),
    };
    TlsConfig {
        pins: pins.iter().map(pin).collect(),
        ..trusting(ca)
    }
}

fn submit(server: &ReferenceServer, tls: TlsConfig) -> (Stage, SubmissionId) {
    let stage = Stage::with(&server.url(), |config| config.tls(tls));
    let id = stage.submit("/orders");
    (stage, id)
}

/// Three times over, hours apart: refused before the first byte.
fn is_refused(identity: Identity, tls: TlsConfig, words: &str) {
    let server = serve(identity, None);
    let (stage, id) = submit(&server, tls);
    for attempt in 1..=3 {
        stage.drain();
        assert!(server.wait_for_tls(|seen| seen.connections >= attempt, PATIENCE));
        assert_eq!(server.tls_seen().application_bytes, 0);
        let snapshot = stage.snapshot(id);
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert!(!snapshot.in_doubt);
        let problem = snapshot.last_problem.unwrap();
        assert!(problem.contains(words), "{problem}");
        assert_eq!(stage.marks(id).last().unwrap(), "not_applied");
        // Trying sooner can't help.
        let wait = stage.wait_of(id).unwrap();
        assert!(wait >= Duration::from_secs(300), "{wait:?}");
        assert_eq!(stage.number(id, "answered"), 0, "it never gives up");
        stage.hours_later();
    }
    assert!(server.records().is_empty());
}

fn is_delivered(identity: Identity, tls: TlsConfig) {
    let server = serve(identity, None);
    let (stage, id) = submit(&server, tls);
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert!(server.tls_seen().application_bytes > 0);
    assert_converged(&server, 1);
}

#[test]
fn a_certificate_of_a_trusted_ca_is_accepted() {
    let ca = TestCa::new().unwrap();
    is_delivered(ca.localhost().unwrap(), trusting(&ca));
    let der = TlsConfig {
        roots: Some(TrustRoots::ExtraOnly),
        extra_roots: vec![ca.der().to_vec()],
        pins: Vec::new(),
    };
    is_delivered(ca.localhost().unwrap(), der);
}

#[test]
fn a_certificate_of_an_unknown_ca_is_refused() {
    let (ca, other) = (TestCa::new().unwrap(), TestCa::new().unwrap());
    is_refused(ca.localhost().unwrap(), TlsConfig::default(), UNVERIFIED);
    is_refused(ca.localhost().unwrap(), trusting(&other), UNVERIFIED);
}

#[test]
fn a_certificate_of_another_host_is_refused() {
    let ca = TestCa::new().unwrap();
    is_refused(
        ca.for_host("other.example").unwrap(),
        trusting(&ca),
        UNVERIFIED,
    );
}

/// Most often it is the device's clock that is wrong.
#[test]
fn a_certificate_out_of_its_time_is_refused_and_says_so() {
    let ca = TestCa::new().unwrap();
    is_refused(ca.expired().unwrap(), trusting(&ca), CLOCK);
    is_refused(ca.not_yet_valid().unwrap(), trusting(&ca), CLOCK);
}

#[test]
fn one_good_pin_is_enough_and_other_hosts_are_not_concerned() {
    let ca = TestCa::new().unwrap();
    let own = ca.localhost().unwrap();
    let spare = [7; 32];
    is_delivered(
        own.clone(),
        pinned(&ca, "localhost", &[spare, own.spki_sha256()]),
    );
    is_delivered(own.clone(), pinned(&ca, "LOCALHOST", &[ca.spki_sha256()]));
    is_delivered(own, pinned(&ca, "other.example", &[spare]));
}

#[test]
fn a_key_that_is_not_pinned_is_refused() {
    let (ca, other) = (TestCa::new().unwrap(), TestCa::new().unwrap());
    let own = ca.localhost().unwrap();
    let wrong = [other.spki_sha256(), ca.localhost().unwrap().spki_sha256()];
    is_refused(own.clone(), pinned(&ca, "localhost", &wrong), UNVERIFIED);
    // A pin is a demand besides the others, and not instead of them.
    let untrusted = pinned(&other, "localhost", &[own.spki_sha256()]);
    is_refused(own, untrusted, UNVERIFIED);
    let expired = ca.expired().unwrap();
    let pin = [expired.spki_sha256()];
    is_refused(expired, pinned(&ca, "localhost", &pin), CLOCK);
}

/// P9: once the certificate is mended, what waited goes out by itself.
#[test]
fn what_waited_for_a_good_certificate_is_delivered() {
    let ca = TestCa::new().unwrap();
    let server = serve(ca.expired().unwrap(), None);
    let (stage, id) = submit(&server, trusting(&ca));
    stage.drain();
    let address = server.addr();
    drop(server);
    let server = serve(ca.localhost().unwrap(), Some(address));
    stage.drain();
    assert!(server.records().is_empty(), "not yet");
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
}
