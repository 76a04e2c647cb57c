//! Random faults are repeatable.

use std::collections::BTreeMap;

use submit_once_reference_server::{Behaviour, Faults, Options, ReferenceServer};

use crate::client::PATIENCE;
use crate::post;

const KEYS: usize = 24;
const ARRIVALS: usize = 6;

/// The behaviours that each key met, sent by as many threads as given.
fn run(seed: u64, threads: usize) -> (BTreeMap<String, Vec<Behaviour>>, u64) {
    let faults = Faults {
        commit_then_drop: 0.2,
        unavailable_503_retry_after: 0.2,
        late: 0.1,
        late_max_ms: 3,
        error_500_after_effect: 0.1,
        half: 0.1,
        ..Faults::default()
    };
    let server = ReferenceServer::start(Options {
        faults,
        seed,
        ..Options::default()
    })
    .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let server = &server;
            scope.spawn(move || {
                for n in (thread..KEYS).step_by(threads) {
                    for _ in 0..ARRIVALS {
                        post(server, &format!("/orders/{n}"), &format!("key-{n}"), "{}");
                    }
                }
            });
        }
    });
    assert!(server.wait_until_quiet(PATIENCE));
    let mut met: BTreeMap<String, Vec<Behaviour>> = BTreeMap::new();
    for record in server.records() {
        met.entry(record.key.unwrap())
            .or_default()
            .push(record.behaviour);
    }
    let summary = server.summary().unwrap();
    assert_eq!(
        (summary.duplicate_effects, summary.max_in_flight_per_key),
        (0, 1)
    );
    (met, summary.answers_lost)
}

#[test]
fn one_seed_gives_each_key_the_same_faults_whatever_the_threads_do() {
    let (alone, lost) = run(7, 1);
    let (crowd, lost_in_crowd) = run(7, 8);
    let (other, _) = run(8, 1);
    assert_eq!(alone, crowd);
    assert_eq!(lost, lost_in_crowd);
    assert!(lost > 0);
    assert_ne!(alone, other);
}
