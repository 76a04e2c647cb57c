//! Making a whole of what was read of a damaged database: nothing that is known of is left out, and
//! what can't be sent as it was accepted is held as damaged.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, named_params};

use super::order::{LANE, NEWER, OLDER, PARENT};
use super::salvage_rows::{Saved, columns, readable};
use crate::clock::Now;
use crate::error::StorageError;
use crate::policy::profile::ServerProfile;

type Sql<T> = Result<T, rusqlite::Error>;

/// What the index and the change feed tell of a submission.
#[derive(Default)]
pub(super) struct Known {
    pub(super) seq: Option<i64>,
    pub(super) last: Option<Last>,
    pub(super) cursor: i64,
}

/// Its last state in the feed.
pub(super) struct Last {
    pub(super) state: String,
    pub(super) reason: Option<String>,
    pub(super) revision: i64,
    pub(super) at: i64,
}

const FINAL: &str = "'succeeded', 'rejected', 'cancelled', 'expired', 'superseded', 'abandoned'";

/// Mends the new database, in the transaction that has filled it.
pub(super) fn mend(
    from: &Connection,
    into: &Connection,
    now: &Now,
    known: &BTreeMap<[u8; 16], Known>,
) -> Result<Saved, StorageError> {
    let saved = count(into, "SELECT count(*) FROM submission")?;
    let meta = copy_meta(from, into, now)?;
    let lost = keep_lost(into, now, known)?;
    let holed = hold_holed(into)?;
    // Requests and attempts of which nothing else is left, not even the ID.
    let named: BTreeSet<i64> = known.values().filter_map(|known| known.seq).collect();
    let mut nameless: Vec<i64> = into
        .prepare(
            "SELECT seq FROM request UNION SELECT submission FROM attempt
             EXCEPT SELECT seq FROM submission",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Sql<_>>()?;
    nameless.retain(|seq| !named.contains(seq));
    let nameless = nameless.len() as i64;
    drop_orphans(into)?;
    mend_queue(into)?;
    // As long as no tombstone was ever forgotten, it is known how many there must be.
    let there = count(
        into,
        "SELECT (SELECT count(*) FROM submission) + (SELECT count(*) FROM tombstone)",
    )?;
    let missing = match meta {
        Some((accepted, 0)) => (accepted - there).max(0),
        Some(_) | None => 0,
    };
    into.execute(
        "UPDATE meta SET accepted = max(accepted, ?1),
            unsettled = (SELECT count(*) FROM submission WHERE settled_wall IS NULL),
            settled = (SELECT count(*) FROM submission WHERE settled_wall IS NOT NULL),
            result_bytes = (SELECT coalesce(sum(length(w.body)), 0) FROM answer w
                JOIN submission s ON s.seq = w.submission WHERE s.settled_wall IS NOT NULL),
            queued_bytes = (SELECT coalesce(sum(coalesce(r.body_length, length(r.body))), 0)
                FROM request r JOIN submission s ON s.seq = r.seq WHERE s.settled_wall IS NULL)
                + (SELECT coalesce(sum(b.bytes), 0)
                FROM batch b JOIN submission s ON s.seq = b.seq WHERE s.settled_wall IS NULL)",
        [there],
    )?;
    Ok(Saved {
        submissions: saved,
        damaged: lost + holed + nameless.max(missing),
        lost_changes: 0,
    })
}

fn count(connection: &Connection, sql: &str) -> Sql<i64> {
    connection.query_row(sql, [], |row| row.get(0))
}

/// Copies the facts about the database, or begins anew. Returns how many were accepted, and since
/// when tombstones are remembered, if it is known.
fn copy_meta(from: &Connection, into: &Connection, now: &Now) -> Sql<Option<(i64, i64)>> {
    let columns = columns(from, into, "meta")?;
    let list = columns.join(", ");
    // Without columns the statement makes no sense, and that counts as nothing to be read.
    let values = from
        .query_row(&format!("SELECT {list} FROM meta"), [], |row| {
            (0..columns.len())
                .map(|n| row.get::<_, rusqlite::types::Value>(n))
                .collect::<Sql<Vec<_>>>()
        })
        .optional();
    if let Some(Some(values)) = readable(values)? {
        let places = vec!["?"; columns.len()].join(", ");
        into.execute(
            &format!("INSERT OR IGNORE INTO meta ({list}) VALUES ({places})"),
            rusqlite::params_from_iter(values),
        )?;
    }
    let found = into
        .query_row("SELECT accepted, remembers_since FROM meta", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    into.execute(
        "INSERT OR IGNORE INTO meta (one, database_id, highest_wall)
         VALUES (1, randomblob(16), ?1)",
        [now.wall.0],
    )?;
    Ok(found)
}

/// Submissions of which only the ID is left: a settled one becomes a tombstone, another is held. So
/// their IDs never begin again as if they were new.
fn keep_lost(into: &Connection, now: &Now, known: &BTreeMap<[u8; 16], Known>) -> Sql<i64> {
    let mut there = into.prepare(
        "SELECT EXISTS (SELECT 1 FROM submission WHERE id = ?1)
            OR EXISTS (SELECT 1 FROM tombstone WHERE id = ?1)",
    )?;
    let mut bury = into.prepare(&format!(
        "INSERT INTO tombstone (id, fingerprint, method, effect, state, reason, revision, attempts,
            accepted_wall, settled_wall)
         SELECT :id, zeroblob(33), '', 'keyed', :state, :reason, :revision, 0, :at, :at
         WHERE :state IN ({FINAL})"
    ))?;
    let mut hold = into.prepare(
        "INSERT INTO submission (seq, id, fingerprint, profile, channel, effect, priority,
            accepted_wall, state, reason, revision, ready, problem)
         VALUES (CASE WHEN EXISTS (SELECT 1 FROM submission WHERE seq = :seq) THEN NULL ELSE :seq END,
            :id, zeroblob(33), 0, 0, 'keyed', 0, :at, 'held', 'damaged', :revision + 1, 0,
            'the stored row is lost')",
    )?;
    let mut lost = 0;
    for (id, known) in known {
        if there.query_row([id], |row| row.get(0))? {
            continue;
        }
        lost += 1;
        let last = known.last.as_ref();
        let revision = last.map_or(1, |last| last.revision);
        let at = last.map_or(now.wall.0, |last| last.at);
        let buried = bury.execute(named_params! {
            ":id": id,
            ":state": last.map(|last| last.state.as_str()),
            ":reason": last.and_then(|last| last.reason.as_deref()),
            ":revision": revision,
            ":at": at,
        })?;
        if buried == 0 {
            hold.execute(named_params! {
                ":id": id, ":seq": known.seq, ":revision": revision, ":at": at,
            })?;
        }
    }
    Ok(lost)
}

