//! Decisions about what is held: bound to a revision, stored, and never quietly repeated.

use std::time::Duration;

use submit_once::{
    CancelOutcome, HoldReason, Outbox, OutboxError, Resolution, Snapshot, SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, order, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);

async fn held(world: &World, outbox: &Outbox) -> Snapshot {
    world.network.play([lost(), status(400)]);
    let order = order(outbox, "form");
    outbox.submit(order.clone()).unwrap();
    outbox.start().unwrap();
    let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
        panic!("held");
    };
    snapshot
}

#[test]
fn a_decision_about_an_older_state_is_refused() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let snapshot = held(&world, &outbox).await;
        let stale = outbox.resolve(snapshot.id, snapshot.revision - 1, Resolution::GiveUp);
        let Err(OutboxError::Stale { current }) = stale else {
            panic!("{stale:?}");
        };
        assert_eq!(*current, snapshot);
        outbox.cancel(snapshot.id).unwrap();
        let stale = outbox.resolve(snapshot.id, snapshot.revision, Resolution::GiveUp);
        assert!(matches!(stale, Err(OutboxError::Stale { .. })));
    });
}

#[test]
fn only_what_is_held_can_be_decided() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        let revision = outbox.submit(order.clone()).unwrap().snapshot.revision;
        let pending = outbox.resolve(order.id, revision, Resolution::GiveUp);
        assert!(matches!(pending, Err(OutboxError::NotHeld { .. })));
        drain(&outbox).await;
        let revision = outbox.snapshot(order.id).unwrap().revision;
        let settled = outbox.resolve(order.id, revision, Resolution::GiveUp);
        assert!(matches!(settled, Err(OutboxError::NotHeld { .. })));
        let unknown = submit_once::SubmissionId::derived(None, "nobody", "knows");
        assert_eq!(
            outbox.resolve(unknown, 1, Resolution::GiveUp),
            Err(OutboxError::UnknownId { id: unknown })
        );
        assert_eq!(
            outbox.cancel(unknown),
            Err(OutboxError::UnknownId { id: unknown })
        );
        assert_eq!(
            outbox.wake(unknown),
            Err(OutboxError::UnknownId { id: unknown })
        );
    });
}

#[test]
fn it_happened_succeeds_with_the_result_that_was_found() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let snapshot = held(&world, &outbox).await;
        let happened = Resolution::ItHappened {
            result: Some(r#"{"number":7}"#.into()),
        };
        let after = outbox
            .resolve(snapshot.id, snapshot.revision, happened)
            .unwrap();
        assert_eq!(after.state, SubmissionState::Succeeded);
        let body = after.outcome.unwrap().body.unwrap();
        assert_eq!(body, br#"{"number":7}"#);
        let waited = outbox.wait(snapshot.id, Duration::ZERO).await.unwrap();
        assert!(matches!(waited, Waited::Settled { .. }));
    });
}

#[test]
fn retrying_starts_a_fresh_budget_with_the_same_key() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let snapshot = held(&world, &outbox).await;
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        outbox
            .resolve(snapshot.id, snapshot.revision, retry)
            .unwrap();
        outbox.wait(snapshot.id, HOUR).await.unwrap();
        let seen = world.network.seen();
        assert_eq!(seen.len(), 3);
        assert_eq!(seen[2].request, seen[0].request);
        assert_eq!(
            outbox.snapshot(snapshot.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// C8: a retry that could never send is refused, not accepted and held again.
#[test]
fn damaged_bytes_cannot_be_retried() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        place
            .sql()
            .execute_batch(
                "DROP TRIGGER request_frozen; UPDATE request SET body = x'00' WHERE seq = 1",
            )
            .unwrap();
        let report = drain(&outbox).await;
        assert_eq!(report.attempts, 0);
        assert_eq!(world.network.seen().len(), 0);
        let snapshot = outbox.snapshot(order.id).unwrap();
        let damaged = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        assert_eq!(snapshot.state, damaged);
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        let refused = outbox.resolve(order.id, snapshot.revision, retry);
        assert!(matches!(refused, Err(OutboxError::CannotRetry { .. })));
        let given_up = outbox.resolve(order.id, snapshot.revision, Resolution::GiveUp);
        assert_eq!(given_up.unwrap().state, SubmissionState::Abandoned);
    });
}

