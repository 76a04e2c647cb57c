//! P1 and P11 at the disk: durable before it returns, and every "no" of the disk is a typed error
//! with nothing half-done (F87, F101).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use submit_once::{
    Outbox, OutboxConfig, OutboxError, ReceiptKind, Seams, StorageError, Submission, SubmissionId,
};

use crate::common::Place;
use crate::common::vfs::{self, Disk};

fn open(place: &Place) -> (Arc<Outbox>, Arc<Disk>) {
    let seams = Seams {
        vfs: Some(vfs::register()),
        ..Seams::default()
    };
    let outbox = Outbox::open_with(OutboxConfig::at(place.path()), seams).unwrap();
    (outbox, vfs::disk(&place.database()))
}

fn order(id: SubmissionId) -> Submission {
    Submission::post(id, "http://localhost/orders").json(r#"{"item":"tea"}"#)
}

fn storage(error: OutboxError) -> StorageError {
    match error {
        OutboxError::Storage { storage } => storage,
        error => panic!("{error:?}"),
    }
}

/// With `synchronous=NORMAL` this fails: the commit would return before its sync.
#[test]
fn when_submit_and_begin_return_nothing_written_is_left_unsynced() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    for n in 0..20 {
        let before = disk.syncs.load(Ordering::SeqCst);
        let id = outbox.begin(format!("form {n}")).unwrap();
        assert_eq!(disk.unsynced.load(Ordering::SeqCst), 0);
        outbox.submit(order(id)).unwrap();
        assert_eq!(disk.unsynced.load(Ordering::SeqCst), 0);
        assert!(disk.syncs.load(Ordering::SeqCst) >= before + 2);
    }
}

/// Opening ends with a synced write, so that what a killed process had written but not synced is
/// safe before it is answered.
#[test]
fn opening_leaves_nothing_unsynced() {
    let place = Place::new();
    let (outbox, _) = open(&place);
    let id = SubmissionId::new().unwrap();
    outbox.submit(order(id)).unwrap();
    outbox.close();
    let disk = vfs::disk(&place.database());
    let before = disk.syncs.load(Ordering::SeqCst);
    let (outbox, disk) = open(&place);
    assert!(disk.syncs.load(Ordering::SeqCst) > before, "the boot write");
    assert_eq!(disk.unsynced.load(Ordering::SeqCst), 0);
    outbox.close();
}

#[test]
fn a_repeat_writes_nothing() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let id = SubmissionId::new().unwrap();
    outbox.submit(order(id)).unwrap();
    let writes = disk.writes.load(Ordering::SeqCst);
    for _ in 0..10 {
        assert_eq!(outbox.submit(order(id)).unwrap().kind, ReceiptKind::Joined);
    }
    assert_eq!(disk.writes.load(Ordering::SeqCst), writes);
}

/// F91: a submit writes about as much on a long queue as on a short one.
#[test]
fn the_pages_that_a_submit_writes_do_not_grow_with_the_queue() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let cost = || {
        let before = disk.writes.load(Ordering::SeqCst);
        for _ in 0..50 {
            outbox.submit(order(SubmissionId::new().unwrap())).unwrap();
        }
        disk.writes.load(Ordering::SeqCst) - before
    };
    let short = cost();
    let many: Vec<Submission> = (0..20_000)
        .map(|_| order(SubmissionId::new().unwrap()))
        .collect();
    for chunk in many.chunks(1_000) {
        outbox.submit_all(chunk.to_vec()).unwrap();
    }
    let long = cost();
    assert!(
        long <= short * 2,
        "{short} writes for 50 at first, {long} at 20,000"
    );
}

