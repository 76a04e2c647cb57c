//! Files that are deleted, replaced, put back or copied.

use std::fs;
use std::path::Path;
use std::time::Duration;

use submit_once::{DrainBudget, HoldReason, Outbox, OutboxConfig, OutboxError, StorageError};

use crate::base::{checkpoint, config, files, lay, open};
use crate::common::sim::{drain, order};
use crate::scenarios::{is_told, placed, with_base};

const MOVED: OutboxError = OutboxError::Storage {
    storage: StorageError::Moved,
};

pub fn deleted() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let late = order(&outbox, "late");
        for suffix in ["", "-wal", "-shm"] {
            fs::remove_file(place.folder().join(format!("outbox.sqlite3{suffix}"))).unwrap();
        }
        assert_eq!(outbox.submit(late).unwrap_err(), MOVED);
        let sent = world.network.seen().len();
        let budget = DrainBudget::of(Duration::from_secs(60));
        assert_eq!(outbox.drain(budget).await.unwrap_err(), MOVED);
        assert_eq!(world.network.seen().len(), sent, "a ghost sends nothing");
        outbox.close();
        let outbox = Outbox::open_with(config(&world, &place), world.seams()).unwrap();
        assert!(outbox.open_report().lost_changes > 0);
        base.deliver_after_decisions(&world, &outbox).await;
    });
}

/// Commits go on into a file that nobody finds again, so the call says so.
pub fn log_deleted() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let late = order(&outbox, "late");
        fs::remove_file(place.folder().join("outbox.sqlite3-wal")).unwrap();
        assert_eq!(outbox.submit(late.clone()).unwrap_err(), MOVED);
        outbox.close();
        let outbox = open(&world, &place, &base).unwrap();
        // Nobody knows whether it was stored; here it isn't wanted any more.
        outbox.cancel(late.id).ok();
        base.deliver(&world, &outbox).await;
    });
}

/// A copy is put in its place while it is open, and the log stays.
pub fn replaced() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let late = order(&outbox, "late");
        let copy = place.folder().join("copy");
        fs::write(&copy, &base.live[Path::new("outbox.sqlite3")]).unwrap();
        fs::rename(&copy, place.database()).unwrap();
        assert_eq!(outbox.submit(late.clone()).unwrap_err(), MOVED);
        outbox.close();
        let outbox = open(&world, &place, &base).unwrap();
        // Nobody knows whether it was stored; here it isn't wanted any more.
        outbox.cancel(late.id).ok();
        base.deliver(&world, &outbox).await;
    });
}

/// The copy of yesterday doesn't know what was sent since; the mark of how far it had come does.
pub fn older_copy() {
    with_base(|world, base| async move {
        let place = placed(&base.closed);
        let outbox = open(&world, &place, &base).unwrap();
        drain(&outbox).await;
        let now = base.with_states_of(&outbox);
        outbox.close();
        checkpoint(&place);
        let mut yesterday = now.closed.clone();
        yesterday.retain(|path, _| path == Path::new("outbox.sqlite3"));
        lay(&yesterday, &place);
        is_told(&world, &place, &now).await;
    });
}

pub fn other_device() {
    with_base(|world, base| async move {
        let with_id = |place, id: &str| OutboxConfig {
            install_id: Some(id.to_owned()),
            ..config(&world, place)
        };
        let place = placed(&base.live);
        let phone = with_id(&place, "phone");
        Outbox::open_with(phone, world.seams()).unwrap().close();
        let copied = placed(&files(&place));
        let tablet = with_id(&copied, "tablet");
        let outbox = Outbox::open_with(tablet, world.seams()).unwrap();
        assert!(outbox.open_report().restored);
        let held = outbox.list(
            submit_once::ListFilter {
                reason: Some(HoldReason::Restored),
                ..submit_once::ListFilter::default()
            },
            submit_once::PageRequest::default(),
        );
        assert!(held.unwrap().snapshots.len() > 8);
        base.deliver_after_decisions(&world, &outbox).await;
    });
}

/// All files of it: as a power cut leaves them.
pub fn copied_while_open() {
    with_base(|world, base| async move {
        let place = placed(&base.closed);
        let outbox = open(&world, &place, &base).unwrap();
        let copied = placed(&files(&place));
        outbox.close();
        crate::scenarios::is_whole(&world, &copied, &base).await;
    });
}
