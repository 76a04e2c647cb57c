//! Leaving the foreground, and calls whose caller has gone.

use std::time::Duration;

use submit_once::{Cancellation, DrainBudget, DrainStop, Limits, SubmissionState, WindDown};

use crate::common::Place;
use crate::common::sim::{Play, drain, order, simulate, takes};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

/// What is on the wire comes to its end, nothing else is begun, and then it is quiet.
#[test]
fn winding_down_finishes_what_is_on_the_wire_and_begins_nothing() {
    let place = Place::new();
    simulate(1, |world| async move {
        let limits = Limits {
            max_in_flight: 2,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.always(takes(5));
        for n in 0..4 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let before = tokio::time::Instant::now();
        let wound_down = outbox.wind_down(Duration::from_secs(20)).await.unwrap();
        assert_eq!(wound_down, WindDown::Finished);
        assert!(before.elapsed() < Duration::from_secs(6));
        assert_eq!(world.network.seen().len(), 2);
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.pending, stats.in_flight), (2, 0));
        world.pass(HOUR).await;
        assert_eq!(world.network.seen().len(), 2);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(outbox.stats().unwrap().pending, 0);
        assert_eq!(world.network.seen().len(), 4);
    });
}

/// P5: what doesn't end in time is in doubt, and is repeated with the same key.
#[test]
fn winding_down_cuts_off_what_takes_longer() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let wound_down = outbox.wind_down(Duration::from_secs(20)).await.unwrap();
        assert_eq!(wound_down, WindDown::CutOff);
        assert!(outbox.snapshot(order.id).unwrap().in_doubt);
        world.network.always(takes(1));
        world.pass(HOUR).await;
        assert_eq!(world.network.seen().len(), 1);
        assert_eq!(drain(&outbox).await.succeeded, 1);
    });
}

#[test]
fn suspending_ends_winding_down_at_once() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence]);
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let before = tokio::time::Instant::now();
        let (wound_down, ()) = tokio::join!(outbox.wind_down(HOUR), async {
            world.pass(SECOND).await;
            outbox.suspend().unwrap();
        });
        assert_eq!(wound_down.unwrap(), WindDown::CutOff);
        assert!(before.elapsed() < Duration::from_secs(2));
    });
}

/// The user comes back: nothing is suspended under the app that is on the screen again.
#[test]
fn starting_again_ends_winding_down_and_delivery_goes_on() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        let orders: Vec<_> = (0..2)
            .map(|n| order(&outbox, &format!("form {n}")))
            .collect();
        outbox.submit(orders[0].clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let (wound_down, ()) = tokio::join!(outbox.wind_down(HOUR), async {
            world.pass(SECOND).await;
            outbox.submit(orders[1].clone()).unwrap();
            outbox.start().unwrap();
        });
        assert_eq!(wound_down.unwrap(), WindDown::Resumed);
        world.pass(Duration::from_secs(30)).await;
        for order in orders {
            let snapshot = outbox.snapshot(order.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded);
        }
        assert_eq!(world.network.seen().len(), 2);
    });
}

#[test]
fn an_outbox_with_nothing_on_the_wire_is_wound_down_at_once() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let before = tokio::time::Instant::now();
        assert_eq!(outbox.wind_down(HOUR).await.unwrap(), WindDown::Finished);
        // Also when it is suspended already.
        assert_eq!(outbox.wind_down(HOUR).await.unwrap(), WindDown::Finished);
        assert!(before.elapsed() < SECOND);
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(world.network.seen().len(), 1);
    });
}

/// F29 for languages that can't drop a future: the call ends at once, and the work is safe.
#[test]
fn a_call_whose_caller_has_gone_ends_at_once() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let gone = Cancellation::new();
        let budget = DrainBudget::of(HOUR);
        let (drained, waited, ()) = tokio::join!(
            outbox.drain_cancellable(budget, gone.clone()),
            outbox.wait_cancellable(order.id, HOUR, gone.clone()),
            async {
                world.pass(SECOND).await;
                gone.cancel();
            }
        );
        assert_eq!(drained.unwrap(), None);
        assert_eq!(waited.unwrap(), None);
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::InFlight
        );
        // What is there already is given all the same.
        world.pass(Duration::from_secs(10)).await;
        let waited = outbox.wait_cancellable(order.id, HOUR, gone).await.unwrap();
        assert!(waited.is_some());
        assert_eq!(world.network.seen().len(), 1);
    });
}

#[test]
fn a_drain_begins_nothing_either_while_it_winds_down_and_one_that_comes_later_does() {
    let place = Place::new();
    simulate(7, |world| async move {
        let limits = Limits {
            max_in_flight: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.always(takes(5));
        for n in 0..3 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        let (drained, wound_down) = tokio::join!(outbox.drain(DrainBudget::of(HOUR)), async {
            world.pass(SECOND).await;
            outbox.wind_down(HOUR).await.unwrap()
        });
        assert_eq!(wound_down, WindDown::Finished);
        assert_eq!(drained.unwrap().stopped, DrainStop::Suspended);
        assert_eq!(world.network.seen().len(), 1);
        assert_eq!(drain(&outbox).await.succeeded, 2);
    });
}

/// A background run that comes while the app leaves doesn't bring the foreground's delivery back.
#[test]
fn a_drain_that_ends_winding_down_is_all_that_goes_on() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        outbox.submit(order(&outbox, "form 1")).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let (wound_down, report) = tokio::join!(outbox.wind_down(HOUR), async {
            world.pass(SECOND).await;
            drain(&outbox).await
        });
        assert_eq!(wound_down.unwrap(), WindDown::Resumed);
        assert_eq!(report.succeeded, 1);
        outbox.submit(order(&outbox, "form 2")).unwrap();
        world.pass(HOUR).await;
        assert_eq!(world.network.seen().len(), 1);
    });
}
