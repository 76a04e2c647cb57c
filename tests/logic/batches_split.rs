//! Batches that a server refuses: for their size, or for one of their records.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    BatchConfig, HoldReason, Limits, ListFilter, PageRequest, RejectReason, SubmissionState,
    WireRequest,
};

use crate::batches::{
    SECOND, append, batch, bodies, body, count, deliver, logs, queued_bytes, record, state,
};
use crate::common::Place;
use crate::common::sim::{Play, World, keys, lost, simulate, status, status_with};

const SPLIT: SubmissionState = rejected(RejectReason::Split);

const fn rejected(reason: RejectReason) -> SubmissionState {
    SubmissionState::Rejected { reason }
}

fn ids(request: &WireRequest) -> Vec<String> {
    let body: Vec<serde_json::Value> =
        serde_json::from_slice(request.body.as_bytes().unwrap()).unwrap();
    let id = |record: &serde_json::Value| record["id"].as_str().unwrap().to_owned();
    body.iter().map(id).collect()
}

/// A server that takes what the rule lets in, and how often it took each record.
fn server(
    world: &World,
    refuses: impl Fn(&WireRequest) -> Option<u16> + Send + 'static,
) -> Arc<Mutex<BTreeMap<String, u32>>> {
    let taken: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let taking = Arc::clone(&taken);
    world.network.always(move |request| {
        if let Some(code) = refuses(request) {
            return status(code);
        }
        let mut taken = taking.lock().unwrap();
        for id in ids(request) {
            *taken.entry(id).or_default() += 1;
        }
        status(201)
    });
    taken
}

/// F62: what is too large is halved by what it is, not by what it may be, until it fits.
#[test]
fn a_batch_that_is_too_large_is_halved_until_it_fits() {
    let place = Place::new();
    simulate(1, |world| async move {
        let taken = server(&world, |request| {
            (request.body.as_bytes().unwrap().len() > 50).then_some(413)
        });
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        let receipts = batch
            .append_all(names.iter().map(|id| record(id)).collect())
            .unwrap();
        outbox.start().unwrap();
        batch.flush().unwrap();
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, receipts[0].batch), SPLIT);
        let answer = outbox.snapshot(receipts[0].batch).unwrap().outcome.unwrap();
        assert_eq!(answer.status, Some(413));
        let lengths: Vec<usize> = bodies(&world).iter().map(String::len).collect();
        assert_eq!(
            lengths,
            [111, 56, 56, 34, 23, 34, 23],
            "at once, and each once"
        );
        let each_once = names.into_iter().map(|id| (id, 1)).collect();
        assert_eq!(*taken.lock().unwrap(), each_once);
        let all = keys(&world, 0);
        let mut different = all.clone();
        different.sort();
        different.dedup();
        assert_eq!(all.len(), different.len(), "a half is another submission");
        assert_eq!(queued_bytes(&outbox), 0);
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 0);
        assert_eq!(count(&place, "SELECT unsettled FROM meta"), 0);
    });
}

/// F62: a record that is too large alone ends alone.
#[test]
fn a_record_that_is_too_large_is_rejected_alone() {
    let place = Place::new();
    simulate(2, |world| async move {
        let large = "x".repeat(100);
        let taken = server(&world, |request| {
            (request.body.as_bytes().unwrap().len() > 60).then_some(413)
        });
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        for id in ["a", &large, "b"] {
            append(&batch, id);
        }
        deliver(&world, &outbox).await;
        assert_eq!(
            taken.lock().unwrap().keys().cloned().collect::<Vec<_>>(),
            ["a", "b"]
        );
        let refused = rejected(RejectReason::Refused);
        let page = outbox
            .list(ListFilter::all(), PageRequest::default())
            .unwrap();
        let alone: Vec<_> = page
            .snapshots
            .iter()
            .filter(|it| it.state == refused)
            .collect();
        assert_eq!(alone.len(), 1);
        // Its record is kept with it, as long as it is.
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 1);
        assert_eq!(world.network.sent(), 5);
    });
}

/// A wait that the server names is honoured instead.
#[test]
fn a_413_with_a_time_is_no_refusal() {
    let place = Place::new();
    simulate(3, |world| async move {
        world.network.play([status_with(413, "retry-after", "60")]);
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let receipt = append(&batch, "a");
        append(&batch, "b");
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "b"]), body(&["a", "b"])]);
        assert_eq!(state(&outbox, receipt.batch), SubmissionState::Succeeded);
    });
}

/// A bad record takes no other with it, wherever it stands.
#[test]
fn a_poison_record_ends_alone_and_all_others_arrive_once() {
    for (code, reason) in [
        (400, RejectReason::Configuration),
        (422, RejectReason::Invalid),
    ] {
        for poison in [0, 6, 12] {
            let place = Place::new();
            simulate(4, |world| async move {
                let taken = server(&world, move |request| {
                    ids(request).contains(&poison.to_string()).then_some(code)
                });
                let outbox = world.open(&place);
                let batch = batch(&outbox, logs());
                for n in 0..13 {
                    append(&batch, &n.to_string());
                }
                deliver(&world, &outbox).await;
                let others = (0..13).filter(|n| *n != poison);
                let expected: BTreeMap<String, u32> = others.map(|n| (n.to_string(), 1)).collect();
                assert_eq!(*taken.lock().unwrap(), expected, "{code} {poison}");
                let page = outbox
                    .list(ListFilter::all(), PageRequest::default())
                    .unwrap();
                let ends = |state| page.snapshots.iter().filter(|it| it.state == state).count();
                assert_eq!(ends(rejected(reason)), 1);
                assert_eq!(
                    ends(SPLIT) + ends(SubmissionState::Succeeded) + 1,
                    page.snapshots.len()
                );
                // Its path: each half that has it waits longer.
                assert!(world.network.sent() <= 2 * 4 + 1);
            });
        }
    }
}

