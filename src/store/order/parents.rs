//! Parents: a submission is sent only after all of them have succeeded. What it needs of their results
//! is taken in the transaction that records the success, so that nothing has to be kept for it later.
//!
//! A row of `dependency` is there as long as the parent hasn't ended. A submission that is blocked and
//! has no such row has a parent that ended without success, or that was lost with a damaged file: it is
//! over, or held.

use rusqlite::Connection;

use super::{NEWER, PARENT, block, unblock};
use crate::error::{OutboxError, StorageError};
use crate::model::id::SubmissionId;
use crate::model::parts::ParentResult;
use crate::model::request::{FrozenRequest, invalid};
use crate::model::state::{Event, SubmissionState};
use crate::policy::limits::MAX_CHILDREN;
use crate::store::intake::thaw;
use crate::store::parts;
use crate::store::submissions::{self, Due, Row, ask, change, note_problem, or_quarantine};
use crate::store::view;
use crate::store::writer::Tx;

/// Refuses parents that can't be waited for. One that isn't known is among them, so that no circle
/// can be made: whatever is waited for was accepted before.
pub(in crate::store) fn check(
    connection: &Connection,
    request: &FrozenRequest,
) -> Result<(), OutboxError> {
    for id in &request.links.after {
        if find(connection, *id)?.account != request.account {
            return Err(invalid("after", "a parent belongs to another account"));
        }
        // With children it would go before the newer one, which may have been sent.
        if submissions::by_id(connection, *id)?
            .is_some_and(|row| !row.state.is_final() && row.blockers & NEWER != 0)
        {
            return Err(invalid(
                "after",
                "a parent waits for a newer one of its latest-wins key: depend on that",
            ));
        }
        let children: u32 = connection
            .prepare_cached(
                "SELECT count(*) FROM dependency
                 WHERE parent = (SELECT seq FROM submission WHERE id = ?1)",
            )?
            .query_row([id.as_bytes()], |row| row.get(0))?;
        if children >= MAX_CHILDREN {
            return Err(OutboxError::QueueFull { most: MAX_CHILDREN });
        }
    }
    Ok(())
}

/// A parent, settled or not, or what its tombstone remembers.
struct Parent {
    account: Option<String>,
    state: SubmissionState,
}

fn find(connection: &Connection, id: SubmissionId) -> Result<Parent, OutboxError> {
    if let Some(row) = submissions::by_id(connection, id)? {
        return Ok(Parent {
            account: row.account,
            state: row.state,
        });
    }
    let (_, buried) = view::tombstone(connection, id)?.ok_or(OutboxError::UnknownParent { id })?;
    Ok(Parent {
        account: buried.account,
        state: buried.state,
    })
}

/// Lets a submission that has just been accepted wait for its parents. One that has succeeded before
/// gives its parts at once; where one has ended otherwise, this one ends, too.
pub(in crate::store) fn enter(
    tx: &Tx<'_>,
    row: &mut Row,
    request: &FrozenRequest,
) -> Result<(), OutboxError> {
    if request.links.after.is_empty() {
        return Ok(());
    }
    block(tx, row.seq, PARENT)?;
    row.blockers |= PARENT;
    for id in &request.links.after {
        let state = find(tx.connection, *id)?.state;
        if state == SubmissionState::Succeeded {
            parts::take(tx, row, request, *id, &result_of(tx, *id)?)?;
        } else if state.is_final() {
            return fail(tx, row);
        } else {
            wait_for(tx, row.seq, *id)?;
        }
    }
    if waits(tx.connection, row.seq)? {
        return Ok(());
    }
    go_on(tx, row, request)
}

fn wait_for(tx: &Tx<'_>, child: i64, id: SubmissionId) -> Result<(), OutboxError> {
    let parent = submissions::by_id(tx.connection, id)?.ok_or(OutboxError::UnknownParent { id })?;
    tx.connection
        .prepare_cached("INSERT INTO dependency (child, parent) VALUES (?1, ?2)")?
        .execute((child, parent.seq))?;
    tx.connection
        .prepare_cached("UPDATE submission SET children = 1 WHERE seq = ?1")?
        .execute([parent.seq])?;
    Ok(())
}

/// After a change of a submission that has children or parents.
pub(super) fn move_on(tx: &Tx<'_>, row: &Row) -> Result<(), OutboxError> {
    if row.blockers & PARENT != 0 {
        if row.state.is_final() {
            forget(tx, row.seq)?;
        } else if row.state == SubmissionState::Pending && !waits(tx.connection, row.seq)? {
            // It was in doubt when a parent failed, and isn't any more.
            fail(tx, &mut row.clone())?;
        }
    }
    if !row.children || !row.state.is_final() {
        return Ok(());
    }
    let succeeded = row.state == SubmissionState::Succeeded;
    let result = match succeeded {
        true => Some(result_of(tx, row.id)?),
        false => None,
    };
    for child in children(tx, row.seq)? {
        tx.connection
            .prepare_cached("DELETE FROM dependency WHERE child = ?1 AND parent = ?2")?
            .execute((child, row.seq))?;
        let moved = match &result {
            Some(result) => parent_succeeded(tx, child, row.id, result),
            None => parent_failed(tx, child),
        };
        // A child that can't be read is put aside alone.
        or_quarantine(tx, child, moved)?;
    }
    Ok(())
}

