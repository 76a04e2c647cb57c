//! Gates: what stops many submissions at once, so that none of them has to find it out by an
//! attempt. A host that asked everybody to wait; an account that isn't signed in, or has no
//! credentials that can be used.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::writer::Tx;
use crate::clock::{UptimeMs, whole_millis};
use crate::error::OutboxError;
use crate::model::outcome::SignedOutReport;
use crate::policy::backoff::exponential;
use crate::policy::limits::Limits;

/// What a claim may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// Credentials that can be used now.
    pub(crate) credentials: Option<Usable>,
    /// The network costs nothing by the byte.
    pub(crate) unmetered: bool,
}

/// Credentials that can be used, without themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usable {
    pub(crate) account: String,
    /// Which of the account's they are.
    pub(crate) number: i64,
}

/// The account that is signed in, as every process that has the database open sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SignedIn {
    pub(crate) name: String,
    /// Credentials that were refused in a row.
    pub(crate) refusals: u32,
    /// Up to this number they were refused.
    pub(crate) refused: i64,
    /// Nothing is sent before the host supplies some again.
    pub(crate) closed: bool,
}

/// Whether a channel's submissions can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Open,
    /// The host's gate opens after this long.
    Gate(Duration),
    /// Its account is signed in, and has no credentials that can be used.
    Credentials,
    /// Its account isn't signed in.
    SignedOut,
}

/// A channel that has something ready.
pub(super) struct Way {
    pub(super) channel: i64,
    pub(super) access: Access,
}

/// The channels that have something ready, under these terms. There are as many of them as hosts
/// and accounts, a few; the next one is found by one step in the index.
pub(super) fn ways(tx: &Tx<'_>, terms: &Terms) -> rusqlite::Result<Vec<Way>> {
    let mut ways: Vec<Way> = Vec::new();
    let mut after = 0;
    while let Some(channel) = next_channel(tx, after, terms)? {
        ways.push(Way {
            channel,
            access: access(tx, channel, terms)?,
        });
        after = channel;
    }
    Ok(ways)
}

/// True if a better network is all that some submissions wait for.
pub(super) fn awaits_unmetered(tx: &Tx<'_>, terms: &Terms) -> rusqlite::Result<bool> {
    let mut after = 0;
    while !terms.unmetered
        && let Some(channel) = next_ready(tx, after, "2")?
    {
        if access(tx, channel, terms)? != Access::SignedOut {
            return Ok(true);
        }
        after = channel;
    }
    Ok(false)
}

fn next_channel(tx: &Tx<'_>, after: i64, terms: &Terms) -> rusqlite::Result<Option<i64>> {
    let any = next_ready(tx, after, "1")?;
    let unmetered = if terms.unmetered {
        next_ready(tx, after, "2")?
    } else {
        None
    };
    Ok(any.into_iter().chain(unmetered).min())
}

fn next_ready(tx: &Tx<'_>, after: i64, ready: &str) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached(&format!(
            "SELECT min(channel) FROM submission WHERE ready = {ready} AND channel > ?1"
        ))?
        .query_row([after], |row| row.get(0))
}

/// Whether a channel is open.
pub(super) fn access(tx: &Tx<'_>, channel: i64, terms: &Terms) -> rusqlite::Result<Access> {
    let (account, signed_in, closed, refused, origin): (String, bool, bool, i64, String) =
        tx.connection
            .prepare_cached(
                "SELECT c.account, coalesce(a.signed_in, 0), coalesce(a.closed, 0), coalesce(a.refused, 0),
                    c.origin
                 FROM channel c LEFT JOIN account a ON a.name = c.account WHERE c.id = ?1",
            )?
            .query_row([channel], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ))
            })?;
    if !account.is_empty() {
        if !signed_in {
            return Ok(Access::SignedOut);
        }
        let usable = terms
            .credentials
            .as_ref()
            .is_some_and(|usable| usable.account == account && usable.number > refused && !closed);
        if !usable {
            return Ok(Access::Credentials);
        }
    }
    Ok(match closed_for(tx, &origin)? {
        Some(left) => Access::Gate(left),
        None => Access::Open,
    })
}

/// How long a host's gate is still closed.
fn closed_for(tx: &Tx<'_>, origin: &str) -> rusqlite::Result<Option<Duration>> {
    let uptime: Option<i64> = tx
        .connection
        .prepare_cached(
            "SELECT closed_uptime FROM host WHERE origin = ?1 AND closed_uptime IS NOT NULL",
        )?
        .query_row([origin], |row| row.get(0))
        .optional()?;
    let Some(uptime) = uptime else {
        return Ok(None);
    };
    let left = UptimeMs(uptime).since(tx.now.uptime);
    if left.is_zero() {
        tx.connection
            .prepare_cached("UPDATE host SET closed_uptime = NULL WHERE origin = ?1")?
            .execute([origin])?;
        return Ok(None);
    }
    Ok(Some(left))
}

