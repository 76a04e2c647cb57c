//! The database's own guards: code can forget, triggers don't (P2, P7).

use rusqlite::Connection;

use submit_once::SubmissionState;

use crate::common::Place;
use crate::common::sim::{drain, lost, order, simulate, status};

/// A database with one settled and one doubtful submission.
fn prepared(place: &Place) -> Connection {
    simulate(1, |world| async move {
        let outbox = world.open(place);
        let settled = order(&outbox, "settled");
        outbox.submit(settled.clone()).unwrap();
        drain(&outbox).await;
        let state = outbox.snapshot(settled.id).unwrap().state;
        assert_eq!(state, SubmissionState::Succeeded);
        world.network.play([lost(), status(400)]);
        outbox.submit(order(&outbox, "doubtful")).unwrap();
        drain(&outbox).await;
        outbox.close();
    });
    place.sql()
}

fn refuses(connection: &Connection, sql: &str, guard: &str) {
    let error = connection.execute_batch(sql).unwrap_err().to_string();
    assert!(error.contains(guard), "{sql}: {error}");
}

#[test]
fn a_final_state_never_changes() {
    let place = Place::new();
    let sql = prepared(&place);
    for set in [
        "state = 'pending'",
        "state = 'abandoned'",
        "result = NULL",
        "settled_wall = 1",
    ] {
        let update = format!("UPDATE submission SET {set} WHERE seq = 1");
        refuses(&sql, &update, "a final state never changes");
    }
}

#[test]
fn what_may_have_happened_is_never_called_undone() {
    let place = Place::new();
    let sql = prepared(&place);
    for state in ["cancelled", "expired", "rejected"] {
        let update = format!("UPDATE submission SET state = '{state}' WHERE seq = 2");
        refuses(&sql, &update, "not called undone");
    }
}

#[test]
fn an_accepted_submission_is_frozen() {
    let place = Place::new();
    let sql = prepared(&place);
    for column in [
        "id = x'01'",
        "fingerprint = x'01'",
        "account = 'x'",
        "effect = 'none'",
        "priority = 9",
        "lane = 'x'",
        "accepted_wall = 1",
    ] {
        let update = format!("UPDATE submission SET {column} WHERE seq = 2");
        refuses(&sql, &update, "is frozen");
    }
    for column in [
        "wire_key = 'x'",
        "url = 'x'",
        "body = x''",
        "method = 'x'",
        "headers = ''",
    ] {
        refuses(&sql, &format!("UPDATE request SET {column}"), "is frozen");
    }
}

#[test]
fn a_record_and_a_sealed_batch_never_change() {
    let place = &Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(place);
        let logs = submit_once::BatchConfig::new("logs", "/logs");
        let batch = std::sync::Arc::clone(&outbox).batch(logs).unwrap();
        world.network.play([lost()]);
        batch.append("{}".to_owned()).unwrap();
        batch.flush().unwrap();
        let budget = submit_once::DrainBudget::of(std::time::Duration::from_millis(200));
        outbox.drain(budget).await.unwrap();
        batch.append("{}".to_owned()).unwrap();
        outbox.close();
    });
    let sql = place.sql();
    for set in ["body = '{}'", "number = 9", "checksum = x''"] {
        let update = format!("UPDATE record SET {set}");
        refuses(&sql, &update, "a record never changes");
    }
    for batch in [1, 2] {
        let delete = format!("DELETE FROM record WHERE batch = {batch}");
        refuses(&sql, &delete, "as long as its batch is unsettled");
    }
    let insert = "INSERT INTO record (batch, number, body, checksum) VALUES (1, 9, '{}', x'')";
    refuses(&sql, insert, "a sealed batch takes no record");
    for set in [
        "open = 1",
        "body_digest = NULL",
        "checksum = x''",
        "records = 9",
        "bytes = 9",
        "terms = ''",
        "account = 'ann'",
        "name = ''",
        "depth = 9",
    ] {
        let update = format!("UPDATE batch SET {set} WHERE seq = 1");
        refuses(&sql, &update, "a sealed batch is frozen");
    }
    for set in ["terms = ''", "account = 'ann'", "name = ''", "depth = 9"] {
        let update = format!("UPDATE batch SET {set} WHERE seq = 2");
        refuses(&sql, &update, "is frozen");
    }
    sql.execute_batch("UPDATE batch SET open = 0 WHERE seq = 2")
        .unwrap();
    refuses(&sql, "UPDATE batch SET open = 1 WHERE seq = 2", "is frozen");
    sql.execute_batch(
        "INSERT INTO batch (seq, account, name, terms, open)
         SELECT 3, account, name, terms, 1 FROM batch WHERE seq = 2",
    )
    .unwrap_err();
}

