//! Budgets are attempts *and* time; they end visibly, and only answers count.

use std::time::Duration;

use submit_once::{HoldReason, Limits, RejectReason, SubmissionState, Waited};

use crate::common::Place;
use crate::common::sim::{Play, answer, drain, lost, order, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);
const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

fn limits() -> Limits {
    Limits {
        retry_attempts: 4,
        retry_time: Duration::from_secs(300),
        ..Limits::default()
    }
}

/// F06: an endless 500 after a lost answer ends in a visible hold, with the key kept.
#[test]
fn doubt_and_an_endless_error_end_in_a_hold() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open_with(world.config(&place).limits(limits()));
        world.network.play([lost()]);
        world.network.always(|_| status(500));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR * 12).await.unwrap() else {
            panic!("held");
        };
        assert_eq!(snapshot.state, UNKNOWN);
        assert!(snapshot.attempts > 5, "{}", snapshot.attempts);
        let sent = world.network.seen().len();
        world.pass(HOUR * 12).await;
        assert_eq!(world.network.seen().len(), sent);
    });
}

#[test]
fn without_doubt_a_used_up_budget_rejects() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open_with(world.config(&place).limits(limits()));
        world.network.always(|_| status(425));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(order.id, HOUR * 12).await.unwrap();
        let gave_up = SubmissionState::Rejected {
            reason: RejectReason::GaveUp,
        };
        assert_eq!(outbox.snapshot(order.id).unwrap().state, gave_up);
    });
}

/// A worker that runs every quarter of an hour isn't out of budget at its second try, and a clock
/// that jumps ahead ends no budget (F108).
#[test]
fn neither_few_attempts_over_a_long_time_nor_a_jumping_clock_use_a_budget_up() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open_with(world.config(&place).limits(limits()));
        world.network.always(|_| status(425));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        for _ in 0..4 {
            drain(&outbox).await;
            world.clock.set_wall_by(10 * 86_400_000);
            world.pass(Duration::from_secs(20)).await;
        }
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert_eq!(snapshot.attempts, 4);
    });
}

/// F17: a key in use is asked about again, at least three times over at least two minutes.
#[test]
fn in_progress_for_too_long_is_held_and_until_then_waited_for() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| status(409));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(100)).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Pending
        );
        let Waited::Held { snapshot } = outbox.wait(order.id, HOUR).await.unwrap() else {
            panic!("held");
        };
        assert_eq!(snapshot.state, UNKNOWN);
        assert!(snapshot.attempts >= 4);
    });
}

/// F107: within a boot the clock that nobody can set decides what is late.
#[test]
fn a_clock_that_is_set_makes_no_request_late_and_hides_no_time_out() {
    const YEAR: i64 = 365 * 86_400_000;
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([
            Play::Answer(Duration::from_secs(30), answer(201, "{}")),
            Play::Silence,
        ]);
        let first = order(&outbox, "first");
        outbox.submit(first.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(5)).await;
        world.clock.set_wall_by(YEAR);
        world.pass(Duration::from_secs(26)).await;
        let done = outbox.snapshot(first.id).unwrap();
        assert_eq!((done.state, done.attempts), (SubmissionState::Succeeded, 1));
        let second = order(&outbox, "second");
        outbox.submit(second.clone()).unwrap();
        world.pass(Duration::from_secs(5)).await;
        world.clock.set_wall_by(-2 * YEAR);
        world.pass(Duration::from_secs(87)).await;
        let late = outbox.snapshot(second.id).unwrap();
        assert_eq!(
            (late.state, late.in_doubt),
            (SubmissionState::Pending, true)
        );
    });
}
