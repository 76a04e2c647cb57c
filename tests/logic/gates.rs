//! Gates of hosts: a host that asks to wait is left alone by everybody, and no attempt finds it out.
//! And the difference between a host that is down and a key that is frozen.

use std::time::Duration;

use submit_once::{
    DrainStop, HoldReason, Resolution, ServerProfile, Submission, SubmissionState, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, header, order, simulate, status, status_with,
};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

fn named(world: &World, name: &str) -> usize {
    let body = format!(r#"{{"order":"{name}"}}"#);
    let seen = world.network.seen();
    let is_its =
        |seen: &&crate::common::sim::Seen| seen.request.body.as_bytes() == Some(body.as_bytes());
    seen.iter().filter(is_its).count()
}

/// F57, P9: the wait is the host's, so the others wait without an attempt, and go when it ends.
#[test]
fn a_host_that_asks_to_wait_is_left_alone_by_everybody() {
    for status in [429, 503] {
        let place = Place::new();
        simulate(1, |world| async move {
            let outbox = world.open(&place);
            world
                .network
                .play([status_with(status, "retry-after", "600")]);
            outbox.start().unwrap();
            outbox.submit(order(&outbox, "first")).unwrap();
            world.pass(SECOND).await;
            let mut others = Vec::new();
            for number in 0..50 {
                let order = order(&outbox, &format!("order-{number}"));
                outbox.submit(order.clone()).unwrap();
                others.push(order);
            }
            let elsewhere = Submission {
                url: "https://other.example.com/orders".into(),
                ..order(&outbox, "elsewhere")
            };
            outbox.submit(elsewhere.clone()).unwrap();
            world.pass(SECOND * 590).await;
            assert_eq!(world.network.seen().len(), 2, "one, and one elsewhere");
            let snapshot = outbox.snapshot(elsewhere.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded);
            let waiting = outbox.snapshot(others[0].id).unwrap();
            assert_eq!(waiting.attempts, 0, "no attempt is burned");
            let Some(WaitingFor::Gate { until }) = waiting.waiting_for else {
                panic!("{waiting:?}");
            };
            let report = outbox
                .drain(submit_once::DrainBudget::of(SECOND))
                .await
                .unwrap();
            assert_eq!(report.stopped, DrainStop::NothingDue);
            let wake = report.next_wake_at.unwrap();
            let apart = wake.duration_since(until).unwrap_or_else(|e| e.duration());
            assert!(apart < SECOND, "{apart:?}");
            world.pass(SECOND * 320).await;
            for other in &others {
                let snapshot = outbox.snapshot(other.id).unwrap();
                assert_eq!(snapshot.state, SubmissionState::Succeeded);
                assert_eq!(snapshot.attempts, 1);
            }
        });
    }
}

#[test]
fn a_closed_gate_survives_a_restart_a_reboot_and_any_clock_and_nothing_opens_it_early() {
    for clock_set_by in [0, 10 * 86_400_000_i64, -10 * 86_400_000] {
        let place = Place::new();
        simulate(2, |world| async move {
            let outbox = world.open(&place);
            world.network.play([status_with(429, "retry-after", "600")]);
            outbox.submit(order(&outbox, "first")).unwrap();
            drain(&outbox).await;
            let second = order(&outbox, "second");
            outbox.submit(second.clone()).unwrap();
            outbox.close();
            world.clock.reboot();
            world.clock.set_wall_by(clock_set_by);
            let outbox = world.open(&place);
            outbox.start().unwrap();
            outbox.wake(second.id).unwrap();
            outbox
                .network_available(submit_once::NetworkKind::Unmetered)
                .unwrap();
            world.pass(SECOND * 590).await;
            if clock_set_by <= 0 {
                assert_eq!(world.network.seen().len(), 1, "{clock_set_by}");
            }
            world.pass(SECOND * 320).await;
            let snapshot = outbox.snapshot(second.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded, "{clock_set_by}");
        });
    }
}

/// F59: nothing that asks for another time is believed beyond the cap, and no zero-delay loop comes
/// of a wait of zero.
#[test]
fn waits_are_clamped_on_both_sides() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([
            status_with(429, "retry-after", "0"),
            status_with(429, "retry-after", "-1"),
            status_with(429, "retry-after", "31536000"),
        ]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR * 48).await;
        let seen = world.network.seen();
        assert_eq!(seen.len(), 4);
        for pair in seen.windows(2) {
            assert!(pair[1].at - pair[0].at >= SECOND);
        }
        assert!(seen[3].at - seen[2].at <= HOUR * 36 + MINUTE);
        assert!(seen[3].at - seen[2].at >= HOUR * 24);
    });
}

/// Field after field of the answer, relative to the server's own clock.
#[test]
fn a_limit_that_is_used_up_is_waited_out() {
    for (name, value) in [
        ("ratelimit", r#""hour";r=0;t=300"#),
        ("ratelimit", "limit=10, remaining=0, reset=300"),
        ("x-ratelimit-reset", "300"),
    ] {
        let place = Place::new();
        simulate(4, |world| async move {
            let outbox = world.open(&place);
            world.network.play([status_with(429, name, value)]);
            outbox.submit(order(&outbox, "form")).unwrap();
            outbox.start().unwrap();
            world.pass(SECOND * 299).await;
            assert_eq!(world.network.seen().len(), 1, "{name}: {value}");
            world.pass(SECOND * 160).await;
            assert_eq!(world.network.seen().len(), 2, "{name}: {value}");
        });
    }
}

/// 503 without a time closes the gate the longer the more often the host says so, and one bad key
/// among good ones doesn't close it for long.
#[test]
fn a_gate_without_a_time_grows_with_the_host_and_not_with_one_submission() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|request| {
            let body = request.body.as_bytes().unwrap();
            if body == br#"{"order":"bad"}"# {
                status(503)
            } else {
                created()
            }
        });
        let bad = order(&outbox, "bad");
        outbox.submit(bad.clone()).unwrap();
        outbox.start().unwrap();
        for number in 0..120 {
            let order = order(&outbox, &format!("good-{number}"));
            outbox.submit(order.clone()).unwrap();
            world.pass(MINUTE).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded, "{number}");
        }
        let snapshot = outbox.snapshot(bad.id).unwrap();
        assert_eq!(
            snapshot.state,
            SubmissionState::Pending,
            "503 is never frozen"
        );
    });
}

