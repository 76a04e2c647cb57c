//! The words of a judgement: what is known before an answer is read, why there is none, and what an
//! exchange means.

use std::time::Duration;

use super::limits::Limits;
use super::profile::ServerProfile;
use crate::clock::WallMs;
use crate::model::state::{Proof, Then};
use crate::model::submission::Effect;
use crate::weakness;

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
    /// The request has been answered with a redirect before.
    pub redirected: bool,
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
    /// With how many different credentials it was refused, with the same status in a row.
    pub refused_with: u32,
    /// Other submissions of the account have succeeded since the first of those refusals.
    pub others_succeed: bool,
    /// Attempts before this one to get the result of one that took effect and whose result was cut.
    /// Nothing if there is no such attempt.
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

impl Judgement {
    /// Itself, unless a test wants this verdict to be another, to see that it is missed: an effect was
    /// had where there was none, or the other way round.
    pub(super) fn turned_by_a_test(self, what: &dyn std::fmt::Debug) -> Self {
        if !weakness::is_turned(what) {
            return self;
        }
        let proves = match self.proves {
            Proof::Applied => Proof::NotApplied,
            Proof::NotApplied => Proof::Unknown,
            Proof::Unknown => Proof::NotApplied,
        };
        Self { proves, ..self }
    }
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
