//! What the store does for accounts: who is signed in, and what becomes of whose submissions.

use std::sync::Arc;

use super::purge::Purged;
use super::{SignedIn, Store, gates, purge};
use crate::error::OutboxError;
use crate::model::outcome::SignedOutReport;

impl Store {
    /// Who is signed in.
    pub(crate) fn signed_in(&self) -> Result<Option<SignedIn>, OutboxError> {
        self.read(|reader| Ok(gates::signed_in(reader)?))
    }

    /// Signs an account in, and any other out, once a purge of it is done.
    pub(crate) fn sign_in(self: &Arc<Self>, account: &str) -> Result<(), OutboxError> {
        loop {
            let account = account.to_owned();
            let signed_in = self.writer.write(move |tx| {
                if purge::is_under_way(tx, &account)? {
                    return Ok(false);
                }
                gates::sign_in(tx, &account).map(|()| true)
            })?;
            if signed_in {
                return Ok(());
            }
            self.purge_some()?;
        }
    }

    /// Signs out whoever is signed in. What was submitted waits.
    pub(crate) fn sign_out(self: &Arc<Self>) -> Result<SignedOutReport, OutboxError> {
        self.writer.write(gates::sign_out_and_keep)
    }

    /// Signs out whoever is signed in, for good: nothing of the account is claimed any more. Returns
    /// who it was, or whose purge isn't done yet.
    pub(crate) fn begin_purge(self: &Arc<Self>) -> Result<Option<String>, OutboxError> {
        self.writer.write(purge::begin)
    }

    /// Takes note that open attempts had no effect.
    pub(crate) fn note_unsent(self: &Arc<Self>, attempts: Vec<i64>) -> Result<(), OutboxError> {
        if attempts.is_empty() {
            return Ok(());
        }
        self.writer
            .write(move |tx| Ok(purge::note_unsent(tx, &attempts)?))
    }

    /// Ends and drops what is left of an account that was signed out for good.
    pub(crate) fn purge(self: &Arc<Self>, account: &str) -> Result<SignedOutReport, OutboxError> {
        loop {
            let account = account.to_owned();
            let report = self.writer.write(move |tx| {
                Ok(match purge::is_under_way(tx, &account)? {
                    true => None,
                    false => Some(purge::report(tx, &account)?),
                })
            })?;
            if let Some(report) = report {
                return Ok(report);
            }
            self.purge_some()?;
        }
    }

    /// A piece of the purges that are under way.
    pub(crate) fn purge_some(self: &Arc<Self>) -> Result<Purged, OutboxError> {
        if !self.read(|reader| Ok(purge::any(reader)?))? {
            return Ok(Purged::Nothing);
        }
        let purged = self.writer.write(purge::piece)?;
        self.after_purge(purged);
        Ok(purged)
    }

    /// What a transaction can't do: deletes the files of bodies, and at the end clears the log of what
    /// is gone from the tables.
    pub(super) fn after_purge(self: &Arc<Self>, purged: Purged) {
        if purged != Purged::Nothing {
            while self.delete_released() {}
        }
        if purged == Purged::All {
            self.writer.clear_log();
        }
    }

    /// Takes note of credentials: their account and the names of their headers, nothing else.
    pub(crate) fn credentials_supplied(
        self: &Arc<Self>,
        account: &str,
        names: Vec<String>,
        again: Option<i64>,
    ) -> Result<(SignedIn, i64), OutboxError> {
        let account = account.to_owned();
        self.writer
            .write(move |tx| gates::credentials_supplied(tx, &account, &names, again))
    }
}
