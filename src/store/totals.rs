//! Totals: what has happened since the database was made, in numbers, and the numbers of now.
//!
//! A command notes what it counts in memory, with its transaction. The writer adds all of that to the
//! table by one statement before it commits; what a command noted that is rolled back goes with it.
//! Calls that only read are counted in the process, and added when something is written anyway.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::rows::{read_state, unreadable};
use super::writer::Tx;
use crate::clock::WallMs;
use crate::model::state::{HoldReason, SubmissionState};

// The names of totals are persisted: one never changes. Ends are counted under the spelling of
// their state.
pub(crate) const ATTEMPTS: &str = "attempts";
pub(crate) const AFTER_ANSWER: &str = "retries_after_answer";
pub(crate) const AFTER_SILENCE: &str = "retries_after_silence";
pub(crate) const AFTER_NO_CONNECTION: &str = "retries_after_no_connection";
pub(crate) const DOUBTS_RAISED: &str = "doubts_raised";
pub(crate) const DOUBTS_SETTLED: &str = "doubts_settled";
pub(crate) const JOINED: &str = "joined";
pub(crate) const REPLAYED: &str = "replayed";
pub(crate) const REUSE_REFUSED: &str = "reuse_refused";
pub(crate) const TURNED_AWAY: &str = "turned_away";
pub(crate) const INBOX_RUNS: &str = "inbox_runs";
pub(crate) const INBOX_REPEATS: &str = "inbox_repeats";
pub(crate) const RECORDS: &str = "records";

/// Times to settle: up to so many milliseconds, each under its name. From a fast server to a week
/// without a network.
pub(crate) const SETTLE_TIMES: [(&str, u64); 16] = [
    ("settled_in_100ms", 100),
    ("settled_in_250ms", 250),
    ("settled_in_500ms", 500),
    ("settled_in_1s", 1_000),
    ("settled_in_2s", 2_500),
    ("settled_in_5s", 5_000),
    ("settled_in_10s", 10_000),
    ("settled_in_30s", 30_000),
    ("settled_in_1min", 60_000),
    ("settled_in_5min", 5 * 60_000),
    ("settled_in_15min", 15 * 60_000),
    ("settled_in_1h", 3_600_000),
    ("settled_in_6h", 6 * 3_600_000),
    ("settled_in_1d", 86_400_000),
    ("settled_in_3d", 3 * 86_400_000),
    ("settled_in_7d", 7 * 86_400_000),
];

/// Longer than all of them.
pub(crate) const SETTLED_LATER: &str = "settled_later";

/// Counts a submission's end.
pub(super) fn note_end(tx: &Tx<'_>, state: &'static str, accepted: WallMs, doubts: u32) {
    tx.count(state, 1);
    // What nobody knew when it ended, nobody asks any more.
    tx.count(DOUBTS_SETTLED, i64::from(doubts));
    let took = tx.now.wall.since(accepted);
    let name = SETTLE_TIMES
        .iter()
        .find(|(_, most)| took <= Duration::from_millis(*most))
        .map_or(SETTLED_LATER, |(name, _)| name);
    tx.count(name, 1);
}

/// What a call of `submit` came to that stored nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Call {
    Joined,
    Replayed,
    ReuseRefused,
    /// The queue was full, the ID too old, the disk full.
    TurnedAway,
    /// `begin` of the inbox met something done or under way.
    InboxRepeat,
}

/// Calls that stored nothing, of this process, as far as they aren't in the table. To write each of
/// them would cost a sync.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    joined: AtomicI64,
    replayed: AtomicI64,
    reuse_refused: AtomicI64,
    turned_away: AtomicI64,
    inbox_repeats: AtomicI64,
    /// Held from before they are committed until they are taken off here, and while both are read:
    /// or a call would be seen twice, and a total go down.
    moving: Mutex<()>,
}

