//! Submit: the first row of a submission, or the meeting with the one that is there.

use rusqlite::{Connection, OptionalExtension, named_params};

use super::bodies::Bodies;
use super::order::parents;
use super::owner::Owner;
use super::rows::{spell_headers, spell_key, spell_lane_policy, unreadable};
use super::submissions::{self, Row};
use super::view::{self, tombstone};
use super::writer::Tx;
use super::{attempts, fetched, gates, loss, order, profiles, runs};
use crate::error::OutboxError;
use crate::model::body::FrozenBody;
use crate::model::fingerprint::{Fingerprint, Identity, digest};
use crate::model::links::FrozenLinks;
use crate::model::links::{ParentPart, PartTarget};
use crate::model::outcome::{Receipt, ReceiptKind, Snapshot};
use crate::model::parts;
use crate::model::request::{FrozenRequest, effect_text, key_place_text};
use crate::policy::probe::FrozenProbe;
use crate::runs::RunNetwork;
use crate::weakness::{self, Weakness};

/// Meets a submission of the same ID, if there is one: a receipt for a repeat, a refusal for a
/// reuse. Reads only, so that it works on a full disk and a full queue.
pub(super) fn meet(
    connection: &Connection,
    request: &FrozenRequest,
) -> Result<Option<Result<Receipt, OutboxError>>, OutboxError> {
    if let Some(row) = submissions::by_id(connection, request.id)? {
        let snapshot = view::whole(connection, request.id)?;
        return Ok(Some(
            if row.fingerprint == *request.fingerprint.as_bytes() {
                let kind = if row.state.is_final() {
                    ReceiptKind::Replayed
                } else {
                    ReceiptKind::Joined
                };
                Ok(receipt(kind, snapshot))
            } else {
                let differs = differences(connection, &row, request)?;
                Err(reused(snapshot, differs))
            },
        ));
    }
    let Some((fingerprint, snapshot)) = tombstone(connection, request.id)? else {
        return Ok(None);
    };
    Ok(Some(if fingerprint == *request.fingerprint.as_bytes() {
        Ok(receipt(ReceiptKind::Replayed, snapshot))
    } else {
        Err(reused(snapshot, vec!["fingerprint".to_owned()]))
    }))
}

/// Under which terms new submissions are taken.
#[derive(Clone, Copy)]
pub(super) struct Intaking {
    /// Unsettled submissions at most.
    pub(super) most: u32,
    /// The caller schedules background runs.
    pub(super) schedules: bool,
}

/// Stores a request as a new submission.
pub(super) fn accept(
    tx: &Tx<'_>,
    owner: &Owner,
    bodies: &Bodies,
    request: &FrozenRequest,
    terms: Intaking,
) -> Result<Receipt, OutboxError> {
    if let Some(met) = meet(tx.connection, request)? {
        return met;
    }
    let conditional = fetched::conditional(tx, request)?;
    let request = conditional.as_ref().unwrap_or(request);
    check_room(tx.connection, request, terms.most)?;
    parents::check(tx.connection, request)?;
    let seq = insert(tx, request)?;
    bodies.note(tx, seq, request)?;
    enter(tx, seq, request)?;
    let run_requested = ask_for_run(tx, owner, request, terms)?;
    Ok(Receipt {
        run_requested,
        ..receipt(
            ReceiptKind::Accepted,
            view::whole(tx.connection, request.id)?,
        )
    })
}

/// Stores the rows of a new submission.
pub(super) fn insert(tx: &Tx<'_>, request: &FrozenRequest) -> rusqlite::Result<i64> {
    let seq = insert_submission(tx, request)?;
    insert_request(tx, request, seq)?;
    Ok(seq)
}

/// Lets a new submission enter the queue: the counters, the change feed, what it waits for.
pub(super) fn enter(tx: &Tx<'_>, seq: i64, request: &FrozenRequest) -> Result<Row, OutboxError> {
    loss::doubt_if_from_before(tx, seq, request.id)?;
    tx.connection
        .prepare_cached(
            "UPDATE meta SET unsettled = unsettled + 1, accepted = accepted + 1,
                queued_bytes = queued_bytes + ?1",
        )?
        .execute([request.body.length().cast_signed()])?;
    attempts::note_wall(tx)?;
    let mut row = submissions::by_seq(tx.connection, seq)?;
    submissions::feed(tx, &row)?;
    parents::enter(tx, &mut row, request)?;
    order::enter(tx, &row)?;
    Ok(row)
}

