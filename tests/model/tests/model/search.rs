//! Searching a setting.

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model, Path};
use submit_once_model::step::Step;
use submit_once_model::world::World;
use submit_once_model::{Delivery, Setting};

/// Searches every state, and finds nothing broken. Returns how many there are.
pub fn holds(name: &str, setting: Setting) -> usize {
    let checker = Delivery::new(setting)
        .checker()
        .threads(2)
        .spawn_bfs()
        .join();
    for (broken, path) in checker.discoveries() {
        panic!(
            "{name}: “{broken}” is broken by these steps:\n{}",
            told(path)
        );
    }
    // Without a discovery, nothing else ends a search before every state was looked at.
    assert!(checker.is_done(), "{name}: the search is not complete");
    checker.unique_state_count()
}

/// Searches for the shortest way to break an invariant. Returns its steps.
pub fn breaks(setting: Setting, invariant: &'static str) -> Option<Vec<Step>> {
    let checker = Delivery::new(setting)
        .checker()
        .finish_when(HasDiscoveries::AnyOf(BTreeSet::from([invariant])))
        .spawn_bfs()
        .join();
    assert!(
        checker
            .model()
            .properties()
            .iter()
            .any(|of| of.name == invariant),
        "there is no “{invariant}”"
    );
    checker.discovery(invariant).map(Path::into_actions)
}

/// The steps, a line each.
pub fn told(path: Path<World, Step>) -> String {
    let steps = path.into_vec();
    steps
        .iter()
        .filter_map(|(_, step)| step.as_ref())
        .enumerate()
        .map(|(number, step)| format!("{:>3} {step:?}\n", number + 1))
        .collect()
}
