//! An app with an outbox: each call is written down before and after, and may fail, in words that
//! say what happened.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    AppStatement, Batch, BatchConfig, Inbox, InboxAnswer, InboxError, InboxItem, InboxPolicy,
    Limits, ListFilter, OpenError, Outbox, OutboxConfig, OutboxError, PageRequest, Seams, Snapshot,
    StorageError, Submission, SubmissionId, SubmissionState, Transport,
};
use submit_once_reference_server::history::{Event, State};

use super::server::{Log, Network, Note, Server};
use crate::common::sim::World;
use crate::common::vfs;

pub const ACCOUNT: &str = "ann";

/// Bodies above this go to files.
const INLINE: u32 = 600;

/// One process of the app, and the device around it.
pub struct App {
    pub world: World,
    pub database: PathBuf,
    pub log: Log,
    pub server: Arc<Server>,
    outbox: Mutex<Option<Arc<Outbox>>>,
    /// Calls may fail since the disk does.
    faulty: AtomicBool,
    /// The app closes the outbox and opens it anew at its first call after a fault.
    pub reopens: bool,
    reopened: AtomicBool,
}

impl App {
    /// The app on a device where this has happened before.
    pub fn after(world: &World, database: &Path, log: &Log) -> Self {
        Self {
            world: world.clone(),
            database: database.to_owned(),
            log: log.clone(),
            server: Arc::new(Server::after(log)),
            outbox: Mutex::default(),
            faulty: AtomicBool::new(false),
            reopens: false,
            reopened: AtomicBool::new(false),
        }
    }

    fn config(&self) -> OutboxConfig {
        let limits = Limits {
            inline_body_bytes: INLINE,
            keep_results_count: 3,
            ..Limits::default()
        };
        OutboxConfig::at(self.database.to_str().unwrap())
            .base_url("https://api.example.com")
            .limits(limits)
    }

    pub fn try_open(&self) -> Result<Arc<Outbox>, OpenError> {
        let network: Arc<dyn Transport> = Arc::new(Network(Arc::clone(&self.server)));
        let seams = Seams {
            transport: Some(network),
            apart: true,
            ..self.world.seams()
        };
        Outbox::open_with(self.config(), seams)
    }

    pub fn set_faulty(&self, faulty: bool) {
        self.faulty.store(faulty, Ordering::SeqCst);
    }

