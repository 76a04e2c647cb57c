//! The verdict. What happened is asked of the server; the outbox is asked only what it believes,
//! and has to agree.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use submit_once::{OutboxError, SubmissionState};
use submit_once_reference_server::{EffectRecord, ReferenceServer, RequestRecord, Summary};

use crate::app::{App, Entry, Replay};
use crate::failure::{Failure, trouble};
use crate::shortened;
use crate::worker::{self, Count};

/// How long handlers of dead clients may take to end.
const QUIET: Duration = Duration::from_secs(5);

pub struct Verdict {
    pub submissions: u64,
    pub taps: u64,
    pub kills: Count,
    /// As the server counts.
    pub server: Summary,
    /// Requests of worker processes among those that the server counts.
    pub requests_of_workers: u64,
    pub effects: u64,
    pub lost: u64,
    pub held: u64,
    pub unsettled: u64,
    /// Requests that came within the quiet time after one of the same key that got no answer.
    pub too_soon: u64,
    /// Taps that met the result, with the right bytes.
    pub replayed_receipts: u64,
    /// One sentence for each broken promise; empty if all held.
    pub broken: Vec<String>,
}

/// The body of the server's 201.
#[derive(Deserialize)]
struct Result201 {
    effect: u64,
    sha256: String,
}

pub fn judge(
    app: &App,
    server: &ReferenceServer,
    kills: Count,
    replays: Vec<Replay>,
) -> Result<Verdict, Failure> {
    let failed = |error| trouble("the judge", error);
    server.wait_until_quiet(QUIET);
    let effects = server.effects().map_err(failed)?;
    let records = server.records();
    let mut verdict = Verdict {
        submissions: app.entries.iter().map(Entry::accepted).sum(),
        taps: app.taps(),
        kills,
        server: server.summary().map_err(failed)?,
        requests_of_workers: records
            .iter()
            .filter(|record| worker::is_worker(record))
            .count() as u64,
        effects: effects.len() as u64,
        lost: 0,
        held: 0,
        unsettled: 0,
        too_soon: 0,
        replayed_receipts: 0,
        broken: Vec::new(),
    };
    let mut by_key: HashMap<&str, Vec<&EffectRecord>> = HashMap::new();
    for effect in &effects {
        by_key
            .entry(effect.key.as_deref().unwrap_or_default())
            .or_default()
            .push(effect);
    }
    let mut results = HashMap::new();
    for entry in &app.entries {
        let Some(id) = entry.id() else { continue };
        let key = id.to_string();
        let own = by_key.remove(key.as_str()).unwrap_or_default();
        let result = verdict.look_at(app, entry, &own)?;
        results.insert(id, result);
        if entry.accepted() != 1 {
            let times = entry.accepted();
            verdict.accuse(entry, &format!("was accepted {times} times"));
        }
    }
    for key in by_key.into_keys() {
        verdict
            .broken
            .push(format!("an effect has a key of no submission: “{key}”"));
    }
    for replay in replays {
        match (replay.body, results.get(&replay.id)) {
            (Some(body), Some(Some(result))) if body == *result => verdict.replayed_receipts += 1,
            _ => verdict.broken.push(format!(
                "submission {}: a tap met another result than the first",
                replay.id
            )),
        }
    }
    verdict.compare(app, &records);
    Ok(verdict)
}

impl Verdict {
    fn accuse(&mut self, entry: &Entry, what: &str) {
        self.broken.push(format!("{} {what}", entry.name()));
    }

