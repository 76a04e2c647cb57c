//! P7, P8: the first result is stored with the end, survives, and is given to every later caller.

use std::time::Duration;

use submit_once::{
    Limits, OutboxError, ReceiptKind, Submission, SubmissionId, SubmissionState, WireAnswer,
};

use crate::common::Place;
use crate::common::sim::{Play, answer, drain, header, order, simulate};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn the_first_result_survives_a_restart_byte_for_byte() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let body: Vec<u8> = (0..=255).collect();
        let mut first = WireAnswer {
            body: body.clone(),
            ..answer(201, "")
        };
        first.headers.push(header("location", "/orders/7"));
        first.headers.push(header("set-cookie", "session=secret"));
        world.network.play([Play::Answer(Duration::ZERO, first)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        let before = outbox.snapshot(order.id).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        assert_eq!(outbox.snapshot(order.id).unwrap(), before);
        let receipt = outbox.submit(order).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        let outcome = receipt.snapshot.outcome.unwrap();
        assert_eq!(outcome.body, Some(body));
        // What a later caller needs is kept, a cookie never.
        assert_eq!(outcome.headers, [header("location", "/orders/7")]);
        assert_eq!(world.network.sent(), 1);
    });
}

#[test]
fn half_a_body_is_never_a_result() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let half = WireAnswer {
            complete: false,
            ..answer(201, r#"{"n":"#)
        };
        world.network.play([Play::Answer(Duration::ZERO, half)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        let outcome = snapshot.outcome.unwrap();
        assert!(outcome.result_missing);
        assert_eq!((outcome.status, outcome.body), (Some(201), None));
    });
}

#[test]
fn a_result_whose_bytes_have_changed_is_not_replayed() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        place
            .sql()
            .execute_batch("DROP TRIGGER answer_frozen; UPDATE answer SET body = x'00'")
            .unwrap();
        let outcome = outbox.snapshot(order.id).unwrap().outcome.unwrap();
        assert!(outcome.result_missing);
        assert_eq!(outcome.body, None);
    });
}

#[test]
fn a_tombstone_still_converges_late_duplicates() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(DAY * 31).await;
        while outbox.retain().unwrap() {}
        let rows: i64 = place
            .sql()
            .query_row("SELECT count(*) FROM submission", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 0);
        let receipt = outbox.submit(order.clone()).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        assert_eq!(receipt.snapshot.state, SubmissionState::Succeeded);
        let outcome = receipt.snapshot.outcome.unwrap();
        assert_eq!((outcome.status, outcome.body), (Some(201), None));
        assert!(outcome.result_missing);
        let reuse = outbox.submit(order.json("7"));
        assert!(matches!(reuse, Err(OutboxError::KeyReused { .. })));
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1);
    });
}

#[test]
fn an_id_older_than_the_tombstones_reach_is_refused_unless_it_carries_no_time() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let never_submitted = outbox.begin("other form".into()).unwrap();
        let timed = order(&outbox, "form");
        let derived = Submission::post(SubmissionId::derived(None, "a", "b"), "/orders");
        outbox.submit(timed.clone()).unwrap();
        outbox.submit(derived.clone()).unwrap();
        drain(&outbox).await;
        let limits = Limits::default();
        world.pass(limits.keep_results + DAY).await;
        while outbox.retain().unwrap() {}
        world.pass(limits.keep_tombstones + DAY).await;
        while outbox.retain().unwrap() {}
        assert_eq!(
            outbox.submit(timed.clone()),
            Err(OutboxError::IdTooOld { id: timed.id })
        );
        let old = Submission::post(never_submitted, "/orders");
        assert!(matches!(
            outbox.submit(old),
            Err(OutboxError::IdTooOld { .. })
        ));
        let again = outbox.submit(derived).unwrap();
        assert_eq!(again.kind, ReceiptKind::Replayed);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 2);
    });
}

/// Retention never touches what is unsettled, whatever its age.
#[test]
fn retention_keeps_everything_unsettled() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let waiting = order(&outbox, "waiting");
        outbox.submit(waiting.clone()).unwrap();
        world.pass(DAY * 1_000).await;
        while outbox.retain().unwrap() {}
        assert_eq!(outbox.submit(waiting).unwrap().kind, ReceiptKind::Joined);
    });
}

