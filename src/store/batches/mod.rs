//! Batches: submissions that are put together from records.
//!
//! A batch is accepted with its first record, as an envelope that is due when its time is over. Until a
//! claim seals it, it takes more. From then on its body is frozen like any other: it is put together
//! anew for each attempt, and compared with the digest of the first.

mod append;
mod seal;
mod split;

pub(crate) use append::Gathering;
pub(super) use seal::sealed;
pub(super) use split::{split, splits};

use rusqlite::OptionalExtension;

use super::submissions::Row;
use super::writer::Tx;
use crate::clock::WallMs;
use crate::model::id::SubmissionId;
use crate::model::state::SubmissionState;

/// After a success nobody needs the records any more.
pub(super) fn end(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    if row.state == SubmissionState::Succeeded {
        tx.connection
            .prepare_cached("DELETE FROM record WHERE batch = ?1")?
            .execute([row.seq])?;
    }
    Ok(())
}

fn close(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE batch SET open = 0 WHERE seq = ?1 AND open = 1")?
        .execute([seq])?;
    Ok(())
}

/// The ID of a new batch. Never from before what is forgotten or was lost, even if the clock was set
/// back: it is known to be new.
fn new_id(tx: &Tx<'_>, random: [u8; 10]) -> rusqlite::Result<SubmissionId> {
    let since: Option<i64> = tx
        .connection
        .prepare_cached("SELECT max(remembers_since, doubt_before) FROM meta")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let now = tx.now.wall.max(WallMs(since.unwrap_or_default()));
    Ok(SubmissionId::from_parts(now, random))
}

/// A batch's own row.
struct NewBatch<'a> {
    seq: i64,
    account: Option<&'a str>,
    name: &'a str,
    terms: &'a str,
    open: bool,
    depth: u32,
}

fn insert_batch(tx: &Tx<'_>, batch: &NewBatch<'_>) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "INSERT INTO batch (seq, account, name, terms, open, depth)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            batch.seq,
            batch.account.unwrap_or_default(),
            batch.name,
            batch.terms,
            batch.open,
            batch.depth,
        ))?;
    Ok(())
}

fn insert_record(tx: &Tx<'_>, batch: i64, number: i64, body: &str) -> rusqlite::Result<()> {
    let checksum = crate::model::record::checksum(body.as_bytes());
    tx.connection
        .prepare_cached(
            "INSERT INTO record (batch, number, body, checksum) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((batch, number, body, checksum))?;
    Ok(())
}

/// Counts records that a batch has been given.
fn count_in(tx: &Tx<'_>, seq: i64, records: u64, bytes: u64) -> rusqlite::Result<()> {
    let (records, bytes) = (records.cast_signed(), bytes.cast_signed());
    tx.connection
        .prepare_cached(
            "UPDATE batch SET records = records + ?2, bytes = bytes + ?3 WHERE seq = ?1",
        )?
        .execute((seq, records, bytes))?;
    tx.connection
        .prepare_cached("UPDATE meta SET queued_bytes = queued_bytes + ?1")?
        .execute([bytes])?;
    Ok(())
}
