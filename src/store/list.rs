//! Lists: a page at a time, in the order of acceptance, and never more than so many looks for one.
//!
//! What has an index of its own is read along that: what is held, a lane, a latest-wins key, an
//! account. The rest of the filter is looked at row by row, up to the limit; a page that ends there says
//! where to go on.

use rusqlite::{Connection, OptionalExtension};

use super::rows::{spell_hold, spell_key};
use super::view::{columns, read_snapshot};
use crate::model::outcome::{ListFilter, ListState, PageRequest, Snapshot, SnapshotPage};
use crate::model::submission::Effect;
use crate::policy::limits::LIST_LOOKS;

/// Entries of one page at most.
const PAGE_MOST: u32 = 1_000;

/// An index, and the rows of it that are looked at: those of `?1`, an account, and `?2`, a lane or a
/// latest-wins key. They come in the order of acceptance.
struct Way {
    index: &'static str,
    rows: &'static str,
    account: Option<String>,
    key: Option<String>,
}

/// A page, without the answers' bodies.
pub(super) fn list(
    connection: &Connection,
    filter: &ListFilter,
    page: PageRequest,
) -> rusqlite::Result<SnapshotPage> {
    let limit = page.limit.clamp(1, PAGE_MOST) as usize;
    let ways = ways(connection, filter)?;
    let looks = (LIST_LOOKS as usize / ways.len().max(1)).max(1);
    let mut found = Vec::new();
    // Up to there every way has been looked at; nothing if they have been to their ends.
    let mut until: Option<i64> = None;
    for way in &ways {
        let looked = match *filter == ListFilter::all() {
            true => None,
            false => look(connection, way, page.after, looks)?,
        };
        until = until.into_iter().chain(looked).min();
        matching(
            connection,
            way,
            filter,
            (page.after, looked.unwrap_or(i64::MAX)),
            limit,
            &mut found,
        )?;
    }
    found.retain(|(seq, _)| until.is_none_or(|until| *seq <= until));
    found.sort_by_key(|(seq, _)| *seq);
    let full = found.len() >= limit;
    found.truncate(limit);
    let last = found.last().map(|(seq, _)| *seq).filter(|_| full);
    Ok(SnapshotPage {
        snapshots: found.into_iter().map(|(_, snapshot)| snapshot).collect(),
        next: last.or(until),
    })
}

fn ways(connection: &Connection, filter: &ListFilter) -> rusqlite::Result<Vec<Way>> {
    let (index, of_account, nobodys, keys) = match (&filter.lane, &filter.replaces) {
        (Some(lane), _) => (
            "INDEXED BY submission_lane",
            "s.account = ?1 AND s.lane = ?2",
            "s.account IS NULL AND s.lane = ?2",
            vec![lane.clone()],
        ),
        (None, Some(replaces)) => (
            "INDEXED BY submission_replaces",
            "s.account = ?1 AND s.replaces = ?2",
            "s.account IS NULL AND s.replaces = ?2",
            stored_keys(replaces).to_vec(),
        ),
        (None, None) => {
            let held = filter.state == Some(ListState::Held) || filter.reason.is_some();
            let (index, rows) = match (held, &filter.account) {
                (true, _) => ("INDEXED BY submission_held", "s.state = 'held'"),
                (false, Some(_)) => ("INDEXED BY submission_account", "s.account = ?1"),
                (false, None) => ("NOT INDEXED", "1"),
            };
            return Ok(vec![Way {
                index,
                rows,
                account: filter.account.clone(),
                key: None,
            }]);
        }
    };
    // They are those of an account. Without one it is looked for in all of them, which are few.
    let accounts: Vec<String> = match &filter.account {
        Some(account) => vec![account.clone()],
        None => connection
            .prepare_cached("SELECT DISTINCT account FROM channel")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?,
    };
    let ways = accounts.into_iter().flat_map(|account| {
        keys.iter().map(move |key| Way {
            index,
            rows: if account.is_empty() {
                nobodys
            } else {
                of_account
            },
            account: Some(account.clone()),
            key: Some(key.clone()),
        })
    });
    Ok(ways.collect())
}

/// A latest-wins key as writes and as fetches have it.
fn stored_keys(name: &str) -> [String; 2] {
    [Effect::Overwrite, Effect::Safe].map(|effect| spell_key(effect, name).into_owned())
}

/// How far so many looks go, if the way is longer than that.
fn look(
    connection: &Connection,
    way: &Way,
    after: i64,
    looks: usize,
) -> rusqlite::Result<Option<i64>> {
    let Way { index, rows, .. } = way;
    connection
        .prepare_cached(&format!(
            "SELECT s.seq FROM submission s {index} WHERE {rows} AND s.seq > ?3
             ORDER BY s.seq LIMIT 1 OFFSET ?4 - 1"
        ))?
        .query_row((&way.account, &way.key, after, looks as i64), |row| {
            row.get(0)
        })
        .optional()
}

/// Adds what fits the filter, after one position and up to another.
fn matching(
    connection: &Connection,
    way: &Way,
    filter: &ListFilter,
    (after, upto): (i64, i64),
    limit: usize,
    found: &mut Vec<(i64, Snapshot)>,
) -> rusqlite::Result<()> {
    let Way { index, rows, .. } = way;
    let state = match filter.state {
        None => "1",
        Some(ListState::Moving) => "s.state IN ('pending', 'in_flight')",
        Some(ListState::Held) => "s.state = 'held'",
        Some(ListState::Settled) => "s.settled_wall IS NOT NULL",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {}, w.status AS answer_status, w.missing AS answer_missing
         FROM submission s {index} CROSS JOIN request r ON r.seq = s.seq
            LEFT JOIN answer w ON w.attempt = s.result
         WHERE {rows} AND s.seq > ?3 AND s.seq <= ?4 AND {state}
            AND (?6 IS NULL OR s.account = ?6) AND (?7 IS NULL OR s.lane = ?7)
            AND (?8 IS NULL OR s.replaces IN (?8, ?10))
            AND (?9 IS NULL OR (s.state = 'held' AND s.reason = ?9))
         ORDER BY s.seq LIMIT ?5",
        columns()
    ))?;
    let [written, fetched] = filter
        .replaces
        .as_deref()
        .map(stored_keys)
        .map_or([None, None], |keys| keys.map(Some));
    let mut rows = statement.query((
        &way.account,
        &way.key,
        after,
        upto,
        limit as i64,
        &filter.account,
        &filter.lane,
        written,
        filter.reason.as_ref().map(spell_hold),
        fetched,
    ))?;
    while let Some(row) = rows.next()? {
        let mut snapshot = read_snapshot(row)?;
        if let Some(outcome) = &mut snapshot.outcome {
            outcome.status = row.get("answer_status")?;
            outcome.result_missing = row
                .get::<_, Option<bool>>("answer_missing")?
                .unwrap_or_default();
        }
        found.push((row.get("seq")?, snapshot));
    }
    Ok(())
}
