//! How long a newer version waits for an older one whose last attempt nobody knows the effect of.

use std::time::Duration;

use submit_once::{
    BuiltInProfile, OutboxConfig, Resolution, ServerProfile, Submission, SubmissionState,
    WaitingFor, built_in_profile,
};

use crate::common::Place;
use crate::common::sim::{Play, lost, simulate};
use crate::latest::{decide, draft, settle, state, trace, versions, waits};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

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
