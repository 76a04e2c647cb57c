//! P6, P9: the same key at every attempt, each when it is due, without an outside event and without
//! a loop that doesn't wait.

use std::collections::HashSet;
use std::time::Duration;

use submit_once::{Limits, SubmissionState, Waited, WaitingFor};

use crate::common::Place;
use crate::common::sim::{Play, created, drain, lost, order, simulate, status_with, unreachable};

const HOUR: Duration = Duration::from_secs(3_600);

fn keys(world: &crate::common::sim::World) -> HashSet<String> {
    let key = |header: &&submit_once::Header| header.name == "idempotency-key";
    world
        .network
        .seen()
        .iter()
        .map(|seen| seen.request.headers.iter().find(key).unwrap().value.clone())
        .collect()
}

fn gaps(world: &crate::common::sim::World) -> Vec<Duration> {
    let seen = world.network.seen();
    seen.windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect()
}

/// F35, F39: after a failed round the next one comes by itself.
#[test]
fn a_started_outbox_goes_on_trying_without_any_outside_event() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| unreachable());
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(100)).await;
        let attempts = world.network.seen().len();
        // 1, 2, 4, 8, 16, 32 s and up to half as much again: five to seven attempts in 100 s.
        assert!((5..=7).contains(&attempts), "{attempts} attempts");
        assert_eq!(keys(&world).len(), 1);
        for (index, gap) in gaps(&world).iter().enumerate() {
            let base = Duration::from_secs(1 << index);
            assert!(
                *gap >= base && *gap <= base * 3 / 2 + HOUR / 3_600,
                "{gap:?} after {base:?}"
            );
        }
        world.network.always(|_| created());
        let waited = outbox.wait(order.id, HOUR).await.unwrap();
        assert!(matches!(waited, Waited::Settled { .. }));
    });
}

#[test]
fn waits_grow_to_their_end_and_never_loop_without_waiting() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| unreachable());
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR * 48).await;
        let gaps = gaps(&world);
        let least = Duration::from_secs(1);
        let most = Limits::default().backoff_most * 3 / 2 + least;
        assert!(gaps.iter().all(|gap| *gap >= least && *gap <= most));
        // Transport faults don't give up: 48 hours at 15 to 22.5 minutes.
        assert!(gaps.len() > 120, "{} attempts", gaps.len());
        // Of attempts that certainly had no effect, the last few are kept.
        let rows: i64 = place
            .sql()
            .query_row("SELECT count(*) FROM attempt", [], |row| row.get(0))
            .unwrap();
        assert!(rows <= 20, "{rows} rows");
        let snapshot = outbox.list(Default::default(), Default::default()).unwrap();
        assert_eq!(snapshot.snapshots[0].state, SubmissionState::Pending);
        assert!(!snapshot.snapshots[0].in_doubt);
    });
}

/// P4: after an attempt without an answer the server may still be working.
#[test]
fn after_a_lost_answer_the_next_attempt_waits_the_quiet_time() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), lost()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        for gap in gaps(&world) {
            assert!(gap >= Duration::from_secs(15), "{gap:?}");
        }
        assert_eq!(keys(&world).len(), 1);
    });
}

/// P4, C12: `wake` ends a backoff, never the quiet time.
#[test]
fn waking_ends_a_backoff_but_not_the_quiet_time() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play((0..6).map(|_| unreachable()).chain([lost()]));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        for attempts in 1..=6 {
            world.pass(Duration::from_millis(60)).await;
            assert_eq!(world.network.seen().len(), attempts);
            outbox.wake(order.id).unwrap();
        }
        world.pass(Duration::from_millis(60)).await;
        assert_eq!(world.network.seen().len(), 7, "the seventh is lost");
        for _ in 0..10 {
            outbox.wake(order.id).unwrap();
            world.pass(Duration::from_secs(1)).await;
        }
        assert_eq!(world.network.seen().len(), 7);
        world.pass(Duration::from_secs(6)).await;
        assert_eq!(world.network.seen().len(), 8);
        assert_eq!(keys(&world).len(), 1);
    });
}

