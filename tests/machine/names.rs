//! The names of all answers and states, to see that the walks meet each of them.

use submit_once::{HoldReason, RejectReason};

use crate::terms::{Answer, State};

impl Answer {
    pub const NAMES: [&'static str; 21] = [
        "the same ID",
        "accepted",
        "joined",
        "replayed",
        "another body",
        "another fingerprint",
        "too old",
        "several",
        "unknown",
        "cancelled by call",
        "final before",
        "may have happened",
        "stale",
        "not held",
        "needs consent",
        "decided",
        "sent something",
        "sent nothing",
        "released",
        "purged in doubt",
        "nothing",
    ];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Intent(_) => "the same ID",
            Self::Accepted => "accepted",
            Self::Joined => "joined",
            Self::Replayed => "replayed",
            Self::KeyReused(_, "body") => "another body",
            Self::KeyReused(..) => "another fingerprint",
            Self::IdTooOld(_) => "too old",
            Self::Several(_) => "several",
            Self::UnknownId => "unknown",
            Self::Cancelled => "cancelled by call",
            Self::AlreadyFinal => "final before",
            Self::MayHaveHappened => "may have happened",
            Self::Stale => "stale",
            Self::NotHeld => "not held",
            Self::NeedsConsent => "needs consent",
            Self::Decided => "decided",
            Self::Drained(sent) if sent.is_empty() => "sent nothing",
            Self::Drained(_) => "sent something",
            Self::Released(true) => "released",
            Self::Released(false) => "not stopped",
            Self::SignedOut { abandoned: 1.., .. } => "purged in doubt",
            Self::SignedOut { .. } => "signed out",
        }
    }
}

impl State {
    pub const NAMES: [&'static str; 13] = [
        "pending",
        "in flight",
        "held: outcome unknown",
        "held: conflict",
        "held: cancel requested",
        "held: expired in doubt",
        "succeeded",
        "rejected: invalid",
        "rejected: refused",
        "cancelled",
        "expired",
        "superseded",
        "abandoned",
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InFlight => "in flight",
            Self::Held(HoldReason::OutcomeUnknown) => "held: outcome unknown",
            Self::Held(HoldReason::Conflict) => "held: conflict",
            Self::Held(HoldReason::CancelRequested) => "held: cancel requested",
            Self::Held(HoldReason::ExpiredInDoubt) => "held: expired in doubt",
            Self::Held(_) => "held: else",
            Self::Succeeded => "succeeded",
            Self::Rejected(RejectReason::Invalid) => "rejected: invalid",
            Self::Rejected(_) => "rejected: refused",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Superseded(_) => "superseded",
            Self::Abandoned => "abandoned",
        }
    }
}
