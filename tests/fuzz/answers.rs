//! Heads and bodies of answers: every one has a meaning, and none says more than it proves.

use submit_once::classification::{Case, Meaning, Proof, judge};
use submit_once::{
    BuiltInProfile, Effect, HoldReason, RejectReason, Reported, SubmissionState, WallMs,
    WireAnswer, built_in_profile,
};

use crate::engine::fuzz;
use crate::mutator::Dice;
use crate::waits::header;

const PROFILES: [BuiltInProfile; 9] = [
    BuiltInProfile::Standard,
    BuiltInProfile::Ietf,
    BuiltInProfile::Stripe,
    BuiltInProfile::Paypal,
    BuiltInProfile::Adyen,
    BuiltInProfile::Square,
    BuiltInProfile::GoogleAip155,
    BuiltInProfile::Matrix,
    BuiltInProfile::Unkeyed,
];

/// The first line is the status, and `cut` after it says that the body isn't whole; lines of headers
/// up to an empty one; the body.
fn read(input: &[u8]) -> WireAnswer {
    let text = String::from_utf8_lossy(input);
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let (status, rest) = first.split_once(' ').unwrap_or((first, ""));
    WireAnswer {
        status: status.parse().unwrap_or(200),
        headers: lines.map(header).collect(),
        // As it came, not as text.
        body: input[input.len() - body.len().min(input.len())..].to_vec(),
        complete: rest != "cut",
    }
}

fn check(case: &Case, meaning: &Meaning) {
    assert_eq!(
        meaning.state == SubmissionState::Pending,
        meaning.next.is_some()
    );
    match meaning.state {
        SubmissionState::Succeeded => assert_eq!(meaning.proves, Proof::Applied),
        SubmissionState::Rejected { reason } => {
            assert!(!meaning.in_doubt, "rejected in doubt");
            assert_ne!(meaning.proves, Proof::Applied);
            assert!(!matches!(
                reason,
                RejectReason::BodyMissing | RejectReason::Dependency | RejectReason::Split
            ));
        }
        SubmissionState::Pending => {
            let unknown = meaning.proves == Proof::Unknown || case.in_doubt;
            assert!(unknown || !meaning.in_doubt, "a doubt out of nothing");
        }
        SubmissionState::Held { reason } => assert!(matches!(
            reason,
            HoldReason::OutcomeUnknown | HoldReason::Conflict | HoldReason::KeyUsedElsewhere
        )),
        SubmissionState::InFlight
        | SubmissionState::Cancelled
        | SubmissionState::Expired
        | SubmissionState::Superseded { .. }
        | SubmissionState::Abandoned => panic!("no answer says {:?}", meaning.state),
    }
    if meaning.proves == Proof::Unknown && case.effect != Effect::Safe {
        assert!(meaning.in_doubt, "an unknown attempt is no doubt");
    }
}

#[test]
fn every_answer_has_one_meaning_that_it_can_prove() {
    fuzz("answers", "malformed answers", 245_000, |input| {
        let answer = read(input);
        let mut dice = Dice::new(
            input
                .iter()
                .fold(7, |sum, byte| sum * 31 % 65_521 + u64::from(*byte)),
        );
        let mut case = Case::of(built_in_profile(PROFILES[dice.below(PROFILES.len())]));
        case.in_doubt = dice.below(2) == 0;
        case.account = dice.below(2) == 0;
        case.derived_id = dice.below(2) == 0;
        let mut types = answer
            .headers
            .iter()
            .filter(|header| header.name == "content-type");
        let html = match (types.next(), types.next()) {
            (Some(only), None) => {
                only.value.split(';').next().unwrap_or_default().trim() == "text/html"
            }
            _ => false,
        };
        let status = answer.status;
        let bodies = !answer.body.is_empty();
        let reported = Reported::Answered(answer);
        let meaning = judge(&case, &reported, WallMs(0));
        assert_eq!(
            meaning,
            judge(&case, &reported, WallMs(0)),
            "it changes its mind"
        );
        check(&case, &meaning);
        if html && bodies && status == 200 {
            assert_ne!(meaning.state, SubmissionState::Succeeded, "a portal's page");
        }
    });
}
