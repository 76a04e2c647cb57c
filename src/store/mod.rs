//! The durable queue: SQLite, and the only place with SQL.
//!
//! The story of a submission here: `accept` inserts it in one transaction with its request; a
//! *step* of the pump takes over what dead owners left, turns what has expired, makes ready what is
//! due, and claims (each claim opens an attempt in the same transaction); the next step settles
//! what has been answered. Every change of a submission goes through [`submissions::change`],
//! which asks the state function, writes the row, its revision and the change feed.
//!
//! After a crash the open attempts are still there, under an owner whose lock can be taken. That
//! is all that recovery needs.

mod accounts;
mod attempts;
mod batches;
mod bodies;
mod changes;
mod claim;
mod command;
mod connection;
mod deleting;
mod fetched;
mod file;
mod gates;
mod group_commit;
mod inbox;
mod intake;
mod list;
mod loss;
mod migrate;
mod network;
mod order;
mod owner;
mod parts;
mod probes;
mod problem;
mod profiles;
mod purge;
mod resolve;
mod restored;
mod retention;
mod rows;
mod runs;
mod salvage;
mod salvage_app;
mod salvage_mend;
mod salvage_pages;
mod salvage_rows;
mod settle;
mod slots;
mod source;
mod step;
mod submissions;
mod takeover;
pub(crate) mod totals;
mod transaction;
mod view;
mod waiting;
mod writer;

/// What group commit waits with. Tests give it others, to try its schedules.
mod sync {
    pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
}

pub(crate) use batches::Gathering;
pub(crate) use claim::Claim;
pub(crate) use connection::{StoreConfig, make_folder};
pub(crate) use file::identity as file_identity;
pub(crate) use gates::{SignedIn, Terms, Usable};
pub(crate) use probes::{Bound, Probed, Question};
pub(crate) use purge::Purged;
pub(crate) use resolve::cancel_outcome;
pub(crate) use rows::Want;
pub(crate) use settle::{Finished, KeptAnswer};
pub(crate) use source::{NotOpened, Source, hash, open_regular, read as read_source};
pub(crate) use step::{Step, Stepped, earliest};
pub(crate) use totals::{Call, Numbers};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::clock::{Clock, UptimeMs};
use crate::error::{OpenError, OutboxError, StorageError};
use crate::model::id::SubmissionId;
use crate::model::outcome::{
    ChangePage, ListFilter, PageRequest, Receipt, Resolution, ResolvedAll, Snapshot, SnapshotPage,
};
use crate::model::request::FrozenRequest;
use crate::model::state::HoldReason;
use crate::policy::limits::Limits;

use bodies::{Bodies, keep_if_stored};
use command::Refusal;
use inbox::Inbox;
use intake::Intaking;
use owner::Owner;
use resolve::ResolvingAll;
use writer::Writer;

/// What opening found and did.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct OpenReport {
    /// The file was made by this call.
    pub created: bool,
    /// Changes that were acknowledged once and are gone, because the file or its log was cut or
    /// replaced. If it isn't zero, everything unsettled counts as in doubt.
    pub lost_changes: i64,
    /// Another open outbox of this process already has the file; the two share it.
    pub shared: bool,
    /// The database is a copy: it was made by another installation, as `install_id` tells. Everything
    /// unsettled is held as `Restored`, since in a copy nobody knows what the original has sent;
    /// `resolve_all` releases it.
    pub restored: bool,
    /// The file was damaged, and what could be read of it has been saved into a new one.
    pub salvaged: Option<Salvage>,
}

/// What was saved of a damaged database. Everything unsettled counts as in doubt since its acceptance.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Salvage {
    /// Where the damaged file is kept, with its log beside it. Nothing deletes it.
    pub kept_at: String,
    /// Submissions that were saved, with their keys.
    pub submissions: i64,
    /// Submissions of which something could not be read. Where the request is damaged they are held as
    /// `Damaged`.
    pub damaged: i64,
}

