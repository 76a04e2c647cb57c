//! Captive portals, redirects, and connections that are kept: what else comes in place of an answer of
//! the server. A second server, to which nothing may ever be sent, counts.

use std::time::Duration;

use submit_once::{HoldReason, RejectReason, ServerProfile, SubmissionState};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::{assert_converged, server};
use crate::stage::Stage;

const HELD: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};
const REFUSED: SubmissionState = SubmissionState::Rejected {
    reason: RejectReason::Configuration,
};

fn page(status: u16, location: Option<&str>) -> Behaviour {
    let header = |location: &str| ("Location".to_owned(), location.to_owned());
    Behaviour::Respond {
        status,
        headers: location.map(header).into_iter().collect(),
        body: b"<html><body>Welcome to the airport</body></html>".to_vec(),
        content_type: Some("text/html; charset=utf-8".to_owned()),
    }
}

fn credentialed(server: &ReferenceServer) -> Stage {
    let stage = Stage::new(&server.url());
    stage.outbox.sign_in("ann".into()).unwrap();
    crate::tokens::supply(&stage.outbox, "ann", "good");
    stage
}

/// F66: a portal is never an answer, never a refusal, never asks for credentials, and never uses up a
/// budget: twenty times over, and then the order is made, once.
#[test]
fn a_portal_is_waited_out() {
    let elsewhere = server();
    let login = format!("{}/login", elsewhere.url());
    for portal in [
        Behaviour::portal_511(),
        Behaviour::portal_html_200(),
        page(200, None),
        page(302, Some(&login)),
        page(303, Some(&login)),
        page(307, Some(&login)),
    ] {
        let server = server();
        let stage = credentialed(&server);
        let id = crate::tokens::submit_as(&stage.outbox, "ann", "/orders");
        server.script(Matcher::Any, vec![portal.clone(); 20]);
        for _ in 0..20 {
            stage.drain();
            let snapshot = stage.snapshot(id);
            assert_eq!(snapshot.state, SubmissionState::Pending, "{portal:?}");
            let wait = stage.wait_of(id).unwrap();
            assert!(wait >= Duration::from_secs(20), "{portal:?} {wait:?}");
            assert_eq!(stage.number(id, "answered"), 0, "{portal:?}");
            // A walk out of the airport, and not the end of the key's life.
            stage.pass(Duration::from_secs(1_800));
        }
        stage.drain();
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
        assert_converged(&server, 1);
        assert_eq!(server.records().len(), 21);
    }
    assert!(elsewhere.records().is_empty());
}

/// P10 and F64, F65: nothing is ever sent to another origin, with or without credentials.
#[test]
fn nothing_follows_to_another_server() {
    let elsewhere = server();
    for status in [301, 302, 303, 307, 308] {
        let server = server();
        let stage = credentialed(&server);
        let there = format!("{}/orders", elsewhere.url());
        server.script(Matcher::Any, vec![Behaviour::redirect(status, &there)]);
        let id = crate::tokens::submit_as(&stage.outbox, "ann", "/orders");
        stage.drain();
        stage.hours_later();
        stage.drain();
        let expected = if status == 303 { HELD } else { REFUSED };
        assert_eq!(stage.snapshot(id).state, expected, "{status}");
        assert_eq!(server.records().len(), 1);
    }
    assert!(elsewhere.records().is_empty());
}

/// F65: within the origin 307 and 308 get the same method, body, key and credentials.
#[test]
fn the_same_request_goes_where_307_and_308_point() {
    for status in [307, 308] {
        let server = server();
        let stage = credentialed(&server);
        for (from, to) in [("/orders", "/v2/orders"), ("/v2/", "/v3/orders")] {
            server.script(Matcher::path(from), vec![Behaviour::redirect(status, to)]);
        }
        let id = crate::tokens::submit_as(&stage.outbox, "ann", "/orders");
        stage.drain();
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
        assert_eq!(stage.marks(id), ["applied"], "one attempt");
        let records = server.records();
        let paths: Vec<_> = records.iter().map(|record| record.path.as_str()).collect();
        assert_eq!(paths, ["/orders", "/v2/orders", "/v3/orders"]);
        for record in &records {
            assert_eq!(record.method, "POST");
            assert_eq!(record.key, Some(id.to_string()));
            assert_eq!(record.body_sha256, records[0].body_sha256);
            assert_eq!(record.principal, records[0].principal);
            assert!(record.principal.is_some());
        }
        assert_converged(&server, 1);
    }
}

