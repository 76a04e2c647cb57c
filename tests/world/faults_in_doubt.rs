//! What comes back when no answer does, while an earlier attempt is in doubt: nothing of it settles
//! that attempt, and only a success does.

use std::time::Duration;

use submit_once::{Limits, SubmissionState};
use submit_once_reference_server::{
    Behaviour, End, Matcher, Options, Piece, ReferenceServer, TestCa, TlsOptions,
};

use crate::agents::{PATIENCE, assert_converged, server};
use crate::stage::{Stage, fill_queue, telling_limits};

/// The first attempt has its effect and loses its answer; the second meets this.
fn second_meets(behaviour: Behaviour) -> (ReferenceServer, Stage, submit_once::SubmissionId) {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::CommitThenDrop, behaviour]);
    let limits = Limits {
        request_timeout: Duration::from_millis(400),
        ..telling_limits()
    };
    let stage = Stage::with(&server.url(), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    stage.hours_later();
    stage.drain();
    (server, stage, id)
}

#[test]
fn no_answer_settles_no_earlier_doubt() {
    for behaviour in [
        Behaviour::CommitThenDrop,
        Behaviour::reset_after_read(),
        Behaviour::raw(vec![Piece::text("HTTP/1.1 20")]),
        Behaviour::raw(vec![Piece::StatusLine, Piece::Headers]).ending(End::Reset),
        Behaviour::Hang { commit: true },
        Behaviour::AnswerLate(Duration::from_secs(60)),
        Behaviour::trickle(Duration::from_millis(50)),
        Behaviour::malformed_status_line(),
        Behaviour::raw(vec![Piece::text("HTTP/1.1 102 Processing\r\n\r\n")]),
    ] {
        let name = format!("{behaviour:?}");
        let (server, stage, id) = second_meets(behaviour);
        assert_eq!(stage.marks(id), ["unknown", "unknown"], "{name}");
        let snapshot = stage.snapshot(id);
        assert_eq!(snapshot.state, SubmissionState::Pending, "{name}");
        assert!(snapshot.in_doubt, "{name}");
        let wait = stage.wait_of(id).unwrap();
        assert!(wait >= Duration::from_secs(120), "{name}: {wait:?}");
        server.release_all();
        stage.hours_later();
        stage.drain();
        assert_eq!(
            stage.snapshot(id).state,
            SubmissionState::Succeeded,
            "{name}"
        );
        assert_eq!(server.records().len(), 3, "{name}");
        assert_converged(&server, 1);
    }
}

/// The head of a success is one, also for the attempts before.
#[test]
fn a_success_that_is_cut_settles_the_doubt() {
    for behaviour in [
        Behaviour::AnswerHalf,
        Behaviour::cut_after_headers(),
        Behaviour::cut_in_body().ending(End::Reset),
        Behaviour::chunked_without_end(),
        Behaviour::gzip_truncated(),
    ] {
        let name = format!("{behaviour:?}");
        let (server, stage, id) = second_meets(behaviour);
        let snapshot = stage.snapshot(id);
        assert_eq!(snapshot.state, SubmissionState::Succeeded, "{name}");
        assert!(!snapshot.in_doubt, "{name}");
        assert!(snapshot.outcome.unwrap().result_missing, "{name}");
        assert_eq!(stage.marks(id)[1], "applied", "{name}");
        assert_eq!(server.records().len(), 2, "{name}");
        assert_converged(&server, 1);
    }
}

/// P5, F74: a certificate that can't be trusted says nothing of what was sent before.
#[test]
fn an_untrusted_certificate_settles_no_earlier_doubt() {
    let (ca, other) = (TestCa::new().unwrap(), TestCa::new().unwrap());
    let serve = |identity, listen| {
        let defaults = Options::default();
        ReferenceServer::start(Options {
            tls: Some(TlsOptions::new(identity)),
            listen,
            ..defaults
        })
        .unwrap()
    };
    let good = serve(ca.localhost().unwrap(), Options::default().listen);
    good.script(Matcher::Any, vec![Behaviour::CommitThenDrop]);
    let tls = submit_once::TlsConfig {
        extra_roots: vec![ca.pem().into_bytes()],
        ..Default::default()
    };
    let stage = Stage::with(&good.url(), |config| config.tls(tls));
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    let address = good.addr();
    drop(good);
    let bad = serve(other.localhost().unwrap(), address);
    stage.hours_later();
    stage.drain();
    assert!(bad.wait_for_tls(|seen| seen.connections >= 1, PATIENCE));
    assert_eq!(bad.tls_seen().application_bytes, 0);
    assert_eq!(stage.marks(id), ["unknown", "not_applied"]);
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Pending);
    assert!(snapshot.in_doubt);
}

/// P5: the host's queue of connections is full, so that the next one gets no answer.
#[test]
fn a_connection_that_is_not_accepted_in_time_settles_no_earlier_doubt() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::CommitThenDrop]);
    let limits = Limits {
        connect_timeout: Duration::from_millis(200),
        ..telling_limits()
    };
    let stage = Stage::with(&server.url(), |config| config.limits(limits));
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    let address = server.addr();
    drop(server);
    let listener = std::net::TcpListener::bind(address).unwrap();
    let _waiting = fill_queue(address);
    stage.hours_later();
    stage.drain();
    drop(listener);
    assert_eq!(stage.marks(id), ["unknown", "not_applied"]);
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Pending);
    assert!(snapshot.in_doubt);
}
