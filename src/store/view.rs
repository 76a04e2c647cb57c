//! Reading: snapshots, lists, counts.

use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use super::rows::{another_row, read_effect, read_headers, read_id, read_key, read_state};
use super::waiting::{self, waiting_for};
use crate::clock::WallMs;
use crate::model::fingerprint::PartHash;
use crate::model::id::SubmissionId;
use crate::model::outcome::{Outcome, Snapshot};
use crate::model::state::SubmissionState;
use crate::model::submission::Header;

/// What [`read_snapshot`] reads, of a submission `s` and its request `r`.
pub(super) fn columns() -> String {
    format!(
        "s.seq, s.id, s.account, r.method,
            coalesce((SELECT url FROM resolved WHERE seq = s.seq), r.url) AS url, s.effect, s.lane,
            s.replaces, s.state, s.reason, s.revision, s.accepted_wall, s.attempts, s.problem,
            s.late_evidence, s.result, s.settled_wall, {waiting},
            EXISTS (SELECT 1 FROM attempt a WHERE a.submission = s.seq
                AND a.mark IN ('open', 'unknown')) AS in_doubt",
        waiting = waiting::COLUMNS
    )
}

pub(super) fn read_snapshot(row: &SqlRow<'_>) -> rusqlite::Result<Snapshot> {
    let state = read_state(
        row.get_ref("state")?.as_str()?,
        row.get_ref("reason")?.as_str_or_null()?,
    );
    let accepted = WallMs(row.get("accepted_wall")?);
    let settled: Option<i64> = row.get("settled_wall")?;
    let due = if row.get("ready")? {
        None
    } else {
        row.get::<_, Option<i64>>("due_wall")?.map(WallMs)
    };
    Ok(Snapshot {
        id: read_id(row.get("id")?),
        account: row.get("account")?,
        method: row.get("method")?,
        url: row.get("url")?,
        effect: read_effect(row.get_ref("effect")?.as_str()?),
        lane: row.get("lane")?,
        replaces: row
            .get_ref("replaces")?
            .as_str_or_null()?
            .map(|key| read_key(key).to_owned()),
        state,
        next_attempt_at: None,
        progress: None,
        revision: row.get("revision")?,
        waiting_for: match state {
            SubmissionState::Pending => Some(waiting_for(row, due.unwrap_or(accepted))?),
            SubmissionState::InFlight
            | SubmissionState::Held { .. }
            | SubmissionState::Succeeded
            | SubmissionState::Rejected { .. }
            | SubmissionState::Cancelled
            | SubmissionState::Expired
            | SubmissionState::Superseded { .. }
            | SubmissionState::Abandoned => None,
        },
        attempts: row.get("attempts")?,
        // After a success an older attempt that stayed unknown says nothing any more: it had the
        // same key.
        in_doubt: row.get("in_doubt")? && state != SubmissionState::Succeeded,
        accepted_at: accepted.to_system_time(),
        last_problem: row.get("problem")?,
        outcome: settled.map(|settled| unfilled(WallMs(settled))),
        late_evidence: row.get("late_evidence")?,
    })
}

/// A submission of this ID, settled or not, or what its tombstone remembers.
pub(super) fn snapshot(
    connection: &Connection,
    id: SubmissionId,
) -> rusqlite::Result<Option<Snapshot>> {
    match living(connection, id)? {
        Some(snapshot) => Ok(Some(snapshot)),
        None => Ok(tombstone(connection, id)?.map(|(_, snapshot)| snapshot)),
    }
}

