//! Fetched values stay: past retention, restarts, copies and damage; and go with their account.

use std::fs;
use std::sync::Arc;

use submit_once::{
    HoldReason, Limits, Outbox, OutboxConfig, Resolution, SignOut, Submission, SubmissionState,
};

use super::fetched::{asked, current, fetch, get, text, unchanged, value};
use crate::common::Place;
use crate::common::sim::{World, drain, header, simulate};

fn checkpoint(place: &Place) {
    let sql = place.sql();
    sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

fn rows(place: &Place, sql: &str) -> i64 {
    place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Retention takes the submission with its result and its tombstone, a restart takes what is in memory.
#[test]
fn retention_and_a_restart_leave_the_value_alone() {
    let place = Place::new();
    simulate(1, |world| async move {
        let limits = Limits {
            keep_results_count: 0,
            ..Limits::default()
        };
        let open = || world.open_with(world.config(&place).limits(limits.clone()));
        let outbox = open();
        world.network.play([value("one", r#""a""#)]);
        let first = get(&outbox, 1);
        fetch(&outbox, first.clone()).await;
        let before = current(&outbox);
        while outbox.retain().unwrap() {}
        assert_eq!(rows(&place, "SELECT count(*) FROM submission"), 0);
        let outcome = outbox.snapshot(first.id).unwrap().outcome.unwrap();
        assert!(outcome.result_missing);
        outbox.close();
        world.clock.reboot();
        let outbox = open();
        assert_eq!(current(&outbox), before);
        world.network.play([unchanged()]);
        fetch(&outbox, get(&outbox, 2)).await;
        assert_eq!(asked(&world, 1), [vec![r#""a""#.to_owned()]]);
        assert_eq!(text(&outbox).unwrap(), "one");
    });
}

fn of(outbox: &Outbox, account: &str, n: u32) -> Submission {
    Submission {
        account: Some(account.to_owned()),
        id: outbox.begin(format!("{account} {n}")).unwrap(),
        ..get(outbox, n)
    }
}

fn text_of(outbox: &Outbox, account: &str) -> Option<String> {
    let value = outbox.current(Some(account.to_owned()), super::fetched::KEY.to_owned());
    value
        .unwrap()
        .map(|value| String::from_utf8(value.body).unwrap())
}

fn sign_in(outbox: &Outbox, account: &str) {
    outbox.sign_in(account.to_owned()).unwrap();
    let token = vec![header("authorization", account)];
    outbox
        .supply_credentials(account.to_owned(), token, None)
        .unwrap();
}

/// P10: nobody sees, or asks by, what another's answer said.
#[test]
fn accounts_never_meet_and_a_purge_takes_what_is_its_own() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        world.network.play([
            value("nobody's", r#""n""#),
            value("ann's", r#""a""#),
            value("bob's", r#""b""#),
        ]);
        fetch(&outbox, get(&outbox, 1)).await;
        for name in ["ann", "bob"] {
            sign_in(&outbox, name);
            fetch(&outbox, of(&outbox, name, 1)).await;
            outbox.sign_out(SignOut::Keep).unwrap();
        }
        assert_eq!(asked(&world, 0), vec![Vec::<String>::new(); 3]);
        let all =
            |outbox: &Arc<Outbox>| (text(outbox), text_of(outbox, "ann"), text_of(outbox, "bob"));
        let own = |text: &str| Some(text.to_owned());
        assert_eq!(all(&outbox), (own("nobody's"), own("ann's"), own("bob's")));
        sign_in(&outbox, "ann");
        let report = outbox.sign_out(SignOut::Purge).unwrap();
        assert_eq!((report.succeeded, report.cancelled, report.kept), (0, 0, 0));
        assert_eq!(all(&outbox), (own("nobody's"), None, own("bob's")));
        sign_in(&outbox, "ann");
        world.network.play([value("ann's again", r#""a""#)]);
        fetch(&outbox, of(&outbox, "ann", 2)).await;
        assert_eq!(asked(&world, 3), vec![Vec::<String>::new()]);
        assert_eq!(text_of(&outbox, "ann"), own("ann's again"));
    });
}

/// The values that go with an account are purged a step at a time.
#[test]
fn a_purge_takes_values_of_any_number() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        sign_in(&outbox, "ann");
        for n in 0..150 {
            let one = of(&outbox, "ann", n).replaces(format!("config {n}"));
            outbox.submit(one).unwrap();
        }
        world.network.always(|_| value("v", r#""a""#));
        drain(&outbox).await;
        assert_eq!(rows(&place, "SELECT count(*) FROM fetched"), 150);
        outbox.sign_out(SignOut::Purge).unwrap();
        while outbox.retain().unwrap() {}
        assert_eq!(rows(&place, "SELECT count(*) FROM fetched"), 0);
    });
}

fn installed(world: &World, place: &Place, id: &str) -> OutboxConfig {
    let mut config = world.config(place);
    config.install_id = Some(id.to_owned());
    config
}

#[test]
fn a_restored_copy_keeps_the_value_and_goes_on_from_it() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open_with(installed(&world, &place, "phone"));
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1)).await;
        let pending = get(&outbox, 2);
        outbox.submit(pending.clone()).unwrap();
        let before = current(&outbox);
        outbox.close();
        let outbox = world.open_with(installed(&world, &place, "tablet"));
        assert!(outbox.open_report().restored);
        assert_eq!(current(&outbox), before);
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        world.network.play([value("two", r#""b""#)]);
        outbox.resolve_all(HoldReason::Restored, retry).unwrap();
        drain(&outbox).await;
        assert_eq!(text(&outbox).unwrap(), "two");
    });
}

/// What a flipped bit has changed is shown to nobody and asked by by nobody, and the next answer takes
/// its place, whatever number it claims.
#[test]
fn a_damaged_value_is_none() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        for (n, damage) in (1..).step_by(2).zip([
            "body = CAST('onf' AS BLOB)",
            "headers = '[{\"name\":\"etag\",\"value\":\"\\\"z\\\"\"}]'",
            "headers = 'x'",
            "checked_seq = checked_seq + (1 << 40)",
            "seq = seq + 1, checked_seq = checked_seq + 1",
            "status = 203",
            "status = 1 << 40",
            "checked_wall = checked_wall + 1",
            "fetched_wall = fetched_wall + 1",
            "asked = zeroblob(32)",
            "submission_id = zeroblob(3)",
            "content_type = 'text/plain'",
            "checksum = zeroblob(32)",
        ]) {
            world.network.play([value("one", r#""a""#)]);
            fetch(&outbox, get(&outbox, n)).await;
            assert_eq!(text(&outbox).unwrap(), "one");
            let sql = place.sql();
            sql.execute(&format!("UPDATE fetched SET {damage}"), [])
                .unwrap();
            assert_eq!(current(&outbox), None, "{damage}");
            let from = world.network.sent();
            world.network.play([value("two", r#""b""#)]);
            fetch(&outbox, get(&outbox, n + 1)).await;
            assert_eq!(asked(&world, from), [Vec::<String>::new()], "{damage}");
            assert_eq!(text(&outbox).unwrap(), "two", "{damage}");
        }
    });
}

/// Of a damaged database those values are saved that are what was stored, and no number is used again
/// that one of them has.
#[test]
fn a_salvage_saves_the_values_that_are_whole() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        world.network.always(|_| value("one", r#""a""#));
        for n in 1..=3 {
            fetch(&outbox, get(&outbox, n).replaces(format!("config {n}"))).await;
        }
        let limits = Limits {
            keep_results_count: 0,
            ..Limits::default()
        };
        outbox.close();
        let outbox = world.open_with(world.config(&place).limits(limits));
        while outbox.retain().unwrap() {}
        outbox.close();
        let sql = place.sql();
        sql.execute(
            "UPDATE fetched SET body = CAST('onf' AS BLOB), checked_seq = 1 << 50
             WHERE name = 'config 2'",
            [],
        )
        .unwrap();
        // Nothing else tells any more which numbers were used.
        sql.execute("DELETE FROM sqlite_sequence WHERE name = 'submission'", [])
            .unwrap();
        drop(sql);
        checkpoint(&place);
        let mut bytes = fs::read(place.database()).unwrap();
        let root: usize = usize::try_from(rows(
            &place,
            "SELECT rootpage FROM sqlite_schema WHERE name = 'slot'",
        ))
        .unwrap();
        bytes[(root - 1) * 4_096..root * 4_096].fill(0);
        fs::write(place.database(), bytes).unwrap();
        fs::write(place.folder().join("outbox.sqlite3-suspect"), "").unwrap();
        let outbox = world.open(&place);
        assert!(outbox.open_report().salvaged.is_some());
        let is_there = |n: u32| {
            outbox
                .current(None, format!("config {n}"))
                .unwrap()
                .is_some()
        };
        assert_eq!([1, 2, 3].map(is_there), [true, false, true]);
        world.network.always(|_| value("two", r#""b""#));
        let next = get(&outbox, 9).replaces("config 3");
        assert_eq!(
            fetch(&outbox, next.clone()).await,
            SubmissionState::Succeeded
        );
        let stands = outbox
            .current(None, "config 3".to_owned())
            .unwrap()
            .unwrap();
        assert_eq!((stands.id, stands.body), (next.id, b"two".to_vec()));
        let used = rows(&place, "SELECT max(seq) FROM submission");
        assert!((4..100).contains(&used), "{used}");
    });
}
