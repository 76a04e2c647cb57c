//! The states of a submission, and the events that change them.
//!
//! The happy path is `Pending → InFlight → Succeeded`. A failure that proves "not applied" leads
//! back to `Pending`. A crash or a lost answer leaves the attempt *unknown*: the submission is
//! then *in doubt* until that attempt is settled, and while it is, nothing may be called
//! cancelled, expired, superseded or rejected as if nothing had happened.
//!
//! Storage and delivery only carry out what [`next`](super::transition::next) returns; SQL triggers refuse the same
//! changes a second time.

use super::id::SubmissionId;

/// How a submission stands, as the app sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum SubmissionState {
    /// Due at some time, or waiting for something.
    Pending,
    /// An attempt is open under a lease.
    InFlight,
    /// Waits for a decision of the app, its user or a probe, and for nothing else.
    Held {
        /// Why.
        reason: HoldReason,
    },
    /// It took effect. Final.
    Succeeded,
    /// It certainly didn't take effect, and won't. Final.
    Rejected {
        /// Why.
        reason: RejectReason,
    },
    /// Cancelled before it could take effect. Final.
    Cancelled,
    /// Its time was over before it could take effect. Final.
    Expired,
    /// A newer one of the same latest-wins key took its place. Final.
    Superseded {
        /// The newer one.
        by: SubmissionId,
    },
    /// Given up by decision; nothing is claimed about its effect. Final.
    Abandoned,
}

/// Why a submission waits for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum HoldReason {
    /// It may have happened, and asking again can't tell or isn't safe.
    OutcomeUnknown,
    /// The server found that a precondition no longer holds.
    Conflict,
    /// Cancelled by the app while it may already have happened.
    CancelRequested,
    /// Its time was over while it may already have happened.
    ExpiredInDoubt,
    /// The database is a restored or cloned copy: "never sent" can't be known in it. `resolve_all`
    /// releases everything that is held for this.
    Restored,
    /// Its stored bytes are not the ones that were accepted, or its body's file is gone.
    Damaged,
    /// Its parent's result lacks a part that it needs: supply it with `FillParts`.
    ParentResultMissing,
    /// The server knows the key with another payload: a derived ID was used elsewhere.
    KeyUsedElsewhere,
}

/// Why a submission was rejected.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, uniffi::Enum,
)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The request can't work as it is: a mistake in the app or its configuration.
    Configuration,
    /// The server wants credentials that it didn't get.
    Unauthorized,
    /// The server understood and refused: a business reason.
    Refused,
    /// The server found the content invalid.
    Invalid,
    /// The server knows the key with another payload.
    KeyReused,
    /// The retry budget was used up, and no attempt took effect.
    GaveUp,
    /// The file of the stored body is gone or changed, and nothing was ever sent.
    BodyMissing,
    /// A submission that it depends on ended without success, or one before it in its lane whose
    /// policy is `RejectRest`.
    Dependency,
    /// The server refused a batch for its size or for one of its records: its records go on in two new
    /// batches.
    Split,
}

impl SubmissionState {
    /// True for the states that never change again.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Pending | Self::InFlight | Self::Held { .. } => false,
            Self::Succeeded
            | Self::Rejected { .. }
            | Self::Cancelled
            | Self::Expired
            | Self::Superseded { .. }
            | Self::Abandoned => true,
        }
    }
}

/// What one attempt is known to have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptMark {
    /// Begun, and not ended.
    Open,
    /// Ended, and nobody knows.
    Unknown,
    /// Certainly without effect.
    NotApplied,
    /// Certainly with effect.
    Applied,
}

/// The attempts of a submission, counted by what is known of them. Doubt is derived from this and
/// stored nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Doubt {
    /// An attempt is open.
    pub open: bool,
    /// Ended attempts that nobody knows the effect of.
    pub unknown: u32,
    /// An attempt took effect.
    pub applied: bool,
}

impl Doubt {
    /// In doubt: an attempt is open or unknown.
    pub fn in_doubt(&self) -> bool {
        self.open || self.unknown > 0
    }
}

/// All that the state function looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The visible state.
    pub visible: SubmissionState,
    /// What its attempts are known to have done.
    pub doubt: Doubt,
    /// Cancelled by the app while an attempt was open.
    pub cancel_requested: bool,
}

/// What can happen to a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A drain claims it: an attempt is opened.
    Claimed,
    /// The server may have forgotten the key.
    KeyLifetimeOver,
    /// Attempts and time of the retry budget are both used up.
    BudgetUsedUp,
    /// The app cancels.
    Cancel,
    /// `expires_at` has passed.
    ExpiryPassed,
    /// A newer submission of the same latest-wins key was accepted.
    NewerAccepted {
        /// The newer one.
        by: SubmissionId,
    },
    /// A newer submission of the same latest-wins key has succeeded.
    NewerSucceeded {
        /// The newer one.
        by: SubmissionId,
    },
    /// The body's bytes are gone or changed.
    BodyMissing {
        /// Nothing was ever sent.
        never_sent: bool,
    },
    /// The row's checksum doesn't match, so nothing in the row can be believed.
    RowDamaged,
    /// A parent ended without success.
    ParentFailed,
    /// A parent's result lacks a part that this one needs.
    ParentResultMissing,
    /// The open attempt ended.
    AttemptEnded(Ending),
    /// The lease was lost: its owner died, froze or was suspended.
    LeaseLost,
    /// Evidence about an earlier attempt that was unknown: a late answer, or a probe.
    LateProof(Evidence),
    /// The app, or its user, decides.
    Decided(Decision),
    /// Its account was signed out for good. An attempt that is open was stopped, or belongs to another
    /// process; either way nobody waits for its answer.
    Purged,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// What the answer proves about this attempt.
    pub proves: Proof,
    /// Earlier unknown attempts that the answer proves to be without effect (the settling list).
    pub closes_earlier: u32,
    /// What to do next.
    pub then: Then,
}

/// What an answer proves about its own attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    /// It took effect.
    Applied,
    /// It didn't.
    NotApplied,
    /// Nothing.
    Unknown,
}

impl Proof {
    /// The mark of an ended attempt.
    pub fn mark(self) -> AttemptMark {
        match self {
            Self::Applied => AttemptMark::Applied,
            Self::NotApplied => AttemptMark::NotApplied,
            Self::Unknown => AttemptMark::Unknown,
        }
    }
}

/// What an ended attempt leads to, if nobody has cancelled. With an applied attempt only
/// [`Then::FetchResult`] leads to anything but success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Try again later.
    Retry,
    /// It took effect, and its result was cut: ask for it again with the same key.
    FetchResult,
    /// The server refuses for good.
    Refuse(RejectReason),
    /// A person has to look.
    Hold(HoldReason),
}

/// What late evidence proves about one earlier attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// It took effect.
    Applied,
    /// It didn't. With a reason if the server's stored answer, found by a replay marker, is a
    /// refusal.
    NotApplied(Option<RejectReason>),
}

/// A decision about a held submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send again with the same key.
    Retry,
    /// Send it, with the parts that its parent's result lacked.
    Fill,
    /// It happened.
    Happened,
    /// Stop asking.
    GiveUp,
}

/// What to carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The state after the event.
    pub next: State,
    /// Start the retry budget anew, and forget `expires_at`: a decision to retry was made.
    pub fresh_start: bool,
    /// The event came after the end: record it beside the final state.
    pub late: bool,
}

/// An event that can't happen in this state: a programming error, or a caller's mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} can't happen to a submission that is {state:?}")]
pub struct IllegalTransition {
    /// The state.
    pub state: State,
    /// The event.
    pub event: Event,
}
