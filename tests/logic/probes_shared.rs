//! Status probes before gates, without credentials, on the wire when their process ends, and in several
//! processes at once.

use std::time::Duration;

use submit_once::{DrainStop, Fault, Resolution, SignOut, SubmissionState, WaitingFor};

use super::credentials::{bearer, supply};
use super::probes::{
    CANCEL_REQUESTED, HOUR, MINUTE, Server, hand_over, nothing, probe, sent, state, submit, there,
    unkeyed,
};
use crate::common::Place;
use crate::common::sim::{Play, answer, drain, lost, order, simulate, status, status_with};

const SECOND: Duration = Duration::from_secs(1);

/// P10: a question goes with its account's credentials, and with nobody else's.
#[test]
fn a_question_waits_for_its_account() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), there());
        outbox.sign_in("ada".to_owned()).unwrap();
        supply(&outbox, "ada", "one");
        let order = order(&outbox, "form").account("ada").probe(probe());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        outbox.sign_out(SignOut::Keep).unwrap();
        outbox.sign_in("bob".to_owned()).unwrap();
        supply(&outbox, "bob", "bobs");
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(sent(&world, "GET").len(), 0);
        let waiting_for = outbox.snapshot(order.id).unwrap().waiting_for;
        assert_eq!(waiting_for, Some(WaitingFor::SignedOut));

        outbox.sign_in("ada".to_owned()).unwrap();
        let report = drain(&outbox).await;
        assert_eq!(report.stopped, DrainStop::CredentialsNeeded);
        let waiting_for = outbox.snapshot(order.id).unwrap().waiting_for;
        assert_eq!(waiting_for, Some(WaitingFor::Credentials));
        assert_eq!(sent(&world, "GET").len(), 0);

        supply(&outbox, "ada", "two");
        world.pass(MINUTE).await;
        let asked = sent(&world, "GET");
        assert_eq!(asked.len(), 1);
        let mut expected = bearer("two");
        expected[0].name = "authorization".to_owned();
        assert!(asked[0].request.headers.contains(&expected[0]));
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
    });
}

/// P10: what was asked as an account is true of it, whoever is signed in when the answer comes.
#[test]
fn an_answer_counts_though_its_account_was_signed_out_meanwhile() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), hand_over());
        outbox.sign_in("ada".to_owned()).unwrap();
        supply(&outbox, "ada", "one");
        let order = order(&outbox, "form").account("ada").probe(probe());
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(MINUTE).await;
        let asked = world.network.take();
        outbox.sign_out(SignOut::Keep).unwrap();
        asked.answered(answer(200, r#"[{"n":1}]"#));
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
    });
}

/// A host that has asked everybody to wait isn't asked either, and the drain says when it will be.
#[test]
fn a_question_waits_before_the_hosts_gate() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = unkeyed(&world, &place);
        world
            .network
            .play([lost(), status_with(429, "retry-after", "3600")]);
        let doubtful = order(&outbox, "doubtful").probe(probe());
        outbox.submit(doubtful.clone()).unwrap();
        drain(&outbox).await;
        outbox.submit(order(&outbox, "other")).unwrap();
        drain(&outbox).await;
        Server::of(&world, status(201), there());
        world.pass(50 * MINUTE).await;
        let report = drain(&outbox).await;
        assert_eq!(sent(&world, "GET").len(), 0);
        assert!(report.next_wake_at.is_some());
        world.pass(2 * HOUR).await;
        drain(&outbox).await;
        assert_eq!(state(&outbox, doubtful.id), SubmissionState::Succeeded);
    });
}

/// A drain asks what is due, waits for the answers, and says when the next question is.
#[test]
fn a_drain_asks_and_waits_for_the_answer() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), Play::Answer(20 * SECOND, answer(200, "[]")));
        let order = order(&outbox, "form").probe(probe());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(MINUTE).await;
        let report = drain(&outbox).await;
        assert_eq!(report.stopped, DrainStop::NothingDue);
        assert_eq!(sent(&world, "GET").len(), 1);
        let WaitingFor::Probe { at } = outbox.snapshot(order.id).unwrap().waiting_for.unwrap()
        else {
            panic!("not a probe");
        };
        let said = report.next_wake_at.unwrap();
        let apart = said.duration_since(at).or_else(|_| at.duration_since(said));
        assert!(apart.unwrap() < SECOND, "{said:?} {at:?}");
        // "Not there" has been heard: the next time is when the horizon has passed.
        let accepted = outbox.snapshot(order.id).unwrap().accepted_at;
        let until = said.duration_since(accepted).unwrap();
        assert!(until > 9 * MINUTE, "{until:?}");
    });
}

/// The process ends with a question on the wire: the next one asks again, and nothing was in vain.
#[test]
fn a_question_that_was_on_the_wire_is_asked_again_by_the_next_process() {
    let place = Place::new();
    let killed = Place::new();
    simulate(5, |world| async move {
        let outbox = unkeyed(&world, &place);
        let server = Server::of(&world, lost(), hand_over());
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        assert_eq!(world.network.held(), 1);
        // What a kill would have left: nothing was written since.
        for name in ["outbox.sqlite3", "outbox.sqlite3-wal"] {
            std::fs::copy(place.folder().join(name), killed.folder().join(name)).unwrap();
        }
        outbox.close();
        server.tell(there());
        for (place, wait) in [(&place, Duration::ZERO), (&killed, 2 * MINUTE)] {
            let outbox = unkeyed(&world, place);
            world.pass(wait).await;
            drain(&outbox).await;
            assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
            assert_eq!(probes(place), 0);
        }
        assert_eq!(sent(&world, "POST").len(), 1);
    });
}

