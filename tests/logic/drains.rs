//! Drains: within their budget, joined, and safe to drop.

use std::time::Duration;

use submit_once::{DrainBudget, DrainStop, Limits, OutboxError, SubmissionState};

use crate::common::Place;
use crate::common::sim::{Play, drain, order, simulate, status, takes};

const HOUR: Duration = Duration::from_secs(3_600);

/// F40: ten seconds, four for each: two are done, and the third isn't begun.
#[test]
fn a_drain_begins_nothing_that_would_not_end_in_its_budget() {
    let place = Place::new();
    simulate(1, |world| async move {
        let limits = Limits {
            max_in_flight: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.always(takes(4));
        for n in 0..5 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        let budget = DrainBudget::of(Duration::from_secs(10));
        let report = outbox.drain(budget).await.unwrap();
        assert_eq!(report.succeeded, 2);
        assert_eq!(report.in_flight, 0);
        assert_eq!(report.stopped, DrainStop::BudgetEnded);
        assert_eq!(world.network.seen().len(), 2);
        assert_eq!(drain(&outbox).await.succeeded, 3);
    });
}

#[test]
fn a_drain_says_when_to_come_back() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        assert_eq!(drain(&outbox).await.next_wake_at, None);
        world.network.play([status(503)]);
        outbox.submit(order(&outbox, "form")).unwrap();
        let report = drain(&outbox).await;
        assert_eq!(report.stopped, DrainStop::NothingDue);
        assert_eq!(report.to_repeat, 1);
        let now = std::time::UNIX_EPOCH
            + Duration::from_millis(u64::try_from(crate::common::sim::BIRTH).unwrap());
        let wait = report.next_wake_at.unwrap().duration_since(now).unwrap();
        assert!(wait >= Duration::from_secs(15), "{wait:?}");
        assert!(wait <= Duration::from_secs(23), "{wait:?}");
    });
}

#[test]
fn two_drains_join_and_both_are_answered() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(2));
        for n in 0..4 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        let budget = DrainBudget::of(HOUR);
        let (a, b) = tokio::join!(outbox.drain(budget), outbox.drain(budget));
        assert_eq!((a.unwrap().succeeded, b.unwrap().succeeded), (4, 4));
        assert_eq!(world.network.seen().len(), 4);
    });
}

/// F29: a cancelled coroutine stops waiting; the work goes on and loses nothing.
#[test]
fn dropping_the_future_of_a_drain_or_a_wait_loses_nothing() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        for _ in 0..3 {
            let budget = DrainBudget::of(HOUR);
            let dropped = tokio::time::timeout(Duration::from_secs(1), outbox.drain(budget)).await;
            assert!(dropped.is_err());
            let wait = outbox.wait(order.id, HOUR);
            drop(tokio::time::timeout(Duration::from_millis(300), wait).await);
        }
        // Dropped after each number of polls, too.
        for polls in 0..5 {
            let mut drain = Box::pin(outbox.drain(DrainBudget::of(HOUR)));
            let mut wait = Box::pin(outbox.wait(order.id, HOUR));
            for _ in 0..polls {
                std::future::poll_fn(|context| {
                    drop(drain.as_mut().poll(context));
                    drop(wait.as_mut().poll(context));
                    std::task::Poll::Ready(())
                })
                .await;
                tokio::task::yield_now().await;
            }
        }
        world.pass(Duration::from_secs(10)).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Succeeded
        );
        assert_eq!(world.network.seen().len(), 1);
    });
}

/// F27: a submission that ends badly is a line of the report, not a failure of the worker.
#[test]
fn a_refused_submission_does_not_fail_the_drain() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(422), status(406), status(201)]);
        for n in 0..3 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        let report = drain(&outbox).await;
        assert_eq!(
            (report.succeeded, report.ended_otherwise, report.held),
            (1, 1, 1)
        );
    });
}

/// F30: the lease of a long request is renewed while it lives, so that another process that looks
/// every few seconds never takes it over.
#[test]
fn a_long_request_keeps_its_claim() {
    let place = Place::new();
    simulate(6, |world| async move {
        let limits = Limits {
            request_timeout: HOUR,
            lease: HOUR + Duration::from_secs(11),
            ..Limits::default()
        };
        let seams = submit_once::Seams {
            apart: true,
            ..world.seams()
        };
        let config = world.config(&place).limits(limits);
        let outbox = submit_once::Outbox::open_with(config, seams).unwrap();
        world.network.always(takes(3_500));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        let lease = |place: &Place| -> i64 {
            place
                .sql()
                .query_row("SELECT max(lease_uptime) FROM owner", [], |row| row.get(0))
                .unwrap()
        };
        world.pass(Duration::from_secs(1)).await;
        let at_first = lease(&place);
        let other = world.open_apart(&place);
        for _ in 0..600 {
            assert_eq!(drain(&other).await.attempts, 0);
            world.pass(Duration::from_secs(5)).await;
        }
        assert!(lease(&place) > at_first + 2_000_000);
        outbox.wait(order.id, HOUR).await.unwrap();
        assert_eq!(world.network.seen().len(), 1);
    });
}

