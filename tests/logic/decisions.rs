//! Decisions about what is held: bound to a revision, stored, and never quietly repeated.

use std::time::Duration;

use submit_once::{HoldReason, Outbox, OutboxError, Resolution, Snapshot, SubmissionState, Waited};

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