/// An outage of a host for an hour: nothing is held, and everything is delivered.
#[test]
fn an_outage_of_an_hour_ends_with_everything_delivered() {
    for page in [false, true] {
        for status in [500, 502, 503] {
            let place = Place::new();
            simulate(6, |world| async move {
                let outbox = world.open(&place);
                world.network.always(move |_| {
                    let mut answer = answer(status, "<html>bad gateway</html>");
                    if page {
                        answer.headers = vec![header("content-type", "text/html")];
                    }
                    Play::Answer(SECOND, answer)
                });
                for number in 0..30 {
                    outbox
                        .submit(order(&outbox, &format!("order-{number}")))
                        .unwrap();
                }
                outbox.start().unwrap();
                world.pass(HOUR).await;
                world.network.always(|_| created());
                world.pass(HOUR).await;
                let stats = outbox.stats().unwrap();
                assert_eq!((stats.held, stats.pending), (0, 0), "{status} {page}");
            });
        }
    }
}

/// F06: a frozen 500 for one key while others are answered ends held; it can be decided.
#[test]
fn a_frozen_error_for_one_key_ends_held_while_others_get_through() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|request| {
            let body = request.body.as_bytes().unwrap();
            if body == br#"{"order":"frozen"}"# {
                status(500)
            } else {
                created()
            }
        });
        let frozen = order(&outbox, "frozen");
        outbox.submit(frozen.clone()).unwrap();
        outbox.start().unwrap();
        for number in 0..40 {
            outbox
                .submit(order(&outbox, &format!("order-{number}")))
                .unwrap();
            world.pass(MINUTE).await;
        }
        let snapshot = outbox.snapshot(frozen.id).unwrap();
        assert_eq!(snapshot.state, UNKNOWN);
        let attempts = named(&world, "frozen");
        assert!((4..=12).contains(&attempts), "{attempts}");
        // A decision starts the count anew.
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        outbox.resolve(frozen.id, snapshot.revision, retry).unwrap();
        world.network.always(|_| created());
        world.pass(HOUR).await;
        let snapshot = outbox.snapshot(frozen.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
    });
}

/// A server that keeps no errors has no frozen ones.
#[test]
fn where_errors_are_not_kept_a_repeated_one_is_retried_within_the_budget() {
    let place = Place::new();
    simulate(8, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.errors_are_replayed = submit_once::ReplayedErrors::Nothing;
        let outbox = world.open_with(world.config(&place).profile(profile));
        world.network.always(|request| {
            let body = request.body.as_bytes().unwrap();
            if body == br#"{"order":"slow"}"# {
                status(500)
            } else {
                created()
            }
        });
        let slow = order(&outbox, "slow");
        outbox.submit(slow.clone()).unwrap();
        outbox.start().unwrap();
        for number in 0..60 {
            outbox
                .submit(order(&outbox, &format!("order-{number}")))
                .unwrap();
            world.pass(MINUTE).await;
        }
        let snapshot = outbox.snapshot(slow.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
    });
}

/// A key that is frozen to 429 (half of the libraries that were tried keep it) stops itself and, in the
/// end, nobody else.
#[test]
fn a_key_frozen_to_a_wait_does_not_stop_its_host_for_ever() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|request| {
            let body = request.body.as_bytes().unwrap();
            if body == br#"{"order":"frozen"}"# {
                status_with(429, "retry-after", "600")
            } else {
                created()
            }
        });
        outbox.submit(order(&outbox, "frozen")).unwrap();
        outbox.start().unwrap();
        let mut late = 0;
        for number in 0..180 {
            let order = order(&outbox, &format!("good-{number}"));
            outbox.submit(order.clone()).unwrap();
            world.pass(MINUTE).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            late += u32::from(snapshot.state != SubmissionState::Succeeded);
        }
        // At first nobody can know; then others get through while this one doesn't.
        assert!(late <= 35, "{late} of 180 minutes without a way");
        assert!(named(&world, "frozen") >= 4);
    });
}

/// A fault of TLS is told apart from a missing network, and its clock from its certificate.
#[test]
fn an_untrusted_certificate_is_waited_for_by_its_name() {
    for (fault, suspected) in [
        (submit_once::Fault::Tls, false),
        (submit_once::Fault::TlsClock, true),
    ] {
        let place = Place::new();
        simulate(10, |world| async move {
            let outbox = world.open(&place);
            world.network.play([Play::Fail {
                after: SECOND,
                sent: false,
                fault,
            }]);
            let order = order(&outbox, "form");
            outbox.submit(order.clone()).unwrap();
            outbox.start().unwrap();
            world.pass(SECOND * 2).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            let Some(WaitingFor::Certificate {
                clock_suspected, ..
            }) = snapshot.waiting_for
            else {
                panic!("{snapshot:?}");
            };
            assert_eq!(clock_suspected, suspected);
            world.pass(MINUTE * 14).await;
            assert_eq!(world.network.seen().len(), 1, "a long wait");
            outbox
                .network_available(submit_once::NetworkKind::Metered)
                .unwrap();
            world.pass(SECOND * 5).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded);
        });
    }
}
