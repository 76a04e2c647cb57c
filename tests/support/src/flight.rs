//! The two halves of a flight, each of which ends by being dropped.
//!
//! Whatever happens to a request, a panic or the end of the server included, somebody drops its
//! halves, so no flight stays open by mistake.

use std::io;
use std::sync::Arc;
use std::task::Poll;

use crate::ledger::{Ledger, takes_all};

/// The handler's half of a flight; ends when dropped, by a panic too.
#[derive(Debug)]
pub(crate) struct Working {
    ledger: Arc<Ledger>,
    number: u64,
}

impl Working {
    pub(crate) fn new(ledger: &Arc<Ledger>, number: u64) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            number,
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let now = self.ledger.now_ns();
        self.ledger
            .update(self.number, |record| record.handler_done_at_ns = Some(now));
    }
}

/// The answer's half of a flight. Whoever holds it owes the client an answer: dropped unanswered,
/// the answer is lost.
#[derive(Debug)]
pub(crate) struct Flight {
    ledger: Arc<Ledger>,
    number: u64,
    open: bool,
}

impl Flight {
    pub(crate) fn new(ledger: &Arc<Ledger>, number: u64) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            number,
            open: true,
        }
    }

    /// Makes a write that may be the answer's last; gives the flight back if it was not.
    pub(crate) fn write_last(
        mut self,
        offered: usize,
        write: impl FnOnce() -> Poll<io::Result<usize>>,
    ) -> (Option<Self>, Poll<io::Result<usize>>) {
        let result = self.ledger.write_last(self.number, offered, write);
        self.open = !takes_all(&result, offered);
        (self.open.then_some(self), result)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.open {
            let now = self.ledger.now_ns();
            self.ledger
                .update(self.number, |record| record.lost_at_ns = Some(now));
        }
    }
}
