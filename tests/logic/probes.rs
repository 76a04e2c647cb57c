//! Status probes: what would be held for its doubt is asked about first, and a person decides only what
//! the server doesn't tell.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    HoldReason, Limits, Outbox, Resolution, ServerProfile, Snapshot, StatusProbe, Submission,
    SubmissionId, SubmissionState, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{
    Play, Seen, World, answer, drain, header, lost, order, simulate, status, unreachable,
};

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);
pub const UNKNOWN: SubmissionState = SubmissionState::Held {
    reason: HoldReason::OutcomeUnknown,
};
pub const CANCEL_REQUESTED: SubmissionState = SubmissionState::Held {
    reason: HoldReason::CancelRequested,
};

/// What the server does with actions, and what it answers to questions. Changed as the story goes on.
pub struct Server {
    pub actions: Arc<Mutex<Play>>,
    pub questions: Arc<Mutex<Play>>,
}

impl Server {
    pub fn of(world: &World, actions: Play, questions: Play) -> Self {
        let server = Self {
            actions: Arc::new(Mutex::new(actions)),
            questions: Arc::new(Mutex::new(questions)),
        };
        let (actions, questions) = (Arc::clone(&server.actions), Arc::clone(&server.questions));
        world.network.always(move |request| {
            let play = match request.method.as_str() {
                "GET" => &questions,
                _ => &actions,
            };
            play.lock().unwrap().clone()
        });
        server
    }

    pub fn act(&self, play: Play) {
        *self.actions.lock().unwrap() = play;
    }

    pub fn tell(&self, play: Play) {
        *self.questions.lock().unwrap() = play;
    }
}

pub fn json(body: &str) -> Play {
    Play::Answer(Duration::from_millis(50), answer(200, body))
}

pub fn there() -> Play {
    json(r#"[{"order":17}]"#)
}

pub fn nothing() -> Play {
    json("[]")
}

pub fn hand_over() -> Play {
    Play::HandOver { confirm: true }
}

pub fn probe() -> StatusProbe {
    StatusProbe::at("/orders?client_id={id}").pointer("/0")
}

pub fn sent(world: &World, method: &str) -> Vec<Seen> {
    let seen = world.network.seen().into_iter();
    seen.filter(|seen| seen.request.method == method).collect()
}

pub fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

/// An outbox for a server that knows no keys: a lost answer is never followed by a second attempt.
pub fn unkeyed(world: &World, place: &Place) -> Arc<Outbox> {
    world.open_with(world.config(place).profile(ServerProfile::unkeyed()))
}

/// Submits an order with a probe, and delivers until `stopped`.
pub fn submit(outbox: &Arc<Outbox>, slot: &str) -> Submission {
    let order = order(outbox, slot).probe(probe());
    outbox.submit(order.clone()).unwrap();
    outbox.start().unwrap();
    order
}

fn waits_for_a_probe(snapshot: &Snapshot) -> bool {
    matches!(snapshot.waiting_for, Some(WaitingFor::Probe { .. }))
}

fn bytes(snapshot: &Snapshot) -> Vec<u8> {
    snapshot.outcome.clone().unwrap().body.unwrap()
}

/// C11: the answer is lost, the server knows no keys, and the effect is found: no person, no second
/// attempt.
#[test]
fn an_effect_that_is_found_is_the_result() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), there());
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        assert!(!snapshot.in_doubt);
        assert_eq!(bytes(&snapshot), br#"{"order":17}"#);
        assert_eq!(snapshot.outcome.unwrap().status, Some(200));
        assert_eq!(sent(&world, "POST").len(), 1);
        assert_eq!(sent(&world, "GET").len(), 1);
        // P8: after a restart, too.
        outbox.close();
        let outbox = world.open(&place);
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(bytes(&snapshot), br#"{"order":17}"#);
    });
}

