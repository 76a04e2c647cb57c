//! What the outbox has done, in numbers.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::store::Counts;

/// Numbers about an outbox. Totals count since the database was made.
#[derive(Debug, Clone, Copy, PartialEq, uniffi::Record)]
pub struct Stats {
    /// Submissions that are neither settled nor held nor in flight.
    pub pending: i64,
    /// Submissions in flight.
    pub in_flight: i64,
    /// Submissions that wait for a decision.
    pub held: i64,
    /// Calls of `submit` that stored a new submission.
    pub accepted: i64,
    /// Calls of `submit` that met a pending one. Since this opening.
    pub joined: i64,
    /// Calls of `submit` that met a settled one. Since this opening.
    pub replayed: i64,
    /// Calls of `submit` that were refused as a reuse. Since this opening.
    pub reuse_refused: i64,
    /// Attempts in all.
    pub attempts: i64,
    /// (joined + replayed) / calls of `submit`, since this opening; 0 without calls.
    pub duplicate_hit_rate: f64,
    /// Refused reuses / calls of `submit`, since this opening; 0 without calls.
    pub reuse_refused_rate: f64,
    /// Attempts after an answer or a time-out / all attempts. An attempt after a missing network
    /// doesn't count.
    pub abnormal_retry_rate: f64,
    /// The change feed's last cursor.
    pub last_cursor: i64,
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
            accepted: counts.accepted,
            joined,
            replayed,
            reuse_refused,
            attempts: counts.attempts,
            duplicate_hit_rate: share(joined + replayed, calls),
            reuse_refused_rate: share(reuse_refused, calls),
            abnormal_retry_rate: share(counts.abnormal_retries, counts.attempts),
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
