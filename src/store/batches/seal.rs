//! Sealing: at its first claim a batch's body is put together, and is the same from then on.

use rusqlite::{OptionalExtension, Row as SqlRow};

use crate::model::envelope::filled;
use crate::model::record::checksum;
use crate::model::request::FrozenRequest;
use crate::store::parts::Resolved;
use crate::store::submissions::{Row, note_problem};
use crate::store::writer::Tx;

/// A record as it was appended.
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) body: String,
}

/// The records of a batch whose bytes are the ones that were appended, in their order.
pub(super) fn records(tx: &Tx<'_>, batch: i64) -> rusqlite::Result<Vec<Stored>> {
    let mut statement = tx.connection.prepare_cached(
        "SELECT number, body, checksum FROM record WHERE batch = ?1 ORDER BY number",
    )?;
    let mut rows = statement.query([batch])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        if let Some(record) = read(row)? {
            records.push(record);
        }
    }
    Ok(records)
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Option<Stored>> {
    let (Ok(body), Ok(sum)) = (row.get_ref(1)?.as_bytes(), row.get_ref(2)?.as_bytes()) else {
        return Ok(None);
    };
    let whole = checksum(body) == *sum;
    let body = std::str::from_utf8(body).ok().filter(|_| whole);
    Ok(body.map(|body| Stored {
        number: row.get(0).unwrap_or_default(),
        body: body.to_owned(),
    }))
}

/// The request of a batch with its records in it: sealed now, or the same as it was sealed.
pub(in crate::store) fn sealed(
    tx: &Tx<'_>,
    row: &Row,
    envelope: FrozenRequest,
) -> rusqlite::Result<Resolved> {
    match seal(tx, row, envelope) {
        Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(Resolved::Damaged),
        resolved => resolved,
    }
}

fn seal(tx: &Tx<'_>, row: &Row, envelope: FrozenRequest) -> rusqlite::Result<Resolved> {
    let found = tx
        .connection
        .prepare_cached("SELECT records, body_digest, checksum FROM batch WHERE seq = ?1")?
        .query_row([row.seq], |found| {
            let digest: Option<[u8; 32]> = found.get(1)?;
            let checksum: Option<[u8; 32]> = found.get(2)?;
            Ok((found.get::<_, i64>(0)?, digest.zip(checksum)))
        })
        .optional()?;
    let Some((appended, before)) = found else {
        return Ok(Resolved::Damaged);
    };
    let records = records(tx, row.seq)?;
    if before.is_none() && records.is_empty() {
        return Ok(Resolved::Nothing);
    }
    let request = filled(envelope, records.iter().map(|record| record.body.as_str()));
    let now = (request.body_digest, request.checksum(&request.body_digest));
    match before {
        Some(before) if before == now => {}
        Some(_) => return Ok(Resolved::Damaged),
        None => freeze(tx, row, &now, appended - records.len() as i64)?,
    }
    Ok(Resolved::Whole(Box::new(request)))
}

fn freeze(
    tx: &Tx<'_>,
    row: &Row,
    (digest, checksum): &([u8; 32], [u8; 32]),
    left_out: i64,
) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE batch SET open = 0, body_digest = ?2, checksum = ?3 WHERE seq = ?1",
        )?
        .execute((row.seq, digest, checksum))?;
    if left_out > 0 {
        let problem = format!("{left_out} damaged records were left out");
        note_problem(tx, row, &problem)?;
    }
    Ok(())
}
