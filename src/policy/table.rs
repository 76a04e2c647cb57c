//! The table of statuses: RFC 9110 and its registry, and what gateways use beside it.

use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;

use super::answer::{Answer, Seen};
use super::classify::{
    Circumstances, Counts, Judgement, Wait, applied, asked_wait, busy, closing_host, credentials,
    held, refused, retry, reused,
};

/// Judges an answer by its status.
pub(super) fn judge(seen: &Seen<'_>, of: &Circumstances<'_>) -> Judgement {
    use Proof::{NotApplied, Unknown};
    let answer = seen.answer;
    let asked = asked_wait(answer, of);
    let waits = matches!(asked, Wait::Server(_)) || answer.is_limited();
    let judgement = match answer.status {
        100 | 101 | 103..=199 => retry(Unknown, asked),
        102 => busy(of, asked),
        200..=203 => applied(answer.complete),
        // They have no body that could be cut.
        204 | 205 => applied(true),
        207 | 208 if seen.all_members_succeeded() => applied(true),
        206 | 207 | 208 | 226 | 300 => held(HoldReason::OutcomeUnknown),
        209..=225 | 227..=299 => held(HoldReason::OutcomeUnknown),
        303 => held(HoldReason::OutcomeUnknown),
        304 if of.effect == Effect::Safe => applied(true),
        304 => held(HoldReason::OutcomeUnknown),
        301 | 302 | 305..=308 => refused(RejectReason::Configuration),
        // Nobody has said what they mean, so they count as 300 (RFC 9110, section 15).
        309..=399 => held(HoldReason::OutcomeUnknown),
        401 => credentials(answer, of),
        403 if waits => retry(NotApplied, asked),
        // A used-up limit makes nothing smaller; a server that names a time may have room then.
        413 if answer.retry_after(of.wall).is_some() => retry(NotApplied, asked),
        406 | 424 => held(HoldReason::OutcomeUnknown),
        407 => Judgement {
            counts: Counts::Transport,
            ..retry(NotApplied, asked)
        },
        408 | 444 | 460 | 499 => retry(Unknown, asked),
        409 => busy(of, asked),
        412 => Judgement {
            proves: NotApplied,
            ..held(HoldReason::Conflict)
        },
        421 | 425 => retry(NotApplied, asked),
        422 if answer.tells_of_reused_key() => reused(of),
        423 => locked(of, asked),
        429 => closing_host(answer, of, retry(NotApplied, asked)),
        400..=499 => refused(reason_of(answer, of)),
        500 | 502 | 504 => retry(Unknown, asked),
        501 | 505 | 506 | 508 | 510 => refused(RejectReason::Configuration),
        503 => closing_host(answer, of, retry(Unknown, asked)),
        507 => retry(Unknown, longer(asked)),
        511 => Judgement {
            counts: Counts::Transport,
            ..retry(NotApplied, asked)
        },
        521 | 523 | 525 | 526 => retry(NotApplied, asked),
        _ => retry(Unknown, asked),
    };
    judgement.turned_by_a_test(&answer.status)
}

/// Why a refusal was one.
pub(super) fn reason_of(answer: &Answer<'_>, of: &Circumstances<'_>) -> RejectReason {
    match answer.status {
        400 | 405 | 411 | 414..=417 | 426 | 428 | 431 => RejectReason::Configuration,
        401 => RejectReason::Unauthorized,
        422 if answer.tells_of_reused_key() && !of.derived_id => RejectReason::KeyReused,
        422 => RejectReason::Invalid,
        _ => RejectReason::Refused,
    }
}

/// Something else has the resource locked, so this attempt did nothing. Locked for too long, it is a
/// conflict.
fn locked(of: &Circumstances<'_>, wait: Wait) -> Judgement {
    let judgement = busy(of, wait);
    let then = match judgement.then {
        Then::Hold(_) => Then::Hold(HoldReason::Conflict),
        then @ (Then::Retry | Then::FetchResult | Then::Refuse(_)) => then,
    };
    Judgement {
        proves: Proof::NotApplied,
        then,
        ..judgement
    }
}

fn longer(wait: Wait) -> Wait {
    match wait {
        Wait::Nothing | Wait::Backoff => Wait::Long,
        wait @ (Wait::Server(_) | Wait::Long) => wait,
    }
}
