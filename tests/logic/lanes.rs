//! Lanes: strictly first in, first out, one in flight, over retries, restarts and several processes.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    LanePolicy, Limits, Outbox, OutboxConfig, OutboxError, SignOut, Submission, SubmissionId,
    SubmissionState, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, lost, simulate, status, takes, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);

/// A submission with a path of its own, so that the network's trace tells which it was.
fn numbered(outbox: &Outbox, name: &str) -> Submission {
    let id = outbox.begin(name.to_owned()).unwrap();
    Submission::post(id, &format!("/{name}")).json("{}")
}

pub fn in_lane(outbox: &Outbox, name: &str, lane: &str) -> Submission {
    numbered(outbox, name).lane(lane)
}

/// The paths of the requests, in their order.
pub fn trace(world: &World) -> Vec<String> {
    let path = |url: &str| url.rsplit_once('/').unwrap().1.to_owned();
    let seen = world.network.seen();
    seen.iter().map(|seen| path(&seen.request.url)).collect()
}

pub fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

pub fn waits(outbox: &Outbox, id: SubmissionId) -> Option<WaitingFor> {
    outbox.snapshot(id).unwrap().waiting_for
}

#[test]
fn a_lane_goes_in_the_order_of_acceptance_one_at_a_time() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        let all = ["a", "b", "c", "d"].map(|name| in_lane(&outbox, name, "orders"));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        let id = all[0].id;
        assert_eq!(waits(&outbox, all[1].id), Some(WaitingFor::Lane { id }));
        outbox.start().unwrap();
        for n in 1..=4 {
            world.pass(Duration::from_secs(1)).await;
            assert_eq!(world.network.seen().len(), n, "one in flight");
            world.pass(Duration::from_secs(4)).await;
        }
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(trace(&world), ["a", "b", "c", "d"]);
        let settled = |submission: &Submission| {
            assert_eq!(state(&outbox, submission.id), SubmissionState::Succeeded);
        };
        all.iter().for_each(settled);
    });
}

/// F89: what is in no lane, and other lanes, never wait.
#[test]
fn others_never_wait_for_a_lane() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .always(|request| match request.url.contains("stuck") {
                true => unreachable(),
                false => created(),
            });
        outbox.submit(in_lane(&outbox, "stuck", "orders")).unwrap();
        let behind = in_lane(&outbox, "behind", "orders");
        let free = numbered(&outbox, "free");
        let other = in_lane(&outbox, "other", "photos");
        for submission in [&behind, &free, &other] {
            outbox.submit(submission.clone()).unwrap();
        }
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, free.id), SubmissionState::Succeeded);
        assert_eq!(state(&outbox, other.id), SubmissionState::Succeeded);
        assert_eq!(state(&outbox, behind.id), SubmissionState::Pending);
        assert!(!trace(&world).contains(&"behind".to_owned()));
    });
}

/// F112: a deferred retry lets nothing pass.
#[test]
fn retries_and_doubt_keep_the_order() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([unreachable(), lost(), status(503), created()]);
        for name in ["a", "b"] {
            outbox.submit(in_lane(&outbox, name, "orders")).unwrap();
        }
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["a", "a", "a", "a", "b"]);
    });
}

/// P4: a process dies with the head on the wire; the next one goes on with the head.
#[test]
fn the_order_outlives_processes() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence]);
        for name in ["a", "b", "c"] {
            outbox.submit(in_lane(&outbox, name, "orders")).unwrap();
        }
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        drop(outbox);
        world.clock.reboot();
        let outbox = world.open(&place);
        outbox.submit(in_lane(&outbox, "d", "orders")).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["a", "a", "b", "c", "d"]);
    });
}

#[test]
fn two_processes_share_a_lane_and_never_overlap_in_it() {
    let place = Place::new();
    simulate(5, |world| async move {
        let (one, two) = (world.open_apart(&place), world.open_apart(&place));
        world.network.always(takes(3));
        let names: Vec<String> = (0..12).map(|n| format!("n{n:02}")).collect();
        for (n, name) in names.iter().enumerate() {
            let outbox = if n % 2 == 0 { &one } else { &two };
            outbox.submit(in_lane(outbox, name, "orders")).unwrap();
        }
        one.start().unwrap();
        two.start().unwrap();
        let last = one.begin(names[11].clone()).unwrap();
        let other = two.wait(last, HOUR);
        let (first, second) = tokio::join!(one.wait(last, HOUR), other);
        drop((first.unwrap(), second.unwrap()));
        assert_eq!(trace(&world), names);
        let seen = world.network.seen();
        for pair in seen.windows(2) {
            assert!(pair[1].at - pair[0].at >= Duration::from_secs(3), "overlap");
        }
    });
}

#[test]
fn a_cancelled_or_expired_one_lets_the_lane_go_on_wherever_it_stood() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        let names = ["a", "b", "c", "d"];
        let all = names.map(|name| in_lane(&outbox, name, "orders"));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        for submission in [&all[0], &all[2]] {
            outbox.cancel(submission.id).unwrap();
        }
        drain(&outbox).await;
        assert_eq!(trace(&world), ["b", "d"]);
    });
}

