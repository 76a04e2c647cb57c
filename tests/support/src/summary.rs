//! The verdict: a few numbers that say whether each key had one effect.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::records::{EffectRecord, RequestRecord};

/// What happened, in numbers that the server counted itself.
///
/// A correct client leaves `duplicate_effects` at 0, and `max_in_flight_per_key` and
/// `max_keys_per_path` at 1 (the latter when each submission has a path of its own).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Requests that arrived, reads and refused ones included.
    pub requests: u64,
    /// Effects in the database, overwrites included.
    pub effects: u64,
    /// Distinct keys that arrived or have an effect.
    pub keys: u64,
    /// Effects beyond the first of each key.
    pub duplicate_effects: u64,
    /// The most effects that one key has.
    pub max_effects_per_key: u64,
    /// The most distinct keys that one path (with its query) was written with.
    pub max_keys_per_path: u64,
    /// The most requests with one key whose flights overlapped, those of killed clients included.
    pub max_in_flight_per_key: u64,
    /// Requests that are in flight now.
    pub in_flight: u64,
    /// Effects or replays whose answer did not reach the client.
    pub answers_lost: u64,
    /// Answers replayed from an earlier one, frozen errors included.
    pub replayed: u64,
    /// Requests whose body was cut.
    pub bodies_cut: u64,
    /// Answers 400: no key where one is needed, unless scripted.
    pub errors_400: u64,
    /// Answers 401: the credential was not accepted, unless scripted.
    #[serde(default)]
    pub errors_401: u64,
    /// Answers 409: the key was in use, unless scripted.
    pub errors_409: u64,
    /// Answers 422: the key was used for something else, unless scripted.
    pub errors_422: u64,
    /// Answers 500.
    pub errors_500: u64,
    /// Answers 503.
    pub errors_503: u64,
}

impl Summary {
    /// Counts records and effects.
    #[must_use]
    pub fn of(records: &[RequestRecord], effects: &[EffectRecord]) -> Self {
        let status = |wanted: u16| count(records, |record| record.status == Some(wanted));
        let mut per_key: HashMap<&str, u64> = HashMap::new();
        for key in effects.iter().filter_map(|effect| effect.key.as_deref()) {
            *per_key.entry(key).or_default() += 1;
        }
        let mut keys: HashSet<&str> = per_key.keys().copied().collect();
        keys.extend(records.iter().filter_map(|record| record.key.as_deref()));
        Self {
            requests: count(records, |_| true),
            effects: effects.len() as u64,
            keys: keys.len() as u64,
            duplicate_effects: per_key.values().map(|effects| effects - 1).sum(),
            max_effects_per_key: per_key.values().copied().max().unwrap_or(0),
            max_keys_per_path: max_keys_per_path(records, effects),
            max_in_flight_per_key: max_in_flight_per_key(records),
            in_flight: count(records, RequestRecord::in_flight),
            answers_lost: count(records, |record| record.answer_lost),
            replayed: count(records, |record| record.replayed),
            bodies_cut: count(records, |record| {
                !record.body_complete && record.handler_done_at_ns.is_some()
            }),
            errors_400: status(400),
            errors_401: status(401),
            errors_409: status(409),
            errors_422: status(422),
            errors_500: status(500),
            errors_503: status(503),
        }
    }
}

fn count(records: &[RequestRecord], wanted: impl Fn(&RequestRecord) -> bool) -> u64 {
    records.iter().filter(|record| wanted(record)).count() as u64
}

/// Effects are looked at as well as records, so that keys from before a restart count.
fn max_keys_per_path(records: &[RequestRecord], effects: &[EffectRecord]) -> u64 {
    let seen = records
        .iter()
        .map(|record| (record.path.as_str(), record.key.as_deref()));
    let done = effects
        .iter()
        .map(|effect| (effect.path.as_str(), effect.key.as_deref()));
    let mut keys: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (path, key) in seen.chain(done) {
        if let Some(key) = key {
            keys.entry(path).or_default().insert(key);
        }
    }
    keys.values().map(HashSet::len).max().unwrap_or(0) as u64
}

/// Sweeps over the starts and ends of all flights of each key.
fn max_in_flight_per_key(records: &[RequestRecord]) -> u64 {
    let mut edges: HashMap<&str, Vec<(u64, i64)>> = HashMap::new();
    for record in records {
        if let Some(key) = record.key.as_deref() {
            let edges = edges.entry(key).or_default();
            edges.push((record.arrived_at_ns, 1));
            edges.push((record.flight_ended_at_ns().unwrap_or(u64::MAX), -1));
        }
    }
    let most = edges.into_values().map(|mut edges| {
        // At the same instant the end (-1) sorts before the start: touching is not overlapping.
        edges.sort_unstable();
        let depths = edges.iter().scan(0_i64, |depth, (_, step)| {
            *depth += step;
            Some(*depth)
        });
        depths.max().unwrap_or(0)
    });
    u64::try_from(most.max().unwrap_or(0)).unwrap_or(0)
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
