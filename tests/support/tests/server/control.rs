//! The controls over HTTP, and the program's arguments.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::{Value, json};
use submit_once_reference_server::{KeyPlace, ReferenceServer, cli};

use crate::client::PATIENCE;
use crate::{client, post, server};

fn get(server: &ReferenceServer, command: &str) -> Value {
    let answer = client(server)
        .call("GET", &format!("/_control/{command}"), &[], "")
        .unwrap();
    assert_eq!(answer.status, 200);
    answer.json()
}

fn order(server: &ReferenceServer, command: &str, body: &Value) -> (u16, Value) {
    let path = format!("/_control/{command}");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = client(server).call("POST", &path, &[], &body).unwrap();
    (answer.status, answer.json())
}

#[test]
fn everything_can_be_scripted_and_read_over_http() {
    let server = server();
    let script = json!({
        "match": {"path_prefix": "/orders"},
        "behaviours": [
            {"error_before": {"status": 503, "headers": [["Retry-After", "2"]]}},
            "commit_then_drop",
        ],
    });
    assert_eq!(
        order(&server, "script", &script),
        (200, json!({"ok": true}))
    );
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 503);
    assert_eq!(post(&server, "/orders", "k", "{}"), None);
    assert!(post(&server, "/orders", "k", "{}").unwrap().is_replay());
    assert!(server.wait_until_quiet(PATIENCE));

    let summary = get(&server, "summary");
    assert_eq!(
        (&summary["requests"], &summary["effects"]),
        (&json!(3), &json!(1))
    );
    let records = get(&server, "records");
    assert_eq!(records[1]["behaviour"], "commit_then_drop");
    assert_eq!(records[1]["answer_lost"], true);
    assert_eq!(get(&server, "effects")[0]["key"], "k");
    assert_eq!(get(&server, "in-flight"), json!([]));

    assert_eq!(
        order(&server, "forget-keys", &Value::Null).1["forgotten"],
        1
    );
    assert!(!post(&server, "/orders", "k", "{}").unwrap().is_replay());
    assert_eq!(order(&server, "reset", &Value::Null).0, 200);
    assert_eq!(get(&server, "summary")["requests"], 0);
}

#[test]
fn standing_orders_are_given_and_cleared_over_http() {
    let server = server();
    let always = json!({"match": {"key": "k"}, "always": {"respond": {
        "status": 200, "body": "<html>", "content_type": "text/html",
    }}});
    assert_eq!(order(&server, "script", &always).0, 200);
    for _ in 0..2 {
        assert_eq!(post(&server, "/orders", "k", "{}").unwrap().body, b"<html>");
    }
    assert_eq!(order(&server, "clear-scripts", &Value::Null).0, 200);
    assert_eq!(post(&server, "/orders", "k", "{}").unwrap().status, 201);
    assert_eq!(
        order(&server, "faults", &json!({"commit_then_drop": 1.0})).0,
        200
    );
    assert_eq!(post(&server, "/orders", "k-2", "{}"), None);
}

#[test]
fn holds_are_waited_for_and_released_over_http() {
    let server = server();
    let script = json!({"behaviours": [{"hold_before": "the gate"}]});
    order(&server, "script", &script);
    let mut held = client(&server);
    held.send("POST", "/orders", &[("Idempotency-Key", "k")], "{}");
    let wait = json!({"until": {"held": "the gate"}, "timeout_ms": 20_000});
    let (_, waited) = order(&server, "wait", &wait);
    assert_eq!(
        (&waited["met"], &waited["records"][0]["key"]),
        (&json!(true), &json!("k"))
    );
    let never = json!({"until": "over", "match": {"key": "k"}, "timeout_ms": 10});
    assert_eq!(order(&server, "wait", &never).1["met"], false);
    assert_eq!(order(&server, "release/the%20gate", &Value::Null).0, 200);
    assert_eq!(held.receive().unwrap().status, 201);
    let over = json!({"until": "over", "match": {"key": "k"}, "timeout_ms": 20_000});
    assert_eq!(order(&server, "wait", &over).1["met"], true);
}

#[test]
fn a_stay_offline_over_http_ends_by_itself() {
    let server = server();
    let mut client = client(&server);
    client.send("POST", "/_control/offline", &[], r#"{"for_ms": 20}"#);
    // The order's own connection may close before its answer.
    let _ = client.receive();
    assert_eq!(client.receive(), None);
    let start = std::time::Instant::now();
    while std::net::TcpStream::connect(server.addr()).is_err() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn an_order_that_makes_no_sense_is_refused_and_says_why() {
    let server = server();
    let no_status = json!({"behaviours": [{"error_before": {"status": 99}}]});
    let unknown = json!({"behaviours": ["explode"]});
    let framing =
        json!({"always": {"respond": {"status": 200, "headers": [["Content-Length", "9"]]}}});
    let faults = json!({"half": 0.7, "late": 0.7});
    for (command, body, hint) in [
        ("script", &no_status, "99"),
        ("script", &unknown, "explode"),
        ("script", &json!({}), "behaviours"),
        ("script", &framing, "Content-Length"),
        ("faults", &faults, "more than 1"),
        ("faults", &json!({"hlaf": 0.1}), "hlaf"),
    ] {
        let (status, problem) = order(&server, command, body);
        assert_eq!(status, 400);
        assert!(
            problem["detail"].as_str().unwrap().contains(hint),
            "{problem}"
        );
    }
    assert_eq!(order(&server, "dance", &Value::Null).0, 404);
    assert_eq!(
        client(&server)
            .call("PUT", "/_control/script", &[], "")
            .unwrap()
            .status,
        405
    );
    assert!(server.records().is_empty());
}

#[test]
fn arguments_become_options() {
    let parse = |text: &str| cli::parse(text.split_whitespace().map(OsString::from));
    let options = parse(
        "--listen 127.0.0.1:8080 --database d --seed 7 --faults {\"half\":0.5} \
         --key-place {\"query\":\"key\"} --accept-token a --accept-token b --key-scope-token \
         --key-lifetime 60 --no-lock --optional-key --allow-plain-put --durable",
    );
    let options = options.unwrap().unwrap();
    assert_eq!(options.listen.port(), 8080);
    assert_eq!(options.database.as_deref(), Some(std::path::Path::new("d")));
    assert_eq!((options.seed, options.faults.half), (7, 0.5));
    assert_eq!(options.key_lifetime, Some(Duration::from_secs(60)));
    assert_eq!(options.key_place, KeyPlace::Query("key".into()));
    assert_eq!(options.principals, Some(vec!["a".into(), "b".into()]));
    assert!(options.key_scope_token);
    assert!(!options.locks && !options.require_key && options.allow_plain_put && options.durable);

    assert!(parse("--help").unwrap().is_none());
    for (arguments, hint) in [
        ("--listen", "--listen needs a value"),
        ("--listen here", "not `here`"),
        ("--port 80", "unknown argument `--port`"),
        ("--key-place here", "--key-place wants JSON"),
        ("--faults {", "--faults wants JSON"),
        ("--faults {\"half\":2}", "`half`"),
    ] {
        let error = parse(arguments).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
}
