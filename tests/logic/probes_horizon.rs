//! C6: "it isn't there" counts only if, when it was asked, nothing that was sent could still be on its
//! way. Ended are attempts whose own process said so, or is dead, the horizon (10 minutes) ago.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use submit_once::{
    BoxFuture, Exchange, Executor, Limits, Outbox, Seams, ServerProfile, SubmissionId,
    SubmissionState,
};

use super::probes::{
    CANCEL_REQUESTED, HOUR, MINUTE, Server, UNKNOWN, hand_over, nothing, probe, sent, state,
    submit, there, unkeyed,
};
use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, lost, order, simulate, status};

const SECOND: Duration = Duration::from_secs(1);

/// A process that never wakes by itself: its timers stand still.
struct Frozen;

impl Executor for Frozen {
    fn spawn(&self, future: BoxFuture<()>) {
        drop(tokio::spawn(future));
    }

    fn sleep(&self, _: Duration) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }

    fn blocking(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

/// Freezes right before the first byte; another process takes over, and it is cancelled there.
async fn frozen_before_its_first_byte(
    world: &World,
    place: &Place,
) -> (Arc<Outbox>, Arc<Outbox>, SubmissionId, Exchange) {
    let seams = Seams {
        apart: true,
        executor: Some(Arc::new(Frozen)),
        ..world.seams()
    };
    let frozen = Outbox::open_with(world.config(place), seams).unwrap();
    let order = order(&frozen, "form").probe(probe());
    frozen.submit(order.clone()).unwrap();
    frozen.start().unwrap();
    world.pass(SECOND).await;
    let exchange = world.network.take();
    world.pass(5 * MINUTE).await;
    let other = world.open_apart(place);
    other.cancel(order.id).unwrap();
    drain(&other).await;
    assert_eq!(state(&other, order.id), CANCEL_REQUESTED);
    assert_eq!(ended(place), None);
    (frozen, other, order.id, exchange)
}

fn ended(place: &Place) -> Option<i64> {
    let sql = "SELECT ended_wall FROM attempt ORDER BY number LIMIT 1";
    place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// A lost answer, and a cancel: held, and asked about.
async fn cancelled_in_doubt(world: &World, outbox: &Arc<Outbox>) -> SubmissionId {
    let order = order(outbox, "form").probe(probe());
    outbox.submit(order.clone()).unwrap();
    outbox.start().unwrap();
    world.pass(2 * SECOND).await;
    outbox.cancel(order.id).unwrap();
    assert_eq!(state(outbox, order.id), CANCEL_REQUESTED);
    order.id
}

/// C6 a): asked before attempt 1 was executed, and judged long after it ended.
#[test]
fn what_was_asked_too_early_cancels_nothing_however_late_the_answer_is() {
    let place = Place::new();
    simulate(1, |world| async move {
        let limits = Limits {
            request_timeout: HOUR,
            lease: 2 * HOUR,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let server = Server::of(&world, lost(), hand_over());
        let id = cancelled_in_doubt(&world, &outbox).await;
        world.pass(MINUTE).await;
        assert_eq!(sent(&world, "GET").len(), 1);
        // Attempt 1 is executed meanwhile. What was read before says "nothing".
        server.tell(there());
        world.pass(30 * MINUTE).await;
        world.network.take().answered(answer(200, "[]"));
        world.pass(2 * SECOND).await;
        assert_eq!(state(&outbox, id), SubmissionState::Succeeded);
        assert_eq!(sent(&world, "GET").len(), 2);
    });
}

/// C6 a), c): asked early, it is asked again when the horizon has passed, to the minute, and that wasn't
/// in vain.
#[test]
fn it_is_asked_early_and_again_when_the_horizon_has_passed() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = unkeyed(&world, &place);
        let server = Server::of(&world, lost(), nothing());
        let order = submit(&outbox, "form");
        world.pass(9 * MINUTE + 55 * SECOND).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Pending);
        assert_eq!(sent(&world, "POST").len(), 1);
        assert_eq!(sent(&world, "GET").len(), 1);
        server.act(status(201));
        world.pass(10 * SECOND).await;
        assert_eq!(sent(&world, "GET").len(), 2);
        assert_eq!(sent(&world, "POST").len(), 2);
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
    });
}

