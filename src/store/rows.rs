//! How values are spelled in the database. Persisted: a spelling never changes.

use std::borrow::Cow;

use rusqlite::types::Type;

use crate::model::id::SubmissionId;
use crate::model::links::LanePolicy;
use crate::model::request::effect_text;
use crate::model::state::{AttemptMark, HoldReason, RejectReason, SubmissionState};
use crate::model::submission::{Effect, Header};

const HOLDS: [(HoldReason, &str); 8] = [
    (HoldReason::OutcomeUnknown, "outcome_unknown"),
    (HoldReason::Conflict, "conflict"),
    (HoldReason::CancelRequested, "cancel_requested"),
    (HoldReason::ExpiredInDoubt, "expired_in_doubt"),
    (HoldReason::Restored, "restored"),
    (HoldReason::Damaged, "damaged"),
    (HoldReason::ParentResultMissing, "parent_result_missing"),
    (HoldReason::KeyUsedElsewhere, "key_used_elsewhere"),
];

const REJECTS: [(RejectReason, &str); 9] = [
    (RejectReason::Configuration, "configuration"),
    (RejectReason::Unauthorized, "unauthorized"),
    (RejectReason::Refused, "refused"),
    (RejectReason::Invalid, "invalid"),
    (RejectReason::KeyReused, "key_reused"),
    (RejectReason::GaveUp, "gave_up"),
    (RejectReason::BodyMissing, "body_missing"),
    (RejectReason::Dependency, "dependency"),
    (RejectReason::Split, "split"),
];

const MARKS: [(AttemptMark, &str); 4] = [
    (AttemptMark::Open, "open"),
    (AttemptMark::Unknown, "unknown"),
    (AttemptMark::NotApplied, "not_applied"),
    (AttemptMark::Applied, "applied"),
];

fn spell<T: PartialEq, const N: usize>(table: &[(T, &'static str); N], value: &T) -> &'static str {
    table
        .iter()
        .find(|(known, _)| known == value)
        .map_or("", |(_, text)| text)
}

fn read<T: Copy, const N: usize>(table: &[(T, &str); N], text: &str) -> Option<T> {
    table
        .iter()
        .find(|(_, known)| *known == text)
        .map(|(value, _)| *value)
}

/// A value that no version of this library has written.
pub(super) fn unreadable() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, "not a known spelling".into())
}

/// An ID that led to the row of another: a damaged index, which SQLite doesn't notice.
pub(super) fn another_row() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
        Some("an index leads to another row".to_owned()),
    )
}

pub(super) fn spell_hold(reason: &HoldReason) -> &'static str {
    spell(&HOLDS, reason)
}

/// State and reason, in two columns.
pub(super) fn spell_state(state: &SubmissionState) -> (&'static str, Option<String>) {
    match state {
        SubmissionState::Pending => ("pending", None),
        SubmissionState::InFlight => ("in_flight", None),
        SubmissionState::Held { reason } => ("held", Some(spell_hold(reason).to_owned())),
        SubmissionState::Succeeded => ("succeeded", None),
        SubmissionState::Rejected { reason } => {
            ("rejected", Some(spell(&REJECTS, reason).to_owned()))
        }
        SubmissionState::Cancelled => ("cancelled", None),
        SubmissionState::Expired => ("expired", None),
        SubmissionState::Superseded { by } => ("superseded", Some(by.to_string())),
        SubmissionState::Abandoned => ("abandoned", None),
    }
}

/// A state that no version has written is damage, and shown as such: one bad row must not make a
/// list fail.
pub(super) fn read_state(state: &str, reason: Option<&str>) -> SubmissionState {
    const DAMAGED: SubmissionState = SubmissionState::Held {
        reason: HoldReason::Damaged,
    };
    let reason = reason.unwrap_or_default();
    match state {
        "pending" => SubmissionState::Pending,
        "in_flight" => SubmissionState::InFlight,
        "held" => SubmissionState::Held {
            reason: read(&HOLDS, reason).unwrap_or(HoldReason::Damaged),
        },
        "succeeded" => SubmissionState::Succeeded,
        "rejected" => SubmissionState::Rejected {
            reason: read(&REJECTS, reason).unwrap_or(RejectReason::Refused),
        },
        "cancelled" => SubmissionState::Cancelled,
        "expired" => SubmissionState::Expired,
        "superseded" => {
            SubmissionId::parse(reason).map_or(DAMAGED, |by| SubmissionState::Superseded { by })
        }
        "abandoned" => SubmissionState::Abandoned,
        _ => DAMAGED,
    }
}

const POLICIES: [(LanePolicy, &str); 3] = [
    (LanePolicy::Block, "block"),
    (LanePolicy::Continue, "continue"),
    (LanePolicy::RejectRest, "reject_rest"),
];

pub(super) fn spell_lane_policy(policy: LanePolicy) -> &'static str {
    spell(&POLICIES, &policy)
}

/// A policy that no version has written is read as the one that waits for a person.
pub(super) fn read_lane_policy(text: Option<&str>) -> LanePolicy {
    text.and_then(|text| read(&POLICIES, text))
        .unwrap_or_default()
}

/// An effect that no version has written is damage, which the row checksum finds. Until then it is
/// read as the one that is never repeated.
pub(super) fn read_effect(text: &str) -> Effect {
    [
        Effect::Safe,
        Effect::Overwrite,
        Effect::Keyed,
        Effect::Unkeyed,
    ]
    .into_iter()
    .find(|effect| effect_text(*effect) == text)
    .unwrap_or(Effect::Unkeyed)
}

/// What a wait is for want of; its end is no event of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Nothing,
    Network,
    /// A certificate that can be trusted.
    Certificate,
    /// One that is valid at the time that this device's clock shows.
    Clock,
}

pub(super) fn spell_want(want: Want) -> i64 {
    match want {
        Want::Nothing => 0,
        Want::Network => 1,
        Want::Certificate => 2,
        Want::Clock => 3,
    }
}

pub(super) fn read_want(number: i64) -> Want {
    match number {
        1 => Want::Network,
        2 => Want::Certificate,
        3 => Want::Clock,
        _ => Want::Nothing,
    }
}

pub(super) fn spell_mark(mark: AttemptMark) -> &'static str {
    spell(&MARKS, &mark)
}

pub(super) fn spell_headers(headers: &[Header]) -> String {
    serde_json::to_string(headers).unwrap_or_else(|_| "[]".to_owned())
}

pub(super) fn read_headers(text: &str) -> rusqlite::Result<Vec<Header>> {
    serde_json::from_str(text).map_err(|_| unreadable())
}

/// An ID from a BLOB column.
pub(super) fn read_id(bytes: [u8; 16]) -> SubmissionId {
    SubmissionId::from_bytes(bytes)
}

/// What the latest-wins keys of fetches begin with, as they are stored: a fetch and a write of one name
/// are no versions of each other. No name of an app begins so.
const FETCH_KEY: &str = "\u{1}fetch:";

/// A latest-wins key as it is stored.
pub(super) fn spell_key(effect: Effect, name: &str) -> Cow<'_, str> {
    match effect {
        Effect::Safe => Cow::Owned(format!("{FETCH_KEY}{name}")),
        Effect::Overwrite | Effect::Keyed | Effect::Unkeyed => Cow::Borrowed(name),
    }
}

/// The name of a stored latest-wins key.
pub(super) fn read_key(stored: &str) -> &str {
    stored.strip_prefix(FETCH_KEY).unwrap_or(stored)
}
