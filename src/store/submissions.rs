//! The one place that changes a submission: it asks the state function, then writes the row, its
//! revision, the queue's counters and the change feed.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, named_params};

use super::rows::{
    Want, another_row, read_effect, read_id, read_lane_policy, read_state, read_want, spell_state,
    spell_want,
};
use super::writer::Tx;
use super::{attempts, batches, bodies, fetched, order, probes, totals};
use crate::clock::{UptimeMs, WallMs, from_millis, whole_millis};
use crate::error::{OutboxError, StorageError};
use crate::model::id::SubmissionId;
use crate::model::links::LanePolicy;
use crate::model::state::{Event, State, SubmissionState, Transition};
use crate::model::submission::Effect;
use crate::model::transition::next;
#[cfg(debug_assertions)]
use crate::trace;
use crate::trace::Told;

/// The hot part of a submission.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) seq: i64,
    pub(super) id: SubmissionId,
    pub(super) accepted: WallMs,
    pub(super) fingerprint: [u8; 33],
    pub(super) profile: i64,
    pub(super) effect: Effect,
    pub(super) state: SubmissionState,
    pub(super) revision: i64,
    pub(super) cancel_requested: bool,
    pub(super) boot: Option<i64>,
    pub(super) floor: Option<UptimeMs>,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    pub(super) answered: u32,
    pub(super) answered_for: Duration,
    pub(super) busy: u32,
    pub(super) busy_for: Duration,
    pub(super) consent: bool,
    pub(super) epoch: i64,
    pub(super) expires: Option<WallMs>,
    pub(super) owner: Option<i64>,
    pub(super) fence: Option<i64>,
    pub(super) account: Option<String>,
    pub(super) lane: Option<String>,
    pub(super) lane_policy: LanePolicy,
    pub(super) replaces: Option<String>,
    /// Others depend on it, or did.
    pub(super) children: bool,
    /// What it waits for, in the bits of `order`.
    pub(super) blockers: i64,
    /// What it waits for want of.
    pub(super) want: Want,
    /// It has a status probe.
    pub(super) has_probe: bool,
    /// When that is asked next.
    pub(super) probe_at: Option<UptimeMs>,
    /// How often it was asked in vain since the last attempt.
    pub(super) probes: u32,
    /// The same error in a row: its status, how often, the waits after it, and the host's successes
    /// when it came first.
    pub(super) same_status: Option<u16>,
    pub(super) same: u32,
    pub(super) same_for: Duration,
    pub(super) same_well: i64,
}

const COLUMNS: &str =
    "seq, id, accepted_wall, fingerprint, profile, effect, state, reason, revision,
    cancel_requested, boot, floor_uptime, attempts, failures, answered, answered_for, busy,
    busy_for, consent, epoch, expires_wall, owner, fence, account, lane, lane_policy, replaces,
    children, blockers,
    network_wait, same_status, same, same_for, same_well,
    probe IS NOT NULL AS has_probe, probe_uptime, probes";

fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        seq: row.get("seq")?,
        id: read_id(row.get("id")?),
        accepted: WallMs(row.get("accepted_wall")?),
        fingerprint: row.get("fingerprint")?,
        profile: row.get("profile")?,
        effect: read_effect(row.get_ref("effect")?.as_str()?),
        state: read_state(
            row.get_ref("state")?.as_str()?,
            row.get_ref("reason")?.as_str_or_null()?,
        ),
        revision: row.get("revision")?,
        cancel_requested: row.get("cancel_requested")?,
        boot: row.get("boot")?,
        floor: row.get::<_, Option<i64>>("floor_uptime")?.map(UptimeMs),
        attempts: row.get("attempts")?,
        failures: row.get("failures")?,
        answered: row.get("answered")?,
        answered_for: from_millis(row.get("answered_for")?),
        busy: row.get("busy")?,
        busy_for: from_millis(row.get("busy_for")?),
        consent: row.get("consent")?,
        epoch: row.get("epoch")?,
        expires: row.get::<_, Option<i64>>("expires_wall")?.map(WallMs),
        owner: row.get("owner")?,
        fence: row.get("fence")?,
        account: row.get("account")?,
        lane: row.get("lane")?,
        lane_policy: read_lane_policy(row.get_ref("lane_policy")?.as_str_or_null()?),
        replaces: row.get("replaces")?,
        children: row.get("children")?,
        blockers: row.get("blockers")?,
        want: read_want(row.get("network_wait")?),
        has_probe: row.get("has_probe")?,
        probe_at: row.get::<_, Option<i64>>("probe_uptime")?.map(UptimeMs),
        probes: row.get("probes")?,
        same_status: row.get("same_status")?,
        same: row.get("same")?,
        same_for: from_millis(row.get("same_for")?),
        same_well: row.get("same_well")?,
    })
}

