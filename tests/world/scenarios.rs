//! The scenarios that every language plays, in Rust: see `tests/conformance/README.md`.

use std::collections::BTreeSet;

use crate::scenario::{catalogue, kinds, play};

/// Plays the scenarios of a file. Those that fail are named, and each by its step.
#[allow(
    clippy::print_stdout,
    reason = "what Rust can't play is said, and shown with --nocapture"
)]
fn play_all(name: &str) {
    let mut failed = 0;
    for scenario in &catalogue::load(name).scenarios {
        let played = std::panic::catch_unwind(|| play(scenario));
        match played {
            Ok(played) => {
                for step in played.not_expressible {
                    println!("not expressible in Rust: {step}");
                }
            }
            // It has said why.
            Err(_) => failed += 1,
        }
    }
    assert_eq!(failed, 0, "scenarios of {name}.json failed");
}

macro_rules! files {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            play_all(stringify!($name));
        })*

        const PLAYED: &[&str] = &[$(stringify!($name)),*];
    };
}

files! {
    accounts,
    answers,
    batches,
    bodies,
    cancels,
    convergence,
    copies,
    decisions,
    fetched,
    ids,
    inbox,
    intents,
    key_lifetimes,
    key_places,
    lanes,
    latest,
    lost_answers,
    networks,
    observing,
    opening,
    order,
    parents,
    probes,
    purges,
    retention,
    runs,
    waits,
}

#[test]
fn every_file_is_played() {
    let played: BTreeSet<String> = PLAYED.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(played, catalogue::names());
}

/// What tells a call that its caller has gone is one way in each language to cancel; and how winding down
/// ends depends on what is on the wire in that moment. Each language has tests of its own for them.
/// The inbox itself is only a name for its steps, and `inbox_finish` calls `finish_with` where it has
/// statements.
const LEFT_OUT: [&str; 6] = [
    "new",
    "drain_cancellable",
    "wait_cancellable",
    "wind_down",
    "inbox",
    "inbox_finish_with",
];

/// Each step kind, and with them each exported function, is used by a scenario.
#[test]
fn every_step_and_every_exported_function_is_in_a_scenario() {
    let files = PLAYED.iter().map(|name| catalogue::load(name));
    let scenarios: Vec<_> = files.flat_map(|file| file.scenarios).collect();
    let steps = scenarios.iter().flat_map(|scenario| &scenario.steps);
    let used: BTreeSet<&str> = steps.map(|step| step.kind.as_str()).collect();
    let kinds: BTreeSet<&str> = kinds().collect();
    assert_eq!(used, kinds);
    let exported = catalogue::exported_functions();
    // As many as there were when this was written, or it can't read the sources any more.
    assert!(exported.len() >= 49, "{exported:?}");
    for function in &exported {
        let played = used.contains(function.as_str());
        let left_out = LEFT_OUT.contains(&function.as_str());
        assert!(
            played != left_out,
            "{function}: played {played}, left out {left_out}"
        );
    }
    let guarded = catalogue::guarded();
    let mut names = BTreeSet::new();
    for scenario in &scenarios {
        assert!(names.insert(&scenario.name), "{} twice", scenario.name);
        assert!(!scenario.guards.is_empty(), "{}", scenario.name);
        for guard in &scenario.guards {
            assert!(guarded.contains(guard), "{}: {guard}", scenario.name);
        }
    }
}
