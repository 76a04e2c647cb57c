//! What a key is for.

use std::sync::Barrier;
use std::time::Duration;

use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::client::PATIENCE;
use crate::{client, post, server};

#[test]
fn the_first_answer_says_what_was_received() {
    let server = server();
    let answer = post(&server, "/orders?shop=1", "k", "abc").unwrap();
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("Idempotency-Replayed"), None);
    assert_eq!(
        String::from_utf8(answer.body).unwrap(),
        r#"{"effect":1,"path":"/orders?shop=1","bytes":3,"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#
    );
}

#[test]
fn a_repeat_is_replayed_byte_for_byte_on_the_same_connection_and_on_another() {
    let server = server();
    let mut one = client(&server);
    let first = one.post("/orders", "k", "{}").unwrap();
    let again = one.post("/orders", "k", "{}").unwrap();
    let elsewhere = post(&server, "/orders", "k", "{}").unwrap();
    assert!(!first.is_replay());
    for repeat in [again, elsewhere] {
        assert_eq!((repeat.status, &repeat.body), (201, &first.body));
        assert_eq!(repeat.header("content-type"), first.header("content-type"));
        assert!(repeat.is_replay());
    }
    let summary = server.summary().unwrap();
    assert_eq!(
        (summary.requests, summary.effects, summary.replayed),
        (3, 1, 2)
    );
    assert_eq!(
        (
            summary.keys,
            summary.duplicate_effects,
            summary.answers_lost
        ),
        (1, 0, 0)
    );
}

#[test]
fn a_key_with_another_payload_is_refused_whatever_differs() {
    let server = server();
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 201);
    let mut client = client(&server);
    let key = [("Idempotency-Key", "k")];
    for (method, path, body) in [
        ("POST", "/orders", "{ }"),
        ("POST", "/other", "{}"),
        ("POST", "/orders?a=1", "{}"),
        ("PUT", "/orders", "{}"),
    ] {
        let answer = client.call(method, path, &key, body).unwrap();
        assert_eq!(answer.status, 422, "{method} {path} {body}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(answer.json()["code"], "idempotency_key_reused");
        assert_eq!(
            answer.json()["type"],
            "urn:reference-server:idempotency_key_reused"
        );
    }
    assert_eq!(server.effects_of("k").unwrap(), 1);
}

#[test]
fn quotes_are_part_of_a_key() {
    let server = server();
    assert!(!post(&server, "/orders", "k", "{}").unwrap().is_replay());
    assert!(!post(&server, "/orders", "\"k\"", "{}").unwrap().is_replay());
    assert_eq!(server.summary().unwrap().max_keys_per_path, 2);
}

#[test]
fn a_write_without_a_key_is_refused_unless_the_options_allow_it() {
    let strict = server();
    let answer = client(&strict).call("POST", "/orders", &[], "{}").unwrap();
    assert_eq!(
        (answer.status, answer.json()["code"].as_str()),
        (400, Some("idempotency_key_missing"))
    );
    assert_eq!(strict.summary().unwrap().effects, 0);

    let lax = ReferenceServer::start(Options {
        require_key: false,
        ..Options::default()
    })
    .unwrap();
    for _ in 0..2 {
        assert_eq!(
            client(&lax)
                .call("POST", "/orders", &[], "{}")
                .unwrap()
                .status,
            201
        );
    }
    assert_eq!(lax.summary().unwrap().effects, 2);
}

#[test]
fn a_plain_put_overwrites_where_it_is_allowed() {
    let options = Options {
        allow_plain_put: true,
        ..Options::default()
    };
    let server = ReferenceServer::start(options).unwrap();
    assert_eq!(
        client(&server)
            .call("PUT", "/notes/1", &[], "a")
            .unwrap()
            .status,
        200
    );
    assert_eq!(
        client(&server)
            .call("POST", "/notes", &[], "a")
            .unwrap()
            .status,
        400
    );
    let effects = server.effects().unwrap();
    assert_eq!(effects.len(), 1);
    assert!(effects[0].overwrite && effects[0].key.is_none());
    assert_eq!(server.summary().unwrap().duplicate_effects, 0);
}

#[test]
fn a_key_in_use_is_refused_while_it_is_locked() {
    let server = server();
    server.script(
        Matcher::key("k"),
        vec![Behaviour::HoldBefore("work".into())],
    );
    let mut first = client(&server);
    first.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
    server.wait_until_held("work", PATIENCE).unwrap();

    let second = post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!(second.status, 409);
    assert_eq!(second.json()["code"], "idempotency_request_in_progress");

    server.release("work");
    assert_eq!(first.receive().unwrap().status, 201);
    assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
    let summary = server.summary().unwrap();
    assert_eq!(
        (
            summary.effects,
            summary.errors_409,
            summary.max_in_flight_per_key
        ),
        (1, 1, 2)
    );
}

