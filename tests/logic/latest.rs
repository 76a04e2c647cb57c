//! Latest wins: of the versions of one key one is on the wire at a time, and the last one written is the
//! newest that was accepted. The sequences W1 to W9 of the model (C13), on the real core.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Effect, HoldReason, Outbox, OutboxError, ReceiptKind, Resolution, Submission, SubmissionId,
    SubmissionState, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, drain, lost, simulate, status, status_with, takes, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

pub fn draft(outbox: &Outbox, version: u32) -> Submission {
    draft_of(outbox, "draft/42", version)
}

fn draft_of(outbox: &Outbox, key: &str, version: u32) -> Submission {
    let id = outbox.begin(format!("{key} {version}")).unwrap();
    Submission::new(id, "PUT", "/drafts/42")
        .json(format!(r#"{{"version":{version}}}"#))
        .effect(Effect::Overwrite)
        .replaces(key)
}

/// The versions in the order in which they were sent, with the second of each.
pub fn trace(world: &World) -> Vec<(u32, u64)> {
    let read = |body: &submit_once::WireBody| match body {
        submit_once::WireBody::Bytes(bytes) => {
            let json: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            u32::try_from(json["version"].as_u64().unwrap()).unwrap()
        }
        submit_once::WireBody::File { .. } => panic!("a draft is small"),
    };
    let seen = world.network.seen();
    seen.iter()
        .map(|seen| (read(&seen.request.body), seen.at.as_secs()))
        .collect()
}

pub fn versions(world: &World) -> Vec<u32> {
    trace(world)
        .into_iter()
        .map(|(version, _)| version)
        .collect()
}

pub fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

pub fn waits(outbox: &Outbox, id: SubmissionId) -> Option<WaitingFor> {
    outbox.snapshot(id).unwrap().waiting_for
}

pub fn decide(outbox: &Outbox, id: SubmissionId, resolution: Resolution) {
    let revision = outbox.snapshot(id).unwrap().revision;
    outbox.resolve(id, revision, resolution).unwrap();
}

const RETRY: Resolution = Resolution::RetrySameKey {
    accept_second_effect: false,
};

pub async fn settle(world: &World) {
    world.pass(Duration::from_millis(10)).await;
}

/// F116: of what was edited offline, the last version is sent.
#[test]
fn a_newer_version_supersedes_what_was_never_sent() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let all = [1, 2, 3].map(|version| draft(&outbox, version));
        for submission in &all {
            outbox.submit(submission.clone()).unwrap();
        }
        let by = |id| SubmissionState::Superseded { by: id };
        assert_eq!(state(&outbox, all[0].id), by(all[1].id));
        assert_eq!(state(&outbox, all[1].id), by(all[2].id));
        drain(&outbox).await;
        assert_eq!(versions(&world), [3]);
        // A repeat of an old one is answered with its end, and brings nothing back.
        let repeat = outbox.submit(all[0].clone()).unwrap();
        assert_eq!(repeat.kind, ReceiptKind::Replayed);
        drain(&outbox).await;
        assert_eq!(versions(&world), [3]);
    });
}

/// W1, F115: an edit during an upload. The newer version isn't independent of the older one on the wire.
#[test]
fn a_newer_version_waits_for_the_older_one_on_the_wire() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(40));
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.submit(two.clone()).unwrap();
        assert_eq!(
            waits(&outbox, two.id),
            Some(WaitingFor::Older { id: one.id })
        );
        world.pass(SECOND * 20).await;
        assert_eq!(versions(&world), [1]);
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(trace(&world), [(1, 0), (2, 40)], "at once after a success");
        assert_eq!(state(&outbox, one.id), SubmissionState::Succeeded);
    });
}

/// W7: a retry of the older one, by decision, waits while the newer one is unsettled.
#[test]
fn a_retried_older_version_waits_for_the_newer_one() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), status(400)]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 60).await;
        let held = SubmissionState::Held {
            reason: HoldReason::OutcomeUnknown,
        };
        assert_eq!(state(&outbox, one.id), held);
        world.network.always(|_| unreachable());
        outbox.submit(two.clone()).unwrap();
        decide(&outbox, one.id, RETRY);
        world.pass(HOUR).await;
        assert_eq!(
            waits(&outbox, one.id),
            Some(WaitingFor::Newer { id: two.id })
        );
        assert!(versions(&world)[2..].iter().all(|version| *version == 2));
        world.network.always(takes(1));
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(
            state(&outbox, one.id),
            SubmissionState::Superseded { by: two.id }
        );
        world.pass(HOUR).await;
        assert_eq!(versions(&world).last(), Some(&2));
    });
}

