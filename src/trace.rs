//! What a subscriber of the `tracing` crate is told, under the target `submit_once`: IDs, numbers,
//! states, statuses and times; of the inbox, scopes and no keys. Never a URL, a body, a header, an account
//! or a credential; errors by their kind alone, since their words may come from the system.
//!
//! Without a subscriber it costs a look at a number.

use crate::error::{OpenError, OutboxError, StorageError};
use crate::model::id::SubmissionId;
use crate::model::outcome::{Receipt, ReceiptKind};
#[cfg(debug_assertions)]
use crate::model::state::{Event, State};
#[cfg(debug_assertions)]
use crate::model::transition_table::{RULES, rule_of};
use crate::policy::classify::Judgement;

pub(crate) const TARGET: &str = "submit_once";

/// What a transaction has to tell once it is committed.
pub(crate) enum Told {
    /// A submission's state, or something about it, has changed.
    Changed {
        id: SubmissionId,
        state: &'static str,
        reason: Option<String>,
        revision: i64,
    },
    /// An attempt was begun.
    Claimed {
        id: SubmissionId,
        attempt: i64,
        number: u32,
    },
    /// The attempt of another process was taken over.
    TakenOver {
        id: SubmissionId,
        attempt: i64,
        owner_is_dead: bool,
    },
    /// Retention dropped something.
    Retained { results: usize, tombstones: usize },
    /// A run of the inbox began.
    InboxRun { scope: String, number: i64 },
    /// A run of the inbox ended, or was decided about.
    InboxEnded {
        scope: String,
        number: i64,
        state: &'static str,
    },
    /// Nobody knows whether a run of the inbox had its effect.
    InboxUncertain { scope: String, number: i64 },
    /// Retention dropped results or keys of the inbox.
    InboxRetained { rows: usize },
}

/// True if there may be a subscriber.
pub(crate) fn is_heard() -> bool {
    tracing::level_enabled!(tracing::Level::DEBUG)
}

/// Tells of what was committed.
pub(crate) fn tell(told: &[Told]) {
    for told in told {
        match told {
            Told::Changed {
                id,
                state,
                reason,
                revision,
            } => {
                let (reason, revision) = (reason.as_deref(), *revision);
                if *state == "held" {
                    tracing::warn!(target: TARGET, %id, reason, revision, "held");
                } else {
                    tracing::debug!(target: TARGET, %id, state, reason, revision, "changed");
                }
            }
            Told::Claimed {
                id,
                attempt,
                number,
            } => tracing::debug!(target: TARGET, %id, attempt, number, "attempt begun"),
            Told::TakenOver {
                id,
                attempt,
                owner_is_dead,
            } => tracing::warn!(target: TARGET, %id, attempt, owner_is_dead, "taken over"),
            Told::Retained {
                results,
                tombstones,
            } => tracing::debug!(target: TARGET, results, tombstones, "dropped"),
            Told::InboxRun { scope, number } => {
                tracing::debug!(target: TARGET, scope, number, "run begun");
            }
            Told::InboxEnded {
                scope,
                number,
                state,
            } => tracing::debug!(target: TARGET, scope, number, state, "run ended"),
            Told::InboxUncertain { scope, number } => {
                tracing::warn!(target: TARGET, scope, number, "run uncertain");
            }
            Told::InboxRetained { rows } => {
                tracing::debug!(target: TARGET, rows, "dropped from the inbox");
            }
        }
    }
}

/// What the state function was asked, by the rule of its table that answers.
#[cfg(debug_assertions)]
pub(crate) fn asked(state: &State, event: Event) {
    if tracing::level_enabled!(tracing::Level::TRACE)
        && let Some((rule, _)) = rule_of(state, event)
        && let Some((place, on, condition, to)) = RULES.get(rule)
    {
        let rules = RULES.len();
        let row = format!("{rule}/{rules} {place:?} {on:?} {condition:?} {to:?}");
        tracing::trace!(target: TARGET, row, "asked");
    }
}

/// What an exchange was judged to mean.
pub(crate) fn judged(judgement: &Judgement) {
    tracing::trace!(
        target: TARGET,
        proves = ?judgement.proves,
        settles = ?judgement.settles,
        then = ?judgement.then,
        counts = ?judgement.counts,
        closes = ?judgement.closes,
        "judged"
    );
}

/// A result of the inbox isn't the one that was stored.
pub(crate) fn inbox_damaged(scope: &str) {
    tracing::warn!(target: TARGET, scope, "a result is damaged and no longer given");
}

/// What a call of `submit` came to.
pub(crate) fn submitted(id: SubmissionId, result: Result<&Receipt, &OutboxError>) {
    match result {
        Ok(receipt) => {
            let met = match receipt.kind {
                ReceiptKind::Accepted => "accepted",
                ReceiptKind::Joined => "joined",
                ReceiptKind::Replayed => "replayed",
            };
            tracing::debug!(target: TARGET, %id, met, "submitted");
        }
        Err(error) => tracing::warn!(target: TARGET, %id, error = kind(error), "not accepted"),
    }
}

/// A fetched value was met that isn't what was stored.
pub(crate) fn damaged_value() {
    tracing::warn!(target: TARGET, "a fetched value is damaged, and counts as none");
}

/// An error without its words.
pub(crate) fn kind(error: &OutboxError) -> &'static str {
    match error {
        OutboxError::Closed => "closed",
        OutboxError::MalformedId => "malformed_id",
        OutboxError::Invalid { .. } => "invalid",
        OutboxError::HeaderRefused { .. } => "header_refused",
        OutboxError::BodyTooLarge { .. } => "body_too_large",
        OutboxError::UnknownParent { .. } => "unknown_parent",
        OutboxError::KeyReused { .. } => "key_reused",
        OutboxError::IdTooOld { .. } => "id_too_old",
        OutboxError::QueueFull { .. } => "queue_full",
        OutboxError::NotSignedIn { .. } => "not_signed_in",
        OutboxError::UnknownId { .. } => "unknown_id",
        OutboxError::Stale { .. } => "stale",
        OutboxError::NotHeld { .. } => "not_held",
        OutboxError::NeedsConsent { .. } => "needs_consent",
        OutboxError::CannotRetry { .. } => "cannot_retry",
        OutboxError::Storage { storage } => storage_kind(storage),
    }
}

fn storage_kind(error: &StorageError) -> &'static str {
    match error {
        StorageError::Full => "storage_full",
        StorageError::Busy => "storage_busy",
        StorageError::Unavailable { .. } => "storage_unavailable",
        StorageError::Corrupt { .. } => "storage_corrupt",
        StorageError::Moved => "storage_moved",
        StorageError::Indeterminate => "storage_indeterminate",
        StorageError::Internal { .. } => "storage_internal",
    }
}

/// An error without its words.
pub(crate) fn open_kind(error: &OpenError) -> &'static str {
    match error {
        OpenError::InvalidConfig { .. } => "invalid_config",
        OpenError::IsDirectory => "is_directory",
        OpenError::ReadOnly => "read_only",
        OpenError::NotAnOutbox { .. } => "not_an_outbox",
        OpenError::SchemaTooNew { .. } => "schema_too_new",
        OpenError::AlreadyOpen => "already_open",
        OpenError::Setup { .. } => "setup",
        OpenError::Storage { storage } => storage_kind(storage),
    }
}