/// Brings the gates of earlier boots into this one: what is left by the wall clock, and never more
/// than the whole wait, in case the clock was set back.
pub(super) fn rebase(tx: &Tx<'_>) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE host SET
                closed_uptime = :uptime + max(0, min(closed_wall - :wall, delay)),
                closed_wall = :wall + max(0, min(closed_wall - :wall, delay)),
                boot = :boot
             WHERE closed_uptime IS NOT NULL AND boot <> :boot",
        )?
        .execute(named_params! {
            ":uptime": tx.now.uptime.0,
            ":wall": tx.now.wall.0,
            ":boot": tx.boot,
        })?;
    Ok(())
}

/// A host asks everybody to wait: as long as it said, else the longer the more often it has.
pub(super) struct HostGate {
    /// What it asked for, jittered.
    pub(super) asked: Option<Duration>,
    /// A random share to add, in thousandths.
    pub(super) spread: u32,
}

/// Closes the gate of a submission's host. Never opens it sooner than it would have been.
pub(super) fn close_host(
    tx: &Tx<'_>,
    submission: i64,
    gate: &HostGate,
    limits: &Limits,
) -> rusqlite::Result<()> {
    let origin = origin_of(tx, submission)?;
    let left = closed_for(tx, &origin)?;
    // Answers that came while it was closed belong to the same event.
    let more = u32::from(left.is_none());
    let failures: u32 = tx
        .connection
        .prepare_cached(
            "INSERT INTO host (origin, failures) VALUES (?1, ?2)
             ON CONFLICT (origin) DO UPDATE SET failures = failures + ?2 RETURNING failures",
        )?
        .query_row((&origin, more), |row| row.get(0))?;
    let wait = gate.asked.unwrap_or_else(|| {
        let wait = exponential(failures.max(1), limits);
        wait + wait.saturating_mul(gate.spread) / 1_000
    });
    if left.is_none_or(|left| left < wait) {
        set_closed(tx, &origin, wait)?;
    }
    Ok(())
}

fn set_closed(tx: &Tx<'_>, origin: &str, wait: Duration) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE host SET closed_uptime = :uptime, closed_wall = :wall, delay = :delay,
                boot = :boot WHERE origin = :origin",
        )?
        .execute(named_params! {
            ":uptime": tx.now.uptime.plus(wait).0,
            ":wall": tx.now.wall.plus(wait).0,
            ":delay": whole_millis(wait),
            ":boot": tx.boot,
            ":origin": origin,
        })?;
    Ok(())
}

fn origin_of(tx: &Tx<'_>, submission: i64) -> rusqlite::Result<String> {
    tx.connection
        .prepare_cached(
            "SELECT c.origin FROM submission s JOIN channel c ON c.id = s.channel WHERE s.seq = ?1",
        )?
        .query_row([submission], |row| row.get(0))
}

/// The host has answered well, and the credentials were good. A refusal of the same ones was that of
/// one key or one resource, unless it came to an attempt that began later: they may have expired.
pub(super) fn note_success(tx: &Tx<'_>, submission: i64, attempt: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE host SET well = well + 1, failures = 0 WHERE origin = (
                SELECT c.origin FROM submission s JOIN channel c ON c.id = s.channel
                WHERE s.seq = ?1)",
        )?
        .execute([submission])?;
    if let Some(number) = credentials_of(tx, attempt)? {
        tx.connection
            .prepare_cached(
                "UPDATE account SET works = :number, works_attempt = max(works_attempt, :attempt),
                    refusals = 0, closed = 0, refused = min(refused, :number - 1)
                 WHERE name = (SELECT account FROM submission WHERE seq = :submission)
                    AND (refused < :number
                        OR (refused = :number AND refused_attempt < :attempt))",
            )?
            .execute(named_params! {
                ":number": number,
                ":submission": submission,
                ":attempt": attempt,
            })?;
    }
    Ok(())
}

/// How often a submission's host has answered well.
pub(super) fn successes(tx: &Tx<'_>, submission: i64) -> rusqlite::Result<i64> {
    tx.connection
        .prepare_cached(
            "SELECT h.well FROM submission s JOIN channel c ON c.id = s.channel
                JOIN host h ON h.origin = c.origin WHERE s.seq = ?1",
        )?
        .query_row([submission], |row| row.get(0))
        .optional()
        .map(Option::unwrap_or_default)
}

fn credentials_of(tx: &Tx<'_>, attempt: i64) -> rusqlite::Result<Option<i64>> {
    tx.connection
        .prepare_cached("SELECT credentials FROM attempt WHERE id = ?1")?
        .query_row([attempt], |row| row.get(0))
}

/// An attempt's credentials were refused: once for all attempts that were sent with them, and for all
/// that were supplied before. The second in a row closes the account's gate.
pub(super) fn close_account(tx: &Tx<'_>, submission: i64, attempt: i64) -> rusqlite::Result<()> {
    match credentials_of(tx, attempt)? {
        Some(number) => refuse_credentials(tx, submission, attempt, number),
        None => Ok(()),
    }
}