pub(super) fn by_seq(connection: &Connection, seq: i64) -> rusqlite::Result<Row> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM submission WHERE seq = ?1"))?
        .query_row([seq], read_row)
}

pub(super) fn by_id(connection: &Connection, id: SubmissionId) -> rusqlite::Result<Option<Row>> {
    let row = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM submission WHERE id = ?1"))?
        .query_row([id.as_bytes()], read_row)
        .optional()?;
    match row {
        Some(row) if row.id != id => Err(another_row()),
        row => Ok(row),
    }
}

/// Takes a row out of the queue.
pub(super) fn unready(tx: &Tx<'_>, seq: i64) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE submission SET ready = 0, due_uptime = NULL WHERE seq = ?1")?
        .execute([seq])?;
    Ok(())
}

/// Puts a row that can't be read, or whose state makes no sense, aside: held as damaged, with what
/// there is of it untouched. One bad row must not stop the others.
pub(super) fn quarantine(tx: &Tx<'_>, seq: i64) -> Result<(), OutboxError> {
    tx.connection
        .prepare_cached("UPDATE submission SET probe_uptime = NULL WHERE seq = ?1")?
        .execute([seq])?;
    let raised = tx
        .connection
        .prepare_cached(
            "UPDATE attempt SET mark = 'unknown' WHERE submission = ?1 AND mark = 'open'",
        )?
        .execute([seq])?;
    tx.count(totals::DOUBTS_RAISED, i64::from(raised > 0));
    let rows = tx
        .connection
        .prepare_cached(
            "UPDATE submission SET state = 'held', reason = 'damaged', revision = revision + 1,
                cancel_requested = 0, ready = 0, due_uptime = NULL, expires_wall = NULL,
                owner = NULL, fence = NULL, problem = 'the stored row is damaged'
             WHERE seq = ?1 AND settled_wall IS NULL",
        )?
        .execute([seq])?;
    if rows == 0 {
        // A settled row stays as it is, out of the queue: or it would be looked at for ever.
        return Ok(unready(tx, seq)?);
    }
    let cursor = tx
        .connection
        .prepare_cached(
            "INSERT INTO change (submission_id, state, reason, revision, at_wall)
             SELECT id, state, reason, revision, ?2 FROM submission WHERE seq = ?1",
        )?
        .insert((seq, tx.now.wall.0))?;
    tx.cursor.set(Some(cursor));
    // What waits for it may wait for something else now; what can't be read of it waits for a person.
    match by_seq(tx.connection, seq) {
        Ok(row) => order::touch(tx, &row, raised > 0),
        Err(_) => order::touch_unreadable(tx, seq)?,
    }
    Ok(())
}

/// Runs what concerns one row; a row that can't be read is put aside instead of failing the step.
pub(super) fn or_quarantine<T>(
    tx: &Tx<'_>,
    seq: i64,
    result: Result<T, OutboxError>,
) -> Result<Option<T>, OutboxError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(OutboxError::Storage {
            storage: StorageError::Internal { .. },
        }) => quarantine(tx, seq).map(|()| None),
        Err(error) => Err(error),
    }
}

/// All that the state function looks at.
pub(super) fn state_of(connection: &Connection, row: &Row) -> rusqlite::Result<State> {
    Ok(State {
        visible: row.state,
        doubt: attempts::doubt(connection, row.seq)?,
        cancel_requested: row.cancel_requested,
    })
}

