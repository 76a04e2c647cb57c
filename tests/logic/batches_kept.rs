//! Batches that outlive their process, their bytes, their account.

use std::sync::atomic::Ordering;

use submit_once::{
    BatchConfig, HoldReason, Limits, OutboxConfig, OutboxError, RejectReason, Resolution, SignOut,
    StorageError, SubmissionState,
};

use crate::batches::{
    SECOND, append, batch, bodies, body, count, deliver, logs, queued_bytes, record, state,
};
use crate::common::sim::{Play, World, keys, lost, simulate, status};
use crate::common::{Place, vfs};
use crate::credentials::{supply, token};

const HELD_DAMAGED: SubmissionState = held(HoldReason::Damaged);

const fn held(reason: HoldReason) -> SubmissionState {
    SubmissionState::Held { reason }
}

/// What a kill leaves now.
fn killed(place: &Place) -> Place {
    let left = Place::new();
    for name in ["outbox.sqlite3", "outbox.sqlite3-wal"] {
        std::fs::copy(place.folder().join(name), left.folder().join(name)).unwrap();
    }
    left
}

/// F73 and worse: breaks records on purpose.
fn damage(place: &Place, which: &str) {
    place
        .sql()
        .execute_batch(&format!(
            "DROP TRIGGER record_frozen; UPDATE record SET body = body || ' ' WHERE {which}"
        ))
        .unwrap();
}

/// P2: a repeat has the same bytes, though more was appended meanwhile.
#[test]
fn a_repeat_is_the_same_bytes_and_later_records_go_with_the_next() {
    let place = Place::new();
    simulate(1, |world| async move {
        world.network.play([lost(), status(500)]);
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        let first = append(&batch, "a");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        assert_eq!(world.network.sent(), 1);
        let second = append(&batch, "b");
        assert_ne!(first.batch, second.batch);
        deliver(&world, &outbox).await;
        let sent = bodies(&world);
        assert_eq!(sent.iter().filter(|it| **it == body(&["a"])).count(), 3);
        assert_eq!(sent.iter().filter(|it| **it == body(&["b"])).count(), 1);
        assert_eq!(sent.len(), 4);
        let of_first = keys(&world, 0)
            .iter()
            .filter(|key| **key == first.batch.to_string())
            .count();
        assert_eq!(of_first, 3);
    });
}

#[test]
fn a_kill_before_the_claim_loses_no_record() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let receipt = append(&batch(&outbox, logs()), "a");
        let left = killed(&place);
        outbox.close();
        let outbox = world.open(&left);
        assert_eq!(append(&batch(&outbox, logs()), "b").batch, receipt.batch);
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "b"])]);
        assert_eq!(keys(&world, 0), [receipt.batch.to_string()]);
    });
}

#[test]
fn a_kill_with_the_batch_on_the_wire_repeats_it_as_it_was() {
    let place = Place::new();
    simulate(3, |world| async move {
        world.network.play([Play::HandOver { confirm: true }]);
        let outbox = world.open(&place);
        let receipt = append(&batch(&outbox, logs()), "a");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        assert_eq!(world.network.held(), 1);
        let left = killed(&place);
        let outbox = {
            outbox.close();
            world.open(&left)
        };
        assert_ne!(append(&batch(&outbox, logs()), "b").batch, receipt.batch);
        deliver(&world, &outbox).await;
        let key = receipt.batch.to_string();
        let sent: Vec<_> = bodies(&world).into_iter().zip(keys(&world, 0)).collect();
        let of_it: Vec<_> = sent.iter().filter(|(_, it)| *it == key).collect();
        assert_eq!(of_it.len(), 2);
        assert!(of_it.iter().all(|(sent, _)| *sent == body(&["a"])));
        assert_eq!(state(&outbox, receipt.batch), SubmissionState::Succeeded);
        assert_eq!(sent.len(), 3);
    });
}