/// One open batch of a key, and appending doesn't look at what is queued.
#[test]
fn the_open_batch_is_one_and_is_found_by_its_key() {
    let place = Place::new();
    let sql = prepared(&place);
    let insert = |seq: i64| {
        let insert = format!(
            "INSERT INTO batch (seq, account, name, terms, open) VALUES ({seq}, '', 'logs', '', 1)"
        );
        sql.execute_batch(&insert)
    };
    insert(1).unwrap();
    assert!(insert(2).unwrap_err().to_string().contains("UNIQUE"));
    let plan: Vec<String> = sql
        .prepare(
            "EXPLAIN QUERY PLAN SELECT b.seq, b.body_digest IS NULL AND b.seq >= coalesce(
                (SELECT purging FROM account WHERE name = ''), 0)
                AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.submission = b.seq)
             FROM batch b JOIN submission s ON s.seq = b.seq
             WHERE b.account = '' AND b.name = 'logs' AND b.open = 1",
        )
        .unwrap()
        .query_map([], |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let plan = plan.join("; ");
    assert!(
        plan.contains("batch_open") && !plan.contains("SCAN"),
        "{plan}"
    );
}

#[test]
fn a_settled_attempt_and_a_stored_answer_never_change() {
    let place = Place::new();
    let sql = prepared(&place);
    refuses(
        &sql,
        "UPDATE attempt SET mark = 'unknown' WHERE mark = 'applied'",
        "a settled attempt never changes",
    );
    refuses(
        &sql,
        "UPDATE attempt SET mark = 'open' WHERE mark = 'unknown'",
        "a settled attempt never changes",
    );
    refuses(
        &sql,
        "UPDATE answer SET body = x''",
        "a stored answer never changes",
    );
}

#[test]
fn what_is_settled_is_not_attempted_again() {
    let place = Place::new();
    let sql = prepared(&place);
    refuses(
        &sql,
        "INSERT INTO attempt (submission, number, mark, owner, epoch, boot, began_uptime,
            began_device, began_wall) VALUES (1, 9, 'open', 1, 0, 1, 0, 0, 0)",
        "is not attempted",
    );
    // A flipped bit marks it as ready.
    sql.execute_batch("UPDATE submission SET ready = 1 WHERE seq = 1")
        .unwrap();
    // And another makes it unreadable as well: it is left alone, and nothing loops over it.
    sql.execute_batch("UPDATE submission SET attempts = -1 WHERE seq = 1")
        .unwrap();
    drop(sql);
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        drain(&outbox).await;
        let bodies: Vec<_> = world.network.seen();
        assert!(
            bodies
                .iter()
                .all(|seen| seen.request.body.as_bytes() != Some(br#"{"order":"settled"}"#))
        );
    });
}

/// P11: a submission leaves only behind its tombstone.
#[test]
fn a_submission_is_not_deleted() {
    let place = Place::new();
    let sql = prepared(&place);
    refuses(&sql, "DELETE FROM submission", "behind its tombstone");
    refuses(
        &sql,
        "INSERT INTO tombstone SELECT id, fingerprint, NULL, 'POST', effect, state, reason,
            revision, attempts, NULL, accepted_wall, 0, 0 FROM submission WHERE seq = 2",
        "only what is settled",
    );
}

