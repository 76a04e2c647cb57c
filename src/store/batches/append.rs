//! Appending: a record goes to the open batch of its key, which is opened with its first.

use std::sync::Arc;

use rusqlite::OptionalExtension;

use super::{NewBatch, close, count_in, insert_batch, insert_record, new_id};
use crate::entropy::Entropy;
use crate::error::OutboxError;
use crate::model::batch::{BatchConfig, RecordReceipt};
use crate::model::id::SubmissionId;
use crate::model::record::Record;
use crate::policy::limits::Limits;
use crate::policy::profile::ServerProfile;
use crate::store::Store;
use crate::store::intake::{self, Intaking};
use crate::store::owner::Owner;
use crate::store::resolve::hasten;
use crate::store::submissions::{self, Due, or_quarantine, set_due};
use crate::store::totals;
use crate::store::writer::Tx;

/// By what batches of a key are made.
pub(crate) struct Gathering {
    /// Checked, with an absolute URL.
    pub(crate) config: BatchConfig,
    /// The same, as it is stored.
    pub(crate) terms: String,
    pub(crate) profile: ServerProfile,
    pub(crate) limits: Limits,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// What came of an append.
pub(crate) struct Appended {
    pub(crate) receipts: Vec<RecordReceipt>,
    /// A batch was opened or closed, so that something else is due.
    pub(crate) moved: bool,
}

/// A batch that takes records, with the ones that it is being given.
struct Open {
    seq: i64,
    id: SubmissionId,
    /// With the new ones.
    records: u64,
    bytes: u64,
    new_records: u64,
    new_bytes: u64,
}

impl Store {
    /// Adds records, all or none, in one transaction.
    pub(crate) fn append(
        self: &Arc<Self>,
        gathering: &Arc<Gathering>,
        records: Vec<Record>,
        schedules: bool,
    ) -> Result<Appended, OutboxError> {
        let (store, gathering) = (Arc::clone(self), Arc::clone(gathering));
        let terms = self.terms(schedules);
        self.writer
            .write(move |tx| append(tx, &store.owner, &gathering, &records, terms))
    }

