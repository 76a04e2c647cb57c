//! What the inbox keeps, and for how long: on a full disk, over the years, in a damaged file and in a
//! copy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use submit_once::{
    AppStatement, InboxAnswer, InboxDecision, InboxError, InboxFailure, InboxItem, InboxPolicy,
    InboxScope, Outbox, SqlValue, StorageError,
};

use super::inbox::{inbox, is_busy, is_uncertain, kill, least, most, result, run};
use crate::common::sim::{World, drain, order, simulate};
use crate::common::{Place, vfs};

const DAY: Duration = Duration::from_secs(86_400);

fn sql(text: &str) -> AppStatement {
    AppStatement::new(text, [])
}

fn count(place: &Place, of: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM inbox WHERE {of}");
    place.sql().query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn is_dropped(outbox: &Arc<Outbox>, item: InboxItem) -> bool {
    let InboxAnswer::Done {
        result, dropped, ..
    } = inbox(outbox).begin(item).unwrap()
    else {
        panic!("not done");
    };
    assert!(!dropped || result.is_none());
    dropped
}

/// A server tells the time, and retention does all that it will.
async fn forget(outbox: &Outbox, slot: &str) {
    outbox.submit(order(outbox, slot)).unwrap();
    drain(outbox).await;
    while outbox.retain().unwrap() {}
}

/// P11: what is done, or under way, is known on a full disk, and what was done can be recorded.
#[test]
fn a_full_disk_begins_nothing_and_forgets_nothing() {
    let place = Place::new();
    simulate(1, |world| async move {
        let world = World {
            vfs: Some(vfs::register()),
            ..world
        };
        let outbox = world.open(&place);
        let disk = vfs::disk(&place.database());
        let done = run(&inbox(&outbox), most("done"));
        inbox(&outbox).finish(done, Some(b"r".to_vec())).unwrap();
        let under_way = run(&inbox(&outbox), most("under way"));
        disk.full.store(true, Ordering::SeqCst);
        assert_eq!(result(&inbox(&outbox), most("done")), Some(b"r".to_vec()));
        assert!(is_busy(&inbox(&outbox), most("under way")));
        let full = InboxError::Storage {
            storage: StorageError::Full,
        };
        assert_eq!(inbox(&outbox).begin(most("new")), Err(full.clone()));
        let statement = vec![sql("CREATE TABLE app_t (a)")];
        let ballast = place.folder().join("outbox.sqlite3-ballast");
        assert!(ballast.exists());
        let finished = inbox(&outbox).finish_with(under_way.clone(), None, statement.clone());
        assert_eq!(finished, Err(full));
        assert!(!ballast.exists(), "given up for the record");
        disk.full.store(false, Ordering::SeqCst);
        inbox(&outbox)
            .finish_with(under_way, None, statement)
            .unwrap();
        assert_eq!(run(&inbox(&outbox), most("new")).number, 1);
    });
}

#[test]
fn results_go_first_and_then_the_memory_of_them_as_the_scope_says() {
    let place = Place::new();
    simulate(2, |world| async move {
        let scope = |name: &str, results: u32, keys: Option<u32>| InboxScope {
            name: name.to_owned(),
            keep_results: results * DAY,
            keep_keys: keys.map(|days| days * DAY),
        };
        let mut config = world.config(&place);
        config.inbox_scopes = vec![scope("brief", 1, Some(1)), scope("ever", 2, None)];
        let outbox = world.open_with(config);
        let item = |scope: &str| InboxItem::new(scope, "k", InboxPolicy::AtMostOnce);
        for scope in ["brief", "ever", "push"] {
            let one = run(&inbox(&outbox), item(scope));
            inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        }
        let given_none = run(&inbox(&outbox), most("given none"));
        inbox(&outbox).finish(given_none, None).unwrap();
        let doubt = run(&inbox(&outbox), most("doubt"));
        inbox(&outbox)
            .fail(doubt, InboxFailure::MayHaveHappened)
            .unwrap();
        let nothing = run(&inbox(&outbox), most("nothing"));
        inbox(&outbox)
            .fail(nothing, InboxFailure::NothingHappened)
            .unwrap();
        run(&inbox(&outbox), least("lost"));
        let mut day = 0;
        // By day: the results of these are there, or dropped, or all is forgotten.
        for (until, brief, ever, push) in [
            (1, Some(false), Some(false), Some(false)),
            (2, Some(true), Some(false), Some(false)),
            (3, None, Some(true), Some(false)),
            (30, None, Some(true), Some(false)),
            (31, None, Some(true), Some(true)),
            (120, None, Some(true), Some(true)),
            (121, None, Some(true), None),
        ] {
            let back = Duration::from_secs(if day == 0 { 60 } else { 0 });
            world.pass((until - day) * DAY - back).await;
            day = until;
            forget(&outbox, &format!("order {until}")).await;
            for (scope, stands) in [("brief", brief), ("ever", ever), ("push", push)] {
                let rows = count(&place, &format!("scope = '{scope}' AND key = 'k'"));
                assert_eq!(rows == 1, stands.is_some(), "{scope} on day {until}");
                if let Some(dropped) = stands {
                    assert_eq!(
                        is_dropped(&outbox, item(scope)),
                        dropped,
                        "{scope} on day {until}"
                    );
                }
            }
            if push.is_some() {
                assert_eq!(result(&inbox(&outbox), most("given none")), None);
            }
            let young = i64::from(push.is_some());
            assert_eq!(count(&place, "state = 'free'"), young);
            assert_eq!(count(&place, "key = 'lost'"), young);
        }
        world.pass(1_000 * DAY).await;
        forget(&outbox, "later").await;
        assert!(is_uncertain(&inbox(&outbox), most("doubt")));
        assert!(is_dropped(&outbox, item("ever")));
        assert_eq!(run(&inbox(&outbox), item("push")).number, 2);
    });
}

/// A device that wakes up with a wrong clock forgets nothing that it will need in a minute.
#[test]
fn without_the_time_of_a_server_nothing_is_forgotten() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let one = run(&inbox(&outbox), most("k"));
        inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        world.clock.set_wall_by(400 * 86_400_000);
        forget(&outbox, "the server's clock is right").await;
        outbox.close();
        world.clock.reboot();
        world.pass(400 * DAY).await;
        let outbox = world.open(&place);
        while outbox.retain().unwrap() {}
        assert_eq!(result(&inbox(&outbox), most("k")), Some(b"r".to_vec()));
    });
}

