//! Files of bodies: there as long as they are needed, gone when they aren't, whatever dies in
//! between (P1, P3, P11).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    CancelOutcome, Limits, Outbox, OutboxError, ReceiptKind, Resolution, StorageError, Submission,
    SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, simulate, status};
use crate::common::vfs;

pub fn open(world: &World, place: &Place) -> Arc<Outbox> {
    let limits = Limits {
        inline_body_bytes: 1_000,
        max_queued: 3,
        ..Limits::default()
    };
    world.open_with(world.config(place).limits(limits))
}

pub fn photo(place: &Place, outbox: &Outbox, slot: &str) -> Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    let path = place.file(slot, &slot.as_bytes().repeat(1_000));
    Submission::post(id, "/photos").file("image/jpeg", path)
}

fn rows(place: &Place) -> i64 {
    place
        .sql()
        .query_row("SELECT count(*) FROM body_file", [], |row| row.get(0))
        .unwrap()
}

/// F44: accepted and not sent, it is there after a restart, and goes then.
#[test]
fn a_pending_body_outlives_its_process_and_the_apps_own_file() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        outbox.submit(photo.clone()).unwrap();
        outbox.close();
        fs::remove_file(place.folder().join("photo")).unwrap();
        let outbox = open(&world, &place);
        assert_eq!(place.bodies().len(), 1);
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(photo.id).unwrap().state,
            SubmissionState::Succeeded
        );
        assert_eq!(place.bodies().len(), 0);
        assert_eq!(rows(&place), 0);
    });
}

#[test]
fn whatever_settles_a_submission_lets_its_file_go() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = open(&world, &place);
        let submit = |slot: &str| {
            let photo = photo(&place, &outbox, slot);
            outbox.submit(photo.clone()).unwrap();
            assert_eq!(place.bodies().len(), 1, "{slot}");
            photo.id
        };
        let id = submit("cancelled");
        assert_eq!(outbox.cancel(id).unwrap(), CancelOutcome::Cancelled);
        assert_eq!(place.bodies().len(), 0);

        submit("refused");
        world.network.play([status(400)]);
        drain(&outbox).await;
        assert_eq!(place.bodies().len(), 0);

        let id = submit("given up");
        // Held for its outcome: still needed.
        world.network.play([status(207)]);
        drain(&outbox).await;
        let snapshot = outbox.snapshot(id).unwrap();
        assert!(matches!(snapshot.state, SubmissionState::Held { .. }));
        for _ in 0..3 {
            outbox.retain().unwrap();
        }
        assert_eq!(place.bodies().len(), 1);
        outbox
            .resolve(id, snapshot.revision, Resolution::GiveUp)
            .unwrap();
        assert_eq!(place.bodies().len(), 0);

        let soon = std::time::UNIX_EPOCH + Duration::from_millis(1_750_000_060_000);
        let expiring = photo(&place, &outbox, "expired").expires_at(soon);
        outbox.submit(expiring.clone()).unwrap();
        world.pass(Duration::from_secs(120)).await;
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(expiring.id).unwrap().state,
            SubmissionState::Expired
        );
        assert_eq!(place.bodies().len(), 0);
        assert_eq!(rows(&place), 0);
    });
}

/// F46: the record of the success is enough. A process that died before the file was deleted leaves
/// it to the next opening, and nothing is sent again.
#[test]
fn a_crash_between_settling_and_deleting_is_mended_when_it_is_opened() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        outbox.submit(photo.clone()).unwrap();
        let file = place.bodies().remove(0);
        let copy = fs::read(&file).unwrap();
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1);
        outbox.close();
        let name = file.file_name().unwrap().to_str().unwrap();
        for file_is_gone in [false, true] {
            // As it was right before the file went, and right after that.
            if !file_is_gone {
                fs::write(&file, &copy).unwrap();
            }
            place
                .sql()
                .execute("INSERT INTO body_file VALUES (?1, 1, 1)", [name])
                .unwrap();
            let outbox = open(&world, &place);
            assert_eq!(place.bodies().len(), 0);
            assert_eq!(rows(&place), 0);
            drain(&outbox).await;
            assert_eq!(
                outbox.submit(photo.clone()).unwrap().kind,
                ReceiptKind::Replayed
            );
            assert_eq!(world.network.sent(), 1);
            outbox.close();
        }
    });
}