/// C6 d): a quiet time of a second is about a server that works, and no horizon.
#[test]
fn a_short_quiet_time_is_no_horizon() {
    let place = Place::new();
    simulate(3, |world| async move {
        let config = world.config(&place).profile(ServerProfile::ietf());
        let outbox = world.open_with(config);
        Server::of(&world, lost(), nothing());
        let id = cancelled_in_doubt(&world, &outbox).await;
        world.pass(9 * MINUTE).await;
        assert_eq!(state(&outbox, id), CANCEL_REQUESTED);
        assert_eq!(sent(&world, "GET").len(), 1);
        world.pass(2 * MINUTE).await;
        assert_eq!(state(&outbox, id), SubmissionState::Cancelled);
    });
}

/// C6 b): a process froze after its last look, and its lease was lost. Whatever time passes, it may thaw
/// and send.
#[test]
fn a_lost_lease_is_no_end_of_an_attempt() {
    let place = Place::new();
    simulate(4, |world| async move {
        Server::of(&world, hand_over(), nothing());
        let (_frozen, other, id, exchange) = frozen_before_its_first_byte(&world, &place).await;
        for _ in 0..6 {
            world.pass(20 * MINUTE).await;
            other.wake(id).unwrap();
            drain(&other).await;
        }
        assert!(sent(&world, "GET").len() >= 6);
        assert_eq!(state(&other, id), CANCEL_REQUESTED);
        // It thaws, and sends.
        exchange.answered(answer(201, "{}"));
        world.pass(SECOND).await;
        assert_eq!(state(&other, id), SubmissionState::Succeeded);
    });
}

/// C6 b), the other half: once the frozen process is dead, its end counts from when that was found.
#[test]
fn the_end_of_a_dead_process_is_when_it_was_found_dead() {
    let place = Place::new();
    simulate(5, |world| async move {
        Server::of(&world, hand_over(), nothing());
        let (_frozen, other, id, _never_reports) =
            frozen_before_its_first_byte(&world, &place).await;
        world.pass(HOUR).await;
        // As if it were killed now: its lock can be taken, and its row goes.
        place
            .sql()
            .execute(
                "DELETE FROM owner WHERE id = (SELECT owner FROM attempt)",
                [],
            )
            .unwrap();
        for minutes in [1, 9, 2] {
            assert_eq!(state(&other, id), CANCEL_REQUESTED);
            world.pass(minutes * MINUTE).await;
            other.wake(id).unwrap();
            drain(&other).await;
            assert!(ended(&place).is_some());
        }
        assert_eq!(state(&other, id), SubmissionState::Cancelled);
    });
}

/// C6: bound to the attempts. One that began since makes the answer void.
#[test]
fn an_attempt_that_began_since_makes_nothing_there_void() {
    let place = Place::new();
    simulate(6, |world| async move {
        let (one, two) = (world.open_apart(&place), world.open_apart(&place));
        let server = Server::of(&world, lost(), nothing());
        let order = order(&one, "form").probe(probe());
        one.submit(order.clone()).unwrap();
        drain(&one).await;
        world.pass(HOUR * 25).await;
        server.tell(hand_over());
        one.start().unwrap();
        world.pass(SECOND).await;
        let asked = world.network.take();
        // Elsewhere a person didn't want to wait, and that attempt's answer is lost, too.
        two.cancel(order.id).unwrap();
        let revision = two.snapshot(order.id).unwrap().revision;
        let retry = submit_once::Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        two.resolve(order.id, revision, retry).unwrap();
        drain(&two).await;
        assert_eq!(sent(&world, "POST").len(), 2);
        two.cancel(order.id).unwrap();
        server.tell(Play::Silence);
        asked.answered(answer(200, "[]"));
        world.pass(SECOND).await;
        let snapshot = two.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, CANCEL_REQUESTED);
        assert!(snapshot.in_doubt);
    });
}