/// P13: past the server's memory of the key, the effect is asked for, and only then it is sent again.
#[test]
fn past_the_keys_lifetime_it_is_sent_again_only_after_the_effect_was_not_there() {
    for (of_key_record, attempts) in [(false, 2), (true, 1)] {
        let place = Place::new();
        simulate(4, |world| async move {
            let outbox = world.open(&place);
            let server = Server::of(&world, lost(), nothing());
            let order = order(&outbox, "form").probe(StatusProbe {
                of_key_record,
                ..probe()
            });
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            server.act(status(201));
            world.pass(HOUR * 25).await;
            outbox.start().unwrap();
            world.pass(MINUTE).await;
            assert_eq!(sent(&world, "POST").len(), attempts);
            let expected = match of_key_record {
                false => SubmissionState::Succeeded,
                // The record is forgotten by now, whatever became of the effect.
                true => UNKNOWN,
            };
            assert_eq!(state(&outbox, order.id), expected);
        });
    }
}

/// Within the lifetime it is simply sent again: that is cheaper, and tells as much.
#[test]
fn what_can_be_repeated_is_not_asked_about() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), lost(), status(201)]);
        let order = submit(&outbox, "form");
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
        assert_eq!(sent(&world, "GET").len(), 0);
    });
}

#[test]
fn a_refusal_in_doubt_is_asked_about_before_a_person_is() {
    for (told, attempts, expected) in [
        (there(), 2, SubmissionState::Succeeded),
        // Certainly not there: it is sent once more, and the server's refusal counts then.
        (
            nothing(),
            3,
            SubmissionState::Rejected {
                reason: submit_once::RejectReason::Refused,
            },
        ),
    ] {
        let place = Place::new();
        simulate(6, |world| async move {
            let outbox = world.open(&place);
            Server::of(&world, status(404), told);
            world.network.play([lost()]);
            let order = submit(&outbox, "form");
            world.pass(MINUTE).await;
            assert_ne!(state(&outbox, order.id), UNKNOWN);
            world.pass(HOUR).await;
            assert_eq!(state(&outbox, order.id), expected);
            assert_eq!(sent(&world, "POST").len(), attempts);
        });
    }
}

