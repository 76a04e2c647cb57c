//! What a profile says of answers, over real sockets: where the status alone doesn't tell; and answers
//! that mean something only after others.

use std::time::Duration;

use submit_once::{
    AnswerRule, HoldReason, RejectReason, RuleVerdict, ServerProfile, Submission, SubmissionId,
    SubmissionState,
};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::{assert_converged, server};
use crate::stage::Stage;

fn held(reason: HoldReason) -> SubmissionState {
    SubmissionState::Held { reason }
}

fn refused(reason: RejectReason) -> SubmissionState {
    SubmissionState::Rejected { reason }
}

fn json(status: u16, body: &str) -> Behaviour {
    Behaviour::respond(status, "application/json", body)
}

fn staged(server: &ReferenceServer, change: impl FnOnce(&mut ServerProfile)) -> Stage {
    let mut profile = ServerProfile::standard();
    change(&mut profile);
    Stage::with(&server.url(), |config| config.profile(profile))
}

/// F17: "already done, and here it is" is a success, and settles what was in doubt.
#[test]
fn a_conflict_can_mean_already_done() {
    let server = server();
    let already = AnswerRule::on(409, RuleVerdict::Applied).member("/order", None);
    let stage = staged(&server, |profile| profile.rules = vec![already]);
    server.script(
        Matcher::Any,
        vec![Behaviour::CommitThenDrop, json(409, r#"{"order":7}"#)],
    );
    let id = stage.submit("/orders");
    stage.drain();
    stage.hours_later();
    stage.drain();
    let snapshot = stage.snapshot(id);
    assert_eq!(snapshot.state, SubmissionState::Succeeded);
    assert_eq!(snapshot.outcome.unwrap().body.unwrap(), br#"{"order":7}"#);
    assert_converged(&server, 1);
}

/// A rule may speak for all attempts: then a refusal is final, in doubt too.
#[test]
fn a_rule_that_settles_refuses_in_doubt() {
    let server = server();
    let verdict = RuleVerdict::Refused {
        reason: RejectReason::Invalid,
    };
    let rule = AnswerRule::on(422, verdict).settles();
    let stage = staged(&server, |profile| profile.rules = vec![rule]);
    server.script(
        Matcher::Any,
        vec![
            Behaviour::reset_after_read().without_effect(),
            json(422, "{}"),
        ],
    );
    let id = stage.submit("/orders");
    stage.drain();
    stage.hours_later();
    stage.drain();
    assert_eq!(stage.snapshot(id).state, refused(RejectReason::Invalid));
    assert_eq!(stage.marks(id), ["not_applied", "not_applied"]);
    assert_converged(&server, 0);
}

/// Behind a gateway that sends again by itself "not applied" speaks for one copy only.
#[test]
fn behind_a_gateway_that_repeats_a_refusal_proves_nothing() {
    let server = server();
    let stage = staged(&server, |profile| profile.gateway_may_resend = true);
    server.script(Matcher::Any, vec![json(400, "{}")]);
    let id = stage.submit("/orders");
    stage.drain();
    assert_eq!(stage.snapshot(id).state, held(HoldReason::OutcomeUnknown));
    assert_eq!(stage.marks(id), ["unknown"]);
}

/// A derived ID that the server knows with another payload was used by another device.
#[test]
fn a_derived_key_that_was_used_elsewhere_is_held() {
    let server = server();
    let stage = Stage::new(&server.url());
    let id = SubmissionId::derived(None, "order", "7");
    let other = Stage::new(&server.url());
    for (stage, body) in [(&other, "1"), (&stage, "2")] {
        let order = Submission::post(id, "/orders").json(body);
        stage.outbox.submit(order).unwrap();
        stage.drain();
    }
    assert_eq!(other.snapshot(id).state, SubmissionState::Succeeded);
    assert_eq!(stage.snapshot(id).state, held(HoldReason::KeyUsedElsewhere));
    assert_converged(&server, 1);
}

/// F17: "in progress" is asked about again, as the server says, and not for ever: three answers and two
/// minutes.
#[test]
fn in_progress_for_too_long_is_held() {
    for (status, reason) in [
        (409, HoldReason::OutcomeUnknown),
        (423, HoldReason::Conflict),
    ] {
        let server = server();
        server.always(
            Matcher::Any,
            Behaviour::ErrorBefore {
                status,
                headers: vec![("Retry-After".into(), "90".into())],
            },
        );
        let stage = Stage::new(&server.url());
        let id = stage.submit("/orders");
        for _ in 0..2 {
            stage.drain();
            assert_eq!(stage.snapshot(id).state, SubmissionState::Pending);
            assert!(stage.wait_of(id).unwrap() >= Duration::from_secs(90));
            stage.hours_later();
        }
        stage.drain();
        assert_eq!(stage.snapshot(id).state, held(reason), "{status}");
        stage.hours_later();
        stage.drain();
        assert_eq!(server.records().len(), 3);
    }
}

/// F06: the server answers each repeat of one key with 500, and everybody else well. After four of them
/// over ten minutes a person has to look; the key is kept.
#[test]
fn a_key_that_is_frozen_to_an_error_is_held() {
    let server = server();
    server.script(Matcher::path("/frozen"), vec![Behaviour::CommitThenDrop]);
    server.always(Matcher::path("/frozen"), json(500, "{}"));
    let stage = Stage::new(&server.url());
    let id = stage.submit("/frozen");
    let mut rounds = 0;
    while stage.snapshot(id).state == SubmissionState::Pending {
        rounds += 1;
        assert!(rounds <= 8, "asked for ever");
        stage.submit(&format!("/orders/{rounds}"));
        stage.drain();
        stage.hours_later();
    }
    assert!(rounds >= 5, "one lost answer, and four errors");
    assert_eq!(stage.snapshot(id).state, held(HoldReason::OutcomeUnknown));
    assert!(stage.snapshot(id).in_doubt);
    stage.drain();
    let records = server.records();
    let frozen: Vec<_> = records.iter().filter(|r| r.path == "/frozen").collect();
    assert_eq!(frozen.len(), rounds);
    assert!(
        frozen
            .iter()
            .all(|record| record.key == Some(id.to_string()))
    );
    assert_converged(&server, rounds as u64 + 1);
}

/// The same while the host answers nobody well: an outage, which is waited for.
#[test]
fn an_outage_is_no_frozen_key() {
    let server = server();
    server.always(Matcher::Any, json(500, "{}"));
    let stage = Stage::new(&server.url());
    let ids = ["/a", "/b", "/c"].map(|path| stage.submit(path));
    for _ in 0..8 {
        stage.drain();
        stage.hours_later();
    }
    server.clear_scripts();
    stage.drain();
    for id in ids {
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    }
    assert_converged(&server, 3);
}

/// F47: one that fails stops nobody but itself.
#[test]
fn others_go_on_beside_one_that_fails() {
    let server = server();
    server.always(Matcher::path("/bad"), json(500, "{}"));
    let stage = Stage::new(&server.url());
    let bad = stage.submit("/bad");
    let good: Vec<_> = (0..10)
        .map(|n| stage.submit(&format!("/good/{n}")))
        .collect();
    let report = stage.drain();
    assert_eq!((report.succeeded, report.to_repeat), (10, 1));
    for id in good {
        assert_eq!(stage.snapshot(id).state, SubmissionState::Succeeded);
    }
    assert_eq!(stage.snapshot(bad).state, SubmissionState::Pending);
}

/// F51: a refusal is final for the next process, too.
#[test]
fn a_refusal_is_not_sent_again_after_a_restart() {
    let server = server();
    server.always(Matcher::Any, json(403, "{}"));
    let place = crate::common::Place::new();
    let outbox = crate::sockets::open(&place, &server.url());
    let id = outbox.begin("draft".into()).unwrap();
    let draft = Submission::post(id, "/posts").json("{}");
    outbox.submit(draft.clone()).unwrap();
    outbox.start().unwrap();
    let refused = crate::sockets::wait(&outbox, id);
    outbox.close();
    for _ in 0..5 {
        let outbox = crate::sockets::open(&place, &server.url());
        outbox.submit(draft.clone()).unwrap();
        outbox.start().unwrap();
        assert_eq!(crate::sockets::wait(&outbox, id).state, refused.state);
        outbox.close();
    }
    assert_eq!(server.records().len(), 1);
}