struct Ignore;

impl submit_once::ChangeListener for Ignore {
    fn changed(&self) -> Result<(), submit_once::ListenerError> {
        Ok(())
    }
}

/// P12: after `suspend` nothing is on the wire, nothing moves, and `start` goes on.
#[test]
fn suspending_stops_everything_until_it_is_started_again() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([Play::Silence, Play::Silence, Play::Silence]);
        for n in 0..3 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        let draining = outbox.drain(DrainBudget::of(HOUR));
        let (report, ()) = tokio::join!(draining, async {
            world.pass(Duration::from_secs(1)).await;
            outbox.suspend().unwrap();
        });
        assert_eq!(report.unwrap().stopped, DrainStop::Suspended);
        let version = |place: &Place| -> i64 {
            place
                .sql()
                .query_row("SELECT max(cursor) FROM change", [], |row| row.get(0))
                .unwrap()
        };
        let quiet = version(&place);
        // A listener doesn't make it look at the database either.
        outbox
            .set_listener(Some(std::sync::Arc::new(Ignore)))
            .unwrap();
        world.pass(HOUR).await;
        assert_eq!(version(&place), quiet);
        assert_eq!(world.network.seen().len(), 3);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(outbox.stats().unwrap().pending, 0);
        assert_eq!(world.network.seen().len(), 6);
    });
}

#[test]
fn after_close_every_call_says_so() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let waiting = outbox.wait(order.id, HOUR);
        let (waited, ()) = tokio::join!(waiting, async {
            world.pass(Duration::from_secs(1)).await;
            outbox.close();
            outbox.close();
        });
        assert_eq!(waited, Err(OutboxError::Closed));
        let id = order.id;
        let closed = OutboxError::Closed;
        assert_eq!(outbox.submit(order.clone()).unwrap_err(), closed);
        assert_eq!(outbox.submit_all(vec![order]).unwrap_err(), closed);
        assert_eq!(outbox.begin("x".into()).unwrap_err(), closed);
        assert_eq!(outbox.discard("x".into()).unwrap_err(), closed);
        assert_eq!(outbox.snapshot(id).unwrap_err(), closed);
        assert_eq!(outbox.reconcile(vec![id]).unwrap_err(), closed);
        assert_eq!(outbox.cancel(id).unwrap_err(), closed);
        assert_eq!(outbox.wake(id).unwrap_err(), closed);
        assert_eq!(outbox.start().unwrap_err(), closed);
        assert_eq!(outbox.suspend().unwrap_err(), closed);
        assert_eq!(outbox.changes(0, 1).unwrap_err(), closed);
        assert_eq!(outbox.stats().unwrap_err(), closed);
        assert_eq!(outbox.retain().unwrap_err(), closed);
        assert_eq!(outbox.set_listener(None).unwrap_err(), closed);
        let any = submit_once::RunNetwork::Any;
        assert_eq!(outbox.request_run(any).unwrap_err(), closed);
        assert_eq!(outbox.run_scheduled(any).unwrap_err(), closed);
        assert_eq!(outbox.clear_run_request(any).unwrap_err(), closed);
        assert_eq!(outbox.adopt_run_requests().unwrap_err(), closed);
        let list = outbox.list(Default::default(), Default::default());
        assert_eq!(list.unwrap_err(), closed);
        let resolved = outbox.resolve(id, 1, submit_once::Resolution::GiveUp);
        assert_eq!(resolved.unwrap_err(), closed);
        let drained = outbox.drain(DrainBudget::of(HOUR)).await;
        assert_eq!(drained.unwrap_err(), closed);
        assert_eq!(outbox.wait(id, HOUR).await.unwrap_err(), closed);
    });
}

#[test]
fn absurd_times_are_refused() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let absurd = Duration::MAX;
        let refused = outbox.drain(DrainBudget::of(absurd)).await.unwrap_err();
        assert!(matches!(refused, OutboxError::Invalid { field, .. } if field == "budget.time"));
        let refused = outbox.wait(order.id, absurd).await.unwrap_err();
        assert!(matches!(refused, OutboxError::Invalid { field, .. } if field == "timeout"));
        let report = outbox.drain(DrainBudget::of(Duration::ZERO)).await.unwrap();
        assert_eq!(report.stopped, DrainStop::BudgetEnded);
    });
}

