//! Decisions, and the end of a simulation, when the faults are over and everything comes to its end.

use std::time::Duration;

use submit_once::{
    CancelOutcome, Effect, Header, HoldReason, ListFilter, ListState, NetworkKind, OutboxError,
    PageRequest, PartTarget, PartValue, Resolution, SignOut, Snapshot, SubmissionState,
};
use submit_once_reference_server::history::Event;

use crate::app::App;

const ACCOUNTS: [&str; 2] = ["ann", "bob"];

impl App {
    pub fn cancel(&mut self) {
        let Some(which) = self.pick() else { return };
        let id = self.known[which].id;
        let (outbox, _) = self.process();
        let result = outbox.cancel(id);
        let text = match &result {
            Ok(CancelOutcome::Cancelled) => "cancelled",
            Ok(CancelOutcome::AlreadyFinal { .. }) => "already final",
            Ok(CancelOutcome::MayHaveHappened { .. }) => "may have happened",
            Err(_) => "",
        };
        self.heard(&format!("cancel {id} {text}"), &result);
    }

    pub fn wake(&mut self) {
        let Some(which) = self.pick() else { return };
        let (outbox, _) = self.process();
        let id = self.known[which].id;
        let woken = outbox.wake(id);
        self.heard(&format!("wake {id}"), &woken);
    }

    fn held(&mut self) -> Vec<Snapshot> {
        let (outbox, _) = self.process();
        let page = PageRequest {
            after: 0,
            limit: 1_000,
        };
        let held = outbox.list(ListFilter::of(ListState::Held), page);
        held.map(|page| page.snapshots).unwrap_or_default()
    }

    /// Decides one of those that are held.
    pub fn resolve(&mut self) {
        let held = self.held();
        if !held.is_empty() {
            let one = self.dice.pick(&held).clone();
            self.decide(&one, None);
        }
    }

    /// At the end everything is decided; before it, nothing is given up whose lane goes on.
    fn decide(&mut self, held: &Snapshot, round: Option<u64>) {
        let last = round.is_some();
        let SubmissionState::Held { reason } = held.state else {
            return;
        };
        let (id, key) = (held.id, held.id.to_string());
        let happened = self.device.net.server().effects_of(&key) > 0;
        let consent = last || self.dice.one_in(2);
        let retry = Resolution::RetrySameKey {
            accept_second_effect: consent,
        };
        let happens = Resolution::ItHappened {
            result: Some("{\"id\":5}".to_owned()),
        };
        let gives_up = last || held.lane.is_none();
        let resolution = match (reason, self.dice.below(4)) {
            (_, 0) if happened => happens,
            (_, 1) if gives_up => Resolution::GiveUp,
            // It comes back again and again.
            _ if round > Some(5) => Resolution::GiveUp,
            (HoldReason::ParentResultMissing, _) => Resolution::FillParts {
                values: vec![PartValue {
                    into: PartTarget::Json {
                        pointer: "/parent".to_owned(),
                    },
                    json: "9".to_owned(),
                }],
            },
            (HoldReason::Damaged, _) if happened => happens,
            (HoldReason::Damaged, _) if gives_up => Resolution::GiveUp,
            (HoldReason::Damaged, _) => return,
            _ => retry,
        };
        let (outbox, _) = self.process();
        let result = outbox.resolve(id, held.revision, resolution.clone());
        self.heard(&format!("resolve {id} {reason:?} {resolution:?}"), &result);
        let consented = matches!(
            resolution,
            Resolution::RetrySameKey {
                accept_second_effect: true
            }
        );
        match result {
            Ok(_) if consented && self.is_in_history(&key) => self.consented(&key),
            // What can't be sent any more is given up at the end.
            Err(OutboxError::CannotRetry { .. }) if last => {
                let given_up = outbox.resolve(id, held.revision, Resolution::GiveUp);
                self.heard(&format!("give up {id}"), &given_up);
            }
            _ => {}
        }
    }

    fn is_in_history(&self, key: &str) -> bool {
        let safe =
            |known: &crate::app::Known| known.effect == Effect::Safe && known.id.to_string() == key;
        !self.known.iter().any(safe)
    }

    fn consented(&mut self, key: &str) {
        self.log.note(Event::Consented {
            key: key.to_owned(),
        });
        if self.device.net.server().batches.contains(key) {
            self.batches_spoilt = true;
        }
    }

    pub fn resolve_all(&mut self) {
        let reason = *self
            .dice
            .pick(&[HoldReason::Restored, HoldReason::OutcomeUnknown]);
        let consent = self.dice.one_in(2);
        let held: Vec<_> = self
            .held()
            .into_iter()
            .filter(|held| held.state == SubmissionState::Held { reason })
            .collect();
        let (outbox, _) = self.process();
        let retry = Resolution::RetrySameKey {
            accept_second_effect: consent,
        };
        let result = outbox.resolve_all(reason, retry);
        self.heard(&format!("resolve_all {reason:?}"), &result);
        for held in held.iter().filter(|_| consent && result.is_ok()) {
            let key = held.id.to_string();
            if self.is_in_history(&key) {
                self.consented(&key);
            }
        }
    }