/// P5: the answer at the end of a redirect is lost: in doubt, as without one.
#[test]
fn an_answer_that_is_lost_behind_a_redirect_leaves_doubt() {
    let server = server();
    server.always(
        Matcher::path("/orders"),
        Behaviour::redirect(308, "/v2/orders"),
    );
    server.script(Matcher::path("/v2"), vec![Behaviour::CommitThenDrop]);
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    assert!(stage.wait_of(id).unwrap() >= Duration::from_secs(120));
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
    assert_eq!(server.records().len(), 4);
}

#[test]
fn a_loop_of_redirects_ends() {
    let server = server();
    server.always(Matcher::Any, Behaviour::redirect(307, "/orders"));
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.snapshot(id).state, REFUSED);
    assert_eq!(server.records().len(), 4);
}

#[test]
fn a_result_elsewhere_is_fetched_without_the_key() {
    let server = server();
    server.script(
        Matcher::path("/orders"),
        vec![Behaviour::redirect(303, "/results/7")],
    );
    let stage = credentialed(&server);
    let id = crate::tokens::submit_as(&stage.outbox, "ann", "/orders");
    stage.drain();
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    let body = String::from_utf8(snapshot.outcome.unwrap().body.unwrap()).unwrap();
    assert!(body.contains("/results/7"), "{body}");
    let fetch = &server.records()[1];
    assert_eq!((fetch.method.as_str(), fetch.key.as_deref()), ("GET", None));
    assert_eq!(fetch.principal, server.records()[0].principal);
    assert_eq!(fetch.body_bytes, 0);
}

/// Login pages are redirected to like this.
#[test]
fn a_result_elsewhere_that_is_a_page_is_held() {
    let server = server();
    server.script(
        Matcher::path("/orders"),
        vec![Behaviour::redirect(303, "/login")],
    );
    server.always(Matcher::path("/login"), page(200, None));
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.snapshot(id).state, HELD);
    assert_eq!(server.records().len(), 2);
}

/// F66: a success without what every success of this API has.
#[test]
fn a_success_without_the_expected_member_is_none() {
    let server = server();
    server.script(
        Matcher::Any,
        vec![Behaviour::respond(
            200,
            "application/json",
            r#"{"hello":1}"#,
        )],
    );
    let profile = ServerProfile {
        expected_member: Some("/effect".to_owned()),
        ..ServerProfile::standard()
    };
    let stage = Stage::with(&server.url(), |config| config.profile(profile));
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
}

/// Connections are kept and used again.
#[test]
fn submissions_share_a_connection() {
    let server = server();
    let stage = Stage::new(&server.url());
    for number in 0..5 {
        stage.submit(&format!("/orders/{number}"));
        stage.drain();
    }
    let records = server.records();
    assert!(records.iter().all(|record| record.connection == 1));
    let order: Vec<_> = records.iter().map(|r| r.nth_on_connection).collect();
    assert_eq!(order, [1, 2, 3, 4, 5]);
}

/// F14: the server closes a kept connection after it has read the request. The stack below must not
/// send it again by itself: each arrival is an attempt of ours, the lost one in doubt.
#[test]
fn a_kept_connection_that_ends_is_an_attempt_in_doubt_and_not_a_hidden_repeat() {
    let server = server();
    let stage = Stage::new(&server.url());
    stage.submit("/warm-up");
    stage.drain();
    server.script(Matcher::path("/orders"), vec![Behaviour::CloseAfterRead; 3]);
    let id = stage.submit("/orders");
    stage.drain();
    let arrivals = || {
        let records = server.records();
        records
            .iter()
            .filter(|record| record.path == "/orders")
            .count()
    };
    assert_eq!(arrivals(), 1);
    assert_eq!(stage.marks(id), ["unknown"]);
    assert!(stage.wait_of(id).unwrap() >= Duration::from_secs(120));
    let first = server.records()[1].clone();
    assert_eq!(first.nth_on_connection, 2, "it was a kept connection");
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_eq!(arrivals(), stage.marks(id).len());
    assert_eq!(arrivals(), 2);
    assert_converged(&server, 2);
}

/// 421: the connection is the wrong one for this host, so the next attempt takes another.
#[test]
fn misdirected_requests_go_over_a_fresh_connection() {
    let server = server();
    let error = Behaviour::ErrorBefore {
        status: 421,
        headers: Vec::new(),
    };
    server.script(Matcher::Any, vec![error]);
    let stage = Stage::new(&server.url());
    let id = stage.submit("/orders");
    stage.drain();
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    let connections: Vec<_> = server.records().iter().map(|r| r.connection).collect();
    assert_eq!(connections, [1, 2]);
}
