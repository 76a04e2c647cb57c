//! What nobody knows the end of: found, listed and decided.

use rusqlite::{Connection, named_params};

use super::lives::Lives;
use super::record::{self, Hold, State};
use super::{begin, run};
use crate::clock::{Now, UptimeMs, WallMs};
use crate::error::InboxError;
use crate::model::inbox::{InboxDecision, InboxPolicy, InboxRun, UncertainItem};
use crate::store::owner::Owner;
use crate::store::writer::Tx;

/// Decides about an uncertain item, or one whose run was lost and must not be repeated. The decision takes
/// a number as a run does, so that the run that was lost has no say any more.
pub(super) fn decide(
    tx: &Tx<'_>,
    own: &Owner,
    scope: &str,
    key: &str,
    decision: &InboxDecision,
) -> Result<(), InboxError> {
    let found = record::find(tx.connection, scope, key).map_err(super::storage)?;
    let uncertain = match found {
        Some(record) => match record.state {
            State::Uncertain => Some(record),
            State::Running
                if record.policy == InboxPolicy::AtMostOnce
                    && Lives::new(tx.connection, own, tx.boot, tx.now.uptime)
                        .lost(&record.hold)? =>
            {
                Some(record)
            }
            State::Running | State::Free | State::Done => None,
        },
        None => None,
    };
    let Some(record) = uncertain else {
        return Err(InboxError::NotUncertain {
            scope: scope.to_owned(),
            key: key.to_owned(),
        });
    };
    let number = record.run + 1;
    match decision {
        InboxDecision::RunAgain => run::free(tx, &record, number, false),
        InboxDecision::Happened { result } => {
            let decided = InboxRun {
                scope: scope.to_owned(),
                key: key.to_owned(),
                number,
            };
            run::end(tx, &record, &decided, number, result.as_deref())
        }
    }
}

/// Runs that were lost, and that must not be repeated.
pub(super) fn lost(
    connection: &Connection,
    own: &Owner,
    (now, boot): &(Now, i64),
) -> Result<Vec<i64>, InboxError> {
    let running = || -> rusqlite::Result<Vec<(i64, Hold)>> {
        connection
            .prepare_cached(
                "SELECT seq, owner, boot, lease_uptime FROM inbox INDEXED BY inbox_running
                 WHERE state = 'running' AND policy = 'at_most_once' ORDER BY began_wall",
            )?
            .query_map([], |row| {
                let hold = Hold {
                    owner: row.get(1)?,
                    boot: row.get(2)?,
                    lease: UptimeMs(row.get::<_, Option<i64>>(3)?.unwrap_or_default()),
                };
                Ok((row.get(0)?, hold))
            })?
            .collect()
    };
    let mut lives = Lives::new(connection, own, *boot, now.uptime);
    let mut lost = Vec::new();
    for (seq, hold) in running().map_err(super::storage)? {
        if lives.lost(&hold)? {
            lost.push(seq);
        }
    }
    Ok(lost)
}

/// Makes some of them uncertain, unless they have ended or gone on meanwhile.
pub(super) fn doubt_lost(tx: &Tx<'_>, own: &Owner, lost: &[i64]) -> Result<(), InboxError> {
    let mut lives = Lives::new(tx.connection, own, tx.boot, tx.now.uptime);
    for seq in lost {
        let Some(record) = record::by_seq(tx.connection, *seq).map_err(super::storage)? else {
            continue;
        };
        if record.state == State::Running
            && record.policy == InboxPolicy::AtMostOnce
            && lives.lost(&record.hold)?
        {
            let scope: String = tx
                .connection
                .prepare_cached("SELECT scope FROM inbox WHERE seq = ?1")
                .and_then(|mut scope| scope.query_row([seq], |row| row.get(0)))
                .map_err(super::storage)?;
            begin::doubt(tx, &record, &scope)?;
        }
    }
    Ok(())
}

/// What waits for a decision, oldest first.
pub(super) fn list(
    connection: &Connection,
    scope: Option<&str>,
    limit: u32,
) -> rusqlite::Result<Vec<UncertainItem>> {
    connection
        .prepare_cached(
            "SELECT scope, key, began_wall, run - not_runs FROM inbox INDEXED BY inbox_uncertain
             WHERE state = 'uncertain' AND (:scope IS NULL OR scope = :scope)
             ORDER BY began_wall, seq LIMIT :limit",
        )?
        .query_map(named_params! { ":scope": scope, ":limit": limit }, |row| {
            Ok(UncertainItem {
                scope: row.get(0)?,
                key: row.get(1)?,
                since: WallMs(row.get(2)?).to_system_time(),
                runs: row.get(3)?,
            })
        })?
        .collect()
}
