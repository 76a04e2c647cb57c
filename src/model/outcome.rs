//! What the app sees of a submission: receipts, snapshots, outcomes, changes.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::id::SubmissionId;
use super::links::PartValue;
use super::state::{HoldReason, SubmissionState};
use super::submission::{Effect, Header};

/// What `submit` returns, once the submission is durable.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct Receipt {
    /// The submission.
    pub id: SubmissionId,
    /// What the call met.
    pub kind: ReceiptKind,
    /// True if the caller has to schedule a background run, over any network or an unmetered one as the
    /// submission wants. Only after `adopt_run_requests`, which says that it has a scheduler.
    pub run_requested: bool,
    /// How the submission stands now.
    pub snapshot: Snapshot,
}

/// What a call of `submit` met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Enum)]
pub enum ReceiptKind {
    /// Nothing of this ID: it has been stored.
    Accepted,
    /// The same submission, not settled yet: nothing was stored again.
    Joined,
    /// The same submission, settled: the snapshot has the first result.
    Replayed,
}

/// How a submission stands.
#[derive(Clone, PartialEq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct Snapshot {
    /// The submission.
    pub id: SubmissionId,
    /// Whose.
    pub account: Option<String>,
    /// The HTTP method.
    pub method: String,
    /// The absolute URL. Empty once only the tombstone is left.
    pub url: String,
    /// What a repeat does at the server.
    pub effect: Effect,
    /// The lane that it goes in.
    pub lane: Option<String>,
    /// Its latest-wins key.
    pub replaces: Option<String>,
    /// The state.
    pub state: SubmissionState,
    /// Grows with each change of this submission. Drop an event whose revision isn't greater than
    /// the one on screen; hand it to `resolve`.
    pub revision: i64,
    /// Why a pending submission isn't moving.
    pub waiting_for: Option<WaitingFor>,
    /// Attempts so far.
    pub attempts: u32,
    /// When the next attempt is due at the latest, if that is a matter of time.
    pub next_attempt_at: Option<SystemTime>,
    /// True while an attempt may have taken effect without our knowing. What retention or a purge has
    /// left of a submission doesn't know it any more, and says false.
    pub in_doubt: bool,
    /// When it was accepted, by this device's clock.
    pub accepted_at: SystemTime,
    /// How far a large body has come, while it is on the wire from this process.
    pub progress: Option<UploadProgress>,
    /// How the last attempt that ended badly ended, in words for a log or a support screen.
    pub last_problem: Option<String>,
    /// The first and only result, once there is one.
    pub outcome: Option<Outcome>,
    /// What came after the end, in words: evidence that was recorded beside a final state.
    pub late_evidence: Option<String>,
}

/// How much of a body has been handed to the network. Less than before where a request is repeated:
/// it begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct UploadProgress {
    /// The submission.
    pub id: SubmissionId,
    /// Bytes so far. All of them doesn't mean that the server has answered.
    pub sent: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Snapshot {
    /// How long ago it was accepted, by a time of this device's clock; zero if that was set back. No
    /// field, or a snapshot would never equal the next.
    pub fn age_at(&self, now: SystemTime) -> Duration {
        now.duration_since(self.accepted_at).unwrap_or_default()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the URL, which may name a person.
        f.debug_struct("Snapshot")
            .field("id", &self.id)
            .field("state", &self.state)
            .field("revision", &self.revision)
            .field("waiting_for", &self.waiting_for)
            .field("attempts", &self.attempts)
            .field("in_doubt", &self.in_doubt)
            .field("last_problem", &self.last_problem)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// Why a pending submission isn't moving.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Enum)]
pub enum WaitingFor {
    /// For its turn, at this time or as soon as somebody drains.
    Due {
        /// The earliest time of the next attempt.
        at: SystemTime,
    },
    /// For a network. It is tried at this time in any case, and sooner after `network_available`.
    Network {
        /// The time.
        at: SystemTime,
    },
    /// For a certificate of the server that can be trusted. It is looked at again at this time, and
    /// sooner after `network_available`: a portal may have shown its own.
    Certificate {
        /// The time.
        at: SystemTime,
        /// The certificate isn't valid at the time that this device's clock shows: ask the user to
        /// look at it.
        clock_suspected: bool,
    },
    /// For a network that costs nothing by the byte.
    Unmetered,
    /// For the host, which has asked everybody to wait.
    Gate {
        /// When the wait ends.
        until: SystemTime,
    },
    /// For credentials of its account: see `supply_credentials`.
    Credentials,
    /// For its account to sign in.
    SignedOut,
    /// For the one before it in its lane: to be settled; or, if that was rejected or given up, for
    /// `release_lane`.
    Lane {
        /// The one before it.
        id: SubmissionId,
    },
    /// For a newer one of its latest-wins key: it goes on only if that ends without success.
    Newer {
        /// The newer one.
        id: SubmissionId,
    },
    /// For an older one of its latest-wins key, which is on the wire, or which others depend on.
    Older {
        /// The older one.
        id: SubmissionId,
    },
    /// For a submission whose success it depends on.
    Parent {
        /// The parent.
        id: SubmissionId,
    },
    /// For a status probe, which is asked at this time.
    Probe {
        /// The time.
        at: SystemTime,
    },
}

/// How a submission ended.
#[derive(Clone, PartialEq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct Outcome {
    /// The HTTP status of the answer that settled it, if an answer did.
    pub status: Option<u16>,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// Stored headers of the answer.
    pub headers: Vec<Header>,
    /// The answer's body. Nothing where there was no answer, where its body was lost, or where
    /// retention has dropped it.
    pub body: Option<Vec<u8>>,
    /// The answer's body never arrived whole, is damaged, or was dropped by retention.
    pub result_missing: bool,
    /// When it was settled, by this device's clock.
    pub settled_at: SystemTime,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("status", &self.status)
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .field("result_missing", &self.result_missing)
            .finish_non_exhaustive()
    }
}

