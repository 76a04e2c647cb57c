//! The table of the design's section 3, written down by hand: what the state function is compared with,
//! state by state and event by event, and what a simulation counts as reached. Not in a release build.

use super::state::{
    Decision, Doubt, Event, Evidence, HoldReason, Proof, RejectReason, State, SubmissionState, Then,
};

/// In which state a rule holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum In {
    Pending,
    Flight,
    Held,
    HeldFor(HoldReason),
    PendingOrHeld,
    Unsettled,
    Final,
}

/// For which event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum On {
    Anything,
    Claimed,
    LifetimeOver,
    BudgetUsedUp,
    Cancel,
    Expiry,
    NewerAccepted,
    NewerSucceeded,
    BodyMissingNeverSent,
    BodyMissing,
    RowDamaged,
    ParentFailed,
    ParentResultMissing,
    /// The open attempt ends, with an answer or without.
    Ends,
    AnswerRetry,
    AnswerFetch,
    AnswerRefuse,
    AnswerBodyGone,
    AnswerHold(HoldReason),
    LeaseLost,
    Late,
    LateApplied,
    LateNotApplied,
    LateRefused,
    Purged,
    Retry,
    Fill,
    Happened,
    GiveUp,
}

/// Under which condition, looked at once the event's evidence is written to the attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum If {
    Always,
    /// No attempt is in doubt.
    Certain,
    InDoubt,
    Applied,
    AppliedNotCancelled,
    CancelledCertain,
    CancelledInDoubt,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum To {
    Stays,
    Flag,
    Pending,
    InFlight,
    Held(HoldReason),
    Succeeded,
    Rejected(RejectReason),
    /// Rejected with the reason that the event carries.
    RejectedAsSaid,
    Cancelled,
    Expired,
    Superseded,
    Abandoned,
    CantHappen,
}

use HoldReason::{
    CancelRequested, Conflict, Damaged, ExpiredInDoubt, KeyUsedElsewhere, OutcomeUnknown,
    ParentResultMissing,
};

