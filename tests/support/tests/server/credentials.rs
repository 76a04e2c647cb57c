//! Who is let in, and whose keys are whose.

use serde_json::json;
use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::client::{Answer, PATIENCE};
use crate::{client, post, server};

fn order(server: &ReferenceServer, token: &str) -> Answer {
    let headers = [("Authorization", token), ("Idempotency-Key", "k")];
    client(server)
        .call("POST", "/orders", &headers, "{}")
        .unwrap()
}

#[test]
fn a_token_that_is_not_accepted_is_refused_before_anything_else() {
    let server = ReferenceServer::start(Options {
        principals: Some(vec!["Bearer a".into()]),
        ..Options::default()
    })
    .unwrap();
    server.script(Matcher::key("k"), vec![Behaviour::unavailable(1)]);
    let nobody = post(&server, "/orders", "k", "{}").unwrap();
    let stranger = order(&server, "Bearer b");
    for refused in [nobody, stranger] {
        assert_eq!(
            (refused.status, refused.header("WWW-Authenticate")),
            (401, Some("Bearer"))
        );
        assert_eq!(refused.json()["code"], "credential_refused");
    }
    // The script is still there for the one who may come in.
    assert_eq!(order(&server, "Bearer a").status, 503);
    assert_eq!(order(&server, "Bearer a").status, 201);
    let summary = server.summary().unwrap();
    assert_eq!((summary.errors_401, summary.effects), (2, 1));
    let read = client(&server).call("GET", "/orders", &[], "").unwrap();
    assert_eq!(read.status, 401);
}

#[test]
fn accepted_tokens_change_while_the_server_runs() {
    let server = server();
    assert_eq!(order(&server, "Bearer a").status, 201);
    server.accept_tokens(["Bearer b"]);
    assert_eq!(order(&server, "Bearer a").status, 401);
    // The key was not touched: the new token finds its answer.
    assert!(order(&server, "Bearer b").is_replay());
    server.accept_tokens(Vec::<String>::new());
    assert_eq!(order(&server, "Bearer b").status, 401);
    server.reset().unwrap();
    assert_eq!(order(&server, "Bearer b").status, 401);
    server.accept_anyone();
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 201);
    assert!(server.wait_until_quiet(PATIENCE));
    assert!(!format!("{:?}", server.records()).contains("Bearer b"));
}

#[test]
fn accepted_tokens_are_changed_over_http() {
    let server = server();
    let mut control = client(&server);
    let mut accept = |tokens| {
        let body = json!({ "tokens": tokens }).to_string();
        let answer = control.call("POST", "/_control/accept-tokens", &[], &body);
        assert_eq!(answer.unwrap().status, 200);
    };
    accept(json!(["Bearer a"]));
    assert_eq!(order(&server, "Bearer b").status, 401);
    assert_eq!(order(&server, "Bearer a").status, 201);
    accept(json!(null));
    assert!(order(&server, "Bearer b").is_replay());
}

#[test]
fn a_key_may_be_one_for_each_token() {
    let scoped = ReferenceServer::start(Options {
        key_scope_token: true,
        ..Options::default()
    })
    .unwrap();
    assert!(!order(&scoped, "Bearer a").is_replay());
    assert!(order(&scoped, "Bearer a").is_replay());
    assert!(!order(&scoped, "Bearer b").is_replay());
    assert!(!post(&scoped, "/orders", "k", "{}").unwrap().is_replay());
    // Two tokens of one user are two effects of one key: what the judge is for.
    assert_eq!(scoped.effects_of("k").unwrap(), 3);
    assert_eq!(scoped.summary().unwrap().duplicate_effects, 2);

    let shared = server();
    assert!(!order(&shared, "Bearer a").is_replay());
    assert!(order(&shared, "Bearer b").is_replay());
}

#[test]
fn a_key_of_another_token_is_not_locked() {
    let server = ReferenceServer::start(Options {
        key_scope_token: true,
        ..Options::default()
    })
    .unwrap();
    server.script(Matcher::Any, vec![Behaviour::HoldBefore("work".into())]);
    let mut first = client(&server);
    let headers = [("Authorization", "Bearer a"), ("Idempotency-Key", "k")];
    first.send("POST", "/orders", &headers, "{}");
    server.wait_until_held("work", PATIENCE).unwrap();
    assert_eq!(order(&server, "Bearer a").status, 409);
    assert_eq!(order(&server, "Bearer b").status, 201);
    server.release("work");
    assert_eq!(first.receive().unwrap().status, 201);
}
