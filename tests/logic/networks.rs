//! Networks: their hints end waits early and stop what costs; nothing depends on their coming.

use std::time::Duration;

use submit_once::{NetworkKind, Outbox, Submission, SubmissionState, WaitingFor};

use crate::common::Place;
use crate::common::sim::{Play, created, drain, lost, order, simulate, status_with, unreachable};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

fn state(outbox: &Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}

/// F120: what waits for a network goes when there is one, spread by a jitter.
#[test]
fn a_network_ends_the_waits_that_are_for_want_of_one() {
    let place = Place::new();
    simulate(1, |world| async move {
        let limits = submit_once::Limits {
            backoff_first: HOUR,
            backoff_most: HOUR,
            ..Default::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.always(|_| unreachable());
        // More than one transaction takes.
        let orders: Vec<_> = (0..1_100)
            .map(|number| order(&outbox, &format!("order-{number}")))
            .collect();
        outbox.submit_all(orders.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 60).await;
        assert_eq!(world.network.seen().len(), orders.len());
        let snapshot = outbox.snapshot(orders[0].id).unwrap();
        assert!(
            matches!(snapshot.waiting_for, Some(WaitingFor::Network { .. })),
            "{snapshot:?}"
        );
        world.network.always(|_| created());
        outbox.network_available(NetworkKind::Metered).unwrap();
        world.pass(SECOND * 60).await;
        assert_eq!(outbox.stats().unwrap().pending, 0);
    });
}

/// P4, F57: neither a server's wait nor the quiet time is a want of network.
#[test]
fn a_network_shortens_no_wait_that_the_server_asked_for_and_no_quiet_time() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status_with(503, "retry-after", "300")]);
        outbox.submit(order(&outbox, "asked")).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.pass(SECOND * 290).await;
        assert_eq!(world.network.seen().len(), 1);
        world.pass(HOUR).await;
        assert_eq!(world.network.seen().len(), 2);
        world.network.play([lost()]);
        outbox.submit(order(&outbox, "lost")).unwrap();
        world.pass(SECOND).await;
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.pass(SECOND * 13).await;
        assert_eq!(world.network.seen().len(), 3);
        world.pass(SECOND * 10).await;
        assert_eq!(world.network.seen().len(), 4);
    });
}

/// A hint that is wrong, or never comes, stops nothing.
#[test]
fn without_a_network_by_the_hint_what_is_due_is_tried_all_the_same() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        outbox.network_available(NetworkKind::Offline).unwrap();
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
    });
}

fn unmetered(submission: Submission) -> Submission {
    Submission {
        unmetered_only: true,
        ..submission
    }
}

/// F117: until somebody has said that the network costs nothing, it may cost.
#[test]
fn what_may_only_go_unmetered_waits_for_such_a_network_and_stops_nobody_else() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let film = unmetered(order(&outbox, "film"));
        outbox.submit(film.clone()).unwrap();
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.start().unwrap();
        for kind in [None, Some(NetworkKind::Metered), Some(NetworkKind::Offline)] {
            if let Some(kind) = kind {
                outbox.network_available(kind).unwrap();
            }
            world.pass(HOUR).await;
            assert_eq!(world.network.seen().len(), 1);
            let snapshot = outbox.snapshot(film.id).unwrap();
            assert_eq!(snapshot.waiting_for, Some(WaitingFor::Unmetered));
        }
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, &film), SubmissionState::Succeeded);
    });
}

/// F117: it began on one network and would go on on another.
#[test]
fn when_the_network_begins_to_cost_what_is_on_the_wire_stops_and_goes_on_later_with_the_same_key() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.network.play([Play::Silence, Play::Silence]);
        let film = unmetered(order(&outbox, "film"));
        let form = order(&outbox, "form");
        outbox.submit(film.clone()).unwrap();
        outbox.submit(form.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(world.network.held(), 2);
        outbox.network_available(NetworkKind::Metered).unwrap();
        world.pass(SECOND).await;
        let snapshot = outbox.snapshot(film.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert!(snapshot.in_doubt, "bytes may have left");
        assert_eq!(state(&outbox, &form), SubmissionState::InFlight);
        world.pass(HOUR).await;
        let films = |seen: &crate::common::sim::Seen| {
            seen.request.body.as_bytes() == Some(br#"{"order":"film"}"#)
        };
        assert_eq!(
            world
                .network
                .seen()
                .iter()
                .filter(|seen| films(seen))
                .count(),
            1
        );
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, &film), SubmissionState::Succeeded);
    });
}

/// A scheduler has started the worker because there is a network again: it delivers at once, and has
/// not to be started a second time.
#[test]
fn a_worker_that_tells_of_a_network_delivers_what_waited_for_one() {
    let place = Place::new();
    simulate(21, |world| async move {
        let outbox = world.open(&place);
        world.network.play([unreachable()]);
        outbox.submit(order(&outbox, "form")).unwrap();
        assert_eq!(drain(&outbox).await.to_repeat, 1);
        outbox.network_available(NetworkKind::Metered).unwrap();
        assert_eq!(drain(&outbox).await.succeeded, 1);
    });
}
