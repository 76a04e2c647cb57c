//! Latest wins: of the versions of one key, one is on the wire at a time, and what is written last is the
//! newest that was accepted.
//!
//! From the acceptance of a newer version on, an older one isn't sent any more. If it isn't in doubt it
//! is superseded at once; otherwise it waits for the newer one, and the newer one waits until the server
//! can't be working on it any more. What others depend on isn't superseded: it goes first.

use std::time::Duration;

use rusqlite::{OptionalExtension, named_params};

use super::{NEWER, OLDER, block, unblock, whose};
use crate::clock::{UptimeMs, from_millis, whole_millis};
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::state::{Event, SubmissionState};
use crate::policy::limits::NEWER_WAITS;
use crate::store::rows::read_id;
use crate::store::step::rebase_one;
use crate::store::submissions::{self, Due, Row, ask, change, or_quarantine};
use crate::store::writer::Tx;
use crate::store::{attempts, profiles};

/// A latest-wins key of an account, or of nobody.
#[derive(Clone, Copy)]
struct Key<'a> {
    account: Option<&'a str>,
    name: &'a str,
}

/// An unsettled version.
struct Version {
    seq: i64,
    id: SubmissionId,
    on_the_wire: bool,
    /// Others depend on it.
    children: bool,
}

/// What is known of a key besides its versions.
struct Past {
    /// The newest version that succeeded.
    succeeded: Option<(i64, SubmissionId)>,
    /// Whose attempt it is that a server may still be working on, and for how long.
    busy: Option<(i64, Duration)>,
}

/// Until when no other version than one goes, as it is written down.
struct Floor {
    seq: i64,
    until: UptimeMs,
    boot: i64,
    /// The whole wait.
    wait: Duration,
}

/// After a change of one of its versions.
pub(super) fn move_on(tx: &Tx<'_>, row: &Row, left_the_wire: bool) -> Result<(), OutboxError> {
    let Some(name) = &row.replaces else {
        return Ok(());
    };
    let key = Key {
        account: row.account.as_deref(),
        name,
    };
    if left_the_wire && attempts::last_is_unknown(tx.connection, row)? {
        note_busy(tx, key, row)?;
    }
    if row.state == SubmissionState::Succeeded {
        note_success(tx, key, row.seq)?;
    }
    let versions = versions(tx, key)?;
    let past = past(tx, key)?;
    if supersede(tx, &versions, &past)? {
        // Each has noted its own change, and comes back here.
        return Ok(());
    }
    Ok(take_turns(tx, &versions, &past)?)
}

/// A server may still be working on an attempt of this version.
fn note_busy(tx: &Tx<'_>, key: Key<'_>, row: &Row) -> Result<(), OutboxError> {
    // A lock of the server is per key, and those of the versions differ.
    let wait = match tx.quiet_time {
        Some(quiet) => quiet,
        None => profiles::read(tx.connection, row.profile)?
            .quiet(None)
            .max(NEWER_WAITS),
    };
    tx.connection
        .prepare_cached(
            "UPDATE latest SET floor_seq = :seq, floor_uptime = :uptime, delay = :delay, boot = :boot
             WHERE account = :account AND name = :name",
        )?
        .execute(named_params! {
            ":seq": row.seq,
            ":uptime": tx.now.uptime.plus(wait).0,
            ":delay": whole_millis(wait),
            ":boot": tx.boot,
            ":account": whose(key.account),
            ":name": key.name,
        })?;
    Ok(())
}

fn note_success(tx: &Tx<'_>, key: Key<'_>, seq: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE latest SET succeeded = max(coalesce(succeeded, ?3), ?3)
             WHERE account = ?1 AND name = ?2",
        )?
        .execute((whose(key.account), key.name, seq))?;
    Ok(())
}

fn versions(tx: &Tx<'_>, key: Key<'_>) -> rusqlite::Result<Vec<Version>> {
    tx.connection
        .prepare_cached(
            "SELECT seq, id, state = 'in_flight', children FROM submission
             WHERE account IS ?1 AND replaces = ?2 AND replaces IS NOT NULL
                AND settled_wall IS NULL ORDER BY seq",
        )?
        .query_map((key.account, key.name), |row| {
            Ok(Version {
                seq: row.get(0)?,
                id: read_id(row.get(1)?),
                on_the_wire: row.get(2)?,
                children: row.get(3)?,
            })
        })?
        .collect()
}

