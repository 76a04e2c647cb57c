//! The happy path.

use std::time::Duration;

use submit_once::{DrainBudget, DrainStop, ReceiptKind, Submission, SubmissionState, Waited};

use crate::common::Place;
use crate::common::sim::simulate;

#[test]
fn a_submission_goes_in_once_and_its_result_is_replayed() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let id = outbox.begin("form".into()).unwrap();
        let order = || Submission::post(id, "/orders").json(r#"{"item":"tea"}"#);
        assert_eq!(outbox.submit(order()).unwrap().kind, ReceiptKind::Accepted);
        assert_eq!(outbox.submit(order()).unwrap().kind, ReceiptKind::Joined);

        let report = outbox.drain(DrainBudget::of(Duration::from_secs(60))).await.unwrap();
        assert_eq!(report.succeeded, 1);
        assert_eq!(report.stopped, DrainStop::NothingDue);
        assert_eq!(world.network.sent(), 1);

        let receipt = outbox.submit(order()).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        let outcome = receipt.snapshot.outcome.unwrap();
        assert_eq!(outcome.status, Some(201));
        assert_eq!(outcome.body.as_deref(), Some(br#"{"n":1}"#.as_slice()));
        let Waited::Settled { snapshot } = outbox.wait(id, Duration::ZERO).await.unwrap() else {
            panic!("it is settled");
        };
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        assert_ne!(outbox.begin("form".into()).unwrap(), id);
        outbox.close();
    });
}
