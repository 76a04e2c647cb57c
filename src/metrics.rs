//! What the outbox has done, in numbers.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::model::state::HoldReason;
use crate::store::Counts;

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
    /// Bytes of the database file, without its log.
    pub database_bytes: i64,

    /// Calls of `submit`, and submissions of `submit_all`, that were not refused as unusable.
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
    /// Of these, those that were settled since, by an answer, a probe or a decision.
    pub doubts_settled: i64,

    /// (joined + replayed) / calls of `submit`; 0 without calls.
    pub duplicate_hit_rate: f64,
    /// Refused reuses / calls of `submit`; 0 without calls.
    pub reuse_refused_rate: f64,
    /// Attempts after an answer or a time-out / all attempts. An attempt after a missing network
    /// doesn't count.
    pub abnormal_retry_rate: f64,
    /// How long submissions took from acceptance to their end, by the device's clock, in counts.
    pub time_to_settle: Vec<SettleTimes>,
    /// The change feed's last cursor.
    pub last_cursor: i64,
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

/// Calls that only read, counted in memory: counting them durably would cost a sync each.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) all: AtomicI64,
    pub(crate) joined: AtomicI64,
    pub(crate) replayed: AtomicI64,
    pub(crate) reused: AtomicI64,
}

impl Calls {
    pub(crate) fn add(counter: &AtomicI64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, counts: &Counts) -> Stats {
        let read = |counter: &AtomicI64| counter.load(Ordering::Relaxed);
        let calls = read(&self.all);
        let (joined, replayed) = (read(&self.joined), read(&self.replayed));
        let reuse_refused = read(&self.reused);
        Stats {
            pending: counts.unsettled - counts.held - counts.in_flight,
            in_flight: counts.in_flight,
            held: counts.held,
            held_by_reason: Vec::new(),
            in_doubt: 0,
            oldest_age: None,
            queued_bytes: 0,
            result_bytes: 0,
            database_bytes: 0,
            submit_calls: calls,
            accepted: counts.accepted,
            joined,
            replayed,
            reuse_refused,
            succeeded: 0,
            rejected: 0,
            cancelled: 0,
            expired: 0,
            superseded: 0,
            abandoned: 0,
            attempts: counts.attempts,
            retries_after_answer: 0,
            retries_after_silence: 0,
            retries_after_no_connection: 0,
            doubts_raised: 0,
            doubts_settled: 0,
            duplicate_hit_rate: share(joined + replayed, calls),
            reuse_refused_rate: share(reuse_refused, calls),
            abnormal_retry_rate: share(counts.abnormal_retries, counts.attempts),
            time_to_settle: Vec::new(),
            last_cursor: counts.last_cursor,
        }
    }
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