/// Puts something in the place of each request, profile and way that is missing, and holds what it is
/// missing to. Returns how many more are damaged by that.
fn hold_holed(into: &Connection) -> Sql<i64> {
    const HOLED: &str = "NOT EXISTS (SELECT 1 FROM request r WHERE r.seq = submission.seq)
        OR NOT EXISTS (SELECT 1 FROM profile p WHERE p.id = submission.profile)
        OR NOT EXISTS (SELECT 1 FROM channel c WHERE c.id = submission.channel)";
    let holed = count(
        into,
        &format!(
            "SELECT count(*) FROM submission WHERE ({HOLED}) AND problem IS NOT 'the stored row is lost'"
        ),
    )?;
    into.execute(
        &format!(
            "UPDATE submission SET state = 'held', reason = 'damaged', revision = revision + 1,
                cancel_requested = 0, ready = 0, due_uptime = NULL, probe_uptime = NULL,
                expires_wall = NULL, owner = NULL, fence = NULL,
                problem = 'a part of the stored row is lost'
             WHERE settled_wall IS NULL AND state NOT IN ({FINAL}) AND reason IS NOT 'damaged'
                AND ({HOLED} OR state NOT IN ('pending', 'in_flight', 'held'))"
        ),
        [],
    )?;
    into.execute(
        "INSERT INTO request (seq, wire_key, method, url, headers, checksum, body_digest)
         SELECT seq, '', '', '', '[]', zeroblob(32), zeroblob(32) FROM submission
         WHERE seq NOT IN (SELECT seq FROM request)",
        [],
    )?;
    into.execute(
        "INSERT INTO channel (id, account, origin)
         SELECT DISTINCT channel, '', 'lost ' || channel FROM submission
         WHERE channel NOT IN (SELECT id FROM channel)",
        [],
    )?;
    into.execute(
        "INSERT OR IGNORE INTO host (origin) SELECT origin FROM channel",
        [],
    )?;
    let missing: Vec<i64> = into
        .prepare(
            "SELECT DISTINCT profile FROM submission WHERE profile NOT IN (SELECT id FROM profile)",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Sql<_>>()?;
    for (n, profile) in missing.into_iter().enumerate() {
        // Readable, and no other's: texts of profiles are unique.
        let json = serde_json::to_string(&ServerProfile::standard()).unwrap_or_default();
        let json = format!("{json}{}", " ".repeat(n + 1));
        into.execute(
            "INSERT INTO profile (id, json) VALUES (?1, ?2)",
            (profile, json),
        )?;
    }
    Ok(holed)
}

/// Drops what belongs to nothing any more. The damaged file still has it.
fn drop_orphans(into: &Connection) -> Sql<()> {
    // A parent that is lost, or isn't known any more, has no result to give. One that had ended took its
    // children along, so that a page from before that speaks of the past.
    into.execute(
        "DELETE FROM dependency WHERE parent IN
            (SELECT seq FROM submission WHERE settled_wall IS NOT NULL)",
        [],
    )?;
    into.execute(
        &format!(
            "UPDATE submission SET state = 'held', reason = 'parent_result_missing',
                revision = revision + 1, ready = 0, due_uptime = NULL, owner = NULL, fence = NULL
             WHERE settled_wall IS NULL AND state NOT IN ({FINAL}) AND reason IS NOT 'damaged'
                AND (seq IN (SELECT child FROM dependency
                        WHERE parent NOT IN (SELECT seq FROM submission))
                    OR (blockers & {PARENT} <> 0 AND seq NOT IN (SELECT child FROM dependency)))"
        ),
        [],
    )?;
    for (table, column) in [
        ("request", "seq"),
        ("resolved", "seq"),
        ("attempt", "submission"),
        ("answer", "submission"),
        ("batch", "seq"),
        ("record", "batch"),
        ("part_value", "child"),
        ("dependency", "child"),
        ("dependency", "parent"),
    ] {
        into.execute(
            &format!("DELETE FROM {table} WHERE {column} NOT IN (SELECT seq FROM submission)"),
            [],
        )?;
    }
    // Of a batch that is lost nobody knows how its records were sent. They stay with what is damaged.
    into.execute(
        "INSERT INTO batch (seq, account, name, terms, open, body_digest, checksum)
         SELECT DISTINCT batch, '', '', '', 0, zeroblob(32), zeroblob(32) FROM record
         WHERE batch NOT IN (SELECT seq FROM batch)",
        [],
    )?;
    into.execute(
        "INSERT OR IGNORE INTO body_file (name, submission, released)
         SELECT r.body_file, r.seq, s.settled_wall IS NOT NULL
         FROM request r JOIN submission s ON s.seq = r.seq WHERE r.body_file IS NOT NULL",
        [],
    )?;
    Ok(())
}

/// Leaves nothing that nobody would ever look at again. Whoever had something in flight is gone: the
/// next step takes it over, from an owner without a lock.
fn mend_queue(into: &Connection) -> Sql<()> {
    into.execute(
        "INSERT OR IGNORE INTO boot (token, first_uptime, first_wall) VALUES ('salvage', 0, 0)",
        [],
    )?;
    into.execute(
        "INSERT INTO owner (token, boot, lease_uptime)
         SELECT 'salvage', id, 0 FROM boot WHERE token = 'salvage'",
        [],
    )?;
    let owner = into.last_insert_rowid();
    into.execute(
        "UPDATE attempt SET mark = 'unknown' WHERE mark = 'open' AND NOT EXISTS (
            SELECT 1 FROM submission WHERE fence = attempt.id AND state = 'in_flight')",
        [],
    )?;
    into.execute(
        "UPDATE submission SET owner = CASE WHEN state = 'in_flight' THEN ?1 END",
        [owner],
    )?;
    // Its open attempt is lost: it may have been sent.
    into.execute(
        "UPDATE submission SET state = 'held', revision = revision + 1, ready = 0, owner = NULL,
            fence = NULL, cancel_requested = 0, due_uptime = NULL, reason = CASE cancel_requested
                WHEN 0 THEN 'outcome_unknown' ELSE 'cancel_requested' END
         WHERE state = 'in_flight' AND NOT EXISTS (SELECT 1 FROM attempt
            WHERE submission = submission.seq AND attempt.id = fence AND mark = 'open')",
        [],
    )?;
    mend_order(into)?;
    into.execute(
        "UPDATE submission SET ready = 1 + unmetered
         WHERE state = 'pending' AND ready = 0 AND due_uptime IS NULL AND blockers = 0
            AND probe_uptime IS NULL",
        [],
    )?;
    into.execute(
        "UPDATE submission SET ready = 0
         WHERE ready <> 0 AND (state <> 'pending' OR blockers <> 0)",
        [],
    )?;
    Ok(())
}