/// The latest value of something that is fetched: the result of the newest submission of a latest-wins
/// key that only reads and has succeeded.
#[derive(Clone, PartialEq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct Fetched {
    /// The submission whose result it is.
    pub id: SubmissionId,
    /// The HTTP status it came with.
    pub status: u16,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// Stored headers of the answer, the `ETag` among them.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
    /// When it came, by this device's clock.
    pub fetched_at: SystemTime,
    /// When a server last said that it is this, by this device's clock: `fetched_at`, or the last 304
    /// since.
    pub checked_at: SystemTime,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("id", &self.id)
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("fetched_at", &self.fetched_at)
            .field("checked_at", &self.checked_at)
            .finish_non_exhaustive()
    }
}

/// What `wait` saw.
#[derive(Debug, Clone, PartialEq, uniffi::Enum)]
pub enum Waited {
    /// It is settled; the snapshot has the outcome.
    Settled {
        /// The final snapshot.
        snapshot: Snapshot,
    },
    /// It waits for a decision.
    Held {
        /// The snapshot, whose revision `resolve` wants.
        snapshot: Snapshot,
    },
    /// Neither within the time. Nothing about the submission has changed by that.
    TimedOut {
        /// How it stands.
        snapshot: Snapshot,
    },
}

/// What became of a request to cancel.
#[derive(Debug, Clone, PartialEq, uniffi::Enum)]
pub enum CancelOutcome {
    /// It certainly did not happen and never will.
    Cancelled,
    /// It was settled before.
    AlreadyFinal {
        /// The final snapshot.
        snapshot: Snapshot,
    },
    /// An attempt may have taken effect, or is under way. Nothing further is sent. When the one
    /// under way ends it is cancelled, or it has succeeded, or it is held until a late answer or a
    /// decision settles it.
    MayHaveHappened {
        /// How it stands.
        snapshot: Snapshot,
    },
}

/// A decision on a held submission.
#[derive(Clone, PartialEq, Eq, uniffi::Enum)]
#[uniffi::export(Debug)]
pub enum Resolution {
    /// Send again with the same key, with a fresh budget. Clears a cancel and an expiry for good.
    RetrySameKey {
        /// Needed where the server may have forgotten the key: the action may then happen a
        /// second time.
        accept_second_effect: bool,
    },
    /// It happened, as the app or its user found out in another way.
    ItHappened {
        /// The result to replay, if one is known, as JSON or any other text.
        result: Option<String>,
    },
    /// Stop asking. Nothing is claimed about whether it happened.
    GiveUp,
    /// Supply the parts that the parent's result lacks, of a submission held for that. It is frozen
    /// then, and sent.
    FillParts {
        /// A value for each part that is missing; others are left as they are.
        values: Vec<PartValue>,
    },
}

