//! The lease on what this outbox has in flight, as the sender looks at it right before the first
//! byte: without the database, by the clock that also counts sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::{Clock, UptimeMs};

/// Until when this outbox's claims hold.
pub(crate) struct Lease {
    until: AtomicI64,
    clock: Arc<dyn Clock>,
}

impl Lease {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            until: AtomicI64::new(i64::MIN),
            clock,
        }
    }

    /// Notes an end that has been committed.
    pub(crate) fn extend(&self, until: UptimeMs) {
        self.until.fetch_max(until.0, Ordering::AcqRel);
    }

    /// False for a process that was frozen until others may have taken its claims over.
    pub(crate) fn holds(&self) -> bool {
        self.clock.now().uptime.0 < self.until.load(Ordering::Acquire)
    }
}