/// One open database.
pub(crate) struct Store {
    writer: Arc<Writer>,
    /// `None` once closed.
    reader: Mutex<Option<Connection>>,
    limits: Limits,
    owner: Owner,
    bodies: Arc<Bodies>,
    inbox: Inbox,
    report: OpenReport,
}

/// A request that is to be stored, with the file that its body is to be copied from.
pub(crate) type Intake = (FrozenRequest, Option<Source>);

impl Store {
    /// Opens, in this order, before anything is answered: recover, checkpoint, one synced write.
    pub(crate) fn open(config: &StoreConfig) -> Result<Self, OpenError> {
        connection::open_store(config)
    }

    /// Sets what is called after each commit that changed a submission, without a lock held.
    pub(crate) fn set_after_commit(&self, tell: Box<dyn Fn() + Send + Sync>) {
        self.writer.set_after_commit(tell);
    }

    pub(crate) fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Stores a request, or meets the one that is there. A repeat costs one read.
    /// `schedules`: the caller has background runs scheduled.
    pub(crate) fn submit(
        self: &Arc<Self>,
        intake: Intake,
        schedules: bool,
    ) -> Result<Receipt, OutboxError> {
        let (mut request, source) = intake;
        if let Some(met) = self.meet(&request)? {
            return met;
        }
        let (terms, inline) = (self.terms(schedules), self.limits.inline_body_bytes);
        let draft = self.bodies.place(&mut request, source.as_ref(), inline)?;
        let store = Arc::clone(self);
        let result = self
            .writer
            .write(move |tx| intake::accept(tx, &store.owner, &store.bodies, &request, terms));
        keep_if_stored(draft, result.as_ref());
        result
    }

    /// Stores all or none.
    pub(crate) fn submit_all(
        self: &Arc<Self>,
        intakes: Vec<Intake>,
        schedules: bool,
    ) -> Result<Vec<Receipt>, OutboxError> {
        let (terms, inline) = (self.terms(schedules), self.limits.inline_body_bytes);
        let mut requests = Vec::with_capacity(intakes.len());
        let mut drafts = Vec::with_capacity(intakes.len());
        for (mut request, source) in intakes {
            drafts.push(if self.meet(&request)?.transpose()?.is_some() {
                None
            } else {
                self.bodies.place(&mut request, source.as_ref(), inline)?
            });
            requests.push(request);
        }
        let store = Arc::clone(self);
        let result: Result<Vec<Receipt>, _> = self.writer.write(move |tx| {
            requests
                .iter()
                .map(|request| intake::accept(tx, &store.owner, &store.bodies, request, terms))
                .collect()
        });
        for (n, draft) in drafts.into_iter().enumerate() {
            let one = result.as_ref().map(|receipts| receipts.get(n));
            match one {
                Ok(Some(receipt)) => keep_if_stored(draft, Ok(receipt)),
                Ok(None) => {}
                Err(error) => keep_if_stored(draft, Err(error)),
            }
        }
        result
    }

    /// Meets a request of the same ID, or makes sure that there is room for a new one, before its
    /// body is copied.
    fn meet(
        &self,
        request: &FrozenRequest,
    ) -> Result<Option<Result<Receipt, OutboxError>>, OutboxError> {
        self.read(|reader| {
            let met = intake::meet(reader, request)?;
            if met.is_none() {
                intake::check_room(reader, request, self.limits.max_queued)?;
            }
            Ok(met)
        })
    }

    pub(crate) fn begin(
        self: &Arc<Self>,
        slot: &str,
        fresh: SubmissionId,
    ) -> Result<SubmissionId, OutboxError> {
        if let Some(id) = self.read(|reader| slots::current(reader, slot))? {
            return Ok(id);
        }
        let slot = slot.to_owned();
        self.writer.write(move |tx| slots::begin(tx, &slot, fresh))
    }

    pub(crate) fn discard(self: &Arc<Self>, slot: &str) -> Result<(), OutboxError> {
        let slot = slot.to_owned();
        self.writer.write(move |tx| slots::discard(tx, &slot))
    }

