//! P3, P4: several processes on one file (F20, F21, F22, F26, F84, F89).

use std::time::Duration;

use submit_once::{Outbox, OutboxConfig};
use submit_once_reference_server::{Behaviour, Matcher};

use crate::agents::{Agent, PATIENCE, QUICK, assert_converged, server};
use crate::common::Place;

/// F21, F26: the claim in the database is the guard, not a lock in memory.
#[test]
fn three_processes_drain_one_queue_and_nothing_is_sent_twice() {
    let (place, server) = (Place::new(), server());
    server.always(Matcher::Any, Behaviour::WorkLate(Duration::from_millis(5)));
    let mut agents: Vec<Agent> = (0..3).map(|_| Agent::for_server(&place, &server)).collect();
    let ids: Vec<String> = (0..60)
        .map(|n| {
            let agent = &mut agents[n % 3];
            let id = agent.ask(&format!("begin form-{n}"));
            agent.ask(&format!("submit {id} /orders/{n} tea"));
            id
        })
        .collect();
    for agent in &mut agents {
        agent.ask("start");
    }
    // What one process settles, the others see.
    for (n, id) in ids.iter().enumerate() {
        let agent = &mut agents[(n + 1) % 3];
        assert_eq!(agent.ask(&format!("wait {id} 60000")), "Settled");
    }
    assert_converged(&server, 60);
    assert_eq!(server.summary().unwrap().requests, 60);
}

/// F21: the foreground and several workers in one process.
#[test]
fn the_foreground_and_four_drains_of_one_process_send_each_once() {
    let (place, server) = (Place::new(), server());
    server.always(Matcher::Any, Behaviour::WorkLate(Duration::from_millis(5)));
    let mut agent = Agent::for_server(&place, &server);
    let ids: Vec<String> = (0..40)
        .map(|n| {
            let id = agent.ask(&format!("begin form-{n}"));
            agent.ask(&format!("submit {id} /orders/{n} tea"));
            id
        })
        .collect();
    agent.ask("start");
    for _ in 0..4 {
        assert_eq!(agent.ask("drain-in-background 30000"), "draining");
    }
    for id in &ids {
        assert_eq!(agent.ask(&format!("wait {id} 60000")), "Settled");
    }
    assert_converged(&server, 40);
    assert_eq!(server.summary().unwrap().requests, 40);
}

/// The same ID from two processes at once.
#[test]
fn two_processes_that_submit_one_id_store_one_submission() {
    let (place, server) = (Place::new(), server());
    let mut first = Agent::for_server(&place, &server);
    let mut second = Agent::for_server(&place, &server);
    for n in 0..20 {
        let id = first.ask(&format!("begin form-{n}"));
        assert_eq!(second.ask(&format!("begin form-{n}")), id);
        let command = format!("submit {id} /orders/{n} tea");
        first.say(&command);
        second.say(&command);
        let mut kinds = [first.read(), second.read()];
        kinds.sort();
        assert_eq!(kinds, ["Accepted", "Joined"]);
        let other = second.ask(&format!("submit {id} /orders/{n} coffee"));
        assert!(other.starts_with("error the ID"), "{other}");
    }
    first.ask("drain 20000");
    assert_converged(&server, 20);
}

/// F84: no SQLITE_BUSY reaches a caller, however many open and write at once.
#[test]
fn two_processes_with_eight_threads_each_open_and_write() {
    let place = Place::new();
    let mut first = Agent::start(&place, &[]);
    let mut second = Agent::start(&place, &[]);
    first.say("many 8 25 http://localhost/orders");
    second.say("many 8 25 http://localhost/orders");
    let third = Agent::start(&place, &[]);
    assert_eq!(first.read(), "200");
    assert_eq!(second.read(), "200");
    drop(third);
    let rows: i64 = place
        .sql()
        .query_row("SELECT count(*) FROM submission", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 400);
}

/// F20: frozen with the request on the wire for longer than its lease; another process goes on
/// with the same key. When it thaws, its late answer is only evidence.
#[test]
fn a_frozen_process_is_taken_over_when_its_lease_is_out_and_not_before() {
    let (place, server) = (Place::new(), server());
    server.script(Matcher::Any, vec![Behaviour::HoldAfter("after".into())]);
    let mut frozen = Agent::for_server(&place, &server);
    let id = frozen.ask("begin form");
    frozen.ask(&format!("submit {id} /orders tea"));
    frozen.ask("start");
    server.wait_until_held("after", PATIENCE).unwrap();
    frozen.freeze(&place);
    let mut other = Agent::for_server(&place, &server);
    other.ask("start");
    // Its lease of 7.1 s still runs, and its owner's lock is held.
    assert_eq!(other.ask(&format!("wait {id} 3000")), "TimedOut");
    assert_eq!(server.records().len(), 1);
    server.release("after");
    assert_eq!(other.ask(&format!("wait {id} 60000")), "Settled");
    assert_eq!(other.ask(&format!("snapshot {id}")), "Succeeded");
    frozen.thaw();
    assert_eq!(frozen.ask(&format!("wait {id} 60000")), "Settled");
    assert_eq!(
        frozen.ask(&format!("result {id}")),
        other.ask(&format!("result {id}"))
    );
    assert_converged(&server, 1);
    assert_eq!(server.summary().unwrap().requests, 2);
}

