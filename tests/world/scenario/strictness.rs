//! A player that passes over what it doesn't know would say that all is well.

use serde_json::{Value, json};

use super::format::{Apart, OnInbox, OnOutbox, Scenario, Step};
use super::judge::Judge;
use super::matching::misfit;
use super::play;

fn step(json: Value) -> Result<Step, serde_json::Error> {
    serde_json::from_value(json)
}

#[test]
fn a_step_has_one_known_kind_and_known_members() {
    assert!(step(json!({"begin": {}, "on": "a", "as": "b", "expect": 1})).is_ok());
    for broken in [
        json!({}),
        json!({"on": "a"}),
        json!({"begun": {}}),
        json!({"begin": {}, "discard": {}}),
        json!({"begin": {}, "exepct": 1}),
        json!({"begin": {}, "expect": 1, "error": 2}),
        json!({"begin": {}, "as": 1}),
        json!({"begin": {}, "needs": "time"}),
    ] {
        assert!(step(broken.clone()).is_err(), "{broken}");
    }
}

#[test]
fn arguments_that_nobody_knows_are_refused_at_any_depth() {
    let submission = json!({"id": "a", "url": "b"});
    let known: Result<OnOutbox, _> =
        serde_json::from_value(json!({"submit": {"submission": submission}}));
    assert!(known.is_ok());
    for broken in [
        json!({"submit": {"submission": {"id": "a", "url": "b", "uri": "c"}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "body": {"jsno": "c"}}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "body": {"bytes": {"content_type": "c", "text": "d", "hexx": ""}}}}}),
        json!({"submit": {"submission": submission, "times": 2}}),
        json!({"begin": {"slot": "a", "account": "b"}}),
        json!({"start": {"now": true}}),
        json!({"wait": {"id": "a", "timeout": 1}}),
        json!({"resolve": {"id": "a", "revision": 1, "decision": {"give_up": {"now": true}}}}),
        json!({"list": {"filter": "held"}}),
        json!({"list": {"filter": {"state": "some"}}}),
        json!({"list": {"filter": {"reason": "held"}}}),
        json!({"resolve_all": {"reason": "some", "decision": {"give_up": {}}}}),
        json!({"list": {"filter": {"lanes": "a"}}}),
        json!({"sign_out": {"how": "keeps"}}),
        json!({"release_lane": {"lane": "a", "now": true}}),
        json!({"resolve_all": {"reason": "damaged", "decision": {"fill_parts": {"values": [{"into": {"body": "/a"}, "json": "1"}]}}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "lane_policy": "stop"}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "probe": {"url": "c", "path": "/0"}}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"pointer": "/id"}, "into": {"json": "/a"}}]}}}),
        json!({"submit": {"submission": {"id": "a", "url": "b", "parts": [{"parent": "c", "from": {"header": "Location"}, "into": {"json": "/a"}, "as": "d"}]}}}),
    ] {
        let read: Result<OnOutbox, _> = serde_json::from_value(broken.clone());
        assert!(read.is_err(), "{broken}");
    }
    let item = json!({"scope": "a", "key": "b", "policy": "at_most_once"});
    let known: Result<OnInbox, _> = serde_json::from_value(json!({"inbox_begin": {"item": item}}));
    assert!(known.is_ok());
    let run = json!({"scope": "a", "key": "b", "number": 1});
    for broken in [
        json!({"inbox_begin": {"item": {"scope": "a", "key": "b"}}}),
        json!({"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "once"}}}),
        json!({"inbox_begin": {"item": {"scope": "a", "key": "b", "policy": "at_most_once", "lease": 1}}}),
        json!({"inbox_finish": {"run": run, "results": "c"}}),
        json!({"inbox_finish": {"run": {"scope": "a", "key": "b"}}}),
        json!({"inbox_finish": {"run": run, "statements": [{"sql": "c", "parameters": [1]}]}}),
        json!({"inbox_finish": {"run": run, "statements": [{"sql": "c", "parameters": [{"bool": true}]}]}}),
        json!({"inbox_fail": {"run": run, "failure": "happened"}}),
        json!({"inbox_extend": {"run": run}}),
        json!({"inbox_decide": {"scope": "a", "key": "b", "decision": "happened"}}),
        json!({"inbox_decide": {"scope": "a", "key": "b", "decision": {"happened": {"results": "c"}}}}),
        json!({"inbox_uncertain": {"scopes": "a"}}),
        json!({"inbox_query": {"sql": "a"}}),
    ] {
        let read: Result<OnInbox, _> = serde_json::from_value(broken.clone());
        assert!(read.is_err(), "{broken}");
    }
    for broken in [
        json!({"batch": {"name": "a", "config": {"key": "b"}}}),
        json!({"batch": {"name": "a", "config": {"key": "b", "url": "c", "max_age": 1}}}),
        json!({"batch": {"name": "a", "config": {"key": "b", "url": "c", "format": "json_object"}}}),
        json!({"batch": {"name": "a", "config": {"key": "b", "url": "c", "format": {"json_object": {"name": "d"}}}}}),
        json!({"append": {"batch": "a", "record": {}}}),
        json!({"append_all": {"batch": "a", "record": "b"}}),
        json!({"flush": {}}),
        json!({"current": {"name": "a"}}),
    ] {
        let read: Result<OnOutbox, _> = serde_json::from_value(broken.clone());
        assert!(read.is_err(), "{broken}");
    }
    for broken in [
        json!({"open": {"path": "a"}}),
        json!({"open": {"with": {"inbox_scopes": [{"name": "a", "keep_results": 1}]}}}),
        json!({"open": {"with": {"profil": "ietf"}}}),
        json!({"server": {"get": "a", "put": "b"}}),
        json!({"copy_files": {"from": "a", "to": "b", "all": true}}),
    ] {
        let read: Result<Apart, _> = serde_json::from_value(broken.clone());
        assert!(read.is_err(), "{broken}");
    }
}

#[test]
fn what_is_expected_and_not_there_is_a_misfit() {
    let actual =
        json!({"state": "held", "attempts": 2, "in": [{"a": 1}, {"b": null}], "text": "abc"});
    for fitting in [
        json!({}),
        json!({"state": "held", "attempts": 2.0}),
        json!({"in": [{"a": 1}, {"b": null}]}),
        json!({"in": {"$contains": {"b": null}}, "text": {"$contains": "bc"}}),
        json!({"in": {"$length": 2}, "attempts": {"$at_least": 2}, "state": {"$not": "pending"}}),
        json!({"attempts": {"$more_than": 1}, "text": {"$present": true}}),
    ] {
        assert_eq!(misfit(&fitting, &actual), None);
    }
    for other in [
        json!({"stat": "held"}),
        json!({"stat": null}),
        json!({"stat": {"$not": "held"}}),
        json!({"state": "hel"}),
        json!({"attempts": "2"}),
        json!({"in": [{"a": 1}]}),
        json!({"in": [{"a": 1}, {"b": {"$present": true}}]}),
        json!({"in": {"$contains": {"c": null}}, "text": {"$contains": "bc"}}),
        json!({"in": {"$length": 3}}),
        json!({"attempts": {"$at_least": 3}}),
        json!({"attempts": {"$more_than": 2}}),
        json!({"state": {"$not": "held"}}),
        json!({"state": {"$more_than": 2}}),
    ] {
        assert!(misfit(&other, &actual).is_some(), "{other}");
    }
}

fn fails(scenario: Value) -> String {
    let scenario: Scenario = serde_json::from_value(scenario).unwrap();
    let failure = std::panic::catch_unwind(|| play(&scenario)).err().unwrap();
    *failure.downcast::<String>().unwrap()
}

/// The end is looked at, and what counts everywhere with it.
#[test]
fn a_scenario_that_ends_otherwise_fails_and_says_where() {
    let play = |steps: Value, end: Value| {
        fails(json!({"name": "n", "guards": ["P1"], "steps": steps, "end": end}))
    };
    let submit = json!([
        {"open": {}},
        {"begin": {"slot": "form"}, "as": "order"},
        {"submit": {"submission": {"id": "$order", "url": "/orders"}}},
        {"drain": {}},
    ]);
    assert!(play(submit.clone(), json!({"effects": 2})).starts_with("n, the end:"));
    assert!(play(submit, json!({"efects": 1})).starts_with("n, the end:"));
    for (step, problem) in [
        (json!({"begin": {"slot": ""}}), "failed with"),
        (json!({"begin": {"slot": "a"}, "error": {}}), "expected"),
        (
            json!({"begin": {"slot": ""}, "error": {"name": "Closed"}}),
            "expected",
        ),
        (json!({"begin": {"slot": "$a"}}), "nothing is known as $a"),
        (
            json!({"begin": {"slot": "a"}, "expect": "$a"}),
            "nothing is known as $a",
        ),
        (
            json!({"begin": {"slot": {"$utf16": [55358]}}}),
            "no string of Rust",
        ),
        (
            json!({"begin": {"slot": "a"}, "needs": "utf16_strings"}),
            "can be expressed",
        ),
        (json!({"begin": {"slot": "a"}, "on": "b"}), "b is not open"),
        (json!({"snapshot": {"id": 7}}), "invalid type"),
        (
            json!({"copy_files": {"from": "main.sqlite3", "to": "b"}}),
            "main.sqlite3 is open",
        ),
        (
            json!({"copy_files": {"from": "a", "to": "b"}}),
            "a isn't there",
        ),
        (
            json!({"copy_files": {"from": "a", "to": "main.sqlite3"}}),
            "main.sqlite3 is there",
        ),
    ] {
        let failure = play(json!([{"open": {}}, step]), json!({}));
        assert!(failure.starts_with("n, step 2: "), "{failure}");
        assert!(failure.contains(problem), "{failure}");
    }
}

/// Two effects of one key, two keys on one path: a client that does this fails whatever else it says.
#[test]
fn the_verdict_knows_a_second_effect_and_a_second_key() {
    use std::io::{Read, Write};
    let judge = Judge::start(&[]);
    let post = |key: &str| {
        let address = judge.url().strip_prefix("http://").unwrap();
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        write!(
            socket,
            "POST /orders HTTP/1.1\r\nHost: {address}\r\nIdempotency-Key: {key}\r\n\
             Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        socket.read_to_string(&mut String::new()).unwrap();
    };
    let verdict = || judge.verdict(&serde_json::Map::new());
    assert_eq!(verdict(), None);
    post("a");
    assert_eq!(verdict(), None);
    judge.ask("POST", "forget-keys", None);
    post("a");
    assert!(verdict().is_some());
    judge.ask("POST", "reset", None);
    post("b");
    assert_eq!(verdict(), None);
    post("c");
    assert!(verdict().is_some());
}