/// P4: two handles on one path share one engine, and the last one closes it.
#[test]
fn two_opens_of_one_path_share_everything() {
    let place = Place::new();
    simulate(10, |world| async move {
        let first = world.open(&place);
        let second = world.open(&place);
        assert!(second.open_report().shared);
        world.network.always(takes(2));
        let order = order(&first, "form");
        first.submit(order.clone()).unwrap();
        first.start().unwrap();
        second.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        first.close();
        second.wait(order.id, HOUR).await.unwrap();
        assert_eq!(world.network.seen().len(), 1);
        let other = world.config(&place).base_url("https://other.example");
        let refused = submit_once::Outbox::open_with(other, world.seams());
        assert_eq!(refused.unwrap_err(), submit_once::OpenError::AlreadyOpen);
        second.close();
        assert!(!world.open(&place).open_report().shared);
    });
}

/// A path through a link is the same file from the first opening on, its folder not made yet.
#[test]
fn two_spellings_of_one_path_share_everything() {
    let place = Place::new();
    simulate(11, |world| async move {
        let real = place.folder().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = place.folder().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let config = |folder: &std::path::Path| submit_once::OutboxConfig {
            path: folder.join("sub/outbox.sqlite3").to_str().unwrap().into(),
            ..world.config(&place)
        };
        let linked = config(&link);
        let first = world.open_with(linked.clone());
        let second = world.open_with(linked);
        assert!(!first.open_report().shared);
        assert!(second.open_report().shared);
        // Another spelling is another text, and neither another file nor another configuration.
        let third = world.open_with(config(&real));
        assert!(third.open_report().shared);
    });
}

/// Runs something right after a job, before the pump goes on.
struct Hooked(std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl submit_once::Executor for Hooked {
    fn spawn(&self, future: submit_once::BoxFuture<()>) {
        drop(tokio::spawn(future));
    }

    fn sleep(&self, time: Duration) -> submit_once::BoxFuture<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn blocking(&self, job: Box<dyn FnOnce() + Send>) {
        job();
        let hook = self.0.lock().unwrap().take();
        if let Some(hook) = hook {
            hook();
        }
    }
}

/// A worker that comes at the very end of another's drain is not told "nothing due" unlooked.
#[test]
fn a_drain_that_joins_at_the_end_of_another_is_looked_after() {
    use std::sync::Arc;
    let place = Place::new();
    simulate(12, |world| async move {
        let hooked = Arc::new(Hooked(std::sync::Mutex::new(None)));
        let seams = submit_once::Seams {
            executor: Some(Arc::clone(&hooked) as _),
            ..world.seams()
        };
        let outbox = submit_once::Outbox::open_with(world.config(&place), seams).unwrap();
        let order = order(&outbox, "form");
        let (sender, receiver) = std::sync::mpsc::channel();
        let hook = {
            let (outbox, order) = (Arc::clone(&outbox), order.clone());
            move || {
                outbox.submit(order).unwrap();
                let second = async move { outbox.drain(DrainBudget::of(HOUR)).await };
                let mut second: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                    Box::pin(second);
                let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                assert!(second.as_mut().poll(&mut context).is_pending());
                sender.send(second).unwrap();
            }
        };
        *hooked.0.lock().unwrap() = Some(Box::new(hook));
        drain(&outbox).await;
        let report = receiver.try_recv().unwrap().await.unwrap();
        assert_eq!(report.succeeded, 1);
    });
}

#[test]
fn a_drain_ends_with_its_own_handle_though_another_holds_the_path() {
    let place = Place::new();
    simulate(41, |world| async move {
        let (first, second) = (world.open(&place), world.open(&place));
        world.network.always(takes(4));
        second.submit(order(&second, "form")).unwrap();
        let (drained, ()) = tokio::join!(first.drain(DrainBudget::of(HOUR)), async {
            world.pass(Duration::from_secs(1)).await;
            first.close();
        });
        assert_eq!(drained, Err(OutboxError::Closed));
        assert_eq!(drain(&second).await.succeeded, 1);
    });
}

/// A worker looks once more at its end. That wakes nobody up, and tells what is missing.
#[test]
fn a_drain_without_time_only_looks() {
    let place = Place::new();
    simulate(42, |world| async move {
        let outbox = world.open(&place);
        let submission = submit_once::Submission {
            account: Some("ann".to_owned()),
            ..order(&outbox, "form")
        };
        outbox.submit(submission).unwrap();
        outbox.sign_in("ann".to_owned()).unwrap();
        let look = || outbox.drain(DrainBudget::of(Duration::ZERO));
        let stopped = look().await.unwrap().stopped;
        assert_eq!(stopped, DrainStop::CredentialsNeeded);
        outbox.suspend().unwrap();
        assert_eq!(look().await.unwrap().stopped, DrainStop::Suspended);
        assert_eq!(world.network.seen().len(), 0);
    });
}
