//! What an answer means. A pure function from the circumstances and the answer, or the lack of
//! one, to a judgement: what it proves about its own attempt, what it settles of earlier ones, and
//! what comes next.

use std::time::Duration;

use crate::clock::WallMs;
use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;

pub use super::answer::Answer;
use super::limits::Limits;
use super::profile::ServerProfile;

/// What is known before the answer is read.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// What a repeat does.
    pub effect: Effect,
    /// How the server treats keys.
    pub profile: &'a ServerProfile,
    /// The numbers.
    pub limits: &'a Limits,
    /// The ID was derived, so that another device may have used it.
    pub derived_id: bool,
    /// "In progress" answers so far.
    pub busy_answers: u32,
    /// The waits that were set after them, added up.
    pub busy_for: Duration,
    /// The wall clock, for dates in headers.
    pub wall: WallMs,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// There is no network.
    Offline,
    /// The host could not be found or connected to.
    Unreachable,
    /// TLS failed: an unknown CA, a wrong host name or a failed pin.
    Tls,
    /// TLS failed, since the certificate isn't valid at the time that this device's clock shows.
    TlsClock,
    /// The last look at the lease, right before the first byte, found it lost. Nothing was sent.
    NotSent,
    /// The server said that it didn't begin with this request: `REFUSED_STREAM`, or a `GOAWAY` that
    /// names an earlier one (RFC 9113, section 8.7).
    NotProcessed,
    /// The stored body is no longer there. Nothing was sent.
    BodyMissing,
    /// The stored body is no longer the one that was accepted. Nothing was sent.
    BodyChanged,
    /// Bytes may have left, and no answer came within the time.
    TimedOut,
    /// Bytes may have left, and the connection broke.
    Lost,
    /// Something came back that can't be read as an answer: malformed, or with a head beyond all
    /// measure.
    BadAnswer,
    /// Stopped by `suspend` or `close` while bytes may have left.
    Stopped,
}

/// What an exchange means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What it proves about its own attempt.
    pub proves: Proof,
    /// What it settles of earlier unknown attempts.
    pub settles: Settles,
    /// What comes next.
    pub then: Then,
    /// How long to wait, where something comes next.
    pub wait: Wait,
    /// How it counts.
    pub counts: Counts,
    /// The result can be kept and replayed.
    pub keeps_result: bool,
}

/// What an answer settles of earlier unknown attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settles {
    /// Nothing. So it is with every plain answer.
    Nothing,
    /// Those since the last consent are proven to be without effect.
    SinceConsent,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The backoff.
    Backoff,
    /// At least the time that the server asked for.
    Server(Duration),
    /// The longest backoff: trying sooner can't help.
    Long,
}

/// Which budget an attempt counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counts {
    /// The retry budget.
    Answered,
    /// The budget of "in progress" answers.
    Busy,
    /// None: transport faults don't give up. The backoff grows.
    Transport,
    /// Nothing at all: it never came to an attempt.
    Nothing,
}

/// Judges a missing answer.
pub fn fault(fault: Fault, effect: Effect) -> Judgement {
    let (proves, wait, counts) = match fault {
        Fault::NotSent => (Proof::NotApplied, Wait::Backoff, Counts::Nothing),
        Fault::Offline | Fault::Unreachable => {
            (Proof::NotApplied, Wait::Backoff, Counts::Transport)
        }
        Fault::Tls | Fault::TlsClock => (Proof::NotApplied, Wait::Long, Counts::Transport),
        // Few, since a server that refuses each time has something else to say.
        Fault::NotProcessed => (Proof::NotApplied, Wait::Backoff, Counts::Answered),
        Fault::BodyMissing | Fault::BodyChanged => {
            (Proof::NotApplied, Wait::Backoff, Counts::Nothing)
        }
        Fault::TimedOut | Fault::Lost | Fault::Stopped => {
            (Proof::Unknown, Wait::Backoff, Counts::Transport)
        }
        // It will say the same again: it must not be asked for ever.
        Fault::BadAnswer => (Proof::Unknown, Wait::Backoff, Counts::Answered),
    };
    safe(
        Judgement {
            proves,
            settles: Settles::Nothing,
            then: Then::Retry,
            wait,
            counts,
            keeps_result: false,
        },
        effect,
    )
}

