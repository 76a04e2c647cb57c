//! Fetched values: the latest result of each latest-wins key whose submissions only read.
//!
//! A value stands apart from the submission that it came with, so that retention doesn't touch it. It is
//! written in the transaction that settles. A row whose checksum doesn't hold counts as none: nothing is
//! asked by it, nothing is shown of it, and the next result takes its place.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::Store;
use super::intake::thaw;
use super::order::whose;
use super::rows::{read_headers, read_id, read_key, spell_headers};
use super::submissions::Row;
use super::view;
use super::writer::Tx;
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::fingerprint::PartHash;
use crate::model::id::SubmissionId;
use crate::model::outcome::Fetched;
use crate::model::request::FrozenRequest;
use crate::model::submission::{Effect, Header};
use crate::policy::validator;
use crate::trace;

/// A latest-wins key of an account, or of nobody.
#[derive(Clone, Copy)]
struct Key<'a> {
    account: &'a str,
    name: &'a str,
}

/// A stored value.
struct Value {
    seq: i64,
    id: SubmissionId,
    asked: [u8; 32],
    status: u16,
    content_type: Option<String>,
    headers: Vec<Header>,
    body: Vec<u8>,
    fetched: WallMs,
    checked: WallMs,
    checked_seq: i64,
}

impl Store {
    pub(crate) fn current(
        self: &Arc<Self>,
        account: Option<&str>,
        key: &str,
    ) -> Result<Option<Fetched>, OutboxError> {
        let key = Key {
            account: whose(account),
            name: key,
        };
        let value = self.read(|reader| Ok(read(reader, key)?))?;
        Ok(value.map(|value| Fetched {
            id: value.id,
            status: value.status,
            content_type: value.content_type,
            headers: value.headers,
            body: value.body,
            fetched_at: value.fetched.to_system_time(),
            checked_at: value.checked.to_system_time(),
        }))
    }
}

/// The request as it is to be stored if there is a value already: one that asks whether that has changed.
pub(super) fn conditional(
    tx: &Tx<'_>,
    request: &FrozenRequest,
) -> Result<Option<FrozenRequest>, OutboxError> {
    let (Effect::Safe, Some(name)) = (request.effect, &request.links.replaces) else {
        return Ok(None);
    };
    if !validator::may_ask(request) {
        return Ok(None);
    }
    let key = Key {
        account: whose(request.account.as_deref()),
        name,
    };
    let asks = read(tx.connection, key)?
        .filter(|value| value.asked == validator::asked(request))
        .and_then(|value| validator::validator(&value.headers));
    Ok(asks.and_then(|asks| validator::asking(request, asks)))
}

