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
    /// The change feed's last cursor.
    pub last_cursor: i64,
}

/// Calls that only read, counted in memory: counting them durably would cost a sync each.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) joined: AtomicI64,
    pub(crate) replayed: AtomicI64,
    pub(crate) reused: AtomicI64,
}

impl Calls {
    pub(crate) fn add(counter: &AtomicI64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self, counts: &Counts) -> Stats {
        Stats {
            pending: counts.unsettled - counts.held - counts.in_flight,
            in_flight: counts.in_flight,
            held: counts.held,
            accepted: counts.accepted,
            joined: self.joined.load(Ordering::Relaxed),
            replayed: self.replayed.load(Ordering::Relaxed),
            reuse_refused: self.reused.load(Ordering::Relaxed),
            attempts: counts.attempts,
            last_cursor: counts.last_cursor,
        }
    }
}
