//! What an answer would mean, without sending anything: for those who integrate or test a server.
//!
//! [`judge`] runs the rules that delivery runs, and then the one function that decides every change
//! of a submission. It is pure: no network, no database, no clock. The page `docs/classification.md`
//! shows its verdicts as tables, and the example `classify` compares the two.
//!
//! ```
//! use submit_once::classification::{Case, Next, Proof, judge};
//! use submit_once::{Reported, ServerProfile, SubmissionState, WallMs, WireAnswer};
//!
//! let case = Case::of(ServerProfile::stripe());
//! let answer = Reported::Answered(WireAnswer {
//!     status: 409,
//!     headers: Vec::new(),
//!     body: br#"{"error":{"code":"idempotency_key_in_use"}}"#.to_vec(),
//!     complete: true,
//! });
//! let meaning = judge(&case, &answer, WallMs(0));
//! assert_eq!(meaning.state, SubmissionState::Pending);
//! assert_eq!(meaning.next, Some(Next::InProgress));
//! assert_eq!(meaning.proves, Proof::Unknown);
//! ```

use std::time::Duration;

use crate::clock::WallMs;
use crate::delivery::transport::Reported;
use crate::model::state::{Doubt, Ending, Event, State, SubmissionState, Then};
use crate::model::submission::Effect;
use crate::model::transition::next;
use crate::policy::age::key_lifetime;
use crate::policy::classify::{
    self, Answer, Circumstances, Closes, Counts, Fault, History, Judgement, Settles, Wait,
};
use crate::policy::limits::Limits;
use crate::policy::profile::ServerProfile;

pub use crate::model::state::Proof;

/// What is known of a submission when an exchange of it ends: the first one, or the first after one
/// that nobody knows the outcome of. What only many answers show isn't in it: no budget is used up,
/// and no error has come again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// How the server treats keys.
    pub profile: ServerProfile,
    /// What a repeat does.
    pub effect: Effect,
    /// An earlier attempt may have taken effect.
    pub in_doubt: bool,
    /// It was sent with the credentials of an account.
    pub account: bool,
    /// Its ID was derived, so that another device may have used it.
    pub derived_id: bool,
}

impl Case {
    /// The first exchange of a submission of nobody's under a profile, with the profile's effect.
    pub fn of(profile: ServerProfile) -> Self {
        Self {
            effect: profile.effect,
            profile,
            in_doubt: false,
            account: false,
            derived_id: false,
        }
    }
}

/// What an exchange means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// What it proves about its own attempt.
    pub proves: Proof,
    /// The state that it leads to. Where the key must not be sent again it is the one that the next
    /// look finds.
    pub state: SubmissionState,
    /// Whether an attempt may have taken effect without anybody knowing, this one or an earlier one.
    pub in_doubt: bool,
    /// What a pending submission waits for or does next. Nothing in any other state.
    pub next: Option<Next>,
    /// How long the server asked to wait, at most a day. The backoff may be longer.
    pub asked: Option<Duration>,
}

/// What a pending submission waits for or does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// The same request again after the backoff, and after the quiet time where it is in doubt.
    Retry,
    /// The same, after the longest backoff: trying sooner can't help.
    RetryLate,
    /// The same, since the server is still at work on an earlier request, or has the resource
    /// locked. A few times only.
    InProgress,
    /// It took effect, and its result was cut: the same request again, to get it.
    Result,
    /// A network: there is none, it lost the exchange, or something in it has answered instead of the
    /// server. Tried again after the backoff in any case.
    Network,
    /// A certificate of the server that can be trusted. Tried again after the longest backoff.
    Certificate,
    /// The host has asked everybody to wait; others that go there wait, too.
    Host,
    /// Other credentials of its account; others of the account wait, too.
    Credentials,
}

/// Says what an exchange means, with the default limits.
///
/// Names of headers are in lower case. A redirect is judged as one that isn't followed: because its
/// place is at another origin, or because it was the fourth. `wall` is the device's clock, for a
/// date in `Retry-After` of an answer that has no `Date`.
pub fn judge(case: &Case, reported: &Reported, wall: WallMs) -> Meaning {
    let limits = Limits::default();
    let of = Circumstances {
        effect: case.effect,
        profile: &case.profile,
        limits: &limits,
        derived_id: case.derived_id,
        account: case.account,
        following: false,
        redirected: false,
        history: History {
            in_doubt: case.in_doubt,
            never_sent: !case.in_doubt,
            ..History::default()
        },
        wall,
    };
    let judgement = match reported {
        Reported::Failed(fault) => classify::fault(*fault, &of),
        Reported::Answered(answer) => classify::answer(
            &Answer {
                status: answer.status,
                headers: &answer.headers,
                body: &answer.body,
                complete: answer.complete,
            },
            &of,
        ),
    };
    let reached = reach(case, &judgement, &limits);
    Meaning {
        proves: judgement.proves,
        state: reached.visible,
        in_doubt: reached.doubt.in_doubt(),
        next: (reached.visible == SubmissionState::Pending)
            .then(|| next_step(reported, &judgement)),
        asked: match judgement.wait {
            Wait::Server(asked) => Some(asked),
            Wait::Nothing | Wait::Backoff | Wait::Long => None,
        },
    }
}

/// The state after the attempt, and after the next look where the key is too old from the start.
fn reach(case: &Case, judgement: &Judgement, limits: &Limits) -> State {
    let unknown = u32::from(case.in_doubt);
    let in_flight = State {
        visible: SubmissionState::InFlight,
        doubt: Doubt {
            open: true,
            unknown,
            applied: false,
        },
        cancel_requested: false,
    };
    let closes_earlier = match judgement.settles {
        Settles::Nothing => 0,
        Settles::SinceConsent | Settles::Everything => unknown,
    };
    let ending = Event::AttemptEnded(Ending {
        proves: judgement.proves,
        closes_earlier,
        then: judgement.then,
    });
    // The classifier gives nothing that the state function refuses: a test goes through all.
    let after = |state: State, event| next(&state, event).map_or(state, |reached| reached.next);
    let ended = after(in_flight, ending);
    let lifetime = key_lifetime(case.effect, &case.profile, limits.horizon);
    let pending = ended.visible == SubmissionState::Pending;
    if pending && ended.doubt.in_doubt() && lifetime == Some(Duration::ZERO) {
        after(ended, Event::KeyLifetimeOver)
    } else {
        ended
    }
}

fn next_step(reported: &Reported, judgement: &Judgement) -> Next {
    if let Reported::Failed(Fault::Tls | Fault::TlsClock) = reported {
        return Next::Certificate;
    }
    let fetches = judgement.then == Then::FetchResult;
    match (judgement.closes, judgement.counts, judgement.wait) {
        (Closes::Account, ..) => Next::Credentials,
        (Closes::Host, ..) => Next::Host,
        _ if fetches => Next::Result,
        (Closes::Nothing, Counts::Busy, _) => Next::InProgress,
        (Closes::Nothing, Counts::Transport, _) => Next::Network,
        (Closes::Nothing, _, Wait::Long) => Next::RetryLate,
        (Closes::Nothing, ..) => Next::Retry,
    }
}

#[cfg(test)]
#[path = "classification_tests.rs"]
mod tests;
