//! What an answer means. A pure function from the circumstances and the answer, or the lack of
//! one, to a judgement: what it proves about its own attempt, what it settles of earlier ones, and
//! what comes next. The statuses by themselves are in `table`; here is what comes before and after.

use std::time::Duration;

use crate::clock::WallMs;
use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;

pub use super::answer::Answer;
use super::answer::Seen;
use super::limits::{FETCH_RESULT_ATTEMPTS, FROZEN_ATTEMPTS, FROZEN_TIME, Limits};
use super::profile::{KeyScope, ReplayedErrors, ServerProfile};
use super::rules::{AnswerRule, RuleVerdict};
use super::table;

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
    /// It was sent with the credentials of an account.
    pub account: bool,
    /// The answer is that of a `GET` to where a 303 pointed.
    pub following: bool,
    /// The attempts before.
    pub history: History,
    /// The wall clock, for dates in headers.
    pub wall: WallMs,
}

/// What earlier attempts have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// One of them may have taken effect.
    pub in_doubt: bool,
    /// Nothing of the submission has ever left the device.
    pub never_sent: bool,
    /// "In progress" answers so far.
    pub busy_answers: u32,
    /// The waits that were set after them, added up.
    pub busy_for: Duration,
    /// The error that was answered last, if it is of a kind that may be frozen.
    pub same_status: Option<u16>,
    /// How often it was answered in a row.
    pub same_answers: u32,
    /// The waits that were set after it, added up.
    pub same_for: Duration,
    /// Another submission to the host succeeded since it was answered first.
    pub host_went_on: bool,
    /// Another submission of the account succeeded with the same credentials.
    pub credentials_work: bool,
    /// Attempts since one that took effect and whose result was cut, to get the result.
    pub fetches: Option<u32>,
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
    /// The stored body can't be read now, as on a locked phone. Nothing was sent.
    BodyUnreadable,
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
    /// Whom else it stops.
    pub closes: Closes,
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
    /// All are proven to be without effect.
    Everything,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Not at all: something else opens the way.
    Nothing,
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

/// Which gate an answer closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closes {
    /// None.
    Nothing,
    /// That of the host: it has asked everybody to wait.
    Host,
    /// That of the account: its credentials were refused.
    Account,
}

/// Judges a missing answer.
pub fn fault(fault: Fault, of: &Circumstances<'_>) -> Judgement {
    let again = |proves, wait, counts| Judgement {
        counts,
        ..retry(proves, wait)
    };
    let judgement = match fault {
        // The request has been answered with a 303 before.
        _ if of.following => again(Proof::Unknown, Wait::Backoff, Counts::Transport),
        Fault::NotSent => again(Proof::NotApplied, Wait::Backoff, Counts::Nothing),
        Fault::Offline | Fault::Unreachable | Fault::BodyUnreadable => {
            again(Proof::NotApplied, Wait::Backoff, Counts::Transport)
        }
        Fault::Tls | Fault::TlsClock => again(Proof::NotApplied, Wait::Long, Counts::Transport),
        // Few, since a server that refuses each time has something else to say.
        Fault::NotProcessed => again(Proof::NotApplied, Wait::Backoff, Counts::Answered),
        Fault::BodyMissing | Fault::BodyChanged => Judgement {
            then: if of.history.never_sent {
                Then::Refuse(RejectReason::BodyMissing)
            } else {
                Then::Hold(HoldReason::Damaged)
            },
            ..again(Proof::NotApplied, Wait::Backoff, Counts::Nothing)
        },
        Fault::TimedOut | Fault::Lost | Fault::Stopped => {
            again(Proof::Unknown, Wait::Backoff, Counts::Transport)
        }
        // It will say the same again: it must not be asked for ever.
        Fault::BadAnswer => again(Proof::Unknown, Wait::Backoff, Counts::Answered),
    };
    fetch_result(safe(judgement, of.effect), of)
}

/// Judges an answer, in the order of the rules.
pub fn answer(answer: &Answer<'_>, of: &Circumstances<'_>) -> Judgement {
    let seen = Seen::new(answer);
    let judgement = if of.following {
        followed(&seen, of)
    } else {
        by_rule(&seen, of).unwrap_or_else(|| should_retry(answer, of, plain(&seen, of)))
    };
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
    fetch_result(safe(judgement, of.effect), of)
}

