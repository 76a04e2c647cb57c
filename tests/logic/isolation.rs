//! P10: accounts that come and go, and what of their credentials is kept: nothing but names.

use std::time::Duration;

use submit_once::{NetworkKind, OutboxError, SubmissionState, WaitingFor};

use crate::common::Place;
use crate::common::sim::{Play, header, lost, order, simulate, status, unreachable};
use crate::credentials::{Host, bearer, lets_in, of, supply, token};

const SECOND: Duration = Duration::from_secs(1);

/// P10 with races: accounts come and go while requests, refusals and new tokens are under way. Each
/// token names its account, and so does each order.
#[test]
fn no_request_ever_carries_the_credentials_of_another_account() {
    for seed in 0..40 {
        let place = Place::new();
        simulate(seed, |world| async move {
            let outbox = world.open(&place);
            world.network.always(|request| {
                match token(request)
                    .as_deref()
                    .and_then(|token| token.rsplit('-').next())
                {
                    Some("0") => status(401),
                    Some("1") => lost(),
                    Some("2") => unreachable(),
                    _ => Play::Answer(SECOND * 3, crate::common::sim::answer(201, "{}")),
                }
            });
            outbox.start().unwrap();
            let accounts = ["ann", "bob", "cem"];
            for step in 0..60 {
                let random = world.entropy.next();
                let account = accounts[(random % 3) as usize];
                match (random >> 8) % 5 {
                    0 => outbox.sign_in(account.into()).unwrap(),
                    1 if step % 9 == 0 => {
                        drop(outbox.sign_out(submit_once::SignOut::Keep).unwrap())
                    }
                    1 | 2 => {
                        let token = format!("{account}-{step}-{}", (random >> 16) % 5);
                        let supplied =
                            outbox.supply_credentials(account.into(), bearer(&token), None);
                        let signed_in = outbox.signed_in().unwrap();
                        assert_eq!(supplied.is_ok(), signed_in.as_deref() == Some(account));
                    }
                    _ => {
                        let name = format!("{account}/{step}");
                        outbox.submit(of(account, order(&outbox, &name))).unwrap();
                    }
                }
                world
                    .pass(Duration::from_millis((random >> 32) % 3_000))
                    .await;
            }
            for seen in world.network.seen() {
                let body =
                    String::from_utf8(seen.request.body.as_bytes().unwrap().to_vec()).unwrap();
                let owner = body
                    .split('"')
                    .nth(3)
                    .unwrap()
                    .split('/')
                    .next()
                    .unwrap()
                    .to_owned();
                let token = token(&seen.request).unwrap();
                assert_eq!(token.split('-').next().unwrap(), owner, "seed {seed}");
            }
        });
    }
}

#[test]
fn credentials_of_an_account_that_is_not_signed_in_are_refused() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        let refused = outbox.supply_credentials("ann".into(), bearer("x"), None);
        assert_eq!(
            refused,
            Err(OutboxError::NotSignedIn {
                account: "ann".into()
            })
        );
        outbox.sign_in("ann".into()).unwrap();
        for (name, value) in [
            ("", "x"),
            ("a b", "x"),
            ("authorization", "x\r\ny: z"),
            ("host", "x"),
            ("content-length", "1"),
            ("Idempotency-Key", "x"),
        ] {
            let headers = vec![header(name, value)];
            assert!(
                outbox
                    .supply_credentials("ann".into(), headers, None)
                    .is_err(),
                "{name}"
            );
        }
        for account in ["", &"a".repeat(1_025)] {
            assert!(outbox.sign_in(account.into()).is_err());
            let submission = of(account, order(&outbox, "form"));
            assert!(outbox.submit(submission).is_err());
        }
    });
}

