//! The server: it keeps keys with their answers as long as its profile says, has effects, and is in
//! trouble of many kinds. What it knows is the truth that everything is judged by.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use submit_once::{Effect, KeyScope, ReplayedErrors, WireAnswer};
use submit_once_reference_server::history::Event;

use crate::common::sim::{SimClock, answer, header};
use crate::dice::Dice;
use crate::kinds::{NEVER, Setting};
use crate::log::Log;
use crate::wire::{Fate, Request};

/// What the server keeps under a key.
struct Key {
    since: i64,
    /// `None` while a handler is at work.
    stored: Option<WireAnswer>,
}

/// What a request is answered, by a script.
#[derive(Debug, Clone)]
pub enum Says {
    /// This, without an effect.
    Before(WireAnswer),
    /// A status, after the effect.
    After(u16),
    /// A status without an effect, which is kept under the key.
    Freezes(u16),
}

pub struct Server {
    setting: Setting,
    clock: Arc<SimClock>,
    log: Arc<Log>,
    pub dice: Dice,
    keys: BTreeMap<String, Key>,
    /// How often each submission took effect.
    effects: BTreeMap<String, u64>,
    records: BTreeMap<String, u64>,
    /// The newest version of each draft whose success was read.
    settled_drafts: BTreeMap<String, u64>,
    /// Requests on the wire: for which submission, from which process, and since which freeze.
    on_wire: BTreeMap<u64, (String, u64, u64)>,
    /// When the last connection of a submission ended without an answer.
    silence: BTreeMap<String, i64>,
    /// Tokens below this are no longer good, by account.
    least_token: BTreeMap<String, u64>,
    /// Everything is all right from now on.
    pub calm: bool,
    /// How often a process stood still. Its requests may outlive their leases.
    pub freezes: u64,
    /// What becomes of the next requests, and what they are answered, where a test has said it.
    pub fates: VecDeque<Fate>,
    pub script: VecDeque<Says>,
    requests: u64,
    made: u64,
    /// Batches that the core made by itself.
    pub batches: BTreeSet<String>,
}

impl Server {
    pub fn new(setting: Setting, clock: &Arc<SimClock>, log: &Arc<Log>, dice: Dice) -> Self {
        Self {
            setting,
            clock: Arc::clone(clock),
            log: Arc::clone(log),
            dice,
            keys: BTreeMap::new(),
            effects: BTreeMap::new(),
            records: BTreeMap::new(),
            settled_drafts: BTreeMap::new(),
            on_wire: BTreeMap::new(),
            silence: BTreeMap::new(),
            least_token: BTreeMap::new(),
            calm: false,
            freezes: 0,
            fates: VecDeque::new(),
            script: VecDeque::new(),
            requests: 0,
            made: 0,
            batches: BTreeSet::new(),
        }
    }

    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    pub fn effects_of(&self, id: &str) -> u64 {
        self.effects.get(id).copied().unwrap_or_default()
    }

    pub fn records(&self) -> &BTreeMap<String, u64> {
        &self.records
    }

    /// Earlier tokens of the account are worth nothing from now on.
    pub fn revoke(&mut self, account: &str, least: u64) {
        self.least_token.insert(account.to_owned(), least);
    }

    /// Somebody read that this version of a draft succeeded.
    pub fn settled_draft(&mut self, draft: &str, version: u64) {
        let newest = self.settled_drafts.entry(draft.to_owned()).or_default();
        *newest = version.max(*newest);
    }

    pub fn trouble(&mut self) -> bool {
        !self.calm && self.dice.below(100) < self.setting.trouble
    }