/// An answer that no rule of the profile speaks of.
fn plain(seen: &Seen<'_>, of: &Circumstances<'_>) -> Judgement {
    stored_error(seen.answer, of)
        .or_else(|| frozen(seen.answer, of))
        .or_else(|| not_from_api(seen, of))
        .unwrap_or_else(|| table::judge(seen, of))
}

/// A safe method is never in doubt.
fn safe(judgement: Judgement, effect: Effect) -> Judgement {
    if effect != Effect::Safe || judgement.proves != Proof::Unknown {
        return judgement;
    }
    let then = match judgement.then {
        Then::Hold(_) => Then::Refuse(RejectReason::Refused),
        then @ (Then::Retry | Then::FetchResult | Then::Refuse(_)) => then,
    };
    Judgement {
        proves: Proof::NotApplied,
        then,
        ..judgement
    }
}

/// It took effect, and its result was cut: where the server gives it again, it is asked for with the
/// same key. A few times; an effect without its result is a success, too.
fn fetch_result(judgement: Judgement, of: &Circumstances<'_>) -> Judgement {
    let cut = judgement.proves == Proof::Applied && !judgement.keeps_result;
    let still_cut = of.history.fetches.is_some() && judgement.proves != Proof::Applied;
    let gives_again = match of.effect {
        Effect::Safe => true,
        Effect::Keyed | Effect::Overwrite => of.profile.replays_success,
        Effect::Unkeyed => false,
    };
    let used_up = of.history.fetches.unwrap_or(0) >= FETCH_RESULT_ATTEMPTS;
    if (cut || still_cut) && gives_again && !used_up {
        Judgement {
            then: Then::FetchResult,
            ..judgement
        }
    } else {
        judgement
    }
}

/// First: a rule of the profile.
fn by_rule(seen: &Seen<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    let rule = of.profile.rules.iter().find(|rule| rule.fits(seen))?;
    let judgement = verdict(rule, seen.answer, of);
    Some(Judgement {
        settles: if rule.settles {
            Settles::Everything
        } else {
            Settles::Nothing
        },
        ..judgement
    })
}

fn verdict(rule: &AnswerRule, answer: &Answer<'_>, of: &Circumstances<'_>) -> Judgement {
    let asked = asked_wait(answer, of);
    match rule.verdict {
        RuleVerdict::Applied => applied(answer.complete),
        RuleVerdict::Refused {
            reason: RejectReason::KeyReused,
        } => reused(of),
        RuleVerdict::Refused { reason } => refused(reason),
        RuleVerdict::Credentials => credentials(of),
        RuleVerdict::Busy => busy(of, asked),
        RuleVerdict::Retry => retry(Proof::NotApplied, asked),
        RuleVerdict::RetryInDoubt => retry(Proof::Unknown, asked),
        RuleVerdict::Wait => closing_host(retry(Proof::NotApplied, asked)),
        RuleVerdict::Held => held(HoldReason::OutcomeUnknown),
        RuleVerdict::Conflict => Judgement {
            proves: Proof::NotApplied,
            ..held(HoldReason::Conflict)
        },
    }
}

/// Second: `Stripe-Should-Retry` says what comes next, whatever else the answer says; what it proves
/// stays: <https://docs.stripe.com/error-low-level>.
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

/// Third: an error with a replay marker. The key is frozen to it, and asking again gives the same for
/// ever.
fn stored_error(answer: &Answer<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    if (200..300).contains(&answer.status) || !answer.is_replayed(of.profile) {
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
        ..refused(table::reason_of(answer, of))
    })
}

/// Fourth: a frozen error without a marker. A key is frozen by itself; when the host is down, nobody
/// is answered.
fn frozen(answer: &Answer<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    let history = &of.history;
    let is_frozen = matches!(answer.status, 500 | 501)
        && of.profile.errors_are_replayed == ReplayedErrors::All
        && answer.is_from_api(of.profile)
        && history.same_status == Some(answer.status)
        && history.same_answers.saturating_add(1) >= FROZEN_ATTEMPTS
        && history.same_for >= FROZEN_TIME
        && history.host_went_on;
    is_frozen.then(|| held(HoldReason::OutcomeUnknown))
}