/// F77: what credentials ever used is never stored with a submission, after a restart neither.
#[test]
fn a_header_that_credentials_ever_had_is_refused_among_stored_ones() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open(&place);
        let early = order(&outbox, "early").header("X-Api-Key", "early");
        outbox.submit(early.clone()).unwrap();
        outbox.sign_in("ann".into()).unwrap();
        let key = || vec![header("X-Api-Key", "secret")];
        outbox
            .supply_credentials("ann".into(), key(), None)
            .unwrap();
        outbox.close();
        let outbox = world.open(&place);
        let refused = outbox.submit(order(&outbox, "late").header("x-api-key", "secret"));
        assert!(
            matches!(refused, Err(OutboxError::HeaderRefused { .. })),
            "{refused:?}"
        );
        // A repeat of what was accepted before still joins.
        outbox.submit(early).unwrap();
    });
}

/// One expired token in two processes is one refusal, and not two: nobody was asked for a fresh one.
#[test]
fn the_same_token_refused_in_two_processes_asks_each_host_and_closes_nothing() {
    let place = Place::new();
    simulate(20, |world| async move {
        let first = world.open(&place);
        let second = world.open_apart(&place);
        first.sign_in("ann".into()).unwrap();
        let (front, worker) = (Host::of(&first, &[]), Host::of(&second, &[]));
        lets_in(&world, "new");
        supply(&first, "ann", "old");
        supply(&second, "ann", "old");
        first.submit(of("ann", order(&first, "one"))).unwrap();
        first.start().unwrap();
        world.pass(SECOND).await;
        second.start().unwrap();
        world.pass(SECOND * 5).await;
        let reasons = [front.reasons(), worker.reasons()].concat();
        assert!(
            reasons
                .iter()
                .all(|r| *r == submit_once::CredentialsReason::Refused),
            "{reasons:?}"
        );
        assert!(world.network.seen().len() <= 2, "no loop");
        supply(&first, "ann", "new");
        world.pass(SECOND * 5).await;
        assert_eq!(first.stats().unwrap().pending, 0);
    });
}

/// Two accounts that open the same form don't share its submission.
#[test]
fn a_slot_belongs_to_the_account_that_is_signed_in() {
    let place = Place::new();
    simulate(21, |world| async move {
        let outbox = world.open(&place);
        outbox.network_available(NetworkKind::Metered).unwrap();
        let nobodys = outbox.begin("form".into()).unwrap();
        outbox.sign_in("ann".into()).unwrap();
        let anns = outbox.begin("form".into()).unwrap();
        outbox.sign_in("bob".into()).unwrap();
        let bobs = outbox.begin("form".into()).unwrap();
        assert!(nobodys != anns && anns != bobs && nobodys != bobs);
        outbox.discard("form".into()).unwrap();
        assert_ne!(outbox.begin("form".into()).unwrap(), bobs);
        outbox.sign_in("ann".into()).unwrap();
        assert_eq!(outbox.begin("form".into()).unwrap(), anns);
        outbox.sign_out(submit_once::SignOut::Keep).unwrap();
        assert_eq!(outbox.begin("form".into()).unwrap(), nobodys);
        let waiting = of("ann", order(&outbox, "other"));
        outbox.submit(waiting.clone()).unwrap();
        let snapshot = outbox.snapshot(waiting.id).unwrap();
        assert_eq!(snapshot.waiting_for, Some(WaitingFor::SignedOut));
        assert_eq!(snapshot.state, SubmissionState::Pending);
    });
}

/// Another process signs somebody else in: this one's credentials are not that account's.
#[test]
fn what_another_process_signs_in_is_not_sent_with_the_credentials_of_this_one() {
    let place = Place::new();
    simulate(22, |world| async move {
        let first = world.open(&place);
        let second = world.open_apart(&place);
        first.sign_in("ann".into()).unwrap();
        supply(&first, "ann", "anns");
        second.sign_in("bob".into()).unwrap();
        second.submit(of("bob", order(&second, "bobs"))).unwrap();
        first.start().unwrap();
        world.pass(SECOND * 60).await;
        assert_eq!(world.network.seen().len(), 0);
        supply(&second, "bob", "bobs");
        second.start().unwrap();
        world.pass(SECOND * 5).await;
        let sent: Vec<_> = world
            .network
            .seen()
            .iter()
            .map(|s| token(&s.request))
            .collect();
        assert_eq!(sent, [Some("bobs".to_owned())]);
    });
}
