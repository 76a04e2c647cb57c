//! Many seeds, each a simulation of its own.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use submit_once::{Resolution, SubmissionState};

use crate::common::Place;
use crate::common::attack::{Attack, asked_seed, assert_noticed, is_weakened};
use crate::common::sim::{Play, answer, order, simulate};
use crate::coverage::{Reached, missed};
use crate::run::{STEPS, run};

const IN_CI: u64 = 2_000;

/// With a rule taken out, the first few must do.
const WEAKENED: u64 = 150;

/// What a seed broke, in the shortest run that breaks it, and how to run it again.
fn complaint(seed: u64) -> String {
    let breaks = |steps: u64| !run(seed, steps).broken.is_empty();
    let (mut good, mut bad) = (0, STEPS);
    while bad - good > 1 && !is_weakened() {
        let middle = good.midpoint(bad);
        if breaks(middle) {
            bad = middle;
        } else {
            good = middle;
        }
    }
    let ran = run(seed, bad);
    let broken: Vec<_> = ran.broken.iter().take(5).collect();
    format!(
        "seed {seed} breaks a promise after {bad} steps: {broken:#?}\n\
         run it again: SUBMIT_ONCE_SEED={seed} SUBMIT_ONCE_TRACE=1 cargo test --test simulation \
         the_seeds"
    )
}

/// One seed, by itself.
fn one(seed: u64) {
    let ran = run(seed, STEPS);
    // Not captured by the test harness.
    let mut out = std::io::stderr().lock();
    if std::env::var_os("SUBMIT_ONCE_TRACE").is_some() {
        writeln!(out, "{}", ran.lines.join("\n")).unwrap();
    }
    let lines = ran.lines.len();
    writeln!(out, "seed {seed}: trace {} of {lines} lines", ran.hash).unwrap();
    drop(out);
    assert!(ran.broken.is_empty(), "seed {seed}: {:#?}", ran.broken);
}

/// V8: whatever happens, in whatever order, no promise is broken. V18: all that can happen does.
#[test]
fn the_seeds() {
    if let Some(seed) = asked_seed() {
        return one(seed);
    }
    let attack = Attack::begin("V8", "simulation");
    let coverage = Attack::begin("V18", "coverage");
    let count = match is_weakened() {
        true => WEAKENED,
        false => attack.count(IN_CI),
    };
    let next = AtomicU64::new(1);
    let failed = Mutex::new(BTreeSet::new());
    let reached = Mutex::new(BTreeSet::<Reached>::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed > count || !failed.lock().unwrap().is_empty() {
                        return;
                    }
                    let ran = run(seed, STEPS);
                    reached.lock().unwrap().extend(ran.reached);
                    if !ran.broken.is_empty() {
                        failed.lock().unwrap().insert(seed);
                    }
                }
            });
        }
    });
    if let Some(seed) = failed.lock().unwrap().first() {
        panic!("{}", complaint(*seed));
    }
    attack.report(&format!(
        "{count} seeds of {STEPS} steps, 0 promises broken"
    ));
    let (figure, missed) = missed(&reached.lock().unwrap());
    assert!(missed.is_empty(), "never reached: {missed:#?}");
    coverage.report(&figure);
}

/// The same seed gives the same trace, again and in every process.
#[test]
fn a_trace_is_the_same_again_and_in_another_process() {
    if is_weakened() {
        return;
    }
    for seed in 1..=20 {
        let first = run(seed, STEPS);
        assert_eq!(first.hash, run(seed, STEPS).hash, "seed {seed} again");
        if seed % 5 != 0 {
            continue;
        }
        let other = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "seeds::the_seeds", "--nocapture"])
            .env("SUBMIT_ONCE_SEED", seed.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&other.stderr);
        assert!(said.contains(&first.hash), "seed {seed} elsewhere: {said}");
    }
    assert_ne!(run(1, STEPS).hash, run(2, STEPS).hash);
}

#[test]
fn a_missing_quiet_time_is_noticed() {
    assert_noticed("no-quiet-time", "seeds::the_seeds", "quiet time");
}

/// K1, C1: one answer that proves its own attempt to be without effect says nothing of the others.
#[test]
fn doubt_that_any_answer_clears_is_noticed() {
    assert_noticed("doubt-cleared-by-any", "seeds::the_seeds", "the truth");
}

/// P7.
#[test]
fn late_evidence_changes_no_end() {
    simulate(1, |world| async move {
        let place = Place::new();
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        let exchange = world.network.take();
        outbox.cancel(order.id).unwrap();
        outbox.suspend().unwrap();
        let held = outbox.snapshot(order.id).unwrap();
        let given_up = outbox.resolve(order.id, held.revision, Resolution::GiveUp);
        assert_eq!(given_up.unwrap().state, SubmissionState::Abandoned);
        outbox.start().unwrap();
        exchange.answered(answer(201, "{}"));
        world.pass(Duration::from_secs(1)).await;
        let after = outbox.snapshot(order.id).unwrap();
        let state = after.state;
        assert_eq!(state, SubmissionState::Abandoned, "final is final");
        assert!(after.late_evidence.is_some());
    });
}

#[test]
fn a_final_state_that_may_change_is_noticed() {
    let test = "seeds::late_evidence_changes_no_end";
    assert_noticed("no-terminal-guard", test, "final is final");
}