#[test]
fn a_full_disk_is_a_typed_error_and_joining_still_works() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let (first, second) = (SubmissionId::new().unwrap(), SubmissionId::new().unwrap());
    outbox.submit(order(first)).unwrap();
    disk.full.store(true, Ordering::SeqCst);
    assert_eq!(
        storage(outbox.submit(order(second)).unwrap_err()),
        StorageError::Full
    );
    assert_eq!(
        storage(outbox.begin("form".into()).unwrap_err()),
        StorageError::Full
    );
    assert_eq!(
        outbox.submit(order(first)).unwrap().kind,
        ReceiptKind::Joined
    );
    assert_eq!(
        outbox.snapshot(second),
        Err(OutboxError::UnknownId { id: second })
    );
    let ballast = place.folder().join("outbox.sqlite3-ballast");
    assert!(ballast.exists(), "it is kept for an answer");
    disk.full.store(false, Ordering::SeqCst);
    assert_eq!(
        outbox.submit(order(second)).unwrap().kind,
        ReceiptKind::Accepted
    );
}

/// Another program has the database for longer than the busy timeout: a typed error, and reading
/// still works.
#[test]
fn a_database_in_use_is_busy_and_joining_still_works() {
    let place = Place::new();
    let limits = submit_once::Limits {
        busy_timeout: std::time::Duration::from_millis(50),
        ..submit_once::Limits::default()
    };
    let outbox = Outbox::open(OutboxConfig::at(place.path()).limits(limits)).unwrap();
    let (first, second) = (SubmissionId::new().unwrap(), SubmissionId::new().unwrap());
    outbox.submit(order(first)).unwrap();
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = outbox.submit(order(second)).unwrap_err();
    assert_eq!(storage(error), StorageError::Busy);
    assert_eq!(
        outbox.submit(order(first)).unwrap().kind,
        ReceiptKind::Joined
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        outbox.submit(order(second)).unwrap().kind,
        ReceiptKind::Accepted
    );
}

/// A failed sync: nobody knows whether the commit is durable. The connection stays, and the same
/// ID converges.
#[test]
fn a_failed_sync_is_indeterminate_and_the_same_id_converges() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let id = SubmissionId::new().unwrap();
    disk.fails_sync.store(true, Ordering::SeqCst);
    let error = storage(outbox.submit(order(id)).unwrap_err());
    assert_eq!(error, StorageError::Indeterminate);
    disk.fails_sync.store(false, Ordering::SeqCst);
    let again = outbox.submit(order(id)).unwrap();
    assert_ne!(again.kind, ReceiptKind::Replayed);
    let rows: i64 = place
        .sql()
        .query_row("SELECT count(*) FROM submission", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
}

/// A locked phone: not corruption, nothing moved, and it goes on afterwards.
#[test]
fn a_disk_that_cannot_be_reached_is_not_corruption() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let id = SubmissionId::new().unwrap();
    outbox.submit(order(id)).unwrap();
    disk.unreachable.store(true, Ordering::SeqCst);
    let other = SubmissionId::new().unwrap();
    let error = storage(outbox.submit(order(other)).unwrap_err());
    let known = matches!(
        error,
        StorageError::Unavailable { .. } | StorageError::Indeterminate
    );
    assert!(known, "{error:?}");
    disk.unreachable.store(false, Ordering::SeqCst);
    assert_eq!(outbox.submit(order(id)).unwrap().kind, ReceiptKind::Joined);
    outbox.submit(order(other)).unwrap();
}

/// Group commit: callers that arrive together share syncs, and each gets its own answer.
#[test]
fn callers_that_arrive_together_share_a_sync() {
    let place = Place::new();
    let (outbox, disk) = open(&place);
    let reused = SubmissionId::new().unwrap();
    outbox.submit(order(reused)).unwrap();
    let before = disk.syncs.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..25 {
                    outbox.submit(order(SubmissionId::new().unwrap())).unwrap();
                    let other = order(reused).json("7");
                    let refused = outbox.submit(other).unwrap_err();
                    assert!(matches!(refused, OutboxError::KeyReused { .. }));
                }
            });
        }
    });
    let syncs = disk.syncs.load(Ordering::SeqCst) - before;
    assert!(syncs < 400, "{syncs} syncs for 400 submissions");
    assert_eq!(outbox.stats().unwrap().accepted, 401);
}