fn children(tx: &Tx<'_>, parent: i64) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached("SELECT child FROM dependency WHERE parent = ?1 ORDER BY child")?
        .query_map([parent], |row| row.get(0))?
        .collect()
}

fn parent_succeeded(
    tx: &Tx<'_>,
    child: i64,
    parent: SubmissionId,
    result: &ParentResult,
) -> Result<(), OutboxError> {
    let mut child = submissions::by_seq(tx.connection, child)?;
    if child.state.is_final() {
        return Ok(());
    }
    let Some(template) = thaw(tx.connection, &child)? else {
        let transition = ask(tx, &child, Event::RowDamaged)?;
        note_problem(
            tx,
            &child,
            "the stored bytes are not the ones that were accepted",
        )?;
        return change(tx, &mut child, &transition, Due::Unchanged);
    };
    parts::take(tx, &child, &template, parent, result)?;
    if waits(tx.connection, child.seq)? {
        return Ok(());
    }
    go_on(tx, &mut child, &template)
}

fn parent_failed(tx: &Tx<'_>, child: i64) -> Result<(), OutboxError> {
    let mut child = submissions::by_seq(tx.connection, child)?;
    if child.state.is_final() {
        return Ok(());
    }
    fail(tx, &mut child)
}

/// A parent ended without success. It stays blocked: in doubt, it is held, and must not be sent even
/// if a person wants it.
fn fail(tx: &Tx<'_>, row: &mut Row) -> Result<(), OutboxError> {
    forget(tx, row.seq)?;
    let transition = ask(tx, row, Event::ParentFailed)?;
    if transition.next.visible == row.state {
        return Ok(());
    }
    note_problem(
        tx,
        row,
        "a submission that it depends on ended without success",
    )?;
    change(tx, row, &transition, Due::Unchanged)
}

/// All parents have succeeded: it goes, or is held for the parts that they didn't give. What is held
/// for something else stays so; its claim would find the same.
fn go_on(tx: &Tx<'_>, row: &mut Row, template: &FrozenRequest) -> Result<(), OutboxError> {
    unblock(tx, row.seq, PARENT)?;
    row.blockers &= !PARENT;
    if parts::resolve(tx, row.seq, template)? || row.state != SubmissionState::Pending {
        return Ok(());
    }
    let transition = ask(tx, row, Event::ParentResultMissing)?;
    change(tx, row, &transition, Due::Unchanged)
}

/// Its missing parts were supplied, also those of a parent that was lost: it waits only for those that
/// haven't ended.
pub(in crate::store) fn supplied(tx: &Tx<'_>, row: &mut Row) -> rusqlite::Result<()> {
    if !waits(tx.connection, row.seq)? {
        unblock(tx, row.seq, PARENT)?;
        row.blockers &= !PARENT;
    }
    Ok(())
}

/// True while this parent hasn't ended.
pub(in crate::store) fn waits_for(
    connection: &Connection,
    child: i64,
    parent: SubmissionId,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM dependency
             WHERE child = ?1 AND parent = (SELECT seq FROM submission WHERE id = ?2)",
        )?
        .exists((child, parent.as_bytes()))
}

/// True while a parent hasn't ended.
fn waits(connection: &Connection, child: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM dependency WHERE child = ?1")?
        .exists([child])
}

fn forget(tx: &Tx<'_>, child: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("DELETE FROM dependency WHERE child = ?1")?
        .execute([child])?;
    Ok(())
}

/// True if a parent ended without success: a retry could never send it.
pub(in crate::store) fn failed(connection: &Connection, row: &Row) -> rusqlite::Result<bool> {
    Ok(row.blockers & PARENT != 0 && !waits(connection, row.seq)?)
}

/// What a submission that has succeeded has for its children. A tombstone has nothing, and neither has a
/// result that can't be read: it must not keep them waiting.
fn result_of(tx: &Tx<'_>, id: SubmissionId) -> Result<ParentResult, OutboxError> {
    let snapshot = match view::snapshot(tx.connection, id).map_err(OutboxError::from) {
        Err(OutboxError::Storage {
            storage: StorageError::Internal { .. },
        }) => None,
        read => read?,
    };
    let outcome = snapshot.and_then(|snapshot| snapshot.outcome);
    Ok(
        outcome.map_or_else(ParentResult::default, |outcome| ParentResult {
            content_type: outcome.content_type,
            headers: outcome.headers,
            body: outcome.body,
        }),
    )
}
