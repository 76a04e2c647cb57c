//! The app: it submits, and asks again, and reads what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    BatchConfig, Clock, Effect, Header, KeyPlace, LanePolicy, ListFilter, Outbox, OutboxError,
    PageRequest, PartSource, PartTarget, Snapshot, StatusProbe, StorageError, Submission,
    SubmissionId, SubmissionState,
};
use submit_once_reference_server::history::{Event, State};

use crate::device::Device;
use crate::dice::Dice;
use crate::kinds::url;
use crate::log::{Log, digest};

/// A submission that the app knows of.
pub struct Known {
    pub id: SubmissionId,
    /// To submit it again; nothing for a batch.
    pub submission: Option<Submission>,
    /// What tells it from others.
    pub request: String,
    /// The lane that the history has it in.
    pub lane: Option<String>,
    pub draft: Option<(String, u64)>,
    pub effect: Effect,
}

pub struct App {
    pub device: Device,
    pub dice: Dice,
    pub log: Arc<Log>,
    pub known: Vec<Known>,
    pub account: Option<String>,
    pub tokens: BTreeMap<String, u64>,
    /// Lanes begin anew after a purge.
    pub generation: u64,
    pub made: u64,
    /// A second effect was allowed, or something was damaged on purpose.
    pub batches_spoilt: bool,
    pub damaged: bool,
    pub appended: Vec<String>,
}

/// An error's name, without its words.
pub fn name_of(error: &OutboxError) -> String {
    let text = match error {
        OutboxError::Storage { storage } => format!("{storage:?}"),
        error => format!("{error:?}"),
    };
    let end = text.find([' ', '{', '(']).unwrap_or(text.len());
    text[..end].to_owned()
}

pub fn state_of(state: SubmissionState) -> State {
    match state {
        SubmissionState::Pending => State::Pending,
        SubmissionState::InFlight => State::InFlight,
        SubmissionState::Held { .. } => State::Held,
        SubmissionState::Succeeded => State::Succeeded,
        SubmissionState::Rejected { .. } => State::Rejected,
        SubmissionState::Cancelled => State::Cancelled,
        SubmissionState::Expired => State::Expired,
        SubmissionState::Superseded { .. } => State::Superseded,
        SubmissionState::Abandoned => State::Abandoned,
    }
}

impl App {
    /// One of the processes that run, and its name in the history.
    pub fn process(&mut self) -> (Arc<Outbox>, String) {
        let processes = &self.device.processes;
        let running: Vec<_> = processes
            .iter()
            .filter(|process| !process.life.is_frozen())
            .collect();
        let process = self.dice.pick(&running);
        (Arc::clone(&process.outbox), format!("p{}", process.number))
    }

    pub fn say(&self, what: impl std::fmt::Display) {
        self.log.say(what);
    }

    /// Says how a call ended. What the core calls an internal error never happens.
    pub fn heard<T>(&self, call: &str, result: &Result<T, OutboxError>) {
        match result {
            Ok(_) => self.say(call),
            Err(error) => {
                self.say(format_args!("{call}: {}", name_of(error)));
                if let OutboxError::Storage {
                    storage: StorageError::Internal { detail },
                } = error
                {
                    self.log.broken(format_args!("{call}: {detail}"));
                }
            }
        }
    }

    pub fn pick(&mut self) -> Option<usize> {
        let all = self.known.len() as u64;
        // The latest ones are the ones that something happens to.
        let from = if self.dice.one_in(3) {
            0
        } else {
            all.saturating_sub(12)
        };
        (all > 0).then(|| self.dice.between(from, all - 1) as usize)
    }

    fn effect(&mut self) -> Effect {
        let profile = &self.device.config.profile.as_ref().unwrap();
        let own = profile.effect;
        let resends = profile.gateway_may_resend;
        let luck = self.dice.below(16);
        match (own, luck) {
            (_, 0..=1) => Effect::Safe,
            (Effect::Keyed, 2..=4) => Effect::Overwrite,
            // Nobody can keep a gateway from doing it twice.
            (Effect::Keyed, 5) if !resends => Effect::Unkeyed,
            _ => own,
        }
    }