/// The snapshot of a submission that is known to be there.
pub(super) fn whole(connection: &Connection, id: SubmissionId) -> rusqlite::Result<Snapshot> {
    living(connection, id)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn living(connection: &Connection, id: SubmissionId) -> rusqlite::Result<Option<Snapshot>> {
    let found = connection
        .prepare_cached(&format!(
            "SELECT {} FROM submission s JOIN request r ON r.seq = s.seq WHERE s.id = ?1",
            columns()
        ))?
        .query_row([id.as_bytes()], |row| {
            Ok((read_snapshot(row)?, row.get::<_, Option<i64>>("result")?))
        })
        .optional()?;
    let Some((mut snapshot, result)) = found else {
        return Ok(None);
    };
    if snapshot.id != id {
        return Err(another_row());
    }
    if let (Some(outcome), Some(attempt)) = (&mut snapshot.outcome, result) {
        fill(connection, outcome, attempt)?;
    }
    Ok(Some(snapshot))
}

/// The result that was chosen for a submission, which is settled at that time.
pub(super) fn result(
    connection: &Connection,
    seq: i64,
    settled: WallMs,
) -> rusqlite::Result<Option<Outcome>> {
    let chosen: Option<i64> = connection
        .prepare_cached("SELECT result FROM submission WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    let Some(attempt) = chosen else {
        return Ok(None);
    };
    let mut outcome = unfilled(settled);
    fill(connection, &mut outcome, attempt)?;
    Ok(Some(outcome))
}

fn unfilled(settled: WallMs) -> Outcome {
    Outcome {
        status: None,
        content_type: None,
        headers: Vec::new(),
        body: None,
        result_missing: false,
        settled_at: settled.to_system_time(),
    }
}

/// Adds the stored answer, if its bytes are still the ones that were stored.
fn fill(connection: &Connection, outcome: &mut Outcome, attempt: i64) -> rusqlite::Result<()> {
    let found = connection
        .prepare_cached(
            "SELECT status, content_type, headers, missing, checksum, body FROM answer
             WHERE attempt = ?1",
        )?
        .query_row([attempt], |row| {
            let status: Option<u16> = row.get(0)?;
            let content_type: Option<String> = row.get(1)?;
            let headers = read_headers(row.get_ref(2)?.as_str()?)?;
            let missing: bool = row.get(3)?;
            let checksum: [u8; 32] = row.get(4)?;
            let body: Option<Vec<u8>> = row.get(5)?;
            let whole = checksum
                == answer_checksum(status, content_type.as_deref(), &headers, body.as_deref());
            Ok((status, content_type, headers, missing, body, whole))
        })
        .optional()?;
    let Some((status, content_type, headers, missing, body, whole)) = found else {
        outcome.result_missing = true;
        return Ok(());
    };
    outcome.status = status;
    outcome.result_missing = missing || !whole;
    if whole {
        outcome.content_type = content_type;
        outcome.headers = headers;
        outcome.body = body;
    }
    Ok(())
}

/// SHA-256 over all that is replayed.
pub(super) fn answer_checksum(
    status: Option<u16>,
    content_type: Option<&str>,
    headers: &[Header],
    body: Option<&[u8]>,
) -> [u8; 32] {
    let mut hash = PartHash::new();
    hash.part(&status.unwrap_or(0).to_be_bytes());
    hash.optional(content_type.map(str::as_bytes));
    for header in headers {
        hash.part(header.name.as_bytes());
        hash.part(header.value.as_bytes());
    }
    hash.optional(body);
    hash.finish()
}

/// What is left of a submission that retention has dropped.
pub(super) fn tombstone(
    connection: &Connection,
    id: SubmissionId,
) -> rusqlite::Result<Option<([u8; 33], Snapshot)>> {
    connection
        .prepare_cached(
            "SELECT fingerprint, account, method, effect, state, reason, revision, attempts,
                status, accepted_wall, settled_wall
             FROM tombstone WHERE id = ?1",
        )?
        .query_row([id.as_bytes()], |row| {
            let snapshot = Snapshot {
                id,
                account: row.get("account")?,
                method: row.get("method")?,
                url: String::new(),
                effect: read_effect(row.get_ref("effect")?.as_str()?),
                lane: None,
                replaces: None,
                next_attempt_at: None,
                progress: None,
                state: read_state(
                    row.get_ref("state")?.as_str()?,
                    row.get_ref("reason")?.as_str_or_null()?,
                ),
                revision: row.get("revision")?,
                waiting_for: None,
                attempts: row.get("attempts")?,
                in_doubt: false,
                accepted_at: WallMs(row.get("accepted_wall")?).to_system_time(),
                last_problem: None,
                outcome: Some(Outcome {
                    status: row.get("status")?,
                    content_type: None,
                    headers: Vec::new(),
                    body: None,
                    result_missing: true,
                    settled_at: WallMs(row.get("settled_wall")?).to_system_time(),
                }),
                late_evidence: None,
            };
            Ok((row.get("fingerprint")?, snapshot))
        })
        .optional()
}
