//! Splitting: the records of a batch that was refused for its size, or for the content of one of them,
//! go on in two new ones. So a bad record ends alone, and takes no other with it.

use std::time::Duration;

use rusqlite::OptionalExtension;

use super::seal::{Stored, records};
use super::{NewBatch, count_in, insert_batch, insert_record, new_id};
use crate::error::OutboxError;
use crate::model::batch::BatchConfig;
use crate::model::envelope::{filled, is_envelope};
use crate::model::fingerprint::PartHash;
use crate::model::request::FrozenRequest;
use crate::model::state::{SubmissionState, Then};
use crate::policy::limits::Limits;
use crate::policy::split::{SplitBy, first_half, split_by, split_wait};
use crate::store::intake::{self, thaw};
use crate::store::settle::Finished;
use crate::store::submissions::{Due, Row, set_due};
use crate::store::writer::Tx;

/// What two new batches are made of.
pub(in crate::store) struct Halves {
    name: String,
    terms: String,
    depth: u32,
    wait: Duration,
    halves: [(FrozenRequest, Vec<Stored>); 2],
}

/// The halves, if a refusal is one that they may escape. `to` is where the refusal leads: what is in
/// doubt, or cancelled, isn't split.
pub(in crate::store) fn splits(
    tx: &Tx<'_>,
    row: &Row,
    finished: &Finished,
    to: &SubmissionState,
    limits: &Limits,
) -> Result<Option<Halves>, OutboxError> {
    let (SubmissionState::Rejected { reason }, Then::Refuse(_), Some(answer)) =
        (to, finished.judgement.then, &finished.answer)
    else {
        return Ok(None);
    };
    if is_purged(tx, row)? {
        return Ok(None);
    }
    match split_by(answer.status, *reason) {
        Some(by) => halves(tx, row, by, limits),
        None => Ok(None),
    }
}

/// What a purge is yet to end has no halves: they would come after what the purge looks at.
fn is_purged(tx: &Tx<'_>, row: &Row) -> rusqlite::Result<bool> {
    tx.connection
        .prepare_cached("SELECT 1 FROM account WHERE name = ?1 AND purging > ?2")?
        .exists((&row.account, row.seq))
}

fn halves(
    tx: &Tx<'_>,
    row: &Row,
    by: SplitBy,
    limits: &Limits,
) -> Result<Option<Halves>, OutboxError> {
    let batch = tx
        .connection
        .prepare_cached("SELECT name, terms, depth, body_digest FROM batch WHERE seq = ?1")?
        .query_row([row.seq], |found| {
            let digest: [u8; 32] = found.get(3)?;
            Ok((
                found.get(0)?,
                found.get::<_, String>(1)?,
                found.get(2)?,
                digest,
            ))
        })
        .optional()?;
    let Some((name, terms, depth, digest)) = batch else {
        return Ok(None);
    };
    let mut first = records(tx, row.seq)?;
    let lengths: Vec<usize> = first.iter().map(|record| record.body.len()).collect();
    let (Some(at), Some(envelope)) = (first_half(&lengths, by), thaw(tx.connection, row)?) else {
        return Ok(None);
    };
    let bodies = first.iter().map(|record| record.body.as_str());
    let sent = filled(envelope.clone(), bodies).body_digest == digest && is_envelope(&envelope);
    let Some(config) = same_terms(&terms, &envelope, limits).filter(|_| sent) else {
        return Ok(None);
    };
    let rest = first.split_off(at);
    let half = |n: u8, records| {
        let mut hash = PartHash::new();
        hash.part(b"half of a batch");
        hash.part(row.id.as_bytes());
        hash.part(&[n]);
        let mut random = [0; 10];
        random
            .iter_mut()
            .zip(hash.finish())
            .for_each(|(to, from)| *to = from);
        let id = new_id(tx, random)?;
        let request = config.envelope(id, None, &envelope.profile, limits)?;
        Ok::<_, OutboxError>((with_text(request, &envelope), records))
    };
    Ok(Some(Halves {
        name,
        terms,
        depth: depth + 1,
        wait: split_wait(by, depth, limits),
        halves: [half(0, first)?, half(1, rest)?],
    }))
}

/// The terms of a batch, if they still make the request that was sent.
fn same_terms(terms: &str, sent: &FrozenRequest, limits: &Limits) -> Option<BatchConfig> {
    let config: BatchConfig = serde_json::from_str(terms).ok()?;
    let request = config.envelope(sent.id, None, &sent.profile, limits).ok()?;
    let request = with_text(request, sent);
    (request.checksum(&request.body_digest) == sent.checksum(&sent.body_digest)).then_some(config)
}

/// With the server profile as it was spelled then.
fn with_text(request: FrozenRequest, sent: &FrozenRequest) -> FrozenRequest {
    FrozenRequest {
        profile_json: sent.profile_json.clone(),
        ..request
    }
}

/// Accepts the halves in the place of a batch that has just been rejected. No limit of the queue
/// refuses them: their records are in it already.
pub(in crate::store) fn split(tx: &Tx<'_>, row: &Row, halves: &Halves) -> Result<(), OutboxError> {
    for (request, records) in &halves.halves {
        let seq = intake::insert(tx, request)?;
        let half = intake::enter(tx, seq, request)?;
        insert_batch(
            tx,
            &NewBatch {
                seq,
                account: request.account.as_deref(),
                name: &halves.name,
                terms: &halves.terms,
                open: false,
                depth: halves.depth,
            },
        )?;
        let mut bytes = 0;
        for record in records {
            bytes += record.body.len() as u64;
            insert_record(tx, seq, record.number, &record.body)?;
            tx.connection
                .prepare_cached("DELETE FROM record WHERE batch = ?1 AND number = ?2")?
                .execute((row.seq, record.number))?;
        }
        count_in(tx, seq, records.len() as u64, bytes)?;
        if !halves.wait.is_zero() {
            let due = Due::In {
                delay: halves.wait,
                floor: Duration::ZERO,
            };
            set_due(tx, &half, Some(due))?;
        }
    }
    Ok(())
}