    fn id(&mut self) -> Option<SubmissionId> {
        self.made += 1;
        let made = self.made;
        if self.dice.one_in(8) {
            return Some(SubmissionId::derived(
                self.account.as_deref(),
                "order",
                &format!("{made}"),
            ));
        }
        let (outbox, _) = self.process();
        let slot = format!("form {made}");
        let begun = outbox.begin(slot.clone());
        self.heard("begin", &begun);
        let id = begun.ok()?;
        if self.dice.one_in(10) && outbox.begin(slot).is_ok_and(|again| again != id) {
            self.log
                .broken(format_args!("the slot of {id} gave another ID"));
        }
        Some(id)
    }

    fn make(&mut self) -> Option<Known> {
        let id = self.id()?;
        let effect = self.effect();
        let profile = self.device.config.profile.clone().unwrap();
        let (method, path, name) = match effect {
            Effect::Safe => ("GET", "/config", "safe"),
            Effect::Overwrite => ("PUT", "/draft", "overwrite"),
            Effect::Keyed => ("POST", "/orders", "keyed"),
            Effect::Unkeyed => ("POST", "/logs", "unkeyed"),
        };
        let mut submission = Submission::new(id, method, &url(&profile, path))
            .effect(effect)
            .header("x-sim", &id.to_string())
            .header("x-effect", name)
            .priority(self.dice.below(3) as i32);
        submission.account = self.account.clone().filter(|_| !self.dice.one_in(3));
        if let Some(account) = submission.account.clone() {
            submission = submission.header("x-account", &account);
        }
        let whose = submission.account.clone().unwrap_or_default();
        let made = self.made;
        let mut json = true;
        if effect != Effect::Safe {
            let long = "x".repeat(if self.dice.one_in(4) { 200 } else { 3 });
            if self.dice.one_in(8) && !matches!(profile.key_place, KeyPlace::JsonPointer { .. }) {
                let path = self.device.folder.path().join("photo");
                std::fs::write(&path, format!("{made} {long}")).unwrap();
                submission = submission.file("image/png", path.to_str().unwrap());
                json = false;
            } else {
                submission = submission.json(format!(r#"{{"n":{made},"text":"{long}"}}"#));
            }
        }
        let mut draft = None;
        let mut lane = None;
        let replaceable = effect == Effect::Overwrite
            || effect == Effect::Safe
            || (effect == Effect::Keyed && profile.latest_wins);
        if replaceable && !self.dice.one_in(4) {
            let name = format!("{whose}-{name}-{}", self.dice.below(2));
            if effect == Effect::Safe {
                submission = submission.replaces(name);
            } else {
                submission = submission
                    .replaces(name.clone())
                    .header("x-draft", &format!("{name} {made}"));
                draft = Some((name, made));
            }
        } else if effect != Effect::Safe && self.dice.one_in(3) {
            let (policy, name) = self.dice.weighted(&[
                (3, (LanePolicy::Block, "block")),
                (1, (LanePolicy::Continue, "go")),
                (2, (LanePolicy::RejectRest, "rest")),
            ]);
            let name = format!("{whose}-{name}-{}-{}", self.dice.below(2), self.generation);
            submission = submission.lane(name.clone()).lane_policy(policy);
            lane = (policy == LanePolicy::Block).then_some(name);
        }
        if self.dice.one_in(6)
            && let Some(parent) = self.pick()
        {
            let of = self.known[parent].id;
            submission = if json && effect != Effect::Safe && self.dice.one_in(2) {
                let from = PartSource::JsonPointer {
                    pointer: "/id".to_owned(),
                };
                let into = PartTarget::Json {
                    pointer: "/parent".to_owned(),
                };
                submission.part(of, from, into)
            } else {
                submission.after(of)
            };
        }
        if self.dice.one_in(7) {
            let seconds = *self.dice.pick(&[1, 5, 20, 60, 600, 7_200]);
            let wall = self.device.world.clock.now().wall.0 + seconds * 1_000;
            let wall = Duration::from_millis(wall.try_into().unwrap_or_default());
            submission = submission.expires_at(std::time::UNIX_EPOCH + wall);
        }
        if effect != Effect::Safe && self.dice.one_in(4) {
            submission = submission.probe(StatusProbe {
                of_key_record: self.dice.one_in(3),
                ..StatusProbe::at("/status/{id}")
            });
        }
        submission.unmetered_only = self.dice.one_in(20);
        Some(Known {
            id,
            request: made.to_string(),
            lane,
            draft,
            effect,
            submission: Some(submission),
        })
    }

    /// Submits something new.
    pub fn submit(&mut self) {
        let Some(mut known) = self.make() else { return };
        let submission = known.submission.clone().unwrap();
        let text = format!(
            "submit {} {:?} lane {:?} replaces {:?} after {:?}",
            known.id, known.effect, submission.lane, submission.replaces, submission.after
        );
        let (outbox, by) = self.process();
        let result = outbox.submit(submission);
        self.heard(&text, &result);
        let unsure = result.is_err();
        if self.note(&by, &known, result.map(|_| ())) {
            if unsure && known.draft.is_some() {
                // Taken later, it would be a newer version than it says.
                known.submission = None;
            }
            self.known.push(known);
        }
    }

    pub fn submit_all(&mut self) {
        let made: Vec<Known> = (0..3).filter_map(|_| self.make()).collect();
        let submissions = made
            .iter()
            .map(|known| known.submission.clone().unwrap())
            .collect();
        let (outbox, by) = self.process();
        let result = outbox.submit_all(submissions).map(|_| ());
        self.heard("submit_all", &result);
        for mut known in made {
            if self.note(&by, &known, result.clone()) {
                if result.is_err() && known.draft.is_some() {
                    known.submission = None;
                }
                self.known.push(known);
            }
        }
    }

    /// The second tap.
    pub fn submit_again(&mut self) {
        let Some(which) = self.pick() else { return };
        let Some(mut submission) = self.known[which].submission.clone() else {
            return;
        };
        let (outbox, by) = self.process();
        // One whose first submit may not have been stored is free to be another.
        let stored = outbox.snapshot(submission.id).is_ok();
        let other = self.dice.one_in(4) && self.known[which].effect != Effect::Safe && stored;
        if other {
            submission = submission.json(r#"{"another":true}"#);
        }
        let result = outbox.submit(submission);
        self.heard(&format!("submit {} again", self.known[which].id), &result);
        match result {
            Ok(_) if other => {
                let id = self.known[which].id;
                self.log
                    .broken(format_args!("{id} was taken with another body"));
            }
            result => {
                self.note(&by, &self.known[which], result.map(|_| ()));
            }
        }
    }

    /// Tells the history of a submit. True if it may have been stored.
    fn note(&self, by: &str, known: &Known, result: Result<(), OutboxError>) -> bool {
        let lost = |error: &OutboxError| {
            *error
                != OutboxError::Storage {
                    storage: StorageError::Indeterminate,
                }
        };
        if known.effect == Effect::Safe {
            return !result.is_err_and(|error| lost(&error));
        }
        let (by, key, request) = (by.to_owned(), known.id.to_string(), known.request.clone());
        match result {
            Ok(()) => self.log.note(Event::Accepted {
                by,
                key,
                request,
                lane: known.lane.clone(),
            }),
            Err(OutboxError::Storage {
                storage: StorageError::Indeterminate,
            }) => {
                self.log.note(Event::MaybeAccepted { by, key, request });
            }
            Err(_) => return false,
        }
        true
    }

    pub fn append(&mut self) {
        let profile = self.device.config.profile.clone().unwrap();
        if matches!(
            profile.key_place,
            KeyPlace::Nowhere | KeyPlace::JsonPointer { .. }
        ) {
            return;
        }
        let config = BatchConfig {
            headers: vec![Header {
                name: "x-batch".to_owned(),
                value: "1".to_owned(),
            }],
            max_records: 4,
            max_age: Some(Duration::from_secs(20)),
            ..BatchConfig::new("logs", &url(&profile, "/logs"))
        };
        let (outbox, by) = self.process();
        let Ok(batch) = outbox.batch(config) else {
            return;
        };
        if self.dice.one_in(6) {
            let flushed = batch.flush();
            self.heard("flush", &flushed);
            return;
        }
        let records: Vec<String> = (0..self.dice.between(1, 3))
            .map(|_| {
                self.made += 1;
                let poison = if self.dice.one_in(15) {
                    r#","poison":1"#
                } else {
                    ""
                };
                format!(r#"{{"id":"rec-{}"{poison}}}"#, self.made)
            })
            .collect();
        let result = batch.append_all(records);
        self.heard("append", &result);
        for receipt in result.unwrap_or_default() {
            self.appended.push(receipt.record_id.clone());
            self.know_batch(&by, receipt.batch);
        }
    }

    fn know_batch(&mut self, by: &str, id: SubmissionId) {
        if self.known.iter().any(|known| known.id == id) {
            return;
        }
        self.device.net.server().batches.insert(id.to_string());
        self.known.push(Known {
            id,
            submission: None,
            request: "batch".to_owned(),
            lane: None,
            draft: None,
            effect: Effect::Keyed,
        });
        self.note(by, self.known.last().unwrap(), Ok(()));
    }

    /// Reads one result.
    pub fn look(&mut self) {
        let Some(which) = self.pick() else { return };
        let (outbox, by) = self.process();
        let id = self.known[which].id;
        let read = outbox.snapshot(id);
        self.heard(&format!("look {id}"), &read);
        if let Ok(snapshot) = read {
            self.read(&by, which, &snapshot);
        }
    }

    /// Tells the history what was read.
    fn read(&self, by: &str, which: usize, snapshot: &Snapshot) {
        let known = &self.known[which];
        if known.effect == Effect::Safe || !snapshot.state.is_final() {
            return;
        }
        if let (SubmissionState::Succeeded, Some((draft, version))) = (snapshot.state, &known.draft)
        {
            self.device.net.server().settled_draft(draft, *version);
        }
        let result = match &snapshot.outcome {
            None => String::new(),
            Some(outcome) => match &outcome.body {
                Some(body) => format!("{:?} {}", outcome.status, digest(body)),
                // Retention has dropped it, or it never came.
                None => return,
            },
        };
        self.log.note(Event::Read {
            by: by.to_owned(),
            key: known.id.to_string(),
            state: state_of(snapshot.state),
            result,
        });
    }

    /// Looks at everything. The history has it all, unless the disk can't be read.
    pub fn list(&mut self) {
        let (outbox, by) = self.process();
        let mut page = PageRequest::default();
        let mut listed = Vec::new();
        loop {
            let Ok(found) = outbox.list(ListFilter::all(), page) else {
                return;
            };
            listed.extend(found.snapshots);
            match found.next {
                Some(next) => page.after = next,
                None => break,
            }
        }
        let mut states = Vec::new();
        // What the core made by itself, and retention may have dropped meanwhile.
        let batches = self.device.net.server().batches.clone();
        for id in batches.iter().filter_map(|id| SubmissionId::parse(id).ok()) {
            self.know_batch(&by, id);
        }
        for snapshot in &listed {
            let known = self.known.iter().any(|known| known.id == snapshot.id);
            if !known && snapshot.url.contains("/logs") && snapshot.effect == Effect::Keyed {
                // The halves of a batch that was split.
                self.know_batch(&by, snapshot.id);
            } else if !known {
                states.push((snapshot.id.to_string(), state_of(snapshot.state)));
            }
        }
        for which in 0..self.known.len() {
            if self.known[which].effect == Effect::Safe {
                continue;
            }
            match outbox.snapshot(self.known[which].id) {
                Ok(snapshot) => {
                    states.push((snapshot.id.to_string(), state_of(snapshot.state)));
                    self.read(&by, which, &snapshot);
                }
                Err(OutboxError::UnknownId { .. }) => {}
                Err(_) => return,
            }
        }
        self.log.note(Event::Listed { by, states });
    }
}
