//! Lanes: strictly first in, first out, one in flight. A lane's *turn* is the one that may go: the first
//! of its queue, or the one that is on the wire.

use rusqlite::OptionalExtension;

use super::{LANE, block, unblock, whose};
use crate::error::OutboxError;
use crate::model::links::LanePolicy;
use crate::model::state::{Event, SubmissionState};
use crate::store::submissions::{self, Due, Row, ask, change, or_quarantine};
use crate::store::writer::Tx;

/// A lane of an account, or of nobody.
#[derive(Clone, Copy)]
struct Lane<'a> {
    account: Option<&'a str>,
    name: &'a str,
}

/// What is in the queue of a lane, with the words of the index on it.
const QUEUED: &str = "account IS ?1 AND lane = ?2 AND lane IS NOT NULL AND settled_wall IS NULL
    AND NOT (state = 'held' AND lane_policy = 'continue')";

/// After a change of one of its submissions.
pub(super) fn move_on(tx: &Tx<'_>, row: &Row, withdrawn: bool) -> Result<(), OutboxError> {
    let Some(name) = &row.lane else {
        return Ok(());
    };
    let lane = Lane {
        account: row.account.as_deref(),
        name,
    };
    match row.state {
        // Given up in doubt, or certainly without effect: what was to follow it may make no sense.
        SubmissionState::Rejected { .. } | SubmissionState::Abandoned if !withdrawn => {
            failed(tx, lane, row)?;
        }
        SubmissionState::Rejected { .. }
        | SubmissionState::Abandoned
        | SubmissionState::Pending
        | SubmissionState::InFlight
        | SubmissionState::Held { .. }
        | SubmissionState::Succeeded
        | SubmissionState::Cancelled
        | SubmissionState::Expired
        | SubmissionState::Superseded { .. } => {}
    }
    Ok(take_turns(tx, lane)?)
}

fn failed(tx: &Tx<'_>, lane: Lane<'_>, row: &Row) -> Result<(), OutboxError> {
    match row.lane_policy {
        LanePolicy::Continue => Ok(()),
        LanePolicy::Block => {
            // It may have ended before its turn came: those before it still go.
            tx.connection
                .prepare_cached(
                    "UPDATE lane SET stopped = min(coalesce(stopped, ?3), ?3)
                     WHERE account = ?1 AND name = ?2
                        AND EXISTS (SELECT 1 FROM submission WHERE seq = ?3)",
                )?
                .execute((whose(lane.account), lane.name, row.seq))?;
            Ok(())
        }
        LanePolicy::RejectRest => reject_rest(tx, lane, row.seq),
    }
}

fn reject_rest(tx: &Tx<'_>, lane: Lane<'_>, after: i64) -> Result<(), OutboxError> {
    let rest: Vec<i64> = tx
        .connection
        .prepare_cached(&format!(
            "SELECT seq FROM submission WHERE {QUEUED} AND state <> 'in_flight' AND seq > ?3
             ORDER BY seq"
        ))?
        .query_map((lane.account, lane.name, after), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in rest {
        or_quarantine(tx, seq, reject(tx, seq))?;
    }
    Ok(())
}

fn reject(tx: &Tx<'_>, seq: i64) -> Result<(), OutboxError> {
    let mut row = submissions::by_seq(tx.connection, seq)?;
    let transition = ask(tx, &row, Event::ParentFailed)?;
    if transition.next.visible != row.state {
        submissions::note_problem(tx, &row, "one before it in its lane ended without success")?;
        change(tx, &mut row, &transition, Due::Unchanged)?;
        // Its turn hadn't come, so its own policy doesn't count.
        super::withdrew(tx);
    }
    Ok(())
}

/// Gives a lane's turn anew.
pub(super) fn take_turn(tx: &Tx<'_>, account: Option<&str>, name: &str) -> rusqlite::Result<()> {
    take_turns(tx, Lane { account, name })
}

/// Gives the turn to the one that has it now.
fn take_turns(tx: &Tx<'_>, lane: Lane<'_>) -> rusqlite::Result<()> {
    let (turn, stopped): (Option<i64>, Option<i64>) = tx
        .connection
        .prepare_cached("SELECT turn, stopped FROM lane WHERE account = ?1 AND name = ?2")?
        .query_row((whose(lane.account), lane.name), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?
        .unwrap_or_default();
    if let Some(turn) = turn
        && is_on_the_wire(tx, turn)?
    {
        return Ok(());
    }
    let next = first(tx, lane, stopped)?;
    if next == turn {
        return Ok(());
    }
    if let Some(turn) = turn {
        block(tx, turn, LANE)?;
    }
    if let Some(next) = next {
        unblock(tx, next, LANE)?;
    }
    tx.connection
        .prepare_cached("UPDATE lane SET turn = ?3 WHERE account = ?1 AND name = ?2")?
        .execute((whose(lane.account), lane.name, next))?;
    Ok(())
}

fn is_on_the_wire(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<bool> {
    tx.connection
        .prepare_cached("SELECT 1 FROM submission WHERE seq = ?1 AND state = 'in_flight'")?
        .exists([seq])
}

/// The first of the queue, before the place where the lane stopped. It keeps its turn while it is held.
fn first(tx: &Tx<'_>, lane: Lane<'_>, stopped: Option<i64>) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached(&format!(
            "SELECT seq FROM submission WHERE {QUEUED} AND seq < ?3 ORDER BY seq LIMIT 1"
        ))?
        .query_row(
            (lane.account, lane.name, stopped.unwrap_or(i64::MAX)),
            |row| row.get(0),
        )
        .optional()
}

/// Makes the lane of a submission that is being accepted, if it isn't there.
pub(super) fn enter(tx: &Tx<'_>, account: Option<&str>, name: &str) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("INSERT INTO lane (account, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((whose(account), name))?;
    Ok(())
}

/// Lets a lane that has stopped go on. True if it had.
pub(crate) fn release(tx: &Tx<'_>, account: Option<&str>, name: &str) -> rusqlite::Result<bool> {
    let released = tx
        .connection
        .prepare_cached(
            "UPDATE lane SET stopped = NULL
             WHERE account = ?1 AND name = ?2 AND stopped IS NOT NULL",
        )?
        .execute((whose(account), name))?;
    if released > 0 {
        take_turns(tx, Lane { account, name })?;
    }
    Ok(released > 0)
}
