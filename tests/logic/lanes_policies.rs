//! What becomes of a lane when the one whose turn it is doesn't succeed.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    HoldReason, LanePolicy, Outbox, RejectReason, Resolution, SubmissionId, SubmissionState,
    WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, simulate, status, takes};
use crate::lanes::{in_lane, state, trace, waits};

const HOUR: Duration = Duration::from_secs(3_600);

async fn head_held(world: &World, outbox: &Arc<Outbox>, policy: LanePolicy) -> [SubmissionId; 3] {
    world.network.play([status(406)]);
    let all = ["a", "b", "c"].map(|name| in_lane(outbox, name, "orders").lane_policy(policy));
    for submission in &all {
        outbox.submit(submission.clone()).unwrap();
    }
    drain(outbox).await;
    let held = SubmissionState::Held {
        reason: HoldReason::OutcomeUnknown,
    };
    assert_eq!(state(outbox, all[0].id), held);
    all.map(|submission| submission.id)
}

fn decide(outbox: &Outbox, id: SubmissionId, resolution: Resolution) {
    let revision = outbox.snapshot(id).unwrap().revision;
    outbox.resolve(id, revision, resolution).unwrap();
}

/// F53: what waits behind a wedged one doesn't overtake it.
#[test]
fn with_block_a_held_head_holds_the_lane_until_it_is_decided() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let [a, b, c] = head_held(&world, &outbox, LanePolicy::Block).await;
        assert_eq!(waits(&outbox, b), Some(WaitingFor::Lane { id: a }));
        assert_eq!(waits(&outbox, c), Some(WaitingFor::Lane { id: b }));
        assert_eq!(trace(&world), ["a"]);
        decide(
            &outbox,
            a,
            Resolution::RetrySameKey {
                accept_second_effect: false,
            },
        );
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["a", "a", "b", "c"]);
    });
}

#[test]
fn with_continue_the_others_go_past_a_held_head() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let [a, b, c] = head_held(&world, &outbox, LanePolicy::Continue).await;
        assert_eq!(trace(&world), ["a", "b", "c"]);
        assert_eq!(state(&outbox, b), SubmissionState::Succeeded);
        assert_eq!(state(&outbox, c), SubmissionState::Succeeded);
        decide(&outbox, a, Resolution::ItHappened { result: None });
        outbox.submit(in_lane(&outbox, "d", "orders")).unwrap();
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a", "b", "c", "d"]);
    });
}

/// What was passed and is tried again is the first of its lane, and still waits for the one on the wire.
#[test]
fn a_passed_head_that_is_retried_doesnt_overlap_with_its_successor() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(406)]);
        world.network.always(takes(60));
        let all = ["a", "b", "c"]
            .map(|name| in_lane(&outbox, name, "orders").lane_policy(LanePolicy::Continue));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        outbox.start().unwrap();
        world.pass(Duration::from_secs(20)).await;
        assert_eq!(trace(&world), ["a", "b"]);
        decide(
            &outbox,
            all[0].id,
            Resolution::RetrySameKey {
                accept_second_effect: false,
            },
        );
        world.pass(Duration::from_secs(10)).await;
        assert_eq!(trace(&world), ["a", "b"], "b is on the wire");
        let id = all[1].id;
        assert_eq!(waits(&outbox, all[0].id), Some(WaitingFor::Lane { id }));
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["a", "b", "a", "c"]);
    });
}

#[test]
fn with_block_a_rejected_head_stops_the_lane_until_it_is_released() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(422)]);
        let all = ["a", "b", "c"].map(|name| in_lane(&outbox, name, "orders"));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a"]);
        let id = all[0].id;
        assert_eq!(waits(&outbox, all[1].id), Some(WaitingFor::Lane { id }));
        drop(outbox);
        let outbox = world.open(&place);
        outbox.submit(in_lane(&outbox, "d", "orders")).unwrap();
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a"], "it stays stopped over a restart");
        let release = |lane: &str| outbox.release_lane(None, lane.to_owned()).unwrap();
        assert!(!release("photos"));
        assert!(release("orders"));
        assert!(!release("orders"));
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a", "b", "c", "d"]);
    });
}

#[test]
fn with_continue_a_rejected_head_stops_nobody() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(422)]);
        for name in ["a", "b"] {
            let submission = in_lane(&outbox, name, "orders").lane_policy(LanePolicy::Continue);
            outbox.submit(submission).unwrap();
        }
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a", "b"]);
    });
}

#[test]
fn with_reject_rest_what_waits_behind_a_rejected_one_is_rejected_and_what_comes_later_is_not() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        let [a, b, c] = head_held(&world, &outbox, LanePolicy::RejectRest).await;
        assert_eq!(waits(&outbox, b), Some(WaitingFor::Lane { id: a }));
        decide(&outbox, a, Resolution::GiveUp);
        let rejected = SubmissionState::Rejected {
            reason: RejectReason::Dependency,
        };
        assert_eq!(
            [state(&outbox, b), state(&outbox, c)],
            [rejected, rejected],
            "in the transaction of the decision"
        );
        let later = in_lane(&outbox, "d", "orders");
        outbox.submit(later.clone()).unwrap();
        drain(&outbox).await;
        assert_eq!(trace(&world), ["a", "d"]);
    });
}

/// A late answer reopens what was passed; the one on the wire still goes first.
#[test]
fn a_passed_head_that_a_late_answer_reopens_waits_for_the_one_on_the_wire() {
    let place = Place::new();
    simulate(19, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence, status(400)]);
        world.network.always(takes(60));
        let all = ["a", "b"]
            .map(|name| in_lane(&outbox, name, "orders").lane_policy(LanePolicy::Continue));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        outbox.start().unwrap();
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(trace(&world), ["a", "a", "b"]);
        world.network.take().answered(answer(400, "{}"));
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(state(&outbox, all[0].id), SubmissionState::Pending);
        assert_eq!(trace(&world), ["a", "a", "b"], "b is on the wire");
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["a", "a", "b", "a"]);
    });
}
