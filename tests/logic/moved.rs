//! F99: a database lives in a folder of its own, so that moving it is one rename. There is no half of it:
//! its log, the bodies beside it and the mark of how far it had come go with it.

use std::collections::BTreeSet;
use std::fs;

use submit_once::{OutboxConfig, StorageError, SubmissionState};

use crate::common::Place;
use crate::common::sim::{keys, lost, order, simulate};

#[test]
fn a_database_is_moved_with_its_folder_and_nothing_is_lost() {
    let place = Place::new();
    simulate(1, |world| async move {
        let folder = |name: &str| place.folder().join(name);
        let config = |name: &str| OutboxConfig {
            path: folder(name)
                .join("outbox.sqlite3")
                .to_str()
                .unwrap()
                .to_owned(),
            ..world.config(&place)
        };
        let outbox = world.open_with(config("documents"));
        world.network.play([lost()]);
        let tried = order(&outbox, "tried");
        outbox.submit(tried.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(std::time::Duration::from_secs(1)).await;
        outbox.suspend().unwrap();
        // In a file beside the database.
        let film = place.file("film", &vec![7; 300 * 1024]);
        let large = order(&outbox, "large").file("video/mp4", film);
        outbox.submit(large.clone()).unwrap();
        let late = order(&outbox, "late");
        fs::rename(folder("documents"), folder("private")).unwrap();
        // Whoever had it open is told, and can't know where the call went: it is made again.
        let moved = StorageError::Moved.into();
        assert_eq!(outbox.submit(late.clone()), Err(moved));
        drop(outbox);
        let outbox = world.open_with(config("private"));
        let report = outbox.open_report();
        assert!(!report.created && report.lost_changes == 0, "{report:?}");
        outbox.submit(late.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(std::time::Duration::from_secs(60)).await;
        for submission in [&tried, &large, &late] {
            let state = outbox.snapshot(submission.id).unwrap().state;
            assert_eq!(state, SubmissionState::Succeeded);
        }
        assert_eq!(world.network.seen().len(), 4, "the first of them twice");
        let keys: BTreeSet<String> = keys(&world, 0).into_iter().collect();
        assert_eq!(keys.len(), 3, "each with its own key");
        assert!(!folder("documents").exists());
    });
}
