//! What a test asks the server from Rust, and waits for.

use std::time::Duration;

use crate::behaviour::Matcher;
use crate::history::{self, Event};
use crate::records::{EffectBody, EffectRecord, RequestRecord};
use crate::server::ReferenceServer;
use crate::store::StoreError;
use crate::summary::Summary;
use crate::tls::TlsSeen;

/// The database has failed, so there is no verdict. The server's test is worthless; let it fail.
#[derive(Debug, thiserror::Error)]
#[error("the reference server's database failed: {0}")]
pub struct JudgeError(String);

impl JudgeError {
    pub(crate) fn new(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// Records and verdicts.
impl ReferenceServer {
    /// Waits until `predicate` holds for the records, looking again at each arrival, answer, loss,
    /// hold and end of a handler. False when `timeout` passed first.
    ///
    /// The predicate runs inside the server's lock: it must be quick and must not call the server.
    pub fn wait_for(
        &self,
        mut predicate: impl FnMut(&[RequestRecord]) -> bool,
        timeout: Duration,
    ) -> bool {
        self.shared
            .ledger
            .wait_for(timeout, |records| predicate(records).then_some(()))
            .is_some()
    }

    /// Waits for the first matching request to arrive, or takes the one that already did.
    pub fn wait_for_request(&self, matcher: Matcher, timeout: Duration) -> Option<RequestRecord> {
        self.find(timeout, |record| {
            matcher.matches(record.key.as_deref(), &record.path)
        })
    }

    /// Waits until a request stands at the hold `name`.
    pub fn wait_until_held(&self, name: &str, timeout: Duration) -> Option<RequestRecord> {
        self.find(timeout, |record| record.held_at.as_deref() == Some(name))
    }

    /// Waits until no request is in flight. False when `timeout` passed first.
    pub fn wait_until_quiet(&self, timeout: Duration) -> bool {
        self.wait_for(
            |records| !records.iter().any(RequestRecord::in_flight),
            timeout,
        )
    }

    /// The requests that have arrived and whose flight is not over.
    #[must_use]
    pub fn in_flight(&self) -> Vec<RequestRecord> {
        self.shared.ledger.read(|records| {
            records
                .iter()
                .filter(|record| record.in_flight())
                .cloned()
                .collect()
        })
    }

    /// All requests since the start or the last reset, in order of arrival.
    #[must_use]
    pub fn records(&self) -> Vec<RequestRecord> {
        self.shared.ledger.read(<[RequestRecord]>::to_vec)
    }

    /// The clock of the records, for events that are put in order with them.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.shared.ledger.now_ns()
    }

    /// What the records tell, as events of a history with their times.
    #[must_use]
    pub fn events(&self) -> Vec<(u64, Event)> {
        self.shared.ledger.read(history::served)
    }

    /// All effects in the database, in order.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn effects(&self) -> Result<Vec<EffectRecord>, JudgeError> {
        let store = &self.shared.store;
        store
            .run_blocking(|database| database.effects())
            .map_err(JudgeError::new)
    }

    /// The bodies of all effects in the database, in order; none without
    /// [`Options::keep_bodies`](crate::Options::keep_bodies).
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn bodies(&self) -> Result<Vec<EffectBody>, JudgeError> {
        let store = &self.shared.store;
        store
            .run_blocking(|database| database.bodies())
            .map_err(JudgeError::new)
    }

    /// How many effects `key` has.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn effects_of(&self, key: &str) -> Result<u64, JudgeError> {
        let key = key.to_owned();
        let store = &self.shared.store;
        store
            .run_blocking(move |database| database.count_effects(Some(&key)))
            .map_err(JudgeError::new)
    }

    /// The verdict so far.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn summary(&self) -> Result<Summary, JudgeError> {
        let effects = self.effects()?;
        Ok(self
            .shared
            .ledger
            .read(|records| Summary::of(records, &effects)))
    }

    fn find(
        &self,
        timeout: Duration,
        wanted: impl Fn(&RequestRecord) -> bool,
    ) -> Option<RequestRecord> {
        self.shared.ledger.wait_for(timeout, |records| {
            records.iter().find(|record| wanted(record)).cloned()
        })
    }

    /// What came through TLS since the start; all 0 without
    /// [`Options::tls`](crate::Options::tls).
    #[must_use]
    pub fn tls_seen(&self) -> TlsSeen {
        self.shared.ledger.tls_seen()
    }

    /// Waits until what came through TLS is as wanted. False when `timeout` passed first.
    ///
    /// The predicate runs inside the server's lock: it must be quick and must not call the server.
    pub fn wait_for_tls(&self, predicate: impl FnMut(TlsSeen) -> bool, timeout: Duration) -> bool {
        self.shared.ledger.wait_for_tls(timeout, predicate)
    }
}
