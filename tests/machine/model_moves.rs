//! What each call does to the reference, and is answered with.

use std::collections::BTreeMap;

use crate::model::Model;
use crate::steps::{Item, Step};
use crate::terms::{Account, Answer, Intent, Kept, Kind, State};
use submit_once::HoldReason;

impl Model {
    /// Makes the call, and keeps its answer.
    pub fn take(&mut self, step: &Step) {
        self.answer = match step {
            Step::Begin { slot } => Answer::Intent(self.begin(*slot)),
            Step::Order {
                slot,
                kind,
                content,
            } => {
                let intent = self.begin(*slot);
                self.submit(intent, *kind, *content)
            }
            Step::Submit(item) => match self.pick(item.back) {
                Some(intent) => self.submit(intent, item.kind, item.content),
                None => Answer::Nothing,
            },
            Step::SubmitAll(items) => self.submit_all(items),
            Step::Discard { slot } => {
                self.slots.remove(&(self.signed_in, *slot));
                Answer::Nothing
            }
            Step::Cancel { back } => self.with(*back, Self::cancel),
            Step::Resolve {
                back,
                fresh,
                decision,
            } => self.with(*back, |model, intent| {
                match model.entries[intent]
                    .as_ref()
                    .map(|entry| (entry.kept, entry.state))
                {
                    None | Some((Kept::Nothing, _)) => Answer::UnknownId,
                    Some((Kept::Tombstone, _)) => Answer::NotHeld,
                    Some((Kept::Whole, _)) if !fresh => Answer::Stale,
                    Some((Kept::Whole, State::Held(_))) => model.decide(intent, *decision),
                    Some((Kept::Whole, _)) => Answer::NotHeld,
                }
            }),
            Step::Drain { replies } => Answer::Drained(self.drain(replies)),
            Step::Pass { seconds } => {
                self.pass(*seconds);
                Answer::Nothing
            }
            Step::Retain => {
                self.retain();
                Answer::Nothing
            }
            Step::Reopen => {
                self.reopen();
                Answer::Nothing
            }
            Step::SignIn { who } => {
                self.signed_in = Some(*who);
                self.has_credentials = true;
                Answer::Nothing
            }
            Step::SignOut { purge } => self.sign_out(*purge),
            Step::Release { account, lane } => {
                Answer::Released(self.stopped.remove(&(*account, *lane)).is_some())
            }
            // They change nothing; what they show is compared with all that is here.
            Step::Wait { .. } | Step::List { .. } | Step::Feed { .. } => Answer::Nothing,
        };
    }

    /// The ID minted so many before the last.
    pub fn pick(&self, back: usize) -> Option<Intent> {
        let minted = self.entries.len();
        (minted > 0).then(|| minted - 1 - back % minted)
    }

    fn with(&mut self, back: usize, call: impl FnOnce(&mut Self, Intent) -> Answer) -> Answer {
        match self.pick(back) {
            Some(intent) => call(self, intent),
            None => Answer::Nothing,
        }
    }

    fn begin(&mut self, slot: u8) -> Intent {
        let slot = (self.signed_in, slot);
        if let Some(intent) = self.slots.get(&slot) {
            let goes_on = match &self.entries[*intent] {
                Some(entry) => !entry.state.is_final(),
                None => self.too_old < Some(*intent),
            };
            if goes_on {
                return *intent;
            }
        }
        let fresh = self.entries.len();
        self.entries.push(None);
        self.slots.insert(slot, fresh);
        fresh
    }

    /// What a submission meets, if it doesn't have to be stored.
    fn meet(&self, intent: Intent, content: u8) -> Option<Answer> {
        match &self.entries[intent] {
            Some(entry) if entry.kept != Kept::Nothing => Some(match entry.kept {
                Kept::Tombstone if entry.content != content => {
                    Answer::KeyReused(intent, "fingerprint")
                }
                _ if entry.content != content => Answer::KeyReused(intent, "body"),
                _ if entry.state.is_final() => Answer::Replayed,
                _ => Answer::Joined,
            }),
            _ if self.too_old >= Some(intent) => Some(Answer::IdTooOld(intent)),
            _ => None,
        }
    }

    fn submit(&mut self, intent: Intent, kind: Kind, content: u8) -> Answer {
        self.meet(intent, content).unwrap_or_else(|| {
            self.accept(intent, kind, content);
            Answer::Accepted
        })
    }

    fn submit_all(&mut self, items: &[Item]) -> Answer {
        let Some(items) = self.items(items) else {
            return Answer::Nothing;
        };
        let refused = |met: &Answer| matches!(met, Answer::KeyReused(..) | Answer::IdTooOld(_));
        let mut met = items
            .iter()
            .filter_map(|(intent, item)| self.meet(*intent, item.content));
        if let Some(refusal) = met.find(refused) {
            return refusal;
        }
        let before = self.clone();
        let mut answers = Vec::new();
        for (intent, item) in items {
            let answer = self.submit(intent, item.kind, item.content);
            if refused(&answer) {
                *self = before;
                return answer;
            }
            answers.push(answer);
        }
        Answer::Several(answers)
    }

    /// The items with their IDs, each of its submission's kind: of one that is there, or of the first
    /// of them.
    pub fn items(&self, items: &[Item]) -> Option<Vec<(Intent, Item)>> {
        let mut kinds = BTreeMap::new();
        let with_id = items.iter().map(|item| {
            let intent = self.pick(item.back)?;
            let kind = match &self.entries[intent] {
                Some(entry) => entry.kind,
                None => *kinds.entry(intent).or_insert(item.kind),
            };
            Some((intent, Item { kind, ..*item }))
        });
        with_id.collect()
    }

    fn cancel(&mut self, intent: Intent) -> Answer {
        let Some(entry) = self.entries[intent]
            .as_ref()
            .filter(|entry| entry.kept != Kept::Nothing)
        else {
            return Answer::UnknownId;
        };
        if entry.state.is_final() {
            Answer::AlreadyFinal
        } else if entry.unknown > 0 {
            self.hold(intent, HoldReason::CancelRequested);
            Answer::MayHaveHappened
        } else {
            self.settle(intent, State::Cancelled, None, None);
            Answer::Cancelled
        }
    }

    fn sign_out(&mut self, purge: bool) -> Answer {
        let who = self.signed_in.take();
        let (mut kept, mut cancelled, mut abandoned) = (0, 0, 0);
        let of_account = |entry: &crate::terms::Entry| who.is_some() && entry.kind.account == who;
        let all: Vec<Intent> = self
            .whole()
            .filter(|(_, entry)| of_account(entry))
            .map(|(intent, _)| intent)
            .collect();
        for intent in all.into_iter().rev() {
            let entry = self.entry(intent);
            let (is_open, in_doubt) = (!entry.state.is_final(), entry.unknown > 0);
            if !purge {
                kept += u32::from(is_open);
                continue;
            }
            if is_open && in_doubt {
                abandoned += 1;
                self.settle(intent, State::Abandoned, None, None);
            } else if is_open {
                cancelled += 1;
                self.settle(intent, State::Cancelled, None, None);
            }
            self.bury(intent);
        }
        if purge && who.is_some() {
            self.forget_rest(who);
        }
        Answer::SignedOut {
            who,
            kept,
            cancelled,
            abandoned,
        }
    }

    fn forget_rest(&mut self, who: Account) {
        self.slots.retain(|(account, _), _| *account != who);
        self.stopped.retain(|(account, _), _| *account != who);
    }
}
