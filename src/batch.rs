//! Batches of small records: many appends, one submission.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::delivery::engine::Parts;
use crate::error::OutboxError;
use crate::model::batch::{BatchConfig, RecordReceipt};
use crate::model::id::SubmissionId;
use crate::model::record::Record;
use crate::model::request::invalid;
use crate::outbox::Outbox;
use crate::store::Gathering;

/// Where the small records of one key are appended. Thread-safe; closed with the outbox that it came
/// from. Any number of them, in any number of processes, may have one key.
#[derive(uniffi::Object)]
pub struct Batch {
    outbox: Arc<Outbox>,
    gathering: Arc<Gathering>,
}

impl Batch {
    /// Checks the configuration, so that no append has to.
    pub(crate) fn of(outbox: Arc<Outbox>, config: BatchConfig) -> Result<Self, OutboxError> {
        outbox.store()?;
        let core = &outbox.core;
        let parts = core.engine.parts();
        let sample = new_id(parts);
        let config = config.checked(sample, core.base.as_ref(), &core.profile, core.limits())?;
        let terms = serde_json::to_string(&config)
            .map_err(|_| invalid("config", "it can't be written as JSON"))?;
        let gathering = Arc::new(Gathering {
            config,
            terms,
            profile: core.profile.clone(),
            limits: core.limits().clone(),
            entropy: Arc::clone(&parts.entropy),
        });
        Ok(Self { outbox, gathering })
    }

    fn read(&self, n: usize, text: &str) -> Result<Record, OutboxError> {
        let config = &self.gathering.config;
        let fresh = || new_id(self.outbox.core.engine.parts());
        let record = Record::read(text, &config.id_member, config.by_lines(), fresh)
            .map_err(|problem| invalid(&format!("record {}", n + 1), problem))?;
        let bytes = config.body_bytes(1, record.body.len() as u64);
        match u64::from(config.max_bytes) {
            most if bytes > most => Err(OutboxError::BodyTooLarge { bytes, most }),
            _ => Ok(record),
        }
    }
}

fn new_id(parts: &Parts) -> SubmissionId {
    let mut random = [0; 10];
    parts.entropy.fill(&mut random);
    SubmissionId::from_parts(parts.clock.now().wall, random)
}

#[uniffi::export]
impl Batch {
    /// Adds a record, a JSON object as text, to the key's open batch, which is opened if there is none.
    /// Durable when it returns.
    ///
    /// # Errors
    /// [`OutboxError::Invalid`] if the record isn't a JSON object, or its `id_member` isn't a text or
    /// a number; [`OutboxError::BodyTooLarge`] if no batch can hold it.
    pub fn append(&self, record: String) -> Result<RecordReceipt, OutboxError> {
        let receipts = self.append_all(vec![record])?;
        receipts.into_iter().next().ok_or(OutboxError::Closed)
    }

    /// Adds several records, all or none, in one transaction. They may come to go with several batches.
    ///
    /// # Errors
    /// As `append`; the message says which record.
    pub fn append_all(&self, records: Vec<String>) -> Result<Vec<RecordReceipt>, OutboxError> {
        let store = self.outbox.store()?;
        let records = records
            .iter()
            .enumerate()
            .map(|(n, text)| self.read(n, text))
            .collect::<Result<Vec<_>, _>>()?;
        let schedules = self.outbox.schedules.load(Ordering::Acquire);
        let appended = store.append(&self.gathering, records, schedules)?;
        if appended.moved {
            self.outbox.core.engine.nudge();
        }
        Ok(appended.receipts)
    }

    /// Makes the open batch due now. Gives its submission, or nothing where no batch is open: an empty
    /// one is never sent.
    pub fn flush(&self) -> Result<Option<SubmissionId>, OutboxError> {
        let flushed = self.outbox.store()?.flush_batch(&self.gathering)?;
        self.outbox.core.engine.nudge();
        Ok(flushed)
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("config", &self.gathering.config)
            .finish_non_exhaustive()
    }
}
