//! `begin`: whether an item is to be done now.

use rusqlite::{Connection, named_params};

use super::lives::Lives;
use super::record::{self, Record, State, spell_policy};
use crate::clock::{Now, whole_millis};
use crate::error::InboxError;
use crate::model::inbox::{InboxAnswer, InboxItem, InboxPolicy, InboxRun};
use crate::policy::limits::INBOX_LEASE;
use crate::store::attempts::latest_wall;
use crate::store::owner::Owner;
use crate::store::totals::INBOX_RUNS;
use crate::store::writer::Tx;
use crate::trace::Told;

/// What stands, if that is an answer already: no write then.
pub(super) fn meet(
    connection: &Connection,
    own: &Owner,
    (now, boot): &(Now, i64),
    item: &InboxItem,
) -> Result<Option<InboxAnswer>, InboxError> {
    let mut lives = Lives::new(connection, own, *boot, now.uptime);
    Ok(match look(connection, &mut lives, item)? {
        Found::Answer(answer) => Some(answer),
        Found::Nothing | Found::Free(_) | Found::Lost(_) => None,
    })
}

/// Begins a run, unless something else stands by now.
pub(super) fn begin(tx: &Tx<'_>, own: &Owner, item: &InboxItem) -> Result<InboxAnswer, InboxError> {
    let mut lives = Lives::new(tx.connection, own, tx.boot, tx.now.uptime);
    match look(tx.connection, &mut lives, item)? {
        Found::Answer(answer) => Ok(answer),
        Found::Nothing => first_run(tx, own, item),
        Found::Free(record) if record.doubt && item.policy == InboxPolicy::AtMostOnce => {
            uncertain(tx, item, &record)
        }
        Found::Free(record) => next_run(tx, own, item, &record, record.doubt),
        Found::Lost(record) => match record.safer(item.policy) {
            InboxPolicy::AtLeastOnce => next_run(tx, own, item, &record, true),
            InboxPolicy::AtMostOnce => uncertain(tx, item, &record),
        },
    }
}

fn uncertain(tx: &Tx<'_>, item: &InboxItem, record: &Record) -> Result<InboxAnswer, InboxError> {
    doubt(tx, record, &item.scope)?;
    Ok(InboxAnswer::Uncertain {
        since: record.since(),
    })
}

enum Found {
    Nothing,
    Free(Record),
    /// A run that was lost, and that nobody has drawn a conclusion from.
    Lost(Record),
    Answer(InboxAnswer),
}

fn look(
    connection: &Connection,
    lives: &mut Lives<'_>,
    item: &InboxItem,
) -> Result<Found, InboxError> {
    let found = record::find(connection, &item.scope, &item.key);
    let Some(record) = found.map_err(super::storage)? else {
        return Ok(Found::Nothing);
    };
    if !record.is_of(&record::fingerprint(item)) {
        return Err(InboxError::KeyReused {
            scope: item.scope.clone(),
            key: item.key.clone(),
        });
    }
    let since = record.since();
    Ok(match record.state {
        State::Free => Found::Free(record),
        State::Running if lives.lost(&record.hold)? => Found::Lost(record),
        State::Running => Found::Answer(InboxAnswer::Busy { since }),
        State::Uncertain => Found::Answer(InboxAnswer::Uncertain { since }),
        State::Done => Found::Answer(
            record
                .done(connection, &item.scope, &item.key)
                .map_err(super::storage)?,
        ),
    })
}

fn first_run(tx: &Tx<'_>, own: &Owner, item: &InboxItem) -> Result<InboxAnswer, InboxError> {
    let number = 1 + forgotten(tx).map_err(super::storage)?;
    let began = latest_wall(tx).map_err(super::storage)?;
    tx.connection
        .prepare_cached(
            "INSERT INTO inbox (scope, key, fingerprint, state, policy, run, not_runs, owner,
                boot, lease_uptime, first_wall, began_wall)
             VALUES (:scope, :key, :fingerprint, 'running', :policy, :run, :run - 1, :owner, :boot, :lease,
                :wall, :began)",
        )
        .and_then(|mut insert| {
            insert.execute(named_params! {
                ":scope": item.scope,
                ":key": item.key,
                ":fingerprint": record::fingerprint(item),
                ":policy": spell_policy(item.policy),
                ":run": number,
                ":owner": own.id,
                ":boot": tx.boot,
                ":lease": lease_end(tx, item),
                ":wall": tx.now.wall.0,
                ":began": began.0,
            })
        })
        .map_err(super::storage)?;
    Ok(runs(tx, item, number))
}

/// The highest number of a run that was forgotten.
fn forgotten(tx: &Tx<'_>) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox_run'",
        )?
        .query_row([], |row| row.get(0))
}

fn next_run(
    tx: &Tx<'_>,
    own: &Owner,
    item: &InboxItem,
    record: &Record,
    doubt: bool,
) -> Result<InboxAnswer, InboxError> {
    let number = record.run + 1;
    let began = latest_wall(tx).map_err(super::storage)?;
    tx.connection
        .prepare_cached(
            "UPDATE inbox SET state = 'running', policy = :policy, run = :run, owner = :owner,
                boot = :boot, lease_uptime = :lease, began_wall = :began, ended_wall = NULL,
                doubt = :doubt
             WHERE seq = :seq",
        )
        .and_then(|mut update| {
            update.execute(named_params! {
                ":policy": spell_policy(item.policy),
                ":run": number,
                ":owner": own.id,
                ":boot": tx.boot,
                ":lease": lease_end(tx, item),
                ":began": began.0,
                ":doubt": doubt,
                ":seq": record.seq,
            })
        })
        .map_err(super::storage)?;
    Ok(runs(tx, item, number))
}

fn lease_end(tx: &Tx<'_>, item: &InboxItem) -> i64 {
    let lease = item.lease.unwrap_or(INBOX_LEASE);
    tx.now.uptime.0.saturating_add(whole_millis(lease))
}

fn runs(tx: &Tx<'_>, item: &InboxItem, number: i64) -> InboxAnswer {
    tx.count(INBOX_RUNS, 1);
    tx.tell(|| Told::InboxRun {
        scope: item.scope.clone(),
        number,
    });
    InboxAnswer::Run {
        run: InboxRun {
            scope: item.scope.clone(),
            key: item.key.clone(),
            number,
        },
    }
}

/// Nobody knows whether a run that was lost, or given up, has had its effect, and it must not have it twice.
pub(super) fn doubt(tx: &Tx<'_>, record: &Record, scope: &str) -> Result<(), InboxError> {
    tx.connection
        .prepare_cached(
            "UPDATE inbox SET state = 'uncertain', policy = 'at_most_once', owner = NULL, boot = NULL,
                lease_uptime = NULL, ended_wall = NULL
             WHERE seq = ?1",
        )
        .and_then(|mut update| update.execute([record.seq]))
        .map_err(super::storage)?;
    tx.tell(|| Told::InboxUncertain {
        scope: scope.to_owned(),
        number: record.run,
    });
    Ok(())
}