/// A server that refuses everything isn't flooded: at each depth it is asked about once a second.
#[test]
fn halves_of_bad_content_wait_and_what_is_due_by_size_does_not() {
    let place = Place::new();
    simulate(5, |world| async move {
        server(&world, |_| Some(400));
        let limits = Limits {
            max_queued: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let batch = batch(&outbox, logs());
        let names = (0..16).map(|n| record(&n.to_string())).collect();
        batch.append_all(names).unwrap();
        deliver(&world, &outbox).await;
        let seen = world.network.seen();
        assert_eq!(
            seen.len(),
            31,
            "to each record, over the limit of the queue too"
        );
        let first = seen[0].at;
        let after: Vec<u64> = [1, 3, 7, 15]
            .map(|n: usize| (seen[n].at - first).as_secs())
            .into();
        assert_eq!(after, [1, 3, 7, 15]);
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 16);
        assert_eq!(queued_bytes(&outbox), 0);
    });
}

#[test]
fn a_refusal_that_others_would_get_as_well_splits_nothing() {
    for code in [403, 404, 405, 410, 415, 501] {
        let place = Place::new();
        simulate(6, |world| async move {
            server(&world, move |_| Some(code));
            let outbox = world.open(&place);
            let batch = batch(&outbox, logs());
            let receipt = append(&batch, "a");
            append(&batch, "b");
            deliver(&world, &outbox).await;
            assert_eq!(world.network.sent(), 1, "{code}");
            let state = state(&outbox, receipt.batch);
            assert!(matches!(state, SubmissionState::Rejected { .. }) && state != SPLIT);
        });
    }
}

/// P5: one that may have been taken is not split, or its records would come twice.
#[test]
fn what_is_in_doubt_is_held_and_not_split() {
    for code in [413, 400, 422] {
        let place = Place::new();
        simulate(7, |world| async move {
            world.network.play([lost(), status(code)]);
            let outbox = world.open(&place);
            let batch = batch(&outbox, logs());
            let receipt = append(&batch, "a");
            append(&batch, "b");
            deliver(&world, &outbox).await;
            let held = SubmissionState::Held {
                reason: HoldReason::OutcomeUnknown,
            };
            assert_eq!(state(&outbox, receipt.batch), held, "{code}");
            assert_eq!(count(&place, "SELECT count(*) FROM batch"), 1);
            assert_eq!(count(&place, "SELECT count(*) FROM record"), 2);
        });
    }
}

/// A cancel while it is on the wire wins over the refusal.
#[test]
fn what_is_cancelled_is_not_split() {
    let place = Place::new();
    simulate(8, |world| async move {
        world.network.play([Play::HandOver { confirm: true }]);
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let receipt = append(&batch, "a");
        append(&batch, "b");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        outbox.cancel(receipt.batch).unwrap();
        let refusal = crate::common::sim::answer(413, "{}");
        world.network.take().answered(refusal);
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, receipt.batch), SubmissionState::Cancelled);
        assert_eq!(count(&place, "SELECT count(*) FROM batch"), 1);
    });
}

/// The halves are what the batch was: headers, account, priority, format.
#[test]
fn halves_have_the_terms_of_their_batch() {
    let place = Place::new();
    simulate(9, |world| async move {
        world.network.play([status(413)]);
        let outbox = world.open(&place);
        let config = BatchConfig {
            headers: vec![crate::common::sim::header("x-version", "2")],
            format: Some(submit_once::BatchFormat::JsonObject {
                member: "events".to_owned(),
            }),
            priority: 7,
            method: "PUT".to_owned(),
            max_age: Some(Duration::from_secs(5)),
            ..logs()
        };
        let batch = batch(&outbox, config);
        append(&batch, "a");
        append(&batch, "b");
        deliver(&world, &outbox).await;
        let halves = [r#"{"events":[{"id":"a"}]}"#, r#"{"events":[{"id":"b"}]}"#];
        assert_eq!(bodies(&world)[1..], halves);
        for seen in &world.network.seen()[1..] {
            let request = &seen.request;
            assert_eq!(request.method, "PUT");
            assert_eq!(request.url, "https://api.example.com/logs");
            assert!(
                request
                    .headers
                    .iter()
                    .any(|it| it.name == "x-version" && it.value == "2")
            );
        }
        assert_eq!(count(&place, "SELECT min(priority) FROM submission"), 7);
        let depths = "SELECT sum(depth) FROM batch";
        assert_eq!(count(&place, depths), 2);
    });
}

/// Terms that are no longer the ones that were sent by send nothing anywhere else.
#[test]
fn changed_terms_split_nothing() {
    let place = Place::new();
    simulate(10, |world| async move {
        world.network.play([status(413)]);
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let receipt = append(&batch, "a");
        append(&batch, "b");
        let sql = place.sql();
        sql.execute_batch(
            "DROP TRIGGER batch_frozen;
             UPDATE batch SET terms = replace(terms, 'example.com', 'example.net')",
        )
        .unwrap();
        deliver(&world, &outbox).await;
        assert_eq!(world.network.sent(), 1);
        assert_eq!(
            state(&outbox, receipt.batch),
            rejected(RejectReason::Refused)
        );
    });
}