/// Its own word then is not what an age is counted from.
#[test]
fn what_ends_while_the_clock_is_behind_is_kept_as_long_as_anything() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        forget(&outbox, "told").await;
        world.clock.set_wall_by(-86_400_000 * 400);
        let one = run(&inbox(&outbox), most("a"));
        inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        let nothing = run(&inbox(&outbox), most("nothing"));
        inbox(&outbox)
            .fail(nothing, InboxFailure::NothingHappened)
            .unwrap();
        world.clock.set_wall_by(86_400_000 * 400);
        forget(&outbox, "right again").await;
        assert_eq!(result(&inbox(&outbox), most("a")), Some(b"r".to_vec()));
        assert_eq!(count(&place, "state = 'free'"), 1);
    });
}

/// What may have happened is remembered as what has: in a scope that forgets no key, for ever.
#[test]
fn a_doubt_is_not_forgotten_where_keys_are_kept_for_ever() {
    let place = Place::new();
    simulate(12, |world| async move {
        let mut config = world.config(&place);
        config.inbox_scopes.push(InboxScope {
            name: most("x").scope,
            keep_results: Duration::from_secs(60),
            keep_keys: None,
        });
        let outbox = world.open_with(config.clone());
        let failed = run(&inbox(&outbox), least("failed"));
        let doubt = InboxFailure::MayHaveHappened;
        inbox(&outbox).fail(failed, doubt).unwrap();
        run(&inbox(&outbox), least("lost"));
        kill(&place, true);
        world.pass(400 * DAY).await;
        forget(&outbox, "later").await;
        assert!(is_uncertain(&inbox(&outbox), most("failed")));
        assert!(is_uncertain(&inbox(&outbox), most("lost")));
    });
}

#[test]
fn a_step_forgets_some_and_comes_to_every_scope() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let done = |scope: &str, key: &str| {
            let item = InboxItem::new(scope, key, InboxPolicy::AtMostOnce);
            let one = run(&inbox(&outbox), item);
            inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        };
        for n in 0..300 {
            done("one", &format!("{n}"));
        }
        for n in 0..100 {
            done(&format!("scope {n}"), "k");
        }
        world.pass(31 * DAY).await;
        outbox.submit(order(&outbox, "time")).unwrap();
        drain(&outbox).await;
        let mut before = count(&place, "dropped = 1");
        while outbox.retain().unwrap() {
            let now = count(&place, "dropped = 1");
            assert!(now - before <= 160, "{} at once", now - before);
            before = now;
        }
        assert_eq!(count(&place, "dropped = 0"), 0);
        world.pass(91 * DAY).await;
        forget(&outbox, "more time").await;
        assert_eq!(count(&place, "1"), 0);
    });
}