impl Calls {
    pub(crate) fn note(&self, call: Call) {
        let counter = match call {
            Call::Joined => &self.joined,
            Call::Replayed => &self.replayed,
            Call::ReuseRefused => &self.reuse_refused,
            Call::TurnedAway => &self.turned_away,
            Call::InboxRepeat => &self.inbox_repeats,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn counters(&self) -> [(&'static str, &AtomicI64); 5] {
        [
            (JOINED, &self.joined),
            (REPLAYED, &self.replayed),
            (REUSE_REFUSED, &self.reuse_refused),
            (TURNED_AWAY, &self.turned_away),
            (INBOX_REPEATS, &self.inbox_repeats),
        ]
    }

    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.moving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that aren't in the table. Under [`Calls::hold`].
    pub(super) fn left(&self) -> Vec<(&'static str, i64)> {
        self.counters()
            .iter()
            .map(|(name, counter)| (*name, counter.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count != 0)
            .collect()
    }

    fn take_off(&self, added: &[(&'static str, i64)]) {
        for (name, counter) in self.counters() {
            let count = added.iter().find(|(added, _)| *added == name);
            counter.fetch_sub(count.map_or(0, |(_, count)| *count), Ordering::Relaxed);
        }
    }
}

/// Calls that are in the table once its transaction is committed, and not before.
pub(super) struct Moving<'a> {
    calls: &'a Calls,
    added: Vec<(&'static str, i64)>,
    _held: MutexGuard<'a, ()>,
}

impl Moving<'_> {
    pub(super) fn committed(self) {
        self.calls.take_off(&self.added);
    }
}

/// Adds what was counted to the table; with it the calls so far, if `with_calls`.
pub(super) fn add<'a>(
    connection: &Connection,
    counted: &[(&'static str, i64)],
    calls: &'a Calls,
    with_calls: bool,
) -> rusqlite::Result<Option<Moving<'a>>> {
    let moving = with_calls.then(|| {
        let held = calls.hold();
        Moving {
            calls,
            added: calls.left(),
            _held: held,
        }
    });
    let mut sums = BTreeMap::new();
    let added = moving.iter().flat_map(|moving| &moving.added);
    for (name, count) in counted.iter().chain(added) {
        *sums.entry(*name).or_insert(0_i64) += count;
    }
    add_sums(connection, &sums)?;
    Ok(moving)
}

fn add_sums(connection: &Connection, sums: &BTreeMap<&str, i64>) -> rusqlite::Result<()> {
    if sums.values().all(|count| *count == 0) {
        return Ok(());
    }
    let sums = serde_json::to_string(sums).map_err(|_| unreadable())?;
    connection
        .prepare_cached(
            "INSERT INTO total (name, count) SELECT key, value FROM json_each(?1) WHERE value <> 0
             ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
        )?
        .execute([sums])?;
    Ok(())
}

/// Adds to one total, outside of a command.
pub(super) fn add_one(
    connection: &Connection,
    name: &'static str,
    count: usize,
) -> rusqlite::Result<()> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    add_sums(connection, &BTreeMap::from([(name, count)]))
}

/// Numbers of now, and totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    pub(crate) unsettled: i64,
    pub(crate) in_flight: i64,
    pub(crate) held: Vec<(HoldReason, i64)>,
    pub(crate) in_doubt: i64,
    /// When the oldest unsettled one was accepted.
    pub(crate) oldest: Option<WallMs>,
    pub(crate) queued_bytes: i64,
    pub(crate) result_bytes: i64,
    pub(crate) database_bytes: i64,
    pub(crate) accepted: i64,
    pub(crate) abnormal_retries: i64,
    pub(crate) last_cursor: i64,
    pub(crate) inbox_uncertain: i64,
    totals: BTreeMap<String, i64>,
}

impl Numbers {
    /// The total of this name.
    pub(crate) fn total(&self, name: &str) -> i64 {
        self.totals.get(name).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, counts: &[(&'static str, i64)]) {
        for (name, count) in counts {
            *self.totals.entry((*name).to_owned()).or_insert(0) += count;
        }
    }
}

/// Reads the numbers. No statement looks at more than what it counts: each has an index of its own,
/// or a counter that is kept.
pub(super) fn numbers(connection: &Connection) -> rusqlite::Result<Numbers> {
    let numbers = connection
        .prepare_cached(
            "SELECT unsettled,
                (SELECT count(*) FROM submission WHERE owner IS NOT NULL),
                (SELECT count(*) FROM submission WHERE owner IS NULL AND settled_wall IS NULL
                    AND seq IN (SELECT submission FROM attempt WHERE mark = 'unknown')),
                (SELECT accepted_wall FROM submission WHERE settled_wall IS NULL
                    ORDER BY seq LIMIT 1),
                queued_bytes, result_bytes,
                (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size),
                accepted, abnormal_retries,
                (SELECT seq FROM sqlite_sequence WHERE name = 'change'),
                (SELECT count(*) FROM inbox WHERE state = 'uncertain')
             FROM meta",
        )?
        .query_row([], |row| {
            let in_flight = row.get(1)?;
            Ok(Numbers {
                unsettled: row.get(0)?,
                in_flight,
                held: Vec::new(),
                // The attempt of one in flight is open, or another of its attempts is unknown.
                in_doubt: in_flight + row.get::<_, i64>(2)?,
                oldest: row.get::<_, Option<i64>>(3)?.map(WallMs),
                queued_bytes: row.get(4)?,
                result_bytes: row.get(5)?,
                database_bytes: row.get(6)?,
                accepted: row.get(7)?,
                abnormal_retries: row.get(8)?,
                last_cursor: row.get::<_, Option<i64>>(9)?.unwrap_or(0),
                inbox_uncertain: row.get(10)?,
                totals: BTreeMap::new(),
            })
        })
        .optional()?
        .ok_or_else(unreadable)?;
    let totals = connection
        .prepare_cached("SELECT name, count FROM total")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(Numbers {
        held: held(connection)?,
        totals,
        ..numbers
    })
}

fn held(connection: &Connection) -> rusqlite::Result<Vec<(HoldReason, i64)>> {
    let mut held: Vec<(HoldReason, i64)> = Vec::new();
    let mut statement = connection.prepare_cached(
        "SELECT reason, count(*) FROM submission WHERE state = 'held' GROUP BY reason",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let state = read_state("held", row.get_ref(0)?.as_str_or_null()?);
        let SubmissionState::Held { reason } = state else {
            continue;
        };
        let count: i64 = row.get(1)?;
        // Two spellings may read as one: an unknown one is damage.
        match held.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, sum)) => *sum += count,
            None => held.push((reason, count)),
        }
    }
    Ok(held)
}
