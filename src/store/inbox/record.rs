//! A once-record as it is stored, and what it tells by itself.

use std::time::SystemTime;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::clock::{UptimeMs, WallMs};
use crate::model::fingerprint::PartHash;
use crate::model::inbox::{InboxAnswer, InboxItem, InboxPolicy};
use crate::trace;

/// A row of the table.
pub(super) struct Record {
    pub(super) seq: i64,
    pub(super) state: State,
    pub(super) policy: InboxPolicy,
    pub(super) run: i64,
    /// A run before the one that counts may have had its effect.
    pub(super) doubt: bool,
    pub(super) began: WallMs,
    pub(super) hold: Hold,
    fingerprint: Vec<u8>,
    ended: WallMs,
    dropped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Free,
    Uncertain,
    Done,
}

/// Who has a run, and until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    pub(super) owner: Option<i64>,
    pub(super) boot: Option<i64>,
    pub(super) lease: UptimeMs,
}

const COLUMNS: &str = "seq, state, policy, run, began_wall, owner, boot, lease_uptime, fingerprint,
    ended_wall, dropped, doubt";

/// The record of a key.
pub(super) fn find(
    connection: &Connection,
    scope: &str,
    key: &str,
) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM inbox WHERE scope = ?1 AND key = ?2"
        ))?
        .query_row((scope, key), read)
        .optional()
}

/// The record of this number.
pub(super) fn by_seq(connection: &Connection, seq: i64) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM inbox WHERE seq = ?1"))?
        .query_row([seq], read)
        .optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        seq: row.get("seq")?,
        state: match row.get_ref("state")?.as_str()? {
            "running" => State::Running,
            "free" => State::Free,
            "done" => State::Done,
            // The safest reading of what can't be read.
            _ => State::Uncertain,
        },
        policy: match row.get_ref("policy")?.as_str()? {
            "at_least_once" => InboxPolicy::AtLeastOnce,
            _ => InboxPolicy::AtMostOnce,
        },
        run: row.get("run")?,
        doubt: row.get("doubt")?,
        began: WallMs(row.get("began_wall")?),
        hold: Hold {
            owner: row.get("owner")?,
            boot: row.get("boot")?,
            lease: UptimeMs(number(row, "lease_uptime")?),
        },
        fingerprint: row.get("fingerprint")?,
        ended: WallMs(number(row, "ended_wall")?),
        dropped: row.get("dropped")?,
    })
}

fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<i64> {
    Ok(row.get::<_, Option<i64>>(column)?.unwrap_or_default())
}

pub(super) fn spell_policy(policy: InboxPolicy) -> &'static str {
    match policy {
        InboxPolicy::AtMostOnce => "at_most_once",
        InboxPolicy::AtLeastOnce => "at_least_once",
    }
}

impl Record {
    /// True if the item comes with the content that the record was made with.
    pub(super) fn is_of(&self, fingerprint: &[u8]) -> bool {
        self.fingerprint == fingerprint
    }

    /// The policy that counts where the record's and the one that is asked for differ.
    pub(super) fn safer(&self, asked: InboxPolicy) -> InboxPolicy {
        match (self.policy, asked) {
            (InboxPolicy::AtLeastOnce, InboxPolicy::AtLeastOnce) => InboxPolicy::AtLeastOnce,
            (InboxPolicy::AtMostOnce, _) | (_, InboxPolicy::AtMostOnce) => InboxPolicy::AtMostOnce,
        }
    }

    /// When the run that counts began.
    pub(super) fn since(&self) -> SystemTime {
        self.began.to_system_time()
    }

    /// The answer for what is done, with the result that was stored. One that isn't the stored one any
    /// more is never given; that it was done stays true.
    pub(super) fn done(
        &self,
        connection: &Connection,
        scope: &str,
        key: &str,
    ) -> rusqlite::Result<InboxAnswer> {
        let at = self.ended.to_system_time();
        let (result, checksum) = connection
            .prepare_cached("SELECT result, checksum FROM inbox WHERE seq = ?1")?
            .query_row([self.seq], |row| {
                Ok((
                    readable::<Option<Vec<u8>>>(row, 0)?.flatten(),
                    readable::<Option<Vec<u8>>>(row, 1)?.flatten(),
                ))
            })?;
        let expected = self.checksum(scope, key, result.as_deref());
        // Nothing was dropped of what was given no result.
        let whole = checksum.as_deref() == Some(&expected[..]);
        if !whole && !self.dropped {
            trace::inbox_damaged(scope);
        }
        Ok(InboxAnswer::Done {
            result: result.filter(|_| whole),
            dropped: !whole,
            at,
        })
    }

    /// What a result is stored with.
    pub(super) fn checksum(&self, scope: &str, key: &str, result: Option<&[u8]>) -> [u8; 32] {
        let mut hash = PartHash::new();
        hash.part(b"submit-once inbox result 1");
        hash.part(scope.as_bytes());
        hash.part(key.as_bytes());
        hash.part(&self.fingerprint);
        hash.optional(result);
        hash.finish()
    }
}

/// A value, unless it has another type than was stored.
fn readable<T: FromSql>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    match row.get(column) {
        Ok(value) => Ok(Some(value)),
        Err(
            rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::FromSqlConversionFailure(..),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells a repeat from a reuse: nothing where no content was given.
pub(super) fn fingerprint(item: &InboxItem) -> Vec<u8> {
    item.content.as_ref().map_or_else(Vec::new, |content| {
        let mut hash = PartHash::new();
        hash.part(b"submit-once inbox content 1");
        hash.part(content);
        hash.finish().to_vec()
    })
}
