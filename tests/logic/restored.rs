//! P11: a copy of a database (a restored backup, a cloned device) sends nothing by itself, since
//! nobody knows in it what the original has sent.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    HoldReason, ListFilter, OpenError, Outbox, OutboxConfig, Resolution, Snapshot, Submission,
    SubmissionId, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, keys, lost, order, simulate};

const HELD: SubmissionState = SubmissionState::Held {
    reason: HoldReason::Restored,
};

const RETRY: Resolution = Resolution::RetrySameKey {
    accept_second_effect: true,
};

fn installed(world: &World, place: &Place, id: &str) -> OutboxConfig {
    OutboxConfig {
        install_id: Some(id.to_owned()),
        ..world.config(place)
    }
}

/// The database's files as they are now, with the log, in a place of their own.
fn copy(place: &Place) -> Place {
    let copy = Place::new();
    for suffix in ["", "-wal", "-highwater"] {
        let name = format!("outbox.sqlite3{suffix}");
        fs::copy(place.folder().join(&name), copy.folder().join(&name)).unwrap();
    }
    copy
}

fn everything(outbox: &Outbox) -> Vec<Snapshot> {
    let page = outbox.list(ListFilter::default(), Default::default());
    page.unwrap().snapshots
}

fn release(outbox: &Outbox) {
    let released = outbox.resolve_all(HoldReason::Restored, RETRY).unwrap();
    assert_eq!(released.refused, 0);
}

/// The original is open, with something sent, something on the wire, something in doubt, something
/// held and something new.
async fn original(world: &World, place: &Place) -> (Arc<Outbox>, Vec<SubmissionId>) {
    let outbox = world.open_with(installed(world, place, "phone"));
    let draining = {
        let outbox = Arc::clone(&outbox);
        let orders: Vec<Submission> = ["sent", "lost", "wire"]
            .map(|slot| order(&outbox, slot))
            .into();
        world.network.play([
            Play::Answer(Duration::from_millis(5), answer(201, "{}")),
            lost(),
            Play::HandOver { confirm: true },
        ]);
        outbox.submit_all(orders).unwrap();
        tokio::spawn(async move { drain(&outbox).await })
    };
    world.pass(Duration::from_millis(200)).await;
    assert_eq!(world.network.held(), 1);
    let cancelled = outbox.begin("lost".into()).unwrap();
    outbox.cancel(cancelled).unwrap();
    let new = order(&outbox, "new");
    outbox.submit(new).unwrap();
    draining.abort();
    let ids = everything(&outbox).iter().map(|one| one.id).collect();
    (outbox, ids)
}

#[test]
fn a_copy_holds_everything_unsettled_and_sends_it_once_when_released() {
    let place = Place::new();
    simulate(1, |world| async move {
        let (original, ids) = original(&world, &place).await;
        let copied = copy(&place);
        original.suspend().unwrap();
        let before = world.network.seen().len();

        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        assert!(outbox.open_report().restored);
        let held = everything(&outbox);
        assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), ids);
        assert_eq!(held[0].state, SubmissionState::Succeeded);
        for one in &held[1..] {
            assert_eq!(one.state, HELD);
            assert!(one.in_doubt, "{one:?}");
        }
        drain(&outbox).await;
        world.pass(Duration::from_secs(100_000)).await;
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), before, "nothing by itself");

        let refused = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        let refused = outbox.resolve(held[3].id, held[3].revision, refused);
        refused.unwrap_err();
        release(&outbox);
        drain(&outbox).await;
        // The server may still be working on what the original had on the wire.
        assert_eq!(keys(&world, before), [ids[3].to_string()]);
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        let mut keys = keys(&world, before);
        keys.sort();
        let mut expected: Vec<String> = ids[1..].iter().map(ToString::to_string).collect();
        expected.sort();
        assert_eq!(keys, expected);
        for one in everything(&outbox) {
            assert_eq!(one.state, SubmissionState::Succeeded);
        }
        original.close();
    });
}

