//! Intents: the ID that a form gets when it opens, and keeps until its submission is settled.

use rusqlite::{Connection, OptionalExtension};

use super::gates;
use super::rows::read_id;
use super::submissions;
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;

/// Whose slots count: those of the account that is signed in, else nobody's.
fn owner(connection: &Connection) -> rusqlite::Result<String> {
    let signed_in = gates::signed_in(connection)?;
    Ok(signed_in
        .map(|signed_in| signed_in.name)
        .unwrap_or_default())
}

/// The slot's ID, unless its submission is settled.
pub(super) fn current(
    connection: &Connection,
    slot: &str,
) -> Result<Option<SubmissionId>, OutboxError> {
    let id = connection
        .prepare_cached("SELECT submission_id FROM slot WHERE account = ?1 AND name = ?2")?
        .query_row((owner(connection)?, slot), |row| row.get(0))
        .optional()?
        .map(read_id);
    let Some(id) = id else {
        return Ok(None);
    };
    let settled = match submissions::by_id(connection, id)? {
        Some(row) => row.state.is_final(),
        None => super::view::tombstone(connection, id)?.is_some() || is_forgotten(connection, id)?,
    };
    Ok((!settled).then_some(id))
}

/// Too old to be told from an ID whose tombstone is gone: it could not be submitted any more.
fn is_forgotten(connection: &Connection, id: SubmissionId) -> rusqlite::Result<bool> {
    let since: i64 = connection
        .prepare_cached("SELECT remembers_since FROM meta")?
        .query_row([], |row| row.get(0))?;
    Ok(id.minted_at().is_some_and(|minted| minted.0 < since))
}

/// Gives the slot's ID, or makes `fresh` its ID.
pub(super) fn begin(
    tx: &Tx<'_>,
    slot: &str,
    fresh: SubmissionId,
) -> Result<SubmissionId, OutboxError> {
    if let Some(id) = current(tx.connection, slot)? {
        return Ok(id);
    }
    tx.connection
        .prepare_cached(
            "INSERT INTO slot (account, name, submission_id) VALUES (?1, ?2, ?3)
             ON CONFLICT (account, name) DO UPDATE SET submission_id = excluded.submission_id",
        )?
        .execute((owner(tx.connection)?, slot, fresh.as_bytes()))?;
    Ok(fresh)
}

/// Forgets the slot. What was submitted under its ID goes on.
pub(super) fn discard(tx: &Tx<'_>, slot: &str) -> Result<(), OutboxError> {
    tx.connection
        .prepare_cached("DELETE FROM slot WHERE account = ?1 AND name = ?2")?
        .execute((owner(tx.connection)?, slot))?;
    Ok(())
}
