//! Who still runs what it has begun.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::record::Hold;
use crate::clock::UptimeMs;
use crate::error::StorageError;
use crate::store::owner::{Life, Owner, life_of};

/// What is known of the owners of runs, each looked at once.
pub(super) struct Lives<'a> {
    connection: &'a Connection,
    own: &'a Owner,
    boot: i64,
    uptime: UptimeMs,
    others: BTreeMap<i64, Other>,
}

#[derive(Clone, Copy)]
enum Other {
    /// Its lock is held. So there was no reboot since it opened, and its uptime is ours, whether the
    /// system names boots or not.
    Alive,
    /// Its lock could be taken, or it has left. Its number never comes again.
    Gone,
    /// The file of its lock is gone.
    Unknown,
}

impl<'a> Lives<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        own: &'a Owner,
        boot: i64,
        uptime: UptimeMs,
    ) -> Self {
        Self {
            connection,
            own,
            boot,
            uptime,
            others: BTreeMap::new(),
        }
    }

    /// True if a run was lost: its process is gone, or its time is over.
    pub(super) fn lost(&mut self, hold: &Hold) -> Result<bool, StorageError> {
        let over = self.uptime >= hold.lease;
        let Some(owner) = hold.owner else {
            return Ok(true);
        };
        if owner == self.own.id {
            return Ok(over);
        }
        Ok(match self.other(owner)? {
            Other::Alive => over,
            Other::Gone => true,
            Other::Unknown => over || hold.boot != Some(self.boot),
        })
    }

    fn other(&mut self, owner: i64) -> Result<Other, StorageError> {
        if let Some(known) = self.others.get(&owner) {
            return Ok(*known);
        }
        let token: Option<String> = self
            .connection
            .prepare_cached("SELECT token FROM owner WHERE id = ?1")?
            .query_row([owner], |row| row.get(0))
            .optional()?;
        let found = match token {
            None => Other::Gone,
            Some(token) => match life_of(self.own.folder(), &token)? {
                Life::Alive => Other::Alive,
                Life::Dead(_) => Other::Gone,
                Life::Unknown => Other::Unknown,
            },
        };
        self.others.insert(owner, found);
        Ok(found)
    }
}