    pub fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::SeqCst)
    }

    pub fn open(&self) {
        let opened = match self.try_open() {
            Ok(outbox) => {
                let report = outbox.open_report();
                assert_eq!(report.lost_changes, 0, "changes were lost");
                assert_eq!(report.salvaged, None);
                assert!(!report.restored);
                Some(outbox)
            }
            Err(OpenError::Storage { storage }) => {
                self.refused(&storage);
                None
            }
            Err(error) => panic!("{error:?}"),
        };
        *self.outbox.lock().unwrap() = opened;
    }

    pub fn close(&self) {
        if let Some(outbox) = self.outbox.lock().unwrap().take() {
            outbox.close();
        }
    }

    fn outbox(&self) -> Option<Arc<Outbox>> {
        if self.reopens && !self.reopened.load(Ordering::SeqCst) && self.was_hit() {
            self.reopened.store(true, Ordering::SeqCst);
            self.close();
            self.open();
        }
        self.outbox.lock().unwrap().clone()
    }

    fn was_hit(&self) -> bool {
        vfs::disk(&self.database).faults.hit()
    }

    fn refused(&self, storage: &StorageError) {
        let typed = matches!(
            storage,
            StorageError::Full
                | StorageError::Busy
                | StorageError::Unavailable { .. }
                | StorageError::Indeterminate
        );
        assert!(
            self.is_faulty() && typed,
            "an error of the wrong kind: {storage:?}"
        );
    }

    /// What a call gave, unless the disk said no.
    pub fn call<T>(&self, call: impl FnOnce(&Arc<Outbox>) -> Result<T, OutboxError>) -> Option<T> {
        match call(&self.outbox()?) {
            Ok(value) => Some(value),
            Err(OutboxError::Storage { storage }) => {
                self.refused(&storage);
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn inbox<T>(&self, call: impl FnOnce(&Inbox) -> Result<T, InboxError>) -> Option<T> {
        match call(&self.outbox()?.inbox()) {
            Ok(value) => Some(value),
            Err(InboxError::Storage { storage }) => {
                self.refused(&storage);
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    pub fn begin(&self, slot: &str) -> Option<SubmissionId> {
        let id = self.call(|outbox| outbox.begin(slot.to_owned()))?;
        self.log.add(Note::Begun {
            slot: slot.to_owned(),
            id: id.to_string(),
        });
        Some(id)
    }

    pub fn submit(&self, submission: Submission) -> Option<Snapshot> {
        let key = submission.id.to_string();
        let (by, request) = ("app".to_owned(), submission.url.clone());
        let lane = submission.lane.clone();
        self.log.event(Event::MaybeAccepted {
            by: by.clone(),
            key: key.clone(),
            request: request.clone(),
        });
        let receipt = self.call(|outbox| outbox.submit(submission))?;
        self.log.event(Event::Accepted {
            by,
            key,
            request,
            lane,
        });
        self.saw(&receipt.snapshot);
        Some(receipt.snapshot)
    }

    fn saw(&self, snapshot: &Snapshot) {
        let state = state(&snapshot.state);
        if let Some(outcome) = &snapshot.outcome
            && state.is_final()
            && !outcome.result_missing
        {
            let body = String::from_utf8(outcome.body.clone().unwrap_or_default()).unwrap();
            self.log.event(Event::Read {
                by: "app".to_owned(),
                key: snapshot.id.to_string(),
                state,
                result: format!("{:?} {body}", outcome.status),
            });
        }
    }

    /// Nothing where the disk says no, or if a faulty one has kept it from being submitted.
    pub fn read(&self, id: SubmissionId) -> Option<Snapshot> {
        let snapshot = self.call(|outbox| match outbox.snapshot(id) {
            Err(OutboxError::UnknownId { .. }) if self.is_faulty() => Ok(None),
            found => found.map(Some),
        })??;
        self.saw(&snapshot);
        Some(snapshot)
    }

    /// Reads what was read before.
    pub fn read_again(&self) {
        let mut keys: Vec<String> = Vec::new();
        for event in self.log.events() {
            if let Event::Read { key, .. } = event
                && !keys.contains(&key)
            {
                keys.push(key);
            }
        }
        for key in keys {
            self.read(SubmissionId::parse(&key).unwrap());
        }
    }

    /// Reads all that is there. Whether something had to be, the list tells.
    pub fn read_all(&self) {
        for key in self.submitted() {
            let id = SubmissionId::parse(&key).unwrap();
            let found = self.call(|outbox| outbox.reconcile(vec![id])).unwrap();
            if let Some(snapshot) = &found[0].snapshot {
                self.saw(snapshot);
            }
        }
    }

    /// Everything, tombstones of what was submitted here included.
    pub fn list(&self) -> Option<()> {
        let page = PageRequest {
            limit: 1_000,
            ..PageRequest::default()
        };
        let page = self.call(|outbox| outbox.list(ListFilter::all(), page))?;
        let mut states: Vec<(String, State)> = Vec::new();
        for one in &page.snapshots {
            if one.url.ends_with("/logs") {
                self.log.event(Event::MaybeAccepted {
                    by: "core".to_owned(),
                    key: one.id.to_string(),
                    request: "a batch".to_owned(),
                });
            }
            states.push((one.id.to_string(), state(&one.state)));
        }
        for key in self.submitted() {
            if states.iter().any(|(listed, _)| *listed == key) {
                continue;
            }
            let id = SubmissionId::parse(&key).unwrap();
            let found = self.call(|outbox| match outbox.snapshot(id) {
                Err(OutboxError::UnknownId { .. }) => Ok(None),
                other => other.map(Some),
            })?;
            states.extend(found.map(|found| (key, state(&found.state))));
        }
        self.log.event(Event::Listed {
            by: "app".to_owned(),
            states,
        });
        Some(())
    }

    /// The keys of all that was submitted, and of batches that were seen.
    pub fn submitted(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for event in self.log.events() {
            if let Event::MaybeAccepted { key, .. } | Event::Accepted { key, .. } = event
                && !keys.contains(&key)
            {
                keys.push(key);
            }
        }
        keys
    }

    pub fn batch(&self) -> Option<Arc<Batch>> {
        let logs = BatchConfig::new("logs", "/logs");
        self.call(|outbox| Arc::clone(outbox).batch(logs))
    }

    pub fn append(&self, record: &str) {
        let Some(batch) = self.batch() else { return };
        let text = format!(r#"{{"id":"{record}"}}"#);
        if self.call(|_| batch.append(text)).is_some() {
            self.log.add(Note::Appended(record.to_owned()));
        }
    }

    /// Does an item of the inbox, with a row in a table of the app.
    pub fn run(&self, key: &str, with_row: bool) -> Option<InboxAnswer> {
        let item = InboxItem::new("push", key, InboxPolicy::AtMostOnce);
        let answer = self.inbox(|inbox| inbox.begin(item))?;
        if let InboxAnswer::Run { run } = &answer {
            self.log.add(Note::Run(key.to_owned()));
            let result = Some(key.as_bytes().to_vec());
            let done = self.inbox(|inbox| match with_row {
                true => inbox.finish_with(run.clone(), result, rows(key)),
                false => inbox.finish(run.clone(), result),
            });
            if done.is_some() {
                self.log.add(Note::Done(key.to_owned()));
            }
        }
        Some(answer)
    }

    /// The keys in the table of the app.
    pub fn rows(&self) -> Vec<String> {
        let connection = rusqlite::Connection::open(&self.database).unwrap();
        let query = "SELECT key FROM app_seen ORDER BY key";
        let Ok(mut query) = connection.prepare(query) else {
            return Vec::new();
        };
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Delivers for some time.
    pub async fn deliver(&self, time: Duration) {
        if self.call(|outbox| outbox.start()).is_some() {
            self.world.pass(time).await;
            self.call(|outbox| outbox.suspend());
        }
    }
}

fn rows(key: &str) -> Vec<AppStatement> {
    vec![
        AppStatement::new(
            "CREATE TABLE IF NOT EXISTS app_seen (key TEXT PRIMARY KEY)",
            [],
        ),
        AppStatement::new("INSERT INTO app_seen VALUES (?1)", [key.into()]),
    ]
}

fn state(state: &SubmissionState) -> State {
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