    pub(crate) fn snapshot(&self, id: SubmissionId) -> Result<Option<Snapshot>, OutboxError> {
        self.read(|reader| Ok(view::snapshot(reader, id)?))
    }

    pub(crate) fn list(
        &self,
        filter: &ListFilter,
        page: PageRequest,
    ) -> Result<SnapshotPage, OutboxError> {
        self.read(|reader| Ok(list::list(reader, filter, page)?))
    }

    pub(crate) fn changes(&self, after: i64, limit: u32) -> Result<ChangePage, OutboxError> {
        self.read(|reader| Ok(changes::page(reader, after, limit)?))
    }

    pub(crate) fn numbers(&self) -> Result<Numbers, OutboxError> {
        let calls = self.writer.calls();
        let _held = calls.hold();
        let mut numbers = self.read(|reader| Ok(totals::numbers(reader)?))?;
        numbers.add(&calls.left());
        Ok(numbers)
    }

    /// Counts a call of `submit` that stored nothing.
    pub(crate) fn note_call(&self, call: Call) {
        self.writer.calls().note(call);
    }

    /// A number that differs once another connection has changed the database.
    pub(crate) fn data_version(&self) -> Result<i64, OutboxError> {
        let reader = self.lock_reader();
        let reader = reader.as_ref().ok_or(OutboxError::Closed)?;
        Ok(reader.query_row("PRAGMA data_version", [], |row| row.get(0))?)
    }

    pub(crate) fn cancel(self: &Arc<Self>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
        let cancelled = self.writer.write(move |tx| resolve::cancel(tx, id));
        self.delete_released();
        cancelled
    }

    pub(crate) fn resolve(
        self: &Arc<Self>,
        id: SubmissionId,
        revision: i64,
        resolution: Resolution,
        credentials: Option<i64>,
    ) -> Result<Snapshot, OutboxError> {
        let limits = self.limits.clone();
        let resolved = self
            .writer
            .write(move |tx| resolve::resolve(tx, id, revision, &resolution, &limits, credentials));
        self.delete_released();
        resolved
    }

    /// Decides everything that is held for a reason, some at a time.
    pub(crate) fn resolve_all(
        self: &Arc<Self>,
        reason: HoldReason,
        resolution: &Resolution,
        credentials: Option<i64>,
    ) -> Result<ResolvedAll, OutboxError> {
        let mut so_far = ResolvingAll::default();
        // What is held meanwhile is not what the decision is about.
        let Some(last) = self.read(|reader| Ok(resolve::last_held(reader)?))? else {
            return Ok(so_far.resolved);
        };
        while so_far.after < last {
            let (limits, resolution) = (self.limits.clone(), resolution.clone());
            so_far = self.writer.write(move |tx| {
                resolve::resolve_some(tx, so_far, last, reason, &resolution, &limits, credentials)
            })?;
            while self.delete_released() {}
        }
        Ok(so_far.resolved)
    }

    pub(crate) fn release_lane(
        self: &Arc<Self>,
        account: Option<&str>,
        lane: &str,
    ) -> Result<bool, OutboxError> {
        let (account, lane) = (account.map(str::to_owned), lane.to_owned());
        self.writer
            .write(move |tx| Ok(order::lanes::release(tx, account.as_deref(), &lane)?))
    }

    /// Ends the waits that are for want of a network, `after` from now.
    pub(crate) fn network_returned(self: &Arc<Self>, after: Duration) -> Result<(), OutboxError> {
        while self
            .writer
            .write(move |tx| Ok(network::hasten(tx, after)?))?
        {}
        Ok(())
    }

    pub(crate) fn wake(self: &Arc<Self>, id: SubmissionId) -> Result<Snapshot, OutboxError> {
        self.writer.write(move |tx| resolve::wake(tx, id))
    }

    fn terms(&self, schedules: bool) -> Intaking {
        Intaking {
            most: self.limits.max_queued,
            schedules,
        }
    }

