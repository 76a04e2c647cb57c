//! Attacks on credentials, gates, redirects and waits that an earlier version did not withstand.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    AnswerRule, Fault, KeyScope, Resolution, RuleVerdict, ServerProfile, Snapshot, Submission,
    SubmissionState, WireAnswer, WireRequest,
};

use super::credentials::{Host, bearer, of, supply, token};
use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, header, lost, order, simulate, status, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(50);

fn state(outbox: &submit_once::Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}
fn is(request: &WireRequest, name: &str) -> bool {
    request.body.as_bytes().unwrap() == format!(r#"{{"order":"{name}"}}"#).as_bytes()
}
fn redirect(status: u16, location: &str) -> WireAnswer {
    WireAnswer {
        status,
        headers: vec![header("location", location)],
        body: Vec::new(),
        complete: true,
    }
}

/// The token expires while a slow request that was let in is still under way.
#[test]
fn a_success_that_began_before_the_refusal_does_not_make_old_credentials_good() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let _host = Host::of(&outbox, &[]);
        supply(&outbox, "ann", "old");
        world.network.always(|request| {
            if is(request, "slow") {
                Play::Answer(SECOND * 3, answer(201, "{}"))
            } else if token(request).as_deref() == Some("new") {
                created()
            } else {
                status(401)
            }
        });
        let slow = of("ann", order(&outbox, "slow"));
        outbox.submit(slow.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let quick = of("ann", order(&outbox, "quick"));
        outbox.submit(quick.clone()).unwrap();
        world.pass(SECOND * 4).await;
        assert_eq!(state(&outbox, &slow), SubmissionState::Succeeded);
        // Anything that makes the pump turn: here a submission of nobody's. Else its own timer, in 30 s.
        outbox.submit(order(&outbox, "nobody's")).unwrap();
        world.pass(SECOND).await;
        // The host's refresh took six seconds.
        supply(&outbox, "ann", "new");
        world.pass(SECOND * 5).await;
        assert_eq!(state(&outbox, &quick), SubmissionState::Succeeded);
    });
}

/// Credentials that worked once have expired since.
#[test]
fn credentials_that_worked_before_they_expired_are_renewed_for_one_that_was_refused_before() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let _host = Host::of(&outbox, &["second"]);
        supply(&outbox, "ann", "first");
        let order_ = of("ann", order(&outbox, "one"));
        outbox.submit(order_.clone()).unwrap();
        // Refused with the first; then the network goes.
        world.network.play([status(401), unreachable()]);
        outbox.start().unwrap();
        world.pass(MOMENT * 4).await;
        let other = of("ann", order(&outbox, "other"));
        world.network.play([created()]);
        outbox.submit(other.clone()).unwrap();
        world.pass(MOMENT * 4).await;
        assert_eq!(state(&outbox, &other), SubmissionState::Succeeded);
        // Offline for an hour; the second token has expired then.
        world
            .network
            .always(|request| match token(request).as_deref() {
                Some("third") => created(),
                _ => status(401),
            });
        world.pass(HOUR).await;
        supply(&outbox, "ann", "third");
        world.pass(SECOND * 10).await;
        assert_eq!(state(&outbox, &order_), SubmissionState::Succeeded);
    });
}

/// A resource that answers 403, which the profile maps to credentials.
#[test]
fn one_refusal_by_a_rule_does_not_stop_the_account() {
    let place = Place::new();
    simulate(3, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.rules = vec![AnswerRule::on(403, RuleVerdict::Credentials)];
        let outbox = world.open_with(world.config(&place).profile(profile));
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &["t2", "t3", "t4", "t5"]);
        supply(&outbox, "ann", "t1");
        world.network.always(|request| {
            if is(request, "frozen") {
                status(403)
            } else {
                created()
            }
        });
        let frozen = of("ann", order(&outbox, "frozen"));
        outbox.submit(frozen.clone()).unwrap();
        outbox.start().unwrap();
        for number in 0..10 {
            let order = of("ann", order(&outbox, &format!("form-{number}")));
            outbox.submit(order.clone()).unwrap();
            world.pass(SECOND * 20).await;
        }
        assert!(!matches!(state(&outbox, &frozen), SubmissionState::Pending));
        assert!(host.reasons().len() <= 3, "{:?}", host.reasons());
    });
}

/// A late refusal of the first token, after the third was supplied.
#[test]
fn a_late_refusal_of_old_credentials_does_not_close_the_way_of_good_ones() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let _host = Host::of(&outbox, &["second"]);
        supply(&outbox, "ann", "first");
        world
            .network
            .always(|request| match token(request).as_deref() {
                Some("third") => created(),
                _ if is(request, "slow") => Play::Answer(SECOND * 10, answer(401, "{}")),
                _ => status(401),
            });
        let slow = of("ann", order(&outbox, "slow"));
        let quick = of("ann", order(&outbox, "quick"));
        outbox.submit(slow.clone()).unwrap();
        outbox.submit(quick.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 9).await;
        // The user has signed in: RefusedAgain was answered. It is to be tried after a second.
        supply(&outbox, "ann", "third");
        world.pass(SECOND * 30).await;
        assert_eq!(state(&outbox, &quick), SubmissionState::Succeeded);
        assert_eq!(state(&outbox, &slow), SubmissionState::Succeeded);
    });
}