/// The claim looks at nothing that isn't due, and a page of a list at nothing beyond its end: no scan, no
/// sort, at any length of the queue (F91, F92).
#[test]
fn the_statements_of_claims_lists_and_purges_use_their_indexes() {
    let place = Place::new();
    let sql = prepared(&place);
    let statements = [
        "SELECT priority, seq FROM submission WHERE ready = 1 AND channel = 1
            ORDER BY priority DESC, seq LIMIT 8",
        "SELECT seq FROM submission WHERE boot = 1 AND due_uptime <= 5
            ORDER BY due_uptime LIMIT 128",
        "SELECT min(due_uptime) FROM submission WHERE boot = 1 AND due_uptime IS NOT NULL",
        "SELECT seq FROM submission WHERE due_uptime IS NOT NULL AND boot < 1 LIMIT 128",
        "SELECT seq FROM submission WHERE expires_wall <= 1 AND state <> 'in_flight'
            ORDER BY expires_wall LIMIT 128",
        "SELECT seq FROM submission WHERE owner = 1",
        "SELECT seq FROM submission WHERE settled_wall < 1 ORDER BY settled_wall LIMIT 128",
        "SELECT count(*) FROM submission WHERE state = 'held'",
        "SELECT reason, count(*) FROM submission WHERE state = 'held' GROUP BY reason",
        "SELECT accepted_wall FROM submission WHERE settled_wall IS NULL ORDER BY seq LIMIT 1",
        "SELECT count(*) FROM submission WHERE owner IS NULL AND settled_wall IS NULL
            AND seq IN (SELECT submission FROM attempt WHERE mark = 'unknown')",
        "SELECT mark, count(*) FROM attempt WHERE submission = 1 AND mark <> 'not_applied'
            GROUP BY mark",
        "SELECT id FROM tombstone WHERE settled_wall < 1 AND substr(hex(id), 13, 1) = '7'
            ORDER BY settled_wall LIMIT 128",
        // Lists: how far so many looks go, and a page of what fits.
        "SELECT s.seq FROM submission s INDEXED BY submission_held
            WHERE s.state = 'held' AND s.seq > 5 ORDER BY s.seq LIMIT 1 OFFSET 4999",
        "SELECT s.seq FROM submission s INDEXED BY submission_account
            WHERE s.account = 'ann' AND s.seq > 5 ORDER BY s.seq LIMIT 1 OFFSET 4999",
        "SELECT s.*, r.url FROM submission s INDEXED BY submission_lane
            CROSS JOIN request r ON r.seq = s.seq LEFT JOIN answer w ON w.attempt = s.result
            WHERE s.account = 'ann' AND s.lane = 'l' AND s.seq > 5 AND s.seq <= 9
            AND s.settled_wall IS NOT NULL ORDER BY s.seq LIMIT 100",
        "SELECT s.*, r.url FROM submission s INDEXED BY submission_replaces
            CROSS JOIN request r ON r.seq = s.seq LEFT JOIN answer w ON w.attempt = s.result
            WHERE s.account IS NULL AND s.replaces = 'k' AND s.seq > 5 AND s.seq <= 9
            ORDER BY s.seq LIMIT 100",
        "SELECT s.*, r.url FROM submission s NOT INDEXED
            CROSS JOIN request r ON r.seq = s.seq LEFT JOIN answer w ON w.attempt = s.result
            WHERE s.seq > 5 AND s.seq <= 9 AND s.state IN ('pending', 'in_flight')
            ORDER BY s.seq LIMIT 100",
        "SELECT DISTINCT account FROM channel",
        // Decisions about many, and purges.
        "SELECT seq FROM submission INDEXED BY submission_held
            WHERE state = 'held' AND seq > 1 AND seq <= 9 ORDER BY seq LIMIT 128",
        "SELECT max(seq) FROM submission WHERE state = 'held'",
        "SELECT seq FROM submission WHERE account = 'ann' AND seq < 9
            ORDER BY seq DESC LIMIT 128",
        "SELECT name, purging FROM account WHERE purging IS NOT NULL LIMIT 1",
        "SELECT count(*) FROM submission WHERE account = 'ann' AND settled_wall IS NULL",
        // The change feed.
        "SELECT cursor FROM change WHERE cursor > 5 ORDER BY cursor LIMIT 100",
    ];
    for statement in statements {
        let plan: Vec<String> = sql
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap()
            .query_map([], |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let scans_rows = plan
            .iter()
            .any(|step| step.contains("SCAN") && !step.contains("INDEX"));
        let plan = plan.join("; ");
        let sorts = plan.contains("TEMP B-TREE") && !statement.contains("GROUP BY");
        assert!(!scans_rows && !sorts, "{statement}: {plan}");
    }
}
