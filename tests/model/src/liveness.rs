//! What must stay possible: from every state, without further faults, all that was accepted comes to an
//! end. The whole graph is walked once, forwards, and then backwards from its ends.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::Model;

use crate::setting::Delivery;
use crate::world::World;

/// What the walk found.
#[derive(Debug)]
pub struct Walk {
    /// States, all that can be reached.
    pub states: usize,
    /// States from which no end can be reached.
    pub dead_ends: usize,
    /// The first of them.
    pub first: Option<World>,
}

/// The edges to a state, as a list that is threaded through one array: the last edge of each state, and
/// of each edge where it comes from and the one before.
#[derive(Default)]
struct Backwards {
    last: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

const NONE: u32 = u32::MAX;

impl Backwards {
    fn state(&mut self) -> u32 {
        self.last.push(NONE);
        self.last.len() as u32 - 1
    }

    fn edge(&mut self, from: u32, to: u32) {
        let before = std::mem::replace(&mut self.last[to as usize], self.edges.len() as u32);
        self.edges.push((from, before));
    }

    fn to(&self, state: u32) -> impl Iterator<Item = u32> {
        let mut next = self.last[state as usize];
        std::iter::from_fn(move || {
            let (from, before) = *self.edges.get(next as usize)?;
            next = before;
            Some(from)
        })
    }
}

/// Walks the whole graph of a setting.
pub fn walk(of: &Delivery) -> Walk {
    let mut backwards = Backwards::default();
    let mut known = HashMap::new();
    let mut worlds = of.init_states();
    for world in &worlds {
        known.insert(fingerprint(world), backwards.state());
    }
    let mut ends = Vec::new();
    let mut steps = Vec::new();
    let mut state = 0;
    while let Some(world) = worlds.get(state as usize).copied() {
        if is_over(of, &world) {
            ends.push(state);
        }
        of.actions(&world, &mut steps);
        for step in steps.drain(..) {
            let Some(next) = of.next_state(&world, step) else {
                continue;
            };
            let to = *known.entry(fingerprint(&next)).or_insert_with(|| {
                worlds.push(next);
                backwards.state()
            });
            if step.is_faultless() {
                backwards.edge(state, to);
            }
        }
        state += 1;
    }
    let mut ends_well = vec![false; worlds.len()];
    for end in &ends {
        ends_well[*end as usize] = true;
    }
    while let Some(state) = ends.pop() {
        for from in backwards.to(state) {
            if !std::mem::replace(&mut ends_well[from as usize], true) {
                ends.push(from);
            }
        }
    }
    Walk {
        states: worlds.len(),
        dead_ends: ends_well.iter().filter(|well| !**well).count(),
        first: ends_well
            .iter()
            .position(|well| !well)
            .map(|state| worlds[state]),
    }
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Everything has ended, or the bounds of the model are what stands in the way: no attempt is left for a
/// decision to retry, or all processes stay frozen.
fn is_over(of: &Delivery, world: &World) -> bool {
    let processes = &world.processes[..usize::from(of.setting.processes)];
    let frozen = processes.iter().all(|process| process.frozen);
    let ended = world.submissions.iter().all(|one| {
        let out_of_attempts = one.begun >= of.setting.attempts && !of.setting.decisions;
        !one.is_unsettled() || out_of_attempts
    });
    frozen || ended
}