/// What is refused, joined or replayed leaves no copy behind.
#[test]
fn a_submit_that_stores_nothing_keeps_no_file() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = open(&world, &place);
        let photos: Vec<_> = ["photo a", "photo b", "photo c", "photo d"]
            .map(|slot| photo(&place, &outbox, slot))
            .into();
        let full = OutboxError::QueueFull { most: 3 };
        assert_eq!(outbox.submit_all(photos.clone()).unwrap_err(), full);
        assert_eq!(place.bodies().len(), 0, "all or none");
        let twice = vec![photos[0].clone(), photos[0].clone(), photos[1].clone()];
        let kinds: Vec<_> = outbox
            .submit_all(twice)
            .unwrap()
            .iter()
            .map(|receipt| receipt.kind)
            .collect();
        use ReceiptKind::{Accepted, Joined};
        assert_eq!(kinds, [Accepted, Joined, Accepted]);
        assert_eq!(place.bodies().len(), 2);
        outbox.submit_all(photos[..3].to_vec()).unwrap();
        let folder = place.bodies()[0].parent().unwrap().to_owned();
        let changed = || fs::metadata(&folder).unwrap().modified().unwrap();
        let before = changed();
        assert_eq!(outbox.submit(photos[3].clone()).unwrap_err(), full);
        assert_eq!(changed(), before, "nothing is copied for a full queue");
        assert_eq!(place.bodies().len(), 3);
        assert_eq!(rows(&place), 3);
        // A full queue still joins.
        assert_eq!(outbox.submit(photos[2].clone()).unwrap().kind, Joined);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 3);
        assert_eq!(place.bodies().len(), 0);
    });
}

/// A disk that is full for the database: nothing half-done, and repeats still join.
#[test]
fn on_a_full_disk_nothing_is_left_and_a_repeat_joins() {
    let place = Place::new();
    simulate(8, |mut world| async move {
        world.vfs = Some(vfs::register());
        let outbox = open(&world, &place);
        let first = photo(&place, &outbox, "first");
        let second = photo(&place, &outbox, "second");
        outbox.submit(first.clone()).unwrap();
        let disk = vfs::disk(&place.database());
        disk.full.store(true, std::sync::atomic::Ordering::SeqCst);
        let full = OutboxError::Storage {
            storage: StorageError::Full,
        };
        assert_eq!(outbox.submit(second.clone()).unwrap_err(), full);
        assert_eq!(outbox.submit_all(vec![second.clone()]).unwrap_err(), full);
        assert_eq!(place.bodies().len(), 1);
        assert_eq!(outbox.submit(first).unwrap().kind, ReceiptKind::Joined);
        disk.full.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(outbox.submit(second).unwrap().kind, ReceiptKind::Accepted);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 2);
    });
}

