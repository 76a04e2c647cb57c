//! Latest wins: of the versions of one key one is on the wire at a time, and the last one written is the
//! newest that was accepted. The sequences W1 to W9 of the model (C13), on the real core.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    BuiltInProfile, Effect, HoldReason, Outbox, OutboxConfig, OutboxError, ReceiptKind, Resolution,
    ServerProfile, Submission, SubmissionId, SubmissionState, WaitingFor, built_in_profile,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, drain, lost, simulate, status, status_with, takes, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

fn draft(outbox: &Outbox, version: u32) -> Submission {
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
fn trace(world: &World) -> Vec<(u32, u64)> {
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

fn versions(world: &World) -> Vec<u32> {
    trace(world)
        .into_iter()
        .map(|(version, _)| version)
        .collect()
}

fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

fn waits(outbox: &Outbox, id: SubmissionId) -> Option<WaitingFor> {
    outbox.snapshot(id).unwrap().waiting_for
}

fn decide(outbox: &Outbox, id: SubmissionId, resolution: Resolution) {
    let revision = outbox.snapshot(id).unwrap().revision;
    outbox.resolve(id, revision, resolution).unwrap();
}

const RETRY: Resolution = Resolution::RetrySameKey {
    accept_second_effect: false,
};

async fn settle(world: &World) {
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

/// W2, W3: after an attempt of the older one that nobody knows the effect of, the newer one waits.
#[test]
fn a_newer_version_waits_out_the_doubt_of_the_older_one() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.submit(two.clone()).unwrap();
        assert_eq!(
            waits(&outbox, one.id),
            Some(WaitingFor::Newer { id: two.id })
        );
        for _ in 0..20 {
            // Nothing shortens it: C12.
            outbox.wake(two.id).unwrap();
            outbox.wake(one.id).unwrap();
            outbox
                .network_available(submit_once::NetworkKind::Metered)
                .unwrap();
            world.pass(SECOND).await;
        }
        assert_eq!(trace(&world), [(1, 0), (2, 15)]);
        let superseded = SubmissionState::Superseded { by: two.id };
        let snapshot = outbox.snapshot(one.id).unwrap();
        assert_eq!(snapshot.state, superseded);
        assert!(snapshot.in_doubt, "its doubt is on record");
    });
}

/// The same if the doubt comes when the newer one is waiting already.
#[test]
fn the_wait_counts_from_the_end_of_the_olders_last_unknown_attempt() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.submit(two.clone()).unwrap();
        world.pass(SECOND * 30).await;
        world.network.take().failed(submit_once::Fault::Lost);
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(trace(&world), [(1, 0), (2, 45)]);
    });
}

/// W4: the older one was given up, and its request still travels.
#[test]
fn a_newer_version_waits_out_the_doubt_of_one_that_was_given_up() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.cancel(one.id).unwrap();
        decide(&outbox, one.id, Resolution::GiveUp);
        assert_eq!(state(&outbox, one.id), SubmissionState::Abandoned);
        outbox.submit(two.clone()).unwrap();
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(trace(&world), [(1, 0), (2, 15)]);
    });
}

/// W5, W6: a kill with the older one on the wire; the wait counts from the takeover.
#[test]
fn a_newer_version_waits_out_the_doubt_that_a_kill_left() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open_apart(&place);
        world.network.play([Play::Silence]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.submit(two.clone()).unwrap();
        // Its flights end as unknown, as they do by a kill.
        drop(outbox);
        world.pass(SECOND * 100).await;
        let outbox = world.open_apart(&place);
        outbox.start().unwrap();
        outbox.wait(two.id, HOUR).await.unwrap();
        let trace = trace(&world);
        assert_eq!(versions(&world), [1, 2], "{trace:?}");
        assert_eq!(
            state(&outbox, one.id),
            SubmissionState::Superseded { by: two.id }
        );
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

/// W9: the short quiet time of a server that locks keys is for one key; the versions have others.
#[test]
fn a_servers_lock_of_keys_doesnt_shorten_the_wait() {
    let place = Place::new();
    simulate(9, |world| async move {
        let profile = ServerProfile {
            latest_wins: true,
            ..built_in_profile(BuiltInProfile::Ietf)
        };
        assert_eq!(profile.quiet_time, SECOND);
        let outbox = world.open_with(OutboxConfig {
            profile: Some(profile),
            ..world.config(&place)
        });
        world.network.play([lost()]);
        let keyed = |version| Submission {
            effect: None,
            ..draft(&outbox, version)
        };
        let (one, two) = (keyed(1), keyed(2));
        outbox.submit(one).unwrap();
        outbox.start().unwrap();
        settle(&world).await;
        outbox.submit(two.clone()).unwrap();
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(trace(&world), [(1, 0), (2, 15)]);
    });
}

/// The long wait is for other versions; a repeat of its own waits the server's own quiet time.
#[test]
fn a_version_alone_is_repeated_as_soon_as_any_other_submission() {
    let place = Place::new();
    simulate(18, |world| async move {
        let profile = ServerProfile {
            latest_wins: true,
            ..built_in_profile(BuiltInProfile::Ietf)
        };
        let outbox = world.open_with(OutboxConfig {
            profile: Some(profile),
            ..world.config(&place)
        });
        world.network.play([lost()]);
        let one = draft(&outbox, 1);
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(one.id, HOUR).await.unwrap();
        let (_, at) = trace(&world)[1];
        assert!(at < 5, "{at}");
    });
}

#[test]
fn the_wait_outlives_a_reboot() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let (one, two) = (draft(&outbox, 1), draft(&outbox, 2));
        outbox.submit(one).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.submit(two.clone()).unwrap();
        world.pass(SECOND * 4).await;
        drop(outbox);
        world.clock.reboot();
        let outbox = world.open(&place);
        outbox.start().unwrap();
        outbox.wait(two.id, HOUR).await.unwrap();
        let (version, at) = trace(&world)[1];
        assert_eq!(version, 2);
        assert!(at >= 15, "{at}");
    });
}

/// After a reboot nobody knows how much of it is over: it counts anew, for a version that comes then too.
#[test]
fn a_version_that_comes_after_a_reboot_waits_as_well() {
    let place = Place::new();
    simulate(17, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let one = draft(&outbox, 1);
        outbox.submit(one).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND * 5).await;
        drop(outbox);
        world.clock.reboot();
        let outbox = world.open(&place);
        let two = draft(&outbox, 2);
        outbox.submit(two.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(two.id, HOUR).await.unwrap();
        assert_eq!(trace(&world), [(1, 0), (2, 20)]);
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