/// A lost or cut log is reported, and then nothing unsettled counts as never sent.
#[test]
fn lost_changes_are_reported_and_put_everything_unsettled_in_doubt() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let early = order(&outbox, "early");
        outbox.submit(early.clone()).unwrap();
        outbox.close();
        // What a later session acknowledged goes with its log.
        let saved = std::fs::read(place.database()).unwrap();
        let saved_wal = std::fs::read(place.database().with_extension("sqlite3-wal")).unwrap();
        let outbox = world.open(&place);
        let late = order(&outbox, "late");
        outbox.submit(late.clone()).unwrap();
        drain(&outbox).await;
        outbox.close();
        std::fs::write(place.database(), saved).unwrap();
        std::fs::write(place.database().with_extension("sqlite3-wal"), saved_wal).unwrap();
        let outbox = world.open(&place);
        assert!(outbox.open_report().lost_changes > 0);
        assert!(outbox.snapshot(early.id).unwrap().in_doubt);
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(early.id).unwrap().state,
            SubmissionState::Held {
                reason: submit_once::HoldReason::OutcomeUnknown
            }
        );
        assert_eq!(
            world.network.seen().len(),
            2,
            "only the two of the lost session"
        );
        // The app submits again what it finds to be unknown: it may have been sent before.
        assert_eq!(outbox.reconcile(vec![late.id]).unwrap()[0].snapshot, None);
        assert!(outbox.submit(late.clone()).unwrap().snapshot.in_doubt);
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(late.id).unwrap().state,
            outbox.snapshot(early.id).unwrap().state
        );
        assert_eq!(world.network.seen().len(), 2);
        outbox.close();
        let outbox = world.open(&place);
        assert_eq!(outbox.open_report().lost_changes, 0, "it is reported once");
        world.pass(Duration::from_millis(1)).await;
        let fresh = order(&outbox, "fresh");
        assert!(!outbox.submit(fresh).unwrap().snapshot.in_doubt);
    });
}

/// An ID without a time in it can't be told from a new one later, so it is never forgotten.
#[test]
fn an_id_of_another_version_is_remembered_for_ever() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        let id = SubmissionId::parse("7b0c5f9e-3a53-4d0e-9c0d-5f2f4dfb8a11").unwrap();
        let order = Submission::post(id, "/orders").json("{}");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        let limits = Limits::default();
        for time in [limits.keep_results, limits.keep_tombstones] {
            world.pass(time + DAY).await;
            while outbox.retain().unwrap() {}
        }
        assert_eq!(outbox.submit(order).unwrap().kind, ReceiptKind::Replayed);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1);
    });
}

/// A device that starts with a wrong clock forgets nothing, and refuses nothing later.
#[test]
fn a_clock_that_is_years_ahead_for_a_moment_forgets_nothing() {
    for reboot in [false, true] {
        let place = Place::new();
        simulate(9, |world| async move {
            let outbox = world.open(&place);
            let done = order(&outbox, "done");
            outbox.submit(done.clone()).unwrap();
            drain(&outbox).await;
            outbox.close();
            let years = 5 * 365 * 86_400_000_i64;
            world.clock.set_wall_by(years);
            if reboot {
                world.clock.reboot();
            }
            let outbox = world.open(&place);
            outbox.start().unwrap();
            world.pass(Duration::from_secs(1)).await;
            while outbox.retain().unwrap() {}
            world.clock.set_wall_by(-years);
            let fresh = outbox.submit(order(&outbox, "fresh")).unwrap();
            assert_eq!(fresh.kind, ReceiptKind::Accepted);
            let receipt = outbox.submit(done).unwrap();
            assert_eq!(receipt.kind, ReceiptKind::Replayed);
            assert!(receipt.snapshot.outcome.unwrap().body.is_some());
        });
    }
}

/// What ended under a clock that was years behind is kept as long as everything else.
#[test]
fn an_end_under_a_clock_that_was_set_back_is_not_forgotten_when_it_is_right_again() {
    let place = Place::new();
    simulate(11, |world| async move {
        world.open(&place).close();
        let years = 5 * 365 * 86_400_000_i64;
        world.clock.set_wall_by(-years);
        world.clock.reboot();
        let outbox = world.open(&place);
        let ended = order(&outbox, "ended");
        outbox.submit(ended.clone()).unwrap();
        outbox.cancel(ended.id).unwrap();
        world.clock.set_wall_by(years);
        // A server tells the time, so that retention believes it.
        outbox.submit(order(&outbox, "sent")).unwrap();
        drain(&outbox).await;
        while outbox.retain().unwrap() {}
        let receipt = outbox.submit(ended).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        assert_eq!(receipt.snapshot.state, SubmissionState::Cancelled);
    });
}

/// A slot whose submission is forgotten, or whose ID was never used for years, gives a new ID.
#[test]
fn a_slot_never_gives_an_id_that_would_be_refused() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        outbox.submit(order(&outbox, "form")).unwrap();
        let idle = outbox.begin("idle".into()).unwrap();
        drain(&outbox).await;
        let later = order(&outbox, "later");
        outbox.submit(later).unwrap();
        drain(&outbox).await;
        let limits = Limits::default();
        for time in [limits.keep_results, limits.keep_tombstones] {
            world.pass(time + DAY).await;
            while outbox.retain().unwrap() {}
        }
        assert_ne!(outbox.begin("idle".into()).unwrap(), idle);
        for slot in ["form", "idle"] {
            let receipt = outbox.submit(order(&outbox, slot)).unwrap();
            assert_eq!(receipt.kind, ReceiptKind::Accepted);
        }
    });
}
