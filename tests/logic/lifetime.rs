//! P13: past the server's memory of a key, what is in doubt is held, never sent again blindly (F16).

use std::time::Duration;

use submit_once::{
    Effect, HoldReason, OutboxError, Resolution, ServerProfile, SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{created, drain, lost, order, simulate};

const HOUR: Duration = Duration::from_secs(3_600);
const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

fn retry(accept_second_effect: bool) -> Resolution {
    Resolution::RetrySameKey {
        accept_second_effect,
    }
}

#[test]
fn after_a_day_offline_what_is_in_doubt_is_held_and_what_was_never_sent_goes() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let doubtful = order(&outbox, "doubtful");
        outbox.submit(doubtful.clone()).unwrap();
        drain(&outbox).await;
        let fresh = order(&outbox, "fresh");
        outbox.submit(fresh.clone()).unwrap();
        world.pass(HOUR * 25).await;
        drain(&outbox).await;
        assert_eq!(outbox.snapshot(doubtful.id).unwrap().state, UNKNOWN);
        assert_eq!(
            outbox.snapshot(fresh.id).unwrap().state,
            SubmissionState::Succeeded
        );
        assert_eq!(world.network.seen().len(), 2);
    });
}

#[test]
fn just_before_the_end_it_is_sent_and_just_after_it_is_not() {
    for (minutes, sent) in [(23 * 60 + 48, 2), (23 * 60 + 51, 1)] {
        let place = Place::new();
        simulate(2, |world| async move {
            let outbox = world.open(&place);
            world.network.play([lost()]);
            outbox.submit(order(&outbox, "form")).unwrap();
            drain(&outbox).await;
            world.pass(Duration::from_secs(minutes * 60)).await;
            drain(&outbox).await;
            assert_eq!(world.network.seen().len(), sent, "after {minutes} minutes");
        });
    }
}

/// The age counts from the earliest attempt in doubt, across restarts and reboots.
#[test]
fn the_age_counts_across_reboots_and_a_clock_that_was_set_back_makes_it_over() {
    for (clock_set_by, sent) in [(0, 2), (-7_200_000, 1)] {
        let place = Place::new();
        simulate(3, |world| async move {
            let outbox = world.open(&place);
            world.network.play([lost()]);
            let order = order(&outbox, "form");
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            outbox.close();
            world.pass(HOUR).await;
            world.clock.reboot();
            world.clock.set_wall_by(clock_set_by);
            let outbox = world.open(&place);
            world.pass(HOUR / 2).await;
            drain(&outbox).await;
            assert_eq!(world.network.seen().len(), sent);
            if sent == 1 {
                assert_eq!(outbox.snapshot(order.id).unwrap().state, UNKNOWN);
            }
        });
    }
}

/// C8: the consent is stored, and consumed by the next claim.
#[test]
fn past_the_lifetime_a_retry_needs_consent_for_each_send() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), lost()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(HOUR * 25).await;
        drain(&outbox).await;
        let revision = outbox.snapshot(order.id).unwrap().revision;
        let refused = outbox
            .resolve(order.id, revision, retry(false))
            .unwrap_err();
        assert!(matches!(refused, OutboxError::NeedsConsent { .. }));
        assert_eq!(world.network.seen().len(), 1);
        outbox.resolve(order.id, revision, retry(true)).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 2, "one send for one consent");
        world.pass(HOUR).await;
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 2);
        assert_eq!(outbox.snapshot(order.id).unwrap().state, UNKNOWN);
    });
}

/// C11: a server without idempotency has a key lifetime of zero.
#[test]
fn an_unkeyed_action_is_never_sent_again_after_doubt_without_consent() {
    let place = Place::new();
    simulate(5, |world| async move {
        let config = world.config(&place).profile(ServerProfile::unkeyed());
        let outbox = world.open_with(config);
        world.network.play([lost()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        assert_eq!(snapshot.state, UNKNOWN);
        assert_eq!(world.network.seen().len(), 1);
        let refused = outbox.resolve(order.id, snapshot.revision, retry(false));
        assert!(matches!(refused, Err(OutboxError::NeedsConsent { .. })));
        outbox
            .resolve(order.id, snapshot.revision, retry(true))
            .unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        assert_eq!(world.network.seen().len(), 2);
    });
}

#[test]
fn an_overwriting_action_is_repeated_at_any_age() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let order = order(&outbox, "form").effect(Effect::Overwrite);
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(HOUR * 24 * 60).await;
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

#[test]
fn a_safe_method_is_never_in_doubt() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), created()]);
        let id = outbox.begin("fetch".into()).unwrap();
        outbox
            .submit(submit_once::Submission::new(id, "GET", "/configuration"))
            .unwrap();
        drain(&outbox).await;
        assert!(!outbox.snapshot(id).unwrap().in_doubt);
        world.pass(HOUR * 48).await;
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// C12: the floor of a decision is the quiet time too.
#[test]
fn a_decision_to_retry_waits_out_the_quiet_time() {
    let place = Place::new();
    simulate(8, |world| async move {
        let config = world.config(&place).profile(ServerProfile::unkeyed());
        let outbox = world.open_with(config);
        world.network.play([lost()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(Duration::from_secs(30)).await;
        drain(&outbox).await;
        assert_eq!(outbox.snapshot(order.id).unwrap().state, UNKNOWN);
        world.network.play([lost()]);
        let revision = outbox.snapshot(order.id).unwrap().revision;
        outbox.resolve(order.id, revision, retry(true)).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(world.network.seen().len(), 2, "the quiet time was over");
        // Now it has just been lost. The hold comes when it would be due, and its decision then.
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        outbox
            .resolve(order.id, snapshot.revision, retry(true))
            .unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        let seen = world.network.seen();
        assert!(seen[2].at - seen[1].at >= Duration::from_secs(15));
    });
}

/// A process that ended during a fetch leaves no doubt either.
#[test]
fn a_safe_method_whose_process_ended_is_not_in_doubt() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([crate::common::sim::Play::Silence]);
        let id = outbox.begin("fetch".into()).unwrap();
        outbox
            .submit(submit_once::Submission::new(id, "GET", "/configuration"))
            .unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        // As after a kill: the attempt is still open, and its owner is gone.
        let copy = Place::new();
        std::fs::copy(place.database(), copy.database()).unwrap();
        let wal = |place: &Place| place.database().with_extension("sqlite3-wal");
        std::fs::copy(wal(&place), wal(&copy)).unwrap();
        let next = world.open(&copy);
        drain(&next).await;
        let snapshot = next.snapshot(id).unwrap();
        assert_eq!((snapshot.state, snapshot.in_doubt), (SubmissionState::Pending, false));
    });
}
