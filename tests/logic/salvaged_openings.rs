//! P11: damage that only an opening's own write meets.

use submit_once::OutboxError;

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
