//! The reference: what the rules say of every submission, in a map and without a database.

use std::collections::BTreeMap;

use submit_once::{HoldReason, RejectReason};

use crate::steps::{Decision, Reply};
use crate::terms::{Account, Answer, Entry, Intent, Kept, Kind, Scoped, State};

/// Seconds. No sum of the steps' times comes near to a limit without passing it.
pub const KEEP_RESULTS: u64 = 10 * 3_600 + 30;
pub const KEEP_TOMBSTONES: u64 = 15 * 3_600;
pub const EXPIRES_AFTER: u64 = 1_800;
const KEY_LIFETIME: u64 = 24 * 3_600 - 600;
const RETAIN_EVERY: u64 = 3_600;

#[derive(Clone, Debug)]
pub struct Model {
    pub now: u64,
    /// By ID; nothing, while it hasn't been submitted.
    pub entries: Vec<Option<Entry>>,
    /// In the order of acceptance.
    pub accepted: Vec<Intent>,
    pub signed_in: Account,
    pub answer: Answer,
    pub(crate) slots: BTreeMap<(Account, u8), Intent>,
    pub(crate) has_credentials: bool,
    /// Where lanes have stopped: at the place of one that ended without success.
    pub(crate) stopped: BTreeMap<Scoped, usize>,
    /// Whose attempt a server may still be working on.
    pub(crate) busy: BTreeMap<Scoped, Intent>,
    /// A server has told the time.
    told: bool,
    retained: Option<u64>,
    /// Unknown IDs up to this one can't be told from forgotten ones.
    pub(crate) too_old: Option<Intent>,
}

impl Model {
    pub fn new() -> Self {
        Self {
            now: 0,
            entries: Vec::new(),
            accepted: Vec::new(),
            signed_in: None,
            answer: Answer::Nothing,
            slots: BTreeMap::new(),
            has_credentials: false,
            stopped: BTreeMap::new(),
            busy: BTreeMap::new(),
            told: false,
            retained: None,
            too_old: None,
        }
    }

    pub fn entry(&self, intent: Intent) -> &Entry {
        self.entries[intent].as_ref().unwrap()
    }

    pub(crate) fn change(&mut self, intent: Intent) -> &mut Entry {
        self.entries[intent].as_mut().unwrap()
    }

    /// What is still kept whole, in the order of acceptance.
    pub fn whole(&self) -> impl Iterator<Item = (Intent, &Entry)> {
        let entries = self
            .accepted
            .iter()
            .map(|intent| (*intent, self.entry(*intent)));
        entries.filter(|(_, entry)| entry.kept == Kept::Whole)
    }

    pub(crate) fn place(&self, intent: Intent) -> usize {
        let mut places = self.accepted.iter();
        places.position(|accepted| *accepted == intent).unwrap()
    }

    fn unsettled(&self, of: impl Fn(&Entry) -> bool) -> Vec<Intent> {
        let open = self.whole().filter(|(_, entry)| !entry.state.is_final());
        open.filter(|(_, entry)| of(entry))
            .map(|(intent, _)| intent)
            .collect()
    }

    pub(crate) fn settle(
        &mut self,
        intent: Intent,
        state: State,
        status: Option<u16>,
        body: Option<&str>,
    ) {
        let now = self.now;
        let entry = self.change(intent);
        entry.set(state);
        entry.settled_at = now;
        entry.status = status;
        entry.body = body.map(str::to_owned);
        let kind = entry.kind;
        if let Some(lane) = kind.lane
            && state.stops_its_lane()
        {
            let place = self.place(intent);
            let stopped = self.stopped.entry((kind.account, lane)).or_insert(place);
            *stopped = place.min(*stopped);
        }
        if kind.replaces.is_some() && state == State::Succeeded {
            for older in self.older_than(intent) {
                self.settle(older, State::Superseded(intent), None, None);
            }
        }
    }