/// Asks for a background run. True if the caller has to schedule it.
pub(super) fn ask_for_run(
    tx: &Tx<'_>,
    owner: &Owner,
    request: &FrozenRequest,
    terms: Intaking,
) -> Result<bool, OutboxError> {
    let network = if request.unmetered_only {
        RunNetwork::Unmetered
    } else {
        RunNetwork::Any
    };
    if terms.schedules {
        runs::request(tx, owner, network)
    } else {
        runs::leave(tx, network)?;
        Ok(false)
    }
}

/// Refuses what is new and can't be taken.
pub(super) fn check_room(
    connection: &Connection,
    request: &FrozenRequest,
    most: u32,
) -> Result<(), OutboxError> {
    let (unsettled, remembers_since): (i64, i64) = connection
        .prepare_cached("SELECT unsettled, remembers_since FROM meta")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if request
        .id
        .minted_at()
        .is_some_and(|minted| minted.0 < remembers_since)
    {
        return Err(OutboxError::IdTooOld { id: request.id });
    }
    if unsettled >= i64::from(most) {
        return Err(OutboxError::QueueFull { most });
    }
    let parts = request
        .links
        .parts
        .iter()
        .filter_map(|part| match &part.into {
            PartTarget::Header { name } => Some(name.as_str()),
            PartTarget::Path { .. } | PartTarget::Query { .. } | PartTarget::Json { .. } => None,
        });
    let stored = request.headers.iter().map(|header| header.name.as_str());
    let names = stored.chain(parts);
    if let Some(name) = gates::credential_header(connection, names)? {
        return Err(OutboxError::HeaderRefused {
            name: name.to_owned(),
            reason: "credentials had it, and they are never stored".to_owned(),
        });
    }
    Ok(())
}

fn insert_submission(tx: &Tx<'_>, request: &FrozenRequest) -> rusqlite::Result<i64> {
    let lane = request.links.lane.as_ref();
    tx.connection
        .prepare_cached(
            "INSERT INTO submission (id, fingerprint, account, profile, channel, effect, priority,
                lane, lane_policy, replaces, probe, accepted_wall, state, revision, ready, blockers,
                expires_wall, unmetered)
             VALUES (:id, :fingerprint, :account, :profile, :channel, :effect, :priority,
                :lane, :lane_policy, :replaces, :probe, :wall, 'pending', 1,
                CASE :blockers WHEN 0 THEN 1 + :unmetered ELSE 0 END, :blockers,
                :expires, :unmetered)",
        )?
        .insert(named_params! {
            ":id": request.id.as_bytes(),
            ":fingerprint": request.fingerprint.as_bytes(),
            ":account": request.account,
            ":profile": profiles::keep(tx, &request.profile_json)?,
            ":channel": profiles::channel(tx, request.account.as_deref(), &request.origin)?,
            ":effect": effect_text(request.effect),
            ":priority": request.priority,
            ":lane": lane.map(|(name, _)| name),
            ":lane_policy": lane.map(|(_, policy)| spell_lane_policy(*policy)),
            ":replaces": request.links.replaces.as_ref().map(|key| spell_key(request.effect, key)),
            ":probe": request.probe.as_ref().map(|probe| &probe.json),
            ":blockers": if lane.is_some() { order::LANE } else { 0 },
            ":wall": tx.now.wall.0,
            ":expires": request.expires_at.map(|wall| wall.0),
            ":unmetered": request.unmetered_only,
        })
}

fn insert_request(tx: &Tx<'_>, request: &FrozenRequest, seq: i64) -> rusqlite::Result<()> {
    let file = match &request.body {
        FrozenBody::Inline(_) => None,
        FrozenBody::File { name, length } => Some((name, length.cast_signed())),
    };
    tx.connection
        .prepare_cached(
            "INSERT INTO request (seq, wire_key, method, url, content_type, headers, expires_wall,
                checksum, body_digest, body_file, body_length, body, parts)
             VALUES (:seq, :wire_key, :method, :url, :content_type, :headers, :expires,
                :checksum, :body_digest, :body_file, :body_length, :body, :parts)",
        )?
        .execute(named_params! {
            ":seq": seq,
            ":wire_key": request.wire_key,
            ":method": request.method,
            ":url": request.url,
            ":content_type": request.content_type,
            ":headers": spell_headers(&request.headers),
            ":expires": request.expires_at.map(|wall| wall.0),
            ":checksum": request.checksum(&request.body_digest),
            ":body_digest": request.body_digest,
            ":body_file": file.map(|(name, _)| name),
            ":body_length": file.map(|(_, length)| length),
            ":body": request.body.as_bytes(),
            ":parts": parts::spell(&request.links.parts),
        })?;
    Ok(())
}

fn receipt(kind: ReceiptKind, snapshot: Snapshot) -> Receipt {
    Receipt {
        id: snapshot.id,
        kind,
        run_requested: false,
        snapshot,
    }
}