    /// A request has come. Its number, unless the history has nothing to do with it.
    pub fn receive(&mut self, request: &Request, process: u64) -> Option<u64> {
        if request.probe {
            return None;
        }
        if let (Some(owner), Some((sender, _))) = (&request.account, &request.bearer)
            && owner != sender
        {
            let id = &request.id;
            self.log
                .broken(format_args!("{id} of {owner} came from {sender}"));
        }
        if request.account.is_some() != request.bearer.is_some() {
            self.log
                .broken(format_args!("{} came without its account", request.id));
        }
        if request.effect == Effect::Safe || request.following {
            return None;
        }
        if let Some(key) = &request.key
            && *key != request.id
        {
            let id = &request.id;
            self.log
                .broken(format_args!("{id} came under the key {key}"));
        }
        if request.batch && self.batches.insert(request.id.clone()) {
            self.log.note(Event::Accepted {
                by: "core".to_owned(),
                key: request.id.clone(),
                request: "batch".to_owned(),
                lane: None,
            });
        }
        let quiet = self.setting.profile.quiet_time.as_millis() as i64;
        if let Some(ended) = self.silence.remove(&request.id)
            && self.clock.elapsed() < ended + quiet
        {
            let early = ended + quiet - self.clock.elapsed();
            let id = &request.id;
            self.log
                .broken(format_args!("quiet time: {id} came {early} ms early"));
        }
        self.requests += 1;
        self.on_wire
            .insert(self.requests, (request.id.clone(), process, self.freezes));
        self.log.note(Event::Received {
            number: self.requests,
            key: request.id.clone(),
            request: request.text.clone(),
            account: request.account.clone().unwrap_or_default(),
        });
        Some(self.requests)
    }

    /// A request has left the wire, with its answer or without.
    pub fn end(&mut self, number: Option<u64>, answered: bool) {
        let Some((id, _, freezes)) = number.and_then(|number| self.on_wire.remove(&number)) else {
            return;
        };
        if !answered && freezes == self.freezes {
            self.silence.insert(id, self.clock.elapsed());
        }
        self.log.note(Event::Ended {
            number: number.unwrap(),
        });
    }

    /// All connections of a process are gone.
    pub fn hang_up(&mut self, process: u64) {
        let of_it: Vec<u64> = self
            .on_wire
            .iter()
            .filter(|(_, (_, by, _))| *by == process)
            .map(|(number, _)| *number)
            .collect();
        for number in of_it {
            self.end(Some(number), false);
        }
    }

    fn key_of(&self, request: &Request) -> Option<String> {
        if request.effect != Effect::Keyed {
            return None;
        }
        let scope = match (self.setting.profile.key_scope, &request.bearer) {
            (KeyScope::Token, Some((account, token))) => format!("{account} {token}"),
            (KeyScope::Account | KeyScope::Device, Some((account, _))) => account.clone(),
            (_, None) => String::new(),
        };
        let key = request.key.clone().unwrap_or_else(|| request.id.clone());
        Some(format!("{scope}/{key}"))
    }