    /// Unsettled versions of the same key that were accepted before.
    pub(crate) fn older_than(&self, intent: Intent) -> Vec<Intent> {
        let kind = self.entry(intent).kind;
        let key = (kind.account, kind.replaces);
        let versions = self.unsettled(|entry| (entry.kind.account, entry.kind.replaces) == key);
        let place = self.place(intent);
        versions
            .into_iter()
            .filter(|version| self.place(*version) < place)
            .collect()
    }

    pub(crate) fn pend(&mut self, intent: Intent, consent: bool) {
        let entry = self.change(intent);
        entry.consent |= consent;
        entry.due = !entry.busy;
        entry.expires_at = None;
        entry.set(State::Pending);
    }

    pub(crate) fn hold(&mut self, intent: Intent, reason: HoldReason) {
        self.change(intent).set(State::Held(reason));
    }

    pub(crate) fn accept(&mut self, intent: Intent, kind: Kind, content: u8) {
        self.entries[intent] = Some(Entry {
            kind,
            content,
            state: State::Pending,
            kept: Kept::Whole,
            attempts: 0,
            unknown: 0,
            status: None,
            body: None,
            history: vec![State::Pending],
            doubt_since: None,
            due: true,
            busy: false,
            consent: false,
            expires_at: kind.expires.then_some(self.now + EXPIRES_AFTER),
            settled_at: 0,
        });
        self.accepted.push(intent);
        if kind.replaces.is_some() {
            for older in self.older_than(intent) {
                if self.entry(older).unknown == 0 {
                    self.settle(older, State::Superseded(intent), None, None);
                }
            }
        }
    }

    /// The server may have forgotten the key, and a doubt is about it.
    pub(crate) fn is_key_lost(&self, intent: Intent) -> bool {
        let entry = self.entry(intent);
        let age = entry.doubt_since.map(|since| self.now - since);
        entry.kind.replaces.is_none() && age.is_some_and(|age| age >= KEY_LIFETIME)
    }

    fn is_ready(&self, intent: Intent) -> bool {
        let entry = self.entry(intent);
        let Kind {
            account,
            lane,
            replaces,
            ..
        } = entry.kind;
        let has_access = account.is_none() || (account == self.signed_in && self.has_credentials);
        let has_turn = lane.is_none_or(|lane| {
            let queue = self
                .unsettled(|entry| (entry.kind.account, entry.kind.lane) == (account, Some(lane)));
            let stopped = self.stopped.get(&(account, lane));
            queue.first() == Some(&intent) && stopped.is_none_or(|at| self.place(intent) < *at)
        });
        let is_newest = replaces.is_none_or(|key| {
            let versions = self.unsettled(|entry| {
                (entry.kind.account, entry.kind.replaces) == (account, Some(key))
            });
            let busy = self.busy.get(&(account, key));
            versions.last() == Some(&intent) && busy.is_none_or(|version| *version == intent)
        });
        entry.state == State::Pending && entry.due && has_access && has_turn && is_newest
    }

    pub(crate) fn drain(&mut self, replies: &[Reply]) -> Vec<Intent> {
        self.expire();
        let mut sent = Vec::new();
        while let Some(next) = self
            .unsettled(|_| true)
            .into_iter()
            .find(|open| self.is_ready(*open))
        {
            if self.is_key_lost(next) && !self.entry(next).consent {
                self.hold(next, HoldReason::OutcomeUnknown);
            } else {
                sent.push(next);
                self.attempt(next, replies[next % replies.len()]);
            }
        }
        if self
            .retained
            .is_none_or(|last| self.now - last >= RETAIN_EVERY)
        {
            self.retained = Some(self.now);
            self.retain();
        }
        sent.sort_unstable();
        sent
    }

