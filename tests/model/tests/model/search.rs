//! Searching a setting.

use std::collections::{BTreeSet, HashSet};

use stateright::{Checker, HasDiscoveries, Model, Path};
use submit_once_model::step::Step;
use submit_once_model::world::World;
use submit_once_model::{Delivery, Setting};

/// Searches every state, and finds nothing broken. Returns how many there are.
pub fn holds(name: &str, setting: Setting) -> usize {
    holds_but_for(name, setting, &[])
}

/// The same, where some invariants aren't promised.
pub fn holds_but_for(name: &str, setting: Setting, not_asked: &[&str]) -> usize {
    let checker = Delivery::new(setting)
        .checker()
        .threads(2)
        .spawn_bfs()
        .join();
    for (broken, path) in checker.discoveries() {
        assert!(
            not_asked.contains(&broken),
            "{name}: “{broken}” is broken by these steps:\n{}",
            told(path)
        );
    }
    // While an invariant holds, nothing ends a search before every state was looked at.
    assert!(checker.is_done(), "{name}: the search is not complete");
    checker.unique_state_count()
}

/// Searches for the shortest way to break an invariant. Returns its steps.
pub fn breaks(setting: Setting, invariant: &'static str) -> Option<Vec<Step>> {
    let properties = Delivery::new(setting).properties();
    let asked = properties.iter().any(|of| of.name == invariant);
    assert!(asked, "there is no “{invariant}”");
    let mut shortest = None;
    // A search reports the last of the ways that it found, which is seldom the shortest.
    while let Some(shorter) = breaks_within(setting, invariant, shortest.as_ref().map(Vec::len)) {
        shortest = Some(shorter);
    }
    shortest
}

/// The same in fewer steps than so many.
fn breaks_within(
    setting: Setting,
    invariant: &'static str,
    steps: Option<usize>,
) -> Option<Vec<Step>> {
    let mut search = Delivery::new(setting)
        .checker()
        .finish_when(HasDiscoveries::AnyOf(BTreeSet::from([invariant])));
    if let Some(steps) = steps {
        // What is that deep isn't looked at; the first state is one deep.
        search = search.target_max_depth(steps + 1);
    }
    let checker = search.spawn_bfs().join();
    checker.discovery(invariant).map(Path::into_actions)
}

/// Everything that can be reached, one state and the steps from it after the other. States are compared
/// whole here. Returns how many there are.
pub fn visit(setting: Setting, mut see: impl FnMut(&World, &[Step])) -> usize {
    let of = Delivery::new(setting);
    let mut open = of.init_states();
    let mut known: HashSet<World> = open.iter().copied().collect();
    let mut steps = Vec::new();
    while let Some(world) = open.pop() {
        steps.clear();
        of.actions(&world, &mut steps);
        see(&world, &steps);
        for step in &steps {
            if let Some(next) = of.next_state(&world, *step)
                && known.insert(next)
            {
                open.push(next);
            }
        }
    }
    known.len()
}

/// The steps, a line each.
fn told(path: Path<World, Step>) -> String {
    path.into_actions()
        .iter()
        .enumerate()
        .map(|(number, step)| format!("{:>3} {step:?}\n", number + 1))
        .collect()
}