/// Gives the turns in lanes anew, and ends waits for versions that aren't there.
fn mend_order(into: &Connection) -> Sql<()> {
    into.execute_batch(&format!(
        "INSERT OR IGNORE INTO lane (account, name)
            SELECT DISTINCT coalesce(account, ''), lane FROM submission
            WHERE lane IS NOT NULL AND settled_wall IS NULL;
         UPDATE lane SET turn = (SELECT min(seq) FROM submission
            WHERE account IS nullif(lane.account, '') AND submission.lane = lane.name
                AND submission.lane IS NOT NULL AND settled_wall IS NULL AND seq < coalesce(stopped, {most})
                AND NOT (state = 'held' AND lane_policy = 'continue'));
         UPDATE submission SET blockers = CASE
                WHEN seq IN (SELECT turn FROM lane) THEN blockers & ~{LANE}
                ELSE blockers | {LANE} END
            WHERE lane IS NOT NULL AND settled_wall IS NULL;
         INSERT OR IGNORE INTO latest (account, name)
            SELECT DISTINCT coalesce(account, ''), replaces FROM submission
            WHERE replaces IS NOT NULL AND settled_wall IS NULL;
         UPDATE submission SET blockers = blockers & ~{versions}
            WHERE replaces IS NOT NULL AND settled_wall IS NULL AND blockers & {versions} <> 0;
         WITH turn AS (SELECT account, replaces,
                coalesce(min(CASE children WHEN 1 THEN seq END), max(seq)) AS seq
            FROM submission WHERE replaces IS NOT NULL AND settled_wall IS NULL
            GROUP BY account, replaces)
         UPDATE submission SET blockers = blockers | CASE
                WHEN submission.seq < turn.seq THEN {NEWER}
                WHEN submission.seq > turn.seq THEN {OLDER}
                WHEN EXISTS (SELECT 1 FROM submission o WHERE o.account IS submission.account
                    AND o.replaces = submission.replaces AND o.replaces IS NOT NULL
                    AND o.state = 'in_flight' AND o.seq <> submission.seq) THEN {OLDER}
                ELSE 0 END
            FROM turn WHERE submission.account IS turn.account
                AND submission.replaces = turn.replaces AND submission.settled_wall IS NULL;",
        versions = NEWER | OLDER,
        most = i64::MAX,
    ))
}