/// F73: a record that is damaged before the first send is left out, and it is said.
#[test]
fn a_damaged_record_is_left_out_and_an_empty_batch_is_never_sent() {
    let place = Place::new();
    simulate(4, |world| async move {
        world.network.play([status(500)]);
        let outbox = world.open(&place);
        let some = batch(&outbox, logs());
        let receipt = append(&some, "a");
        append(&some, "b");
        append(&some, "c");
        damage(&place, "number = 1");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        let problem = outbox.snapshot(receipt.batch).unwrap().last_problem;
        assert!(problem.is_some());
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["b", "c"]), body(&["b", "c"])]);
        let empty = append(&some, "d");
        place
            .sql()
            .execute_batch("UPDATE record SET body = '{}'")
            .unwrap();
        deliver(&world, &outbox).await;
        let missing = SubmissionState::Rejected {
            reason: RejectReason::BodyMissing,
        };
        assert_eq!(state(&outbox, empty.batch), missing);
        assert_eq!(world.network.sent(), 2);
        assert_eq!(queued_bytes(&outbox), 0);
    });
}

#[test]
fn what_was_left_out_is_told_until_an_answer_tells_more() {
    let place = Place::new();
    simulate(5, |world| async move {
        world.network.play([Play::HandOver { confirm: true }]);
        let outbox = world.open(&place);
        let some = batch(&outbox, logs());
        let receipt = append(&some, "a");
        append(&some, "b");
        damage(&place, "number = 2");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        let problem = outbox
            .snapshot(receipt.batch)
            .unwrap()
            .last_problem
            .unwrap();
        assert_eq!(problem, "1 damaged records were left out");
        world
            .network
            .take()
            .answered(crate::common::sim::answer(201, "{}"));
        world.pass(SECOND).await;
        let after = outbox.snapshot(receipt.batch).unwrap();
        assert_eq!(after.state, SubmissionState::Succeeded);
        assert_eq!(after.last_problem, Some(problem));
    });
}

/// Once it was sent, other bytes are another request.
#[test]
fn a_record_that_is_damaged_after_the_first_send_holds_its_batch() {
    for which in ["body", "batch", "all"] {
        let place = Place::new();
        simulate(6, |world| async move {
            world.network.play([lost()]);
            let outbox = world.open(&place);
            let some = batch(&outbox, logs());
            let receipt = append(&some, "a");
            append(&some, "b");
            outbox.start().unwrap();
            world.pass(31 * SECOND).await;
            assert_eq!(world.network.sent(), 1);
            match which {
                "body" => damage(&place, "number = 2"),
                "all" => damage(&place, "1"),
                _ => place
                    .sql()
                    .execute_batch("DROP TRIGGER record_kept; DELETE FROM batch")
                    .unwrap(),
            }
            deliver(&world, &outbox).await;
            assert_eq!(state(&outbox, receipt.batch), HELD_DAMAGED, "{which}");
            assert_eq!(world.network.sent(), 1);
        });
    }
}

/// An envelope whose batch is lost is no request, though it is valid JSON.
#[test]
fn an_envelope_is_never_sent_as_it_is() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let receipt = append(&batch(&outbox, logs()), "a");
        place
            .sql()
            .execute_batch("DROP TRIGGER record_kept; DELETE FROM record; DELETE FROM batch")
            .unwrap();
        deliver(&world, &outbox).await;
        assert_eq!(world.network.sent(), 0);
        assert_eq!(state(&outbox, receipt.batch), HELD_DAMAGED);
    });
}

