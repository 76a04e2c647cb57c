//! The request of a batch: frozen as an envelope without records, which are put into it when it is
//! sealed.

use std::time::Duration;

use url::Url;

use super::batch::{BatchConfig, BatchFormat};
use super::body::FrozenBody;
use super::fingerprint::{Fingerprint, digest};
use super::id::SubmissionId;
use super::json_text::quoted;
use super::request::{FrozenRequest, check_name, effect_of, invalid, key_place_text};
use super::submission::{Body, Effect, Submission};
use crate::error::OutboxError;
use crate::policy::limits::{BATCH_AGE, LONGEST, Limits, MAX_BATCH_RECORDS};
use crate::policy::profile::{KeyPlace, ServerProfile};

/// Stands where a submission has its parts in the fingerprint: an envelope can't be taken for a request
/// that is whole, whatever is lost beside it.
const MARK: &str = "batch";

const NDJSON: &str = "application/x-ndjson";

impl BatchConfig {
    /// The same with an absolute URL, once it is sure that batches can be made by it.
    pub(crate) fn checked(
        mut self,
        sample: SubmissionId,
        base: Option<&Url>,
        profile: &ServerProfile,
        limits: &Limits,
    ) -> Result<Self, OutboxError> {
        check_name("key", &self.key)?;
        check_name("id_member", &self.id_member)?;
        if let Some(BatchFormat::JsonObject { member }) = &self.format {
            check_name("format.member", member)?;
        }
        if !(1..=MAX_BATCH_RECORDS).contains(&self.max_records) {
            return Err(invalid("max_records", "use 1 to 10,000"));
        }
        if self.max_bytes < 2 || u64::from(self.max_bytes) > limits.max_body_bytes {
            return Err(invalid("max_bytes", "use 2 to max_body_bytes"));
        }
        if self.max_age.is_some_and(|age| age > LONGEST) {
            return Err(invalid("max_age", "use less than a hundred years"));
        }
        let effect = effect_of(self.effect, &self.method, profile);
        if effect == Effect::Keyed && matches!(profile.key_place, KeyPlace::JsonPointer { .. }) {
            return Err(invalid(
                "effect",
                "the server profile has the key in the JSON body, where a batch has records; use \
                 overwrite or unkeyed, or another place for the key",
            ));
        }
        self.envelope(sample, base, profile, limits)?;
        if let Some(base) = base.filter(|_| self.url.starts_with('/')) {
            // As text: a place for the key is still to be found in it.
            self.url = format!("{}{}", base.as_str().trim_end_matches('/'), self.url);
        }
        Ok(self)
    }

    /// The request of a new batch, without records.
    pub(crate) fn envelope(
        &self,
        id: SubmissionId,
        base: Option<&Url>,
        profile: &ServerProfile,
        limits: &Limits,
    ) -> Result<FrozenRequest, OutboxError> {
        let submission = Submission {
            account: self.account.clone(),
            effect: self.effect,
            headers: self.headers.clone(),
            body: match self.format() {
                BatchFormat::JsonArray | BatchFormat::JsonObject { .. } => {
                    Body::Json { text: self.empty() }
                }
                BatchFormat::Ndjson => Body::Bytes {
                    content_type: NDJSON.to_owned(),
                    bytes: Vec::new(),
                },
            },
            priority: self.priority,
            unmetered_only: self.unmetered_only,
            ..Submission::new(id, &self.method, &self.url)
        };
        let mut request = FrozenRequest::freeze(submission, None, base, profile, limits)?;
        request.fingerprint = marked(&request);
        Ok(request)
    }

    /// Bytes of the body with so many records, of so many bytes in all.
    pub(crate) fn body_bytes(&self, records: u64, bytes: u64) -> u64 {
        let between = match self.format() {
            BatchFormat::JsonArray | BatchFormat::JsonObject { .. } => records.saturating_sub(1),
            BatchFormat::Ndjson => records,
        };
        (self.empty().len() as u64)
            .saturating_add(bytes)
            .saturating_add(between)
    }

    /// Each record has a line of its own.
    pub(crate) fn by_lines(&self) -> bool {
        self.format() == BatchFormat::Ndjson
    }

    pub(crate) fn age(&self) -> Duration {
        self.max_age.unwrap_or(BATCH_AGE)
    }

    fn format(&self) -> BatchFormat {
        self.format.clone().unwrap_or_default()
    }

    fn empty(&self) -> String {
        match self.format() {
            BatchFormat::JsonArray => "[]".to_owned(),
            BatchFormat::JsonObject { member } => format!("{{{}:[]}}", quoted(&member)),
            BatchFormat::Ndjson => String::new(),
        }
    }
}

fn marked(request: &FrozenRequest) -> Fingerprint {
    Fingerprint::of(&request.identity(&key_place_text(&request.profile), Some(MARK)))
}

/// True for the request of a batch as it was frozen.
pub(crate) fn is_envelope(request: &FrozenRequest) -> bool {
    request.links.parts.is_empty() && marked(request) == request.fingerprint
}

/// The request with records in it.
pub(crate) fn filled<'a>(
    mut envelope: FrozenRequest,
    records: impl IntoIterator<Item = &'a str>,
) -> FrozenRequest {
    let empty = envelope.body.as_bytes().unwrap_or_default();
    let end = empty.iter().rposition(|byte| *byte == b']');
    let (before, after) = empty.split_at(end.unwrap_or_default());
    let mut body = before.to_vec();
    for (n, record) in records.into_iter().enumerate() {
        match end {
            Some(_) if n > 0 => body.push(b','),
            Some(_) | None => {}
        }
        body.extend_from_slice(record.as_bytes());
        if end.is_none() {
            body.push(b'\n');
        }
    }
    body.extend_from_slice(after);
    envelope.body_digest = digest(&body);
    envelope.body = FrozenBody::Inline(body);
    envelope
}
