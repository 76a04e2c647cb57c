//! Attacks on gates, redirects and waits that an earlier version did not withstand.

use std::time::Duration;

use submit_once::{Fault, ServerProfile, Snapshot, Submission, SubmissionState, WireAnswer};

use crate::common::Place;
use crate::common::sim::{
    Play, World, created, drain, header, lost, order, simulate, status, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(50);

fn state(outbox: &submit_once::Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}

fn redirect(status: u16, location: &str) -> WireAnswer {
    WireAnswer {
        status,
        headers: vec![header("location", location)],
        body: Vec::new(),
        complete: true,
    }
}

/// 307 with the key in the query.
#[test]
fn a_redirect_that_loses_the_key_is_not_followed() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open_with(world.config(&place).profile(ServerProfile::google_aip155()));
        // Each of them executes; the first answer is lost.
        world.network.play([
            Play::Answer(MOMENT, redirect(307, "/orders/")),
            lost(),
            Play::Answer(MOMENT, redirect(307, "/orders/")),
            created(),
        ]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR / 4).await;
        let without: Vec<_> = world
            .network
            .seen()
            .into_iter()
            .map(|seen| seen.request.url)
            .filter(|url| !url.contains("request_id="))
            .collect();
        assert_eq!(without, Vec::<String>::new(), "sent without its key");
    });
}

/// A gateway that re-sends; 307, then the next hop can't be reached.
#[test]
fn behind_a_gateway_that_resends_a_redirect_proves_nothing_either() {
    let place = Place::new();
    simulate(7, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.gateway_may_resend = true;
        let outbox = world.open_with(world.config(&place).profile(profile));
        world.network.play([
            Play::Answer(MOMENT, redirect(307, "/v2/orders")),
            unreachable(),
        ]);
        world.network.always(|_| unreachable());
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(MOMENT * 4).await;
        let cancelled = outbox.cancel(order.id).unwrap();
        assert!(
            matches!(
                cancelled,
                submit_once::CancelOutcome::MayHaveHappened { .. }
            ),
            "{cancelled:?}"
        );
    });
}

/// The transport reports the first hop's answer again, after the second hop was lost.
#[test]
fn an_earlier_hops_answer_that_comes_twice_proves_nothing_of_the_later_one() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([
            Play::HandOver { confirm: true },
            Play::HandOver { confirm: true },
        ]);
        world.network.always(|_| Play::HandOver { confirm: false });
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(MOMENT).await;
        let first = world.network.take();
        first.answered(redirect(307, "/v2/orders"));
        world.pass(MOMENT).await;
        let second = world.network.take();
        second.failed(Fault::Lost);
        world.pass(MOMENT).await;
        assert!(outbox.snapshot(order.id).unwrap().in_doubt);
        first.answered(redirect(307, "/v2/orders"));
        world.pass(MOMENT).await;
        let snapshot: Snapshot = outbox.snapshot(order.id).unwrap();
        assert!(snapshot.in_doubt, "{snapshot:?}");
    });
}

/// The request timeout, with a body that has gone at once.
#[test]
fn the_request_timeout_counts_from_the_last_byte() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(MOMENT).await;
        let exchange = world.network.take();
        exchange.progress(16);
        world.pass(SECOND * 95).await;
        assert_ne!(state(&outbox, &order), SubmissionState::InFlight);
    });
}

/// A burst is one thing that a host says, not eight.
#[test]
fn a_burst_of_refusals_is_one_failure_of_the_host() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        for n in 0..8 {
            outbox.submit(order(&outbox, &format!("{n}"))).unwrap();
        }
        world.network.play((0..8).map(|_| status(429)));
        outbox.start().unwrap();
        world.pass(SECOND * 10).await;
        assert!(
            world.network.seen().len() > 8,
            "one 429 each, and nothing for ten seconds"
        );
        let _ = drain;
        let _: Option<World> = None;
    });
}

/// The hint that there is a network, after a reboot, with a long queue.
#[test]
fn the_network_hint_reaches_all_that_wait_from_before_a_reboot() {
    let place = Place::new();
    simulate(13, |world| async move {
        let mut config = world.config(&place);
        config.limits = Some(submit_once::Limits {
            max_in_flight: 400,
            backoff_first: HOUR,
            backoff_most: HOUR,
            ..Default::default()
        });
        let outbox = world.open_with(config.clone());
        let orders: Vec<_> = (0..400).map(|n| order(&outbox, &format!("{n}"))).collect();
        outbox.submit_all(orders.clone()).unwrap();
        world.network.always(|_| unreachable());
        drain(&outbox).await;
        outbox.close();
        world.clock.reboot();
        world.network.always(|_| created());
        let outbox = world.open_with(config);
        outbox
            .network_available(submit_once::NetworkKind::Metered)
            .unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 30).await;
        let done = orders
            .iter()
            .filter(|o| state(&outbox, o) == SubmissionState::Succeeded)
            .count();
        assert_eq!(done, 400);
    });
}

/// The same for a key in the path.
#[test]
fn a_redirect_that_loses_the_key_in_the_path_is_not_followed() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open_with(world.config(&place).profile(ServerProfile::matrix()));
        world
            .network
            .play([Play::Answer(MOMENT, redirect(308, "/v2/send")), created()]);
        let id = outbox.begin("m".into()).unwrap();
        let message = Submission {
            method: "PUT".into(),
            ..Submission::post(id, "/send/{key}").json("{}")
        };
        outbox.submit(message).unwrap();
        drain(&outbox).await;
        let seen = world.network.seen();
        assert!(
            seen.iter()
                .all(|seen| seen.request.url.contains(&id.to_string())),
            "{:?}",
            seen[1].request.url
        );
    });
}

/// A reset in milliseconds since 1970.
#[test]
fn a_reset_in_milliseconds_does_not_close_a_host_for_a_day() {
    let place = Place::new();
    simulate(15, |world| async move {
        let outbox = world.open(&place);
        let at = (crate::common::sim::BIRTH + 5_000).to_string();
        world.network.play([crate::common::sim::status_with(
            429,
            "x-ratelimit-reset",
            &at,
        )]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
    });
}
