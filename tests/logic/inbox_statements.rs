//! The app's own tables: an effect and its record are one, and nothing else is within reach.

use std::sync::Arc;

use submit_once::{AppStatement, Inbox, InboxError, InboxRun, SqlValue};

use super::inbox::{inbox, is_busy, most, result, run};
use crate::common::Place;
use crate::common::sim::simulate;

fn sql(sql: &str) -> AppStatement {
    AppStatement::new(sql, [])
}

fn rows(inbox: &Inbox, query: &str) -> Vec<Vec<SqlValue>> {
    let rows = inbox.query(sql(query)).unwrap();
    rows.into_iter().map(|row| row.values).collect()
}

/// Carries out statements with a run of their own, which goes on if they are refused.
fn try_all(inbox: &Inbox, statements: &[AppStatement]) -> Result<(), InboxError> {
    static RUNS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let n = RUNS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let item = most(&format!("statement {n}"));
    let run = run(inbox, item.clone());
    let done = inbox.finish_with(run, None, statements.to_vec());
    if done.is_err() {
        assert!(is_busy(inbox, item), "the run goes on");
    }
    done
}

fn all(inbox: &Inbox, statements: &[&str]) {
    let statements: Vec<_> = statements.iter().map(|text| sql(text)).collect();
    try_all(inbox, &statements).unwrap();
}

fn problem(refused: Result<(), InboxError>) -> String {
    match refused {
        Err(InboxError::Statement { number: 1, problem }) => problem,
        other => panic!("{other:?}"),
    }
}

fn with(body: impl FnOnce(&Place, Arc<Inbox>)) {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        body(&place, inbox(&outbox));
        outbox.close();
        // What the app has made is no damage.
        let outbox = world.open(&place);
        assert_eq!(outbox.open_report().salvaged, None);
    });
}

#[test]
fn an_effect_and_its_record_are_one() {
    with(|_, inbox| {
        let one = run(&inbox, most("a"));
        inbox
            .finish_with(
                one.clone(),
                Some(b"r".to_vec()),
                vec![
                    sql("CREATE TABLE app_message (id TEXT PRIMARY KEY, n REAL, b BLOB) STRICT"),
                    AppStatement::new(
                        "INSERT INTO app_message VALUES (?1, ?2, ?3)",
                        ["m1".into(), 1.5.into(), vec![0_u8, 255].into()],
                    ),
                ],
            )
            .unwrap();
        // The same call again carries nothing out.
        inbox
            .finish_with(one, None, vec![sql("DELETE FROM app_message")])
            .unwrap();
        assert_eq!(result(&inbox, most("a")), Some(b"r".to_vec()));
        let query = AppStatement::new(
            "SELECT id, n, b, NULL, ?1 FROM app_message",
            [SqlValue::from(7)],
        );
        let rows = inbox.query(query).unwrap();
        assert_eq!(
            rows[0].values,
            [
                "m1".into(),
                1.5.into(),
                vec![0_u8, 255].into(),
                SqlValue::Null,
                7.into()
            ]
        );
    });
}

#[test]
fn a_statement_that_fails_takes_all_back_and_the_run_goes_on() {
    with(|_, inbox| {
        all(&inbox, &["CREATE TABLE app_t (a INTEGER PRIMARY KEY)"]);
        let one = run(&inbox, most("a"));
        let refused = inbox.finish_with(
            one.clone(),
            None,
            vec![
                sql("INSERT INTO app_t VALUES (1)"),
                sql("CREATE INDEX app_i ON app_t (a)"),
                sql("INSERT INTO app_t VALUES (1)"),
            ],
        );
        let Err(InboxError::Statement { number: 3, problem }) = refused else {
            panic!("{refused:?}");
        };
        assert!(problem.contains("UNIQUE"), "{problem}");
        assert!(is_busy(&inbox, most("a")));
        assert_eq!(
            rows(&inbox, "SELECT count(*) FROM app_t"),
            [[SqlValue::from(0)]]
        );
        inbox.finish(one, None).unwrap();
    });
}