/// Judges an answer.
pub fn answer(answer: &Answer<'_>, of: &Circumstances<'_>) -> Judgement {
    let judgement = stored_error(answer, of)
        .or_else(|| not_from_api(answer, of))
        .unwrap_or_else(|| table(answer, of));
    let judgement = should_retry(answer, of, judgement);
    let judgement = if of.profile.gateway_may_resend && judgement.proves == Proof::NotApplied {
        // Another copy of the request may still be under way.
        Judgement {
            proves: Proof::Unknown,
            settles: Settles::Nothing,
            ..judgement
        }
    } else {
        judgement
    };
    safe(judgement, of.effect)
}

/// A safe method is never in doubt.
fn safe(judgement: Judgement, effect: Effect) -> Judgement {
    if effect != Effect::Safe || judgement.proves != Proof::Unknown {
        return judgement;
    }
    let then = match judgement.then {
        Then::Hold(_) => Then::Refuse(RejectReason::Refused),
        then @ (Then::Retry | Then::Refuse(_)) => then,
    };
    Judgement {
        proves: Proof::NotApplied,
        then,
        ..judgement
    }
}

/// An error with a replay marker: the key is frozen to it, and asking again gives the same for ever.
fn stored_error(answer: &Answer<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    if (200..300).contains(&answer.status) || !answer.is_replayed() {
        return None;
    }
    if !(400..500).contains(&answer.status) {
        return Some(held(HoldReason::OutcomeUnknown));
    }
    let settles = if of.profile.locks {
        Settles::SinceConsent
    } else {
        Settles::Nothing
    };
    Some(Judgement {
        settles,
        ..refused(reason_of(answer, of))
    })
}

/// A login page or a gateway's error page: no answer of the API.
fn not_from_api(answer: &Answer<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    if answer.is_from_api(of.profile) {
        return None;
    }
    // A portal says nothing about the server. An error page does: a wrong address gives one for
    // ever, and must not be asked about for ever.
    let portal = answer.status < 400 || answer.status == 511;
    Some(Judgement {
        counts: if portal {
            Counts::Transport
        } else {
            Counts::Answered
        },
        ..retry(Proof::Unknown, asked_wait(answer, of))
    })
}

/// The statuses. RFC 9110 and its registry.
fn table(answer: &Answer<'_>, of: &Circumstances<'_>) -> Judgement {
    use Proof::{NotApplied, Unknown};
    let asked = asked_wait(answer, of);
    let waits = matches!(asked, Wait::Server(_));
    match answer.status {
        100 | 101 | 103..=199 => retry(Unknown, asked),
        102 => busy(of, asked),
        200..=205 => applied(answer.complete),
        206 | 207 | 208 | 226 | 300 => held(HoldReason::OutcomeUnknown),
        209..=225 | 227..=299 => held(HoldReason::OutcomeUnknown),
        303 => held(HoldReason::OutcomeUnknown),
        304 if of.effect == Effect::Safe => applied(true),
        304 => held(HoldReason::OutcomeUnknown),
        301 | 302 | 305..=308 => refused(RejectReason::Configuration),
        // Nobody has said what they mean, so they count as 300 (RFC 9110, section 15).
        309..=399 => held(HoldReason::OutcomeUnknown),
        401 => refused(RejectReason::Unauthorized),
        403 | 413 if waits => retry(NotApplied, asked),
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
        429 => retry(NotApplied, asked),
        400..=499 => refused(reason_of(answer, of)),
        500 | 502 | 504 => retry(Unknown, asked),
        501 | 505 | 506 | 508 | 510 => refused(RejectReason::Configuration),
        503 => retry(Unknown, asked),
        507 => retry(Unknown, longer(asked)),
        511 => Judgement {
            counts: Counts::Transport,
            ..retry(NotApplied, asked)
        },
        521 | 523 | 525 | 526 => retry(NotApplied, asked),
        _ => retry(Unknown, asked),
    }
}