/// Two processes of one app with the same expired token, each refreshes.
#[test]
fn two_processes_with_one_expired_token_are_not_refused_again() {
    let place = Place::new();
    simulate(5, |world| async move {
        let app = world.open(&place);
        app.sign_in("ann".into()).unwrap();
        let worker = world.open_apart(&place);
        let in_app = Host::of(&app, &[]);
        let in_worker = Host::of(&worker, &[]);
        supply(&app, "ann", "old");
        supply(&worker, "ann", "old");
        world
            .network
            .always(|request| match token(request).as_deref() {
                Some("new") => created(),
                _ => Play::Answer(SECOND * 2, answer(401, "{}")),
            });
        let one = of("ann", order(&app, "one"));
        app.submit(one.clone()).unwrap();
        app.start().unwrap();
        world.pass(MOMENT).await;
        let two = of("ann", order(&app, "two"));
        // The worker takes the second.
        worker.submit(two.clone()).unwrap();
        worker.start().unwrap();
        world.pass(SECOND * 10).await;
        let again = submit_once::CredentialsReason::RefusedAgain;
        assert!(!in_app.reasons().contains(&again) && !in_worker.reasons().contains(&again));
    });
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

/// What belongs to nobody has no credentials, whoever is signed in.
#[test]
fn a_retry_of_what_belongs_to_nobody_needs_no_consent_because_somebody_is_signed_in() {
    let place = Place::new();
    simulate(10, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.key_scope = KeyScope::Token;
        let outbox = world.open_with(world.config(&place).profile(profile));
        world.network.play([lost(), status(400)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 60).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert!(
            matches!(snapshot.state, SubmissionState::Held { .. }),
            "{snapshot:?}"
        );
        outbox.sign_in("ann".into()).unwrap();
        outbox
            .supply_credentials("ann".into(), bearer("x"), None)
            .unwrap();
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        let resolved = outbox.resolve(order.id, snapshot.revision, retry);
        assert!(resolved.is_ok(), "{resolved:?}");
    });
}

/// A listener that holds its outbox.
#[test]
fn closing_lets_go_of_the_credentials_listener() {
    let place = Place::new();
    simulate(11, |world| async move {
        struct Holds(#[allow(dead_code)] Arc<submit_once::Outbox>);
        impl submit_once::CredentialsListener for Holds {
            fn credentials_needed(
                &self,
                _: String,
                _: submit_once::CredentialsReason,
            ) -> Result<(), submit_once::ListenerError> {
                Ok(())
            }
        }
        let outbox = world.open(&place);
        let listener = Arc::new(Holds(Arc::clone(&outbox)));
        let weak = Arc::downgrade(&listener);
        outbox
            .set_credentials_listener(Some(listener as _))
            .unwrap();
        outbox.close();
        drop(outbox);
        world.pass(SECOND * 5).await;
        assert!(
            weak.upgrade().is_none(),
            "the listener, the core and its credentials stay"
        );
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

/// The same token, supplied again.
#[test]
fn the_same_token_supplied_again_is_the_same_key() {
    let place = Place::new();
    simulate(16, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.key_scope = KeyScope::Token;
        let outbox = world.open_with(world.config(&place).profile(profile));
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "one");
        world.network.play([lost()]);
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        supply(&outbox, "ann", "one");
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
    });
}

/// Credentials that were refused are good again; nobody tells the pump.
#[test]
fn when_a_success_clears_a_refusal_what_waited_goes_at_once() {
    let place = Place::new();
    simulate(17, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &[]);
        supply(&outbox, "ann", "good");
        world
            .network
            .play([status(401), Play::Answer(SECOND * 3, answer(201, "{}"))]);
        let slow = of("ann", order(&outbox, "slow"));
        let quick = of("ann", order(&outbox, "quick"));
        outbox.submit(quick.clone()).unwrap();
        outbox.submit(slow).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 5).await;
        assert_eq!(host.reasons(), [submit_once::CredentialsReason::Refused]);
        assert_eq!(state(&outbox, &quick), SubmissionState::Succeeded);
    });
}

/// Stripe says "true" to a refusal of credentials while a key of theirs is in doubt.
#[test]
fn should_retry_keeps_the_gate_of_the_account() {
    let place = Place::new();
    simulate(18, |world| async move {
        let mut profile = ServerProfile::standard();
        profile.key_scope = KeyScope::Token;
        let outbox = world.open_with(world.config(&place).profile(profile));
        outbox.sign_in("ann".into()).unwrap();
        let _host = Host::of(&outbox, &[]);
        supply(&outbox, "ann", "dead");
        world.network.play([lost()]);
        world
            .network
            .always(|_| crate::common::sim::status_with(401, "stripe-should-retry", "true"));
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR * 24).await;
        assert!(world.network.seen().len() <= 3);
    });
}