/// Callers whose statements fail share a transaction with others, whose records stay.
#[test]
fn what_is_taken_back_is_the_call_and_not_what_is_committed_with_it() {
    with(|_, inbox| {
        all(&inbox, &["CREATE TABLE app_t (a INTEGER PRIMARY KEY)"]);
        std::thread::scope(|scope| {
            for n in 0..16 {
                let inbox = &inbox;
                scope.spawn(move || {
                    for m in 0..20 {
                        let item = most(&format!("{n} {m}"));
                        let one = run(inbox, item);
                        let mut statements = vec![AppStatement::new(
                            "INSERT INTO app_t VALUES (?1)",
                            [SqlValue::from(n * 100 + m)],
                        )];
                        if m % 2 == 1 {
                            statements.push(sql("INSERT INTO app_t VALUES (-1), (-1)"));
                        }
                        let done = inbox.finish_with(one, None, statements);
                        assert_eq!(done.is_ok(), m % 2 == 0);
                    }
                });
            }
        });
        assert_eq!(
            rows(&inbox, "SELECT count(*) FROM app_t"),
            [[SqlValue::from(160)]]
        );
    });
}

#[test]
fn everything_of_the_apps_own_is_allowed() {
    with(|_, inbox| {
        all(
            &inbox,
            &[
                "CREATE TABLE app_t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT UNIQUE, c)",
                "CREATE TABLE IF NOT EXISTS App_Other (x REFERENCES app_t (a) ON DELETE CASCADE)",
                "CREATE TABLE app_log AS SELECT 1 AS a",
                "CREATE TABLE app_without (k TEXT PRIMARY KEY, v) WITHOUT ROWID",
                "CREATE INDEX app_i ON app_t (c) WHERE c IS NOT NULL",
                "CREATE UNIQUE INDEX app_e ON app_t (lower(b))",
                "CREATE VIEW app_v AS SELECT a, b FROM app_t",
                "CREATE TRIGGER app_tr AFTER INSERT ON app_t BEGIN
                    INSERT INTO app_log VALUES (NEW.a); END",
                "CREATE TRIGGER app_iv INSTEAD OF INSERT ON app_v BEGIN
                    INSERT INTO app_t (b) VALUES (NEW.b); END",
                "INSERT INTO app_t (b, c) VALUES ('rollback; deferred', 1), ('y', 2) RETURNING a",
                "INSERT INTO app_t (a, b) VALUES (1, 'x') ON CONFLICT (a) DO UPDATE SET b = 'z'",
                "INSERT INTO app_v (b) VALUES ('from the view'); -- one statement",
                "INSERT INTO APP_OTHER VALUES (1)",
                "WITH RECURSIVE app_n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM app_n
                    WHERE n < 10) INSERT INTO app_log SELECT n FROM app_n",
                "UPDATE app_t SET c = random() WHERE a = (SELECT max(a) FROM app_t)",
                "ALTER TABLE app_t ADD COLUMN d DEFAULT 'd'",
                "ALTER TABLE app_t RENAME COLUMN d TO e",
                "ALTER TABLE app_t DROP COLUMN e",
                "ALTER TABLE app_log RENAME TO app_logged",
                "DELETE FROM app_t WHERE a = 1",
                "SELECT count(*) FROM app_t",
                "DROP TRIGGER app_tr",
                "DROP TRIGGER app_iv",
                "DROP VIEW app_v",
                "DROP INDEX app_i",
                "DROP TABLE app_other",
                "REPLACE INTO app_without VALUES ('k', 1)",
            ],
        );
        assert_eq!(
            rows(
                &inbox,
                "SELECT count(*), (SELECT count(*) FROM app_logged) FROM app_t"
            ),
            [[SqlValue::from(2), SqlValue::from(14)]]
        );
        all(
            &inbox,
            &[
                "DROP TABLE app_t",
                "DROP TABLE app_logged",
                "DROP TABLE app_without",
            ],
        );
    });
}

