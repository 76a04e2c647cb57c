//! Every state that can exist and every event there is, for the tests that walk them all.

use super::id::SubmissionId;
use super::state::{
    Decision, Doubt, Ending, Event, Evidence, HoldReason, Proof, RejectReason, State,
    SubmissionState, Then,
};

pub const HOLDS: [HoldReason; 8] = [
    HoldReason::OutcomeUnknown,
    HoldReason::Conflict,
    HoldReason::CancelRequested,
    HoldReason::ExpiredInDoubt,
    HoldReason::Restored,
    HoldReason::Damaged,
    HoldReason::ParentResultMissing,
    HoldReason::KeyUsedElsewhere,
];

pub const REASONS: [RejectReason; 9] = [
    RejectReason::Configuration,
    RejectReason::Unauthorized,
    RejectReason::Refused,
    RejectReason::Invalid,
    RejectReason::KeyReused,
    RejectReason::GaveUp,
    RejectReason::BodyMissing,
    RejectReason::Dependency,
    RejectReason::Split,
];

/// More attempts than this make no new case.
pub const MOST_UNKNOWN: u32 = 3;

pub fn newer() -> SubmissionId {
    SubmissionId::from_bytes([7; 16])
}

/// What a submission is when it is accepted.
pub fn accepted() -> State {
    State {
        visible: SubmissionState::Pending,
        doubt: Doubt::default(),
        cancel_requested: false,
    }
}

pub fn visible_states() -> Vec<SubmissionState> {
    let mut all = vec![
        SubmissionState::Pending,
        SubmissionState::InFlight,
        SubmissionState::Succeeded,
        SubmissionState::Cancelled,
        SubmissionState::Expired,
        SubmissionState::Superseded { by: newer() },
        SubmissionState::Abandoned,
    ];
    all.extend(HOLDS.map(|reason| SubmissionState::Held { reason }));
    all.extend(REASONS.map(|reason| SubmissionState::Rejected { reason }));
    all
}

/// True for a state that a submission can be in, by the promises: an attempt is open in flight and
/// only there, a cancel flag belongs to it, a hold for doubt is in doubt, an applied attempt leads
/// to success, and an end without effect is not in doubt.
pub fn can_exist(state: &State) -> bool {
    let Doubt {
        open,
        unknown,
        applied,
    } = state.doubt;
    let settled = !open && !state.cancel_requested;
    match state.visible {
        SubmissionState::Pending => settled,
        SubmissionState::InFlight => open,
        SubmissionState::Held { reason } => {
            settled && !applied && (unknown > 0 || !is_for_doubt(reason))
        }
        SubmissionState::Succeeded => settled,
        SubmissionState::Rejected { .. }
        | SubmissionState::Cancelled
        | SubmissionState::Expired => settled && unknown == 0 && !applied,
        SubmissionState::Superseded { .. } | SubmissionState::Abandoned => settled && !applied,
    }
}

pub fn is_for_doubt(reason: HoldReason) -> bool {
    match reason {
        HoldReason::OutcomeUnknown | HoldReason::CancelRequested | HoldReason::ExpiredInDoubt => {
            true
        }
        HoldReason::Conflict
        | HoldReason::Restored
        | HoldReason::Damaged
        | HoldReason::ParentResultMissing
        | HoldReason::KeyUsedElsewhere => false,
    }
}

pub fn states() -> Vec<State> {
    let mut all = Vec::new();
    for visible in visible_states() {
        for unknown in 0..=MOST_UNKNOWN {
            for (open, applied, cancel_requested) in flags() {
                all.push(State {
                    visible,
                    doubt: Doubt {
                        open,
                        unknown,
                        applied,
                    },
                    cancel_requested,
                });
            }
        }
    }
    all.retain(can_exist);
    all
}

fn flags() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
}

pub fn thens() -> Vec<Then> {
    let mut all = vec![Then::Retry, Then::FetchResult];
    all.extend(REASONS.map(Then::Refuse));
    all.extend(HOLDS.map(Then::Hold));
    all
}

/// One attempt more is closed than a state has, so that this mistake is walked, too.
pub fn endings() -> Vec<Ending> {
    let mut all = Vec::new();
    for proves in [Proof::Applied, Proof::NotApplied, Proof::Unknown] {
        for closes_earlier in 0..=MOST_UNKNOWN + 1 {
            all.extend(thens().into_iter().map(|then| Ending {
                proves,
                closes_earlier,
                then,
            }));
        }
    }
    all
}

pub fn events() -> Vec<Event> {
    let mut all = vec![
        Event::Claimed,
        Event::KeyLifetimeOver,
        Event::BudgetUsedUp,
        Event::Cancel,
        Event::ExpiryPassed,
        Event::NewerAccepted { by: newer() },
        Event::NewerSucceeded { by: newer() },
        Event::BodyMissing { never_sent: true },
        Event::BodyMissing { never_sent: false },
        Event::RowDamaged,
        Event::ParentFailed,
        Event::ParentResultMissing,
        Event::LeaseLost,
        Event::Purged,
        Event::LateProof(Evidence::Applied),
        Event::LateProof(Evidence::NotApplied(None)),
        Event::Decided(Decision::Retry),
        Event::Decided(Decision::Fill),
        Event::Decided(Decision::Happened),
        Event::Decided(Decision::GiveUp),
    ];
    let refused = REASONS.map(|reason| Event::LateProof(Evidence::NotApplied(Some(reason))));
    all.extend(refused);
    all.extend(endings().into_iter().map(Event::AttemptEnded));
    all
}
