//! Keys that are not in a header.

use serde_json::json;
use submit_once_reference_server::{Behaviour, KeyPlace, Matcher, Options, ReferenceServer};

use crate::client;
use crate::client::{Answer, PATIENCE};

fn with(key_place: KeyPlace) -> ReferenceServer {
    ReferenceServer::start(Options {
        key_place,
        ..Options::default()
    })
    .unwrap()
}

/// Sends with a header that is not the key here.
fn send(server: &ReferenceServer, method: &str, path: &str, body: &str) -> Answer {
    let headers = [("Idempotency-Key", "not this")];
    let mut client = client(server);
    client.call(method, path, &headers, body).unwrap()
}

/// Sends twice, and expects one effect under this key.
fn once(server: &ReferenceServer, method: &str, path: &str, body: &str, key: &str) {
    assert_eq!(send(server, method, path, body).status, 201);
    assert!(send(server, method, path, body).is_replay());
    assert!(server.wait_until_quiet(PATIENCE));
    let record = server.records().pop().unwrap();
    assert_eq!(record.key.as_deref(), Some(key));
    assert_eq!(server.effects_of(key).unwrap(), 1);
}

fn refused(server: &ReferenceServer, path: &str, body: &str, hint: &str) {
    let answer = send(server, "POST", path, body);
    assert_eq!(answer.status, 400, "{path} {body}");
    let problem = answer.json();
    assert!(
        problem["detail"].as_str().unwrap().contains(hint),
        "{problem}"
    );
}

#[test]
fn a_key_in_the_body() {
    let server = with(KeyPlace::JsonPointer("/client/reference".into()));
    let body = |key: serde_json::Value| json!({ "client": { "reference": key } }).to_string();
    once(&server, "POST", "/orders", &body(json!("k 1")), "k 1");
    once(&server, "POST", "/orders", &body(json!(17)), "17");
    for without in ["", "{}", "no JSON", &body(json!("")), &body(json!([]))] {
        refused(&server, "/orders", without, "/client/reference");
    }
    let other = r#"{"client": {"reference": "k 1"}}"#;
    assert_eq!(send(&server, "POST", "/orders", other).status, 422);
    let summary = server.summary().unwrap();
    assert_eq!((summary.keys, summary.max_keys_per_path), (2, 2));
}

#[test]
fn a_key_in_the_query() {
    let server = with(KeyPlace::Query("requestId".into()));
    server.script(Matcher::key("k 1"), vec![Behaviour::unavailable(1)]);
    let path = "/orders?a=b&requestId=k%201";
    assert_eq!(send(&server, "POST", path, "{}").status, 503);
    once(&server, "POST", path, "{}", "k 1");
    refused(&server, "/orders?requestId=", "{}", "requestId");
    refused(&server, "/orders?requestid=k", "{}", "requestId");
}

#[test]
fn a_key_in_the_path() {
    let server = with(KeyPlace::PathSegment("/orders/".into()));
    server.script(Matcher::key("k+1"), vec![Behaviour::unavailable(1)]);
    assert_eq!(send(&server, "PUT", "/orders/k+1?a=b", "{}").status, 503);
    once(&server, "PUT", "/orders/k+1", "{}", "k+1");
    once(&server, "PUT", "/orders/k%2F2/lines", "{}", "k/2");
    refused(&server, "/orders/", "{}", "after /orders/");
    refused(&server, "/others/k", "{}", "after /orders/");
}