#[test]
fn everything_else_is_refused() {
    with(|place, inbox| {
        all(
            &inbox,
            &[
                "CREATE TABLE app_t (a INTEGER PRIMARY KEY, b)",
                "INSERT INTO app_t VALUES (1, 1)",
                // What they do is judged when they are used.
                "CREATE VIEW app_v AS SELECT * FROM submission",
                "CREATE VIEW app_s AS SELECT * FROM sqlite_schema",
                "CREATE VIEW app_p AS SELECT * FROM pragma_table_list",
                "CREATE TABLE app_bad (a)",
                "CREATE TRIGGER app_tr AFTER INSERT ON app_bad BEGIN
                    DELETE FROM inbox; END",
                "CREATE TRIGGER app_tu AFTER UPDATE ON app_t BEGIN
                    UPDATE meta SET accepted = 7; END",
            ],
        );
        let schema = || -> Vec<String> {
            let sql = place.sql();
            let mut all = sql
                .prepare("SELECT name || coalesce(sql, '') FROM sqlite_schema")
                .unwrap();
            all.query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap()
        };
        let before = schema();
        for statement in [
            // Ours.
            "SELECT * FROM submission",
            "SELECT count(*) FROM inbox",
            "SELECT (SELECT max(seq) FROM inbox)",
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM main.request)",
            "INSERT INTO app_t SELECT seq, 1 FROM submission",
            "INSERT INTO inbox SELECT * FROM inbox",
            "UPDATE meta SET accepted = 0",
            "DELETE FROM inbox",
            "WITH app_x AS (SELECT * FROM inbox) SELECT * FROM app_x",
            "WITH app_x AS (SELECT 1) UPDATE inbox SET state = 'free'",
            "UPDATE app_t SET b = (SELECT count(*) FROM submission)",
            "UPDATE app_t SET b = 1 FROM submission",
            "CREATE TABLE app_copy AS SELECT * FROM submission",
            "CREATE TABLE other (a)",
            "CREATE TABLE IF NOT EXISTS other (a)",
            "CREATE TABLE application (a)",
            "CREATE INDEX app_i ON submission (id)",
            "CREATE INDEX other ON app_t (b)",
            "CREATE VIEW other AS SELECT 1",
            "CREATE TRIGGER app_tt AFTER INSERT ON submission BEGIN DELETE FROM app_t; END",
            "CREATE TRIGGER other AFTER INSERT ON app_t BEGIN DELETE FROM app_t; END",
            "CREATE TABLE app_r (a REFERENCES submission (seq))",
            "ALTER TABLE app_t ADD COLUMN r REFERENCES inbox (seq)",
            "ALTER TABLE app_t RENAME TO other",
            "ALTER TABLE inbox ADD COLUMN a",
            "ALTER TABLE inbox RENAME TO app_inbox",
            "DROP TABLE inbox",
            "DROP INDEX inbox_ended",
            "DROP TRIGGER inbox_final",
            // By way of what is the app's.
            "SELECT * FROM app_v",
            "SELECT count(*) FROM app_v",
            "SELECT * FROM app_s",
            "SELECT * FROM app_p",
            "INSERT INTO app_bad VALUES (1)",
            "UPDATE app_t SET b = 2",
            // SQLite's.
            "SELECT * FROM sqlite_schema",
            "SELECT name FROM sqlite_master",
            "SELECT * FROM sqlite_sequence",
            "UPDATE sqlite_sequence SET seq = 1",
            "DELETE FROM sqlite_sequence",
            "DELETE FROM sqlite_master",
            "INSERT INTO sqlite_schema VALUES ('table', 'app_x', 'app_x', 2, '')",
            "CREATE TABLE app_x AS SELECT * FROM sqlite_schema",
            "CREATE TABLE app_x AS SELECT count(*) FROM sqlite_sequence",
            "CREATE TABLE app_x AS SELECT name FROM app_s",
            "SELECT * FROM pragma_table_info('inbox')",
            "SELECT value FROM json_each('[1]')",
            "SELECT * FROM pragma_user_version",
            "PRAGMA user_version",
            "PRAGMA writable_schema = 1",
            "PRAGMA foreign_keys = 0",
            "PRAGMA recursive_triggers",
            "SELECT * FROM dbstat",
            "SELECT load_extension('x')",
            "ATTACH ':memory:' AS app_db",
            "DETACH app_db",
            "VACUUM",
            "VACUUM INTO 'app_copy.sqlite3'",
            "ANALYZE app_t",
            "ANALYZE",
            "REINDEX app_t",
            "REINDEX",
            "CREATE TEMP TABLE app_x (a)",
            "CREATE TABLE temp.app_x (a)",
            "CREATE TEMP VIEW app_x AS SELECT 1",
            "CREATE TEMP TRIGGER app_x AFTER INSERT ON app_t BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE app_x USING fts5 (a)",
            // The transaction.
            "BEGIN",
            "COMMIT",
            "END",
            "ROLLBACK",
            "SAVEPOINT command",
            "RELEASE command",
            "ROLLBACK TO command",
            "INSERT OR ROLLBACK INTO app_t VALUES (1, 1)",
            "INSERT OR /* */ RollBack INTO app_t VALUES (1, 1)",
            "CREATE TABLE app_x (a UNIQUE ON CONFLICT ROLLBACK)",
            "CREATE TRIGGER app_x AFTER INSERT ON app_t BEGIN SELECT RAISE(ROLLBACK, 'x'); END",
            "CREATE TABLE app_x (a REFERENCES app_t (a) DEFERRABLE INITIALLY DEFERRED)",
            // Parameters with names.
            "SELECT $a",
            "SELECT :a",
            "SELECT @a",
            "SELECT #1",
            "SELECT $a::b",
            "SELECT a$b FROM app_t",
            // No one statement.
            "",
            "-- nothing",
            "SELECT 1; SELECT 2",
            "SELECT 1; DELETE FROM inbox",
            "SELECT 1; COMMIT",
            "SELEKT 1",
            "SELECT ?1",
            "SELECT * FROM app_unknown",
        ] {
            let problem = problem(try_all(&inbox, &[sql(statement)]));
            assert!(!problem.is_empty(), "{statement}");
            assert!(!problem.contains("internal"), "{statement}: {problem}");
            assert_eq!(schema(), before, "{statement}");
            let queried = inbox.query(sql(statement));
            assert!(
                matches!(queried, Err(InboxError::Statement { .. })),
                "{statement}: {queried:?}"
            );
        }
        // Nothing is left of what they had begun.
        let left: (i64, i64) = place
            .sql()
            .query_row(
                "SELECT (SELECT sum(b) FROM app_t), (SELECT count(*) FROM app_bad)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!(left, (1, 0));
        // And ours work as ever.
        assert!(is_busy(&inbox, {
            run(&inbox, most("after"));
            most("after")
        }));
    });
}