#[test]
fn without_locks_two_requests_at_once_make_two_effects() {
    let server = ReferenceServer::start(Options {
        locks: false,
        ..Options::default()
    })
    .unwrap();
    server.always(Matcher::Any, Behaviour::HoldBefore("work".into()));
    let mut both = [client(&server), client(&server)];
    for client in &mut both {
        client.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
    }
    let standing = |records: &[submit_once_reference_server::RequestRecord]| {
        records
            .iter()
            .filter(|record| record.held_at.is_some())
            .count()
            == 2
    };
    assert!(server.wait_for(standing, PATIENCE));
    server.release("work");
    for client in &mut both {
        assert_eq!(client.receive().unwrap().status, 201);
    }
    let summary = server.summary().unwrap();
    assert_eq!(
        (
            summary.effects,
            summary.duplicate_effects,
            summary.max_effects_per_key
        ),
        (2, 1, 2)
    );
}

#[test]
fn with_locks_a_crowd_makes_one_effect() {
    let server = server();
    let start = Barrier::new(16);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                start.wait();
                let answer = post(&server, "/orders", "k", "{}").unwrap();
                assert!([201, 409].contains(&answer.status));
            });
        }
    });
    let summary = server.summary().unwrap();
    assert_eq!((summary.requests, summary.effects), (16, 1));
}

#[test]
fn a_forgotten_key_runs_again_and_the_second_effect_is_a_duplicate() {
    let server = server();
    post(&server, "/orders", "k", "{}").unwrap();
    assert_eq!(server.forget_keys().unwrap(), 1);
    let again = post(&server, "/orders", "k", "{}").unwrap();
    assert!(!again.is_replay());
    assert_eq!(again.json()["effect"], 2);
    assert_eq!(server.summary().unwrap().duplicate_effects, 1);
}

#[test]
fn a_key_past_its_lifetime_is_forgotten() {
    let brief = Options {
        key_lifetime: Some(Duration::ZERO),
        ..Options::default()
    };
    let server = ReferenceServer::start(brief).unwrap();
    post(&server, "/orders", "k", "{}").unwrap();
    assert!(!post(&server, "/orders", "k", "{}").unwrap().is_replay());

    let long = Options {
        key_lifetime: Some(Duration::from_secs(3600)),
        ..Options::default()
    };
    let server = ReferenceServer::start(long).unwrap();
    post(&server, "/orders", "k", "{}").unwrap();
    assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
}

#[test]
fn reads_have_no_effect_and_tell_how_many_a_key_has() {
    let server = server();
    post(&server, "/orders", "k 1", "{}").unwrap();
    let mut client = client(&server);
    let counted = client.call("GET", "/_effects?key=k%201", &[], "").unwrap();
    assert_eq!(
        counted.json(),
        serde_json::json!({ "key": "k 1", "effects": 1 })
    );
    assert_eq!(
        client
            .call("GET", "/_effects?key=none", &[], "")
            .unwrap()
            .json()["effects"],
        0
    );
    assert_eq!(
        client.call("GET", "/any/thing", &[], "").unwrap().status,
        200
    );
    for (asked, status) in [
        ("/_effect?key=k%201", 200),
        ("/_effect?path=/orders", 200),
        ("/_effect?path=/order", 404),
        ("/_effect", 404),
    ] {
        let found = client.call("GET", asked, &[], "").unwrap();
        assert_eq!(found.status, status, "{asked}");
        assert_eq!(found.json()["effect"] == 1, status == 200, "{asked}");
    }
    let summary = server.summary().unwrap();
    assert_eq!((summary.requests, summary.effects), (8, 1));
}

#[test]
fn the_header_and_the_marker_have_the_names_from_the_options() {
    let options = Options {
        key_header: "PayPal-Request-Id".into(),
        replay_marker: Some("X-Again".into()),
        ..Options::default()
    };
    let server = ReferenceServer::start(options).unwrap();
    let mut client = client(&server);
    let key = [("paypal-request-id", "k")];
    client.call("POST", "/orders", &key, "{}").unwrap();
    let again = client.call("POST", "/orders", &key, "{}").unwrap();
    assert_eq!(again.header("X-Again"), Some("true"));
    assert_eq!(again.header("Idempotency-Replayed"), None);
}
