//! What a submission has of its parents' results: values as they come, and the whole request once all
//! of them are there.

use rusqlite::{OptionalExtension, named_params};

use super::order::parents::waits_for;
use super::rows::{read_headers, spell_headers};
use super::submissions::{Row, note_problem};
use super::writer::Tx;
use crate::error::OutboxError;
use crate::model::body::FrozenBody;
use crate::model::fingerprint::digest;
use crate::model::id::SubmissionId;
use crate::model::json_text;
use crate::model::links::PartValue;
use crate::model::parts::{ParentResult, fill, find, name_of, read_target};
use crate::model::request::{FrozenRequest, invalid};

/// What has been found so far, by the number of the part.
type Values = Vec<Option<String>>;

/// Takes what a parent's result has. What it lacks, or has in a form that can't be sent, stays missing;
/// the row says why.
pub(super) fn take(
    tx: &Tx<'_>,
    row: &Row,
    template: &FrozenRequest,
    parent: SubmissionId,
    result: &ParentResult,
) -> Result<(), OutboxError> {
    let mut values = values(tx, row.seq, template)?;
    for (n, part) in template.links.parts.iter().enumerate() {
        if part.parent != parent {
            continue;
        }
        let found = find(&part.from, result).and_then(|value| {
            with(tx, template, &values, n, value.clone()).map(|all| (all, value))
        });
        match found {
            Ok((all, value)) => {
                values = all;
                keep(tx, row.seq, n, &value)?;
            }
            Err(problem) => {
                note_problem(tx, row, &format!("{}: {problem}", name_of(&part.into)))?;
            }
        }
    }
    Ok(())
}

/// The values with one more, if the request can be sent with it.
fn with(
    tx: &Tx<'_>,
    template: &FrozenRequest,
    values: &Values,
    n: usize,
    value: String,
) -> Result<Values, &'static str> {
    let mut values = values.clone();
    if let Some(place) = values.get_mut(n) {
        *place = Some(value);
    }
    fill(template, &values, tx.max_body_bytes)?;
    Ok(values)
}

fn values(tx: &Tx<'_>, seq: i64, template: &FrozenRequest) -> rusqlite::Result<Values> {
    let mut values: Values = vec![None; template.links.parts.len()];
    let mut statement = tx
        .connection
        .prepare_cached("SELECT part, value FROM part_value WHERE child = ?1")?;
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        if let Some(place) = values.get_mut(row.get::<_, u32>(0)? as usize) {
            *place = Some(row.get(1)?);
        }
    }
    Ok(values)
}

fn keep(tx: &Tx<'_>, seq: i64, part: usize, value: &str) -> rusqlite::Result<()> {
    tx.connection
        .prepare_cached("INSERT INTO part_value (child, part, value) VALUES (?1, ?2, ?3)")?
        .execute((seq, part as i64, value))?;
    Ok(())
}

/// Freezes the request with its parts in it. False if some are missing.
pub(super) fn resolve(
    tx: &Tx<'_>,
    seq: i64,
    template: &FrozenRequest,
) -> Result<bool, OutboxError> {
    if template.links.parts.is_empty() {
        return Ok(true);
    }
    let values = values(tx, seq, template)?;
    if values.iter().any(Option::is_none) {
        return Ok(false);
    }
    let Ok(whole) = fill(template, &values, tx.max_body_bytes) else {
        return Ok(false);
    };
    let changed = whole.body != template.body;
    tx.connection
        .prepare_cached(
            "INSERT INTO resolved (seq, url, headers, body, body_digest, checksum)
             VALUES (:seq, :url, :headers, :body, :body_digest, :checksum)
             ON CONFLICT (seq) DO NOTHING",
        )?
        .execute(named_params! {
            ":seq": seq,
            ":url": whole.url,
            ":headers": spell_headers(&whole.headers),
            ":body": whole.body.as_bytes().filter(|_| changed),
            ":body_digest": whole.body_digest,
            ":checksum": whole.checksum(&whole.body_digest),
        })?;
    Ok(true)
}

/// Supplies what the results lacked, all of it, and freezes the request, unless a parent is still to
/// give a part.
pub(super) fn supply(
    tx: &Tx<'_>,
    row: &Row,
    template: &FrozenRequest,
    supplied: &[PartValue],
) -> Result<(), OutboxError> {
    let refused = |problem: String| invalid("values", &problem);
    let mut values = values(tx, row.seq, template)?;
    for PartValue { into, json } in supplied {
        let into = read_target(into.clone());
        let name = name_of(&into);
        let n = template
            .links
            .parts
            .iter()
            .position(|part| part.into == into)
            .ok_or_else(|| refused(format!("{name} is no part of the submission")))?;
        if values.get(n).is_some_and(Option::is_some) {
            return Err(refused(format!("{name} isn't missing: leave it out")));
        }
        let value = json_text::value(json)
            .ok_or_else(|| refused(format!("{name}: use JSON, a text with its quotes")))?
            .to_owned();
        values = with(tx, template, &values, n, value.clone())
            .map_err(|problem| refused(format!("{name}: {problem}")))?;
        keep(tx, row.seq, n, &value)?;
    }
    for (part, value) in template.links.parts.iter().zip(&values) {
        if value.is_none() && !waits_for(tx.connection, row.seq, part.parent)? {
            let name = name_of(&part.into);
            return Err(refused(format!("{name} is missing, too: supply it")));
        }
    }
    resolve(tx, row.seq, template).map(|_| ())
}

/// A request, as far as its parts are in it.
pub(super) enum Resolved {
    /// As it goes to the wire.
    Whole(Box<FrozenRequest>),
    /// Some are missing.
    Template,
    /// Nothing is left to send: no record of a batch can be read.
    Nothing,
    /// The bytes aren't the ones that were frozen.
    Damaged,
}

/// The request that a template was resolved to, read back and checked.
pub(super) fn resolved(
    tx: &Tx<'_>,
    row: &Row,
    template: FrozenRequest,
) -> rusqlite::Result<Resolved> {
    if template.links.parts.is_empty() {
        return Ok(Resolved::Whole(Box::new(template)));
    }
    let read = tx
        .connection
        .prepare_cached(
            "SELECT url, headers, body, body_digest, checksum FROM resolved WHERE seq = ?1",
        )?
        .query_row([row.seq], |found| {
            let checksum: [u8; 32] = found.get("checksum")?;
            let body: Option<Vec<u8>> = found.get("body")?;
            let request = FrozenRequest {
                url: found.get("url")?,
                headers: read_headers(found.get_ref("headers")?.as_str()?)?,
                body_digest: found.get("body_digest")?,
                body: body.map_or_else(|| template.body.clone(), FrozenBody::Inline),
                ..template.clone()
            };
            Ok((checksum, request))
        })
        .optional();
    match read {
        Ok(None) => Ok(Resolved::Template),
        Ok(Some((checksum, request))) => {
            let now = match &request.body {
                FrozenBody::Inline(bytes) => digest(bytes),
                FrozenBody::File { .. } => request.body_digest,
            };
            Ok(match request.checksum(&now) == checksum {
                true => Resolved::Whole(Box::new(request)),
                false => Resolved::Damaged,
            })
        }
        Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(Resolved::Damaged),
        Err(error) => Err(error),
    }
}
