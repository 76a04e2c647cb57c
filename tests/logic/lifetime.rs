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
        let report = drain(&outbox).await;
        assert_eq!((report.held, report.succeeded), (1, 1));
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
            drain(&outbox).await;
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
        // As after a kill: the attempt is still open, its owner is gone, and so is its lease.
        world.clock.sleep_device(Duration::from_secs(200));
        let copy = Place::new();
        std::fs::copy(place.database(), copy.database()).unwrap();
        let wal = |place: &Place| place.database().with_extension("sqlite3-wal");
        std::fs::copy(wal(&place), wal(&copy)).unwrap();
        let next = world.open(&copy);
        drain(&next).await;
        let snapshot = next.snapshot(id).unwrap();
        assert_eq!(
            (snapshot.state, snapshot.in_doubt),
            (SubmissionState::Pending, false)
        );
    });
}

/// A consent given a moment before it is needed still counts when it is.
#[test]
fn a_consent_just_before_the_end_is_kept() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([lost(), crate::common::sim::status(400)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        let revision = outbox.snapshot(order.id).unwrap().revision;
        world
            .pass(HOUR * 24 - Duration::from_secs(600 + 60 + 5))
            .await;
        outbox.resolve(order.id, revision, retry(true)).unwrap();
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// An attempt that sent nothing gives its consent back: the user isn't asked twice.
#[test]
fn a_consent_survives_an_attempt_that_sent_nothing() {
    let place = Place::new();
    simulate(11, |world| async move {
        let config = world.config(&place).profile(ServerProfile::unkeyed());
        let outbox = world.open_with(config);
        world
            .network
            .play([lost(), crate::common::sim::unreachable()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        outbox
            .resolve(order.id, snapshot.revision, retry(true))
            .unwrap();
        let waited = outbox.wait(order.id, HOUR).await.unwrap();
        assert!(matches!(waited, Waited::Settled { .. }), "{waited:?}");
        assert_eq!(world.network.sent(), 2);
    });
}

/// A device hours behind its server: each clock is only compared with itself.
#[test]
fn a_device_behind_its_server_makes_no_key_younger() {
    let place = Place::new();
    simulate(12, |world| async move {
        world.clock.set_wall_by(-2 * 3_600_000);
        let outbox = world.open(&place);
        world.network.play([created(), lost()]);
        outbox.submit(order(&outbox, "first")).unwrap();
        drain(&outbox).await;
        let second = order(&outbox, "second");
        outbox.submit(second.clone()).unwrap();
        drain(&outbox).await;
        assert!(outbox.snapshot(second.id).unwrap().in_doubt);
        outbox.close();
        world.pass(HOUR * 24 + Duration::from_secs(60)).await;
        world.clock.reboot();
        let outbox = world.open(&place);
        drain(&outbox).await;
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 2);
        assert_eq!(outbox.snapshot(second.id).unwrap().state, UNKNOWN);
    });
}

/// Every opening remembers how far the wall clock has come.
#[test]
fn a_wall_time_that_an_opening_saw_is_remembered() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        outbox.submit(order(&outbox, "form")).unwrap();
        drain(&outbox).await;
        outbox.close();
        world.pass(HOUR * 14).await;
        world.clock.reboot();
        world.open(&place).close();
        world.clock.set_wall_by(-13 * 3_600_000);
        world.clock.reboot();
        let outbox = world.open(&place);
        outbox.start().unwrap();
        world.pass(HOUR * 23).await;
        assert_eq!(world.network.sent(), 1, "its age can't be known any more");
    });
}
