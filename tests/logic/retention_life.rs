//! P8, over random lives: a late duplicate meets what there was, or is told that it is too old; it is
//! never taken for new.

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use submit_once::{Limits, OutboxError, ReceiptKind, Submission};

use crate::common::Place;
use crate::common::sim::{drain, lost, order, simulate};

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Clone, Debug)]
enum Act {
    Submit,
    /// One of those before.
    Repeat(prop::sample::Index),
    /// An ID from before, that was begun and never submitted.
    Begun,
    Deliver,
    /// The next attempt gets no answer.
    Lose,
    Pass(u32),
    Retain,
    Restart,
    Reboot,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Submit),
        4 => any::<prop::sample::Index>().prop_map(Act::Repeat),
        1 => Just(Act::Begun),
        4 => Just(Act::Deliver),
        1 => Just(Act::Lose),
        3 => (0..4_u32).prop_map(Act::Pass),
        4 => Just(Act::Retain),
        1 => Just(Act::Restart),
        1 => Just(Act::Reboot),
    ]
}

fn limits() -> Limits {
    Limits {
        keep_results: DAY,
        keep_results_count: 3,
        keep_results_bytes: 20,
        keep_tombstones: DAY * 2,
        keep_changes: 5,
        ..Limits::default()
    }
}

/// What the lives came to, so that a test of nothing is noticed.
#[derive(Default)]
struct Seen {
    replayed: u32,
    too_old: u32,
    joined: u32,
}

fn live(acts: &[Act], seen: &mut Seen) {
    let place = Place::new();
    simulate(1, |world| async move {
        let open = || world.open_with(world.config(&place).limits(limits()));
        let mut outbox = open();
        let mut taken: Vec<Submission> = Vec::new();
        let mut totals = 0;
        for (number, act) in acts.iter().enumerate() {
            match act {
                Act::Submit => {
                    let order = order(&outbox, &format!("order-{number}"));
                    assert_eq!(
                        outbox.submit(order.clone()).unwrap().kind,
                        ReceiptKind::Accepted
                    );
                    taken.push(order);
                }
                Act::Repeat(_) if taken.is_empty() => {}
                Act::Repeat(index) => {
                    let order = &taken[index.index(taken.len())];
                    match outbox.submit(order.clone()) {
                        Ok(receipt) => match receipt.kind {
                            ReceiptKind::Joined => seen.joined += 1,
                            ReceiptKind::Replayed => seen.replayed += 1,
                            ReceiptKind::Accepted => panic!("{order:?} was accepted again"),
                        },
                        Err(OutboxError::IdTooOld { .. }) => seen.too_old += 1,
                        Err(error) => panic!("{error:?}"),
                    }
                }
                Act::Begun => {
                    // A slot gives an ID that is never refused, however long it was kept.
                    let order = order(&outbox, "kept");
                    let receipt = outbox.submit(order.clone()).unwrap();
                    if receipt.kind == ReceiptKind::Accepted {
                        taken.push(order);
                    }
                }
                Act::Deliver => drop(drain(&outbox).await),
                Act::Lose => world.network.play([lost()]),
                Act::Pass(days) => world.pass(DAY * *days).await,
                Act::Retain => drop(outbox.retain().unwrap()),
                Act::Restart | Act::Reboot => {
                    outbox.close();
                    if matches!(act, Act::Reboot) {
                        world.clock.reboot();
                    }
                    outbox = open();
                }
            }
            let stats = outbox.stats().unwrap();
            assert_eq!(stats.accepted, i64::try_from(taken.len()).unwrap());
            let now = stats.submit_calls + stats.attempts + stats.succeeded + stats.doubts_raised;
            assert!(now >= totals, "a total went down");
            totals = now;
            let unknown = "SELECT (SELECT count(*) FROM attempt a
                    JOIN submission s ON s.seq = a.submission
                    WHERE a.mark = 'unknown' AND s.settled_wall IS NULL),
                (SELECT count(*) FROM submission WHERE settled_wall IS NOT NULL) - settled,
                (SELECT coalesce(sum(length(body)), 0) FROM answer) - result_bytes,
                (SELECT coalesce(sum(length(r.body)), 0) FROM request r
                    JOIN submission s ON s.seq = r.seq WHERE s.settled_wall IS NULL) - queued_bytes
                FROM meta";
            let (open, settled, results, queued): (i64, i64, i64, i64) = place
                .sql()
                .query_row(unknown, [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })
                .unwrap();
            assert_eq!(stats.doubts_raised - stats.doubts_settled, open);
            assert_eq!(
                (settled, results, queued),
                (0, 0, 0),
                "counters that are kept"
            );
        }
        outbox.close();
    });
}

#[test]
fn a_late_duplicate_never_begins_again() {
    let config = ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // Always the same lives, since it is counted what they came to.
    let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, same);
    let seen = std::cell::RefCell::new(Seen::default());
    runner
        .run(&prop::collection::vec(act(), 20..50), |acts| {
            live(&acts, &mut seen.borrow_mut());
            Ok(())
        })
        .unwrap();
    let seen = seen.into_inner();
    let counts = (seen.replayed, seen.too_old, seen.joined);
    assert!(
        seen.replayed > 10 && seen.too_old > 3 && seen.joined > 10,
        "{counts:?}"
    );
}