#[test]
fn a_query_reads_and_only_so_much() {
    with(|_, inbox| {
        all(
            &inbox,
            &[
                "CREATE TABLE app_t (a INTEGER PRIMARY KEY, b)",
                "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n
                    WHERE n < 10001) INSERT INTO app_t SELECT n, NULL FROM n",
            ],
        );
        for statement in [
            "INSERT INTO app_t VALUES (0, 0)",
            "DELETE FROM app_t RETURNING a",
            "CREATE TABLE app_x (a)",
            "CREATE TABLE IF NOT EXISTS app_t (a)",
            "DROP TABLE app_t",
        ] {
            let refused = problem(inbox.query(sql(statement)).map(|_| ()));
            assert!(refused.contains("finish_with"), "{statement}: {refused}");
        }
        let refused = problem(inbox.query(sql("SELECT a FROM app_t")).map(|_| ()));
        assert!(refused.contains("10000 rows"), "{refused}");
        assert_eq!(
            rows(&inbox, "SELECT a FROM app_t LIMIT 10000").len(),
            10_000
        );
        let large = "SELECT zeroblob(1024 * 1024) FROM app_t LIMIT";
        assert_eq!(rows(&inbox, &format!("{large} 16")).len(), 16);
        let refused = problem(inbox.query(sql(&format!("{large} 17"))).map(|_| ()));
        assert!(refused.contains("16777216 bytes"), "{refused}");
        let few = AppStatement::new("SELECT ?1", [1.into(), 2.into()]);
        assert!(problem(inbox.query(few).map(|_| ())).contains("parameters"));
    });
}

