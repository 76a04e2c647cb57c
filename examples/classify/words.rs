//! Verdicts in words.

use submit_once::classification::{Meaning, Next, Proof};
use submit_once::{HoldReason, RejectReason, SubmissionState};

pub fn proves(proof: Proof) -> &'static str {
    match proof {
        Proof::Applied => "effect",
        Proof::NotApplied => "no effect",
        Proof::Unknown => "unknown",
    }
}

/// The state that a submission is in after it, and what it waits for there.
pub fn verdict(meaning: &Meaning) -> String {
    match meaning.state {
        SubmissionState::Succeeded => "succeeded".to_owned(),
        SubmissionState::Rejected { reason } => format!("rejected ({})", reject(reason)),
        SubmissionState::Held { reason } => format!("held ({})", hold(reason)),
        SubmissionState::Pending => format!("pending: {}", meaning.next.map_or("", next)),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn next(next: Next) -> &'static str {
    match next {
        Next::Retry => "retry",
        Next::RetryLate => "retry late",
        Next::InProgress => "in progress",
        Next::Result => "asks for the result",
        Next::Network => "network",
        Next::Certificate => "certificate",
        Next::Host => "host waits",
        Next::Credentials => "credentials",
    }
}

fn reject(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::Configuration => "configuration",
        RejectReason::Unauthorized => "unauthorized",
        RejectReason::Refused => "refused",
        RejectReason::Invalid => "invalid",
        RejectReason::KeyReused => "key reused",
        RejectReason::GaveUp => "gave up",
        RejectReason::BodyMissing => "body missing",
        RejectReason::Dependency => "dependency",
        RejectReason::Split => "split",
    }
}

fn hold(reason: HoldReason) -> &'static str {
    match reason {
        HoldReason::OutcomeUnknown => "outcome unknown",
        HoldReason::Conflict => "conflict",
        HoldReason::CancelRequested => "cancel requested",
        HoldReason::ExpiredInDoubt => "expired in doubt",
        HoldReason::Restored => "restored",
        HoldReason::Damaged => "damaged",
        HoldReason::ParentResultMissing => "parent result missing",
        HoldReason::KeyUsedElsewhere => "key used elsewhere",
    }
}

/// What a state asks of its reader.
pub fn advice(meaning: &Meaning) -> &'static str {
    match (meaning.state, meaning.next) {
        (SubmissionState::Succeeded, _) => "It took effect, and the answer is the result.",
        (SubmissionState::Rejected { .. }, _) => {
            "It had no effect, and the answer is kept with the refusal."
        }
        (SubmissionState::Held { .. }, _) => {
            "Nothing more is sent until the app or its user decides."
        }
        (_, Some(Next::Retry)) => "The same request is sent again after the backoff.",
        (_, Some(Next::RetryLate)) => "The same request is sent again after the longest backoff.",
        (_, Some(Next::InProgress)) => "The same request is sent again, a few times.",
        (_, Some(Next::Result)) => "It took effect; the same request is sent again for its result.",
        (_, Some(Next::Network)) => {
            "The same request is sent again, at the latest after the backoff."
        }
        (_, Some(Next::Certificate)) => {
            "It is tried again after the longest backoff, for a certificate that can be trusted."
        }
        (_, Some(Next::Host)) => "Nothing is sent to this host until the wait is over.",
        (_, Some(Next::Credentials)) => "Nothing of this account is sent until it has others.",
        (_, None) => "",
    }
}
