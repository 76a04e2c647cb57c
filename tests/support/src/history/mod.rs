//! A history: what happened, as the server and the process that drives a test saw it, never as the
//! core's own change feed told it. One checker judges the histories of all attacks.
//!
//! A submission is named by its key as the server received it; a client's events use the same text.
//! Events stand in the order in which they happened: whoever appends one has seen it happen, and
//! appends what was handed out (an answer, a read) before anything that could follow from it.

#[cfg(test)]
mod broken_tests;
mod check;
mod served;

pub(crate) use served::served;

pub use check::{Violation, check};

use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A submit returned a receipt: stored, joined or replayed.
    Accepted {
        /// Which process.
        by: String,
        /// The submission.
        key: String,
        /// What tells one request from another, for example a digest.
        request: String,
        /// The lane, if it has one. The lanes of a history are blocking ones, and one process after the
        /// other submits to each.
        lane: Option<String>,
    },
    /// A submit ended in a way that leaves open whether it was stored: an indeterminate error, a kill.
    MaybeAccepted {
        /// Which process.
        by: String,
        /// The submission.
        key: String,
        /// As for [`Event::Accepted`].
        request: String,
    },
    /// A person allowed a second effect.
    Consented {
        /// The submission.
        key: String,
    },
    /// A request reached the server.
    Received {
        /// Its number, unique in the history.
        number: u64,
        /// The key that it carried.
        key: String,
        /// Method, URL and digest of the body, as one text.
        request: String,
        /// Whose credentials it carried.
        account: String,
    },
    /// The same request left the wire: answered, or its connection is gone.
    Ended {
        /// The request's number.
        number: u64,
    },
    /// The server did what was asked.
    Effect {
        /// For which key.
        key: String,
    },
    /// A process looked at the whole list.
    Listed {
        /// Which process.
        by: String,
        /// Each submission that is there, with its state. One that retention has reduced to its
        /// tombstone is listed as such by whoever knows, with the state of its tombstone.
        states: Vec<(String, State)>,
    },
    /// A process read the result of a submission.
    Read {
        /// Which process.
        by: String,
        /// The submission.
        key: String,
        /// A final state.
        state: State,
        /// The result's bytes, as a text or a digest.
        result: String,
    },
    /// A process was killed, or the power went.
    Crashed {
        /// Which process; all of them if there is none.
        by: Option<String>,
    },
    /// A process was frozen: its requests may outlive their leases.
    Frozen {
        /// Which process.
        by: String,
    },
    /// It goes on, and what it had checked before it was frozen it may send now.
    Thawed {
        /// Which process.
        by: String,
    },
    /// The faults are over and the queue had all the steps that it may need: what is listed from here
    /// on is final or held.
    Settled,
}

/// The state of a submission, in the words of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the API's")]
pub enum State {
    Pending,
    InFlight,
    Held,
    Succeeded,
    Rejected,
    Cancelled,
    Expired,
    Superseded,
    Abandoned,
}

impl State {
    /// True for a state that never changes again.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::InFlight | Self::Held)
    }

    /// True for a state that says that nothing was done.
    pub fn denies_effect(self) -> bool {
        matches!(self, Self::Rejected | Self::Cancelled | Self::Expired)
    }
}
