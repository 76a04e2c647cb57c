//! Fetched configuration, on real sockets: asked by its entity-tag, kept through a dead network and a
//! restart.

use submit_once::{Outbox, Submission, SubmissionState};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::server;
use crate::common::Place;
use crate::sockets::{open, wait};

fn serves(server: &ReferenceServer, body: &str, tag: &str) {
    let whole = Behaviour::Respond {
        status: 200,
        headers: vec![("ETag".to_owned(), tag.to_owned())],
        body: body.as_bytes().to_vec(),
        content_type: Some("application/json".to_owned()),
    };
    server.always(Matcher::Any, whole);
}

/// The status of the answer.
fn fetch(outbox: &Outbox, n: u32) -> Option<u16> {
    let id = outbox.begin(format!("fetch {n}")).unwrap();
    let get = Submission::new(id, "GET", "/config").replaces("config");
    outbox.submit(get).unwrap();
    outbox.start().unwrap();
    let snapshot = wait(outbox, id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    snapshot.outcome.unwrap().status
}

fn text(outbox: &Outbox) -> Option<String> {
    let value = outbox.current(None, "config".to_owned()).unwrap();
    value.map(|value| String::from_utf8(value.body).unwrap())
}

#[test]
fn a_configuration_is_fetched_once_and_then_asked_by_its_tag() {
    let server = server();
    let place = Place::new();
    let outbox = open(&place, &server.url());
    serves(&server, r#"{"v":1}"#, r#""one""#);
    assert_eq!(text(&outbox), None);
    assert_eq!([1, 2].map(|n| fetch(&outbox, n)), [Some(200), Some(304)]);
    serves(&server, r#"{"v":2}"#, r#"W/"two""#);
    assert_eq!([3, 4].map(|n| fetch(&outbox, n)), [Some(200), Some(304)]);
    outbox.close();
    // Nobody listens there.
    let outbox = open(&place, "http://127.0.0.1:9");
    assert_eq!(text(&outbox).unwrap(), r#"{"v":2}"#);
    let id = outbox.begin("offline".into()).unwrap();
    let get = Submission::new(id, "GET", "/config").replaces("config");
    outbox.submit(get).unwrap();
    outbox.start().unwrap();
    assert_eq!(text(&outbox).unwrap(), r#"{"v":2}"#);
    assert_eq!(server.summary().unwrap().effects, 0);
}