/// The table. The first rule that fits decides; what no rule fits can't happen.
#[rustfmt::skip]
pub(crate) const RULES: &[(In, On, If, To)] = &[
    (In::Final,                    On::Anything,             If::Always,           To::Stays),

    (In::Pending,                  On::Claimed,              If::Always,           To::InFlight),
    (In::Pending,                  On::LifetimeOver,         If::Applied,          To::Succeeded),
    (In::Pending,                  On::BudgetUsedUp,         If::Applied,          To::Succeeded),
    (In::Pending,                  On::Cancel,               If::Applied,          To::Succeeded),
    (In::Pending,                  On::Expiry,               If::Applied,          To::Succeeded),
    (In::Pending,                  On::NewerAccepted,        If::Applied,          To::Succeeded),
    (In::Pending,                  On::NewerSucceeded,       If::Applied,          To::Succeeded),
    (In::Pending,                  On::BodyMissingNeverSent, If::Applied,          To::Succeeded),
    (In::Pending,                  On::BodyMissing,          If::Applied,          To::Succeeded),
    (In::Pending,                  On::RowDamaged,           If::Applied,          To::Succeeded),
    (In::Pending,                  On::ParentFailed,         If::Applied,          To::CantHappen),
    (In::Pending,                  On::ParentResultMissing,  If::Applied,          To::CantHappen),
    (In::Pending,                  On::LifetimeOver,         If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Pending,                  On::BudgetUsedUp,         If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Pending,                  On::BudgetUsedUp,         If::Certain,          To::Rejected(RejectReason::GaveUp)),
    (In::Pending,                  On::BodyMissingNeverSent, If::Certain,          To::Rejected(RejectReason::BodyMissing)),
    (In::PendingOrHeld,            On::BodyMissingNeverSent, If::Always,           To::Held(Damaged)),
    (In::PendingOrHeld,            On::BodyMissing,          If::Always,           To::Held(Damaged)),
    (In::PendingOrHeld,            On::RowDamaged,           If::Always,           To::Held(Damaged)),
    (In::PendingOrHeld,            On::ParentFailed,         If::Certain,          To::Rejected(RejectReason::Dependency)),
    (In::Pending,                  On::ParentFailed,         If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Held,                     On::ParentFailed,         If::InDoubt,          To::Stays),
    (In::Pending,                  On::ParentResultMissing,  If::Always,           To::Held(ParentResultMissing)),
    (In::Held,                     On::ParentResultMissing,  If::Always,           To::Stays),

    (In::Unsettled,                On::Purged,               If::Applied,          To::Succeeded),
    (In::Unsettled,                On::Purged,               If::InDoubt,          To::Abandoned),
    (In::Unsettled,                On::Purged,               If::Certain,          To::Cancelled),

    (In::PendingOrHeld,            On::Cancel,               If::Certain,          To::Cancelled),
    (In::PendingOrHeld,            On::Cancel,               If::InDoubt,          To::Held(CancelRequested)),
    (In::PendingOrHeld,            On::Expiry,               If::Certain,          To::Expired),
    (In::HeldFor(CancelRequested), On::Expiry,               If::InDoubt,          To::Stays),
    (In::PendingOrHeld,            On::Expiry,               If::InDoubt,          To::Held(ExpiredInDoubt)),
    (In::PendingOrHeld,            On::NewerAccepted,        If::Certain,          To::Superseded),
    (In::PendingOrHeld,            On::NewerAccepted,        If::InDoubt,          To::Stays),
    (In::PendingOrHeld,            On::NewerSucceeded,       If::Always,           To::Superseded),

    (In::Flight,                   On::Cancel,               If::Always,           To::Flag),
    (In::Flight,                   On::Expiry,               If::Always,           To::Stays),
    (In::Flight,                   On::NewerAccepted,        If::Always,           To::Stays),
    (In::Flight,                   On::NewerSucceeded,       If::Always,           To::Stays),
    (In::Flight,                   On::Late,                 If::Always,           To::Stays),
    (In::Flight,                   On::AnswerFetch, If::AppliedNotCancelled,       To::Pending),
    (In::Flight,                   On::Ends,                 If::Applied,          To::Succeeded),
    (In::Flight,                   On::Ends,                 If::CancelledCertain, To::Cancelled),
    (In::Flight,                   On::Ends,                 If::CancelledInDoubt, To::Held(CancelRequested)),
    (In::Flight,                   On::LeaseLost,            If::InDoubt,          To::Pending),
    (In::Flight,                   On::AnswerRetry,          If::Always,           To::Pending),
    (In::Flight,                   On::AnswerRefuse,         If::Certain,          To::RejectedAsSaid),
    (In::Flight,                   On::AnswerBodyGone,       If::InDoubt,          To::Held(Damaged)),
    (In::Flight,                   On::AnswerRefuse,         If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Flight,                   On::AnswerHold(Conflict), If::Certain,          To::Held(Conflict)),
    (In::Flight,                   On::AnswerHold(Conflict), If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Flight,             On::AnswerHold(OutcomeUnknown), If::InDoubt,          To::Held(OutcomeUnknown)),
    (In::Flight,             On::AnswerHold(OutcomeUnknown), If::Certain,          To::Pending),
    (In::Flight,             On::AnswerHold(Damaged),        If::Always,           To::Held(Damaged)),
    (In::Flight,           On::AnswerHold(KeyUsedElsewhere), If::Always,           To::Held(KeyUsedElsewhere)),

    (In::PendingOrHeld,            On::LateApplied,          If::Always,           To::Succeeded),
    (In::HeldFor(CancelRequested), On::LateNotApplied,       If::Certain,          To::Cancelled),
    (In::HeldFor(ExpiredInDoubt),  On::LateNotApplied,       If::Certain,          To::Expired),
    (In::HeldFor(OutcomeUnknown),  On::LateRefused,          If::Certain,          To::RejectedAsSaid),
    (In::HeldFor(OutcomeUnknown),  On::LateNotApplied,       If::Certain,          To::Pending),
    (In::PendingOrHeld,            On::LateNotApplied,       If::Always,           To::Stays),

    (In::HeldFor(Damaged),         On::Retry,                If::Always,           To::CantHappen),
    (In::HeldFor(ParentResultMissing), On::Retry,            If::Always,           To::CantHappen),
    (In::HeldFor(ParentResultMissing), On::Fill,             If::Always,           To::Pending),
    (In::Held,                     On::Retry,                If::Always,           To::Pending),
    (In::Held,                     On::Happened,             If::Always,           To::Succeeded),
    (In::Held,                     On::GiveUp,               If::Always,           To::Abandoned),
];

pub(crate) fn is_in(place: In, state: SubmissionState) -> bool {
    match place {
        In::Pending => state == SubmissionState::Pending,
        In::Flight => state == SubmissionState::InFlight,
        In::Held => matches!(state, SubmissionState::Held { .. }),
        In::HeldFor(reason) => state == SubmissionState::Held { reason },
        In::PendingOrHeld => is_in(In::Pending, state) || is_in(In::Held, state),
        In::Unsettled => is_in(In::PendingOrHeld, state) || is_in(In::Flight, state),
        In::Final => !is_in(In::PendingOrHeld, state) && !is_in(In::Flight, state),
    }
}