/// The feed tells each hold, so that a screen that follows it shows them.
#[test]
fn the_feed_tells_of_each_hold() {
    let place = Place::new();
    simulate(2, |world| async move {
        let (original, ids) = original(&world, &place).await;
        let submit_once::ChangePage::Changes { next, .. } = original.changes(0, 100).unwrap()
        else {
            panic!()
        };
        let copied = copy(&place);
        original.close();
        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        let submit_once::ChangePage::Changes { changes, .. } = outbox.changes(next, 100).unwrap()
        else {
            panic!()
        };
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.id, change.state, change.revision))
            .collect();
        let held: Vec<_> = everything(&outbox)[1..]
            .iter()
            .map(|one| (one.id, HELD, one.revision))
            .collect();
        assert_eq!(told, held);
        assert_eq!(ids.len(), 4);
    });
}

/// The second opening of a copy is one of its own database.
#[test]
fn a_copy_is_held_once() {
    let place = Place::new();
    simulate(3, |world| async move {
        let (original, _) = original(&world, &place).await;
        let copied = copy(&place);
        original.close();
        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        release(&outbox);
        outbox.close();
        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        assert!(!outbox.open_report().restored);
        assert!(everything(&outbox).iter().all(|one| one.state != HELD));
        let identity = |place: &Place| -> Vec<u8> {
            place
                .sql()
                .query_row("SELECT database_id FROM meta", [], |row| row.get(0))
                .unwrap()
        };
        assert_ne!(identity(&copied), identity(&place));
    });
}

#[test]
fn the_same_installation_and_one_without_a_name_are_no_copies() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        outbox.submit(order(&outbox, "form")).unwrap();
        outbox.close();
        for config in [
            installed(&world, &place, "phone"),
            installed(&world, &place, "phone"),
            world.config(&place),
        ] {
            let outbox = world.open_with(config);
            assert!(!outbox.open_report().restored);
            assert_eq!(everything(&outbox)[0].state, SubmissionState::Pending);
            outbox.close();
        }
        // The name was kept when it was first told.
        let outbox = world.open_with(installed(&world, &place, "tablet"));
        assert!(outbox.open_report().restored);
    });
}

/// What is damaged can't be sent, so a release doesn't concern it.
#[test]
fn what_is_held_as_damaged_stays_so_in_doubt() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open_with(installed(&world, &place, "phone"));
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.close();
        place
            .sql()
            .execute(
                "UPDATE submission SET state = 'held', reason = 'damaged'",
                [],
            )
            .unwrap();
        let outbox = world.open_with(installed(&world, &place, "tablet"));
        let snapshot = outbox.snapshot(order.id).unwrap();
        let damaged = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        assert_eq!(snapshot.state, damaged);
        assert!(snapshot.in_doubt);
    });
}

/// The original may have accepted and sent it after the copy was made.
#[test]
fn an_id_from_before_the_copy_that_is_new_in_it_begins_in_doubt() {
    let place = Place::new();
    simulate(6, |world| async move {
        let (original, _) = original(&world, &place).await;
        let copied = copy(&place);
        let later = order(&original, "later");
        world.pass(Duration::from_secs(10)).await;
        original.close();
        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        outbox.submit(later.clone()).unwrap();
        assert!(outbox.snapshot(later.id).unwrap().in_doubt);
        let before = world.network.seen().len();
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), before);
        world.pass(Duration::from_secs(10)).await;
        let new = order(&outbox, "of the copy");
        outbox.submit(new.clone()).unwrap();
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), before + 1);
    });
}

/// The very file that another process has open is no copy, whatever the configuration says.
#[test]
fn another_name_for_a_file_that_is_open_is_refused() {
    let place = Place::new();
    simulate(7, |world| async move {
        let (original, _) = original(&world, &place).await;
        let seams = submit_once::Seams {
            apart: true,
            ..world.seams()
        };
        let error = Outbox::open_with(installed(&world, &place, "tablet"), seams).unwrap_err();
        let OpenError::InvalidConfig { field, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(field, "install_id");
        assert!(everything(&original).iter().all(|one| one.state != HELD));
    });
}

/// Boots are counted on some systems: the same number on two devices is not the same boot.
#[test]
fn a_boot_of_the_same_name_is_another_one() {
    let place = Place::new();
    simulate(8, |world| async move {
        let (original, _) = original(&world, &place).await;
        let copied = copy(&place);
        original.close();
        let outbox = world.open_with(installed(&world, &copied, "tablet"));
        let boots = |place: &Place| -> i64 {
            place
                .sql()
                .query_row("SELECT count(*) FROM boot", [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!((boots(&place), boots(&copied)), (1, 2));
        drop(outbox);
    });
}
