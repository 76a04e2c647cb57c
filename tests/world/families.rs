//! P1, P2, P3: parents and children over the death of real processes. Each takes effect once, and the
//! child with what the parent's first effect gave.

use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::{Agent, PATIENCE, assert_converged, server};
use crate::common::Place;

/// A process that has submitted an order, and a note that needs the number of its effect.
fn submitted(agent: &mut Agent) -> [String; 2] {
    let order = agent.ask("begin order");
    let note = agent.ask("begin note");
    agent.ask(&format!("submit {order} /orders tea"));
    let child = format!("submit-child {note} /orders/{{parent}}/notes {order}");
    assert_eq!(agent.ask(&child), "Accepted");
    [order, note]
}

fn recovers(place: &Place, server: &ReferenceServer, ids: &[String; 2]) {
    let mut next = Agent::for_server(place, server);
    next.ask("start");
    for id in ids {
        assert_eq!(next.ask(&format!("wait {id} 60000")), "Settled");
        assert_eq!(next.ask(&format!("snapshot {id}")), "Succeeded");
    }
    assert_converged(server, 2);
    let records = server.records();
    let mut paths: Vec<_> = records.iter().map(|record| record.path.as_str()).collect();
    paths.dedup();
    assert_eq!(paths, ["/orders", "/orders/1/notes"]);
}

/// F113: what the child takes is written down with the parent's success, and outlives the process.
#[test]
fn killed_after_the_parents_success_and_before_the_child_is_sent() {
    let (place, server) = (Place::new(), server());
    let mut first = Agent::start(&place, &["--mute", "--base", &server.url()]);
    let ids = submitted(&mut first);
    assert_eq!(first.ask("start"), "started");
    assert_eq!(first.read(), "claimed");
    // The parent goes; the child is claimed once its success is recorded, and is kept back.
    let mut said = [first.ask("unmute"), first.read()];
    said.sort();
    assert_eq!(said, ["1", "claimed"]);
    first.kill();
    assert_eq!(server.records().len(), 1);
    recovers(&place, &server, &ids);
}

#[test]
fn killed_after_the_parents_effect_and_before_its_answer() {
    let (place, server) = (Place::new(), server());
    server.script(Matcher::Any, vec![Behaviour::HoldAfter("hold".into())]);
    let mut first = Agent::for_server(&place, &server);
    let ids = submitted(&mut first);
    first.ask("start");
    server.wait_until_held("hold", PATIENCE).unwrap();
    first.kill();
    server.release("hold");
    recovers(&place, &server, &ids);
}

#[test]
fn killed_while_the_child_is_on_the_wire() {
    let (place, server) = (Place::new(), server());
    let mut first = Agent::for_server(&place, &server);
    let ids = submitted(&mut first);
    let notes = Matcher::PathPrefix("/orders/1/notes".into());
    server.script(notes, vec![Behaviour::HoldAfter("hold".into())]);
    first.ask("start");
    server.wait_until_held("hold", PATIENCE).unwrap();
    first.kill();
    server.release("hold");
    recovers(&place, &server, &ids);
}
