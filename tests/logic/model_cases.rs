//! Sequences of the model that no other file stages, on the real core: stored refusals (C9), servers that
//! abort handlers (C11), gateways that re-send (C14), a process that is frozen before its first byte (C15),
//! and a late success before an attempt that is still to be sent (C5).

use std::time::Duration;

use submit_once::{
    CancelOutcome, Effect, HoldReason, OutboxError, Resolution, ServerProfile, Submission,
    SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{
    Play, answer, drain, lost, order, simulate, status, status_with, unreachable,
};
use crate::latest::{draft, versions};

const HOUR: Duration = Duration::from_secs(3_600);
const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

fn retry(accept_second_effect: bool) -> Resolution {
    Resolution::RetrySameKey {
        accept_second_effect,
    }
}

fn stored_refusal() -> Play {
    status_with(422, "idempotent-replayed", "true")
}

/// C9 a): the server had done attempt 1 and forgotten it. It stored the refusal of attempt 2, which was
/// sent with a consent, and gives it again to attempt 3: that speaks of what came after the consent.
#[test]
fn a_stored_refusal_does_not_speak_for_what_was_sent_before_a_consent() {
    let place = Place::new();
    simulate(1, |world| async move {
        let ietf = ServerProfile::ietf();
        assert!(ietf.locks, "so that a marker settles anything at all");
        let outbox = world.open_with(world.config(&place).profile(ietf));
        let order = order(&outbox, "form");
        world.network.play([lost(), lost(), stored_refusal()]);
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        for sent in [2, 3] {
            world.pass(HOUR * 24 * 40).await;
            drain(&outbox).await;
            let held = outbox.snapshot(order.id).unwrap();
            assert_eq!(held.state, UNKNOWN);
            outbox
                .resolve(order.id, held.revision, retry(true))
                .unwrap();
            drain(&outbox).await;
            assert_eq!(world.network.sent(), sent);
        }
        let after = outbox.snapshot(order.id).unwrap();
        assert_eq!(after.state, UNKNOWN);
        assert!(after.in_doubt);
    });
}

/// C9 b): without a lock two attempts may have overlapped, and the refusal of one was stored although the
/// other took effect.
#[test]
fn a_stored_refusal_of_a_server_without_locks_speaks_for_its_own_attempt() {
    for (locks, expected) in [(false, false), (true, true)] {
        let place = Place::new();
        simulate(2, |world| async move {
            let profile = ServerProfile {
                locks,
                ..ServerProfile::ietf()
            };
            let outbox = world.open_with(world.config(&place).profile(profile));
            let order = order(&outbox, "form");
            world.network.play([lost(), stored_refusal()]);
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            outbox.start().unwrap();
            outbox.wait(order.id, HOUR).await.unwrap();
            let after = outbox.snapshot(order.id).unwrap();
            let rejected = matches!(after.state, SubmissionState::Rejected { .. });
            assert_eq!(rejected, expected, "{:?}", after.state);
            assert!(rejected || (after.state == UNKNOWN && after.in_doubt));
        });
    }
}

/// C11 b): the handler may have been ended between the effect and the record of the key, so that any
/// repeat in doubt may be a second effect.
#[test]
fn in_doubt_a_server_that_aborts_handlers_is_asked_again_with_a_consent_only() {
    let place = Place::new();
    simulate(3, |world| async move {
        let profile = ServerProfile {
            aborts_handlers: true,
            ..ServerProfile::ietf()
        };
        let outbox = world.open_with(world.config(&place).profile(profile));
        let order = order(&outbox, "form");
        world.network.play([unreachable(), lost()]);
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        assert_eq!(snapshot.state, UNKNOWN);
        assert_eq!(world.network.sent(), 1, "what never left is sent again");
        let refused = outbox.resolve(order.id, snapshot.revision, retry(false));
        assert!(matches!(refused, Err(OutboxError::NeedsConsent { .. })));
        outbox
            .resolve(order.id, snapshot.revision, retry(true))
            .unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        assert_eq!(world.network.sent(), 2);
    });
}

/// C14: one copy was refused, or told to come again, and the other may still be executed.
#[test]
fn behind_a_gateway_that_resends_no_answer_proves_that_nothing_was_done() {
    for (cancels, refusal) in [(false, 400), (true, 400), (true, 429), (true, 401)] {
        let place = Place::new();
        simulate(4, |world| async move {
            let profile = ServerProfile {
                gateway_may_resend: true,
                ..ServerProfile::ietf()
            };
            let outbox = world.open_with(world.config(&place).profile(profile));
            let order = order(&outbox, "form");
            world.network.play([Play::HandOver { confirm: true }]);
            outbox.submit(order.clone()).unwrap();
            outbox.start().unwrap();
            world.pass(Duration::from_secs(1)).await;
            if cancels {
                let cancel = outbox.cancel(order.id).unwrap();
                assert!(matches!(cancel, CancelOutcome::MayHaveHappened { .. }));
            }
            world.network.take().answered(answer(refusal, "{}"));
            world.pass(Duration::from_secs(1)).await;
            let after = outbox.snapshot(order.id).unwrap();
            let reason = match cancels {
                true => HoldReason::CancelRequested,
                false => HoldReason::OutcomeUnknown,
            };
            assert_eq!(after.state, SubmissionState::Held { reason }, "{refusal}");
            assert!(after.in_doubt);
        });
    }
}

/// C15, the documented exception: frozen right after its last look, a process can't be told from one that
/// has sent. Its submission goes on elsewhere, and both answers lead to one result.
#[test]
fn an_attempt_that_was_frozen_after_its_last_look_converges_with_its_successor() {
    let place = Place::new();
    simulate(5, |world| async move {
        let sleeper = world.open_apart(&place);
        let order = order(&sleeper, "form");
        world.network.play([Play::HandOver { confirm: true }]);
        sleeper.submit(order.clone()).unwrap();
        sleeper.start().unwrap();
        world.pass(Duration::from_millis(10)).await;
        let frozen = world.network.take();
        // Longer than any lease: the device slept.
        world.clock.sleep_device(HOUR);
        let other = world.open_apart(&place);
        world.network.play([status(400)]);
        other.start().unwrap();
        let Waited::Held { snapshot } = other.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        assert_eq!(snapshot.state, UNKNOWN, "it isn't called undone");
        assert_eq!(other.cancel(order.id).unwrap(), {
            let snapshot = other.snapshot(order.id).unwrap();
            CancelOutcome::MayHaveHappened { snapshot }
        });
        // It thaws, sends, and is answered.
        frozen.answered(answer(201, r#"{"n":1}"#));
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(
            other.snapshot(order.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// C5, W10: attempt 1 succeeds late, while attempt 2 is about to be sent. Were the older version over at
/// once, the newer could be sent before attempt 2, which would overwrite it.
#[test]
fn a_newer_version_waits_for_an_attempt_of_the_older_that_a_late_success_made_needless() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        world
            .network
            .play([Play::Silence, Play::HandOver { confirm: true }]);
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(150)).await;
        let (first, second) = (world.network.take(), world.network.take());
        outbox.submit(two.clone()).unwrap();
        first.answered(answer(200, "{}"));
        world.pass(HOUR / 60).await;
        assert_eq!(versions(&world), [1, 1], "attempt 2 may still arrive");
        second.answered(answer(200, "{}"));
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(versions(&world), [1, 1, 2]);
        let state = |of: &Submission| outbox.snapshot(of.id).unwrap().state;
        assert_eq!(state(&one), SubmissionState::Succeeded);
        assert_eq!(state(&two), SubmissionState::Succeeded);
        assert_eq!(one.effect, Some(Effect::Overwrite));
    });
}
