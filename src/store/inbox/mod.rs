//! The inbox's once-records: what is to be done once on this side.
//!
//! `begin` reads first: what is done, or what somebody is doing, costs no write. Only what may run is
//! decided within a transaction, where one of all tasks and processes wins. A run that was lost (its
//! process is gone, or its time is over) is found by who asks next; nothing watches it.

mod authorizer;
mod begin;
mod decide;
mod lives;
mod record;
mod retention;
mod run;
mod statements;

pub(super) use authorizer::Authorizer;
pub(super) use statements::define;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;

use super::Store;
use super::attempts::told_wall;
use super::owner::Owner;
use super::totals::Call;
use super::writer::{Tx, lock};
use crate::error::{InboxError, OutboxError, StorageError};
use crate::model::inbox::{
    AppRow, AppStatement, InboxAnswer, InboxDecision, InboxFailure, InboxItem, InboxRun,
    InboxScope, UncertainItem,
};
use crate::policy::limits::{INBOX_LEASE_MOST, INBOX_LIST, Limits, MAX_NAME_BYTES, STEP_ROWS};
use retention::Keeping;

/// What the inbox of an open database has in memory.
pub(super) struct Inbox {
    keeping: Keeping,
    /// The scope that the last step of retention ended with.
    behind: Mutex<String>,
    writes: Arc<Authorizer>,
    reads: Arc<Authorizer>,
}

impl Inbox {
    pub(super) fn new(
        scopes: &[InboxScope],
        writer: &mut Connection,
        reader: &mut Connection,
    ) -> Result<Self, StorageError> {
        Ok(Self {
            keeping: Keeping::new(scopes),
            behind: Mutex::default(),
            writes: Authorizer::of(writer)?,
            reads: Authorizer::of(reader)?,
        })
    }

    /// One step of retention. True if there may be more to do. An age is only believed by the clock of a
    /// server, as far as the device's agrees.
    pub(super) fn forget(&self, tx: &Tx<'_>, own: &Owner) -> Result<bool, OutboxError> {
        match told_wall(tx)? {
            Some(told) => {
                let now = told.min(tx.now.wall);
                self.keeping.step(tx, own, now, &mut lock(&self.behind))
            }
            None => Ok(false),
        }
    }
}

impl Store {
    pub(crate) fn inbox_begin(
        self: &Arc<Self>,
        item: InboxItem,
    ) -> Result<InboxAnswer, InboxError> {
        check_item(&item, &self.limits)?;
        let moment = self.writer.moment();
        let met = self.read_as(|reader| begin::meet(reader, &self.owner, &moment, &item))?;
        let answer = match met {
            Some(answer) => answer,
            None => {
                let store = Arc::clone(self);
                self.writer
                    .write_as(move |tx| begin::begin(tx, &store.owner, &item), false)?
            }
        };
        if matches!(answer, InboxAnswer::Busy { .. } | InboxAnswer::Done { .. }) {
            self.note_call(Call::InboxRepeat);
        }
        Ok(answer)
    }

    pub(crate) fn inbox_finish(
        self: &Arc<Self>,
        run: InboxRun,
        result: Option<Vec<u8>>,
        statements: Vec<AppStatement>,
    ) -> Result<(), InboxError> {
        check_result("result", result.as_deref(), &self.limits)?;
        let call = Arc::new((run, result, statements));
        let finish = || {
            let (store, call) = (Arc::clone(self), Arc::clone(&call));
            self.writer.write_as(
                move |tx| {
                    let (run, result, statements) = &*call;
                    run::finish(tx, &store.inbox.writes, run, result.as_deref(), statements)
                },
                true,
            )
        };
        match finish() {
            // The effect has happened, and the ballast has made room to say so.
            Err(InboxError::Storage {
                storage: StorageError::Full,
            }) => finish(),
            finished => finished,
        }
    }

    pub(crate) fn inbox_fail(
        self: &Arc<Self>,
        run: InboxRun,
        failure: InboxFailure,
    ) -> Result<(), InboxError> {
        self.writer
            .write_as(move |tx| run::fail(tx, &run, failure), false)
    }

    pub(crate) fn inbox_extend(
        self: &Arc<Self>,
        run: InboxRun,
        lease: Duration,
    ) -> Result<(), InboxError> {
        check_lease(lease)?;
        let store = Arc::clone(self);
        self.writer
            .write_as(move |tx| run::extend(tx, &store.owner, &run, lease), false)
    }

    pub(crate) fn inbox_decide(
        self: &Arc<Self>,
        scope: String,
        key: String,
        decision: InboxDecision,
    ) -> Result<(), InboxError> {
        check_name("scope", &scope)?;
        check_name("key", &key)?;
        if let InboxDecision::Happened { result } = &decision {
            check_result("decision.result", result.as_deref(), &self.limits)?;
        }
        let store = Arc::clone(self);
        self.writer.write_as(
            move |tx| decide::decide(tx, &store.owner, &scope, &key, &decision),
            false,
        )
    }

    pub(crate) fn inbox_uncertain(
        self: &Arc<Self>,
        scope: Option<String>,
        limit: u32,
    ) -> Result<Vec<UncertainItem>, InboxError> {
        if let Some(scope) = &scope {
            check_name("scope", scope)?;
        }
        if !(1..=INBOX_LIST).contains(&limit) {
            return Err(invalid("limit", "use 1 to 1,000"));
        }
        let moment = self.writer.moment();
        let lost = self.read_as(|reader| decide::lost(reader, &self.owner, &moment))?;
        for some in lost.chunks(STEP_ROWS) {
            let (store, some) = (Arc::clone(self), some.to_vec());
            self.writer
                .write_as(move |tx| decide::doubt_lost(tx, &store.owner, &some), false)?;
        }
        self.read_as(|reader| decide::list(reader, scope.as_deref(), limit).map_err(storage))
    }

    pub(crate) fn inbox_query(
        self: &Arc<Self>,
        statement: AppStatement,
    ) -> Result<Vec<AppRow>, InboxError> {
        self.read_as(|reader| statements::query(reader, &self.inbox.reads, &statement))
    }
}

/// What SQLite said about a statement of ours.
fn storage(error: rusqlite::Error) -> InboxError {
    StorageError::from(error).into()
}

fn invalid(field: &str, problem: &str) -> InboxError {
    InboxError::Invalid {
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

fn check_item(item: &InboxItem, limits: &Limits) -> Result<(), InboxError> {
    check_name("scope", &item.scope)?;
    check_name("key", &item.key)?;
    if let Some(lease) = item.lease {
        check_lease(lease)?;
    }
    let most = limits.max_body_bytes;
    match &item.content {
        Some(content) if content.len() as u64 > most => Err(invalid(
            "content",
            &format!("use at most {most} bytes, or raise max_body_bytes"),
        )),
        _ => Ok(()),
    }
}

fn check_name(field: &str, name: &str) -> Result<(), InboxError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(invalid(field, "use 1 to 1,024 bytes"));
    }
    Ok(())
}

fn check_lease(lease: Duration) -> Result<(), InboxError> {
    if lease < Duration::from_millis(1) || lease > INBOX_LEASE_MOST {
        return Err(invalid(
            "lease",
            "use 1 millisecond to 7 days, and extend it",
        ));
    }
    Ok(())
}

fn check_result(field: &str, result: Option<&[u8]>, limits: &Limits) -> Result<(), InboxError> {
    let most = limits.max_answer_bytes;
    match result {
        Some(result) if result.len() as u64 > u64::from(most) => Err(invalid(
            field,
            &format!("use at most {most} bytes, or raise max_answer_bytes"),
        )),
        _ => Ok(()),
    }
}
