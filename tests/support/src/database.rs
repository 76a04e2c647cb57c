//! Keys, effects and requests in one SQLite file.
//!
//! A key is looked up, its effect made and its answer stored in a single transaction, so that
//! there is no moment in which an effect exists without its key.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;

use crate::answer::Answer;
use crate::clock::wall_ms;
use crate::records::{EffectBody, EffectRecord, RequestRecord};

/// A write that may have to be made.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// The reset count at the arrival; a write from before a reset has no effect after it.
    pub(crate) epoch: u64,
    pub(crate) key: Option<String>,
    /// The principal within which the key is looked up, if keys are not one space for all.
    pub(crate) scope: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) fingerprint: [u8; 32],
    pub(crate) body_sha256: String,
    pub(crate) body_bytes: u64,
    /// The body itself, if it is to be kept with its effect.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) overwrite: bool,
    /// Store this error under the key and make no effect.
    pub(crate) freeze: Option<Answer>,
    /// Trust an earlier look-up, as a server without locks does.
    pub(crate) unchecked: bool,
}

impl Write {
    /// The name under which the key is stored and locked.
    pub(crate) fn stored_key(&self) -> Option<String> {
        let key = self.key.as_ref()?;
        Some(match &self.scope {
            // A space is in no principal, so no two pairs have one name.
            Some(scope) => format!("{scope} {key}"),
            None => key.clone(),
        })
    }
}

/// What became of a [`Write`].
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// A new answer, with its effect unless it is a frozen error.
    Fresh { effect: Option<u64>, answer: Answer },
    /// The key was known with this payload.
    Known { effect: Option<u64>, answer: Answer },
    /// The key was known with another payload.
    Reused,
    /// The write came from before a reset.
    Outdated,
}

/// The connection and what its thread must know.
pub(crate) struct Database {
    connection: Connection,
    key_lifetime: Option<Duration>,
    run: u64,
    epoch: u64,
}

/// The body of a 201.
#[derive(Serialize)]
struct Made<'a> {
    effect: u64,
    path: &'a str,
    bytes: u64,
    sha256: &'a str,
}