/// Not certain to be durable: then the row may be there, and its file must be.
#[test]
fn a_file_stays_where_its_row_may_be_stored() {
    let place = Place::new();
    simulate(9, |mut world| async move {
        world.vfs = Some(vfs::register());
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        let disk = vfs::disk(&place.database());
        disk.fails_sync
            .store(true, std::sync::atomic::Ordering::SeqCst);
        let uncertain = OutboxError::Storage {
            storage: StorageError::Indeterminate,
        };
        assert_eq!(outbox.submit(photo.clone()).unwrap_err(), uncertain);
        assert_eq!(place.bodies().len(), 1);
        disk.fails_sync
            .store(false, std::sync::atomic::Ordering::SeqCst);
        outbox.submit(photo.clone()).unwrap();
        drain(&outbox).await;
        assert_eq!(
            outbox.snapshot(photo.id).unwrap().state,
            SubmissionState::Succeeded
        );
        outbox.close();
        let outbox = open(&world, &place);
        assert_eq!(place.bodies().len(), 0);
        drop(outbox);
    });
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error_and_mends() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = open(&world, &place);
        let folder = place.folder().join("outbox.sqlite3-bodies");
        let photo = photo(&place, &outbox, "photo");
        for in_its_place in [true, false] {
            if in_its_place {
                fs::write(&folder, "a file").unwrap();
            } else {
                std::os::unix::fs::symlink(place.folder(), &folder).unwrap();
            }
            let error = outbox.submit(photo.clone()).unwrap_err();
            let OutboxError::Storage { storage } = error else {
                panic!()
            };
            assert!(
                matches!(storage, StorageError::Unavailable { .. }),
                "{storage:?}"
            );
            fs::remove_file(&folder).unwrap();
        }
        assert_eq!(outbox.stats().unwrap().pending, 0);
        outbox.submit(photo).unwrap();
        drop(fs::set_permissions(
            &folder,
            fs::Permissions::from_mode(0o700),
        ));
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1);
    });
}

/// P3: a double tap on "send photo", from several threads at once.
#[test]
fn sixteen_taps_on_one_photo_keep_one_file_and_send_it_once() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        let start = std::sync::Barrier::new(16);
        let kinds: Vec<_> = std::thread::scope(|scope| {
            let taps: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        outbox.submit(photo.clone()).unwrap().kind
                    })
                })
                .collect();
            taps.into_iter().map(|tap| tap.join().unwrap()).collect()
        });
        let accepted = kinds.iter().filter(|kind| **kind == ReceiptKind::Accepted);
        assert_eq!(accepted.count(), 1);
        assert_eq!(place.bodies().len(), 1);
        assert_eq!(rows(&place), 1);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1);
        assert_eq!(place.bodies().len(), 0);
    });
}

/// Somebody tidies up between the copy and its row: then nothing is stored, and the app is told.
#[test]
fn a_copy_that_is_gone_before_its_row_is_stored_is_noticed() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        let other = place.sql();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = std::thread::scope(|scope| {
            let tap = scope.spawn(|| outbox.submit(photo.clone()).unwrap_err());
            let whole = loop {
                let whole = place.bodies().into_iter().find(|path| {
                    path.extension()
                        .is_some_and(|extension| extension != "part")
                });
                match whole {
                    Some(path) => break path,
                    None => std::thread::yield_now(),
                }
            };
            fs::remove_file(whole).unwrap();
            other.execute_batch("ROLLBACK").unwrap();
            tap.join().unwrap()
        });
        let OutboxError::Storage { storage } = error else {
            panic!("{error:?}")
        };
        assert!(
            matches!(storage, StorageError::Unavailable { .. }),
            "{storage:?}"
        );
        assert_eq!(outbox.stats().unwrap().pending, 0);
        assert_eq!(outbox.submit(photo).unwrap().kind, ReceiptKind::Accepted);
    });
}

/// The body of a submission that retention has dropped is gone with it, and so are its rows.
#[test]
fn retention_leaves_no_file_and_no_row_behind() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = open(&world, &place);
        let photo = photo(&place, &outbox, "photo");
        world.network.play([lost()]);
        outbox.submit(photo.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(600)).await;
        world.pass(Duration::from_secs(40 * 24 * 3_600)).await;
        // A server tells the time, which retention asks for.
        let other = self::photo(&place, &outbox, "other");
        outbox.submit(other.clone()).unwrap();
        world.pass(Duration::from_secs(60)).await;
        while outbox.retain().unwrap() {}
        assert_eq!(outbox.snapshot(photo.id).unwrap().url, "", "a tombstone");
        assert_eq!(outbox.submit(photo).unwrap().kind, ReceiptKind::Replayed);
        assert_eq!(place.bodies().len(), 0);
        assert_eq!(rows(&place), 0);
    });
}