/// Frozen between its claim and its first byte, thawed after its lease was out: it looks at the
/// clock, sends nothing, and says so.
#[test]
fn a_process_that_thaws_after_its_lease_sends_nothing() {
    let (place, server) = (Place::new(), server());
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut frozen = Agent::start(&place, &[&options[..], &["--mute"]].concat());
    let id = frozen.ask("begin form");
    frozen.ask(&format!("submit {id} /orders tea"));
    frozen.ask("start");
    assert_eq!(frozen.read(), "claimed");
    frozen.freeze(&place);
    let mut other = Agent::for_server(&place, &server);
    other.ask("start");
    assert_eq!(other.ask(&format!("wait {id} 60000")), "Settled");
    frozen.thaw();
    // Only now it would hand its request over.
    assert_eq!(frozen.ask("unmute"), "1");
    assert_eq!(frozen.ask(&format!("wait {id} 60000")), "Settled");
    assert_eq!(frozen.ask("suspend"), "suspended");
    assert_converged(&server, 1);
    assert_eq!(server.summary().unwrap().requests, 1);
}

/// A dead owner's submissions are taken over at once, by a process that is already running.
#[test]
fn what_a_killed_process_had_in_flight_is_taken_over_by_a_running_one() {
    let (place, server) = (Place::new(), server());
    server.script(Matcher::Any, vec![Behaviour::HoldBefore("before".into())]);
    let mut dying = Agent::for_server(&place, &server);
    let id = dying.ask("begin form");
    dying.ask(&format!("submit {id} /orders tea"));
    dying.ask("start");
    server.wait_until_held("before", PATIENCE).unwrap();
    let long = QUICK.replace("7100", "600000");
    let mut running = Agent::start(&place, &["--base", &server.url(), "--limits", &long]);
    running.ask("start");
    dying.kill();
    server.release("before");
    // Far sooner than the dead one's lease.
    assert_eq!(running.ask(&format!("wait {id} 30000")), "Settled");
    assert_converged(&server, 1);
}

/// F103: between calls no lock on the database is held, as another process sees it.
#[test]
fn after_every_call_another_process_gets_the_exclusive_lock_at_once() {
    let (place, server) = (Place::new(), server());
    let mut agent = Agent::for_server(&place, &server);
    let mut other = Agent::start(&place, &[]);
    let id = agent.ask("begin form");
    let commands = [
        format!("submit {id} /orders tea"),
        format!("submit {id} /orders tea"),
        format!("submit {id} /orders coffee"),
        format!("snapshot {id}"),
        format!("reconcile {id}"),
        format!("others {id}"),
        "drain 5000".to_owned(),
        format!("wait {id} 1000"),
        format!("result {id}"),
    ];
    for command in commands {
        let answer = agent.ask(&command);
        assert_eq!(other.ask("exclusive"), "free", "after {command}: {answer}");
    }
    // While it delivers in the foreground it uses the database; after `suspend` no more.
    server.always(Matcher::Any, Behaviour::HoldBefore("held".into()));
    let id = agent.ask("begin another-form");
    agent.ask(&format!("submit {id} /orders tea"));
    agent.ask("start");
    server.wait_until_held("held", PATIENCE).unwrap();
    assert_eq!(agent.ask("suspend"), "suspended");
    assert_eq!(other.ask("exclusive"), "free", "after suspend");
    server.release_all();
}

/// Closing belongs to a screen that goes: it doesn't wait for another process, and what it can't write
/// down is found out by the next opening.
#[test]
fn closing_does_not_wait_for_a_transaction_of_another_process() {
    let place = Place::new();
    let outbox = Outbox::open(OutboxConfig::at(place.path())).unwrap();
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = std::time::Instant::now();
    outbox.close();
    // Five seconds is the busy timeout of everything else.
    assert!(began.elapsed() < std::time::Duration::from_secs(4));
    other.execute_batch("ROLLBACK").unwrap();
    let again = Outbox::open(OutboxConfig::at(place.path())).unwrap();
    assert_eq!(again.open_report().lost_changes, 0);
}
