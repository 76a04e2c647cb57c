//! Files of bodies that no row names: deleted once whoever wrote them is gone (P11).

use std::fs;

use crate::bodies_kept::{open, photo};
use crate::common::Place;
use crate::common::sim::simulate;

/// A crash before the row: a file that nobody names.
#[test]
fn orphans_of_those_who_are_gone_are_deleted_and_no_others() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = open(&world, &place);
        outbox.submit(photo(&place, &outbox, "first")).unwrap();
        let first = place.bodies().remove(0);
        outbox.close();
        let folder = first.parent().unwrap();
        let gone = first.file_name().unwrap().to_str().unwrap();
        let token = &gone[..36];

        let alive = world.open_apart(&place);
        alive
            .submit(photo(&place, &alive, "second").bytes("a/b", vec![1; 300_000]))
            .unwrap();
        let second = place
            .bodies()
            .into_iter()
            .find(|path| *path != first)
            .unwrap();
        let living = &second.file_name().unwrap().to_str().unwrap()[..36].to_owned();
        assert_ne!(token, living);

        let random = "0123456789abcdef0123456789abcdef";
        let orphans = [
            format!("{token}.{random}"),
            format!("{token}.{random}.part"),
        ];
        let kept = [
            // A submit that is under way.
            format!("{living}.{random}"),
            format!("{living}.{random}.part"),
            // Not ours.
            "notes.txt".to_owned(),
            format!("{token}.{random}.bak"),
            format!("{token}.0123"),
        ];
        for name in orphans.iter().chain(&kept) {
            fs::write(folder.join(name), "x").unwrap();
        }
        let outbox = open(&world, &place);
        assert!(first.exists() && second.exists());
        for name in &orphans {
            assert!(!folder.join(name).exists(), "{name}");
        }
        for name in &kept {
            assert!(folder.join(name).exists(), "{name}");
        }
        // Once it is gone as well, so are its leftovers.
        alive.close();
        while outbox.retain().unwrap() {}
        for name in &kept[..2] {
            assert!(!folder.join(name).exists(), "{name}");
        }
        assert!(first.exists() && second.exists());
        assert!(folder.join("notes.txt").exists());
    });
}

/// Bounded, and it gets round to all of them.
#[test]
fn many_orphans_go_some_at_a_time() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = open(&world, &place);
        outbox.submit(photo(&place, &outbox, "first")).unwrap();
        outbox.close();
        let first = place.bodies().remove(0);
        let token = first.file_name().unwrap().to_str().unwrap()[..36].to_owned();
        for n in 0..1_000 {
            let name = format!("{token}.{n:032x}");
            fs::write(first.with_file_name(name), "x").unwrap();
        }
        let outbox = open(&world, &place);
        let left = place.bodies().len();
        assert!((600..1_000).contains(&left), "{left}");
        for _ in 0..100 {
            outbox.retain().unwrap();
        }
        assert_eq!(place.bodies(), [first]);
    });
}

/// P11: after a loss, files without rows may be all that is left of somebody's work.
#[test]
fn after_lost_changes_no_orphan_is_deleted() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = open(&world, &place);
        outbox.submit(photo(&place, &outbox, "photo")).unwrap();
        outbox.close();
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(place.folder().join(format!("outbox.sqlite3{suffix}"))).ok();
        }
        let outbox = open(&world, &place);
        assert!(outbox.open_report().lost_changes > 0);
        outbox.retain().unwrap();
        assert_eq!(place.bodies().len(), 1);
    });
}