/// The same for those of this number. `attempt` is zero if they were refused to a question.
pub(super) fn refuse_credentials(
    tx: &Tx<'_>,
    submission: i64,
    attempt: i64,
    number: i64,
) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE account SET refused = max(refused, :number),
                refused_attempt = max(refused_attempt, :attempt),
                closed = closed OR (:number > counted AND refusals >= 1),
                refusals = refusals + (:number > counted),
                counted = CASE WHEN :number > counted THEN supplied ELSE counted END
             WHERE name = (SELECT account FROM submission WHERE seq = :submission)",
        )?
        .execute(named_params! {
            ":number": number,
            ":attempt": attempt,
            ":submission": submission,
        })?;
    Ok(())
}

/// How a submission's credentials were refused so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Refusals {
    /// With how many different ones.
    pub(super) with: u32,
    /// Another submission of the account succeeded since, with the first of them or later ones.
    pub(super) others_succeed: bool,
}

/// Counts the refusals of a submission that was answered with this status each time.
pub(super) fn refusals(tx: &Tx<'_>, submission: i64, status: u16) -> rusqlite::Result<Refusals> {
    tx.connection
        .prepare_cached(
            "SELECT count(DISTINCT t.credentials),
                coalesce((SELECT a.works >= min(t.credentials) AND a.works_attempt > min(t.id)
                    FROM account a JOIN submission s ON s.account = a.name WHERE s.seq = ?1), 0)
             FROM attempt t WHERE t.submission = ?1 AND t.status = ?2",
        )?
        .query_row((submission, status), |row| {
            Ok(Refusals {
                with: row.get(0)?,
                others_succeed: row.get(1)?,
            })
        })
}

/// Who is signed in.
pub(super) fn signed_in(connection: &rusqlite::Connection) -> rusqlite::Result<Option<SignedIn>> {
    connection
        .prepare_cached("SELECT name, refusals, refused, closed FROM account WHERE signed_in = 1")?
        .query_row([], |row| {
            Ok(SignedIn {
                name: row.get(0)?,
                refusals: row.get(1)?,
                refused: row.get(2)?,
                closed: row.get(3)?,
            })
        })
        .optional()
}

/// Signs an account in, and any other out. Its gate is open again.
pub(super) fn sign_in(tx: &Tx<'_>, account: &str) -> Result<(), OutboxError> {
    sign_out(tx)?;
    tx.connection
        .prepare_cached(
            "INSERT INTO account (name, signed_in) VALUES (?1, 1)
             ON CONFLICT (name) DO UPDATE SET signed_in = 1, refusals = 0, closed = 0",
        )?
        .execute([account])?;
    Ok(())
}

pub(super) fn sign_out(tx: &Tx<'_>) -> Result<(), OutboxError> {
    tx.connection
        .prepare_cached("UPDATE account SET signed_in = 0 WHERE signed_in = 1")?
        .execute([])?;
    Ok(())
}

/// The same, and says who it was and what waits for it to come back.
pub(super) fn sign_out_and_keep(tx: &Tx<'_>) -> Result<SignedOutReport, OutboxError> {
    let Some(signed_in) = signed_in(tx.connection)? else {
        return Ok(SignedOutReport::default());
    };
    sign_out(tx)?;
    let kept = tx
        .connection
        .prepare_cached(
            "SELECT count(*) FROM submission WHERE account = ?1 AND settled_wall IS NULL",
        )?
        .query_row([&signed_in.name], |row| row.get(0))?;
    Ok(SignedOutReport {
        account: Some(signed_in.name),
        kept,
        ..SignedOutReport::default()
    })
}

/// Takes note that credentials were supplied: the gate opens, and the names of their headers are
/// refused among stored ones from now on. Returns their number; `again` is that of the same ones, if
/// they are there already.
pub(super) fn credentials_supplied(
    tx: &Tx<'_>,
    account: &str,
    names: &[String],
    again: Option<i64>,
) -> Result<(SignedIn, i64), OutboxError> {
    let signed_in = signed_in(tx.connection)?
        .filter(|signed_in| signed_in.name == account)
        .ok_or_else(|| OutboxError::NotSignedIn {
            account: account.to_owned(),
        })?;
    for name in names {
        tx.connection
            .prepare_cached(
                "INSERT INTO credential_header (name) VALUES (?1) ON CONFLICT DO NOTHING",
            )?
            .execute([name])?;
    }
    if let Some(number) = again.filter(|number| *number > signed_in.refused && !signed_in.closed) {
        return Ok((signed_in, number));
    }
    let number = tx
        .connection
        .prepare_cached(
            "UPDATE account SET closed = 0, supplied = supplied + 1 WHERE name = ?1
             RETURNING supplied",
        )?
        .query_row([account], |row| row.get(0))?;
    Ok((signed_in, number))
}

/// The first of these header names that credentials ever had.
pub(super) fn credential_header<'a>(
    connection: &Connection,
    names: impl Iterator<Item = &'a str>,
) -> rusqlite::Result<Option<&'a str>> {
    for name in names {
        let found = connection
            .prepare_cached("SELECT 1 FROM credential_header WHERE name = ?1")?
            .exists([name])?;
        if found {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