#[test]
fn a_retry_budget_that_is_used_up_in_doubt_is_followed_by_a_question() {
    let place = Place::new();
    simulate(7, |world| async move {
        let limits = Limits {
            retry_attempts: 2,
            retry_time: Duration::ZERO,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        Server::of(&world, status(500), hand_over());
        let order = submit(&outbox, "form");
        world.pass(2 * MINUTE).await;
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Pending);
        assert!(waits_for_a_probe(&snapshot), "{snapshot:?}");
        assert_eq!(sent(&world, "POST").len(), 2);
        world.network.take().answered(answer(200, r#"[{"n":2}]"#));
        world.pass(MINUTE).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
    });
}

/// A few answers that say nothing; then a person decides, and is spared it if the last question, once
/// "it isn't there" would say something, finds it.
#[test]
fn after_a_few_answers_that_say_nothing_it_is_held() {
    for says_nothing in [
        status(500),
        status(401),
        status(403),
        lost(),
        Play::Answer(Duration::ZERO, answer(200, "no json")),
        Play::Answer(Duration::ZERO, {
            let mut found = answer(302, "");
            found.headers.push(header("location", "/orders/17"));
            found
        }),
    ] {
        let place = Place::new();
        simulate(8, |world| async move {
            let name = format!("{says_nothing:?}");
            let outbox = unkeyed(&world, &place);
            let server = Server::of(&world, lost(), says_nothing);
            let order = submit(&outbox, "form");
            world.pass(MINUTE).await;
            assert_eq!(state(&outbox, order.id), UNKNOWN, "{name}");
            assert_eq!(sent(&world, "GET").len(), 3, "{name}");
            world.pass(HOUR).await;
            assert_eq!(sent(&world, "GET").len(), 4, "{name}");
            world.pass(24 * HOUR).await;
            assert_eq!(sent(&world, "GET").len(), 4, "{name}");
            // The user asks to look again.
            server.tell(there());
            outbox.wake(order.id).unwrap();
            world.pass(MINUTE).await;
            assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
            assert_eq!(sent(&world, "POST").len(), 1);
        });
    }
}

/// P9: nobody was asked, so nothing was in vain. The network's return ends the wait.
#[test]
fn without_a_network_no_question_is_in_vain() {
    let portal = || {
        let mut page = answer(200, "<html>");
        page.headers = vec![header("content-type", "text/html")];
        Play::Answer(Duration::from_millis(50), page)
    };
    for nobody in [unreachable(), portal()] {
        let place = Place::new();
        simulate(9, |world| async move {
            let outbox = unkeyed(&world, &place);
            let server = Server::of(&world, lost(), nobody);
            let order = submit(&outbox, "form");
            world.pass(24 * HOUR).await;
            let snapshot = outbox.snapshot(order.id).unwrap();
            assert!(waits_for_a_probe(&snapshot), "{snapshot:?}");
            let asked = sent(&world, "GET").len();
            assert!((20..200).contains(&asked), "{asked}");
            server.tell(there());
            outbox
                .network_available(submit_once::NetworkKind::Metered)
                .unwrap();
            world.pass(Duration::from_secs(5)).await;
            assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
        });
    }
}

/// The table's rows for what is held: what was asked for comes about once the doubt is over.
#[test]
fn what_is_held_for_its_doubt_is_settled_by_a_probe() {
    for (cancelled, told, expected) in [
        (true, nothing(), SubmissionState::Cancelled),
        (true, there(), SubmissionState::Succeeded),
        (false, nothing(), SubmissionState::Expired),
        (false, there(), SubmissionState::Succeeded),
    ] {
        let place = Place::new();
        simulate(10, |world| async move {
            let outbox = world.open(&place);
            Server::of(&world, lost(), told);
            let soon = std::time::UNIX_EPOCH
                + Duration::from_millis(u64::try_from(crate::common::sim::BIRTH).unwrap())
                + Duration::from_secs(5);
            let mut order = order(&outbox, "form").probe(probe());
            if !cancelled {
                order = order.expires_at(soon);
            }
            outbox.submit(order.clone()).unwrap();
            outbox.start().unwrap();
            world.pass(Duration::from_secs(2)).await;
            if cancelled {
                outbox.cancel(order.id).unwrap();
            }
            world.pass(HOUR).await;
            assert_eq!(state(&outbox, order.id), expected);
            assert_eq!(sent(&world, "POST").len(), 1);
        });
    }
}

/// A late answer says more than a question would.
#[test]
fn a_late_proof_makes_the_question_void() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, Play::Silence, unreachable());
        let order = submit(&outbox, "form");
        world.pass(Duration::from_secs(150)).await;
        assert!(waits_for_a_probe(&outbox.snapshot(order.id).unwrap()));
        let asked = sent(&world, "GET").len();
        assert!(asked > 0);
        // Certainly not applied, and so it goes again.
        world.network.take().answered(answer(425, "{}"));
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(sent(&world, "POST").len(), 2);
        assert_eq!(sent(&world, "GET").len(), asked);
        world.network.take().answered(answer(201, "{}"));
        world.pass(HOUR).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
        assert_eq!(sent(&world, "GET").len(), asked);
    });
}

#[test]
fn a_decision_ends_the_questions() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = unkeyed(&world, &place);
        let server = Server::of(&world, lost(), status(500));
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        let revision = outbox.snapshot(order.id).unwrap().revision;
        server.act(hand_over());
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        outbox.resolve(order.id, revision, retry).unwrap();
        world.pass(HOUR).await;
        // Between the two attempts nothing was asked; after the second, which nobody answered, again.
        let seen = world.network.seen();
        let methods: Vec<_> = seen.iter().map(|seen| &seen.request.method[..]).collect();
        assert_eq!(methods[..5], ["POST", "GET", "GET", "GET", "POST"]);
        assert_eq!(sent(&world, "POST").len(), 2);
        assert_eq!(sent(&world, "GET").len(), 3 + 3 + 1);
        assert_eq!(state(&outbox, order.id), UNKNOWN);
    });
}
