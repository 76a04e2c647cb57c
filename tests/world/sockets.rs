//! Real sockets: lost answers, cut answers, slow servers, dead servers.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Body, DrainBudget, HoldReason, Limits, Outbox, OutboxConfig, Submission, SubmissionState,
    Waited,
};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::{PATIENCE, assert_converged, server};
use crate::common::Place;

pub fn limits() -> Limits {
    Limits {
        request_timeout: Duration::from_secs(4),
        busy_timeout: Duration::from_millis(1_500),
        lease: Duration::from_secs(8),
        backoff_first: Duration::from_millis(50),
        backoff_most: Duration::from_millis(400),
        quiet_time: Some(Duration::from_millis(200)),
        ..Limits::default()
    }
}

pub fn open(place: &Place, url: &str) -> Arc<Outbox> {
    Outbox::open(
        OutboxConfig::at(place.path())
            .base_url(url)
            .limits(limits()),
    )
    .unwrap()
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

pub fn wait(outbox: &Outbox, id: submit_once::SubmissionId) -> submit_once::Snapshot {
    match block_on(outbox.wait(id, PATIENCE)).unwrap() {
        Waited::Settled { snapshot } | Waited::Held { snapshot } => snapshot,
        Waited::TimedOut { snapshot } => panic!("not in time: {snapshot:?}"),
    }
}

fn deliver(server: &ReferenceServer, script: Vec<Behaviour>) -> submit_once::Snapshot {
    let place = Place::new();
    server.script(Matcher::Any, script);
    let outbox = open(&place, &server.url());
    let id = outbox.begin("form".into()).unwrap();
    let order = Submission::post(id, "/orders").json(r#"{"item":"tea"}"#);
    outbox.submit(order).unwrap();
    outbox.start().unwrap();
    wait(&outbox, id)
}

/// F01: the effect is committed, the answer is lost; the repeat has the same key and converges.
#[test]
fn a_lost_answer_leads_to_one_effect_and_its_first_result() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::CommitThenDrop]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_eq!(snapshot.attempts, 2);
    assert!(!snapshot.in_doubt, "a success settles it");
    assert_converged(&server, 1);
    let summary = server.summary().unwrap();
    assert_eq!((summary.requests, summary.keys), (2, 1));
    assert_eq!((summary.answers_lost, summary.replayed), (1, 1));
}

/// F15: an answer slower than the time-out.
#[test]
fn a_time_out_is_an_unknown_outcome_with_the_same_key() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::AnswerLate(Duration::from_secs(6))]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
    assert_eq!(server.summary().unwrap().keys, 1);
}

/// F15: the server is still at work when the time is over, and acts later. Asked again meanwhile, it
/// says so.
#[test]
fn a_handler_that_outlives_the_time_out_has_its_effect_once() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::WorkLate(Duration::from_secs(6))]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert!(server.wait_until_quiet(PATIENCE));
    let summary = server.summary().unwrap();
    assert_eq!((summary.effects, summary.keys), (1, 1));
    assert!(summary.errors_409 >= 1, "{summary:?}");
}

/// F12: many fingers on "try again", while the request is on the wire.
#[test]
fn parallel_wakes_and_taps_lead_to_one_request_at_a_time() {
    let (place, server) = (Place::new(), server());
    server.script(Matcher::Any, vec![Behaviour::HoldBefore("hold".into())]);
    let outbox = open(&place, &server.url());
    let id = outbox.begin("form".into()).unwrap();
    let order = Submission::post(id, "/orders").json("{}");
    outbox.submit(order.clone()).unwrap();
    outbox.start().unwrap();
    server.wait_until_held("hold", PATIENCE).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    outbox.wake(id).unwrap();
                    outbox.submit(order.clone()).unwrap();
                }
            });
        }
    });
    assert_eq!(server.records().len(), 1);
    server.release("hold");
    assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
    assert_eq!(server.summary().unwrap().requests, 1);
}

/// Half an answer is an applied attempt without a result to show: never half a body.
#[test]
fn half_an_answer_is_a_success_with_a_missing_result() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::AnswerHalf]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    let outcome = snapshot.outcome.unwrap();
    assert!(outcome.result_missing);
    assert_eq!(outcome.body, None);
    assert_converged(&server, 1);
}

#[test]
fn an_error_after_the_effect_is_repeated_and_replayed() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::ErrorAfter { status: 500 }]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
}

/// An error that the server has frozen under the key would be given for ever: a visible hold.
#[test]
fn a_frozen_error_is_held() {
    let server = server();
    let snapshot = deliver(&server, vec![Behaviour::CommitThenDrop, Behaviour::Normal]);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    let snapshot = deliver(&server, vec![Behaviour::FreezeError { status: 500 }]);
    assert_eq!(
        snapshot.state,
        SubmissionState::Held {
            reason: HoldReason::OutcomeUnknown
        }
    );
    assert_eq!(snapshot.attempts, 2);
}

