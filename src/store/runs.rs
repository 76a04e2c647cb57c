//! Runs of a background scheduler: who asked for one, and whether the scheduler has it.
//!
//! A request is made in the transaction that makes the run necessary, and taken back by the run
//! itself, before it looks for work. So what is stored after that look asks for another run. A
//! request whose maker died before the scheduler had it is made anew by the next to find it.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::Store;
use super::owner::{Life, Owner, life_of};
use super::writer::Tx;
use crate::error::OutboxError;
use crate::runs::RunNetwork;

/// The owner of a request that nobody can hand to a scheduler. No row of `owner` has this number.
const NOBODY: i64 = 0;

impl Store {
    pub(crate) fn request_run(self: &Arc<Self>, network: RunNetwork) -> Result<bool, OutboxError> {
        let store = Arc::clone(self);
        self.writer
            .write(move |tx| request(tx, &store.owner, network))
    }

    pub(crate) fn run_scheduled(self: &Arc<Self>, network: RunNetwork) -> Result<(), OutboxError> {
        self.writer.write(move |tx| Ok(scheduled(tx, network)?))
    }

    pub(crate) fn clear_run_request(
        self: &Arc<Self>,
        network: RunNetwork,
    ) -> Result<(), OutboxError> {
        self.writer.write(move |tx| Ok(clear(tx, network)?))
    }

    pub(crate) fn adopt_run_requests(self: &Arc<Self>) -> Result<Vec<RunNetwork>, OutboxError> {
        if !self.read(|reader| Ok(any_unscheduled(reader)?))? {
            return Ok(Vec::new());
        }
        let store = Arc::clone(self);
        self.writer.write(move |tx| adopt(tx, &store.owner))
    }
}

fn name(network: RunNetwork) -> &'static str {
    match network {
        RunNetwork::Any => "any",
        RunNetwork::Unmetered => "unmetered",
    }
}

/// Asks for a run. True if the caller has to schedule it.
pub(super) fn request(tx: &Tx<'_>, own: &Owner, network: RunNetwork) -> Result<bool, OutboxError> {
    Ok(insert(tx, own.id, network)? || take_over(tx, own, network)?)
}

/// Leaves a request for somebody who has a scheduler.
pub(super) fn leave(tx: &Tx<'_>, network: RunNetwork) -> rusqlite::Result<()> {
    insert(tx, NOBODY, network).map(|_| ())
}

fn insert(tx: &Tx<'_>, owner: i64, network: RunNetwork) -> rusqlite::Result<bool> {
    let inserted = tx
        .connection
        .prepare_cached(
            "INSERT INTO run_request (network, owner) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute((name(network), owner))?;
    Ok(inserted > 0)
}

/// The scheduler has the run.
pub(super) fn scheduled(tx: &Tx<'_>, network: RunNetwork) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE run_request SET scheduled = 1 WHERE network = ?1")?
        .execute([name(network)])?;
    Ok(())
}

/// Takes the request back.
pub(super) fn clear(tx: &Tx<'_>, network: RunNetwork) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("DELETE FROM run_request WHERE network = ?1")?
        .execute([name(network)])?;
    Ok(())
}

/// True if there is a request that the scheduler may not have. Reads only.
pub(super) fn any_unscheduled(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM run_request WHERE scheduled = 0)")?
        .query_row([], |row| row.get(0))
}

/// Takes over the requests whose makers are gone.
pub(super) fn adopt(tx: &Tx<'_>, own: &Owner) -> Result<Vec<RunNetwork>, OutboxError> {
    let mut adopted = Vec::new();
    for network in [RunNetwork::Any, RunNetwork::Unmetered] {
        if take_over(tx, own, network)? {
            adopted.push(network);
        }
    }
    Ok(adopted)
}

/// Makes a request one's own that its maker can't hand to the scheduler any more.
fn take_over(tx: &Tx<'_>, own: &Owner, network: RunNetwork) -> Result<bool, OutboxError> {
    let maker: Option<(i64, Option<String>)> = tx
        .connection
        .prepare_cached(
            "SELECT r.owner, o.token FROM run_request r LEFT JOIN owner o ON o.id = r.owner
             WHERE r.network = ?1 AND r.scheduled = 0",
        )?
        .query_row([name(network)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let gone = match maker {
        None => false,
        Some((id, _)) if id == own.id => false,
        Some((_, None)) => true,
        Some((_, Some(token))) => !matches!(life_of(own.folder(), &token)?, Life::Alive),
    };
    if gone {
        tx.connection
            .prepare_cached("UPDATE run_request SET owner = ?2 WHERE network = ?1")?
            .execute((name(network), own.id))?;
    }
    Ok(gone)
}