impl Database {
    pub(crate) fn open(
        path: &Path,
        durable: bool,
        key_lifetime: Option<Duration>,
    ) -> Result<Self, rusqlite::Error> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", if durable { "FULL" } else { "OFF" })?;
        connection.execute_batch(include_str!("schema.sql"))?;
        connection.set_prepared_statement_cache_capacity(32);
        // Fails here, and not at the first request, on somebody else's table of the same name.
        connection.prepare("SELECT key, fingerprint, effect, stored_ms FROM keys")?;
        connection.prepare("SELECT effect, key, overwrite, wall_ms FROM effects")?;
        connection.prepare("SELECT run, number, answer_lost FROM requests")?;
        Ok(Self {
            connection,
            key_lifetime,
            run: wall_ms(),
            epoch: 0,
        })
    }

    /// Replays or makes what `write` asks for, in one transaction.
    pub(crate) fn write(&mut self, write: &Write) -> Result<Outcome, rusqlite::Error> {
        if write.epoch < self.epoch {
            return Ok(Outcome::Outdated);
        }
        let lifetime = self.key_lifetime;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !write.unchecked
            && let Some(known) = known(&transaction, write, lifetime)?
        {
            transaction.commit()?;
            return Ok(known);
        }
        let (effect, answer) = match &write.freeze {
            Some(answer) => (None, answer.clone()),
            None => {
                let effect = insert_effect(&transaction, write)?;
                if let Some(body) = &write.body {
                    transaction
                        .prepare_cached("INSERT INTO bodies (effect, body) VALUES (?1, ?2)")?
                        .execute(params![Int(effect), body])?;
                }
                let made = Made {
                    effect,
                    path: &write.path,
                    bytes: write.body_bytes,
                    sha256: &write.body_sha256,
                };
                (
                    Some(effect),
                    Answer::json(if write.overwrite { 200 } else { 201 }, &made),
                )
            }
        };
        if let Some(key) = write.stored_key() {
            insert_key(&transaction, &key, write, effect, &answer)?;
        }
        transaction.commit()?;
        Ok(Outcome::Fresh { effect, answer })
    }

    /// Only looks whether the key is known.
    pub(crate) fn look(&mut self, write: &Write) -> Result<Option<Outcome>, rusqlite::Error> {
        let lifetime = self.key_lifetime;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = known(&transaction, write, lifetime)?;
        transaction.commit()?;
        Ok(known)
    }

    /// How many effects a key has, or how many there are.
    pub(crate) fn count_effects(&self, key: Option<&str>) -> Result<u64, rusqlite::Error> {
        let count = |row: &rusqlite::Row<'_>| row.get::<_, Int>(0).map(Int::into_u64);
        match key {
            Some(key) => self
                .connection
                .prepare_cached("SELECT count(*) FROM effects WHERE key = ?1")?
                .query_row([key], count),
            None => self
                .connection
                .prepare_cached("SELECT count(*) FROM effects")?
                .query_row([], count),
        }
    }

    /// All effects, in the order in which they were made.
    pub(crate) fn effects(&self) -> Result<Vec<EffectRecord>, rusqlite::Error> {
        let mut statement = self
            .connection
            .prepare_cached(&format!("{SELECT_EFFECT} ORDER BY effect"))?;
        let rows = statement.query_map([], read_effect)?;
        rows.collect()
    }

    /// The bodies that were kept, in the order of their effects.
    pub(crate) fn bodies(&self) -> Result<Vec<EffectBody>, rusqlite::Error> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT effect, body FROM bodies ORDER BY effect")?;
        let rows = statement.query_map([], |row| {
            Ok(EffectBody {
                effect: row.get::<_, Int>(0)?.into_u64(),
                body: row.get(1)?,
            })
        })?;
        rows.collect()
    }

    /// The first effect of this path, or under this key.
    pub(crate) fn find_effect(
        &self,
        path: Option<&str>,
        key: Option<&str>,
    ) -> Result<Option<EffectRecord>, rusqlite::Error> {
        self.connection
            .prepare_cached(&format!(
                "{SELECT_EFFECT} WHERE path = ?1 OR key = ?2 ORDER BY effect LIMIT 1"
            ))?
            .query_row((path, key), read_effect)
            .optional()
    }

    /// Forgets every key and leaves the effects.
    pub(crate) fn forget_keys(&mut self) -> Result<u64, rusqlite::Error> {
        Ok(self.connection.execute("DELETE FROM keys", [])? as u64)
    }

    /// Empties the file; writes that arrived before `epoch` have no effect from now on.
    pub(crate) fn reset(&mut self, epoch: u64) -> Result<(), rusqlite::Error> {
        self.epoch = epoch;
        self.connection.execute_batch(
            "BEGIN IMMEDIATE;
             DELETE FROM keys; DELETE FROM bodies; DELETE FROM effects; DELETE FROM requests;
             DELETE FROM sqlite_sequence WHERE name = 'effects';
             COMMIT;",
        )
    }

    pub(crate) fn archive(&mut self, record: &RequestRecord) -> Result<(), rusqlite::Error> {
        let behaviour = serde_json::to_string(&record.behaviour).unwrap_or_default();
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO requests VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                  ?19, ?20)",
            )?
            .execute(params![
                Int(self.run),
                Int(record.number),
                record.key,
                record.method,
                record.path,
                record.body_sha256,
                Int(record.body_bytes),
                record.body_complete,
                record.principal,
                record.user_agent,
                Int(record.arrived_wall_ms),
                Int(record.arrived_at_ns),
                record.answered_at_ns.map(Int),
                record.lost_at_ns.map(Int),
                record.handler_done_at_ns.map(Int),
                record.status,
                behaviour,
                record.effect.map(Int),
                record.replayed,
                record.answer_lost,
            ])
            .map(|_| ())
    }
}