#[test]
fn a_cancelled_batch_takes_no_more_and_its_records_go_with_it() {
    let place = Place::new();
    simulate(8, |world| async move {
        let limits = Limits {
            keep_results_count: 0,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let some = batch(&outbox, logs());
        let receipt = append(&some, "a");
        outbox.cancel(receipt.batch).unwrap();
        assert_eq!(queued_bytes(&outbox), 0);
        assert_ne!(append(&some, "b").batch, receipt.batch);
        while outbox.retain().unwrap() {}
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 1);
        assert_eq!(count(&place, "SELECT count(*) FROM batch"), 1);
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["b"])]);
        while outbox.retain().unwrap() {}
        assert_eq!(count(&place, "SELECT count(*) FROM batch"), 0);
        assert_eq!(state(&outbox, receipt.batch), SubmissionState::Cancelled);
    });
}

/// P10: records of an account wait for it, and go with its credentials.
#[test]
fn records_of_an_account_wait_for_it_or_go_with_it() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        let of = |account: &str| {
            let account = Some(account.to_owned());
            batch(&outbox, BatchConfig { account, ..logs() })
        };
        let (anns, bobs) = (of("ann"), of("bob"));
        let (ann, bob) = (append(&anns, "a"), append(&bobs, "b"));
        assert_ne!(ann.batch, bob.batch);
        outbox.sign_in("bob".into()).unwrap();
        supply(&outbox, "bob", "bobs");
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["b"])]);
        assert_eq!(
            token(&world.network.seen()[0].request).as_deref(),
            Some("bobs")
        );
        assert_eq!(append(&anns, "c").batch, ann.batch);
        outbox.sign_in("ann".into()).unwrap();
        let report = outbox.sign_out(SignOut::Purge).unwrap();
        assert_eq!(report.cancelled, 1);
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 0);
        assert_eq!(queued_bytes(&outbox), 0);
        assert_ne!(append(&anns, "d").batch, ann.batch);
    });
}

/// A record that is appended while the purge is under way isn't its affair.
#[test]
fn what_is_appended_after_a_sign_out_is_not_purged() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let account = Some("ann".to_owned());
        let anns = batch(&outbox, BatchConfig { account, ..logs() });
        let old = append(&anns, "a");
        outbox.sign_in("ann".into()).unwrap();
        place
            .sql()
            .execute_batch("UPDATE account SET purging = 9, signed_in = 0")
            .unwrap();
        place
            .sql()
            .execute_batch("UPDATE sqlite_sequence SET seq = 8 WHERE name = 'submission'")
            .unwrap();
        let new = append(&anns, "b");
        assert_ne!(new.batch, old.batch);
        assert_eq!(append(&anns, "c").batch, new.batch);
        while outbox.retain().unwrap() {}
        assert_eq!(state(&outbox, old.batch), SubmissionState::Cancelled);
        assert_eq!(state(&outbox, new.batch), SubmissionState::Pending);
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 2);
        drop(world);
    });
}

/// In a copy nobody knows what the original has sent: its open batch takes nothing more.
#[test]
fn a_restored_batch_is_held_and_takes_no_more() {
    let place = Place::new();
    simulate(11, |world| async move {
        let install = |id: &str| OutboxConfig {
            install_id: Some(id.to_owned()),
            ..world.config(&place)
        };
        let outbox = world.open_with(install("one"));
        let old = append(&batch(&outbox, logs()), "a");
        outbox.close();
        let outbox = world.open_with(install("two"));
        assert!(outbox.open_report().restored);
        assert_eq!(state(&outbox, old.batch), held(HoldReason::Restored));
        let some = batch(&outbox, logs());
        assert_eq!(some.flush().unwrap(), None);
        let new = append(&some, "b");
        assert_ne!(new.batch, old.batch);
        let again = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        outbox.resolve_all(HoldReason::Restored, again).unwrap();
        assert_eq!(append(&some, "c").batch, new.batch);
        deliver(&world, &outbox).await;
        let mut sent = bodies(&world);
        sent.sort();
        assert_eq!(sent, [body(&["a"]), body(&["b", "c"])]);
    });
}

