//! Many seeds, each a simulation of its own.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::attack::{Attack, asked_seed};
use crate::coverage::Reached;
use crate::run::{STEPS, run};

const IN_CI: u64 = 2_000;

/// What a seed broke, in the shortest run that breaks it, and how to run it again.
fn complaint(seed: u64) -> String {
    let breaks = |steps: u64| !run(seed, steps).broken.is_empty();
    let (mut good, mut bad) = (0, STEPS);
    while bad - good > 1 {
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

/// V8: whatever happens, in whatever order, no promise is broken.
#[test]
fn the_seeds() {
    if let Some(seed) = asked_seed() {
        let ran = run(seed, STEPS);
        if std::env::var_os("SUBMIT_ONCE_TRACE").is_some() {
            eprintln!("{}", ran.lines.join("\n"));
        }
        eprintln!(
            "seed {seed}: trace {} of {} lines",
            ran.hash,
            ran.lines.len()
        );
        assert!(ran.broken.is_empty(), "seed {seed}: {:#?}", ran.broken);
        return;
    }
    let attack = Attack::begin("V8", "simulation");
    let count = attack.count(IN_CI);
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
    for reached in reached.lock().unwrap().iter() {
        eprintln!("{reached:?}");
    }
    attack.report(&format!("{count} seeds of {STEPS} steps, nothing broken"));
}
