//! The terms of the reference.

use submit_once::{HoldReason, RejectReason};

/// A number in the order in which IDs were minted.
pub type Intent = usize;
pub type Account = Option<u8>;
/// A lane, or a latest-wins key, of an account or of nobody.
pub type Scoped = (Account, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Pending,
    InFlight,
    Held(HoldReason),
    Succeeded,
    Rejected(RejectReason),
    Cancelled,
    Expired,
    Superseded(Intent),
    Abandoned,
}

impl State {
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::InFlight | Self::Held(_))
    }

    pub fn stops_its_lane(self) -> bool {
        matches!(self, Self::Rejected(_) | Self::Abandoned)
    }
}

/// What a submission is beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub account: Account,
    pub lane: Option<u8>,
    /// Its latest-wins key: it overwrites, then, and its key has no lifetime.
    pub replaces: Option<u8>,
    pub expires: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Whole,
    Tombstone,
    Nothing,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    pub content: u8,
    pub state: State,
    pub kept: Kept,
    pub attempts: u32,
    /// Attempts of which nobody knows.
    pub unknown: u32,
    pub status: Option<u16>,
    pub body: Option<String>,
    /// Every state that it was in.
    pub history: Vec<State>,
    pub doubt_since: Option<u64>,
    /// No backoff is left.
    pub due: bool,
    /// A server may still be working on an attempt.
    pub busy: bool,
    pub consent: bool,
    pub expires_at: Option<u64>,
    pub settled_at: u64,
}

impl Entry {
    pub fn is_in_doubt(&self) -> bool {
        self.unknown > 0 && self.state != State::Succeeded && self.kept == Kept::Whole
    }

    pub fn set(&mut self, state: State) {
        if self.history.last() != Some(&state) {
            self.history.push(state);
        }
        self.state = state;
    }
}

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Intent(Intent),
    Accepted,
    Joined,
    Replayed,
    KeyReused(Intent, &'static str),
    IdTooOld(Intent),
    Several(Vec<Answer>),
    UnknownId,
    Cancelled,
    AlreadyFinal,
    MayHaveHappened,
    Stale,
    NotHeld,
    NeedsConsent,
    Decided,
    /// The requests that left, in any order.
    Drained(Vec<Intent>),
    Released(bool),
    SignedOut {
        who: Account,
        kept: u32,
        cancelled: u32,
        abandoned: u32,
    },
}
