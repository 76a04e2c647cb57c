//! The change feed: numbered, durable, read from a cursor. Callbacks only nudge.

use rusqlite::{Connection, Row as SqlRow};

use super::rows::{read_id, read_state};
use super::writer::Tx;
use crate::clock::WallMs;
use crate::model::outcome::{Change, ChangePage};

/// Entries of one page at most.
const PAGE_MOST: u32 = 1_000;

pub(super) fn page(
    connection: &Connection,
    after: i64,
    limit: u32,
) -> rusqlite::Result<ChangePage> {
    let (oldest, last): (Option<i64>, Option<i64>) = connection
        .prepare_cached(
            "SELECT (SELECT min(cursor) FROM change),
                (SELECT seq FROM sqlite_sequence WHERE name = 'change')",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let last = last.unwrap_or(0);
    // Older than what is kept, or from before a loss.
    let gap = match oldest {
        Some(oldest) => after + 1 < oldest,
        None => after < last,
    };
    if gap || after > last {
        return Ok(ChangePage::Resync { next: last });
    }
    let limit = limit.clamp(1, PAGE_MOST);
    let changes: Vec<Change> = connection
        .prepare_cached(
            "SELECT cursor, submission_id, state, reason, revision, at_wall FROM change
             WHERE cursor > ?1 ORDER BY cursor LIMIT ?2",
        )?
        .query_map((after, limit), read)?
        .collect::<Result<_, _>>()?;
    let next = changes.last().map_or(after, |change| change.cursor);
    Ok(ChangePage::Changes {
        more: next < last,
        next,
        changes,
    })
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Change> {
    Ok(Change {
        cursor: row.get(0)?,
        id: read_id(row.get(1)?),
        state: read_state(row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?),
        revision: row.get(4)?,
        at: WallMs(row.get(5)?).to_system_time(),
    })
}

/// Drops the oldest entries beyond `keep`, at most `rows` of them. True if there may be more.
pub(super) fn trim(tx: &Tx<'_>, keep: u32, rows: usize) -> rusqlite::Result<bool> {
    let dropped = tx
        .connection
        .prepare_cached(
            "DELETE FROM change WHERE cursor IN (SELECT cursor FROM change WHERE cursor <=
                (SELECT seq FROM sqlite_sequence WHERE name = 'change') - ?1
             ORDER BY cursor LIMIT ?2)",
        )?
        .execute((keep, rows as i64))?;
    Ok(dropped == rows)
}
