//! What a run says of itself: finished, failed, or still at it. A run of which another began since, or
//! that was decided about, has no say any more.

use std::time::Duration;

use rusqlite::named_params;

use super::authorizer::Authorizer;
use super::record::{self, Record, State};
use super::{begin, statements};
use crate::clock::whole_millis;
use crate::error::InboxError;
use crate::model::inbox::{AppStatement, InboxFailure, InboxPolicy, InboxRun};
use crate::store::attempts::latest_wall;
use crate::store::owner::Owner;
use crate::store::writer::Tx;
use crate::trace::Told;

/// Ends a run well, and carries out the app's statements with that. What the first call said stays.
pub(super) fn finish(
    tx: &Tx<'_>,
    authorizer: &Authorizer,
    run: &InboxRun,
    result: Option<&[u8]>,
    app: &[AppStatement],
) -> Result<(), InboxError> {
    let record = of_run(tx, run)?;
    match record.state {
        State::Done => return Ok(()),
        // The truth beats the doubt: who did it says so.
        State::Running | State::Uncertain => {}
        State::Free => return Err(lost(run)),
    }
    statements::run(tx.connection, authorizer, app)?;
    end(tx, &record, run, record.run, result)
}

/// Makes an item done, for good.
pub(super) fn end(
    tx: &Tx<'_>,
    record: &Record,
    run: &InboxRun,
    number: i64,
    result: Option<&[u8]>,
) -> Result<(), InboxError> {
    let ended = latest_wall(tx).map_err(super::storage)?;
    tx.connection
        .prepare_cached(
            "UPDATE inbox SET state = 'done', run = :run, owner = NULL, boot = NULL,
                not_runs = not_runs + :run - run, lease_uptime = NULL, ended_wall = :wall,
                doubt = 0, result = :result, checksum = :checksum
             WHERE seq = :seq",
        )
        .and_then(|mut update| {
            update.execute(named_params! {
                ":run": number,
                ":wall": ended.0,
                ":result": result,
                ":checksum": record.checksum(&run.scope, &run.key, result),
                ":seq": record.seq,
            })
        })
        .map_err(super::storage)?;
    tell(tx, run, "done");
    Ok(())
}

pub(super) fn fail(tx: &Tx<'_>, run: &InboxRun, failure: InboxFailure) -> Result<(), InboxError> {
    let record = of_run(tx, run)?;
    match (record.state, failure, record.policy) {
        (State::Done, _, _) => Err(lost(run)),
        // Said before.
        (State::Free, _, _) | (State::Uncertain, InboxFailure::MayHaveHappened, _) => Ok(()),
        (State::Running | State::Uncertain, InboxFailure::NothingHappened, _)
        | (State::Running, InboxFailure::MayHaveHappened, InboxPolicy::AtLeastOnce) => {
            // What it knows is about itself, and not about those before it.
            let doubt = record.doubt || failure == InboxFailure::MayHaveHappened;
            free(tx, &record, record.run, doubt)?;
            tell(tx, run, "free");
            Ok(())
        }
        (State::Running, InboxFailure::MayHaveHappened, InboxPolicy::AtMostOnce) => {
            begin::doubt(tx, &record, &run.scope)
        }
    }
}

/// Lets the next `begin` run an item.
pub(super) fn free(
    tx: &Tx<'_>,
    record: &Record,
    number: i64,
    doubt: bool,
) -> Result<(), InboxError> {
    let ended = latest_wall(tx).map_err(super::storage)?;
    tx.connection
        .prepare_cached(
            "UPDATE inbox SET state = 'free', run = :run, not_runs = not_runs + :run - run,
                owner = NULL, boot = NULL, lease_uptime = NULL, ended_wall = :wall, doubt = :doubt
             WHERE seq = :seq",
        )
        .and_then(|mut update| {
            update.execute(named_params! {
                ":run": number,
                ":wall": ended.0,
                ":doubt": doubt,
                ":seq": record.seq,
            })
        })
        .map_err(super::storage)?;
    Ok(())
}

/// Gives a run more time. One that was believed lost is at work again.
pub(super) fn extend(
    tx: &Tx<'_>,
    own: &Owner,
    run: &InboxRun,
    lease: Duration,
) -> Result<(), InboxError> {
    let record = of_run(tx, run)?;
    if matches!(record.state, State::Done | State::Free) {
        return Err(lost(run));
    }
    tx.connection
        .prepare_cached(
            "UPDATE inbox SET state = 'running', owner = :owner, boot = :boot, lease_uptime = :lease
             WHERE seq = :seq",
        )
        .and_then(|mut update| {
            update.execute(named_params! {
                ":owner": own.id,
                ":boot": tx.boot,
                ":lease": tx.now.uptime.0.saturating_add(whole_millis(lease)),
                ":seq": record.seq,
            })
        })
        .map_err(super::storage)?;
    Ok(())
}

/// The record of a run that counts.
fn of_run(tx: &Tx<'_>, run: &InboxRun) -> Result<Record, InboxError> {
    record::find(tx.connection, &run.scope, &run.key)
        .map_err(super::storage)?
        .filter(|record| record.run == run.number)
        .ok_or_else(|| lost(run))
}

fn lost(run: &InboxRun) -> InboxError {
    InboxError::RunLost {
        scope: run.scope.clone(),
        key: run.key.clone(),
    }
}

fn tell(tx: &Tx<'_>, run: &InboxRun, state: &'static str) {
    tx.tell(|| Told::InboxEnded {
        scope: run.scope.clone(),
        number: run.number,
        state,
    });
}