/// P10: the same name is another lane for another account.
#[test]
fn lanes_of_accounts_are_apart() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .always(|request| match request.url.contains("bert") {
                true => status(422),
                false => created(),
            });
        for account in ["anna", "bert"] {
            outbox.sign_in(account.to_owned()).unwrap();
            outbox
                .supply_credentials(account.to_owned(), Vec::new(), None)
                .unwrap();
            for n in 0..3 {
                let name = format!("{account}{n}");
                let submission = in_lane(&outbox, &name, "shared").account(account);
                outbox.submit(submission).unwrap();
            }
        }
        drain(&outbox).await;
        assert_eq!(trace(&world), ["bert0"], "stopped: the account's own first");
        outbox.sign_out(SignOut::Keep).unwrap();
        outbox.sign_in("anna".to_owned()).unwrap();
        outbox
            .supply_credentials("anna".to_owned(), Vec::new(), None)
            .unwrap();
        drain(&outbox).await;
        assert_eq!(trace(&world), ["bert0", "anna0", "anna1", "anna2"]);
        let shared = || "shared".to_owned();
        assert!(!outbox.release_lane(None, shared()).unwrap());
        assert!(
            !outbox
                .release_lane(Some("anna".to_owned()), shared())
                .unwrap()
        );
        assert!(
            outbox
                .release_lane(Some("bert".to_owned()), shared())
                .unwrap()
        );
    });
}

#[test]
fn priorities_order_between_lanes_and_not_within_one() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = one_at_a_time(&world, &place);
        for (name, lane, priority) in [
            ("low0", "low", 0),
            ("low1", "low", 50),
            ("high0", "high", 10),
            ("high1", "high", 10),
        ] {
            let submission = in_lane(&outbox, name, lane).priority(priority);
            outbox.submit(submission).unwrap();
        }
        drain(&outbox).await;
        assert_eq!(trace(&world), ["high0", "high1", "low0", "low1"]);
        let too_high = numbered(&outbox, "x").priority(101);
        assert!(matches!(
            outbox.submit(too_high),
            Err(OutboxError::Invalid { field, .. }) if field == "priority"
        ));
    });
}

fn one_at_a_time(world: &World, place: &Place) -> Arc<Outbox> {
    let limits = Limits {
        max_in_flight: 1,
        ..Limits::default()
    };
    world.open_with(OutboxConfig {
        limits: Some(limits),
        ..world.config(place)
    })
}

/// One of every eight claims goes to what was accepted first, however much of higher priority comes.
#[test]
fn a_low_priority_doesnt_starve() {
    let place = Place::new();
    simulate(15, |world| async move {
        let outbox = one_at_a_time(&world, &place);
        for n in 0..3 {
            let name = format!("low{n}");
            outbox
                .submit(numbered(&outbox, &name).priority(-100))
                .unwrap();
        }
        for n in 0..40 {
            let name = format!("high{n}");
            outbox
                .submit(numbered(&outbox, &name).priority(100))
                .unwrap();
        }
        drain(&outbox).await;
        let trace = trace(&world);
        let place = |name: &str| trace.iter().position(|seen| seen == name).unwrap() + 1;
        assert_eq!(
            ["low0", "low1", "low2"].map(place),
            [8, 16, 24],
            "{trace:?}"
        );
    });
}

#[test]
fn a_repeat_joins_and_takes_no_second_place() {
    let place = Place::new();
    simulate(16, |world| async move {
        let outbox = world.open(&place);
        let all = ["a", "b"].map(|name| in_lane(&outbox, name, "orders"));
        for submission in all.iter().chain(&all) {
            outbox.submit(submission.clone()).unwrap();
        }
        // The lane isn't part of what it is; the first one counts.
        let elsewhere = in_lane(&outbox, "b", "other");
        outbox.submit(elsewhere).unwrap();
        let snapshot = outbox.snapshot(all[1].id).unwrap();
        assert_eq!(snapshot.lane.as_deref(), Some("orders"));
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a", "b"]);
    });
}

#[test]
fn a_lane_that_makes_no_sense_is_refused() {
    let place = Place::new();
    simulate(17, |world| async move {
        let outbox = world.open(&place);
        let refused = |submission: Submission, name: &str| {
            let refused = outbox.submit(submission);
            assert!(
                matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == name),
                "{refused:?}"
            );
        };
        refused(in_lane(&outbox, "a", ""), "lane");
        refused(in_lane(&outbox, "a", &"x".repeat(1_025)), "lane");
        refused(
            numbered(&outbox, "a").lane_policy(LanePolicy::Continue),
            "lane_policy",
        );
        let both = in_lane(&outbox, "a", "orders")
            .replaces("draft")
            .effect(submit_once::Effect::Overwrite);
        refused(both, "replaces");
    });
}

/// The answer of a thousand heads moves a thousand lanes on, each by its own transaction.
#[test]
fn many_lanes_at_once() {
    let place = Place::new();
    simulate(18, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .always(|_| Play::Answer(Duration::ZERO, answer(201, "{}")));
        let mut all = Vec::new();
        for n in 0..300 {
            let submission = in_lane(&outbox, &format!("n{n:03}"), &format!("lane {}", n % 100));
            all.push(submission);
        }
        outbox.submit_all(all.clone()).unwrap();
        drain(&outbox).await;
        let trace = trace(&world);
        assert_eq!(trace.len(), 300);
        for lane in 0..100 {
            let of_lane: Vec<usize> = [0, 100, 200]
                .map(|add| {
                    trace
                        .iter()
                        .position(|seen| *seen == format!("n{:03}", lane + add))
                })
                .into_iter()
                .map(Option::unwrap)
                .collect();
            assert!(of_lane.is_sorted(), "lane {lane}: {of_lane:?}");
        }
    });
}
