//! The façade: what apps call. Calls that touch the disk are synchronous and short; `drain` and
//! `wait` are futures that only wait, so dropping one loses nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use crate::batch::Batch;
use crate::config::{OutboxConfig, Seams};
use crate::core::{Core, lock};
use crate::delivery::engine::NetworkKind;
use crate::error::{OpenError, OutboxError};
use crate::inbox::Inbox;
use crate::metrics::{self, Stats};
use crate::model::batch::BatchConfig;
use crate::model::id::SubmissionId;
use crate::model::outcome::{
    ChangePage, ListFilter, PageRequest, Receipt, Snapshot, SnapshotPage, WaitingFor,
};
use crate::model::request::FrozenRequest;
use crate::model::state::SubmissionState;
use crate::model::submission::{Body, Submission};
use crate::policy::limits::{LONGEST, MAX_NAME_BYTES};
use crate::store::{Intake, OpenReport, Store, read_source};

/// A durable outbox: submissions go in once, and come out settled.
///
/// Thread-safe. Any number of threads, tasks and processes may use one database at once; two opens
/// of one path in one process share everything.
#[derive(uniffi::Object)]
pub struct Outbox {
    pub(crate) core: Arc<Core>,
    report: OpenReport,
    closed: AtomicBool,
    /// Tells this handle from others on the same core.
    pub(crate) handle: u64,
    /// This handle has background runs scheduled.
    pub(crate) schedules: AtomicBool,
    /// Stops the telling of this handle's listener.
    pub(crate) listening: Mutex<Option<Arc<Notify>>>,
}

/// Handles of this process so far.
static HANDLES: AtomicU64 = AtomicU64::new(0);

/// What the outbox knows of an ID that the app kept.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct Reconciled {
    /// The ID.
    pub id: SubmissionId,
    /// How it stands. Nothing, if it was never submitted here: submit it again, with this ID.
    pub snapshot: Option<Snapshot>,
}

#[uniffi::export]
impl Outbox {
    /// Opens the database, makes it if there is none, and recovers what an earlier process left.
    /// Nothing is sent before `start` or `drain`. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`OpenError`]. Nothing has been moved or deleted then.
    #[uniffi::constructor]
    pub fn open(config: OutboxConfig) -> Result<Arc<Self>, OpenError> {
        Self::open_with(config, Seams::default())
    }

    /// What opening found and did.
    pub fn open_report(&self) -> OpenReport {
        self.report.clone()
    }

    /// The ID of an intent, for example "new-order-form". The same slot gives the same ID, after
    /// the process died too, until its submission is settled or the slot is discarded. Slots are
    /// those of the account that is signed in, so that two accounts never share one. Durable when it
    /// returns.
    pub fn begin(&self, slot: String) -> Result<SubmissionId, OutboxError> {
        check_slot(&slot)?;
        let store = self.store()?;
        let parts = self.core.engine.parts();
        let mut random = [0; 10];
        parts.entropy.fill(&mut random);
        let fresh = SubmissionId::from_parts(parts.clock.now().wall, random);
        store.begin(&slot, fresh)
    }

    /// Forgets a slot, so that `begin` gives a new ID. What was submitted goes on.
    pub fn discard(&self, slot: String) -> Result<(), OutboxError> {
        check_slot(&slot)?;
        self.store()?.discard(&slot)
    }

    /// Takes a submission over. Durable when it returns: it survives the end of the process and a
    /// loss of power. A repeat of the same submission is met, not stored again. Takes some
    /// milliseconds; at most the busy timeout if another process holds the database. A body from a
    /// file, or of more than `inline_body_bytes`, takes as long as reading and writing it.
    ///
    /// # Errors
    /// [`OutboxError::KeyReused`] if the ID belongs to another submission; others say what to
    /// mend. Nothing is stored then.
    pub fn submit(&self, submission: Submission) -> Result<Receipt, OutboxError> {
        let store = self.store()?;
        let id = submission.id;
        let intake = self.freeze(submission)?;
        let result = store.submit(intake, self.schedules.load(Ordering::Acquire));
        metrics::count(&store, id, result.as_ref());
        let mut receipt = result.map_err(|error| self.see_error(error))?;
        self.core.engine.nudge();
        self.see(&mut receipt.snapshot);
        Ok(receipt)
    }

    /// Takes several submissions over, all or none, in one transaction. Two of them may have one ID if they
    /// are alike; if they aren't, the other of the list is what [`OutboxError::KeyReused`] shows, and
    /// isn't stored either.
    pub fn submit_all(&self, submissions: Vec<Submission>) -> Result<Vec<Receipt>, OutboxError> {
        let store = self.store()?;
        let first = submissions.first().map(|submission| submission.id);
        let intakes = submissions
            .into_iter()
            .map(|submission| self.freeze(submission))
            .collect::<Result<_, _>>()?;
        let schedules = self.schedules.load(Ordering::Acquire);
        let result = store.submit_all(intakes, schedules);
        if let (Err(error), Some(first)) = (&result, first) {
            // Nothing was stored. Which one it was for, only a reuse tells.
            let of = match error {
                OutboxError::KeyReused { id, .. } | OutboxError::IdTooOld { id } => *id,
                _ => first,
            };
            metrics::count(&store, of, Err(error));
        }
        let mut receipts = result.map_err(|error| self.see_error(error))?;
        for receipt in &mut receipts {
            metrics::count(&store, receipt.id, Ok(receipt));
            self.see(&mut receipt.snapshot);
        }
        self.core.engine.nudge();
        Ok(receipts)
    }