#[test]
fn a_run_that_was_forgotten_has_no_say_in_a_later_one() {
    let place = Place::new();
    simulate(13, |world| async move {
        let mut config = world.config(&place);
        config.inbox_scopes = vec![InboxScope {
            name: "push".to_owned(),
            keep_results: Duration::ZERO,
            keep_keys: Some(Duration::ZERO),
        }];
        let outbox = world.open_with(config);
        for n in 0..3 {
            let one = run(&inbox(&outbox), most("a"));
            let nothing = InboxFailure::NothingHappened;
            inbox(&outbox).fail(one.clone(), nothing).unwrap();
            world.pass(Duration::from_secs(10)).await;
            forget(&outbox, &format!("{n}")).await;
            assert_eq!(count(&place, "1"), 0);
            let two = run(&inbox(&outbox), most("a"));
            assert!(two.number > one.number);
            for late in [
                inbox(&outbox).finish(one.clone(), None),
                inbox(&outbox).fail(one.clone(), nothing),
                inbox(&outbox).extend(one, Duration::from_secs(1)),
            ] {
                assert!(matches!(late, Err(InboxError::RunLost { .. })), "{late:?}");
            }
            assert!(is_busy(&inbox(&outbox), most("a")));
            inbox(&outbox)
                .fail(two.clone(), InboxFailure::MayHaveHappened)
                .unwrap();
            assert_eq!(inbox(&outbox).uncertain(None, 1).unwrap()[0].runs, 1);
            inbox(&outbox).fail(two, nothing).unwrap();
            world.pass(Duration::from_secs(10)).await;
            forget(&outbox, &format!("again {n}")).await;
        }
    });
}

/// A result that isn't the one that was stored is never given; that it was done is.
#[test]
fn a_damaged_result_is_dropped_and_stays_done() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        for key in ["result", "checksum", "whole", "gone"] {
            let one = run(&inbox(&outbox), most(key));
            inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        }
        outbox.close();
        let raw = place.sql();
        let guard: String = raw
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE name = 'inbox_final'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        raw.execute_batch(&format!(
            "DROP TRIGGER inbox_final;
             UPDATE inbox SET result = x'00' WHERE key = 'result';
             UPDATE inbox SET checksum = NULL WHERE key = 'checksum';
             UPDATE inbox SET result = NULL WHERE key = 'gone';
             {guard}"
        ))
        .unwrap();
        drop(raw);
        let outbox = world.open(&place);
        for key in ["result", "checksum", "gone"] {
            assert!(is_dropped(&outbox, most(key)), "{key}");
        }
        assert!(!is_dropped(&outbox, most("whole")));
    });
}

/// Of a damaged file the once-records and the app's tables are saved. Whoever ran something is gone.
#[test]
fn a_salvaged_file_has_its_once_records_and_the_apps_tables() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let done = run(&inbox(&outbox), most("done"));
        let statements = vec![
            sql("CREATE TABLE \"app_group\" (a INTEGER PRIMARY KEY AUTOINCREMENT, \"order\" TEXT UNIQUE,
                c REFERENCES app_group (a))"),
            sql("CREATE TABLE app_plain (k TEXT PRIMARY KEY, v BLOB) STRICT, WITHOUT ROWID"),
            sql("CREATE TABLE app_log (a)"),
            sql("CREATE INDEX app_i ON app_group (c)"),
            sql("CREATE VIEW app_v AS SELECT \"order\" FROM app_group"),
            sql("CREATE TRIGGER app_tr AFTER INSERT ON app_group BEGIN
                INSERT INTO app_log VALUES (NEW.a); END"),
            sql("INSERT INTO app_group (a, \"order\", c) VALUES (7, 'x', NULL), (9, 'y', 7)"),
            sql("DELETE FROM app_group WHERE a = 9"),
            sql("INSERT INTO app_plain VALUES ('k', x'00ff')"),
        ];
        inbox(&outbox)
            .finish_with(done, Some(b"r".to_vec()), statements)
            .unwrap();
        for item in [most("once"), least("again")] {
            run(&inbox(&outbox), item);
        }
        let doubt = run(&inbox(&outbox), most("doubt"));
        inbox(&outbox)
            .fail(doubt, InboxFailure::MayHaveHappened)
            .unwrap();
        for n in 0..300 {
            outbox.submit(order(&outbox, &format!("{n}"))).unwrap();
        }
        outbox.close();
        break_table(&place, "change");
        let outbox = world.open(&place);
        assert!(outbox.open_report().salvaged.is_some());
        let inbox = inbox(&outbox);
        assert_eq!(result(&inbox, most("done")), Some(b"r".to_vec()));
        assert!(is_uncertain(&inbox, most("once")));
        assert_eq!(run(&inbox, least("again")).number, 2);
        assert!(is_uncertain(&inbox, most("doubt")));
        let rows = |query: &str| -> Vec<Vec<SqlValue>> {
            let rows = inbox.query(sql(query)).unwrap();
            rows.into_iter().map(|row| row.values).collect()
        };
        assert_eq!(rows("SELECT * FROM app_v"), [["x".into()]]);
        assert_eq!(
            rows("SELECT k, v FROM app_plain"),
            [["k".into(), vec![0_u8, 255].into()]]
        );
        assert_eq!(rows("SELECT a FROM app_log"), [[7.into()], [9.into()]]);
        let after = run(&inbox, most("after"));
        let insert = vec![sql("INSERT INTO app_group (c) VALUES (7)")];
        inbox.finish_with(after, None, insert).unwrap();
        // The trigger works again, and a number that was used once isn't used again.
        assert_eq!(
            rows("SELECT a FROM app_log ORDER BY a DESC LIMIT 1"),
            [[10.into()]]
        );
    });
}

