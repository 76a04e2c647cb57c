//! Taking over what dead owners, and frozen ones whose lease is out, have in flight.

use std::time::Duration;

use super::attempts::{self, End};
use super::owner::{self, Life, LockFile, Other, Owner};
use super::profiles;
use super::rows::Want;
use super::submissions::{self, Due, Row, ask, change, or_quarantine, set_floor};
use super::totals;
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::state::{AttemptMark, Ending, Event, Proof, Then};
use crate::model::submission::Effect;
use crate::policy::limits::{LOOK_FOR_DEAD_EVERY, Limits};
use crate::trace::Told;
use crate::weakness::{self, Weakness};

/// Takes over what dead owners, and frozen ones whose lease is out, have in flight. Returns when to
/// look again, if another owner still has something.
pub(super) fn take_over(
    tx: &Tx<'_>,
    own: &Owner,
    limits: &Limits,
    dead: &mut Vec<LockFile>,
) -> Result<Option<Duration>, OutboxError> {
    let mut look_again = None;
    for other in owner::others(tx.connection, own.id)? {
        let rows = in_flight_of(tx, other.id)?;
        let life = owner::life_of(own.folder(), &other.token)?;
        let (is_dead, lost) = match &life {
            Life::Dead(_) => (true, true),
            // A lock that is held proves that there was no reboot since; then both uptimes are of
            // one boot, unless the system names no boots. In doubt it keeps what it has.
            Life::Alive => (false, other.boot == tx.boot && lease_out(tx, &other)),
            // Without its file, it is gone after a reboot, or when its lease is out.
            Life::Unknown => {
                let gone = other.boot != tx.boot || lease_out(tx, &other);
                (gone, gone)
            }
        };
        if !lost {
            if !rows.is_empty() {
                look_again = Some(LOOK_FOR_DEAD_EVERY);
            }
            continue;
        }
        for seq in rows {
            let lost = lose(tx, seq, is_dead, limits);
            or_quarantine(tx, seq, lost)?;
        }
        if is_dead {
            tx.connection
                .prepare_cached("DELETE FROM owner WHERE id = ?1")?
                .execute([other.id])?;
        }
        if let Life::Dead(lock) = life {
            dead.push(lock);
        }
    }
    Ok(look_again)
}

fn lease_out(tx: &Tx<'_>, other: &Other) -> bool {
    tx.now.uptime > other.lease || weakness::is_out(Weakness::LeaseZero)
}

fn in_flight_of(tx: &Tx<'_>, owner: i64) -> rusqlite::Result<Vec<i64>> {
    tx.connection
        .prepare_cached("SELECT seq FROM submission WHERE owner = ?1")?
        .query_map([owner], |row| row.get(0))?
        .collect()
}

/// A lost lease: the attempt is unknown, and the quiet time counts from here, since its real end
/// is not known. An attempt of a safe method has no effect, however it ended.
fn lose(tx: &Tx<'_>, seq: i64, ended: bool, limits: &Limits) -> Result<(), OutboxError> {
    let mut row = submissions::by_seq(tx.connection, seq)?;
    let effect = match weakness::is_out(Weakness::LostLeaseProves) {
        true => Effect::Safe,
        false => row.effect,
    };
    let (event, mark) = match effect {
        Effect::Safe => (
            Event::AttemptEnded(Ending {
                proves: Proof::NotApplied,
                closes_earlier: 0,
                then: Then::Retry,
            }),
            AttemptMark::NotApplied,
        ),
        Effect::Overwrite | Effect::Keyed | Effect::Unkeyed => {
            (Event::LeaseLost, AttemptMark::Unknown)
        }
    };
    let transition = ask(tx, &row, event)?;
    if let Some(attempt) = row.fence {
        attempts::end(
            tx,
            attempt,
            &End {
                mark,
                ended,
                status: None,
                problem: Some("its process ended or froze before the answer"),
            },
        )?;
        match mark {
            AttemptMark::Unknown => tx.count(totals::DOUBTS_RAISED, 1),
            AttemptMark::Open | AttemptMark::NotApplied | AttemptMark::Applied => {
                attempts::note_silent(tx, attempt)?;
            }
        }
        tx.tell(|| Told::TakenOver {
            id: row.id,
            attempt,
            owner_is_dead: ended,
        });
    }
    let quiet = quiet_time(tx, &row, limits)?;
    row.owner = None;
    row.fence = None;
    row.want = Want::Nothing;
    set_floor(tx, &mut row, quiet)?;
    let due = Due::In {
        delay: quiet,
        floor: quiet,
    };
    change(tx, &mut row, &transition, due)
}

/// How long the server may still be working on an attempt that got no answer.
pub(super) fn quiet_time(tx: &Tx<'_>, row: &Row, limits: &Limits) -> rusqlite::Result<Duration> {
    let profile = profiles::read(tx.connection, row.profile)?;
    Ok(profile.quiet(limits.quiet_time))
}