    /// How a submission stands, with its result once it has one.
    pub fn snapshot(&self, id: SubmissionId) -> Result<Snapshot, OutboxError> {
        let snapshot = self.store()?.snapshot(id)?;
        let mut snapshot = snapshot.ok_or(OutboxError::UnknownId { id })?;
        self.see(&mut snapshot);
        Ok(snapshot)
    }

    /// What the outbox knows of IDs that the app kept: for an app's own database, at its start.
    pub fn reconcile(&self, ids: Vec<SubmissionId>) -> Result<Vec<Reconciled>, OutboxError> {
        let store = self.store()?;
        ids.into_iter()
            .map(|id| {
                let mut snapshot = store.snapshot(id)?;
                if let Some(snapshot) = &mut snapshot {
                    self.see(snapshot);
                }
                Ok(Reconciled { id, snapshot })
            })
            .collect()
    }

    /// A part of the list of submissions, in the order of acceptance.
    pub fn list(&self, filter: ListFilter, page: PageRequest) -> Result<SnapshotPage, OutboxError> {
        if page.after < 0 {
            return Err(invalid(
                "page.after",
                "use zero, or next of the page before",
            ));
        }
        let mut page = self.store()?.list(&filter, page)?;
        for snapshot in &mut page.snapshots {
            self.see(snapshot);
        }
        Ok(page)
    }

    /// Delivers in the foreground from now on, when things become due, until `suspend` or `close`.
    /// What another process submits is noticed while somebody waits or listens here, or at the next
    /// `drain`; to look for it all the time would keep the device awake.
    pub fn start(&self) -> Result<(), OutboxError> {
        self.store()?;
        self.core.engine.start()
    }

    /// Stops and is quiet: when it returns, nothing is on the wire and no transaction is open.
    /// Requests that may have left are in doubt then, and repeated later with the same key. Returns
    /// within some milliseconds; `start` or `drain` go on.
    pub fn suspend(&self) -> Result<(), OutboxError> {
        self.store()?;
        self.core.engine.suspend()
    }

    /// Suspends, and closes the database, within some milliseconds; some tenths of a second if another
    /// process holds the database. Later calls give [`OutboxError::Closed`]. Other handles
    /// on the same path stay open. Calling it again does nothing.
    pub fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            if let Some(stop) = lock(&self.listening).take() {
                stop.notify_one();
            }
            let engine = &self.core.engine;
            engine.uploads().set(self.handle, None);
            engine.parts().desk.set_listener(self.handle, None);
            // The one before is asked then.
            engine.nudge();
            self.core.release();
            // Who waits with this handle learns that it is closed, though others hold the core.
            self.core.engine.changed().send_modify(|count| *count += 1);
        }
    }

    /// The changes after a cursor; zero for the beginning. At most `limit`, up to 1,000.
    pub fn changes(&self, after: i64, limit: u32) -> Result<ChangePage, OutboxError> {
        if after < 0 {
            return Err(invalid("after", "use zero, or next of the page before"));
        }
        self.store()?.changes(after, limit)
    }

    /// Numbers about the outbox. Costs a read of a few rows, at any length of the queue; waits for a
    /// commit that is under way.
    pub fn stats(&self) -> Result<Stats, OutboxError> {
        let numbers = self.store()?.numbers()?;
        let now = self.core.engine.parts().clock.now().wall;
        Ok(metrics::stats(&numbers, now))
    }

    /// The once-records of this outbox's file, for effects on this side.
    pub fn inbox(self: Arc<Self>) -> Arc<Inbox> {
        Arc::new(Inbox::of(self))
    }

    /// Where small records are gathered, to be sent in batches.
    ///
    /// # Errors
    /// [`OutboxError::Invalid`] and the like, as `submit` has them for the request that the configuration
    /// makes.
    pub fn batch(self: Arc<Self>, config: BatchConfig) -> Result<Arc<Batch>, OutboxError> {
        Ok(Arc::new(Batch::of(self, config)?))
    }

    /// Drops what retention no longer keeps, one small step at a time. True if there may be more. An
    /// idle outbox does it by itself now and then. Ages count by the `Date` of a server that
    /// answered since the boot; without one only `keep_results_count` and `keep_results_bytes` drop
    /// something. What isn't settled is never dropped.
    pub fn retain(&self) -> Result<bool, OutboxError> {
        self.store()?.retain()
    }
}

