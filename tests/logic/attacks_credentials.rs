//! Attacks on credentials that an earlier version did not withstand.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    AnswerRule, KeyScope, Resolution, RuleVerdict, ServerProfile, Submission, SubmissionState,
    WireRequest,
};

use super::credentials::{Host, bearer, of, supply, token};
use crate::common::Place;
use crate::common::sim::{Play, answer, created, lost, order, simulate, status, unreachable};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(50);

fn state(outbox: &submit_once::Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}

fn is(request: &WireRequest, name: &str) -> bool {
    request.body.as_bytes().unwrap() == format!(r#"{{"order":"{name}"}}"#).as_bytes()
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