/// When a pending submission is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// At once.
    Now,
    /// After this long; `floor` of it can't be shortened by `wake`.
    In { delay: Duration, floor: Duration },
    /// As it was.
    Unchanged,
}

/// Asks the state function what an event does. The attempts' marks are the caller's to write,
/// before [`change`].
pub(super) fn ask(tx: &Tx<'_>, row: &Row, event: Event) -> Result<Transition, OutboxError> {
    let state = state_of(tx.connection, row)?;
    #[cfg(debug_assertions)]
    trace::asked(&state, event);
    Ok(next(&state, event)?)
}

/// Carries a transition out: everything but the attempts' marks.
pub(super) fn change(
    tx: &Tx<'_>,
    row: &mut Row,
    transition: &Transition,
    due: Due,
) -> Result<(), OutboxError> {
    let to = transition.next;
    debug_assert_eq!(
        attempts::doubt(tx.connection, row.seq)?,
        to.doubt,
        "the attempts' marks must be written first, as the transition says"
    );
    let ends = to.visible.is_final() && !row.state.is_final();
    let left_the_wire =
        row.state == SubmissionState::InFlight && to.visible != SubmissionState::InFlight;
    let pending = to.visible == SubmissionState::Pending;
    let (state, reason) = spell_state(&to.visible);
    row.revision += 1;
    if ends {
        choose_result(tx, row)?;
        if to.visible == SubmissionState::Succeeded {
            fetched::note(tx, row)?;
        }
    }
    let settled = match ends {
        true => Some(attempts::end_wall(tx)?.0),
        false => None,
    };
    tx.connection
        .prepare_cached(
            "UPDATE submission SET state = :state, reason = :reason, revision = :revision,
                cancel_requested = :cancel, failures = :failures, answered = :answered,
                answered_for = :answered_for, busy = :busy, busy_for = :busy_for,
                attempts = :attempts, consent = :consent, epoch = :epoch,
                owner = :owner, fence = :fence, network_wait = :network_wait,
                same_status = :same_status, same = :same, same_for = :same_for,
                same_well = :same_well,
                expires_wall = CASE WHEN :forget_expiry THEN NULL ELSE expires_wall END,
                settled_wall = coalesce(:settled, settled_wall)
             WHERE seq = :seq",
        )?
        .execute(named_params! {
            ":state": state,
            ":reason": reason,
            ":revision": row.revision,
            ":cancel": to.cancel_requested,
            ":failures": row.failures,
            ":answered": row.answered,
            ":answered_for": whole_millis(row.answered_for),
            ":busy": row.busy,
            ":busy_for": whole_millis(row.busy_for),
            ":attempts": row.attempts,
            ":consent": row.consent,
            ":epoch": row.epoch,
            ":owner": row.owner,
            ":fence": row.fence,
            ":network_wait": spell_want(if pending { row.want } else { Want::Nothing }),
            ":same_status": row.same_status,
            ":same": row.same,
            ":same_for": whole_millis(row.same_for),
            ":same_well": row.same_well,
            ":forget_expiry": to.visible.is_final() || transition.fresh_start,
            ":settled": settled,
            ":seq": row.seq,
        })?;
    row.state = to.visible;
    row.cancel_requested = to.cancel_requested;
    let due = pending.then_some(due);
    set_due(tx, row, due)?;
    probes::follow(tx, row, &to, due)?;
    if ends {
        tx.connection
            .prepare_cached(
                "UPDATE meta SET unsettled = unsettled - 1, settled = settled + 1,
                    queued_bytes = queued_bytes - coalesce((SELECT
                        coalesce(body_length, length(body)) FROM request WHERE seq = ?1), 0)
                        - coalesce((SELECT bytes FROM batch WHERE seq = ?1), 0),
                    result_bytes = result_bytes + (SELECT coalesce(sum(length(body)), 0)
                        FROM answer WHERE submission = ?1)",
            )?
            .execute([row.seq])?;
        totals::note_end(tx, state, row.accepted, to.doubt.unknown);
        bodies::release(tx, row.seq)?;
        batches::end(tx, row)?;
    }
    order::touch(tx, row, left_the_wire);
    feed(tx, row)
}

