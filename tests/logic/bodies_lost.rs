//! Stored bodies that are gone or changed before a send: said, and never sent (P5, P11).

use std::fs;
use std::time::Duration;

use submit_once::{
    Fault, HoldReason, OutboxError, RejectReason, Resolution, Snapshot, SubmissionState,
};

use crate::bodies::{bytes, open, photo};
use crate::common::Place;
use crate::common::sim::{Play, World, drain, lost, simulate, status, unreachable};

/// What becomes of a submission whose stored body is tampered with while it waits.
async fn after(
    world: &World,
    before: &[Play],
    tamper: impl Fn(&std::path::Path),
) -> (Snapshot, usize) {
    let place = Place::new();
    let outbox = open(world, &place);
    let path = place.file("photo", &bytes(5_000));
    let photo = photo(&outbox, "form", &path);
    world.network.play(before.to_vec());
    let seen = world.network.seen().len();
    outbox.submit(photo.clone()).unwrap();
    outbox.start().unwrap();
    for n in 0..before.len() {
        while world.network.seen().len() == seen + n {
            world.pass(Duration::from_secs(1)).await;
        }
    }
    // The last of them has ended, and the next hasn't begun.
    outbox.suspend().unwrap();
    tamper(&place.bodies()[0]);
    outbox.start().unwrap();
    world.pass(Duration::from_secs(3_600)).await;
    let snapshot = outbox.snapshot(photo.id).unwrap();
    if snapshot.state
        == (SubmissionState::Held {
            reason: HoldReason::Damaged,
        })
    {
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        let refused = outbox
            .resolve(photo.id, snapshot.revision, retry)
            .unwrap_err();
        assert!(matches!(refused, OutboxError::CannotRetry { .. }));
    }
    outbox.close();
    (snapshot, world.network.seen().len() - seen)
}

/// F42: it says so, and doesn't try for ever.
#[test]
fn a_body_that_is_gone_or_changed_before_it_was_ever_sent_ends_as_rejected() {
    simulate(6, |world| async move {
        let rejected = SubmissionState::Rejected {
            reason: RejectReason::BodyMissing,
        };
        for before in [vec![], vec![unreachable()]] {
            let attempts = before.len();
            let (snapshot, sent) =
                after(&world, &before, |path| fs::remove_file(path).unwrap()).await;
            assert_eq!(snapshot.state, rejected);
            assert_eq!(sent, attempts);
            let problem = snapshot.last_problem.unwrap();
            assert!(problem.contains("no longer there"), "{problem}");
        }
        for tamper in TAMPER {
            let (snapshot, sent) = after(&world, &[], tamper).await;
            assert_eq!(snapshot.state, rejected);
            assert_eq!(sent, 0);
            let problem = snapshot.last_problem.unwrap();
            assert!(
                problem.contains("not the one that was accepted"),
                "{problem}"
            );
        }
    });
}

const TAMPER: [fn(&std::path::Path); 5] = [
    |path| fs::write(path, [bytes(4_999), vec![0]].concat()).unwrap(),
    |path| fs::write(path, bytes(5_001)).unwrap(),
    |path| fs::write(path, b"").unwrap(),
    |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    },
    |path| {
        let elsewhere = path.with_extension("moved");
        fs::rename(path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(elsewhere, path).unwrap();
    },
];

/// P5: what may have happened is not called rejected.
#[test]
fn a_body_that_is_lost_after_something_was_sent_is_held_as_damaged() {
    simulate(7, |world| async move {
        let held = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        for (before, in_doubt) in [
            (vec![lost()], true),
            (vec![unreachable(), lost()], true),
            (vec![status(503)], true),
            // Without effect, but it was sent.
            (vec![status(429)], false),
            (vec![status(429), unreachable()], false),
        ] {
            for tamper in [TAMPER[0], |path| fs::remove_file(path).unwrap()] {
                let (snapshot, sent) = after(&world, &before, tamper).await;
                assert_eq!(snapshot.state, held, "{before:?}");
                assert_eq!(snapshot.in_doubt, in_doubt, "{before:?}");
                assert_eq!(sent, before.len());
            }
        }
    });
}

/// A locked phone: it isn't lost, and isn't asked for without a pause.
#[test]
fn a_body_that_cannot_be_read_now_is_tried_again() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = open(&world, &place);
        let path = place.file("photo", &bytes(5_000));
        let photo = photo(&outbox, "form", &path);
        outbox.submit(photo.clone()).unwrap();
        let file = place.bodies().remove(0);
        let away = place.folder().join("away");
        fs::rename(&file, &away).unwrap();
        // A socket can't be opened, which is neither "not there" nor "another file".
        let socket = std::os::unix::net::UnixListener::bind(&file).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(600)).await;
        let snapshot = outbox.snapshot(photo.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert!(!snapshot.in_doubt);
        assert!(snapshot.attempts < 30, "{}", snapshot.attempts);
        assert!(snapshot.last_problem.unwrap().contains("can't be read now"));
        drop(socket);
        fs::remove_file(&file).unwrap();
        fs::rename(&away, &file).unwrap();
        world.pass(Duration::from_secs(3_600)).await;
        assert_eq!(
            outbox.snapshot(photo.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// The transport finds it out, after the check.
#[test]
fn a_transport_that_misses_the_body_is_believed() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = open(&world, &place);
        world.network.play([Play::Fail {
            after: Duration::from_millis(10),
            sent: false,
            fault: Fault::BodyMissing,
        }]);
        let path = place.file("photo", &bytes(5_000));
        let photo = photo(&outbox, "form", &path);
        outbox.submit(photo.clone()).unwrap();
        drain(&outbox).await;
        let state = outbox.snapshot(photo.id).unwrap().state;
        let reason = RejectReason::BodyMissing;
        assert_eq!(state, SubmissionState::Rejected { reason });
    });
}

/// The name and the length are part of what the row's checksum covers.
#[test]
fn a_row_that_names_another_file_is_damaged() {
    for change in [
        "body_file = (SELECT body_file FROM request WHERE seq = 2)",
        "body_length = body_length + 1",
        "body_file = '../photo'",
        "body_digest = zeroblob(32)",
    ] {
        let place = Place::new();
        simulate(10, |world| async move {
            let outbox = open(&world, &place);
            let path = place.file("photo", &bytes(5_000));
            let first = photo(&outbox, "first", &path);
            outbox.submit(first.clone()).unwrap();
            outbox.submit(photo(&outbox, "second", &path)).unwrap();
            let sql = place.sql();
            sql.execute_batch("DROP TRIGGER request_frozen").unwrap();
            let change = format!("UPDATE request SET {change} WHERE seq = 1");
            assert_eq!(sql.execute(&change, []).unwrap(), 1);
            drop(sql);
            drain(&outbox).await;
            let state = outbox.snapshot(first.id).unwrap().state;
            let reason = HoldReason::Damaged;
            assert_eq!(state, SubmissionState::Held { reason }, "{change}");
            assert_eq!(world.network.sent(), 1);
        });
    }
}
