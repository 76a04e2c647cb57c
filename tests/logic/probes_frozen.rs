//! What a status probe asks is frozen with its submission, and checked before it is asked.

use submit_once::{HoldReason, OutboxError, StatusProbe, SubmissionState};

use super::probes::{HOUR, MINUTE, Server, hand_over, probe, sent, state, submit, unkeyed};
use crate::common::Place;
use crate::common::sim::{drain, lost, order, simulate, status};

/// P2: what is asked is frozen, and is nothing but the question.
#[test]
fn a_question_has_its_id_and_no_key_body_or_stored_header() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        Server::of(&world, lost(), status(500));
        let order = order(&outbox, "form")
            .header("X-Tenant", "7")
            .probe(probe());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        outbox.close();
        // Another base URL, as after an update of the app.
        let config = world.config(&place).base_url("https://other.example.com");
        let outbox = world.open_with(config);
        world.pass(HOUR * 25).await;
        drain(&outbox).await;
        let asked = &sent(&world, "GET")[0].request;
        let url = format!("https://api.example.com/orders?client_id={}", order.id);
        assert_eq!(asked.url, url);
        assert!(asked.body.is_empty());
        let names: Vec<_> = asked.headers.iter().map(|h| h.name.as_str()).collect();
        assert_eq!(names, ["accept", "user-agent"]);
    });
}

#[test]
fn a_probe_that_can_never_be_asked_is_refused_at_submit() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        for (bad, problem) in [
            (StatusProbe::at("https://other.example.com/x"), "host"),
            (StatusProbe::at("http://api.example.com/x"), "host"),
            (StatusProbe::at("orders"), "absolute"),
            (StatusProbe::at("/orders/{key}"), "placeholder"),
            (StatusProbe::at("/orders").pointer("0"), "pointer"),
            (
                StatusProbe::at("https://a:b@api.example.com/x"),
                "credentials",
            ),
        ] {
            let refused = outbox
                .submit(order(&outbox, "form").probe(bad))
                .unwrap_err();
            let OutboxError::Invalid {
                field,
                problem: said,
            } = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!(field, "probe");
            assert!(said.contains(problem), "{said}");
        }
    });
}

/// A flipped bit in what would be asked must not be taken for an answer about the effect.
#[test]
fn a_damaged_probe_is_never_asked() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), status(404));
        let order = order(&outbox, "form").probe(probe());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        place
            .sql()
            .execute_batch(
                "DROP TRIGGER submission_frozen;
                 UPDATE submission SET probe = replace(probe, 'client_id', 'client_ie')",
            )
            .unwrap();
        outbox.start().unwrap();
        world.pass(MINUTE).await;
        let damaged = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        assert_eq!(state(&outbox, order.id), damaged);
        assert_eq!(sent(&world, "GET").len(), 0);
    });
}

/// P11: a row that can't be read is put aside once, and not looked at for ever.
#[test]
fn a_row_that_can_not_be_read_is_put_aside_instead_of_asked_about() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), hand_over());
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        outbox.suspend().unwrap();
        place
            .sql()
            .execute_batch(
                "DROP TRIGGER submission_frozen; UPDATE submission SET fingerprint = x'00'",
            )
            .unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        let damaged = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        assert_eq!(state(&outbox, order.id), damaged);
        assert_eq!(sent(&world, "GET").len(), 1);
    });
}