    /// What stands before the handlers: it has no effect, and says nothing of any earlier request.
    pub fn front(&mut self, request: &Request) -> Option<WireAnswer> {
        if let Some(Says::Before(said)) = self.script.front() {
            let said = said.clone();
            self.script.pop_front();
            return Some(said);
        }
        if let Some((account, token)) = &request.bearer
            && *token < self.least_token.get(account).copied().unwrap_or_default()
        {
            return Some(answer(401, r#"{"code":"token"}"#));
        }
        if request.following || !self.trouble() {
            return None;
        }
        let moved = request.path.starts_with("/moved");
        let plain = |status: u16| Some(answer(status, r#"{"code":"front"}"#));
        let with = |status: u16, name: &str, value: String| {
            let mut answer = answer(status, r#"{"code":"front"}"#);
            answer.headers.push(header(name, &value));
            Some(answer)
        };
        let ruled = self.setting.profile.name == "ruled";
        match self.dice.below(60) {
            0..=5 => with(503, "retry-after", self.dice.between(1, 900).to_string()),
            6..=8 => plain(503),
            9..=11 => with(429, "retry-after", self.dice.between(1, 600).to_string()),
            12 => plain(429),
            13 => with(403, "retry-after", "5".to_owned()),
            14..=16 if !moved => with(
                *self.dice.pick(&[307, 308]),
                "location",
                format!("/moved{}", request.target),
            ),
            17 => with(307, "location", "https://elsewhere.example.org/".to_owned()),
            18 => with(302, "location", "/login".to_owned()),
            19..=23 => plain(*self.dice.pick(&[500, 502, 504, 520, 507, 408])),
            24..=27 => plain(*self.dice.pick(&[421, 425, 407, 511, 521, 423])),
            28..=30 => plain(*self.dice.pick(&[400, 402, 404, 415, 501, 426])),
            31 => plain(*self.dice.pick(&[206, 226, 300, 304, 406, 424])),
            32 => plain(401),
            33 => plain(403),
            34 => plain(412),
            35 => Some(answer(
                422,
                r#"{"detail":"the idempotency key has another payload"}"#,
            )),
            36..=38 => {
                let mut page = answer(*self.dice.pick(&[200, 404, 502]), "<html>hello</html>");
                page.headers[0].value = "text/html".to_owned();
                Some(page)
            }
            39 if request.batch => plain(413),
            40 => with(413, "retry-after", "30".to_owned()),
            53 => with(400, "stripe-should-retry", "true".to_owned()),
            54 => with(500, "stripe-should-retry", "false".to_owned()),
            41..=52 if ruled => {
                let status = self.dice.between(432, 439) as u16;
                plain(status)
            }
            _ => None,
        }
    }

    /// What is kept under the key at this time, at which the request arrived. An empty hand means: go on.
    pub fn look(&mut self, request: &Request, now: i64) -> Option<WireAnswer> {
        let name = self.key_of(request)?;
        let profile = &self.setting.profile;
        if let (Some(retention), Some(key)) = (profile.retention, self.keys.get(&name))
            && key.stored.is_some()
            && now >= key.since + retention.as_millis() as i64
        {
            self.log.say(format_args!("  the server forgets {name}"));
            self.keys.remove(&name);
        }
        match self.keys.get(&name) {
            None => {
                let key = Key {
                    since: now,
                    stored: None,
                };
                self.keys.insert(name, key);
                None
            }
            Some(Key {
                stored: Some(stored),
                ..
            }) => {
                if let Some(Says::After(status)) = self.script.front().cloned() {
                    self.script.pop_front();
                    return Some(answer(status, "{}"));
                }
                let mut stored = stored.clone();
                if self.setting.marks {
                    stored.headers.push(header("idempotent-replayed", "true"));
                }
                Some(stored)
            }
            Some(_) if self.setting.profile.locks => Some(match profile.name.as_str() {
                "stripe" => answer(409, r#"{"error":{"code":"idempotency_key_in_use"}}"#),
                "adyen" => answer(422, r#"{"errorCode":"704"}"#),
                _ => answer(409, r#"{"code":"busy"}"#),
            }),
            Some(_) => None,
        }
    }

    /// The handler has done its work: what it did, and what it says. With `aborted` it ends right after its
    /// effect.
    pub fn finish(&mut self, request: &Request, aborted: bool) -> WireAnswer {
        let luck = if self.calm { 100 } else { self.dice.below(100) };
        let poison = request.text.contains("poison");
        let draws = !self.calm && luck < 20;
        match self.script.pop_front() {
            Some(Says::Freezes(status)) => return self.store(request, answer(status, "{}"), false),
            Some(Says::After(status)) => {
                self.affect(request);
                let done = self.done(request);
                self.store(request, done, false);
                return answer(status, "{}");
            }
            Some(Says::Before(_)) | None => {}
        }
        match luck {
            _ if request.following => return self.done(request),
            _ if poison => return self.store(request, answer(422, r#"{"code":"poison"}"#), true),
            0..=3 => return self.store(request, answer(422, r#"{"code":"invalid"}"#), true),
            4..=5 => return self.store(request, answer(402, r#"{"code":"funds"}"#), true),
            // Only who knows the key can say that for good.
            6 if self.setting.profile.name == "ruled" && request.effect == Effect::Keyed => {
                let body = format!(r#"{{"code":"{NEVER}"}}"#);
                return self.store(request, answer(422, &body), true);
            }
            7 if self.setting.profile.name == "ruled" => {
                let body = r#"{"id":0,"errors":["no"]}"#;
                return self.store(request, answer(200, body), true);
            }
            8..=12 => return self.store(request, answer(500, r#"{"code":"oops"}"#), true),
            _ => {}
        }
        self.affect(request);
        if aborted {
            self.forget(request);
            return answer(500, "{}");
        }
        let done = self.done(request);
        self.store(request, done.clone(), false);
        if draws && luck >= 13 {
            // It happened, and what is said of it is something else.
            let status = *self.dice.pick(&[500, 502, 504, 503, 520, 303, 207, 409]);
            let mut odd = match status {
                207 => answer(207, r#"[{"status":201},{"status":500}]"#),
                409 => answer(409, r#"{"id":1,"code":"done"}"#),
                status => answer(status, r#"{"code":"odd"}"#),
            };
            if status == 303 {
                odd.headers.push(header("location", "/done"));
            }
            return odd;
        }
        done
    }

    fn done(&mut self, request: &Request) -> WireAnswer {
        self.made += 1;
        let id = self.made;
        let status = match self.dice.below(12) {
            _ if request.effect == Effect::Safe || request.following => 200,
            0 => 200,
            1 => 202,
            2 if self.setting.profile.expected_member.is_none() => 204,
            _ => 201,
        };
        let lacks = self.setting.profile.expected_member.is_none() && self.dice.one_in(8);
        let body = match status {
            204 => String::new(),
            _ if lacks => format!(r#"{{"no":{id}}}"#),
            _ => format!(r#"{{"id":{id}}}"#),
        };
        let mut done = answer(status, &body);
        done.headers
            .push(header("etag", &format!("\"{}\"", id % 3)));
        done
    }

    fn affect(&mut self, request: &Request) {
        if request.effect == Effect::Safe {
            return;
        }
        if let Some((draft, version)) = &request.draft
            && self
                .settled_drafts
                .get(draft)
                .is_some_and(|newest| newest > version)
        {
            let id = &request.id;
            self.log
                .broken(format_args!("latest wins: {id} wrote over a newer {draft}"));
        }
        for record in &request.records {
            *self.records.entry(record.clone()).or_default() += 1;
        }
        let effects = self.effects.entry(request.id.clone()).or_default();
        *effects += 1;
        // What overwrites is the same however often it is written.
        if request.effect != Effect::Overwrite || *effects == 1 {
            self.log.note(Event::Effect {
                key: request.id.clone(),
            });
        }
    }

    /// Keeps the answer under the key, as far as this server does.
    fn store(&mut self, request: &Request, said: WireAnswer, error: bool) -> WireAnswer {
        let keeps = match self.setting.profile.errors_are_replayed {
            _ if !error => true,
            ReplayedErrors::Nothing => false,
            ReplayedErrors::ClientErrors => said.status < 500,
            ReplayedErrors::All => said.status < 500 || self.dice.one_in(3),
        };
        // A refusal for good is kept by all who give it.
        let for_good =
            said.status == 422 && said.body == format!(r#"{{"code":"{NEVER}"}}"#).as_bytes();
        if !keeps && !for_good {
            self.forget(request);
            return said;
        }
        if let Some(name) = self.key_of(request)
            && let Some(key) = self.keys.get_mut(&name)
            && key.stored.is_none()
        {
            key.stored = Some(said.clone());
        }
        said
    }

    pub fn forget(&mut self, request: &Request) {
        if let Some(name) = self.key_of(request)
            && self.keys.get(&name).is_some_and(|key| key.stored.is_none())
        {
            self.keys.remove(&name);
        }
    }

    /// What a status probe finds.
    pub fn probe(&mut self, id: &str) -> WireAnswer {
        if self.trouble() {
            return answer(*self.dice.pick(&[500, 503, 401, 429]), "{}");
        }
        if self.effects_of(id) > 0 {
            answer(200, r#"{"id":7}"#)
        } else {
            answer(404, r#"{"code":"none"}"#)
        }
    }
}
