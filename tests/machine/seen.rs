//! What can be seen of the real core, compared with the reference.

use submit_once::{ChangePage, ListFilter, ListState, PageRequest, Snapshot, SubmissionState};

use crate::model::Model;
use crate::steps::Listed;
use crate::subject::{Subject, key, lane, name};
use crate::terms::{Entry, Intent, Kept, State};

/// Whether a submission is in a list.
type Fits = Box<dyn Fn(&Entry) -> bool>;

impl Subject {
    pub fn list(&self, listed: Listed, limit: u32, model: &Model) {
        let (filter, fits): (ListFilter, Fits) = match listed {
            Listed::All => (ListFilter::all(), Box::new(|_| true)),
            Listed::Moving => (
                ListFilter::of(ListState::Moving),
                Box::new(|entry| entry.state == State::Pending),
            ),
            Listed::Held => (
                ListFilter::of(ListState::Held),
                Box::new(|entry| matches!(entry.state, State::Held(_))),
            ),
            Listed::Settled => (
                ListFilter::of(ListState::Settled),
                Box::new(|entry| entry.state.is_final()),
            ),
            Listed::Of(account) => {
                let filter = ListFilter {
                    account: name(Some(account)),
                    ..ListFilter::all()
                };
                (
                    filter,
                    Box::new(move |entry| entry.kind.account == Some(account)),
                )
            }
            Listed::Lane(number) => {
                let filter = ListFilter {
                    lane: Some(lane(number)),
                    ..ListFilter::all()
                };
                (
                    filter,
                    Box::new(move |entry| entry.kind.lane == Some(number)),
                )
            }
            Listed::Key(number) => {
                let filter = ListFilter {
                    replaces: Some(key(number)),
                    ..ListFilter::all()
                };
                (
                    filter,
                    Box::new(move |entry| entry.kind.replaces == Some(number)),
                )
            }
        };
        let expected = model.whole().filter(|(_, entry)| fits(entry));
        let expected: Vec<Intent> = expected.map(|(intent, _)| intent).collect();
        let mut found = Vec::new();
        let mut after = 0;
        loop {
            let page = self
                .outbox
                .list(filter.clone(), PageRequest { after, limit })
                .unwrap();
            assert!(page.snapshots.len() <= limit as usize);
            for snapshot in &page.snapshots {
                let intent = self.intent(snapshot.id).unwrap();
                self.check(intent, snapshot, model, false);
                found.push(intent);
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        assert_eq!(found, expected, "the list of {listed:?}");
    }

    /// Reads the feed on. True if there is more.
    pub fn feed(&mut self, limit: u32) -> bool {
        let page = self.outbox.changes(self.cursor, limit).unwrap();
        let ChangePage::Changes {
            changes,
            next,
            more,
        } = page
        else {
            panic!("nothing was trimmed: {page:?}");
        };
        for change in changes {
            assert!(change.cursor > self.cursor);
            self.cursor = change.cursor;
            let states = self.fed.entry(change.id).or_default();
            if states.last() != Some(&change.state) {
                states.push(change.state);
            }
        }
        assert_eq!(next, self.cursor);
        more
    }

    /// What the feed has told in all is what has happened.
    pub fn check_feed(&mut self, model: &Model) {
        while self.feed(100) {}
        for (intent, id) in self.ids.iter().enumerate() {
            let told = self.fed.get(id).cloned().unwrap_or_default();
            let history = model.entries[intent]
                .as_ref()
                .map_or(&[][..], |entry| &entry.history);
            let history: Vec<_> = history.iter().map(|state| self.public(*state)).collect();
            assert_eq!(told, history, "the feed of {intent}");
        }
    }

    fn public(&self, state: State) -> SubmissionState {
        match state {
            State::Pending => SubmissionState::Pending,
            State::InFlight => SubmissionState::InFlight,
            State::Held(reason) => SubmissionState::Held { reason },
            State::Succeeded => SubmissionState::Succeeded,
            State::Rejected(reason) => SubmissionState::Rejected { reason },
            State::Cancelled => SubmissionState::Cancelled,
            State::Expired => SubmissionState::Expired,
            State::Superseded(by) => SubmissionState::Superseded { by: self.ids[by] },
            State::Abandoned => SubmissionState::Abandoned,
        }
    }

    /// Every submission stands as the reference says.
    pub fn compare(&mut self, model: &Model) {
        assert_eq!(self.outbox.signed_in().unwrap(), name(model.signed_in));
        let known = self.outbox.reconcile(self.ids.clone()).unwrap();
        for (intent, known) in known.into_iter().enumerate() {
            let entry = model.entries[intent].as_ref();
            let is_kept = entry.is_some_and(|entry| entry.kept != Kept::Nothing);
            assert_eq!(known.snapshot.is_some(), is_kept, "{intent} is known");
            if let Some(snapshot) = known.snapshot {
                self.check(intent, &snapshot, model, true);
                let last = self.revisions.insert(known.id, snapshot.revision);
                assert!(last.is_none_or(|last| last <= snapshot.revision));
            }
        }
    }

    pub fn check(&self, intent: Intent, snapshot: &Snapshot, model: &Model, whole: bool) {
        let entry = model.entry(intent);
        assert_eq!(
            snapshot.state,
            self.public(entry.state),
            "the state of {intent}"
        );
        assert_eq!(
            snapshot.attempts, entry.attempts,
            "the attempts of {intent}"
        );
        assert_eq!(
            snapshot.in_doubt,
            entry.is_in_doubt(),
            "the doubt of {intent}"
        );
        assert_eq!(snapshot.account, name(entry.kind.account));
        assert_eq!(snapshot.outcome.is_some(), entry.state.is_final());
        if let Some(outcome) = &snapshot.outcome {
            let body = entry.body.as_deref().filter(|_| whole).map(str::as_bytes);
            assert_eq!(outcome.status, entry.status, "the status of {intent}");
            assert_eq!(outcome.body.as_deref(), body, "the result of {intent}");
            assert_eq!(outcome.result_missing, entry.kept == Kept::Tombstone);
        }
    }
}