/// Makes the first page of a table one of zeros.
fn break_table(place: &Place, table: &str) {
    let raw = place.sql();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let root: usize = raw
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
            [table],
            |row| row.get::<_, u32>(0),
        )
        .unwrap() as usize;
    drop(raw);
    let mut bytes = std::fs::read(place.database()).unwrap();
    bytes[(root - 1) * 4_096..root * 4_096].fill(0);
    std::fs::write(place.database(), bytes).unwrap();
    std::fs::write(place.folder().join("outbox.sqlite3-suspect"), "").unwrap();
}

/// In a copy nobody knows what the original goes on to do: what it had under way is lost here.
#[test]
fn what_the_original_had_under_way_is_lost_in_a_copy() {
    let place = Place::new();
    simulate(7, |world| async move {
        let config = |id: &str| {
            let mut config = world.config(&place);
            config.install_id = Some(id.to_owned());
            config
        };
        let outbox = world.open_with(config("original"));
        for item in [most("once"), least("again")] {
            run(&inbox(&outbox), item);
        }
        let done = run(&inbox(&outbox), most("done"));
        inbox(&outbox).finish(done, None).unwrap();
        kill(&place, true);
        outbox.close();
        let copy = world.open_with(config("copy"));
        assert!(copy.open_report().restored);
        assert!(is_uncertain(&inbox(&copy), most("once")));
        assert_eq!(run(&inbox(&copy), least("again")).number, 2);
        assert_eq!(result(&inbox(&copy), most("done")), None);
    });
}

/// An older state of the file comes back: what was free then has run, and been done, since.
#[test]
fn a_loss_leaves_nothing_free_that_must_not_run_twice() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        let decided = run(&inbox(&outbox), most("decided"));
        inbox(&outbox)
            .fail(decided, InboxFailure::MayHaveHappened)
            .unwrap();
        let again = InboxDecision::RunAgain;
        inbox(&outbox)
            .decide("push".to_owned(), "decided".to_owned(), again)
            .unwrap();
        for item in [most("free"), least("least"), least("asked as the other")] {
            let one = run(&inbox(&outbox), item);
            inbox(&outbox)
                .fail(one, InboxFailure::NothingHappened)
                .unwrap();
        }
        outbox.close();
        let log = place.folder().join("outbox.sqlite3-wal");
        let saved = [place.database(), log].map(|path| (std::fs::read(&path), path));
        let outbox = world.open(&place);
        for item in [most("decided"), most("free"), least("asked as the other")] {
            let two = run(&inbox(&outbox), item);
            inbox(&outbox).finish(two, None).unwrap();
        }
        outbox.submit(order(&outbox, "x")).unwrap();
        outbox.close();
        for (bytes, path) in saved {
            std::fs::write(path, bytes.unwrap_or_default()).unwrap();
        }
        let outbox = world.open(&place);
        assert_eq!(outbox.open_report().lost_changes, 1);
        let listed = inbox(&outbox).uncertain(None, 10).unwrap();
        let mut keys: Vec<_> = listed.iter().map(|item| item.key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["decided", "free"]);
        assert!(is_uncertain(&inbox(&outbox), least("free")));
        run(&inbox(&outbox), least("least"));
        assert!(is_uncertain(&inbox(&outbox), most("asked as the other")));
    });
}