#[test]
fn a_server_that_is_away_is_waited_for() {
    let (place, server) = (Place::new(), server());
    server.go_offline();
    let outbox = open(&place, &server.url());
    let id = outbox.begin("form".into()).unwrap();
    outbox
        .submit(Submission::post(id, "/orders").json("1"))
        .unwrap();
    let report = block_on(outbox.drain(DrainBudget::of(Duration::from_secs(5)))).unwrap();
    assert_eq!(report.to_repeat, 1);
    let snapshot = outbox.snapshot(id).unwrap();
    assert!(!snapshot.in_doubt, "a refused connection leaves no doubt");
    server.go_online().unwrap();
    outbox.start().unwrap();
    assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    assert_converged(&server, 1);
}

/// F03: new submissions while the store drains: one key and one effect for each.
#[test]
fn accepting_while_draining_makes_no_second_key() {
    let (place, server) = (Place::new(), server());
    server.always(Matcher::Any, Behaviour::WorkLate(Duration::from_millis(10)));
    let outbox = open(&place, &server.url());
    let submit = |range: std::ops::Range<usize>| {
        range
            .map(|n| {
                let id = outbox.begin(format!("form {n}")).unwrap();
                let order = Submission::post(id, &format!("/orders/{n}")).json("{}");
                outbox.submit(order).unwrap();
                id
            })
            .collect::<Vec<_>>()
    };
    let first = submit(0..50);
    outbox.start().unwrap();
    let second = submit(50..100);
    for id in first.into_iter().chain(second) {
        assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    }
    assert_converged(&server, 100);
    assert_eq!(server.summary().unwrap().max_keys_per_path, 1);
}

/// F94: a submit doesn't wait for the network, whatever is on the wire.
#[test]
fn submitting_does_not_wait_for_what_is_on_the_wire() {
    let (place, server) = (Place::new(), server());
    server.always(Matcher::Any, Behaviour::HoldBefore("hold".into()));
    let outbox = open(&place, &server.url());
    let id = outbox.begin("slow".into()).unwrap();
    outbox
        .submit(Submission::post(id, "/slow").json("{}"))
        .unwrap();
    outbox.start().unwrap();
    server.wait_until_held("hold", PATIENCE).unwrap();
    for n in 0..20 {
        let other = outbox.begin(format!("form {n}")).unwrap();
        outbox
            .submit(Submission::post(other, "/orders").json("{}"))
            .unwrap();
    }
    let slow = outbox.snapshot(id).unwrap();
    assert_eq!((slow.state, slow.attempts), (SubmissionState::InFlight, 1));
    server.clear_scripts();
    server.release_all();
}

/// F71, F73: what an app writes is what arrives: NUL, emoji, BOM, right-to-left, every byte, and nothing.
#[test]
fn bodies_arrive_byte_for_byte() {
    let (place, server) = (Place::new(), server());
    let outbox = open(&place, &server.url());
    let every_byte: Vec<u8> = (0..=255).collect();
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\0".to_vec(),
        "\u{feff}שלום 🧾 \0 e\u{301}".as_bytes().to_vec(),
        every_byte.repeat(800),
    ];
    for (n, body) in bodies.iter().enumerate() {
        let id = outbox.begin(format!("form {n}")).unwrap();
        let order = Submission {
            body: Body::Bytes {
                content_type: "application/octet-stream".into(),
                bytes: body.clone(),
            },
            ..Submission::post(id, &format!("/bodies/{n}"))
        };
        outbox.submit(order).unwrap();
    }
    let id = outbox.begin("nothing".into()).unwrap();
    outbox.submit(Submission::post(id, "/bodies/none")).unwrap();
    outbox.start().unwrap();
    wait(&outbox, id);
    assert_converged(&server, 5);
    use sha2::{Digest, Sha256};
    for record in server.records() {
        let n: Option<usize> = record.path.rsplit('/').next().unwrap().parse().ok();
        let body = n.map(|n| bodies[n].clone()).unwrap_or_default();
        let digest: String = Sha256::digest(&body)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(record.body_sha256, Some(digest), "{}", record.path);
    }
}

/// Name look-ups that hang must not keep the database waiting.
#[test]
fn slow_jobs_of_the_pool_do_not_stop_a_drain() {
    use submit_once::{Executor, OwnRuntime, Seams};
    let place = Place::new();
    let runtime = Arc::new(OwnRuntime::start().unwrap());
    let seams = Seams {
        executor: Some(Arc::clone(&runtime) as _),
        ..Seams::default()
    };
    let outbox = Outbox::open_with(OutboxConfig::at(place.path()), seams).unwrap();
    let (release, hang) = std::sync::mpsc::channel::<()>();
    let hang = Arc::new(std::sync::Mutex::new(hang));
    for _ in 0..64 {
        let hang = Arc::clone(&hang);
        runtime.blocking(Box::new(move || {
            // Until the test lets go of the other end.
            hang.lock().unwrap().recv().ok();
        }));
    }
    let budget = DrainBudget::of(Duration::from_secs(30));
    block_on(outbox.drain(budget)).unwrap();
    drop(release);
}