/// How often it was asked in vain.
fn probes(place: &Place) -> i64 {
    let sql = "SELECT probes FROM submission";
    place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// P12: `suspend` ends what is on the wire without a word, which is no answer that says nothing.
#[test]
fn to_suspend_ends_a_question_and_counts_nothing() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = unkeyed(&world, &place);
        Server::of(&world, lost(), hand_over());
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        for _ in 0..5 {
            let asked = world.network.take();
            outbox.suspend().unwrap();
            assert!(!asked.confirm(), "stopped");
            asked.failed(Fault::Stopped);
            outbox.start().unwrap();
            world.pass(SECOND).await;
        }
        assert_eq!(probes(&place), 0);
        assert_eq!(sent(&world, "GET").len(), 6);
        world.network.take().answered(answer(200, r#"[1]"#));
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
    });
}

/// Two processes ask at once, as one was slow: they find the same, and it counts once.
#[test]
fn two_that_ask_at_once_do_no_harm() {
    for found in ["[]", r#"[{"n":1}]"#] {
        let place = Place::new();
        simulate(7, |world| async move {
            let (one, two) = (world.open_apart(&place), world.open_apart(&place));
            let server = Server::of(&world, lost(), hand_over());
            let order = order(&one, "form").probe(probe());
            one.submit(order.clone()).unwrap();
            drain(&one).await;
            world.pass(25 * HOUR).await;
            one.start().unwrap();
            world.pass(SECOND).await;
            two.start().unwrap();
            two.wake(order.id).unwrap();
            world.pass(SECOND).await;
            assert_eq!(world.network.held(), 2);
            server.act(status(201));
            world.network.take().answered(answer(200, found));
            world.pass(SECOND).await;
            world.network.take().answered(answer(200, found));
            world.pass(HOUR).await;
            assert_eq!(state(&one, order.id), SubmissionState::Succeeded);
            let expected = if found == "[]" { 2 } else { 1 };
            assert_eq!(sent(&world, "POST").len(), expected);
        });
    }
}

/// Another process ends it while the answer is on its way: final is final (P7).
#[test]
fn what_was_decided_meanwhile_stays() {
    let place = Place::new();
    simulate(8, |world| async move {
        let (one, two) = (world.open_apart(&place), world.open_apart(&place));
        Server::of(&world, lost(), hand_over());
        let order = order(&one, "form").probe(probe());
        one.submit(order.clone()).unwrap();
        one.start().unwrap();
        world.pass(2 * SECOND).await;
        one.cancel(order.id).unwrap();
        world.pass(MINUTE).await;
        let revision = two.snapshot(order.id).unwrap().revision;
        two.resolve(order.id, revision, Resolution::GiveUp).unwrap();
        world.network.take().answered(answer(200, r#"[{"n":1}]"#));
        world.pass(SECOND).await;
        assert_eq!(state(&one, order.id), SubmissionState::Abandoned);
    });
}

/// The answer "not there" is on its way when the user cancels: then it is cancelled, and not sent.
#[test]
fn a_cancel_while_it_is_asked_wins() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        Server::of(&world, lost(), hand_over());
        let order = order(&outbox, "form").probe(probe());
        outbox.submit(order.clone()).unwrap();
        drain(&outbox).await;
        world.pass(25 * HOUR).await;
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.cancel(order.id).unwrap();
        assert_eq!(state(&outbox, order.id), CANCEL_REQUESTED);
        world.network.take().answered(answer(200, "[]"));
        world.pass(SECOND).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Cancelled);
        world.pass(HOUR).await;
        assert_eq!(sent(&world, "POST").len(), 1);
        assert_eq!(sent(&world, "GET").len(), 1);
    });
}

/// Questions take half of what may be in flight (8) and no more, however many are due.
#[test]
fn many_questions_leave_room_for_actions() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = unkeyed(&world, &place);
        let server = Server::of(&world, lost(), hand_over());
        for n in 0..40 {
            let order = order(&outbox, &format!("form {n}")).probe(probe());
            outbox.submit(order).unwrap();
        }
        drain(&outbox).await;
        world.pass(HOUR).await;
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(world.network.held(), 4);
        server.act(status(201));
        let fresh: Vec<_> = (0..20)
            .map(|n| order(&outbox, &format!("fresh {n}")))
            .collect();
        outbox.submit_all(fresh.clone()).unwrap();
        world.pass(SECOND).await;
        for order in fresh {
            assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
        }
        // As they are answered, the others come.
        for _ in 0..40 {
            world.network.take().answered(answer(200, "[1]"));
            world.pass(SECOND).await;
        }
        assert_eq!(outbox.stats().unwrap().pending, 0);
        assert_eq!(sent(&world, "GET").len(), 40);
    });
}

/// What waits for a question that can't be asked yet costs no polling (P12) and ends with the time.
#[test]
fn after_a_reboot_the_questions_go_on() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = unkeyed(&world, &place);
        let server = Server::of(&world, lost(), nothing());
        let order = submit(&outbox, "form");
        world.pass(MINUTE).await;
        assert_eq!(sent(&world, "GET").len(), 1);
        outbox.close();
        world.clock.reboot();
        let outbox = unkeyed(&world, &place);
        outbox.start().unwrap();
        world.pass(5 * MINUTE).await;
        assert_eq!(sent(&world, "GET").len(), 1, "before the horizon");
        server.act(status(201));
        world.pass(6 * MINUTE).await;
        assert_eq!(state(&outbox, order.id), SubmissionState::Succeeded);
        assert_eq!(sent(&world, "POST").len(), 2);
    });
}
