//! Standing exactly before or after the effect.

use std::time::Duration;

use submit_once_reference_server::{Behaviour, Matcher, RequestRecord};

use crate::client::PATIENCE;
use crate::{client, post, server};

const KEY: [(&str, &str); 1] = [("Idempotency-Key", "k")];

#[test]
fn a_hold_before_stands_without_an_effect_and_a_hold_after_with_one() {
    let server = server();
    for (hold, effects) in [
        (Behaviour::HoldBefore("point".into()), 0),
        (Behaviour::HoldAfter("point".into()), 1),
    ] {
        server.reset().unwrap();
        server.script(Matcher::Any, vec![hold]);
        let mut client = client(&server);
        client.send("POST", "/orders", &KEY, "{}");
        let record = server.wait_until_held("point", PATIENCE).unwrap();
        assert_eq!(record.effect.is_some(), effects == 1);
        assert_eq!(server.effects_of("k").unwrap(), effects);
        // Either way the handler still has the key.
        assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 409);
        server.release("point");
        assert_eq!(client.receive().unwrap().status, 201);
        assert_eq!(server.effects_of("k").unwrap(), 1);
    }
}

#[test]
fn a_release_frees_requests_that_have_arrived_and_no_later_ones() {
    let server = server();
    server.always(Matcher::Any, Behaviour::HoldBefore("gate".into()));
    for key in ["a", "b"] {
        let mut client = client(&server);
        client.send("POST", "/orders", &[("Idempotency-Key", key)], "{}");
        // Released at arrival, perhaps before it stands: it must pass all the same.
        server
            .wait_for_request(Matcher::key(key), PATIENCE)
            .unwrap();
        server.release("gate");
        assert_eq!(client.receive().unwrap().status, 201);
    }
    let mut later = client(&server);
    later.send("POST", "/orders", &[("Idempotency-Key", "c")], "{}");
    server.wait_until_held("gate", PATIENCE).unwrap();
    server.release("another");
    assert_eq!(server.in_flight().len(), 1);
    server.release_all();
    assert_eq!(later.receive().unwrap().status, 201);
}

#[test]
fn waiting_for_what_does_not_happen_ends_with_the_timeout() {
    let server = server();
    let short = Duration::from_millis(10);
    assert!(server.wait_for_request(Matcher::Any, short).is_none());
    assert!(!server.wait_for(|records| !records.is_empty(), short));
}

#[test]
fn a_reset_ends_held_requests_without_an_effect() {
    let server = server();
    server.script(Matcher::Any, vec![Behaviour::HoldBefore("point".into())]);
    let mut client = client(&server);
    client.send("POST", "/orders", &KEY, "{}");
    server.wait_until_held("point", PATIENCE).unwrap();
    server.reset().unwrap();
    assert_eq!(client.receive(), None);
    assert!(server.records().is_empty());
    let fresh = post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!(
        (fresh.status, fresh.json()["effect"].as_u64()),
        (201, Some(1))
    );
    assert_eq!(server.summary().unwrap().effects, 1);
}

#[test]
fn work_from_before_a_reset_has_no_effect_after_it() {
    let server = server();
    let late = Behaviour::WorkLate(Duration::from_millis(50));
    server.script(Matcher::Any, vec![late]);
    let mut client = client(&server);
    client.send("POST", "/orders", &KEY, "{}");
    let whole = |records: &[RequestRecord]| records.iter().any(|record| record.body_complete);
    assert!(server.wait_for(whole, PATIENCE));
    server.reset().unwrap();
    // The end of the connection is the end of the late work.
    assert_eq!(client.receive(), None);
    assert_eq!(server.summary().unwrap().effects, 0);
}