/// Sixth (the fifth, a key that is too old, is looked at before a claim): a login page, a gateway's
/// error page, a success that isn't one of the API.
fn not_from_api(seen: &Seen<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    let answer = seen.answer;
    // Only what intercepts a connection says so (RFC 6585, section 6): the request went nowhere.
    if answer.status == 511 {
        return None;
    }
    let success = (200..300).contains(&answer.status);
    let undecided = success && !answer.complete && of.profile.looks_inside(answer.status);
    let unexpected = match &of.profile.expected_member {
        Some(pointer) if success && !matches!(answer.status, 204 | 205) => {
            answer.complete && seen.member(pointer).is_none()
        }
        Some(_) | None => false,
    };
    if answer.is_from_api(of.profile) && !undecided && !unexpected {
        return None;
    }
    // A portal says nothing about the server. An error page does, and so does a profile that
    // expects the wrong thing: they must not be asked about for ever.
    let portal = answer.status < 400 && answer.is_page();
    let judgement = Judgement {
        counts: if portal {
            Counts::Transport
        } else {
            Counts::Answered
        },
        ..retry(Proof::Unknown, asked_wait(answer, of))
    };
    Some(match answer.status {
        429 | 503 => closing_host(judgement),
        _ => judgement,
    })
}

/// The answer to the `GET` of where a 303 pointed. Login pages redirect like this, too.
fn followed(seen: &Seen<'_>, of: &Circumstances<'_>) -> Judgement {
    let judgement = by_rule(seen, of)
        .or_else(|| not_from_api(seen, of))
        .unwrap_or_else(|| table::judge(seen, of));
    if judgement.proves == Proof::Applied {
        judgement
    } else {
        held(HoldReason::OutcomeUnknown)
    }
}

pub(super) fn applied(complete: bool) -> Judgement {
    Judgement {
        proves: Proof::Applied,
        keeps_result: complete,
        ..retry(Proof::Applied, Wait::Backoff)
    }
}

pub(super) fn refused(reason: RejectReason) -> Judgement {
    Judgement {
        then: Then::Refuse(reason),
        keeps_result: true,
        ..retry(Proof::NotApplied, Wait::Backoff)
    }
}

pub(super) fn retry(proves: Proof, wait: Wait) -> Judgement {
    Judgement {
        proves,
        settles: Settles::Nothing,
        then: Then::Retry,
        wait,
        counts: Counts::Answered,
        closes: Closes::Nothing,
        keeps_result: false,
    }
}

pub(super) fn held(reason: HoldReason) -> Judgement {
    Judgement {
        then: Then::Hold(reason),
        ..retry(Proof::Unknown, Wait::Backoff)
    }
}

pub(super) fn closing_host(judgement: Judgement) -> Judgement {
    Judgement {
        closes: Closes::Host,
        ..judgement
    }
}

/// The credentials were refused. New ones open the way, with the same key, unless the key belongs to
/// the token. Nobody's submission has none to renew; and an account whose other submissions succeed
/// with the same credentials has a frozen key here, which must not stop all the others.
pub(super) fn credentials(of: &Circumstances<'_>) -> Judgement {
    let history = &of.history;
    let frozen = history.credentials_work && history.same_status == Some(401);
    if !of.account || frozen {
        return refused(RejectReason::Unauthorized);
    }
    let other_key = history.in_doubt && of.profile.key_scope == KeyScope::Token;
    Judgement {
        then: if other_key {
            Then::Hold(HoldReason::OutcomeUnknown)
        } else {
            Then::Retry
        },
        counts: Counts::Nothing,
        closes: Closes::Account,
        ..retry(Proof::NotApplied, Wait::Nothing)
    }
}

/// Still being worked on, until it has been said too often for too long.
pub(super) fn busy(of: &Circumstances<'_>, wait: Wait) -> Judgement {
    let used_up = of.history.busy_answers.saturating_add(1) >= of.limits.busy_attempts
        && of.history.busy_for >= of.limits.busy_time;
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

pub(super) fn reused(of: &Circumstances<'_>) -> Judgement {
    if of.derived_id {
        Judgement {
            proves: Proof::NotApplied,
            ..held(HoldReason::KeyUsedElsewhere)
        }
    } else {
        refused(RejectReason::KeyReused)
    }
}

pub(super) fn asked_wait(answer: &Answer<'_>, of: &Circumstances<'_>) -> Wait {
    match answer.asked_wait(of.wall) {
        Some(wait) => Wait::Server(wait.min(of.limits.server_wait_most)),
        None => Wait::Backoff,
    }
}