    pub fn sign_in(&mut self) {
        let account = (*self.dice.pick(&ACCOUNTS)).to_owned();
        self.sign_in_as(&account);
    }

    fn sign_in_as(&mut self, account: &str) {
        let (outbox, _) = self.process();
        let result = outbox.sign_in(account.to_owned());
        self.heard(&format!("sign in {account}"), &result);
        if result.is_ok() {
            self.account = Some(account.to_owned());
        }
        self.supply(self.tokens.get(account).copied().unwrap_or(1));
    }

    pub fn sign_out(&mut self) {
        let how = if self.dice.one_in(2) {
            SignOut::Purge
        } else {
            SignOut::Keep
        };
        let (outbox, _) = self.process();
        let result = outbox.sign_out(how);
        self.heard(&format!("sign out {how:?}"), &result);
        if result.is_ok() {
            self.account = None;
            self.generation += u64::from(how == SignOut::Purge);
        }
    }

    /// The server takes only newer tokens from now on.
    pub fn revoke(&mut self) {
        if let Some(account) = self.account.clone() {
            let token = self.tokens.get(&account).copied().unwrap_or(1);
            self.say(format_args!("the token {account}-{token} is over"));
            self.device.net.server().revoke(&account, token + 1);
        }
    }

    pub fn refresh(&mut self) {
        if let Some(account) = &self.account {
            let token = self.tokens.get(account).copied().unwrap_or(1) + 1;
            self.supply(token);
        }
    }

    /// Gives every process that runs the account's token.
    fn supply(&mut self, token: u64) {
        let Some(account) = self.account.clone() else {
            return;
        };
        self.tokens.insert(account.clone(), token);
        for process in &self.device.processes {
            if process.life.is_frozen() {
                continue;
            }
            let headers = vec![Header {
                name: "authorization".to_owned(),
                value: format!("Bearer {account}-{token}"),
            }];
            let result = process
                .outbox
                .supply_credentials(account.clone(), headers, None);
            self.heard(&format!("supply {account}-{token}"), &result);
        }
    }

    pub fn release_lanes(&mut self) {
        let lanes: std::collections::BTreeSet<_> = self
            .known
            .iter()
            .filter_map(|known| {
                let submission = known.submission.as_ref()?;
                Some((submission.account.clone(), submission.lane.clone()?))
            })
            .collect();
        let (outbox, _) = self.process();
        for (account, lane) in lanes {
            let released = outbox.release_lane(account, lane.clone());
            if !matches!(released, Ok(false)) {
                self.heard(&format!("release {lane}"), &released);
            }
        }
    }

    /// The faults are over: everything comes to its end within bounded time.
    pub async fn finish(&mut self) {
        self.say("the end begins");
        self.device.net.server().calm = true;
        for process in &self.device.processes {
            process.life.thaw();
        }
        self.mend();
        while !self.device.processes.is_empty() {
            self.device.close(0);
        }
        if let Err(error) = self.device.open() {
            self.log.broken(format_args!("the last opening: {error:?}"));
            return;
        }
        let tokens = self.tokens.clone();
        for account in ACCOUNTS {
            let token = tokens.get(account).copied().unwrap_or(1) + 1_000;
            self.tokens.insert(account.to_owned(), token);
        }
        let (outbox, _) = self.process();
        let started = outbox.start();
        self.heard("start", &started);
        for round in 0..12 {
            self.say(format_args!("round {round}"));
            let (outbox, _) = self.process();
            drop(outbox.network_available(NetworkKind::Unmetered));
            for account in ACCOUNTS {
                self.sign_in_as(account);
                tokio::time::sleep(Duration::from_secs(13 * 3_600)).await;
            }
            self.release_lanes();
            for held in self.held() {
                self.decide(&held, Some(round));
            }
            let page = PageRequest { after: 0, limit: 1 };
            let moving = outbox.list(ListFilter::of(ListState::Moving), page);
            if moving.is_ok_and(|page| page.snapshots.is_empty()) && self.held().is_empty() {
                break;
            }
        }
        self.list();
        self.log.note(Event::Settled);
        self.list();
        self.check_records();
        self.device.close(0);
    }

    /// Each record took effect once, unless its batch ended without.
    fn check_records(&self) {
        if self.batches_spoilt {
            return;
        }
        for (record, effects) in self.device.net.server().records() {
            if *effects > 1 {
                self.log
                    .broken(format_args!("{record} had {effects} effects"));
            }
        }
    }
}
