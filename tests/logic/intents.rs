//! The ID of an intent: the same one until its submission is settled (F05, F07).

use submit_once::{OutboxError, ReceiptKind, SubmissionState};

use crate::common::Place;
use crate::common::sim::{drain, order, simulate};

#[test]
fn a_slot_gives_the_same_id_until_its_submission_is_settled() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let id = outbox.begin("form".into()).unwrap();
        assert_eq!(outbox.begin("form".into()).unwrap(), id);
        assert_ne!(outbox.begin("other form".into()).unwrap(), id);
        outbox.close();

        // The process ended and came back, before and after the submit.
        let outbox = world.open(&place);
        assert_eq!(outbox.begin("form".into()).unwrap(), id);
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        assert_eq!(outbox.begin("form".into()).unwrap(), id);
        assert_eq!(
            outbox.submit(order(&outbox, "form")).unwrap().kind,
            ReceiptKind::Joined
        );

        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(id).unwrap().state,
            SubmissionState::Succeeded
        );
        assert_ne!(outbox.begin("form".into()).unwrap(), id);
        assert_eq!(world.network.sent(), 1, "one row, one request");
    });
}

#[test]
fn a_discarded_slot_gives_a_new_id_and_what_was_submitted_goes_on() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let first = order(&outbox, "form");
        outbox.submit(first.clone()).unwrap();
        outbox.discard("form".into()).unwrap();
        assert_ne!(outbox.begin("form".into()).unwrap(), first.id);
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(first.id).unwrap().state,
            SubmissionState::Succeeded
        );
        outbox.discard("never begun".into()).unwrap();
    });
}

#[test]
fn a_slot_has_a_name_of_some_length() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        for slot in [String::new(), "x".repeat(1_025)] {
            let refused = outbox.begin(slot.clone()).unwrap_err();
            assert!(matches!(refused, OutboxError::Invalid { field, .. } if field == "slot"));
            assert!(outbox.discard(slot).is_err());
        }
        outbox.begin("x".repeat(1_024)).unwrap();
        outbox.begin("naïve \0 🧾".into()).unwrap();
    });
}

/// F114: IDs of one millisecond.
#[test]
fn ids_of_one_millisecond_differ() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let ids: std::collections::HashSet<_> = (0..200)
            .map(|n| outbox.begin(format!("form {n}")).unwrap())
            .collect();
        assert_eq!(ids.len(), 200);
    });
}