fn reused(existing: Snapshot, differs: Vec<String>) -> OutboxError {
    OutboxError::KeyReused {
        id: existing.id,
        existing: Box::new(existing),
        differs,
    }
}

/// In which parts a request differs from the one that is stored.
fn differences(
    connection: &Connection,
    row: &Row,
    request: &FrozenRequest,
) -> rusqlite::Result<Vec<String>> {
    let stored_place = key_place_text(&profiles::read(connection, row.profile)?);
    let new_place = key_place_text(&request.profile);
    let new_parts = parts::spell(&request.links.parts);
    connection
        .prepare_cached(
            "SELECT s.account, r.method, r.url, r.content_type, r.body_digest, r.parts
             FROM submission s JOIN request r ON r.seq = s.seq WHERE s.seq = ?1",
        )?
        .query_row([row.seq], |found| {
            let account: Option<String> = found.get(0)?;
            let method: String = found.get(1)?;
            let url: String = found.get(2)?;
            let content_type: Option<String> = found.get(3)?;
            let body_digest: [u8; 32] = found.get(4)?;
            let parts: Option<String> = found.get(5)?;
            let stored = Identity {
                account: account.as_deref(),
                method: &method,
                url: &url,
                content_type: content_type.as_deref(),
                key_place: &stored_place,
                body_digest: &body_digest,
                parts: parts.as_deref(),
            };
            Ok(stored.differences(&request.identity(&new_place, new_parts.as_deref())))
        })
}

/// A request as it was frozen, a template if it has parts, read back and checked. `None` if its bytes are not the ones that
/// were accepted.
pub(super) fn thaw(connection: &Connection, row: &Row) -> rusqlite::Result<Option<FrozenRequest>> {
    let Ok((profile, profile_json)) = profiles::read_text(connection, row.profile) else {
        return Ok(None);
    };
    let read = connection
        .prepare_cached(
            "SELECT s.account, s.priority, s.unmetered, s.probe, c.origin, r.wire_key, r.method, r.url,
                r.content_type, r.headers, r.expires_wall, r.checksum, r.body_digest,
                r.body_file, r.body_length, r.body, r.parts
             FROM submission s JOIN request r ON r.seq = s.seq JOIN channel c ON c.id = s.channel
             WHERE s.seq = ?1",
        )?
        .query_row([row.seq], |found| {
            let checksum: [u8; 32] = found.get("checksum")?;
            let probe = match found.get::<_, Option<String>>("probe")? {
                Some(json) => Some(FrozenProbe::thaw(json).ok_or_else(unreadable)?),
                None => None,
            };
            let request = FrozenRequest {
                id: row.id,
                account: found.get("account")?,
                method: found.get("method")?,
                url: found.get("url")?,
                origin: found.get("origin")?,
                effect: row.effect,
                wire_key: found.get("wire_key")?,
                profile,
                profile_json,
                content_type: found.get("content_type")?,
                headers: super::rows::read_headers(found.get_ref("headers")?.as_str()?)?,
                body: read_body(found)?,
                body_digest: found.get("body_digest")?,
                fingerprint: Fingerprint::from_bytes(row.fingerprint),
                priority: found.get("priority")?,
                expires_at: None,
                unmetered_only: found.get("unmetered")?,
                links: FrozenLinks {
                    parts: read_parts(found)?,
                    ..FrozenLinks::default()
                },
                probe,
            };
            Ok((checksum, request))
        })
        .optional();
    match read {
        Ok(Some((checksum, request))) => {
            let now = match &request.body {
                FrozenBody::Inline(bytes) => request.checksum(&digest(bytes)),
                FrozenBody::File { .. } => request.checksum(&request.body_digest),
            };
            let is_whole = checksum == now || weakness::is_out(Weakness::UncheckedRows);
            Ok(is_whole.then_some(request))
        }
        // The row is gone, or a value no longer has its type: damaged as well.
        Ok(None)
        | Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_parts(found: &rusqlite::Row<'_>) -> rusqlite::Result<Vec<ParentPart>> {
    match found.get_ref("parts")?.as_str_or_null()? {
        Some(text) => parts::read_spelled(text).ok_or_else(unreadable),
        None => Ok(Vec::new()),
    }
}

fn read_body(found: &rusqlite::Row<'_>) -> rusqlite::Result<FrozenBody> {
    Ok(match found.get::<_, Option<String>>("body_file")? {
        Some(name) => FrozenBody::File {
            name,
            length: found.get::<_, i64>("body_length")?.cast_unsigned(),
        },
        None => FrozenBody::Inline(found.get::<_, Option<Vec<u8>>>("body")?.unwrap_or_default()),
    })
}