/// Accounts and the delivery's life are no business of the inbox.
#[test]
fn signing_out_and_suspending_leave_the_inbox_alone() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        outbox.sign_in("ann".to_owned()).unwrap();
        let one = run(&inbox(&outbox), most("a"));
        outbox.suspend().unwrap();
        drop(outbox.sign_out(submit_once::SignOut::Purge).unwrap());
        while outbox.retain().unwrap() {}
        inbox(&outbox).finish(one, Some(b"r".to_vec())).unwrap();
        assert_eq!(result(&inbox(&outbox), most("a")), Some(b"r".to_vec()));
    });
}

/// Code can forget, triggers don't.
#[test]
fn the_guards_refuse_what_would_run_something_twice() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        let done = run(&inbox(&outbox), most("done"));
        inbox(&outbox).finish(done, Some(b"r".to_vec())).unwrap();
        run(&inbox(&outbox), most("running"));
        let doubt = run(&inbox(&outbox), most("doubt"));
        inbox(&outbox)
            .fail(doubt, InboxFailure::MayHaveHappened)
            .unwrap();
        outbox.close();
        let raw = place.sql();
        for (statement, guard) in [
            (
                "UPDATE inbox SET state = 'free' WHERE key = 'done'",
                "done stays done",
            ),
            (
                "UPDATE inbox SET run = 9 WHERE key = 'done'",
                "done stays done",
            ),
            (
                "UPDATE inbox SET result = x'00' WHERE key = 'done'",
                "done stays done",
            ),
            (
                "UPDATE inbox SET result = NULL WHERE key = 'done'",
                "done stays done",
            ),
            (
                "UPDATE inbox SET ended_wall = 1 WHERE key = 'done'",
                "done stays done",
            ),
            (
                "UPDATE inbox SET fingerprint = x'00' WHERE key = 'done'",
                "done stays done",
            ),
            ("UPDATE inbox SET key = 'other'", "keeps its name"),
            ("UPDATE inbox SET scope = 'other'", "keeps its name"),
            ("UPDATE inbox SET first_wall = 1", "keeps its name"),
            ("UPDATE inbox SET run = 0", "a later run fences"),
            (
                "DELETE FROM inbox WHERE key = 'running'",
                "waits for a decision",
            ),
            (
                "DELETE FROM inbox WHERE key = 'doubt'",
                "waits for a decision",
            ),
        ] {
            let statement = statement.replace("run = 0", "run = 0 WHERE key <> 'done'");
            let error = raw.execute_batch(&statement).unwrap_err().to_string();
            assert!(error.contains(guard), "{statement}: {error}");
        }
        let again = raw.execute_batch(
            "INSERT INTO inbox (scope, key, fingerprint, state, policy, run, first_wall, began_wall)
             VALUES ('push', 'done', x'', 'running', 'at_least_once', 1, 0, 0)",
        );
        assert!(again.unwrap_err().to_string().contains("UNIQUE"));
        drop(raw);
        let outbox = world.open(&place);
        inbox(&outbox)
            .decide(
                "push".to_owned(),
                "doubt".to_owned(),
                InboxDecision::RunAgain,
            )
            .unwrap();
    });
}

/// No statement of `begin` and of retention looks at more than what it is about.
#[test]
fn the_statements_of_the_inbox_use_their_indexes() {
    let place = Place::new();
    simulate(10, |world| async move {
        drop(world.open(&place));
        let raw = place.sql();
        for statement in [
            "SELECT seq FROM inbox WHERE scope = 'a' AND key = 'b'",
            "SELECT seq FROM inbox INDEXED BY inbox_running WHERE state = 'running'
                AND policy = 'at_most_once' ORDER BY began_wall",
            "SELECT seq FROM inbox INDEXED BY inbox_running WHERE state = 'running'
                AND policy = 'at_least_once' AND began_wall < 1 ORDER BY began_wall",
            "SELECT scope FROM inbox INDEXED BY inbox_uncertain WHERE state = 'uncertain'
                ORDER BY began_wall, seq LIMIT 1",
            "SELECT scope FROM inbox INDEXED BY inbox_ended
                WHERE ended_wall IS NOT NULL AND scope > 'a' ORDER BY scope LIMIT 1",
            "SELECT seq FROM inbox INDEXED BY inbox_ended WHERE scope = 'a' AND state = 'done'
                AND dropped = 0 AND ended_wall < 1 ORDER BY ended_wall LIMIT 128",
        ] {
            let plan: Vec<String> = raw
                .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
                .unwrap()
                .query_map([], |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let plan = plan.join("; ");
            assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
            assert!(plan.contains("INDEX"), "{statement}: {plan}");
        }
    });
}
