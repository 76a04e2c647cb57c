//! Batches whose refusal comes late, or to a file that has changed meanwhile.

use std::time::Duration;

use submit_once::{
    BatchConfig, Effect, HoldReason, ListFilter, PageRequest, RejectReason, ServerProfile,
    SubmissionState,
};

use crate::batches::{SECOND, append, batch, bodies, count, logs, record, state};
use crate::common::Place;
use crate::common::sim::{Play, answer, header, simulate, status};
use crate::credentials::supply;

/// P10, P11: another process has begun to purge the account, and ended before it came to the batch.
#[test]
fn what_a_purge_is_yet_to_end_has_no_halves() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "anns");
        world.network.play([Play::HandOver { confirm: true }]);
        let account = Some("ann".to_owned());
        let batch = batch(&outbox, BatchConfig { account, ..logs() });
        append(&batch, "a");
        append(&batch, "b");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        let begun = "UPDATE account SET signed_in = 0, purging = 1
            + (SELECT seq FROM sqlite_sequence WHERE name = 'submission')";
        place.sql().execute_batch(begun).unwrap();
        world.network.take().answered(answer(413, "{}"));
        world.pass(Duration::from_millis(200)).await;
        while outbox.retain().unwrap() {}
        let purging = "SELECT count(*) FROM account WHERE purging IS NOT NULL";
        assert_eq!(count(&place, purging), 0);
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 0);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "others");
        world.pass(60 * SECOND).await;
        assert_eq!(bodies(&world).len(), 1);
    });
}

/// P11: one damaged row is put aside, and its key goes on.
#[test]
fn an_open_batch_that_cant_be_read_does_not_stop_its_key() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let damaged = append(&batch, "a").batch;
        let damage = "UPDATE submission SET attempts = -1";
        place.sql().execute_batch(damage).unwrap();
        outbox.start().unwrap();
        world.pass(60 * SECOND).await;
        let next = batch.append(record("c")).unwrap().batch;
        assert_ne!(next, damaged);
        world.pass(60 * SECOND).await;
        assert_eq!(state(&outbox, next), SubmissionState::Succeeded);
    });
}

/// P5: the batch was held, since its attempt was in doubt. That the attempt was refused is proved later; then
/// nothing is in doubt any more, and the good records go on.
#[test]
fn a_refusal_that_is_proved_late_splits_as_well() {
    let place = Place::new();
    simulate(3, |world| async move {
        let config =
            |world: &crate::common::sim::World| world.config(&place).profile(ServerProfile::ietf());
        let sleeper = world.open_apart_with(config(&world));
        world.network.play([Play::HandOver { confirm: true }]);
        let terms = BatchConfig {
            effect: Some(Effect::Unkeyed),
            ..logs()
        };
        let gathered = batch(&sleeper, terms);
        let refused = append(&gathered, "good").batch;
        append(&gathered, "bad");
        sleeper.start().unwrap();
        world.pass(31 * SECOND).await;
        let late = world.network.take();
        world.clock.sleep_device(Duration::from_secs(300));
        let other = world.open_apart_with(config(&world));
        other.start().unwrap();
        world.pass(60 * SECOND).await;
        let reason = HoldReason::OutcomeUnknown;
        assert_eq!(state(&other, refused), SubmissionState::Held { reason });
        world.network.always(|_| status(201));
        let mut refusal = answer(422, "{}");
        refusal.headers.push(header("idempotent-replayed", "true"));
        late.answered(refusal);
        world.pass(600 * SECOND).await;
        let reason = RejectReason::Split;
        assert_eq!(state(&other, refused), SubmissionState::Rejected { reason });
        let all = other.list(ListFilter::all(), PageRequest::default());
        let succeeded = all.unwrap().snapshots.into_iter();
        let succeeded = succeeded.filter(|half| half.state == SubmissionState::Succeeded);
        assert_eq!(succeeded.count(), 2);
    });
}