/// Makes the best kept answer the result, in the transaction that settles: one with a body before
/// one without, the first before later ones.
fn choose_result(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET result = (SELECT attempt FROM answer WHERE submission = ?1
                ORDER BY missing, attempt LIMIT 1)
             WHERE seq = ?1 AND result IS NULL",
        )?
        .execute([row.seq])?;
    Ok(())
}

/// Writes when a submission is due; `None` if it isn't pending. The floor outlives a hold, since
/// it is about what the server may still be doing.
pub(super) fn set_due(tx: &Tx<'_>, row: &Row, due: Option<Due>) -> rusqlite::Result<()> {
    let uptime = tx.now.uptime;
    match due {
        Some(Due::Unchanged) => Ok(()),
        None => unready(tx, row.seq),
        Some(Due::Now) => make_due(tx, row),
        Some(Due::In { delay, floor }) => {
            tx.connection
                .prepare_cached(
                    "UPDATE submission SET ready = 0, due_uptime = :due, floor_uptime = :floor,
                        due_wall = :due_wall, delay = :delay, boot = :boot WHERE seq = :seq",
                )?
                .execute(named_params! {
                    ":due": uptime.plus(delay).0,
                    ":floor": uptime.plus(floor).0,
                    ":due_wall": tx.now.wall.plus(delay).0,
                    ":delay": whole_millis(delay),
                    ":boot": tx.boot,
                    ":seq": row.seq,
                })?;
            Ok(())
        }
    }
}

/// Makes a pending row claimable, unless it waits for another.
pub(super) fn make_due(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached(
            "UPDATE submission SET due_uptime = NULL,
                ready = CASE blockers WHEN 0 THEN 1 + unmetered ELSE 0 END
             WHERE seq = ?1",
        )?
        .execute([row.seq])?;
    Ok(())
}

/// Remembers a floor for a submission that is held or in flight: what a later decision must wait
/// for.
pub(super) fn set_floor(tx: &Tx<'_>, row: &mut Row, floor: Duration) -> rusqlite::Result<()> {
    let until = tx.now.uptime.plus(floor);
    row.floor = Some(until);
    row.boot = Some(tx.boot);
    tx.connection
        .prepare_cached("UPDATE submission SET floor_uptime = ?2, boot = ?3 WHERE seq = ?1")?
        .execute((row.seq, until.0, tx.boot))?;
    Ok(())
}

/// What is left of the floor. After a reboot its end can't be known any more, so the whole quiet
/// time counts again.
pub(super) fn floor_left(tx: &Tx<'_>, row: &Row, quiet: Duration) -> Duration {
    match (row.floor, row.boot) {
        (None, _) => Duration::ZERO,
        (Some(floor), Some(boot)) if boot == tx.boot => floor.since(tx.now.uptime),
        (Some(_), _) => quiet,
    }
}

/// Adds the present state to the change feed.
pub(super) fn feed(tx: &Tx<'_>, row: &Row) -> Result<(), OutboxError> {
    let (state, reason) = spell_state(&row.state);
    let cursor = tx
        .connection
        .prepare_cached(
            "INSERT INTO change (submission_id, state, reason, revision, at_wall)
             VALUES (:id, :state, :reason, :revision, :wall)",
        )?
        .insert(named_params! {
            ":id": row.id.as_bytes(),
            ":state": state,
            ":reason": reason,
            ":revision": row.revision,
            ":wall": tx.now.wall.0,
        })?;
    tx.cursor.set(Some(cursor));
    tx.tell(|| Told::Changed {
        id: row.id,
        state,
        reason,
        revision: row.revision,
    });
    Ok(())
}

/// Writes the last problem, in words without secrets.
pub(super) fn note_problem(tx: &Tx<'_>, row: &Row, problem: &str) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("UPDATE submission SET problem = ?2 WHERE seq = ?1")?
        .execute((row.seq, problem))?;
    Ok(())
}
