//! P3: the same ID and the same content are the same submission, however often and from however
//! many threads; the same ID and other content are a typed refusal.

use std::sync::Barrier;
use std::time::Duration;

use submit_once::{
    DrainBudget, DrainStop, Effect, Limits, OutboxConfig, OutboxError, ReceiptKind, Submission,
    SubmissionId, SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{drain, order, simulate};

#[test]
fn a_submission_goes_in_once_and_its_result_is_replayed() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let id = outbox.begin("form".into()).unwrap();
        let order = || Submission::post(id, "/orders").json(r#"{"item":"tea"}"#);
        assert_eq!(outbox.submit(order()).unwrap().kind, ReceiptKind::Accepted);
        assert_eq!(outbox.submit(order()).unwrap().kind, ReceiptKind::Joined);

        let budget = DrainBudget::of(Duration::from_secs(60));
        let report = outbox.drain(budget).await.unwrap();
        assert_eq!(report.succeeded, 1);
        assert_eq!(report.stopped, DrainStop::NothingDue);
        assert_eq!(world.network.sent(), 1);

        let receipt = outbox.submit(order()).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        let outcome = receipt.snapshot.outcome.unwrap();
        assert_eq!(outcome.status, Some(201));
        assert_eq!(outcome.body.as_deref(), Some(br#"{"n":1}"#.as_slice()));
        let Waited::Settled { snapshot } = outbox.wait(id, Duration::ZERO).await.unwrap() else {
            panic!("it is settled");
        };
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
    });
}

#[test]
fn sixteen_threads_that_submit_one_id_store_one_submission() {
    let place = Place::new();
    let outbox = submit_once::Outbox::open(OutboxConfig::at(place.path())).unwrap();
    let id = SubmissionId::new().unwrap();
    let barrier = Barrier::new(16);
    let kinds: Vec<ReceiptKind> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let order = Submission::post(id, "http://localhost/orders").json("{}");
                    outbox.submit(order).unwrap().kind
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let accepted = |kind: &&ReceiptKind| **kind == ReceiptKind::Accepted;
    assert_eq!(kinds.iter().filter(accepted).count(), 1, "{kinds:?}");
    let rows: i64 = place
        .sql()
        .query_row("SELECT count(*) FROM submission", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
    let stats = outbox.stats().unwrap();
    assert_eq!((stats.accepted, stats.joined), (1, 15));
}

#[test]
fn the_same_id_with_other_content_is_refused_and_told_what_differs() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let id = SubmissionId::new().unwrap();
        let first = Submission::post(id, "/orders").json(r#"{"n":1}"#);
        outbox.submit(first.clone()).unwrap();
        let others = [
            (Submission::post(id, "/orders").json(r#"{"n":2}"#), "body"),
            (Submission::post(id, "/order").json(r#"{"n":1}"#), "url"),
            (
                Submission::new(id, "PUT", "/orders").json(r#"{"n":1}"#),
                "method",
            ),
            (
                Submission::post(id, "/orders").bytes("text/plain", r#"{"n":1}"#.as_bytes()),
                "content_type",
            ),
        ];
        for (other, part) in others {
            let error = outbox.submit(other).unwrap_err();
            let OutboxError::KeyReused {
                existing, differs, ..
            } = error
            else {
                panic!("{error:?}");
            };
            assert_eq!(existing.id, id);
            assert_eq!(differs, [part]);
        }
        // Headers are frozen, but not identity: an app update may change them.
        let updated = first.clone().header("x-app-version", "2");
        assert_eq!(outbox.submit(updated).unwrap().kind, ReceiptKind::Joined);
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 1);
        let sent = world.network.seen()[0].request.body.clone();
        assert_eq!(sent.as_bytes(), Some(&br#"{"n":1}"#[..]));
        let late = outbox.submit(Submission::post(id, "/orders").json("{}"));
        assert!(matches!(late, Err(OutboxError::KeyReused { .. })));
        assert_eq!(outbox.stats().unwrap().reuse_refused, 5);
    });
}

#[test]
fn several_go_in_together_or_not_at_all() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let taken = order(&outbox, "taken");
        outbox.submit(taken.clone()).unwrap();
        let reuse = Submission {
            method: "PUT".into(),
            ..taken
        };
        let fresh = order(&outbox, "fresh");
        let refused = outbox.submit_all(vec![fresh.clone(), reuse]);
        assert!(matches!(refused, Err(OutboxError::KeyReused { .. })));
        assert_eq!(
            outbox.snapshot(fresh.id),
            Err(OutboxError::UnknownId { id: fresh.id })
        );
        let both = outbox
            .submit_all(vec![fresh, order(&outbox, "other")])
            .unwrap();
        assert_eq!(both.len(), 2);
        assert_eq!(outbox.stats().unwrap().pending, 3);
    });
}

/// P11: nothing is dropped; joining and replaying work on a full queue.
#[test]
fn a_full_queue_refuses_new_submissions_and_still_joins_and_replays() {
    let place = Place::new();
    simulate(4, |world| async move {
        let limits = Limits {
            max_queued: 2,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let done = order(&outbox, "done");
        outbox.submit(done.clone()).unwrap();
        drain(&outbox).await;
        let (a, b, c) = (
            order(&outbox, "a"),
            order(&outbox, "b"),
            order(&outbox, "c"),
        );
        outbox.submit(a.clone()).unwrap();
        outbox.submit(b.clone()).unwrap();
        assert_eq!(
            outbox.submit(c.clone()),
            Err(OutboxError::QueueFull { most: 2 })
        );
        assert_eq!(outbox.submit(a).unwrap().kind, ReceiptKind::Joined);
        assert_eq!(outbox.submit(done).unwrap().kind, ReceiptKind::Replayed);
        drain(&outbox).await;
        assert_eq!(outbox.submit(c).unwrap().kind, ReceiptKind::Accepted);
        assert_eq!(world.network.sent(), 3);
    });
}

/// P2: what goes to the wire is what was frozen, at every attempt.
#[test]
fn every_attempt_sends_the_same_bytes() {
    use crate::common::sim::{lost, status, unreachable};
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let body = "\u{feff}NUL \0, emoji 🧾, RTL שלום";
        let id = SubmissionId::new().unwrap();
        let order = Submission::post(id, "/orders?shop=1")
            .bytes("text/plain; charset=utf-8", body)
            .header("X-Shop", "north")
            .effect(Effect::Keyed);
        outbox.submit(order).unwrap();
        world
            .network
            .play([unreachable(), status(503), lost(), status(500)]);
        outbox.start().unwrap();
        outbox.wait(id, Duration::from_secs(3_600)).await.unwrap();
        let seen = world.network.seen();
        assert_eq!(seen.len(), 5);
        for attempt in &seen {
            assert_eq!(attempt.request, seen[0].request);
        }
        let request = &seen[0].request;
        assert_eq!(request.body.as_bytes(), Some(body.as_bytes()));
        assert_eq!(request.url, "https://api.example.com/orders?shop=1");
        let key = request
            .headers
            .iter()
            .find(|header| header.name == "idempotency-key");
        assert_eq!(key.unwrap().value, id.to_string());
    });
}