/// C6 e): past the lifetime the record of the key says nothing, and within it, it does.
#[test]
fn the_record_of_a_key_counts_only_while_the_server_keeps_it() {
    for (hours, expected) in [(2, SubmissionState::Cancelled), (25, CANCEL_REQUESTED)] {
        let place = Place::new();
        simulate(7, |world| async move {
            let outbox = world.open(&place);
            Server::of(&world, lost(), nothing());
            let order = order(&outbox, "form").probe(submit_once::StatusProbe {
                of_key_record: true,
                ..probe()
            });
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            outbox.cancel(order.id).unwrap();
            world.pass(hours * HOUR).await;
            drain(&outbox).await;
            world.pass(HOUR).await;
            drain(&outbox).await;
            assert_eq!(state(&outbox, order.id), expected, "after {hours} hours");
            assert!(!sent(&world, "GET").is_empty());
        });
    }
}

/// After a restart of the device the wall clock is all that is left. One that was set back can't be
/// trusted, and the horizon counts from then on.
#[test]
fn a_clock_that_was_set_back_makes_the_horizon_begin_anew() {
    for (set_by, at_once) in [(0, true), (-7_200_000, false)] {
        let place = Place::new();
        simulate(8, |world| async move {
            let outbox = world.open(&place);
            Server::of(&world, lost(), nothing());
            let id = cancelled_in_doubt(&world, &outbox).await;
            outbox.close();
            world.pass(HOUR).await;
            world.clock.reboot();
            world.clock.set_wall_by(set_by);
            let outbox = world.open(&place);
            outbox.start().unwrap();
            world.pass(MINUTE).await;
            let after_a_minute = state(&outbox, id);
            assert_eq!(after_a_minute == SubmissionState::Cancelled, at_once);
            world.pass(11 * MINUTE).await;
            assert_eq!(state(&outbox, id), SubmissionState::Cancelled);
        });
    }
}

/// Within one boot the uptime decides, whatever the wall clock says.
#[test]
fn a_clock_that_jumps_ahead_passes_no_horizon() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        Server::of(&world, lost(), nothing());
        let id = cancelled_in_doubt(&world, &outbox).await;
        world.clock.set_wall_by(36_000_000);
        world.pass(9 * MINUTE).await;
        outbox.wake(id).unwrap();
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, id), CANCEL_REQUESTED);
        assert!(sent(&world, "GET").len() > 1);
    });
}

/// A system that doesn't name its boots: each opening counts as one, and the wall clock decides.
#[test]
fn without_names_of_boots_the_horizon_passes_all_the_same() {
    let place = Place::new();
    simulate(10, |world| async move {
        world.clock.names_boots.store(false, Ordering::SeqCst);
        let outbox = world.open(&place);
        Server::of(&world, lost(), nothing());
        let id = cancelled_in_doubt(&world, &outbox).await;
        outbox.close();
        for expected in [CANCEL_REQUESTED, SubmissionState::Cancelled] {
            world.pass(6 * MINUTE).await;
            let outbox = world.open(&place);
            drain(&outbox).await;
            world.pass(SECOND).await;
            assert_eq!(state(&outbox, id), expected);
            outbox.close();
        }
    });
}

/// All attempts that nobody knows of count, not the last alone.
#[test]
fn an_earlier_attempt_that_has_not_ended_counts_too() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        Server::of(&world, lost(), nothing());
        let order = order(&outbox, "form").probe(probe());
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(MINUTE).await;
        assert!(sent(&world, "POST").len() > 1);
        outbox.cancel(order.id).unwrap();
        // As if the first one's process were frozen: an owner that is alive.
        place
            .sql()
            .execute(
                "UPDATE attempt SET ended_wall = NULL, ended_boot = NULL WHERE number = 1",
                [],
            )
            .unwrap();
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, order.id), CANCEL_REQUESTED);
        assert_ne!(state(&outbox, order.id), UNKNOWN);
        assert!(sent(&world, "GET").len() > 3);
    });
}