/// A named parameter may go on with brackets, and what is in them is no quote.
#[test]
fn no_word_hides_behind_a_parameter() {
    with(|_, inbox| {
        all(&inbox, &["CREATE TABLE app_t (a PRIMARY KEY)"]);
        for name in ["$a(')", "$a::b(')", "@a(')", ":a(')", "#a(')", "?1$a(')"] {
            let text = format!(
                "WITH app_v AS (SELECT {name} AS n) INSERT OR ROLLBACK INTO app_t SELECT n FROM app_v"
            );
            let refused = problem(try_all(&inbox, &[AppStatement::new(&text, [1.into()])]));
            assert!(refused.contains("?1, ?2"), "{refused}");
        }
        let quoted = "SELECT 'a$b', \"c:d\", [e@f], `g#h`, ?1 -- $i
            FROM (SELECT 1 AS \"c:d\", 2 AS [e@f], 3 AS \"g#h\") /* :k */";
        inbox.query(AppStatement::new(quoted, [1.into()])).unwrap();
    });
}

/// On the stack of a phone's thread.
#[test]
fn a_long_script_is_refused() {
    with(|_, inbox| {
        let thread = std::thread::Builder::new().stack_size(512 * 1024);
        std::thread::scope(|scope| {
            let calls = || {
                for length in [16 * 1024, 16 * 1024 + 1, 100_000] {
                    let script: String = "SELECT 1;".chars().cycle().take(length).collect();
                    let refused = problem(try_all(&inbox, &[sql(&script)]));
                    let queried = problem(inbox.query(sql(&script)).map(|_| ()));
                    assert_eq!(refused, queried);
                    assert_eq!(refused.contains("16384 bytes"), length > 16 * 1024);
                }
            };
            thread.spawn_scoped(scope, calls).unwrap().join().unwrap();
        });
    });
}

const ENDLESS: &str = "WITH RECURSIVE app_n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM app_n)";

#[test]
fn a_statement_that_takes_too_long_is_interrupted_and_refused() {
    with(|_, inbox| {
        all(&inbox, &["CREATE TABLE app_t (a INTEGER)"]);
        let reading = problem(
            inbox
                .query(sql(&format!("{ENDLESS} SELECT count(*) FROM app_n")))
                .map(|_| ()),
        );
        let writing = format!("{ENDLESS} INSERT INTO app_t SELECT n FROM app_n");
        // Alone, and in one transaction with others.
        let writing_alone = problem(try_all(&inbox, &[sql(&writing)]));
        std::thread::scope(|scope| {
            for n in 0..4 {
                let inbox = &inbox;
                scope.spawn(move || {
                    let item = most(&format!("other {n}"));
                    // Taken back with the transaction, and told so: asked again, it converges.
                    while inbox.begin(item.clone()).is_err() {}
                    assert!(is_busy(inbox, item));
                });
            }
            let refused = problem(try_all(&inbox, &[sql(&writing)]));
            assert_eq!(refused, writing_alone);
        });
        for refused in [reading, writing_alone] {
            assert!(refused.contains("longer than 2 seconds"), "{refused}");
        }
        // What comes after has its own time.
        let left = rows(&inbox, "SELECT count(*) FROM app_t");
        assert_eq!(left, [[SqlValue::from(0)]]);
        all(&inbox, &["INSERT INTO app_t VALUES (1)"]);
    });
}

/// What is prepared for us is prepared anew after the app's changes of the schema, and not within its
/// limits.
#[test]
fn changes_of_the_schema_leave_our_own_statements_alone() {
    with(|_, inbox| {
        for n in 0..20 {
            all(&inbox, &[&format!("CREATE TABLE app_{n} (a)")]);
            let one: InboxRun = run(&inbox, most(&format!("key {n}")));
            let refused = inbox.finish_with(one.clone(), None, vec![sql("DELETE FROM inbox")]);
            assert!(refused.is_err());
            inbox.finish(one, None).unwrap();
            assert_eq!(result(&inbox, most(&format!("key {n}"))), None);
        }
    });
}