fn reason_of(answer: &Answer<'_>, of: &Circumstances<'_>) -> RejectReason {
    match answer.status {
        400 | 405 | 411 | 414..=417 | 426 | 428 | 431 => RejectReason::Configuration,
        401 => RejectReason::Unauthorized,
        422 if answer.tells_of_reused_key() && !of.derived_id => RejectReason::KeyReused,
        422 => RejectReason::Invalid,
        _ => RejectReason::Refused,
    }
}

/// `Stripe-Should-Retry` says what comes next, whatever else the answer says; what it proves stays:
/// <https://docs.stripe.com/error-low-level>.
fn should_retry(answer: &Answer<'_>, of: &Circumstances<'_>, judgement: Judgement) -> Judgement {
    let asked = answer.header("stripe-should-retry");
    match (asked, judgement.then, judgement.proves) {
        (Some("false"), Then::Retry, Proof::NotApplied) => refused(RejectReason::Refused),
        (Some("false"), Then::Retry, Proof::Unknown) => held(HoldReason::OutcomeUnknown),
        (Some("true"), Then::Refuse(_) | Then::Hold(_), proves) => {
            retry(proves, asked_wait(answer, of))
        }
        _ => judgement,
    }
}

fn applied(complete: bool) -> Judgement {
    Judgement {
        proves: Proof::Applied,
        settles: Settles::Nothing,
        then: Then::Retry,
        wait: Wait::Backoff,
        counts: Counts::Answered,
        keeps_result: complete,
    }
}

fn refused(reason: RejectReason) -> Judgement {
    Judgement {
        proves: Proof::NotApplied,
        settles: Settles::Nothing,
        then: Then::Refuse(reason),
        wait: Wait::Backoff,
        counts: Counts::Answered,
        keeps_result: true,
    }
}

fn retry(proves: Proof, wait: Wait) -> Judgement {
    Judgement {
        proves,
        settles: Settles::Nothing,
        then: Then::Retry,
        wait,
        counts: Counts::Answered,
        keeps_result: false,
    }
}

fn held(reason: HoldReason) -> Judgement {
    Judgement {
        proves: Proof::Unknown,
        settles: Settles::Nothing,
        then: Then::Hold(reason),
        wait: Wait::Backoff,
        counts: Counts::Answered,
        keeps_result: false,
    }
}

/// Still being worked on, until it has been said too often for too long.
fn busy(of: &Circumstances<'_>, wait: Wait) -> Judgement {
    let used_up = of.busy_answers.saturating_add(1) >= of.limits.busy_attempts
        && of.busy_for >= of.limits.busy_time;
    let judgement = if used_up {
        held(HoldReason::OutcomeUnknown)
    } else {
        retry(Proof::Unknown, wait)
    };
    Judgement {
        counts: Counts::Busy,
        ..judgement
    }
}

/// Something else has the resource locked, so this attempt did nothing. Locked for too long, it is a
/// conflict.
fn locked(of: &Circumstances<'_>, wait: Wait) -> Judgement {
    let judgement = busy(of, wait);
    let then = match judgement.then {
        Then::Hold(_) => Then::Hold(HoldReason::Conflict),
        then @ (Then::Retry | Then::Refuse(_)) => then,
    };
    Judgement {
        proves: Proof::NotApplied,
        then,
        ..judgement
    }
}

fn reused(of: &Circumstances<'_>) -> Judgement {
    if of.derived_id {
        Judgement {
            proves: Proof::NotApplied,
            ..held(HoldReason::KeyUsedElsewhere)
        }
    } else {
        refused(RejectReason::KeyReused)
    }
}

fn asked_wait(answer: &Answer<'_>, of: &Circumstances<'_>) -> Wait {
    match answer.retry_after(of.wall) {
        Some(wait) => Wait::Server(wait.min(of.limits.server_wait_most)),
        None => Wait::Backoff,
    }
}

fn longer(wait: Wait) -> Wait {
    match wait {
        Wait::Backoff => Wait::Long,
        wait @ (Wait::Server(_) | Wait::Long) => wait,
    }
}
