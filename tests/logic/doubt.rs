//! P5: doubt belongs to attempts, and while there is any, nothing is called undone. The sequences
//! C1 to C8 of the model, on the real core.

use std::time::Duration;

use submit_once::{
    CancelOutcome, Fault, HoldReason, RejectReason, Resolution, SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, lost, order, simulate, status, unreachable};

const HOUR: Duration = Duration::from_secs(3_600);

fn held(reason: HoldReason) -> SubmissionState {
    SubmissionState::Held { reason }
}

fn hand_over() -> Play {
    Play::HandOver { confirm: true }
}

async fn settle(world: &World) {
    world.pass(Duration::from_millis(10)).await;
}

#[test]
fn what_was_never_sent_is_cancelled() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        assert_eq!(outbox.cancel(order.id).unwrap(), CancelOutcome::Cancelled);
        let again = outbox.cancel(order.id).unwrap();
        assert!(matches!(again, CancelOutcome::AlreadyFinal { .. }));
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 0);
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Cancelled
        );
    });
}

#[test]
fn what_certainly_failed_is_cancelled_too() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.play([unreachable(), status(425)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        assert_eq!(outbox.cancel(order.id).unwrap(), CancelOutcome::Cancelled);
    });
}

/// C1: attempt 1 may have been applied; attempt 2, in flight at the cancel, proves only its own.
#[test]
fn a_cancel_with_an_earlier_attempt_in_doubt_is_held_when_the_open_one_fails() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), hand_over()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(60)).await;
        let cancel = outbox.cancel(order.id).unwrap();
        assert!(matches!(cancel, CancelOutcome::MayHaveHappened { .. }));
        world.network.take().answered(answer(400, "{}"));
        settle(&world).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, held(HoldReason::CancelRequested));
        assert!(snapshot.in_doubt);
        // C3: it is not sent again.
        world.pass(HOUR).await;
        assert_eq!(world.network.seen().len(), 2);
    });
}

/// C4, C7: the last doubt closes as not applied, by a late answer: then the cancel holds.
#[test]
fn a_held_cancel_becomes_cancelled_when_its_last_doubt_is_settled() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(91)).await;
        let cancel = outbox.cancel(order.id).unwrap();
        assert!(matches!(cancel, CancelOutcome::MayHaveHappened { .. }));
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            held(HoldReason::CancelRequested)
        );
        world.network.take().answered(answer(400, "{}"));
        settle(&world).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Cancelled
        );
    });
}

/// C5: a late success while the next attempt is in flight beats every answer of that one.
#[test]
fn a_late_success_beats_the_refusal_of_the_next_attempt() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence, hand_over()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(120)).await;
        let (first, second) = (world.network.take(), world.network.take());
        first.answered(answer(201, r#"{"late":true}"#));
        settle(&world).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::InFlight
        );
        second.answered(answer(422, "{}"));
        settle(&world).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        let outcome = snapshot.outcome.unwrap();
        assert_eq!(
            outcome.body.as_deref(),
            Some(br#"{"late":true}"#.as_slice())
        );
    });
}

#[test]
fn a_late_success_settles_a_hold() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence, status(400)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let waited = outbox.wait(order.id, HOUR).await.unwrap();
        let Waited::Held { snapshot } = waited else {
            panic!("{waited:?}");
        };
        assert_eq!(snapshot.state, held(HoldReason::OutcomeUnknown));
        world.network.take().answered(answer(201, "{}"));
        settle(&world).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
    });
}

/// P7: what comes after the end is shown beside it and changes nothing.
#[test]
fn evidence_after_the_end_is_recorded_beside_it() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence, status(400)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        let given_up = outbox
            .resolve(order.id, snapshot.revision, Resolution::GiveUp)
            .unwrap();
        assert_eq!(given_up.state, SubmissionState::Abandoned);
        world.network.take().answered(answer(201, "{}"));
        settle(&world).await;
        let after = outbox.snapshot(order.id).unwrap();
        assert_eq!(after.state, SubmissionState::Abandoned);
        assert!(after.late_evidence.unwrap().contains("took effect"));
        assert!(after.revision > given_up.revision);
    });
}

