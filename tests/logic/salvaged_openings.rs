//! P11, P9: damage that looks whole to SQLite, met by an opening's own write or by a claim.

use std::time::Duration;

use submit_once::{DrainBudget, OutboxError, StorageError};

use crate::common::Place;
use crate::common::sim::{drain, order, simulate};

/// Takes a value away that the schema says is always there, as a flipped bit can.
fn lose_the_time(place: &Place) {
    let rewrite = "PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = :new WHERE name = 'meta'";
    let sql = place.sql();
    let strict: String = sql
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'meta'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let write = |text: &str| {
        let text = text.replace('\'', "''");
        let sql = place.sql();
        sql.execute_batch(&rewrite.replace(":new", &format!("'{text}'")))
            .unwrap();
    };
    drop(sql);
    write(&strict.replace("NOT NULL", ""));
    place
        .sql()
        .execute("UPDATE meta SET highest_wall = NULL", [])
        .unwrap();
    write(&strict);
}

#[test]
fn damage_that_an_opening_meets_when_it_writes_is_salvaged() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let waits = order(&outbox, "waits");
        outbox.submit(waits.clone()).unwrap();
        outbox.close();
        lose_the_time(&place);
        let outbox = world.open(&place);
        assert!(outbox.open_report().salvaged.is_some());
        let unknown = outbox.snapshot(waits.id);
        assert!(
            !matches!(unknown, Err(OutboxError::UnknownId { .. })),
            "{unknown:?}"
        );
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 0, "what was salvaged asks first");
    });
}

/// An index of the queue names a submission that isn't in the queue.
fn leave_in_the_index(place: &Place) {
    let sql = place.sql();
    let (root, text): (i64, String) = sql
        .query_row(
            "SELECT rootpage, sql FROM sqlite_schema WHERE name = 'submission_ready'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    sql.execute_batch(
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'submission_ready'",
    )
    .unwrap();
    drop(sql);
    place
        .sql()
        .execute("UPDATE submission SET ready = 0", [])
        .unwrap();
    let sql = place.sql();
    sql.pragma_update(None, "writable_schema", true).unwrap();
    sql.execute(
        "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
         VALUES ('index', 'submission_ready', 'submission', ?1, ?2)",
        (root, text),
    )
    .unwrap();
}

/// It would be looked at again and again, without a pause, and nothing else would ever be sent.
#[test]
fn a_queue_that_names_what_is_not_in_it_is_told_as_damage_and_mended_by_the_next_opening() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let first = order(&outbox, "first");
        outbox.submit(first.clone()).unwrap();
        outbox.cancel(first.id).unwrap();
        let waits = order(&outbox, "waits");
        outbox.submit(waits.clone()).unwrap();
        outbox.close();
        leave_in_the_index(&place);
        place
            .sql()
            .execute(
                "UPDATE submission SET state = 'held', reason = 'damaged' WHERE state = 'pending'",
                [],
            )
            .unwrap();
        let outbox = world.open(&place);
        let drained = outbox.drain(DrainBudget::of(Duration::from_secs(60))).await;
        let is_damage = matches!(
            drained,
            Err(OutboxError::Storage {
                storage: StorageError::Corrupt { .. }
            })
        );
        assert!(is_damage, "{drained:?}");
        outbox.close();
        let outbox = world.open(&place);
        outbox.snapshot(first.id).unwrap();
        outbox.snapshot(waits.id).unwrap();
        let next = order(&outbox, "next");
        outbox.submit(next).unwrap();
        assert_eq!(drain(&outbox).await.succeeded, 1);
    });
}
