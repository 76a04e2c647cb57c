//! Server profiles and channels, shared by many submissions.

use rusqlite::{Connection, OptionalExtension};

use super::rows::unreadable;
use super::writer::Tx;
use crate::policy::profile::ServerProfile;

/// The row of a profile, made if it is new.
pub(super) fn keep(tx: &Tx<'_>, json: &str) -> rusqlite::Result<i64> {
    find_or_insert(
        tx.connection,
        "SELECT id FROM profile WHERE json = ?1",
        "INSERT INTO profile (json) VALUES (?1)",
        &[json],
    )
}

/// A profile, and the text that it was read from.
pub(super) fn read_text(
    connection: &Connection,
    id: i64,
) -> rusqlite::Result<(ServerProfile, String)> {
    let json: String = connection
        .prepare_cached("SELECT json FROM profile WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let profile = serde_json::from_str(&json).map_err(|_| unreadable())?;
    Ok((profile, json))
}

pub(super) fn read(connection: &Connection, id: i64) -> rusqlite::Result<ServerProfile> {
    read_text(connection, id).map(|(profile, _)| profile)
}

/// The row of an account's way to an origin, made if it is new.
pub(super) fn channel(tx: &Tx<'_>, account: Option<&str>, origin: &str) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached("INSERT INTO host (origin) VALUES (?1) ON CONFLICT DO NOTHING")?
        .execute([origin])?;
    find_or_insert(
        tx.connection,
        "SELECT id FROM channel WHERE account = ?1 AND origin = ?2",
        "INSERT INTO channel (account, origin) VALUES (?1, ?2)",
        &[account.unwrap_or_default(), origin],
    )
}

fn find_or_insert(
    connection: &Connection,
    find: &str,
    insert: &str,
    values: &[&str],
) -> rusqlite::Result<i64> {
    let values = rusqlite::params_from_iter(values);
    let found = connection
        .prepare_cached(find)?
        .query_row(values.clone(), |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => connection.prepare_cached(insert)?.insert(values),
    }
}