    /// Makes the open batch of a key due now.
    pub(crate) fn flush_batch(
        self: &Arc<Self>,
        gathering: &Arc<Gathering>,
    ) -> Result<Option<SubmissionId>, OutboxError> {
        let gathering = Arc::clone(gathering);
        self.writer.write(move |tx| {
            let Some(Found { open, .. }) = find(tx, &gathering)?.filter(|found| found.waits) else {
                return Ok(None);
            };
            hasten(tx, &mut submissions::by_seq(tx.connection, open.seq)?)?;
            Ok(Some(open.id))
        })
    }
}

fn append(
    tx: &Tx<'_>,
    owner: &Owner,
    gathering: &Gathering,
    records: &[Record],
    terms: Intaking,
) -> Result<Appended, OutboxError> {
    let config = &gathering.config;
    let mut appended = Appended {
        receipts: Vec::with_capacity(records.len()),
        moved: false,
    };
    let mut open = None;
    if let Some(found) = find(tx, gathering)?.filter(|_| !records.is_empty()) {
        match found.waits && found.same_terms {
            true => open = Some(found.open),
            // It goes as it is. What has ended, is held, or was maybe sent before a loss, takes nothing
            // more.
            false => {
                finish(tx, &found.open)?;
                appended.moved = true;
            }
        }
    }
    for record in records {
        let bytes = record.body.len() as u64;
        if let Some(full) = open.take_if(|open| !fits(config, open, bytes)) {
            finish(tx, &full)?;
            appended.moved = true;
        }
        let mut run_requested = false;
        let batch = match &mut open {
            Some(batch) => batch,
            None => {
                let (batch, run) = begin(tx, owner, gathering, terms)?;
                run_requested = run;
                appended.moved = true;
                open.insert(batch)
            }
        };
        batch.records += 1;
        batch.bytes += bytes;
        batch.new_records += 1;
        batch.new_bytes += bytes;
        insert_record(tx, batch.seq, batch.records.cast_signed(), &record.body)?;
        appended.receipts.push(RecordReceipt {
            record_id: record.id.clone(),
            batch: batch.id,
            run_requested,
        });
    }
    if let Some(full) = open.take_if(|open| is_full(config, open)) {
        finish(tx, &full)?;
        appended.moved = true;
    }
    if let Some(open) = open {
        count_in(tx, open.seq, open.new_records, open.new_bytes)?;
    }
    tx.count(totals::RECORDS, records.len() as i64);
    Ok(appended)
}

fn fits(config: &BatchConfig, open: &Open, bytes: u64) -> bool {
    let body = config.body_bytes(open.records + 1, open.bytes + bytes);
    open.records < u64::from(config.max_records) && body <= u64::from(config.max_bytes)
}

fn is_full(config: &BatchConfig, open: &Open) -> bool {
    open.records >= u64::from(config.max_records)
        || config.body_bytes(open.records, open.bytes) >= u64::from(config.max_bytes)
}

/// The open batch of a key.
struct Found {
    open: Open,
    same_terms: bool,
    /// It waits for its time, and no attempt of it can have been made.
    waits: bool,
}

fn find(tx: &Tx<'_>, gathering: &Gathering) -> rusqlite::Result<Option<Found>> {
    let config = &gathering.config;
    tx.connection
        .prepare_cached(
            // What a purge is yet to end takes nothing: the same account may be back.
            "SELECT b.seq, s.id, b.records, b.bytes, b.terms = ?3 AS same,
                s.state = 'pending' AND b.body_digest IS NULL
                    AND b.seq >= coalesce((SELECT purging FROM account WHERE name = ?1), 0)
                    AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.submission = b.seq) AS waits
             FROM batch b JOIN submission s ON s.seq = b.seq
             WHERE b.account = ?1 AND b.name = ?2 AND b.open = 1",
        )?
        .query_row(
            (
                config.account.as_deref().unwrap_or_default(),
                &config.key,
                &gathering.terms,
            ),
            |row| {
                Ok(Found {
                    open: Open {
                        seq: row.get(0)?,
                        id: SubmissionId::from_bytes(row.get(1)?),
                        records: row.get::<_, i64>(2)?.cast_unsigned(),
                        bytes: row.get::<_, i64>(3)?.cast_unsigned(),
                        new_records: 0,
                        new_bytes: 0,
                    },
                    same_terms: row.get(4)?,
                    waits: row.get(5)?,
                })
            },
        )
        .optional()
}

/// Accepts a batch as a new submission. True with it if the caller has to schedule a run.
fn begin(
    tx: &Tx<'_>,
    owner: &Owner,
    gathering: &Gathering,
    terms: Intaking,
) -> Result<(Open, bool), OutboxError> {
    let Gathering {
        config,
        profile,
        limits,
        ..
    } = gathering;
    let mut random = [0; 10];
    gathering.entropy.fill(&mut random);
    let id = new_id(tx, random)?;
    let request = config.envelope(id, None, profile, limits)?;
    intake::check_room(tx.connection, &request, terms.most)?;
    let seq = intake::insert(tx, &request)?;
    let row = intake::enter(tx, seq, &request)?;
    let due = Due::In {
        delay: config.age(),
        floor: std::time::Duration::ZERO,
    };
    set_due(tx, &row, Some(due))?;
    insert_batch(
        tx,
        &NewBatch {
            seq,
            account: config.account.as_deref(),
            name: &config.key,
            terms: &gathering.terms,
            open: true,
            depth: 0,
        },
    )?;
    let open = Open {
        seq,
        id,
        records: 0,
        bytes: 0,
        new_records: 0,
        new_bytes: 0,
    };
    Ok((open, intake::ask_for_run(tx, owner, &request, terms)?))
}

/// Closes a batch, which is due now.
fn finish(tx: &Tx<'_>, open: &Open) -> Result<(), OutboxError> {
    count_in(tx, open.seq, open.new_records, open.new_bytes)?;
    close(tx, open.seq)?;
    let row = submissions::by_seq(tx.connection, open.seq).map_err(OutboxError::from);
    let hastened = row.and_then(|mut row| hasten(tx, &mut row));
    // One that can't be read is put aside, and keeps no record of the next from its place.
    or_quarantine(tx, open.seq, hastened).map(drop)
}
