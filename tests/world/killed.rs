//! P1, P4, P5, P8: a process killed at a named point, and the next one that finds what it left. One
//! effect and one result, counted by the server (F02, F19, F31, F33, F34, F37).

use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::agents::{Agent, PATIENCE, assert_converged, server};
use crate::common::Place;

/// What the next process makes of it: only `drain`, no new submit (F37).
fn recovers(place: &Place, server: &ReferenceServer, id: &str) {
    let mut next = Agent::for_server(place, server);
    for _ in 0..50 {
        next.ask("drain 3000");
        if next.ask(&format!("wait {id} 100")) == "Settled" {
            break;
        }
    }
    assert_eq!(next.ask(&format!("snapshot {id}")), "Succeeded");
    assert_converged(server, 1);
    // The slot's submission is settled, and a late duplicate gets the first result.
    let result = next.ask(&format!("result {id}"));
    assert!(result.contains("\"effect\":1"), "{result}");
    assert_eq!(next.ask(&format!("submit {id} /orders tea")), "Replayed");
    assert_eq!(next.ask(&format!("result {id}")), result);
    assert_converged(server, 1);
}

/// A process that has submitted one order.
fn submitted(place: &Place, server: &ReferenceServer) -> (Agent, String) {
    let mut agent = Agent::for_server(place, server);
    let id = agent.ask("begin form");
    assert_eq!(agent.ask(&format!("submit {id} /orders tea")), "Accepted");
    (agent, id)
}

/// The same, and the server stands at this point of it.
fn held_at(place: &Place, server: &ReferenceServer, point: Behaviour) -> (Agent, String) {
    server.script(Matcher::Any, vec![point]);
    let (mut agent, id) = submitted(place, server);
    agent.ask("start");
    server.wait_until_held(HOLD, PATIENCE).unwrap();
    (agent, id)
}

const HOLD: &str = "hold";

#[test]
fn killed_after_begin_the_slot_gives_the_same_id() {
    let place = Place::new();
    let mut first = Agent::start(&place, &[]);
    let id = first.ask("begin form");
    first.kill();
    let mut next = Agent::start(&place, &[]);
    assert_eq!(next.ask("begin form"), id);
}

#[test]
fn killed_after_accepting_it_is_delivered_by_the_next_process() {
    let (place, server) = (Place::new(), server());
    let (first, id) = submitted(&place, &server);
    first.kill();
    recovers(&place, &server, &id);
}

#[test]
fn killed_between_the_claim_and_the_first_byte() {
    let (place, server) = (Place::new(), server());
    let options = ["--mute", "--base", &server.url()];
    let mut first = Agent::start(&place, &options);
    let id = first.ask("begin form");
    first.ask(&format!("submit {id} /orders tea"));
    assert_eq!(first.ask("start"), "started");
    assert_eq!(first.read(), "claimed");
    first.kill();
    recovers(&place, &server, &id);
}

#[test]
fn killed_while_the_server_has_the_request_and_has_not_acted() {
    let (place, server) = (Place::new(), server());
    let (first, id) = held_at(&place, &server, Behaviour::HoldBefore(HOLD.into()));
    first.kill();
    server.release(HOLD);
    recovers(&place, &server, &id);
}

/// F19: half of the body has left.
#[test]
fn killed_while_the_body_is_on_its_way() {
    use std::io::Read;
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let base = format!("http://{address}");
    let options = ["--base", &base, "--limits", crate::agents::QUICK];
    let mut first = Agent::start(&place, &options);
    let id = first.ask("begin form");
    let large = 12 * 1024 * 1024;
    assert_eq!(
        first.ask(&format!("submit-large {id} /orders {large}")),
        "Accepted"
    );
    first.ask("start");
    let (mut socket, _) = listener.accept().unwrap();
    socket.read_exact(&mut [0; 1_000_000]).unwrap();
    first.kill();
    drop((socket, listener));
    let server = ReferenceServer::start(Options {
        listen: address,
        ..Options::default()
    })
    .unwrap();
    let mut next = Agent::start(&place, &options);
    next.ask("start");
    assert_eq!(next.ask(&format!("wait {id} 60000")), "Settled");
    assert_converged(&server, 1);
    assert_eq!(server.records()[0].body_bytes, large);
}

/// F02: the effect is there, the answer never came.
#[test]
fn killed_after_the_effect_and_before_the_answer() {
    let (place, server) = (Place::new(), server());
    let (first, id) = held_at(&place, &server, Behaviour::HoldAfter(HOLD.into()));
    first.kill();
    server.release(HOLD);
    recovers(&place, &server, &id);
}

/// The answer has arrived and can't be written down: another program has the database.
#[test]
fn killed_after_the_answer_and_before_it_is_recorded() {
    let (place, server) = (Place::new(), server());
    let (first, id) = held_at(&place, &server, Behaviour::HoldAfter(HOLD.into()));
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    server.release(HOLD);
    let answered = server.wait_for(
        |records| records.iter().any(|record| record.answered_at_ns.is_some()),
        PATIENCE,
    );
    assert!(answered);
    first.kill();
    other.execute_batch("ROLLBACK").unwrap();
    recovers(&place, &server, &id);
    assert_eq!(server.summary().unwrap().replayed, 1);
}

#[test]
fn killed_after_the_result_was_recorded() {
    let (place, server) = (Place::new(), server());
    let (mut first, id) = submitted(&place, &server);
    first.ask("drain 5000");
    first.kill();
    recovers(&place, &server, &id);
    assert_eq!(server.summary().unwrap().requests, 1);
}

/// F31: killed again and again, wherever that falls; it drains in the end.
#[test]
fn killed_twenty_times_while_draining_twenty_orders() {
    let (place, server) = (Place::new(), server());
    server.always(
        Matcher::Any,
        Behaviour::WorkLate(std::time::Duration::from_millis(20)),
    );
    let mut first = Agent::for_server(&place, &server);
    let ids: Vec<String> = (0..20)
        .map(|n| {
            let id = first.ask(&format!("begin form-{n}"));
            first.ask(&format!("submit {id} /orders/{n} tea"));
            id
        })
        .collect();
    first.kill();
    for round in 0..20 {
        let mut agent = Agent::for_server(&place, &server);
        agent.ask("start");
        let before = server.records().len();
        let more = |records: &[submit_once_reference_server::RequestRecord]| {
            records.len() > before + round % 4
        };
        server.wait_for(more, std::time::Duration::from_millis(400));
        agent.kill();
    }
    let mut last = Agent::for_server(&place, &server);
    last.ask("start");
    for id in &ids {
        assert_eq!(last.ask(&format!("wait {id} 60000")), "Settled", "{id}");
        assert_eq!(last.ask(&format!("snapshot {id}")), "Succeeded");
    }
    assert_converged(&server, 20);
    assert_eq!(server.summary().unwrap().max_keys_per_path, 1);
}
