//! Whatever a server answers, under whatever profile: nothing panics, and what must hold holds.

use std::time::Duration;

use proptest::prelude::*;

use super::classify::{
    self, Answer, Circumstances, Counts, Fault, History, Judgement, Settles, Wait,
};
use super::classify_tests::FAULTS;
use super::limits::Limits;
use super::profile::ServerProfile;
use super::profile_json_tests::profile;
use crate::clock::WallMs;
use crate::model::state::{Doubt, Ending, Event, Proof, State, SubmissionState, Then};
use crate::model::submission::{Effect, Header};
use crate::model::transition::next;

/// Names that something looks at, and one that nothing does.
const NAMES: [&str; 12] = [
    "content-type",
    "date",
    "retry-after",
    "ratelimit",
    "ratelimit-remaining",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "stripe-should-retry",
    "idempotent-replayed",
    "request-idempotency",
    "transient-error",
    "x-other",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        "[0-9]{0,22}",
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("text/html".to_owned()),
        Just("application/json".to_owned()),
        Just("Sun, 06 Nov 1994 08:49:37 GMT".to_owned()),
        "\"a\";r=[0-9]{0,3};t=[0-9]{0,22}",
    ]
}

fn headers() -> impl Strategy<Value = Vec<Header>> {
    let header = (prop::sample::select(NAMES.to_vec()), value()).prop_map(|(name, value)| Header {
        name: name.to_owned(),
        value,
    });
    prop::collection::vec(header, 0..6)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[\\[\\]{}:,\"0-9a-z]{0,40}".prop_map(String::into_bytes),
        "\\{\"status\":[0-9]{1,4},\"errors\":\\[[0-9]?\\]\\}".prop_map(String::into_bytes),
        "<a>HTTP/1\\.1 [0-9]{0,4}</a>".prop_map(String::into_bytes),
    ]
}

fn history() -> impl Strategy<Value = History> {
    (
        any::<[bool; 4]>(),
        any::<(u32, u64)>(),
        prop::option::of(prop::sample::select(vec![401_u16, 500, 501])),
        any::<(u32, u64)>(),
        prop::option::of(0..5_u32),
    )
        .prop_map(
            |([in_doubt, never_sent, host_went_on, others_succeed], busy, same, long, fetches)| {
                History {
                    in_doubt,
                    never_sent: never_sent && !in_doubt,
                    busy_answers: busy.0,
                    busy_for: Duration::from_millis(busy.1),
                    same_status: same,
                    same_answers: long.0,
                    same_for: Duration::from_millis(long.1),
                    host_went_on,
                    refused_with: long.0,
                    others_succeed,
                    fetches,
                }
            },
        )
}

#[derive(Debug, Clone)]
struct Around {
    profile: ServerProfile,
    effect: Effect,
    flags: [bool; 4],
    history: History,
    wall: i64,
}

impl Around {
    fn circumstances<'a>(&'a self, limits: &'a Limits) -> Circumstances<'a> {
        let [derived_id, account, following, redirected] = self.flags;
        Circumstances {
            effect: self.effect,
            profile: &self.profile,
            limits,
            derived_id,
            account,
            following,
            redirected,
            history: self.history,
            wall: WallMs(self.wall),
        }
    }
}

fn around() -> impl Strategy<Value = Around> {
    let effects = vec![
        Effect::Safe,
        Effect::Overwrite,
        Effect::Keyed,
        Effect::Unkeyed,
    ];
    (
        profile(),
        prop::sample::select(effects),
        any::<[bool; 4]>(),
        history(),
        any::<i64>(),
    )
        .prop_map(|(profile, effect, flags, history, wall)| Around {
            profile,
            effect,
            flags,
            history,
            wall,
        })
}

/// What no judgement may break.
fn holds(judgement: &Judgement, around: &Around, limits: &Limits) -> Result<(), TestCaseError> {
    if let Wait::Server(asked) = judgement.wait {
        prop_assert!(asked <= limits.server_wait_most);
    }
    if around.effect == Effect::Safe {
        prop_assert_ne!(judgement.proves, Proof::Unknown);
    }
    if judgement.settles != Settles::Nothing {
        prop_assert_eq!(judgement.proves, Proof::NotApplied);
        prop_assert!(!around.profile.gateway_may_resend);
    }
    if judgement.then == Then::FetchResult {
        let was_applied = judgement.proves == Proof::Applied || around.history.fetches.is_some();
        prop_assert!(was_applied);
    }
    if judgement.counts == Counts::Nothing && judgement.then == Then::Retry {
        // It doesn't use up a budget, so something else must keep it from going on at once.
        prop_assert_ne!(judgement.proves, Proof::Applied);
    }
    let earlier = u32::from(around.history.in_doubt);
    let state = State {
        visible: SubmissionState::InFlight,
        doubt: Doubt {
            open: true,
            unknown: earlier,
            applied: around.history.fetches.is_some(),
        },
        cancel_requested: false,
    };
    let settled = judgement.settles != Settles::Nothing;
    let ending = Ending {
        proves: judgement.proves,
        closes_earlier: if settled { earlier } else { 0 },
        then: judgement.then,
    };
    let reached = next(&state, Event::AttemptEnded(ending));
    prop_assert!(reached.is_ok(), "{:?}", reached);
    let reached = reached.unwrap().next;
    if matches!(reached.visible, SubmissionState::Rejected { .. }) {
        prop_assert!(!reached.doubt.in_doubt() && !reached.doubt.applied);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_panics_or_breaks_a_promise(
        status in prop_oneof![100..600_u16, any::<u16>()],
        headers in headers(),
        body in body(),
        complete in any::<bool>(),
        around in around(),
    ) {
        let limits = Limits::default();
        let answer = Answer { status, headers: &headers, body: &body, complete };
        let judgement = classify::answer(&answer, &around.circumstances(&limits));
        holds(&judgement, &around, &limits)?;
        // What was cut is never kept as a result.
        if judgement.proves == Proof::Applied && judgement.keeps_result {
            prop_assert!(complete || matches!(status, 204 | 205 | 304));
        }
    }

    #[test]
    fn no_fault_panics_or_breaks_a_promise(
        fault in prop::sample::select(FAULTS.to_vec()),
        around in around(),
    ) {
        let limits = Limits::default();
        let judgement = classify::fault(fault, &around.circumstances(&limits));
        holds(&judgement, &around, &limits)?;
        prop_assert_eq!(judgement.settles, Settles::Nothing);
        prop_assert_ne!(judgement.proves, Proof::Applied);
        if let (Fault::Unreachable, [_, _, false, false]) = (fault, around.flags) {
            prop_assert_eq!(judgement.proves, Proof::NotApplied);
        }
    }
}