    fn attempt(&mut self, intent: Intent, reply: Reply) {
        let now = self.now;
        let entry = self.change(intent);
        entry.attempts += 1;
        entry.set(State::InFlight);
        let had_consent = std::mem::take(&mut entry.consent);
        let in_doubt = entry.unknown > 0;
        self.told |= !matches!(reply, Reply::Lost | Reply::Unreachable);
        if matches!(reply, Reply::Lost | Reply::BadGateway | Reply::Partial) {
            let entry = self.change(intent);
            entry.unknown += 1;
            entry.doubt_since.get_or_insert(now);
            entry.busy = true;
            if let Some(key) = entry.kind.replaces {
                let key = (entry.kind.account, key);
                self.busy.insert(key, intent);
            }
        }
        match reply {
            Reply::Created => {
                let body = reply.body(intent, self.entry(intent).attempts);
                self.settle(intent, State::Succeeded, Some(201), Some(&body));
            }
            Reply::Lost | Reply::BadGateway | Reply::Unreachable => {
                let entry = self.change(intent);
                entry.set(State::Pending);
                entry.due = false;
                entry.consent = had_consent && reply == Reply::Unreachable;
            }
            Reply::Partial => self.hold(intent, HoldReason::OutcomeUnknown),
            Reply::Invalid | Reply::Forbidden | Reply::Conflict if in_doubt => {
                self.hold(intent, HoldReason::OutcomeUnknown);
            }
            Reply::Conflict => self.hold(intent, HoldReason::Conflict),
            Reply::Invalid => self.refuse(intent, RejectReason::Invalid, reply),
            Reply::Forbidden => self.refuse(intent, RejectReason::Refused, reply),
        }
    }

    fn refuse(&mut self, intent: Intent, reason: RejectReason, reply: Reply) {
        let body = reply.body(intent, self.entry(intent).attempts);
        self.settle(intent, State::Rejected(reason), reply.status(), Some(&body));
    }

    fn expire(&mut self) {
        let now = self.now;
        for intent in self.unsettled(|entry| entry.expires_at.is_some_and(|at| at <= now)) {
            self.change(intent).expires_at = None;
            match self.entry(intent) {
                entry if entry.state == State::Held(HoldReason::CancelRequested) => {}
                entry if entry.unknown > 0 => self.hold(intent, HoldReason::ExpiredInDoubt),
                _ => self.settle(intent, State::Expired, None, None),
            }
        }
    }

    /// Ages count once a server has told the time.
    pub(crate) fn retain(&mut self) {
        if !self.told {
            return;
        }
        let now = self.now;
        for intent in self.accepted.clone() {
            let entry = self.entry(intent);
            let Kind {
                account,
                lane,
                replaces,
                ..
            } = entry.kind;
            let is_needed = lane.is_some_and(|lane| {
                self.stopped.get(&(account, lane)) == Some(&self.place(intent))
            }) || replaces
                .is_some_and(|key| self.busy.contains_key(&(account, key)));
            let age = now - entry.settled_at;
            if entry.state.is_final()
                && entry.kept == Kept::Whole
                && age >= KEEP_RESULTS
                && !is_needed
            {
                self.bury(intent);
            }
            if self.entry(intent).kept == Kept::Tombstone && age >= KEEP_RESULTS + KEEP_TOMBSTONES {
                self.change(intent).kept = Kept::Nothing;
                self.too_old = self.too_old.max(Some(intent));
            }
        }
    }

    pub(crate) fn bury(&mut self, intent: Intent) {
        let entry = self.change(intent);
        entry.kept = Kept::Tombstone;
        entry.body = None;
    }

    pub(crate) fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        self.busy.clear();
        for entry in self.entries.iter_mut().flatten() {
            entry.due = true;
            entry.busy = false;
        }
    }

    pub(crate) fn reopen(&mut self) {
        self.has_credentials = false;
        self.retained = None;
    }

    pub(crate) fn decide(&mut self, intent: Intent, decision: Decision) -> Answer {
        match decision {
            Decision::Retry { accept } if self.is_key_lost(intent) && !accept => {
                return Answer::NeedsConsent;
            }
            Decision::Retry { accept } => {
                let consent = accept && self.entry(intent).unknown > 0;
                self.pend(intent, consent);
            }
            Decision::Happened => self.settle(intent, State::Succeeded, None, Some("told")),
            Decision::GiveUp => self.settle(intent, State::Abandoned, None, None),
        }
        Answer::Decided
    }
}
