//! Runs of a background scheduler: asked for once, by whoever makes one necessary, and never forgotten.

use std::time::Duration;

use submit_once::{
    DrainBudget, NetworkKind, Outbox, OutboxError, ReceiptKind, RunNetwork, Submission,
    SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{Play, answer, drain, order, simulate, status};

fn unmetered(submission: Submission) -> Submission {
    Submission {
        unmetered_only: true,
        ..submission
    }
}

/// An opening by somebody who has a scheduler.
fn scheduling(outbox: std::sync::Arc<Outbox>) -> std::sync::Arc<Outbox> {
    outbox.adopt_run_requests().unwrap();
    outbox
}

fn submit(outbox: &Outbox, slot: &str) -> bool {
    outbox.submit(order(outbox, slot)).unwrap().run_requested
}

/// F28: a thousand submissions ask for one run.
#[test]
fn only_the_first_submission_asks_for_a_run() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = scheduling(world.open(&place));
        assert!(submit(&outbox, "first"));
        assert!(!submit(&outbox, "second"));
        let again = outbox.submit(order(&outbox, "first")).unwrap();
        assert_eq!(
            (again.kind, again.run_requested),
            (ReceiptKind::Joined, false)
        );
        outbox.run_scheduled(RunNetwork::Any).unwrap();
        assert!(!submit(&outbox, "third"));
        outbox.clear_run_request(RunNetwork::Any).unwrap();
        assert!(submit(&outbox, "fourth"));
        assert!(!outbox.request_run(RunNetwork::Any).unwrap());
    });
}

/// A run takes its request back before it looks for work: what comes after the look asks again.
#[test]
fn what_comes_while_a_run_drains_asks_for_the_next_one() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = scheduling(world.open(&place));
        assert!(submit(&outbox, "first"));
        outbox.run_scheduled(RunNetwork::Any).unwrap();
        outbox.clear_run_request(RunNetwork::Any).unwrap();
        assert_eq!(drain(&outbox).await.succeeded, 1);
        assert!(submit(&outbox, "second"));
    });
}

#[test]
fn each_kind_of_network_has_a_run_of_its_own() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = scheduling(world.open(&place));
        let photo = unmetered(order(&outbox, "photo"));
        assert!(outbox.submit(photo).unwrap().run_requested);
        let batch = vec![
            order(&outbox, "a"),
            unmetered(order(&outbox, "b")),
            order(&outbox, "c"),
        ];
        let asked: Vec<_> = outbox
            .submit_all(batch)
            .unwrap()
            .iter()
            .map(|receipt| receipt.run_requested)
            .collect();
        assert_eq!(asked, [true, false, false]);
        outbox.clear_run_request(RunNetwork::Unmetered).unwrap();
        assert!(!outbox.request_run(RunNetwork::Any).unwrap());
        assert!(outbox.request_run(RunNetwork::Unmetered).unwrap());
    });
}

/// The request is made in the transaction that stores the submission, or not at all.
#[test]
fn what_was_not_stored_asks_for_nothing() {
    let place = Place::new();
    simulate(4, |world| async move {
        let limits = submit_once::Limits {
            max_queued: 1,
            ..Default::default()
        };
        let outbox = scheduling(world.open_with(world.config(&place).limits(limits)));
        let both = vec![order(&outbox, "a"), order(&outbox, "b")];
        let refused = outbox.submit_all(both).unwrap_err();
        assert!(
            matches!(refused, OutboxError::QueueFull { .. }),
            "{refused:?}"
        );
        assert!(submit(&outbox, "a"));
    });
}

#[test]
fn a_request_whose_maker_is_gone_is_made_anew_and_one_that_is_scheduled_is_not() {
    let place = Place::new();
    simulate(5, |world| async move {
        let gone = scheduling(world.open_apart(&place));
        let alive = scheduling(world.open_apart(&place));
        assert!(submit(&gone, "a"));
        let photo = unmetered(order(&alive, "photo"));
        assert!(alive.submit(photo).unwrap().run_requested);
        let next = world.open_apart(&place);
        assert_eq!(next.adopt_run_requests().unwrap(), []);
        gone.close();
        assert_eq!(next.adopt_run_requests().unwrap(), [RunNetwork::Any]);
        assert_eq!(next.adopt_run_requests().unwrap(), []);
        next.run_scheduled(RunNetwork::Any).unwrap();
        next.close();
        alive.close();
        let last = world.open_apart(&place);
        assert_eq!(last.adopt_run_requests().unwrap(), [RunNetwork::Unmetered]);
        assert!(!submit(&last, "b"));
        last.close();
        let last = scheduling(world.open_apart(&place));
        let photo = unmetered(order(&last, "another photo"));
        assert!(!last.submit(photo).unwrap().run_requested, "it was adopted");
    });
}

