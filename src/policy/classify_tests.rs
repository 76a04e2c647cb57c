//! The statuses, one by one, as a table written by hand; then what no
//! answer means. What comes before the table is in `classify_rules_tests.rs`.

use super::classify::{
    self, Answer, Circumstances, Closes, Counts, Fault, History, Judgement, Settles, Wait,
};
use super::limits::Limits;
use super::profile::ServerProfile;
use crate::clock::WallMs;
use crate::model::state::{HoldReason, Proof, RejectReason, Then};
use crate::model::submission::{Effect, Header};

use Proof::{Applied as Y, NotApplied as N, Unknown as Q};

pub const RETRY: Then = Then::Retry;
pub const CONFIGURATION: Then = Then::Refuse(RejectReason::Configuration);
pub const REFUSED: Then = Then::Refuse(RejectReason::Refused);
pub const UNKNOWN: Then = Then::Hold(HoldReason::OutcomeUnknown);

/// First status, last status, what it proves, what comes next. An applied answer has no next.
#[rustfmt::skip]
const STATUSES: &[(u16, u16, Proof, Then)] = &[
    (100, 199, Q, RETRY),         // never final; 102 counts as busy
    (200, 205, Y, RETRY),
    (206, 299, Q, UNKNOWN),       // part of an answer, several answers, or none that anybody knows
    (300, 300, Q, UNKNOWN),
    (301, 302, N, CONFIGURATION), // following makes a GET of a POST
    (303, 304, Q, UNKNOWN),
    (305, 308, N, CONFIGURATION),
    (309, 399, Q, UNKNOWN),       // like 300
    (400, 400, N, CONFIGURATION),
    (401, 401, N, Then::Refuse(RejectReason::Unauthorized)),
    (402, 404, N, REFUSED),
    (405, 405, N, CONFIGURATION),
    (406, 406, Q, UNKNOWN),       // done, perhaps, and then not told in an acceptable form
    (407, 407, N, RETRY),
    (408, 409, Q, RETRY),         // 409 counts as busy
    (410, 410, N, REFUSED),
    (411, 411, N, CONFIGURATION),
    (412, 412, N, Then::Hold(HoldReason::Conflict)),
    (413, 413, N, REFUSED),
    (414, 417, N, CONFIGURATION),
    (418, 420, N, REFUSED),
    (421, 421, N, RETRY),
    (422, 422, N, Then::Refuse(RejectReason::Invalid)),
    (423, 423, N, RETRY),         // counts as busy
    (424, 424, Q, UNKNOWN),
    (425, 425, N, RETRY),
    (426, 426, N, CONFIGURATION),
    (427, 427, N, REFUSED),
    (428, 428, N, CONFIGURATION),
    (429, 429, N, RETRY),
    (430, 430, N, REFUSED),
    (431, 431, N, CONFIGURATION),
    (432, 443, N, REFUSED),
    (444, 444, Q, RETRY),
    (445, 459, N, REFUSED),
    (460, 460, Q, RETRY),
    (461, 498, N, REFUSED),
    (499, 499, Q, RETRY),
    (500, 500, Q, RETRY),
    (501, 501, N, CONFIGURATION),
    (502, 504, Q, RETRY),
    (505, 506, N, CONFIGURATION),
    (507, 507, Q, RETRY),
    (508, 508, N, CONFIGURATION),
    (509, 509, Q, RETRY),
    (510, 510, N, CONFIGURATION),
    (511, 511, N, RETRY),
    (512, 520, Q, RETRY),
    (521, 521, N, RETRY),
    (522, 522, Q, RETRY),
    (523, 523, N, RETRY),
    (524, 524, Q, RETRY),
    (525, 526, N, RETRY),
    (527, 599, Q, RETRY),
];

/// An exchange to judge: a JSON answer to a keyed `POST`, unless a test says otherwise.
pub struct Exchange {
    pub status: u16,
    pub headers: Vec<Header>,
    pub body: &'static [u8],
    pub complete: bool,
    pub effect: Effect,
    pub profile: ServerProfile,
    pub derived_id: bool,
    pub account: bool,
    pub following: bool,
    pub history: History,
}

