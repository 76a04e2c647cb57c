use std::time::Duration;

use super::{Case, Meaning, Next, Proof, judge};
use crate::clock::WallMs;
use crate::delivery::transport::{Reported, WireAnswer};
use crate::model::state::{HoldReason, RejectReason, SubmissionState};
use crate::model::submission::{Effect, Header};
use crate::policy::classify::Fault;
use crate::policy::profile::ServerProfile;

const HELD: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};

fn standard() -> Case {
    Case::of(ServerProfile::standard())
}

fn in_doubt(case: Case) -> Case {
    Case {
        in_doubt: true,
        ..case
    }
}

fn answered(case: &Case, status: u16, headers: &[(&str, &str)], complete: bool) -> Meaning {
    let headers = headers
        .iter()
        .map(|(name, value)| Header {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        })
        .collect();
    let answer = WireAnswer {
        status,
        headers,
        body: b"{}".to_vec(),
        complete,
    };
    judge(case, &Reported::Answered(answer), WallMs(784_111_777_000))
}

fn got(case: &Case, status: u16) -> Meaning {
    answered(case, status, &[], true)
}

fn failed(case: &Case, fault: Fault) -> Meaning {
    judge(case, &Reported::Failed(fault), WallMs(0))
}

#[test]
fn an_answer_leads_to_a_state_and_what_comes_next() {
    let done = got(&standard(), 201);
    assert_eq!(done.state, SubmissionState::Succeeded);
    assert_eq!(
        (done.proves, done.in_doubt, done.next),
        (Proof::Applied, false, None)
    );
    let refused = got(&standard(), 404);
    let reason = RejectReason::Refused;
    assert_eq!(refused.state, SubmissionState::Rejected { reason });
    let still = got(&in_doubt(standard()), 404);
    assert_eq!((still.state, still.in_doubt), (HELD, true));
    let error = got(&standard(), 500);
    assert_eq!(error.state, SubmissionState::Pending);
    assert_eq!((error.in_doubt, error.next), (true, Some(Next::Retry)));
}

#[test]
fn every_next_step_has_its_answer() {
    let account = Case {
        account: true,
        ..standard()
    };
    for (case, status, next) in [
        (standard(), 425, Next::Retry),
        (standard(), 507, Next::RetryLate),
        (standard(), 409, Next::InProgress),
        (standard(), 511, Next::Network),
        (standard(), 429, Next::Host),
        (standard(), 503, Next::Host),
        (account, 401, Next::Credentials),
    ] {
        let meaning = got(&case, status);
        assert_eq!(meaning.state, SubmissionState::Pending, "{status}");
        assert_eq!(meaning.next, Some(next), "{status}");
    }
    let cut = answered(&Case::of(ServerProfile::ietf()), 200, &[], false);
    assert_eq!(
        (cut.state, cut.next),
        (SubmissionState::Pending, Some(Next::Result))
    );
    assert_eq!(
        failed(&standard(), Fault::Offline).next,
        Some(Next::Network)
    );
    for fault in [Fault::Tls, Fault::TlsClock] {
        assert_eq!(failed(&standard(), fault).next, Some(Next::Certificate));
    }
    assert_eq!(failed(&standard(), Fault::Stopped).next, Some(Next::Retry));
    assert_eq!(
        failed(&standard(), Fault::NotProcessed).next,
        Some(Next::Retry)
    );
}

/// C11: where a repeat may be a second effect, the next look holds what is in doubt.
#[test]
fn what_must_not_be_sent_again_is_held() {
    let aborting = ServerProfile {
        aborts_handlers: true,
        ..ServerProfile::standard()
    };
    let forgetful = ServerProfile {
        retention: Some(Duration::from_secs(600)),
        ..ServerProfile::standard()
    };
    for profile in [ServerProfile::unkeyed(), aborting, forgetful] {
        let case = Case::of(profile);
        assert_eq!(failed(&case, Fault::Lost).state, HELD);
        assert_eq!(got(&case, 500).state, HELD);
        assert_eq!(got(&case, 425).state, SubmissionState::Pending);
        assert_eq!(got(&in_doubt(case), 425).state, HELD);
    }
    let put = Case::of(ServerProfile::plain_put());
    assert_eq!(put.effect, Effect::Overwrite);
    assert_eq!(got(&in_doubt(put), 500).state, SubmissionState::Pending);
}

#[test]
fn a_stored_refusal_settles_doubt_where_the_server_locks() {
    let stored = |profile| {
        let case = in_doubt(Case::of(profile));
        answered(&case, 402, &[("idempotent-replayed", "true")], true).state
    };
    let reason = RejectReason::Refused;
    assert_eq!(
        stored(ServerProfile::ietf()),
        SubmissionState::Rejected { reason }
    );
    assert_eq!(stored(ServerProfile::standard()), HELD);
}

#[test]
fn the_wait_that_was_asked_for_is_told() {
    let asked = |value| answered(&standard(), 503, &[("retry-after", value)], true).asked;
    assert_eq!(asked("7"), Some(Duration::from_secs(7)));
    assert_eq!(
        asked("Sun, 06 Nov 1994 08:50:37 GMT"),
        Some(Duration::from_secs(60))
    );
    assert_eq!(asked("999999"), Some(Duration::from_secs(86_400)));
    assert_eq!(asked("later"), None);
}

/// What was never sent and can't be is no doubt.
#[test]
fn a_body_that_is_gone_is_refused_before_the_first_attempt_and_held_after_it() {
    let reason = RejectReason::BodyMissing;
    let first = failed(&standard(), Fault::BodyMissing).state;
    assert_eq!(first, SubmissionState::Rejected { reason });
    let reason = HoldReason::Damaged;
    let later = failed(&in_doubt(standard()), Fault::BodyMissing).state;
    assert_eq!(later, SubmissionState::Held { reason });
}