/// W8: with the newer one's success, nothing older can be sent again, whatever it waited for.
#[test]
fn success_of_the_newer_version_supersedes_everything_older() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), lost()]);
        let (one, two, three) = (draft(&outbox, 1), draft(&outbox, 2), draft(&outbox, 3));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        // held(cancel_requested), in doubt.
        outbox.cancel(one.id).unwrap();
        outbox.submit(two.clone()).unwrap();
        world.pass(SECOND * 16).await;
        // pending, in doubt.
        outbox.submit(three.clone()).unwrap();
        outbox.wait(three.id, HOUR).await.unwrap();
        let superseded = SubmissionState::Superseded { by: three.id };
        assert_eq!(state(&outbox, one.id), superseded);
        assert_eq!(state(&outbox, two.id), superseded);
        let revision = outbox.snapshot(one.id).unwrap().revision;
        let late = outbox.resolve(one.id, revision, RETRY);
        assert!(matches!(late, Err(OutboxError::NotHeld { .. })));
        world.pass(HOUR).await;
        assert_eq!(trace(&world), [(1, 0), (2, 15), (3, 30)]);
    });
}

#[test]
fn when_the_newer_version_ends_without_success_the_older_one_goes_on() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), status(422)]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.submit(two.clone()).unwrap();
        outbox.wait(one.id, HOUR).await.unwrap();
        assert_eq!(versions(&world), [1, 2, 1]);
        assert_eq!(state(&outbox, one.id), SubmissionState::Succeeded);
    });
}

/// Not in doubt when its attempt ends: it is superseded then, and not repeated.
#[test]
fn an_older_version_on_the_wire_that_fails_is_superseded_at_its_end() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.submit(two.clone()).unwrap();
        world.network.take().answered(answer(429, "{}"));
        settle(&world).await;
        assert_eq!(
            state(&outbox, one.id),
            SubmissionState::Superseded { by: two.id }
        );
        world.pass(HOUR).await;
        assert_eq!(versions(&world), [1, 2]);
    });
}

/// A late proof that the older one had no effect ends its doubt, and with it the older one.
#[test]
fn an_older_version_whose_doubt_ends_is_superseded_then() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::Silence]);
        world
            .network
            .always(|_| status_with(503, "retry-after", "600"));
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 91).await;
        outbox.submit(two.clone()).unwrap();
        assert_eq!(state(&outbox, one.id), SubmissionState::Pending);
        world.network.take().answered(answer(400, "{}"));
        settle(&world).await;
        assert_eq!(
            state(&outbox, one.id),
            SubmissionState::Superseded { by: two.id }
        );
    });
}

#[test]
fn other_keys_and_other_accounts_are_not_concerned() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open(&place);
        let sign_in = |account: &str| {
            outbox.sign_in(account.to_owned()).unwrap();
            let none = Vec::new();
            outbox
                .supply_credentials(account.to_owned(), none, None)
                .unwrap();
        };
        sign_in("anna");
        let of_anna = draft(&outbox, 1).account("anna");
        outbox.submit(of_anna.clone()).unwrap();
        outbox.submit(draft_of(&outbox, "draft/43", 2)).unwrap();
        sign_in("bert");
        let of_bert = draft(&outbox, 3).account("bert");
        outbox.submit(of_bert.clone()).unwrap();
        outbox.submit(draft(&outbox, 4)).unwrap();
        drain(&outbox).await;
        assert_eq!(versions(&world), [2, 3, 4]);
        sign_in("anna");
        drain(&outbox).await;
        assert_eq!(versions(&world), [2, 3, 4, 1]);
    });
}

#[test]
fn only_what_overwrites_can_be_replaced() {
    let place = Place::new();
    simulate(15, |world| async move {
        let outbox = world.open(&place);
        for effect in [
            None,
            Some(Effect::Keyed),
            Some(Effect::Unkeyed),
            Some(Effect::Safe),
        ] {
            let submission = Submission {
                effect,
                ..draft(&outbox, 1)
            };
            let refused = outbox.submit(submission);
            assert!(
                matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "replaces"),
                "{effect:?}: {refused:?}"
            );
        }
    });
}

/// Two processes accept and deliver versions of one key: one in flight, and the newest is last.
#[test]
fn two_processes_end_with_the_newest_version() {
    let place = Place::new();
    simulate(16, |world| async move {
        let (one, two) = (world.open_apart(&place), world.open_apart(&place));
        world.network.always(takes(7));
        one.start().unwrap();
        two.start().unwrap();
        let mut last = None;
        for version in 1..=20 {
            let outbox: &Arc<Outbox> = if version % 3 == 0 { &two } else { &one };
            let submission = draft(outbox, version);
            outbox.submit(submission.clone()).unwrap();
            last = Some(submission.id);
            world.pass(SECOND * 2).await;
        }
        one.wait(last.unwrap(), HOUR).await.unwrap();
        let trace = trace(&world);
        assert!(trace.is_sorted_by_key(|(version, _)| *version), "{trace:?}");
        assert_eq!(trace.last().unwrap().0, 20);
        for pair in trace.windows(2) {
            assert!(pair[1].1 - pair[0].1 >= 7, "overlap: {trace:?}");
        }
    });
}
