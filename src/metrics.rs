//! What the outbox has done, in numbers.

use std::time::Duration;

use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::model::id::SubmissionId;
use crate::model::outcome::{Receipt, ReceiptKind};
use crate::model::state::HoldReason;
use crate::store::{Call, Numbers, Store, totals};
use crate::trace;

/// Numbers about an outbox. Totals count since the database was made, over restarts; what was counted
/// in the last moments before a process was killed may be missing from those of calls.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct Stats {
    /// Submissions that are neither settled nor held nor in flight.
    pub pending: i64,
    /// Submissions in flight.
    pub in_flight: i64,
    /// Submissions that wait for a decision.
    pub held: i64,
    /// The same by reason, without those that are zero.
    pub held_by_reason: Vec<HeldCount>,
    /// Unsettled submissions that are in doubt.
    pub in_doubt: i64,
    /// How long ago the oldest unsettled submission was accepted, by this device's clock.
    pub oldest_age: Option<Duration>,
    /// Bytes of the bodies of unsettled submissions.
    pub queued_bytes: i64,
    /// Bytes of the results that are kept.
    pub result_bytes: i64,
    /// Bytes of the database file once its log is written back into it.
    pub database_bytes: i64,

    /// Calls of `submit`, and submissions of `submit_all`, that were not refused as unusable. What is in
    /// none of the next four was turned away: the queue was full, the ID too old, the disk full.
    pub submit_calls: i64,
    /// Of these, those that stored a new submission.
    pub accepted: i64,
    /// Of these, those that met a pending one.
    pub joined: i64,
    /// Of these, those that met a settled one.
    pub replayed: i64,
    /// Of these, those that were refused as a reuse.
    pub reuse_refused: i64,

    /// Submissions that succeeded.
    pub succeeded: i64,
    /// Submissions that were rejected.
    pub rejected: i64,
    /// Submissions that were cancelled.
    pub cancelled: i64,
    /// Submissions that expired.
    pub expired: i64,
    /// Submissions that were superseded.
    pub superseded: i64,
    /// Submissions that were abandoned.
    pub abandoned: i64,

    /// Attempts in all.
    pub attempts: i64,
    /// Attempts after one that got an answer.
    pub retries_after_answer: i64,
    /// Attempts after one that may have left the device and got no answer.
    pub retries_after_silence: i64,
    /// Attempts after one that didn't leave the device: no network, no connection.
    pub retries_after_no_connection: i64,
    /// Attempts whose outcome nobody knew when they ended.
    pub doubts_raised: i64,
    /// Of these, those that were settled since: by an answer, a probe or a decision, or with the end of
    /// their submission.
    pub doubts_settled: i64,

    /// (joined + replayed) / calls of `submit`; 0 without calls.
    pub duplicate_hit_rate: f64,
    /// Refused reuses / calls of `submit`; 0 without calls.
    pub reuse_refused_rate: f64,
    /// Attempts after an answer or a time-out / all attempts. An attempt after a missing network
    /// doesn't count.
    pub abnormal_retry_rate: f64,
    /// How long submissions took from acceptance to their end, by the device's clock: counts from 100 ms
    /// to a week, always the same ones, and the rest.
    pub time_to_settle: Vec<SettleTimes>,
    /// The change feed's last cursor.
    pub last_cursor: i64,

    /// Runs of the inbox that began.
    pub inbox_runs: i64,
    /// Calls of the inbox's `begin` that met something done or under way.
    pub inbox_repeats: i64,
    /// Items of the inbox that wait for a decision.
    pub inbox_uncertain: i64,
    /// Records that were appended to batches.
    pub records: i64,
}

/// How many are held for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct HeldCount {
    /// The reason.
    pub reason: HoldReason,
    /// How many.
    pub count: i64,
}

/// How many submissions took so long to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct SettleTimes {
    /// At most this long, and longer than the entry before; nothing for the rest.
    pub at_most: Option<Duration>,
    /// How many.
    pub count: i64,
}

/// Counts and tells what a call of `submit` came to. What was accepted, the database has counted.
pub(crate) fn count(store: &Store, id: SubmissionId, result: Result<&Receipt, &OutboxError>) {
    trace::submitted(id, result);
    let call = match result {
        Ok(receipt) => match receipt.kind {
            ReceiptKind::Accepted => return,
            ReceiptKind::Joined => Call::Joined,
            ReceiptKind::Replayed => Call::Replayed,
        },
        Err(OutboxError::KeyReused { .. }) => Call::ReuseRefused,
        Err(_) => Call::TurnedAway,
    };
    store.note_call(call);
}

/// The numbers of the store as the app reads them. `now` is the device's clock.
pub(crate) fn stats(numbers: &Numbers, now: WallMs) -> Stats {
    let total = |name: &str| numbers.total(name);
    let held_by_reason: Vec<HeldCount> = numbers
        .held
        .iter()
        .map(|(reason, count)| HeldCount {
            reason: *reason,
            count: *count,
        })
        .collect();
    let held = held_by_reason.iter().map(|held| held.count).sum();
    let accepted = numbers.accepted;
    let (joined, replayed) = (total(totals::JOINED), total(totals::REPLAYED));
    let reuse_refused = total(totals::REUSE_REFUSED);
    let calls = accepted + joined + replayed + reuse_refused + total(totals::TURNED_AWAY);
    let attempts = total(totals::ATTEMPTS);
    Stats {
        pending: numbers.unsettled - held - numbers.in_flight,
        in_flight: numbers.in_flight,
        held,
        held_by_reason,
        in_doubt: numbers.in_doubt,
        oldest_age: numbers.oldest.map(|accepted| now.since(accepted)),
        queued_bytes: numbers.queued_bytes,
        result_bytes: numbers.result_bytes,
        database_bytes: numbers.database_bytes,
        submit_calls: calls,
        accepted,
        joined,
        replayed,
        reuse_refused,
        succeeded: total("succeeded"),
        rejected: total("rejected"),
        cancelled: total("cancelled"),
        expired: total("expired"),
        superseded: total("superseded"),
        abandoned: total("abandoned"),
        attempts,
        retries_after_answer: total(totals::AFTER_ANSWER),
        retries_after_silence: total(totals::AFTER_SILENCE),
        retries_after_no_connection: total(totals::AFTER_NO_CONNECTION),
        doubts_raised: total(totals::DOUBTS_RAISED),
        doubts_settled: total(totals::DOUBTS_SETTLED),
        duplicate_hit_rate: share(joined + replayed, calls),
        reuse_refused_rate: share(reuse_refused, calls),
        abnormal_retry_rate: share(numbers.abnormal_retries, attempts),
        time_to_settle: time_to_settle(numbers),
        last_cursor: numbers.last_cursor,
        inbox_runs: total(totals::INBOX_RUNS),
        inbox_repeats: total(totals::INBOX_REPEATS),
        inbox_uncertain: numbers.inbox_uncertain,
        records: total(totals::RECORDS),
    }
}

fn time_to_settle(numbers: &Numbers) -> Vec<SettleTimes> {
    let known = totals::SETTLE_TIMES.iter().map(|(name, most)| SettleTimes {
        at_most: Some(Duration::from_millis(*most)),
        count: numbers.total(name),
    });
    let later = SettleTimes {
        at_most: None,
        count: numbers.total(totals::SETTLED_LATER),
    };
    known.chain([later]).collect()
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a rate of counts far below 2^52, to look at"
)]
fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 {
        part as f64 / whole as f64
    } else {
        0.0
    }
}