impl Outbox {
    /// Opens with some of the outside world replaced: for tests and simulations.
    ///
    /// # Errors
    /// As [`Outbox::open`].
    pub fn open_with(config: OutboxConfig, seams: Seams) -> Result<Arc<Self>, OpenError> {
        let (core, report) = Core::open(config, seams)?;
        Ok(Arc::new(Self {
            core,
            report,
            closed: AtomicBool::new(false),
            handle: HANDLES.fetch_add(1, Ordering::Relaxed),
            schedules: AtomicBool::new(false),
            listening: Mutex::default(),
        }))
    }

    pub(crate) fn store(&self) -> Result<Arc<Store>, OutboxError> {
        if self.closed.load(Ordering::Acquire) || self.core.engine.is_closed() {
            return Err(OutboxError::Closed);
        }
        Ok(Arc::clone(&self.core.engine.parts().store))
    }

    /// Adds what only this process knows: how far a body has come, whether there are
    /// credentials, and what the network is like.
    pub(crate) fn see(&self, snapshot: &mut Snapshot) {
        let engine = &self.core.engine;
        if snapshot.state == SubmissionState::InFlight {
            snapshot.progress = engine.uploads().so_far(snapshot.id);
        }
        self.see_waiting(snapshot);
        snapshot.next_attempt_at = snapshot.waiting_for.as_ref().and_then(next_attempt_at);
    }

    /// The same for the snapshot that an error shows.
    pub(crate) fn see_error(&self, mut error: OutboxError) -> OutboxError {
        if let OutboxError::KeyReused { existing, .. } = &mut error {
            self.see(existing);
        }
        if let OutboxError::Stale { current }
        | OutboxError::NotHeld { current }
        | OutboxError::NeedsConsent { current }
        | OutboxError::CannotRetry { current } = &mut error
        {
            self.see(current);
        }
        error
    }

    fn see_waiting(&self, snapshot: &mut Snapshot) {
        let Some(waiting_for) = &mut snapshot.waiting_for else {
            return;
        };
        let engine = &self.core.engine;
        let lacks_credentials = snapshot.account.as_ref().is_some_and(|account| {
            let usable = engine.parts().desk.usable();
            usable.is_none_or(|usable| usable.account != *account)
        });
        match waiting_for {
            WaitingFor::SignedOut
            | WaitingFor::Lane { .. }
            | WaitingFor::Newer { .. }
            | WaitingFor::Older { .. }
            | WaitingFor::Parent { .. } => {}
            _ if lacks_credentials => *waiting_for = WaitingFor::Credentials,
            WaitingFor::Unmetered if engine.network() == Some(NetworkKind::Unmetered) => {
                *waiting_for = WaitingFor::Due {
                    at: snapshot.accepted_at,
                };
            }
            WaitingFor::Due { .. }
            | WaitingFor::Network { .. }
            | WaitingFor::Certificate { .. }
            | WaitingFor::Unmetered
            | WaitingFor::Gate { .. }
            | WaitingFor::Probe { .. }
            | WaitingFor::Credentials => {}
        }
    }

    fn freeze(&self, submission: Submission) -> Result<Intake, OutboxError> {
        let (file, source) = match &submission.body {
            Body::File { path, .. } => {
                let (content, source) = read_source(path, self.core.limits())?;
                (Some(content), source)
            }
            Body::Empty | Body::Bytes { .. } | Body::Json { .. } => (None, None),
        };
        let request = FrozenRequest::freeze(
            submission,
            file,
            self.core.base.as_ref(),
            &self.core.profile,
            self.core.limits(),
        )?;
        Ok((request, source))
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox")
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

/// When the next attempt is due, if that is a matter of time.
fn next_attempt_at(waiting_for: &WaitingFor) -> Option<SystemTime> {
    match waiting_for {
        WaitingFor::Due { at }
        | WaitingFor::Network { at }
        | WaitingFor::Certificate { at, .. }
        | WaitingFor::Gate { until: at } => Some(*at),
        // A probe is no attempt.
        WaitingFor::Unmetered
        | WaitingFor::Credentials
        | WaitingFor::SignedOut
        | WaitingFor::Lane { .. }
        | WaitingFor::Newer { .. }
        | WaitingFor::Older { .. }
        | WaitingFor::Parent { .. }
        | WaitingFor::Probe { .. } => None,
    }
}

fn check_slot(slot: &str) -> Result<(), OutboxError> {
    if slot.is_empty() || slot.len() > MAX_NAME_BYTES {
        return Err(invalid("slot", "use a name of 1 to 1,024 bytes"));
    }
    Ok(())
}

pub(crate) fn check_time(field: &str, time: Duration) -> Result<(), OutboxError> {
    if time > LONGEST {
        return Err(invalid(field, "use less than a hundred years"));
    }
    Ok(())
}

fn invalid(field: &str, problem: &str) -> OutboxError {
    OutboxError::Invalid {
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

uniffi::custom_type!(
    /// The identity of one business action: a UUID of 36 lower-case characters.
    SubmissionId, String, {
    try_lift: |text| SubmissionId::parse(&text).map_err(|_| OutboxError::MalformedId.into()),
    lower: |id| id.to_string(),
});

impl From<crate::model::id::IdError> for OutboxError {
    fn from(_: crate::model::id::IdError) -> Self {
        Self::MalformedId
    }
}