    /// Settles what was answered and claims what is due, in one transaction.
    pub(crate) fn step(self: &Arc<Self>, step: Step) -> Result<Stepped, OutboxError> {
        let store = Arc::clone(self);
        let taken_over = Arc::new(Mutex::new(Vec::new()));
        let dead = Arc::clone(&taken_over);
        let stepped = self.writer.write_at_any_cost(move |tx| {
            let mut dead = dead.lock().unwrap_or_else(PoisonError::into_inner);
            step::step(tx, &store.owner, &store.limits, &step, &mut dead)
        });
        if let Ok(stepped) = &stepped {
            self.after_purge(stepped.purged);
            let mut taken_over = taken_over.lock().unwrap_or_else(PoisonError::into_inner);
            for file in taken_over.drain(..) {
                file.remove();
            }
        }
        stepped
    }

    /// True while an attempt is the one that has its submission in flight.
    pub(crate) fn is_in_flight(&self, attempt: i64) -> Result<bool, OutboxError> {
        self.read(|reader| Ok(attempts::is_in_flight(reader, attempt)?))
    }

    /// Renews the lease on all that this outbox has in flight. `None` if it has run out meanwhile:
    /// others may have taken over what is on the wire.
    pub(crate) fn renew(self: &Arc<Self>) -> Result<Option<UptimeMs>, OutboxError> {
        let store = Arc::clone(self);
        self.writer.write(move |tx| {
            let holds = owner::lease(tx, &store.owner)?.is_some_and(|end| tx.now.uptime <= end);
            if !holds {
                return Ok(None);
            }
            owner::extend(tx, &store.owner, store.limits.lease).map(Some)
        })
    }

    /// One bounded step of retention. True if there may be more to do.
    pub(crate) fn retain(self: &Arc<Self>) -> Result<bool, OutboxError> {
        let (limits, store) = (self.limits.clone(), Arc::clone(self));
        self.writer.lay_ballast();
        let (more, purged) = self.writer.write(move |tx| {
            tx.with_calls.set(true);
            let more = retention::step(tx, &limits)? | store.inbox.forget(tx, &store.owner)?;
            Ok((more, purge::piece(tx)?))
        })?;
        self.after_purge(purged);
        Ok(self.delete_bodies() || more || purged != Purged::Nothing)
    }

    /// From here on, nothing waits long for another process's transaction.
    pub(crate) fn hurry(&self) {
        self.writer.hurry();
    }

    /// Closes both connections and gives up the owner's lock. Waits for a transaction under way.
    pub(crate) fn close(self: &Arc<Self>) {
        self.writer.close(&self.owner);
        if let Some(reader) = self.lock_reader().take() {
            reader.flush_prepared_statement_cache();
            // A failing close leaves nothing to do: the file descriptors go with the process.
            drop(reader.close());
        }
    }

    /// Reads from one state of the database: what several statements find belongs together.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, OutboxError>,
    ) -> Result<T, OutboxError> {
        self.read_as(read)
    }

    /// The same for what refuses in its own words.
    fn read_as<T, E: Refusal>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.writer.check_moved().map_err(OutboxError::from)?;
        let found = self.read_whole(read);
        self.writer.note_damage(&found);
        found
    }

    fn read_whole<T, E: Refusal>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let reader = self.lock_reader();
        let reader = reader.as_ref().ok_or(OutboxError::Closed)?;
        let transaction = reader.unchecked_transaction().map_err(OutboxError::from)?;
        let found = read(&transaction)?;
        transaction.finish().map_err(OutboxError::from)?;
        Ok(found)
    }

    fn lock_reader(&self) -> MutexGuard<'_, Option<Connection>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<rusqlite::Error> for OutboxError {
    fn from(error: rusqlite::Error) -> Self {
        StorageError::from(error).into()
    }
}

/// The clocks and numbers that a transaction needs.
pub(crate) struct Context {
    pub(crate) clock: Arc<dyn Clock>,
    /// This boot, by the database's number for it.
    pub(crate) boot: i64,
    /// Used instead of the quiet times of server profiles.
    pub(crate) quiet_time: Option<Duration>,
    /// See there.
    pub(crate) max_body_bytes: u64,
}