impl fmt::Debug for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RetrySameKey {
                accept_second_effect,
            } => f
                .debug_struct("RetrySameKey")
                .field("accept_second_effect", accept_second_effect)
                .finish(),
            Self::ItHappened { result } => f
                .debug_struct("ItHappened")
                .field("result_bytes", &result.as_ref().map(String::len))
                .finish(),
            Self::GiveUp => f.write_str("GiveUp"),
            Self::FillParts { values } => {
                f.debug_struct("FillParts").field("values", values).finish()
            }
        }
    }
}

/// One change of one submission.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct Change {
    /// The change's place in the feed: the cursor to go on from.
    pub cursor: i64,
    /// The submission.
    pub id: SubmissionId,
    /// Its state after the change.
    pub state: SubmissionState,
    /// Its revision after the change.
    pub revision: i64,
    /// When, by this device's clock.
    pub at: SystemTime,
}

/// A page of the change feed.
#[derive(Debug, Clone, PartialEq, uniffi::Enum)]
pub enum ChangePage {
    /// The changes after the cursor, oldest first.
    Changes {
        /// The changes.
        changes: Vec<Change>,
        /// The cursor to ask from next.
        next: i64,
        /// True if there are more at once.
        more: bool,
    },
    /// The cursor is older than what is kept: list anew, then go on from here.
    Resync {
        /// The cursor to ask from after listing.
        next: i64,
    },
}

/// What became of a decision about many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, uniffi::Record)]
pub struct ResolvedAll {
    /// So many were decided.
    pub resolved: u32,
    /// So many are held as before, since the decision can't be made for them: a retry that needs
    /// `accept_second_effect`, or whose bytes are damaged.
    pub refused: u32,
}

/// What becomes of an account's submissions when it signs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, uniffi::Enum)]
pub enum SignOut {
    /// They are kept, and wait for the account to come back.
    #[default]
    Keep,
    /// They end: what can't have happened is cancelled, what is in doubt is abandoned. Requests,
    /// results and intents are deleted; only what recognises late duplicates stays, without a URL or a
    /// body.
    Purge,
}

/// What signing out did.
#[derive(Debug, Clone, PartialEq, Eq, Default, uniffi::Record)]
pub struct SignedOutReport {
    /// Who was signed in.
    pub account: Option<String>,
    /// Unsettled submissions that wait for it to come back.
    pub kept: u32,
    /// Submissions that were cancelled: they never happened and never will.
    pub cancelled: u32,
    /// Submissions in doubt that were abandoned.
    pub abandoned: u32,
    /// Submissions that had succeeded, and only whose results were still asked for.
    pub succeeded: u32,
}

/// Which submissions to list: those that fit everything that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, uniffi::Record)]
pub struct ListFilter {
    /// Only these.
    #[uniffi(default = None)]
    pub state: Option<ListState>,
    /// Only those held for this.
    #[uniffi(default = None)]
    pub reason: Option<HoldReason>,
    /// Only this account's.
    #[uniffi(default = None)]
    pub account: Option<String>,
    /// Only those of this lane.
    #[uniffi(default = None)]
    pub lane: Option<String>,
    /// Only those of this latest-wins key.
    #[uniffi(default = None)]
    pub replaces: Option<String>,
}

impl ListFilter {
    /// All.
    pub fn all() -> Self {
        Self::default()
    }

    /// Those in a state.
    pub fn of(state: ListState) -> Self {
        Self {
            state: Some(state),
            ..Self::default()
        }
    }
}

/// A kind of state, to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum ListState {
    /// Neither settled nor held.
    Moving,
    /// Waiting for a decision.
    Held,
    /// Settled.
    Settled,
}

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, uniffi::Record)]
pub struct PageRequest {
    /// Entries accepted after this position; zero for the first page.
    #[uniffi(default = 0)]
    pub after: i64,
    /// At most this many entries; 1 to 1,000.
    #[uniffi(default = 100)]
    pub limit: u32,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self {
            after: 0,
            limit: 100,
        }
    }
}

/// A part of a list, in the order of acceptance.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct SnapshotPage {
    /// The entries. Their outcomes carry no bodies; ask `snapshot` for one.
    pub snapshots: Vec<Snapshot>,
    /// Where the next page starts, if there is one. A page may have fewer entries than its limit, or
    /// none, and be followed by others: a call looks at some thousand submissions at most.
    pub next: Option<i64>,
}
