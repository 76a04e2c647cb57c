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
    /// The answer is lost even when all of it is written: it is not the true one, or not whole.
    doomed: bool,
}

impl Flight {
    pub(crate) fn new(ledger: &Arc<Ledger>, number: u64) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            number,
            open: true,
            doomed: false,
        }
    }

    /// The same for an answer that is lost even when all of it is written.
    pub(crate) fn doomed(mut self) -> Self {
        self.doomed = true;
        self
    }

    /// Ends the flight before its answer is out, where nobody will say when it is.
    pub(crate) fn answered(mut self) {
        self.open = false;
        let now = self.ledger.now_ns();
        self.ledger
            .update(self.number, |record| record.answered_at_ns = Some(now));
    }

    /// Makes a write that may be the answer's last; gives the flight back if it was not.
    pub(crate) fn write_last(
        mut self,
        offered: usize,
        write: impl FnOnce() -> Poll<io::Result<usize>>,
    ) -> (Option<Self>, Poll<io::Result<usize>>) {
        let doomed = self.doomed;
        let result = self
            .ledger
            .write_last(self.number, offered, write, |record, now| {
                if doomed {
                    record.lost_at_ns = Some(now);
                } else {
                    record.answered_at_ns = Some(now);
                }
            });
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
