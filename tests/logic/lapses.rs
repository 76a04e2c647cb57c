//! P4 with two processes on one file, here as two cores of one simulated process: leases that run out
//! while the device sleeps, locks that are gone, changes that the other makes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use submit_once::{HoldReason, Outbox, SubmissionState, Waited};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, lost, order, simulate, status, unreachable};

const HOUR: Duration = Duration::from_secs(3_600);
/// Longer than any lease, shorter than any key's life.
const NAP: Duration = Duration::from_secs(200);

fn settled(waited: &Waited) -> bool {
    matches!(waited, Waited::Settled { .. })
}

async fn moment(world: &World) {
    world.pass(Duration::from_millis(10)).await;
}

#[test]
fn a_request_whose_lease_ran_out_while_it_connected_is_never_sent() {
    let place = Place::new();
    simulate(1, |world| async move {
        let sleeper = world.open_apart(&place);
        world.network.play([Play::HandOver { confirm: false }]);
        let order = order(&sleeper, "form");
        sleeper.submit(order.clone()).unwrap();
        sleeper.start().unwrap();
        moment(&world).await;
        let connecting = world.network.take();
        world.clock.sleep_device(NAP);
        let other = world.open_apart(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        other.start().unwrap();
        world.pass(Duration::from_secs(25)).await;
        assert_eq!(world.network.sent(), 1, "the other has sent its attempt");
        // The sleeper's pump has turned meanwhile, and takes its lease up anew.
        world.pass(Duration::from_secs(60)).await;
        assert!(!connecting.confirm(), "the submission is the other's now");
        world.network.take().answered(answer(201, "{}"));
        assert!(settled(&sleeper.wait(order.id, HOUR).await.unwrap()));
        assert_eq!(world.network.sent(), 1);
    });
}

#[test]
fn a_request_that_outlived_its_lease_is_stopped_before_its_key_is_sent_again() {
    let place = Place::new();
    simulate(2, |world| async move {
        let sleeper = world.open_apart(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        sleeper.submit(order(&sleeper, "form")).unwrap();
        sleeper.start().unwrap();
        moment(&world).await;
        let first = world.network.take();
        let stopped = first.stopped();
        tokio::pin!(stopped);
        world.clock.sleep_device(NAP);
        let other = world.open_apart(&place);
        drain(&other).await;
        other.close();
        world.network.play([Play::HandOver { confirm: true }]);
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.network.sent(), 2);
        // It was told to stop first; what it still answers is evidence.
        tokio::time::timeout(Duration::ZERO, &mut stopped)
            .await
            .unwrap();
    });
}

/// P5: a lost lease leaves the attempt unknown. A refusal of the next one proves nothing about it,
/// and a cancel is kept (C2).
#[test]
fn an_attempt_whose_lease_was_lost_stays_in_doubt() {
    for cancelled in [false, true] {
        let place = Place::new();
        simulate(11, |world| async move {
            let sleeper = world.open_apart(&place);
            world.network.play([Play::Silence]);
            let order = order(&sleeper, "form");
            sleeper.submit(order.clone()).unwrap();
            sleeper.start().unwrap();
            moment(&world).await;
            world.clock.sleep_device(NAP);
            let other = world.open_apart(&place);
            if cancelled {
                other.cancel(order.id).unwrap();
            }
            world.network.play([status(400)]);
            other.start().unwrap();
            let Waited::Held { snapshot } = other.wait(order.id, HOUR).await.unwrap() else {
                panic!("held");
            };
            assert!(snapshot.in_doubt);
            let reason = if cancelled {
                HoldReason::CancelRequested
            } else {
                HoldReason::OutcomeUnknown
            };
            assert_eq!(snapshot.state, SubmissionState::Held { reason });
            assert_eq!(world.network.sent(), if cancelled { 1 } else { 2 });
        });
    }
}

/// A cleaner app has removed the lock files. Nothing is known then, and the lease decides.
#[test]
fn an_owner_without_its_file_keeps_what_it_has_until_its_lease_is_out() {
    let place = Place::new();
    simulate(3, |world| async move {
        let owner = world.open_apart(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let first = order(&owner, "form");
        owner.submit(first.clone()).unwrap();
        owner.start().unwrap();
        moment(&world).await;
        let folder = place.folder().join("outbox.sqlite3-owners");
        for file in std::fs::read_dir(folder).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
        let other = world.open_apart(&place);
        other.start().unwrap();
        world.pass(Duration::from_secs(40)).await;
        assert_eq!(world.network.sent(), 1, "its lease runs");
        world.network.take().answered(answer(201, "{}"));
        assert!(settled(&other.wait(first.id, HOUR).await.unwrap()));
        // It goes on working afterwards.
        other.close();
        let next = order(&owner, "next");
        owner.submit(next.clone()).unwrap();
        assert!(settled(&owner.wait(next.id, HOUR).await.unwrap()));
        assert_eq!(world.network.sent(), 2);
    });
}

/// Struck off while it slept, an owner signs on again with its next claim.
#[test]
fn an_owner_that_was_struck_off_goes_on_under_its_name() {
    let place = Place::new();
    simulate(4, |world| async move {
        let owner = world.open_apart(&place);
        moment(&world).await;
        place.sql().execute_batch("DELETE FROM owner").unwrap();
        let order = order(&owner, "form");
        owner.submit(order.clone()).unwrap();
        assert_eq!(drain(&owner).await.succeeded, 1);
    });
}

/// Where boots have no names, each opening counts as one; another's quiet time still holds.
#[test]
fn unnamed_boots_keep_the_quiet_time() {
    let place = Place::new();
    simulate(5, |world| async move {
        world.clock.names_boots.store(false, Ordering::SeqCst);
        let first = world.open_apart(&place);
        let second = world.open_apart(&place);
        world.pass(HOUR).await;
        world.network.play([lost()]);
        let order = order(&first, "form");
        first.submit(order.clone()).unwrap();
        drain(&first).await;
        assert!(first.snapshot(order.id).unwrap().in_doubt);
        drain(&second).await;
        assert_eq!(
            world.network.seen().len(),
            1,
            "the quiet time has just begun"
        );
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(drain(&second).await.succeeded, 1);
    });
}

#[test]
fn a_waiting_caller_sees_what_another_process_did_right_after_it_looked() {
    let place = Place::new();
    simulate(6, |world| async move {
        let (first, second) = (world.open_apart(&place), world.open_apart(&place));
        let order = order(&first, "form");
        first.submit(order.clone()).unwrap();
        let wait = first.wait(order.id, HOUR);
        tokio::pin!(wait);
        let looked = std::future::poll_fn(|context| {
            std::task::Poll::Ready(wait.as_mut().poll(context).is_pending())
        });
        assert!(looked.await);
        second.cancel(order.id).unwrap();
        assert!(settled(&wait.await.unwrap()));
    });
}

/// Without an observer a started process isn't told of another's work; with one it is.
#[test]
fn a_started_process_that_observes_delivers_what_another_submits() {
    let place = Place::new();
    simulate(7, |world| async move {
        let (started, other) = (world.open_apart(&place), world.open_apart(&place));
        started.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        let order = order(&other, "form");
        other.submit(order.clone()).unwrap();
        assert!(settled(&started.wait(order.id, HOUR).await.unwrap()));
    });
}

/// Stops before the first byte are no failures: they don't grow the backoff.
#[test]
fn going_to_the_background_while_connecting_grows_no_backoff() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        outbox.submit(order(&outbox, "form")).unwrap();
        for _ in 0..12 {
            world.network.play([Play::HandOver { confirm: false }]);
            outbox.start().unwrap();
            while world.network.held() == 0 {
                world.pass(Duration::from_millis(100)).await;
            }
            outbox.suspend().unwrap();
            drop(world.network.take());
        }
        let before = tokio::time::Instant::now();
        outbox.start().unwrap();
        while world.network.sent() == 0 {
            world.pass(Duration::from_millis(100)).await;
        }
        assert!(before.elapsed() < Duration::from_secs(3));
    });
}

#[test]
fn waking_works_right_after_a_reboot() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| unreachable());
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        outbox.close();
        world.clock.reboot();
        let outbox = world.open(&place);
        let before = world.network.seen().len();
        outbox.wake(order.id).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(world.network.seen().len(), before + 1);
    });
}

fn state(outbox: &Outbox, id: submit_once::SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

/// The last handle's lock goes with `close`, also when nothing could be written any more.
#[test]
fn what_a_failed_close_left_is_taken_over_at_once() {
    let place = Place::new();
    simulate(10, |world| async move {
        let world = World {
            vfs: Some(crate::common::vfs::register()),
            ..world
        };
        let outbox = world.open(&place);
        let disk = crate::common::vfs::disk(&place.database());
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        world.network.play([Play::HandOver { confirm: true }]);
        outbox.start().unwrap();
        moment(&world).await;
        disk.full.store(true, Ordering::SeqCst);
        outbox.close();
        disk.full.store(false, Ordering::SeqCst);
        // The closed handle lives on, until a garbage collector comes.
        let again = world.open(&place);
        again.start().unwrap();
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(state(&again, order.id), SubmissionState::Succeeded);
        drop(outbox);
    });
}