/// P11: a record that finds no room is refused, and nothing is half-done.
#[test]
fn a_full_disk_refuses_a_record_and_keeps_the_others() {
    let place = Place::new();
    simulate(12, |world| async move {
        let world = World {
            vfs: Some(vfs::register()),
            ..world
        };
        let outbox = world.open(&place);
        let disk = vfs::disk(&place.database());
        let some = batch(&outbox, logs());
        let receipt = append(&some, "a");
        disk.full.store(true, Ordering::SeqCst);
        let full = OutboxError::Storage {
            storage: StorageError::Full,
        };
        assert_eq!(some.append(record("b")), Err(full.clone()));
        assert_eq!(some.append_all(vec![record("c"), record("d")]), Err(full));
        disk.full.store(false, Ordering::SeqCst);
        assert_eq!(append(&some, "e").batch, receipt.batch);
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "e"])]);
        assert_eq!(outbox.stats().unwrap().records, 2);
    });
}

/// A salvaged batch keeps its records; one of which the row is lost is held with them.
#[test]
fn a_damaged_file_keeps_the_records_of_its_batches() {
    for table in ["meta", "batch"] {
        let place = Place::new();
        simulate(13, |world| async move {
            world.network.play([lost()]);
            let outbox = world.open(&place);
            let some = batch(&outbox, logs());
            let sealed = append(&some, "a");
            outbox.start().unwrap();
            world.pass(31 * SECOND).await;
            assert_eq!(world.network.sent(), 1);
            let open = append(&some, "b");
            append(&some, "c");
            outbox.close();
            zero_root(&place, table);
            let outbox = world.open(&place);
            let outbox = match outbox.open_report().salvaged {
                Some(_) => outbox,
                None => {
                    // It is met by reading.
                    assert!(batch(&outbox, logs()).flush().is_err());
                    outbox.close();
                    world.open(&place)
                }
            };
            assert!(outbox.open_report().salvaged.is_some(), "{table}");
            assert_eq!(count(&place, "SELECT count(*) FROM record"), 3);
            assert_ne!(append(&batch(&outbox, logs()), "d").batch, open.batch);
            deliver(&world, &outbox).await;
            for id in [sealed.batch, open.batch] {
                let snapshot = outbox.snapshot(id).unwrap();
                assert!(matches!(snapshot.state, SubmissionState::Held { .. }));
                let again = Resolution::RetrySameKey {
                    accept_second_effect: true,
                };
                if snapshot.state != HELD_DAMAGED {
                    outbox.resolve(id, snapshot.revision, again).unwrap();
                }
            }
            deliver(&world, &outbox).await;
            let mut sent = bodies(&world)[1..].to_vec();
            sent.sort();
            match table {
                "meta" => assert_eq!(sent, [body(&["a"]), body(&["b", "c"]), body(&["d"])]),
                _ => {
                    assert_eq!(sent, [body(&["d"])]);
                    assert_eq!(state(&outbox, open.batch), HELD_DAMAGED);
                }
            }
        });
    }
}

fn zero_root(place: &Place, table: &str) {
    let sql = place.sql();
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let root: u32 = sql
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
            [table],
            |row| row.get(0),
        )
        .unwrap();
    drop(sql);
    let mut bytes = std::fs::read(place.database()).unwrap();
    let from = (root as usize - 1) * 4_096;
    bytes[from..from + 4_096].fill(0);
    std::fs::write(place.database(), bytes).unwrap();
    let wal = place.folder().join("outbox.sqlite3-wal");
    if wal.exists() {
        std::fs::write(wal, "").unwrap();
    }
}

/// A run is asked for with a batch, not with each record.
#[test]
fn a_batch_asks_for_one_run() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open(&place);
        outbox.adopt_run_requests().unwrap();
        let some = batch(&outbox, logs());
        assert!(append(&some, "a").run_requested);
        assert!(!append(&some, "b").run_requested);
        let elsewhere = world.open_apart(&place);
        assert!(!append(&batch(&elsewhere, logs()), "c").run_requested);
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "b", "c"])]);
    });
}
