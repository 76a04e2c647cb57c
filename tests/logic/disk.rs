//! P11: a full disk, and what is kept for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use submit_once::{OutboxError, StorageError, SubmissionState};

use crate::common::sim::{Play, World, answer, order, simulate};
use crate::common::{Place, vfs};

const HOUR: Duration = Duration::from_secs(3_600);

/// The answer is there, and there is no room to write it down: it is kept and written as soon as
/// there is, without anybody asking.
#[test]
fn an_answer_that_meets_a_full_disk_is_recorded_when_there_is_room() {
    let place = Place::new();
    simulate(1, |world| async move {
        let world = World {
            vfs: Some(vfs::register()),
            ..world
        };
        let outbox = world.open(&place);
        let disk = vfs::disk(&place.database());
        let ballast = place.folder().join("outbox.sqlite3-ballast");
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        world.network.play([Play::HandOver { confirm: true }]);
        let draining = {
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move {
                let budget = submit_once::DrainBudget::of(HOUR);
                outbox.drain(budget).await
            })
        };
        world.pass(Duration::from_millis(10)).await;
        disk.full.store(true, Ordering::SeqCst);
        assert!(ballast.exists());
        world.network.take().answered(answer(201, "{}"));
        let full = OutboxError::Storage {
            storage: StorageError::Full,
        };
        assert_eq!(draining.await.unwrap(), Err(full));
        assert!(!ballast.exists(), "given up for the answer");
        disk.full.store(false, Ordering::SeqCst);
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(
            outbox.snapshot(order.id).unwrap().state,
            SubmissionState::Succeeded
        );
        assert_eq!(world.network.sent(), 1);
    });
}
