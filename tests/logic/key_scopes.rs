//! Whose key it is: the token's or the account's; and a refusal that is one submission's own affair.

use std::time::Duration;

use submit_once::{
    CredentialsReason, KeyScope, Outbox, OutboxError, RejectReason, Submission, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{created, drain, lost, order, simulate, status};
use crate::credentials::{Host, of, supply, token};

use CredentialsReason::Refused;

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

fn state(outbox: &Outbox, order: &Submission) -> SubmissionState {
    outbox.snapshot(order.id).unwrap().state
}

/// C10: to a server whose keys belong to the token, another token is another key.
#[test]
fn in_doubt_a_key_that_belongs_to_the_token_is_not_sent_with_another_one() {
    for refused in [false, true] {
        let place = Place::new();
        simulate(9, |world| async move {
            let mut profile = submit_once::ServerProfile::standard();
            profile.key_scope = KeyScope::Token;
            let outbox = world.open_with(world.config(&place).profile(profile));
            outbox.sign_in("ann".into()).unwrap();
            let host = Host::of(&outbox, &["second"]);
            supply(&outbox, "ann", "first");
            world.network.play([lost()]);
            if refused {
                world.network.play([status(401)]);
            }
            let order = of("ann", order(&outbox, "form"));
            outbox.submit(order.clone()).unwrap();
            outbox.start().unwrap();
            world.pass(SECOND).await;
            if !refused {
                supply(&outbox, "ann", "second");
            }
            world.pass(HOUR).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            assert!(
                matches!(snapshot.state, SubmissionState::Held { .. }),
                "{snapshot:?}"
            );
            assert!(snapshot.in_doubt);
            let sent: Vec<_> = world
                .network
                .seen()
                .iter()
                .map(|s| token(&s.request))
                .collect();
            assert!(
                sent.iter().all(|token| token.as_deref() == Some("first")),
                "{sent:?}"
            );
            let retry = |accept_second_effect| submit_once::Resolution::RetrySameKey {
                accept_second_effect,
            };
            if refused {
                // The account's next submission asks for the token.
                outbox
                    .submit(of("ann", crate::common::sim::order(&outbox, "other")))
                    .unwrap();
                world.pass(SECOND).await;
                assert_eq!(host.reasons(), [Refused]);
            }
            let plain = outbox.resolve(order.id, snapshot.revision, retry(false));
            assert!(
                matches!(plain, Err(OutboxError::NeedsConsent { .. })),
                "{plain:?}"
            );
            outbox
                .resolve(order.id, snapshot.revision, retry(true))
                .unwrap();
            world.pass(HOUR).await;
            assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
        });
    }
}

/// With the account's scope, a refreshed token is the same key: nothing to hold.
#[test]
fn in_doubt_a_key_that_belongs_to_the_account_goes_on_with_another_token() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "first");
        world.network.play([lost()]);
        let order = of("ann", order(&outbox, "form"));
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        supply(&outbox, "ann", "second");
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, &order), SubmissionState::Succeeded);
        assert_eq!(
            token(&world.network.seen()[1].request).as_deref(),
            Some("second")
        );
    });
}

/// A key that is frozen to 401 (or one resource that the account may not touch) doesn't close the
/// way of all the others.
#[test]
fn one_frozen_refusal_does_not_stop_the_account() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        let host = Host::of(&outbox, &["second", "third", "fourth"]);
        supply(&outbox, "ann", "first");
        world.network.always(|request| {
            let body = request.body.as_bytes().unwrap();
            if body == br#"{"order":"frozen"}"# {
                status(401)
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
            assert_eq!(
                state(&outbox, &order),
                SubmissionState::Succeeded,
                "{number}"
            );
        }
        assert_eq!(
            state(&outbox, &frozen),
            SubmissionState::Rejected {
                reason: RejectReason::Unauthorized
            }
        );
        assert!(host.reasons().len() <= 2, "{:?}", host.reasons());
    });
}

/// What belongs to nobody has no credentials that could be renewed.
#[test]
fn without_an_account_a_refusal_is_final() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "good");
        world.network.play([status(401)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        assert_eq!(token(&world.network.seen()[0].request), None);
        assert_eq!(
            state(&outbox, &order),
            SubmissionState::Rejected {
                reason: RejectReason::Unauthorized
            }
        );
    });
}