fn past(tx: &Tx<'_>, key: Key<'_>) -> rusqlite::Result<Past> {
    let (succeeded, floor): (Option<i64>, Option<Floor>) = tx
        .connection
        .prepare_cached(
            "SELECT succeeded, floor_seq, floor_uptime, delay, boot FROM latest
             WHERE account = ?1 AND name = ?2",
        )?
        .query_row((whose(key.account), key.name), |row| {
            let floor = match row.get::<_, Option<i64>>(1)? {
                None => None,
                Some(seq) => Some(Floor {
                    seq,
                    until: UptimeMs(row.get(2)?),
                    wait: from_millis(row.get(3)?),
                    boot: row.get(4)?,
                }),
            };
            Ok((row.get(0)?, floor))
        })?;
    let succeeded = match succeeded {
        Some(seq) => id_of(tx, seq)?.map(|id| (seq, id)),
        None => None,
    };
    let busy = match floor {
        None => None,
        Some(floor) if floor.boot == tx.boot => Some((floor.seq, floor.until.since(tx.now.uptime))),
        Some(floor) => Some((floor.seq, begin_anew(tx, key, floor.wait)?)),
    };
    Ok(Past { succeeded, busy })
}

/// How much of a wait is over can't be known after a reboot, so the whole of it counts again.
fn begin_anew(tx: &Tx<'_>, key: Key<'_>, wait: Duration) -> rusqlite::Result<Duration> {
    tx.connection
        .prepare_cached(
            "UPDATE latest SET floor_uptime = ?3, boot = ?4 WHERE account = ?1 AND name = ?2",
        )?
        .execute((
            whose(key.account),
            key.name,
            tx.now.uptime.plus(wait).0,
            tx.boot,
        ))?;
    Ok(wait)
}

fn id_of(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<Option<SubmissionId>> {
    tx.connection
        .prepare_cached("SELECT id FROM submission WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0).map(read_id))
        .optional()
}

/// Ends the versions that a newer one makes void. True if there were any.
fn supersede(tx: &Tx<'_>, versions: &[Version], past: &Past) -> Result<bool, OutboxError> {
    let Some(newest) = versions.last() else {
        return Ok(false);
    };
    let mut any = false;
    for version in versions {
        let event = match past.succeeded {
            Some((seq, by)) if seq > version.seq => Event::NewerSucceeded { by },
            _ if newest.seq > version.seq => Event::NewerAccepted { by: newest.id },
            _ => continue,
        };
        if version.on_the_wire || version.children {
            continue;
        }
        let ended = end(tx, version.seq, event);
        any |= or_quarantine(tx, version.seq, ended)?.unwrap_or(true);
    }
    Ok(any)
}

fn end(tx: &Tx<'_>, seq: i64, event: Event) -> Result<bool, OutboxError> {
    let mut row = submissions::by_seq(tx.connection, seq)?;
    let transition = ask(tx, &row, event)?;
    let ends = transition.next.visible != row.state;
    if ends {
        change(tx, &mut row, &transition, Due::Unchanged)?;
    }
    Ok(ends)
}

/// The one that goes next is the oldest that others depend on, or else the newest.
fn take_turns(tx: &Tx<'_>, versions: &[Version], past: &Past) -> rusqlite::Result<()> {
    let depended_on = versions.iter().find(|version| version.children);
    let Some(turn) = depended_on.or(versions.last()) else {
        return Ok(());
    };
    for version in versions {
        if version.seq < turn.seq {
            block(tx, version.seq, NEWER)?;
        } else {
            unblock(tx, version.seq, NEWER)?;
        }
        if version.seq > turn.seq {
            block(tx, version.seq, OLDER)?;
        }
    }
    let other_flies = versions
        .iter()
        .any(|version| version.on_the_wire && version.seq != turn.seq);
    if other_flies {
        return block(tx, turn.seq, OLDER);
    }
    if let Some((seq, left)) = past.busy
        && seq != turn.seq
        && !left.is_zero()
    {
        hold_back(tx, turn.seq, left)?;
    }
    unblock(tx, turn.seq, OLDER)
}

/// Nothing makes it due before that.
fn hold_back(tx: &Tx<'_>, seq: i64, wait: Duration) -> rusqlite::Result<()> {
    rebase_one(tx, seq)?;
    tx.connection
        .prepare_cached(
            "UPDATE submission SET ready = 0,
                floor_uptime = max(coalesce(floor_uptime, :until), :until),
                due_wall = :wall + max(0, coalesce(due_uptime, :until) - :until),
                delay = :wait + max(0, coalesce(due_uptime, :until) - :until),
                due_uptime = max(coalesce(due_uptime, :until), :until),
                boot = :boot
             WHERE seq = :seq AND state = 'pending' AND probe_uptime IS NULL
                AND (due_uptime IS NULL OR due_uptime < :until OR coalesce(floor_uptime, 0) < :until)",
        )?
        .execute(named_params! {
            ":until": tx.now.uptime.plus(wait).0,
            ":wall": tx.now.wall.plus(wait).0,
            ":wait": whole_millis(wait),
            ":boot": tx.boot,
            ":seq": seq,
        })?;
    Ok(())
}

/// Makes the record of a key, if it isn't there.
pub(super) fn enter(tx: &Tx<'_>, account: Option<&str>, name: &str) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "INSERT INTO latest (account, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        )?
        .execute((whose(account), name))?;
    Ok(())
}
