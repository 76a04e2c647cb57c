//! A server without idempotency whose answer is lost: the effect is looked for, and no person is asked.

use std::time::Duration;

use submit_once::{ServerProfile, StatusProbe, Submission, SubmissionId, SubmissionState};
use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::stage::Stage;

fn server() -> ReferenceServer {
    let defaults = Options::default();
    ReferenceServer::start(Options {
        require_key: false,
        ..defaults
    })
    .unwrap()
}

fn submit(stage: &Stage) -> SubmissionId {
    let id = stage.outbox.begin("form".into()).unwrap();
    let order = Submission::post(id, &format!("/orders?client_id={id}"))
        .json(r#"{"item":"tea"}"#)
        .probe(StatusProbe::at("/_effect?path=/orders%3Fclient_id%3D{id}"));
    stage.outbox.submit(order).unwrap();
    stage.drain();
    assert_eq!(stage.marks(id), ["unknown"]);
    stage.pass(Duration::from_secs(300));
    id
}

fn orders(server: &ReferenceServer) -> usize {
    let records = server.records().into_iter();
    records.filter(|record| record.method == "POST").count()
}

#[test]
fn an_effect_whose_answer_was_lost_is_found() {
    let server = server();
    server.script(Matcher::path("/orders"), vec![Behaviour::CommitThenDrop]);
    let stage = Stage::with(&server.url(), |config| {
        config.profile(ServerProfile::unkeyed())
    });
    let id = submit(&stage);
    let report = stage.drain();
    assert_eq!((report.succeeded, report.held), (1, 0));
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_eq!(stage.marks(id), ["applied"]);
    let found = String::from_utf8(snapshot.outcome.unwrap().body.unwrap()).unwrap();
    assert!(found.contains(r#""effect":1"#), "{found}");
    assert_eq!(orders(&server), 1);
    assert_eq!(server.effects().unwrap().len(), 1);
}

/// Only ten minutes after the attempt "it isn't there" means that it never will be.
#[test]
fn what_never_took_effect_is_sent_again_after_the_horizon() {
    let server = server();
    let lost = Behaviour::reset_after_read().without_effect();
    server.script(Matcher::path("/orders"), vec![lost]);
    let stage = Stage::with(&server.url(), |config| {
        config.profile(ServerProfile::unkeyed())
    });
    let id = submit(&stage);
    stage.drain();
    assert_eq!(
        stage.marks(id),
        ["unknown"],
        "not there, five minutes after"
    );
    stage.pass(Duration::from_secs(301));
    stage.drain();
    assert_eq!(stage.marks(id), ["not_applied", "applied"]);
    assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    assert_eq!(orders(&server), 2);
    assert_eq!(server.effects().unwrap().len(), 1);
}