pub fn got(status: u16) -> Exchange {
    Exchange {
        status,
        headers: Vec::new(),
        body: b"{}",
        complete: true,
        effect: Effect::Keyed,
        profile: ServerProfile::standard(),
        derived_id: false,
        account: false,
        following: false,
        history: History::default(),
    }
    .with("content-type", "application/json")
}

/// A page for people.
pub fn got_html(status: u16) -> Exchange {
    Exchange {
        headers: Vec::new(),
        body: b"<html><body>Welcome to the hotel</body></html>",
        ..got(status)
    }
    .with("content-type", "text/html; charset=utf-8")
}

impl Exchange {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push(Header {
            name: name.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    pub fn on(mut self, profile: ServerProfile) -> Self {
        self.profile = profile;
        self
    }

    pub fn saying(mut self, body: &'static [u8]) -> Self {
        self.body = body;
        self
    }

    pub fn after(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// The body was cut.
    pub fn cut(mut self) -> Self {
        self.complete = false;
        self
    }

    /// To a request with the credentials of an account.
    pub fn with_account(mut self) -> Self {
        self.account = true;
        self
    }

    /// To the `GET` of where a 303 pointed.
    pub fn following(mut self) -> Self {
        self.following = true;
        self
    }

    pub fn judge(&self) -> Judgement {
        classify::answer(
            &Answer {
                status: self.status,
                headers: &self.headers,
                body: self.body,
                complete: self.complete,
            },
            &self.circumstances(&Limits::default()),
        )
    }

    pub fn circumstances<'a>(&'a self, limits: &'a Limits) -> Circumstances<'a> {
        Circumstances {
            effect: self.effect,
            profile: &self.profile,
            limits,
            derived_id: self.derived_id,
            account: self.account,
            following: self.following,
            redirected: false,
            history: self.history,
            wall: WallMs(784_111_777_000), // Sun, 06 Nov 1994 08:49:37 GMT
        }
    }

    #[track_caller]
    pub fn means(&self, proves: Proof, then: Then) -> Judgement {
        let judgement = self.judge();
        assert_eq!(
            (judgement.proves, judgement.then),
            (proves, then),
            "{}",
            self.status
        );
        judgement
    }
}

pub fn locking() -> ServerProfile {
    ServerProfile {
        locks: true,
        ..ServerProfile::standard()
    }
}

pub fn behind_a_gateway() -> ServerProfile {
    ServerProfile {
        gateway_may_resend: true,
        ..ServerProfile::standard()
    }
}

/// Each status with its row.
pub fn table() -> Vec<(u16, Proof, Then)> {
    let rows: Vec<_> = STATUSES
        .iter()
        .flat_map(|(first, last, proves, then)| {
            (*first..=*last).map(move |status| (status, *proves, *then))
        })
        .collect();
    let statuses: Vec<u16> = rows.iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, (100..=599).collect::<Vec<_>>());
    rows
}

/// P5: what an answer proves decides what may be called settled.
#[test]
fn every_status_means_what_the_table_says() {
    for (status, proves, then) in table() {
        let judgement = got(status).means(proves, then);
        assert_eq!(judgement.settles, Settles::Nothing, "{status}");
        let counts = match status {
            102 | 409 | 423 => Counts::Busy,
            407 | 511 => Counts::Transport,
            _ => Counts::Answered,
        };
        assert_eq!(judgement.counts, counts, "{status}");
        let is_result = proves == Y || matches!(then, Then::Refuse(_));
        assert_eq!(judgement.keeps_result, is_result, "{status}");
        let wait = if status == 507 {
            Wait::Long
        } else {
            Wait::Backoff
        };
        assert_eq!(judgement.wait, wait, "{status}");
    }
}

#[test]
fn a_safe_method_is_never_in_doubt_and_never_held_for_it() {
    for (status, proves, then) in table() {
        let (proves, then) = match (status, proves, then) {
            (304, ..) => (Y, RETRY), // unchanged is what a fetch wanted to know
            (_, Q, Then::Hold(_)) => (N, REFUSED),
            (_, Q, then) => (N, then),
            (_, proves, then) => (proves, then),
        };
        let fetch = Exchange {
            effect: Effect::Safe,
            ..got(status)
        };
        let is_result = proves == Y || matches!(then, Then::Refuse(_));
        assert_eq!(
            fetch.means(proves, then).keeps_result,
            is_result,
            "{status}"
        );
    }
    for fault in FAULTS {
        let judgement = meets(fault, Effect::Safe);
        assert_eq!(judgement.proves, N, "{fault:?}");
    }
}

#[test]
fn what_a_repeat_does_changes_nothing_for_the_other_effects() {
    for (status, ..) in table() {
        for effect in [Effect::Overwrite, Effect::Unkeyed] {
            let exchange = Exchange {
                effect,
                ..got(status)
            };
            assert_eq!(exchange.judge(), got(status).judge(), "{status}");
        }
    }
}

/// P5: another copy of the request may be under way, whatever this copy was told.
#[test]
fn behind_a_gateway_that_resends_no_answer_proves_that_nothing_happened() {
    for (status, proves, then) in table() {
        let proves = if proves == N { Q } else { proves };
        let exchange = Exchange {
            profile: behind_a_gateway(),
            ..got(status)
        };
        exchange.means(proves, then);
    }
}

#[test]
fn half_an_answer_proves_as_much_as_its_status_but_is_no_result() {
    for status in [200, 201, 202] {
        let cut = Exchange {
            complete: false,
            ..got(status)
        };
        assert!(!cut.means(Y, RETRY).keeps_result);
    }
    let cut = Exchange {
        complete: false,
        ..got(500)
    };
    cut.means(Q, RETRY);
}

pub const FAULTS: [Fault; 13] = [
    Fault::Offline,
    Fault::Unreachable,
    Fault::Tls,
    Fault::TlsClock,
    Fault::NotSent,
    Fault::NotProcessed,
    Fault::BodyMissing,
    Fault::BodyChanged,
    Fault::BodyUnreadable,
    Fault::TimedOut,
    Fault::Lost,
    Fault::BadAnswer,
    Fault::Stopped,
];

fn meets(fault: Fault, effect: Effect) -> Judgement {
    let exchange = Exchange { effect, ..got(0) };
    classify::fault(fault, &exchange.circumstances(&Limits::default()))
}

/// P5. Where bytes may have left, nobody knows; and no fault gives up or speaks for earlier attempts.
#[test]
fn every_fault_proves_only_what_the_stack_can_tell() {
    for fault in FAULTS {
        let (proves, wait, counts) = match fault {
            Fault::NotSent | Fault::BodyMissing | Fault::BodyChanged => {
                (N, Wait::Backoff, Counts::Nothing)
            }
            Fault::Offline | Fault::Unreachable | Fault::BodyUnreadable => {
                (N, Wait::Backoff, Counts::Transport)
            }
            Fault::Tls | Fault::TlsClock => (N, Wait::Long, Counts::Transport),
            Fault::NotProcessed => (N, Wait::Backoff, Counts::Answered),
            Fault::BadAnswer => (Q, Wait::Backoff, Counts::Answered),
            Fault::TimedOut | Fault::Lost => (Q, Wait::Backoff, Counts::Transport),
            Fault::Stopped => (Q, Wait::Backoff, Counts::Nothing),
        };
        for effect in [Effect::Overwrite, Effect::Keyed, Effect::Unkeyed] {
            let then = match fault {
                Fault::BodyMissing | Fault::BodyChanged => Then::Hold(HoldReason::Damaged),
                _ => RETRY,
            };
            let expected = Judgement {
                proves,
                settles: Settles::Nothing,
                then,
                wait,
                counts,
                closes: Closes::Nothing,
                keeps_result: false,
            };
            assert_eq!(meets(fault, effect), expected, "{fault:?}");
        }
    }
}