/// P9, P11: one row that can't be read is put aside, and the others go.
#[test]
fn a_row_that_cannot_be_read_stops_no_other() {
    for damage in [
        "DROP TRIGGER submission_frozen; UPDATE submission SET effect = 'keyee' WHERE seq = 1",
        "UPDATE submission SET state = 'pendinf' WHERE seq = 1",
        "DROP TRIGGER profile_frozen; INSERT INTO profile VALUES (9, 'junk');
            DROP TRIGGER submission_frozen; UPDATE submission SET profile = 9 WHERE seq = 1",
    ] {
        let place = Place::new();
        simulate(6, |world| async move {
            let outbox = world.open(&place);
            for slot in ["bad", "good"] {
                outbox.submit(order(&outbox, slot)).unwrap();
            }
            place.sql().execute_batch(damage).unwrap();
            outbox.start().unwrap();
            world.pass(HOUR).await;
            assert_eq!(world.network.sent(), 1, "{damage}");
            let state: String = place
                .sql()
                .query_row(
                    "SELECT state || '/' || reason FROM submission WHERE seq = 1",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(state, "held/damaged", "{damage}");
            // It is visible, and can be decided.
            let listed = outbox
                .list(
                    submit_once::ListFilter::of(submit_once::ListState::Held),
                    Default::default(),
                )
                .unwrap();
            let bad = &listed.snapshots[0];
            let given_up = outbox.resolve(bad.id, bad.revision, Resolution::GiveUp);
            assert_eq!(given_up.unwrap().state, SubmissionState::Abandoned);
        });
    }
}

/// A flipped digit in how the server treats keys is damage as well.
#[test]
fn a_changed_profile_is_damage() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        place
            .sql()
            .execute_batch(
                "DROP TRIGGER profile_frozen;
                 UPDATE profile SET json = replace(json, '86400000', '96400000')",
            )
            .unwrap();
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 0);
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Held {
                reason: HoldReason::Damaged
            }
        );
    });
}

/// A screen that shows an older state decides nothing: neither of two answers to one question counts
/// twice.
#[test]
fn of_two_decisions_about_one_revision_the_first_counts() {
    let place = Place::new();
    simulate(8, |world| async move {
        let (outbox, other) = (world.open(&place), world.open_apart(&place));
        let snapshot = held(&world, &outbox).await;
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        let retried = outbox
            .resolve(snapshot.id, snapshot.revision, retry.clone())
            .unwrap();
        assert!(retried.revision > snapshot.revision);
        for decision in [retry, Resolution::GiveUp] {
            let second = other.resolve(snapshot.id, snapshot.revision, decision);
            let Err(OutboxError::Stale { current }) = second else {
                panic!("{second:?}");
            };
            assert_eq!(current.revision, retried.revision);
        }
    });
}

/// P4: neither a decision nor a wake-up shortens the quiet time, and what is held isn't set going by a
/// wake-up.
#[test]
fn no_way_to_become_due_is_shorter_than_the_floor() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        let quiet = Duration::from_secs(15);
        world.network.play([lost(), status(400), lost()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        let asleep = outbox.snapshot(order.id).unwrap();
        let woken = outbox.wake(order.id).unwrap();
        let due = woken.next_attempt_at.unwrap();
        assert!(due <= asleep.next_attempt_at.unwrap());
        outbox.wait(order.id, HOUR).await.unwrap();
        let seen = world.network.seen();
        assert!(seen[1].at - seen[0].at >= quiet, "{:?}", seen[1].at);

        let held = outbox.wake(order.id).unwrap();
        assert!(matches!(held.state, SubmissionState::Held { .. }));
        let retry = || Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        outbox.resolve(order.id, held.revision, retry()).unwrap();
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(world.network.seen().len(), 3);
        let cancelled = outbox.cancel(order.id).unwrap();
        let CancelOutcome::MayHaveHappened { snapshot } = cancelled else {
            panic!("{cancelled:?}");
        };
        outbox
            .resolve(order.id, snapshot.revision, retry())
            .unwrap();
        outbox.wake(order.id).unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        let seen = world.network.seen();
        assert!(seen[3].at - seen[2].at >= quiet, "{:?}", seen[3].at);
    });
}

/// A wake-up is a change that observers see, once; one that hastens nothing is none.
#[test]
fn a_wake_up_has_a_revision_of_its_own_or_none() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(503)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let before = outbox.stats().unwrap().last_cursor;
        let ready = outbox.wake(order.id).unwrap();
        assert_eq!(ready.revision, 1);
        assert_eq!(outbox.stats().unwrap().last_cursor, before);
        drain(&outbox).await;
        let waiting = outbox.snapshot(order.id).unwrap();
        let woken = outbox.wake(order.id).unwrap();
        assert_eq!(woken.revision, waiting.revision + 1);
        assert!(woken.next_attempt_at < waiting.next_attempt_at);
        let again = outbox.wake(order.id).unwrap();
        assert_eq!(again.revision, woken.revision);
    });
}

