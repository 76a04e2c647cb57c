//! Other programs that open the database, with SQLite's default settings, because they can.

use std::process::{Command, Stdio};
use std::time::Duration;

use submit_once::{Limits, OpenError, Outbox, OutboxConfig, StorageError};

use crate::base::{Base, config, files, open};
use crate::common::Place;
use crate::common::agents::{Agent, binary};
use crate::common::sim::{World, order};
use crate::scenarios::{is_told, is_whole, placed, refusal, with_base};

/// Another program does something to the closed database.
fn by_sql(statements: &str, place: &Place) {
    let other = place.sql();
    other.execute_batch(statements).unwrap();
    other.close().unwrap();
}

/// Afterwards all is there.
fn whole_after(statements: &'static str) {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        by_sql(statements, &place);
        is_whole(&world, &place, &base).await;
    });
}

pub fn visit_while_closed() {
    whole_after(
        "CREATE TABLE visit (at TEXT); INSERT INTO visit VALUES ('today');
         PRAGMA wal_checkpoint(TRUNCATE)",
    );
}

/// A process of its own: SQLite's locks tell it that it isn't alone.
pub fn visit_while_open() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let mut visitor = Agent::start(&Place::in_memory(), &[]);
        assert_eq!(visitor.ask(&format!("visit {}", place.path())), "visited");
        base.deliver_whole(&world, &outbox).await;
        outbox.close();
    });
}

/// A backup of the app's folder opens and closes each file, which drops this process's locks: POSIX says
/// so. Then another process of the app comes and goes, and takes itself for the last.
pub fn dropped_locks() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let [before, after] = ["before", "after"].map(|slot| order(&outbox, slot));
        outbox.submit(before.clone()).unwrap();
        outbox.cancel(before.id).unwrap();
        let backup = files(&place);
        assert!(backup.len() > 2);
        // It ends at the end of its input.
        let other = Command::new(binary("agent"))
            .arg(place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(
            other.status.success() && other.stdout == b"open\n",
            "{other:?}"
        );
        let receipt = outbox.submit(after.clone());
        assert!(
            receipt.is_ok(),
            "the log is gone under an open database: {receipt:?}"
        );
        outbox.cancel(after.id).unwrap();
        base.deliver_whole(&world, &outbox).await;
        outbox.close();
    });
}

pub fn lock_held() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let other = place.sql();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let impatient = OutboxConfig {
            limits: Some(Limits {
                busy_timeout: Duration::from_millis(50),
                ..Limits::default()
            }),
            ..config(&world, &place)
        };
        let error = Outbox::open_with(impatient, world.seams()).unwrap_err();
        let busy = OpenError::Storage {
            storage: StorageError::Busy,
        };
        assert_eq!(error, busy);
        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        is_whole(&world, &place, &base).await;
    });
}

pub fn other_mode() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        by_sql("PRAGMA journal_mode = DELETE", &place);
        assert!(!place.folder().join("outbox.sqlite3-wal").exists());
        is_whole(&world, &place, &base).await;
        assert!(place.folder().join("outbox.sqlite3-wal").exists());
    });
}

/// The other program was killed within a transaction, with half of it in the file.
pub fn hot_journal() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        by_sql("PRAGMA journal_mode = DELETE", &place);
        let other = place.sql();
        other
            .execute_batch(
                "PRAGMA cache_size = 1; BEGIN; DROP TRIGGER request_frozen;
                 UPDATE request SET body = zeroblob(2000); PRAGMA cache_spill = 1;
                 CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(400000))",
            )
            .unwrap();
        let copied = placed(&files(&place));
        let journal = copied.folder().join("outbox.sqlite3-journal");
        assert!(journal.metadata().unwrap().len() > 1_000);
        let same = |place: &Place| std::fs::read(place.database()).unwrap();
        assert!(same(&copied) != base.closed[std::path::Path::new("outbox.sqlite3")]);
        other.execute_batch("ROLLBACK").unwrap();
        is_whole(&world, &copied, &base).await;
        assert!(!journal.exists());
    });
}

pub fn stale_journal() {
    with_base(|world, base| async move {
        let place = placed(&base.closed);
        place.file("outbox.sqlite3-journal", &[0x5a; 9_000]);
        is_whole(&world, &place, &base).await;
    });
}

pub fn vacuumed() {
    whole_after("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}

/// What keeps claims quick and IDs unique.
pub fn index_dropped() {
    told_after_dropping("index");
}

/// What keeps final states final.
pub fn guards_dropped() {
    told_after_dropping("trigger");
}

/// Each of them alone: its loss is noticed, and what is left is salvaged into a whole database.
fn told_after_dropping(kind: &'static str) {
    with_base(|world, base| async move {
        let place = placed(&base.closed);
        let names: Vec<String> = place
            .sql()
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type = ?1 AND sql IS NOT NULL ORDER BY name",
            )
            .unwrap()
            .query_map([kind], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(names.len() > 3, "{names:?}");
        for name in names {
            let place = placed(&base.closed);
            by_sql(&format!("DROP {kind} {name}"), &place);
            is_told(&world, &place, &base).await;
            let (report, _) = salvaged(&world, &place);
            assert_eq!(report, None, "{name}: mended once and for all");
        }
    });
}

fn salvaged(world: &World, place: &Place) -> (Option<submit_once::Salvage>, i64) {
    let outbox = Outbox::open_with(config(world, place), world.seams()).unwrap();
    let report = outbox.open_report();
    outbox.close();
    (report.salvaged, report.lost_changes)
}

/// Of what somebody edited nothing is sent: not the URL, not the body, not the key, not the headers.
pub fn rewritten() {
    with_base(|world, base: Base| async move {
        for (n, change) in [
            "url = replace(url, 'api.', 'evil.')",
            "body = CAST(body || x'20' AS BLOB)",
            "wire_key = wire_key || '0'",
            "headers = replace(headers, 'note', 'nope')",
            "method = 'PUT'",
            "content_type = 'text/plain'",
        ]
        .iter()
        .enumerate()
        {
            let place = placed(&base.live);
            let trigger: String = place
                .sql()
                .query_row(
                    "SELECT sql FROM sqlite_schema WHERE name = 'request_frozen'",
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            by_sql(
                &format!("DROP TRIGGER request_frozen; UPDATE request SET {change}; {trigger}"),
                &place,
            );
            let outbox = open(&world, &place, &base).unwrap();
            let judge = base.deliver(&world, &outbox).await;
            let large = base
                .all
                .iter()
                .find(|one| one.url.ends_with("large-0"))
                .unwrap();
            // The body of one is in a file.
            let allowed = if n == 1 {
                vec![large.id.to_string()]
            } else {
                vec![]
            };
            let sent = judge.sent();
            assert!(
                sent.iter().all(|key| allowed.contains(key)),
                "{change}: {sent:?}"
            );
            outbox.close();
        }
    });
}

/// It took the file for its own, and numbered it so.
pub fn other_numbers() {
    with_base(|world, base| async move {
        for (pragma, newer) in [("user_version = 99", true), ("application_id = 7", false)] {
            let place = placed(&base.closed);
            by_sql(
                &format!("PRAGMA {pragma}; PRAGMA wal_checkpoint(TRUNCATE)"),
                &place,
            );
            let error = refusal(&world, &place);
            assert_eq!(
                matches!(error, OpenError::SchemaTooNew { .. }),
                newer,
                "{error:?}"
            );
            assert_eq!(
                matches!(error, OpenError::NotAnOutbox { .. }),
                !newer,
                "{error:?}"
            );
        }
    });
}
