//! What an answer means. A pure function from the circumstances and the answer, or the lack of
//! one, to a judgement: what it proves about its own attempt, what it settles of earlier ones, and
//! what comes next. The statuses by themselves are in `table`; here is what comes before and after.

use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::Effect;
use crate::weakness::{self, Weakness};

pub use super::answer::Answer;
use super::answer::Seen;
pub use super::judgement::{
    Circumstances, Closes, Counts, Fault, History, Judgement, Settles, Wait,
};
use super::limits::{FETCH_RESULT_ATTEMPTS, FROZEN_ATTEMPTS, FROZEN_REFUSALS, FROZEN_TIME};
use super::profile::{KeyScope, ReplayedErrors};
use super::rules::{AnswerRule, RuleVerdict};
use super::table;

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
        Fault::TimedOut | Fault::Lost => again(Proof::Unknown, Wait::Backoff, Counts::Transport),
        // The app went away, which says nothing of the network.
        Fault::Stopped => again(Proof::Unknown, Wait::Backoff, Counts::Nothing),
        // It will say the same again: it must not be asked for ever.
        Fault::BadAnswer => again(Proof::Unknown, Wait::Backoff, Counts::Answered),
    };
    let judgement = judgement.turned_by_a_test(&fault);
    // Of what was answered with a redirect, another copy may still be under way.
    let resent = of.redirected && of.profile.gateway_may_resend;
    let judgement = if resent && judgement.proves == Proof::NotApplied {
        Judgement {
            proves: Proof::Unknown,
            ..judgement
        }
    } else {
        judgement
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
    let judgement = Judgement {
        proves: Proof::NotApplied,
        ..judgement
    };
    match judgement.then {
        Then::Hold(_) => Judgement {
            then: Then::Refuse(RejectReason::Refused),
            keeps_result: true,
            ..judgement
        },
        Then::Retry | Then::FetchResult | Then::Refuse(_) => judgement,
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
    let fetched = match of.history.fetches {
        Some(before) => before.saturating_add(1),
        None => 0,
    };
    let used_up = fetched >= FETCH_RESULT_ATTEMPTS;
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
    // What took effect settles everything by itself, and may have done so at an earlier attempt.
    let settles = if rule.settles && judgement.proves == Proof::NotApplied {
        Settles::Everything
    } else {
        Settles::Nothing
    };
    Some(Judgement {
        settles,
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
        RuleVerdict::Credentials => credentials(answer, of),
        RuleVerdict::Busy => busy(of, asked),
        RuleVerdict::Retry => retry(Proof::NotApplied, asked),
        RuleVerdict::RetryInDoubt => retry(Proof::Unknown, asked),
        RuleVerdict::Wait => closing_host(answer, of, retry(Proof::NotApplied, asked)),
        RuleVerdict::Held => held(HoldReason::OutcomeUnknown),
        RuleVerdict::Conflict => Judgement {
            proves: Proof::NotApplied,
            ..held(HoldReason::Conflict)
        },
    }
}

/// Second: `Stripe-Should-Retry` says what comes next, whatever else the answer says; what it proves
/// stays, and so does what it means for others: <https://docs.stripe.com/error-low-level>.
fn should_retry(answer: &Answer<'_>, of: &Circumstances<'_>, judgement: Judgement) -> Judgement {
    let asked = answer.header("stripe-should-retry");
    match (asked, judgement.then, judgement.proves) {
        // Refused credentials are asked about with others, whatever it says.
        (Some(_), _, _) if judgement.closes == Closes::Account => judgement,
        (Some("false"), Then::Retry, Proof::NotApplied) => Judgement {
            then: Then::Refuse(table::reason_of(answer, of)),
            keeps_result: true,
            ..judgement
        },
        (Some("false"), Then::Retry, Proof::Unknown) => Judgement {
            then: Then::Hold(HoldReason::OutcomeUnknown),
            ..judgement
        },
        (Some("true"), Then::Refuse(_) | Then::Hold(_), proves) => Judgement {
            closes: judgement.closes,
            ..retry(proves, asked_wait(answer, of))
        },
        _ => judgement,
    }
}

/// Third: an error with a replay marker. The key is frozen to it, and asking again gives the same for
/// ever.
fn stored_error(answer: &Answer<'_>, of: &Circumstances<'_>) -> Option<Judgement> {
    if (200..300).contains(&answer.status)
        || !answer.is_replayed(of.profile)
        || weakness::is_out(Weakness::StoredErrorIsRetried)
    {
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
    // 204 and 205 have no body (RFC 9110, sections 15.3.5 and 15.3.6).
    let bodiless = matches!(answer.status, 204 | 205);
    let success = (200..300).contains(&answer.status) && !bodiless;
    let undecided = !answer.complete && !bodiless && of.profile.looks_inside(answer.status);
    let unexpected = match &of.profile.expected_member {
        Some(pointer) if success => answer.complete && seen.member(pointer).is_none(),
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
        429 | 503 => closing_host(answer, of, judgement),
        _ => judgement,
    })
}

/// The answer to the `GET` of where a 303 pointed. Login pages redirect like this, too.
fn followed(seen: &Seen<'_>, of: &Circumstances<'_>) -> Judgement {
    let judgement = by_rule(seen, of)
        .or_else(|| not_from_api(seen, of))
        .unwrap_or_else(|| table::judge(seen, of));
    // Behind a fetch there is no action whose outcome could be unknown.
    if judgement.proves == Proof::Applied || of.effect == Effect::Safe {
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

/// The host asks everybody to wait. Not again where it says so of one key while others get through:
/// that key is frozen to what it was told once.
pub(super) fn closing_host(
    answer: &Answer<'_>,
    of: &Circumstances<'_>,
    judgement: Judgement,
) -> Judgement {
    let own_affair = of.history.same_status == Some(answer.status)
        && of.history.host_went_on
        && of.profile.errors_are_replayed != ReplayedErrors::Nothing;
    Judgement {
        closes: if own_affair {
            Closes::Nothing
        } else {
            Closes::Host
        },
        ..judgement
    }
}

/// The credentials were refused. New ones open the way, with the same key, unless the key belongs to
/// the token. Nobody's submission has none to renew; and an account whose other submissions succeed
/// with the same credentials has a frozen key here, which must not stop all the others.
pub(super) fn credentials(answer: &Answer<'_>, of: &Circumstances<'_>) -> Judgement {
    let history = &of.history;
    let frozen = history.others_succeed
        && history.same_status == Some(answer.status)
        && history.refused_with >= FROZEN_REFUSALS;
    if !of.account || frozen {
        return refused(RejectReason::Unauthorized);
    }
    let scoped = of.effect == Effect::Keyed && of.profile.key_scope == KeyScope::Token;
    let other_key = history.in_doubt && scoped;
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