#[test]
fn a_servers_wait_is_kept_across_a_restart_and_against_waking() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status_with(503, "retry-after", "120")]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        outbox.close();
        let outbox = world.open(&place);
        outbox.wake(order.id).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(110)).await;
        assert_eq!(world.network.seen().len(), 1);
        let snapshot = outbox.snapshot(order.id).unwrap();
        // Everybody who sends to this host waits.
        let waiting_for = snapshot.waiting_for;
        assert!(
            matches!(waiting_for, Some(WaitingFor::Gate { .. })),
            "{waiting_for:?}"
        );
        outbox.wait(order.id, HOUR).await.unwrap();
        assert!(gaps(&world)[0] >= Duration::from_secs(120));
        assert!(gaps(&world)[0] <= Duration::from_secs(181));
    });
}

/// F12: tapping "retry" never makes a second request of one key at once, nor a second submission.
#[test]
fn many_wakes_during_a_request_lead_to_one_request() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        for _ in 0..50 {
            outbox.wake(order.id).unwrap();
            outbox.submit(order.clone()).unwrap();
        }
        world.pass(Duration::from_secs(10)).await;
        assert_eq!(world.network.seen().len(), 1);
        world
            .network
            .take()
            .answered(crate::common::sim::answer(201, "{}"));
        outbox.wait(order.id, HOUR).await.unwrap();
        assert_eq!(world.network.seen().len(), 1);
    });
}

#[test]
fn what_is_due_goes_by_priority_and_then_in_the_order_of_acceptance() {
    let place = Place::new();
    simulate(7, |world| async move {
        let limits = Limits {
            max_in_flight: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        for slot in ["a", "b"] {
            outbox.submit(order(&outbox, slot)).unwrap();
        }
        outbox.submit(order(&outbox, "urgent").priority(1)).unwrap();
        drain(&outbox).await;
        assert_eq!(sent(&world), ["urgent", "a", "b"]);
    });
}

/// F111: what is accepted while the head fails doesn't overtake it; a retry keeps its place.
#[test]
fn what_is_accepted_while_the_head_fails_comes_after_it() {
    let place = Place::new();
    simulate(10, |world| async move {
        let limits = Limits {
            max_in_flight: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.play([Play::HandOver { confirm: true }]);
        outbox.submit(order(&outbox, "a")).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        outbox.submit(order(&outbox, "b")).unwrap();
        outbox.suspend().unwrap();
        outbox.submit(order(&outbox, "c")).unwrap();
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        assert_eq!(sent(&world), ["a", "a", "b", "c"]);
    });
}

/// The orders that were sent, by their names.
fn sent(world: &crate::common::sim::World) -> Vec<String> {
    world
        .network
        .seen()
        .iter()
        .map(|seen| String::from_utf8(seen.request.body.as_bytes().unwrap().to_vec()).unwrap())
        .map(|body| body.split('"').nth(3).unwrap().to_owned())
        .collect()
}

/// Time may delay or hasten an attempt, never lose it.
#[test]
fn a_wait_survives_a_reboot_and_any_change_of_the_wall_clock() {
    for clock_set_by in [0, 10 * 86_400_000, -10 * 86_400_000] {
        let place = Place::new();
        simulate(8, |world| async move {
            let outbox = world.open(&place);
            world.network.play([status_with(429, "retry-after", "600")]);
            let order = order(&outbox, "form");
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            outbox.close();
            world.clock.reboot();
            world.clock.set_wall_by(clock_set_by);
            let outbox = world.open(&place);
            outbox.start().unwrap();
            let waited = outbox
                .wait(order.id, Duration::from_secs(900))
                .await
                .unwrap();
            assert!(matches!(waited, Waited::Settled { .. }), "{clock_set_by}");
            if clock_set_by <= 0 {
                assert!(gaps(&world)[0] >= Duration::from_secs(600));
            }
        });
    }
}

#[test]
fn within_a_boot_the_wall_clock_changes_no_wait() {
    for clock_set_by in [10 * 86_400_000_i64, -10 * 86_400_000] {
        let place = Place::new();
        simulate(9, |world| async move {
            let outbox = world.open(&place);
            world.network.play([status_with(429, "retry-after", "600")]);
            let order = order(&outbox, "form");
            outbox.submit(order.clone()).unwrap();
            outbox.start().unwrap();
            world.pass(Duration::from_secs(1)).await;
            world.clock.set_wall_by(clock_set_by);
            outbox.wait(order.id, HOUR).await.unwrap();
            assert!(gaps(&world)[0] >= Duration::from_secs(600));
            assert!(gaps(&world)[0] <= Duration::from_secs(901));
        });
    }
}
