//! Scratch proofs of review 7: each fails on next at 989267e.
use crate::batches::{SECOND, append, batch, bodies, count, logs, record, state};
use crate::common::Place;
use crate::common::sim::{Play, answer, drain, lost, simulate};
use crate::credentials::supply;
use std::time::Duration;
use submit_once::*;

fn put(outbox: &Outbox) -> Submission {
    Submission {
        effect: Some(Effect::Overwrite),
        ..Submission::new(outbox.begin("w".into()).unwrap(), "PUT", "/settings")
            .json(r#"{"a":1}"#)
            .replaces("settings")
    }
}
fn get(outbox: &Outbox) -> Submission {
    Submission::new(outbox.begin("g".into()).unwrap(), "GET", "/settings").replaces("settings")
}

#[test]
fn f1_a_fetch_supersedes_no_write_that_waits() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let (put, get) = (put(&outbox), get(&outbox));
        outbox.submit(put.clone()).unwrap();
        outbox.submit(get).unwrap();
        drain(&outbox).await;
        drain(&outbox).await;
        assert_eq!(state(&outbox, put.id), SubmissionState::Succeeded);
        drop(world);
    });
}

#[test]
fn f1_a_fetch_supersedes_no_write_in_doubt() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let (put, get) = (put(&outbox), get(&outbox));
        outbox.submit(put.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_millis(100)).await;
        outbox.submit(get).unwrap();
        world.pass(SECOND * 120).await;
        assert_eq!(state(&outbox, put.id), SubmissionState::Succeeded);
    });
}

#[test]
fn f3_halves_of_a_batch_that_is_purged_do_not_survive_it() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "anns");
        world.network.play([Play::HandOver { confirm: true }]);
        let account = Some("ann".to_owned());
        let b = batch(&outbox, BatchConfig { account, ..logs() });
        append(&b, "a");
        append(&b, "b");
        outbox.start().unwrap();
        world.pass(31 * SECOND).await;
        // Another process has begun sign_out(Purge), and is killed, or is at its first pieces.
        place.sql().execute_batch("UPDATE account SET signed_in = 0, purging = 1 + (SELECT seq FROM sqlite_sequence WHERE name = 'submission')").unwrap();
        world.network.take().answered(answer(413, "{}"));
        world.pass(Duration::from_millis(200)).await;
        while outbox.retain().unwrap() {}
        assert_eq!(
            count(
                &place,
                "SELECT count(*) FROM account WHERE purging IS NOT NULL"
            ),
            0
        );
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 0);
        outbox.sign_in("ann".into()).unwrap();
        supply(&outbox, "ann", "anns2");
        world.pass(60 * SECOND).await;
        assert_eq!(bodies(&world).len(), 1);
    });
}

#[test]
fn f5_a_damaged_open_batch_does_not_stop_its_key() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let b = batch(&outbox, logs());
        append(&b, "a");
        place
            .sql()
            .execute_batch("UPDATE submission SET attempts = -1")
            .unwrap();
        outbox.start().unwrap();
        world.pass(60 * SECOND).await;
        b.append(record("c")).unwrap();
    });
}