/// The budget of before a decision is not held against what comes after it.
#[test]
fn a_decision_gives_the_whole_budget_again() {
    let place = Place::new();
    simulate(11, |world| async move {
        let limits = submit_once::Limits {
            retry_attempts: 4,
            retry_time: Duration::from_secs(1),
            ..Default::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        // In doubt, so that the end of the budget is a hold.
        world.network.play([lost()]);
        world.network.always(|_| status(502));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let mut sent = Vec::new();
        for _ in 0..3 {
            let waited = outbox.wait(order.id, HOUR * 9).await.unwrap();
            let Waited::Held { snapshot } = waited else {
                panic!("{waited:?}");
            };
            sent.push(world.network.sent());
            let retry = Resolution::RetrySameKey {
                accept_second_effect: false,
            };
            outbox
                .resolve(snapshot.id, snapshot.revision, retry)
                .unwrap();
        }
        assert_eq!(sent, [5, 9, 13], "four answers each");
    });
}

/// Some hundred, as of a copy of the database, with some of other kinds between them.
#[test]
fn everything_held_for_a_reason_is_decided_in_one_call_and_nothing_else() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        let orders: Vec<_> = (0..400)
            .map(|n| order(&outbox, &format!("form {n}")))
            .collect();
        outbox.submit_all(orders.clone()).unwrap();
        place
            .sql()
            .execute_batch(
                "UPDATE submission SET state = 'held', ready = 0, reason = CASE
                    WHEN seq % 10 = 0 THEN 'conflict' ELSE 'restored' END WHERE seq <= 390",
            )
            .unwrap();
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        let released = outbox
            .resolve_all(HoldReason::Restored, retry.clone())
            .unwrap();
        assert_eq!((released.resolved, released.refused), (351, 0));
        let held = outbox
            .list(
                submit_once::ListFilter::of(submit_once::ListState::Held),
                Default::default(),
            )
            .unwrap();
        assert_eq!(held.snapshots.len(), 39);
        let again = outbox.resolve_all(HoldReason::Restored, retry).unwrap();
        assert_eq!(again, submit_once::ResolvedAll::default());
        let stopped = outbox
            .resolve_all(HoldReason::Conflict, Resolution::GiveUp)
            .unwrap();
        assert_eq!((stopped.resolved, stopped.refused), (39, 0));
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 361);
    });
}

/// What a decision can't be made for stays, and is counted: the others don't wait for it.
#[test]
fn a_decision_about_many_leaves_those_that_need_a_consent_or_cannot_be_sent() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| lost());
        let unkeyed = order(&outbox, "unkeyed").effect(submit_once::Effect::Unkeyed);
        outbox.submit(unkeyed.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(unkeyed.id, HOUR).await.unwrap();
        world.network.always(|_| status(412));
        let conflicts = ["a", "b"].map(|slot| order(&outbox, slot));
        for order in &conflicts {
            outbox.submit(order.clone()).unwrap();
            outbox.wait(order.id, HOUR).await.unwrap();
        }
        place
            .sql()
            .execute_batch("UPDATE submission SET reason = 'outcome_unknown' WHERE state = 'held'")
            .unwrap();
        let retry = |accept_second_effect| Resolution::RetrySameKey {
            accept_second_effect,
        };
        world.network.always(|_| status(201));
        let some = outbox
            .resolve_all(HoldReason::OutcomeUnknown, retry(false))
            .unwrap();
        assert_eq!((some.resolved, some.refused), (2, 1));
        for order in &conflicts {
            outbox.wait(order.id, HOUR).await.unwrap();
        }
        assert_eq!(world.network.sent(), 5, "each of the two once more");
        let with_consent = outbox
            .resolve_all(HoldReason::OutcomeUnknown, retry(true))
            .unwrap();
        assert_eq!((with_consent.resolved, with_consent.refused), (1, 0));
        outbox.wait(unkeyed.id, HOUR).await.unwrap();
        assert_eq!(world.network.sent(), 6);

        place
            .sql()
            .execute_batch(
                "DROP TRIGGER submission_final; UPDATE submission SET state = 'held',
                    reason = 'damaged', settled_wall = NULL WHERE seq > 1",
            )
            .unwrap();
        let damaged = outbox
            .resolve_all(HoldReason::Damaged, retry(true))
            .unwrap();
        assert_eq!((damaged.resolved, damaged.refused), (0, 2));
    });
}
