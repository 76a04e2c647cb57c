//! Order: what waits for other submissions. Lanes, latest-wins keys and parents each keep a bit of
//! `submission.blockers`; a claim takes only what has none, so that its cost doesn't grow with what
//! waits.
//!
//! A change of one submission may let another go, or end it, which may concern a third. So changes
//! only note whom they touched, and [`follow_up`] works that off within the same transaction, one after
//! the other: a chain of ten thousand is a loop here, and no recursion.
//!
//! Nobody waits for itself in the end. Lanes and parents are waited for by what was accepted later. The
//! one wait in the other direction, that of an older version for a newer one, concerns only what is in
//! no lane and has no children, so that nothing but older versions waits for it.

pub(super) mod lanes;
pub(super) mod latest;
pub(super) mod parents;

use rusqlite::OptionalExtension;

use super::submissions::{Row, or_quarantine};
use super::writer::Tx;
use crate::error::OutboxError;

/// Those before it in its lane.
pub(super) const LANE: i64 = 1;
/// A newer version of its latest-wins key.
pub(super) const NEWER: i64 = 2;
/// An older version of that.
pub(super) const OLDER: i64 = 4;
/// A parent.
pub(super) const PARENT: i64 = 8;

/// A submission that was changed.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    /// As it was changed. It may be gone by the time that it is worked off.
    row: Row,
    /// Its attempt ended by the change.
    left_the_wire: bool,
    /// Its end isn't its own: its account was signed out for good, or its lane rejected it. What it says
    /// of its lane doesn't count then.
    withdrawn: bool,
}

/// Puts a submission that has just been accepted behind those that it waits for.
pub(super) fn enter(tx: &Tx<'_>, row: &Row) -> Result<(), OutboxError> {
    let account = row.account.as_deref();
    if let Some(lane) = &row.lane {
        lanes::enter(tx, account, lane)?;
    }
    if let Some(key) = &row.replaces {
        latest::enter(tx, account, key)?;
    }
    touch(tx, row, false);
    // At once, so that the receipt says what it waits for.
    follow_up(tx)
}

/// Notes a change, for [`follow_up`].
pub(super) fn touch(tx: &Tx<'_>, row: &Row, left_the_wire: bool) {
    if row.lane.is_some() || row.replaces.is_some() || row.children || row.blockers & PARENT != 0 {
        tx.touched.borrow_mut().push_back(Touched {
            row: row.clone(),
            left_the_wire,
            withdrawn: false,
        });
    }
}

/// Moves on what the changes of this transaction concern, and what that concerns in its turn.
pub(super) fn follow_up(tx: &Tx<'_>) -> Result<(), OutboxError> {
    loop {
        // Not held over the call, which notes more.
        let touched = tx.touched.borrow_mut().pop_front();
        let Some(touched) = touched else {
            return Ok(());
        };
        let row = &touched.row;
        // Each for itself: what one can't read must not keep the others.
        let lane = lanes::move_on(tx, row, touched.withdrawn);
        or_quarantine(tx, row.seq, lane)?;
        let versions = latest::move_on(tx, row, touched.left_the_wire);
        or_quarantine(tx, row.seq, versions)?;
        let children = parents::move_on(tx, row);
        or_quarantine(tx, row.seq, children)?;
    }
}

/// The same for what has been purged: it was ended by the app, so its lane goes on.
pub(super) fn follow_up_purged(tx: &Tx<'_>) -> Result<(), OutboxError> {
    for touched in tx.touched.borrow_mut().iter_mut() {
        touched.withdrawn = true;
    }
    follow_up(tx)
}

/// The change that was noted last wasn't that row's own doing.
pub(super) fn withdrew(tx: &Tx<'_>) {
    if let Some(touched) = tx.touched.borrow_mut().back_mut() {
        touched.withdrawn = true;
    }
}

/// Moves the lane of a row on that can't be read otherwise.
pub(super) fn touch_unreadable(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    let lane: Option<(Option<String>, String)> = tx
        .connection
        .prepare_cached("SELECT account, lane FROM submission WHERE seq = ?1 AND lane IS NOT NULL")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match lane {
        Some((account, lane)) => lanes::take_turn(tx, account.as_deref(), &lane),
        None => Ok(()),
    }
}

/// Lets a submission wait for others of this kind.
pub(super) fn block(tx: &Tx<'_>, seq: i64, bit: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET blockers = blockers | ?2, ready = 0
             WHERE seq = ?1 AND blockers & ?2 = 0",
        )?
        .execute((seq, bit))?;
    Ok(())
}

/// Ends that wait. What is due and waits for nothing else can be claimed from now on.
pub(super) fn unblock(tx: &Tx<'_>, seq: i64, bit: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET blockers = blockers & ~?2,
                ready = CASE WHEN state = 'pending' AND due_uptime IS NULL
                    AND probe_uptime IS NULL AND blockers & ~?2 = 0
                    THEN 1 + unmetered ELSE 0 END
             WHERE seq = ?1 AND blockers & ?2 <> 0",
        )?
        .execute((seq, bit))?;
    Ok(())
}

/// Names of an account's lanes and keys, as the tables spell whose they are.
pub(super) fn whose(account: Option<&str>) -> &str {
    account.unwrap_or_default()
}
