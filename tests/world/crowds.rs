//! Many at once over real sockets: drains, network changes, and what another program does meanwhile.

use std::time::Duration;

use submit_once::{DrainBudget, NetworkKind, Submission, SubmissionState};
use submit_once_reference_server::{Behaviour, Faults, Matcher};

use crate::agents::{PATIENCE, assert_converged, server};
use crate::common::Place;
use crate::sockets::{block_on, open, wait};

/// F24: a slow network, and five that flush. Each order goes out once.
#[test]
fn overlapping_drains_send_each_order_once() {
    let (place, server) = (Place::new(), server());
    server.always(
        Matcher::Any,
        Behaviour::WorkLate(Duration::from_millis(200)),
    );
    let outbox = open(&place, &server.url());
    for number in 0..20 {
        let id = outbox.begin(format!("form {number}")).unwrap();
        let order = Submission::post(id, &format!("/orders/{number}")).json("{}");
        outbox.submit(order).unwrap();
    }
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let budget = DrainBudget::of(PATIENCE);
                block_on(outbox.drain(budget)).unwrap();
            });
        }
    });
    assert_converged(&server, 20);
    let summary = server.summary().unwrap();
    assert_eq!((summary.requests, summary.keys), (20, 20));
}

/// F120: the network comes and goes, and the host says so at the wrong times, or wrongly. Everything
/// arrives, once.
#[test]
fn a_network_that_comes_and_goes_loses_and_doubles_nothing() {
    let (place, server) = (Place::new(), server());
    let faults = Faults {
        commit_then_drop: 0.2,
        unavailable_503_retry_after: 0.0,
        ..Faults::default()
    };
    server.set_faults(faults).unwrap();
    let outbox = open(&place, &server.url());
    outbox.start().unwrap();
    let kinds = [
        NetworkKind::Metered,
        NetworkKind::Offline,
        NetworkKind::Unmetered,
        NetworkKind::Offline,
    ];
    let mut ids = Vec::new();
    for number in 0..60 {
        let id = outbox.begin(format!("form {number}")).unwrap();
        let order = Submission::post(id, &format!("/orders/{number}")).json("{}");
        outbox.submit(order).unwrap();
        ids.push(id);
        outbox.network_available(kinds[number % 4]).unwrap();
        match number % 10 {
            3 => server.go_offline(),
            6 => server.go_online().unwrap(),
            _ => {}
        }
    }
    for id in ids {
        assert_eq!(wait(&outbox, id).state, SubmissionState::Succeeded);
    }
    assert_converged(&server, 60);
    let summary = server.summary().unwrap();
    assert_eq!((summary.keys, summary.max_keys_per_path), (60, 1));
}