/// The stored answer of a key that has not outlived its lifetime.
fn known(
    transaction: &Transaction<'_>,
    write: &Write,
    lifetime: Option<Duration>,
) -> Result<Option<Outcome>, rusqlite::Error> {
    let Some(key) = write.stored_key() else {
        return Ok(None);
    };
    if let Some(lifetime) = lifetime {
        let oldest = u128::from(wall_ms()).saturating_sub(lifetime.as_millis());
        transaction
            .prepare_cached("DELETE FROM keys WHERE key = ?1 AND stored_ms <= ?2")?
            .execute(params![key, Int(u64::try_from(oldest).unwrap_or(u64::MAX))])?;
    }
    let found = transaction
        .prepare_cached(
            "SELECT fingerprint, effect, status, content_type, body FROM keys WHERE key = ?1",
        )?
        .query_row([&key], |row| {
            let fingerprint: [u8; 32] = row.get(0)?;
            let answer = Answer {
                status: row.get(2)?,
                headers: Vec::new(),
                content_type: row.get(3)?,
                body: row.get::<_, Vec<u8>>(4)?.into(),
            };
            let effect = row.get::<_, Option<Int>>(1)?.map(Int::into_u64);
            Ok((fingerprint, effect, answer))
        })
        .optional()?;
    Ok(found.map(|(fingerprint, effect, answer)| {
        if fingerprint == write.fingerprint {
            Outcome::Known { effect, answer }
        } else {
            Outcome::Reused
        }
    }))
}

fn insert_effect(transaction: &Transaction<'_>, write: &Write) -> Result<u64, rusqlite::Error> {
    transaction
        .prepare_cached(
            "INSERT INTO effects (key, method, path, body_sha256, body_bytes, overwrite, wall_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING effect",
        )?
        .query_row(
            params![
                write.key,
                write.method,
                write.path,
                write.body_sha256,
                Int(write.body_bytes),
                write.overwrite,
                Int(wall_ms()),
            ],
            |row| row.get::<_, Int>(0).map(Int::into_u64),
        )
}

/// `OR REPLACE`: without locks two requests at once both believe that the key is new.
fn insert_key(
    transaction: &Transaction<'_>,
    key: &str,
    write: &Write,
    effect: Option<u64>,
    answer: &Answer,
) -> Result<(), rusqlite::Error> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO keys
             (key, fingerprint, effect, status, content_type, body, stored_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            key,
            write.fingerprint,
            effect.map(Int),
            answer.status,
            answer.content_type,
            &answer.body[..],
            Int(wall_ms()),
        ])
        .map(|_| ())
}

/// An unsigned number in SQLite's signed integers. Nothing here comes near the limit: a clock of
/// nanoseconds reaches it after 292 years.
#[derive(Clone, Copy)]
struct Int(u64);

impl Int {
    fn into_u64(self) -> u64 {
        self.0
    }
}

impl ToSql for Int {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Int {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = i64::column_result(value)?;
        Ok(Self(u64::try_from(number).unwrap_or_default()))
    }
}

const SELECT_EFFECT: &str =
    "SELECT effect, key, method, path, body_sha256, body_bytes, overwrite, wall_ms FROM effects";

fn read_effect(row: &rusqlite::Row<'_>) -> rusqlite::Result<EffectRecord> {
    Ok(EffectRecord {
        effect: row.get::<_, Int>(0)?.into_u64(),
        key: row.get(1)?,
        method: row.get(2)?,
        path: row.get(3)?,
        body_sha256: row.get(4)?,
        body_bytes: row.get::<_, Int>(5)?.into_u64(),
        overwrite: row.get(6)?,
        wall_ms: row.get::<_, Int>(7)?.into_u64(),
    })
}