/// Keeps the result of a submission that has just succeeded, if it is one that is fetched.
pub(super) fn note(tx: &Tx<'_>, row: &Row) -> Result<(), OutboxError> {
    let (Effect::Safe, Some(stored)) = (row.effect, &row.replaces) else {
        return Ok(());
    };
    let key = Key {
        account: whose(row.account.as_deref()),
        name: read_key(stored),
    };
    let Some(request) = thaw(tx.connection, row)? else {
        return Ok(());
    };
    let Some(result) = view::result(tx.connection, row.seq, tx.now.wall)? else {
        return Ok(());
    };
    let standing = read(tx.connection, key)?;
    if standing
        .as_ref()
        .is_some_and(|value| value.checked_seq > row.seq)
    {
        return Ok(());
    }
    let asked = validator::asked(&request);
    match (result.status, result.body) {
        (Some(status @ (200 | 203..=205)), Some(body)) if !result.result_missing => put(
            tx,
            key,
            &Value {
                seq: row.seq,
                id: row.id,
                asked,
                status,
                content_type: result.content_type,
                headers: result.headers,
                body,
                fetched: tx.now.wall,
                checked: tx.now.wall,
                checked_seq: row.seq,
            },
            standing.is_none(),
        )?,
        (Some(304), _) => {
            // Unchanged since what it asked by, which may have been replaced meanwhile.
            let still = standing.filter(|value| {
                value.asked == asked
                    && validator::validator(&value.headers)
                        .is_some_and(|asks| validator::asks_with(&request, &asks))
            });
            if let Some(mut value) = still {
                value.checked = tx.now.wall;
                value.checked_seq = row.seq;
                put(tx, key, &value, false)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Writes a value. What stands there, and can't be read, goes first: the guard would believe its numbers.
fn put(tx: &Tx<'_>, key: Key<'_>, value: &Value, anew: bool) -> rusqlite::Result<()> {
    if anew {
        tx.connection
            .prepare_cached("DELETE FROM fetched WHERE account = ?1 AND name = ?2")?
            .execute((key.account, key.name))?;
    }
    tx.connection
        .prepare_cached(
            "INSERT INTO fetched (account, name, seq, submission_id, asked, status, content_type,
                headers, body, checksum, fetched_wall, checked_wall, checked_seq)
             VALUES (:account, :name, :seq, :id, :asked, :status, :content_type,
                :headers, :body, :checksum, :fetched, :checked, :checked_seq)
             ON CONFLICT (account, name) DO UPDATE SET seq = excluded.seq,
                submission_id = excluded.submission_id, asked = excluded.asked,
                status = excluded.status, content_type = excluded.content_type,
                headers = excluded.headers, body = excluded.body, checksum = excluded.checksum,
                fetched_wall = excluded.fetched_wall, checked_wall = excluded.checked_wall,
                checked_seq = excluded.checked_seq",
        )?
        .execute(named_params! {
            ":account": key.account,
            ":name": key.name,
            ":seq": value.seq,
            ":id": value.id.as_bytes(),
            ":asked": value.asked,
            ":status": value.status,
            ":content_type": value.content_type,
            ":headers": spell_headers(&value.headers),
            ":body": value.body,
            ":checksum": checksum(key, value),
            ":fetched": value.fetched.0,
            ":checked": value.checked.0,
            ":checked_seq": value.checked_seq,
        })?;
    Ok(())
}

/// The value of a key, if its bytes are the ones that were stored.
fn read(connection: &Connection, key: Key<'_>) -> rusqlite::Result<Option<Value>> {
    let found = connection
        .prepare_cached(
            "SELECT seq, submission_id, asked, status, content_type, headers, body, fetched_wall,
                checked_wall, checked_seq, checksum
             FROM fetched WHERE account = ?1 AND name = ?2",
        )?
        .query_row((key.account, key.name), |row| {
            let value = Value {
                seq: row.get(0)?,
                id: read_id(row.get(1)?),
                asked: row.get(2)?,
                status: row.get(3)?,
                content_type: row.get(4)?,
                headers: read_headers(row.get_ref(5)?.as_str()?)?,
                body: row.get(6)?,
                fetched: WallMs(row.get(7)?),
                checked: WallMs(row.get(8)?),
                checked_seq: row.get(9)?,
            };
            let stored: [u8; 32] = row.get(10)?;
            Ok((stored == checksum(key, &value)).then_some(value))
        })
        .optional();
    let value = match found {
        Ok(None) => return Ok(None),
        Ok(Some(value)) => value,
        // A value that no longer has its type.
        Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => None,
        Err(error) => return Err(error),
    };
    if value.is_none() {
        trace::damaged_value();
    }
    Ok(value)
}

/// SHA-256 over all that is stored of a value.
fn checksum(key: Key<'_>, value: &Value) -> [u8; 32] {
    let mut hash = PartHash::new();
    hash.part(key.account.as_bytes());
    hash.part(key.name.as_bytes());
    hash.part(value.id.as_bytes());
    hash.part(&value.asked);
    hash.part(&value.status.to_be_bytes());
    hash.optional(value.content_type.as_deref().map(str::as_bytes));
    hash.part(spell_headers(&value.headers).as_bytes());
    hash.part(&value.body);
    for number in [
        value.seq,
        value.fetched.0,
        value.checked.0,
        value.checked_seq,
    ] {
        hash.part(&number.to_be_bytes());
    }
    hash.finish()
}

/// Drops what was read of a damaged database and isn't what was stored in it. What it says of its number
/// must not count, either.
pub(super) fn drop_damaged(connection: &Connection) -> rusqlite::Result<()> {
    let keys: Vec<(String, String)> = connection
        .prepare("SELECT account, name FROM fetched")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (account, name) in &keys {
        if read(connection, Key { account, name })?.is_none() {
            connection.execute(
                "DELETE FROM fetched WHERE account = ?1 AND name = ?2",
                (account, name),
            )?;
        }
    }
    Ok(())
}