/// The same answer of the same attempt, twice.
#[test]
fn an_answer_that_is_reported_twice_counts_once() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([hand_over()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        let exchange = world.network.take();
        exchange.answered(answer(201, r#"{"n":1}"#));
        exchange.answered(answer(201, r#"{"n":2}"#));
        exchange.failed(Fault::Lost);
        settle(&world).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        assert_eq!(snapshot.late_evidence, None);
        let body = snapshot.outcome.unwrap().body.unwrap();
        assert_eq!(body, br#"{"n":1}"#);
    });
}

#[test]
fn a_refusal_without_doubt_is_final_and_with_doubt_is_held() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(404)]);
        let certain = order(&outbox, "certain");
        outbox.submit(certain.clone()).unwrap();
        drain(&outbox).await;
        let snapshot = outbox.snapshot(certain.id).unwrap();
        let refused = SubmissionState::Rejected {
            reason: RejectReason::Refused,
        };
        assert_eq!(snapshot.state, refused);
        assert_eq!(snapshot.outcome.unwrap().status, Some(404));

        world.network.play([lost(), status(404)]);
        let doubtful = order(&outbox, "doubtful");
        outbox.submit(doubtful.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(doubtful.id, HOUR).await.unwrap();
        let snapshot = outbox.snapshot(doubtful.id).unwrap();
        assert_eq!(snapshot.state, held(HoldReason::OutcomeUnknown));
        assert_eq!(snapshot.outcome, None);
    });
}

#[test]
fn what_expires_in_doubt_is_held_and_what_was_never_applied_expires() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let soon = || {
            std::time::UNIX_EPOCH
                + Duration::from_millis(u64::try_from(crate::common::sim::BIRTH).unwrap())
                + Duration::from_secs(30)
        };
        world.network.always(|request| {
            if request.body.as_bytes() == Some(br#"{"order":"doubtful"}"#) {
                lost()
            } else {
                unreachable()
            }
        });
        let doubtful = order(&outbox, "doubtful").expires_at(soon());
        let certain = order(&outbox, "certain").expires_at(soon());
        outbox.submit(doubtful.clone()).unwrap();
        outbox.submit(certain.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(40)).await;
        assert_eq!(
            outbox.snapshot(doubtful.id).unwrap().state,
            held(HoldReason::ExpiredInDoubt)
        );
        assert_eq!(
            outbox.snapshot(certain.id).unwrap().state,
            SubmissionState::Expired
        );
        // C8: a decision to retry clears the expiry for good.
        let revision = outbox.snapshot(doubtful.id).unwrap().revision;
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        world.network.always(|_| status(201));
        outbox.resolve(doubtful.id, revision, retry).unwrap();
        outbox.wait(doubtful.id, HOUR).await.unwrap();
        assert_eq!(
            outbox.snapshot(doubtful.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// C2: a takeover doesn't forget the cancel. Here the process ended with the request under way.
#[test]
fn a_cancel_survives_the_loss_of_the_lease() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        world.network.play([hand_over()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.cancel(order.id).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            held(HoldReason::CancelRequested)
        );
        assert_eq!(world.network.seen().len(), 1);
    });
}

/// What was stopped before its first byte is known to be unsent, so that it is not in doubt.
#[test]
fn suspending_before_the_first_byte_leaves_no_doubt_and_after_it_does() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([Play::HandOver { confirm: false }, hand_over()]);
        let unsent = order(&outbox, "unsent");
        let sent = order(&outbox, "sent");
        outbox.submit(unsent.clone()).unwrap();
        outbox.submit(sent.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.suspend().unwrap();
        assert!(!outbox.snapshot(unsent.id).unwrap().in_doubt);
        assert!(outbox.snapshot(sent.id).unwrap().in_doubt);
        assert!(
            !world.network.take().confirm(),
            "stopped: it must not be sent any more"
        );
        assert_eq!(outbox.stats().unwrap().in_flight, 0);
    });
}

/// The sweep turns some at a time; what it hasn't reached yet isn't sent either.
#[test]
fn however_many_have_expired_none_of_them_is_sent() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        let soon = std::time::UNIX_EPOCH
            + Duration::from_millis(u64::try_from(crate::common::sim::BIRTH).unwrap())
            + Duration::from_secs(60);
        for n in 0..300 {
            let order = order(&outbox, &format!("form {n}")).expires_at(soon);
            outbox.submit(order).unwrap();
        }
        world.pass(HOUR).await;
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 0);
        assert_eq!(outbox.stats().unwrap().pending, 0);
    });
}

/// P7: a stored refusal said that nothing had happened, and the first answer, late, says otherwise.
#[test]
fn a_late_success_against_a_settled_refusal_is_shown() {
    let place = Place::new();
    simulate(14, |world| async move {
        let ietf = submit_once::ServerProfile::ietf();
        let outbox = world.open_with(world.config(&place).profile(ietf));
        let marked = crate::common::sim::status_with(422, "idempotent-replayed", "true");
        world.network.play([Play::Silence, marked]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(120)).await;
        let state = outbox.snapshot(order.id).unwrap().state;
        assert!(matches!(state, SubmissionState::Rejected { .. }));
        world.network.take().answered(answer(201, "{}"));
        settle(&world).await;
        let after = outbox.snapshot(order.id).unwrap();
        assert_eq!(after.state, state);
        assert!(after.late_evidence.unwrap().contains("took effect"));
    });
}