#[test]
fn a_drain_tells_that_a_better_network_is_all_that_is_missing() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        assert!(!drain(&outbox).await.awaits_unmetered);
        let photo = unmetered(order(&outbox, "photo"));
        outbox.submit(photo.clone()).unwrap();
        assert!(drain(&outbox).await.awaits_unmetered);
        // Its repeat waits for a time first, and for the network after that.
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.network.play([status(503)]);
        let report = drain(&outbox).await;
        assert_eq!((report.to_repeat, report.awaits_unmetered), (1, false));
        outbox.network_available(NetworkKind::Metered).unwrap();
        assert!(!drain(&outbox).await.awaits_unmetered);
        world.pass(Duration::from_secs(60)).await;
        assert!(drain(&outbox).await.awaits_unmetered);
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        assert_eq!(drain(&outbox).await.succeeded, 1);
        assert!(!drain(&outbox).await.awaits_unmetered);
    });
}

/// Nobody can send it while its account is out, whatever the network.
#[test]
fn what_waits_for_its_account_awaits_no_network() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let photo = Submission {
            account: Some("ada".into()),
            ..unmetered(order(&outbox, "photo"))
        };
        outbox.submit(photo).unwrap();
        assert!(!drain(&outbox).await.awaits_unmetered);
        outbox.sign_in("ada".into()).unwrap();
        assert!(drain(&outbox).await.awaits_unmetered);
    });
}

/// F29: by default the work goes on; a drain that is to end with its caller begins nothing more,
/// and what is on the wire comes to its end.
#[test]
fn a_drain_ends_with_its_caller_only_when_told_to() {
    for ends_with_caller in [false, true] {
        let place = Place::new();
        simulate(8, |world| async move {
            let limits = submit_once::Limits {
                max_in_flight: 1,
                ..Default::default()
            };
            let outbox = world.open_with(world.config(&place).limits(limits));
            world
                .network
                .always(|_| Play::Answer(Duration::from_secs(4), answer(201, "{}")));
            let orders = [order(&outbox, "first"), order(&outbox, "second")];
            outbox.submit_all(orders.to_vec()).unwrap();
            let budget = DrainBudget {
                time: Duration::from_secs(600),
                ends_with_caller,
            };
            let caller = tokio::time::timeout(Duration::from_secs(1), outbox.drain(budget));
            assert!(caller.await.is_err());
            world.pass(Duration::from_secs(300)).await;
            let state = |n: usize| outbox.snapshot(orders[n].id).unwrap().state;
            let second = if ends_with_caller {
                SubmissionState::Pending
            } else {
                SubmissionState::Succeeded
            };
            assert_eq!((state(0), state(1)), (SubmissionState::Succeeded, second));
            assert_eq!(drain(&outbox).await.succeeded, u32::from(ends_with_caller));
        });
    }
}

/// Its maker died between storing and scheduling, while another process was open: that one schedules
/// the run at its next submission, and doesn't wait for a new opening.
#[test]
fn the_next_submission_finds_a_request_whose_maker_is_gone() {
    let place = Place::new();
    simulate(9, |world| async move {
        let gone = scheduling(world.open_apart(&place));
        let other = scheduling(world.open_apart(&place));
        assert!(submit(&gone, "a"));
        assert!(!submit(&other, "b"));
        gone.close();
        assert!(submit(&other, "c"));
        assert!(!submit(&other, "d"));
    });
}

/// One part of an app opened the outbox without a scheduler: what it submits keeps nobody else from
/// having a run scheduled.
#[test]
fn who_has_no_scheduler_leaves_the_request_to_who_has() {
    let place = Place::new();
    simulate(10, |world| async move {
        let without = world.open(&place);
        let with = scheduling(world.open(&place));
        assert!(!submit(&without, "a"));
        assert!(!submit(&without, "b"));
        assert!(submit(&with, "c"));
        with.run_scheduled(RunNetwork::Any).unwrap();
        assert!(!submit(&with, "d"));
        with.clear_run_request(RunNetwork::Any).unwrap();
        assert!(!submit(&without, "e"));
        let later = world.open(&place);
        assert_eq!(later.adopt_run_requests().unwrap(), [RunNetwork::Any]);
    });
}