fn is_on(on: On, event: Event) -> bool {
    match event {
        Event::Claimed => on == On::Claimed,
        Event::KeyLifetimeOver => on == On::LifetimeOver,
        Event::BudgetUsedUp => on == On::BudgetUsedUp,
        Event::Cancel => on == On::Cancel,
        Event::ExpiryPassed => on == On::Expiry,
        Event::NewerAccepted { .. } => on == On::NewerAccepted,
        Event::NewerSucceeded { .. } => on == On::NewerSucceeded,
        Event::BodyMissing { never_sent: true } => on == On::BodyMissingNeverSent,
        Event::BodyMissing { never_sent: false } => on == On::BodyMissing,
        Event::RowDamaged => on == On::RowDamaged,
        Event::ParentFailed => on == On::ParentFailed,
        Event::ParentResultMissing => on == On::ParentResultMissing,
        Event::LeaseLost => [On::Ends, On::LeaseLost].contains(&on),
        Event::AttemptEnded(ending) => {
            let body_gone = ending.then == Then::Refuse(RejectReason::BodyMissing);
            on == On::Ends
                || (on == On::AnswerBodyGone && body_gone)
                || on
                    == match ending.then {
                        Then::Retry => On::AnswerRetry,
                        Then::FetchResult => On::AnswerFetch,
                        Then::Refuse(_) => On::AnswerRefuse,
                        Then::Hold(reason) => On::AnswerHold(reason),
                    }
        }
        Event::LateProof(Evidence::Applied) => [On::Late, On::LateApplied].contains(&on),
        Event::LateProof(Evidence::NotApplied(None)) => {
            [On::Late, On::LateNotApplied].contains(&on)
        }
        Event::LateProof(Evidence::NotApplied(Some(_))) => {
            [On::Late, On::LateNotApplied, On::LateRefused].contains(&on)
        }
        Event::Purged => on == On::Purged,
        Event::Decided(Decision::Retry) => on == On::Retry,
        Event::Decided(Decision::Fill) => on == On::Fill,
        Event::Decided(Decision::Happened) => on == On::Happened,
        Event::Decided(Decision::GiveUp) => on == On::GiveUp,
    }
}

/// The attempts once the event's evidence is written to them; `None` if it speaks of attempts that
/// there are not.
pub(crate) fn attempts_after(state: &State, event: Event) -> Option<Doubt> {
    let Doubt {
        open,
        unknown,
        applied,
    } = state.doubt;
    match event {
        Event::Claimed => (!open).then_some(Doubt {
            open: true,
            ..state.doubt
        }),
        Event::Purged => Some(Doubt {
            open: false,
            unknown: unknown + u32::from(open),
            applied,
        }),
        Event::LeaseLost => open.then_some(Doubt {
            open: false,
            unknown: unknown + 1,
            applied,
        }),
        Event::AttemptEnded(ending) => (open && ending.closes_earlier <= unknown).then(|| Doubt {
            open: false,
            unknown: unknown - ending.closes_earlier + u32::from(ending.proves == Proof::Unknown),
            applied: applied || ending.proves == Proof::Applied,
        }),
        Event::LateProof(evidence) => (unknown > 0).then(|| Doubt {
            open,
            unknown: unknown - 1,
            applied: applied || evidence == Evidence::Applied,
        }),
        Event::KeyLifetimeOver
        | Event::BudgetUsedUp
        | Event::Cancel
        | Event::ExpiryPassed
        | Event::NewerAccepted { .. }
        | Event::NewerSucceeded { .. }
        | Event::BodyMissing { .. }
        | Event::RowDamaged
        | Event::ParentFailed
        | Event::ParentResultMissing
        | Event::Decided(_) => Some(state.doubt),
    }
}

fn holds(condition: If, after: Doubt, cancelled: bool) -> bool {
    let in_doubt = after.open || after.unknown > 0;
    match condition {
        If::Always => true,
        If::Certain => !in_doubt,
        If::InDoubt => in_doubt,
        If::Applied => after.applied,
        If::AppliedNotCancelled => after.applied && !cancelled,
        If::CancelledCertain => cancelled && !in_doubt,
        If::CancelledInDoubt => cancelled && in_doubt,
    }
}

/// The rule that decides, by its place in the table, and what follows from it. `None` if none fits.
pub(crate) fn rule_of(state: &State, event: Event) -> Option<(usize, To)> {
    let doubt = if is_in(In::Final, state.visible) {
        state.doubt
    } else {
        attempts_after(state, event)?
    };
    RULES.iter().enumerate().find_map(|(number, rule)| {
        let (place, on, condition, to) = *rule;
        let fits = is_in(place, state.visible)
            && (on == On::Anything || is_on(on, event))
            && holds(condition, doubt, state.cancel_requested);
        fits.then_some((number, to))
    })
}