    /// One submission: what the outbox believes against what the server did. Returns the result.
    fn look_at(
        &mut self,
        app: &App,
        entry: &Entry,
        effects: &[&EffectRecord],
    ) -> Result<Option<Vec<u8>>, Failure> {
        let Some(id) = entry.id() else {
            return Ok(None);
        };
        let snapshot = match app.outbox.snapshot(id) {
            Ok(snapshot) => snapshot,
            Err(OutboxError::UnknownId { .. }) => {
                self.lost += 1;
                self.accuse(entry, "was accepted and is gone");
                return Ok(None);
            }
            Err(error) => return Err(trouble(&entry.name(), error)),
        };
        for effect in effects {
            if effect.body_sha256 != sha256(entry.order.body.as_bytes())
                || effect.method != entry.order.method
                || !snapshot.url.ends_with(&effect.path)
            {
                self.accuse(entry, "arrived at the server with other bytes");
            }
        }
        if effects.len() > 1 {
            self.accuse(entry, &format!("has {} effects", effects.len()));
        }
        match snapshot.state {
            SubmissionState::Pending | SubmissionState::InFlight => {
                self.unsettled += 1;
                let why = snapshot.last_problem.unwrap_or_default();
                self.accuse(
                    entry,
                    &format!("is not settled ({:?}; {why})", snapshot.state),
                );
                return Ok(None);
            }
            SubmissionState::Held { reason } => {
                self.held += 1;
                self.accuse(entry, &format!("is held: {reason:?}"));
                return Ok(None);
            }
            ended if effects.len() != 1 => {
                self.lost += 1;
                if effects.is_empty() {
                    self.accuse(entry, &format!("ended as {ended:?} without an effect"));
                }
            }
            SubmissionState::Succeeded => {}
            ended => self.accuse(entry, &format!("ended as {ended:?}, but has an effect")),
        }
        let body = snapshot.outcome.and_then(|outcome| outcome.body);
        let told = body
            .as_deref()
            .and_then(|body| serde_json::from_slice::<Result201>(body).ok());
        let right = effects.iter().any(|effect| {
            told.as_ref().is_some_and(|told| {
                told.effect == effect.effect && told.sha256 == effect.body_sha256
            })
        });
        if !right && effects.len() == 1 {
            self.accuse(entry, "has the result of something else");
        }
        Ok(body)
    }

    /// The promises about all of them.
    fn compare(&mut self, app: &App, records: &[RequestRecord]) {
        if self.effects != self.submissions || self.submissions != app.entries.len() as u64 {
            self.broken.push(format!(
                "{} orders, {} submissions, {} effects",
                app.entries.len(),
                self.submissions,
                self.effects
            ));
        }
        if self.server.duplicate_effects > 0 && self.broken.is_empty() {
            self.broken.push("there are duplicate effects".to_owned());
        }
        let names: HashMap<String, String> = app
            .entries
            .iter()
            .filter_map(|entry| Some((entry.id()?.to_string(), entry.name())))
            .collect();
        let name = |key: &str| match names.get(key) {
            Some(name) => name.clone(),
            None => format!("the key “{key}”"),
        };
        if self.server.max_keys_per_path > 1 {
            for (path, keys) in keys_per_path(records) {
                if keys.len() > 1 {
                    let keys: Vec<_> = keys.into_iter().map(name).collect();
                    self.broken.push(format!(
                        "{path} was sent with several keys: {}",
                        keys.join(", ")
                    ));
                }
            }
        }
        for (first, second) in successions(records) {
            let what = if overlap(first, second) {
                "two requests in flight at once"
            } else if within_quiet_time(first, second) {
                self.too_soon += 1;
                "no quiet time between two requests"
            } else {
                continue;
            };
            self.broken.push(format!(
                "{} had {what}: number {} of {} and number {} of {}",
                name(first.key.as_deref().unwrap_or_default()),
                first.number,
                first.user_agent.as_deref().unwrap_or_default(),
                second.number,
                second.user_agent.as_deref().unwrap_or_default(),
            ));
        }
    }
}

fn keys_per_path(records: &[RequestRecord]) -> HashMap<&str, HashSet<&str>> {
    let mut keys: HashMap<&str, HashSet<&str>> = HashMap::new();
    for record in records {
        keys.entry(&record.path)
            .or_default()
            .insert(record.key.as_deref().unwrap_or_default());
    }
    keys
}

/// Each request with the next of its key.
fn successions(
    records: &[RequestRecord],
) -> impl Iterator<Item = (&RequestRecord, &RequestRecord)> {
    let mut last: HashMap<&str, &RequestRecord> = HashMap::new();
    records.iter().filter_map(move |record| {
        let key = record.key.as_deref().unwrap_or_default();
        last.insert(key, record).map(|before| (before, record))
    })
}

/// Whether two requests of a key were in flight at once.
fn overlap(first: &RequestRecord, second: &RequestRecord) -> bool {
    first.flight_ended_at_ns().unwrap_or(u64::MAX) > second.arrived_at_ns
}

/// Whether a request came too soon after one that got no answer. The server sees the end of a
/// connection a little later than its client, which counts from there, so half the time will do.
fn within_quiet_time(first: &RequestRecord, second: &RequestRecord) -> bool {
    let quiet = shortened::limits().quiet_time.unwrap_or_default() / 2;
    let quiet = u64::try_from(quiet.as_nanos()).unwrap_or(u64::MAX);
    first
        .lost_at_ns
        .is_some_and(|lost| second.arrived_at_ns.saturating_sub(lost) < quiet)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
