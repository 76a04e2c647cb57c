//! The frozen request: a submission that has been read strictly, once, and never changes again.

use std::fmt;
use std::time::SystemTime;

use url::Url;

use super::body::{self, FileContent, FrozenBody};
use super::fingerprint::{Fingerprint, Identity, PartHash};
use super::headers::read_headers;
use super::id::SubmissionId;
use super::key_place;
use super::links::{FrozenLinks, read_lane, read_parents, read_replaces};
use super::parts;
use super::submission::{Effect, Header, Submission};
use crate::clock::WallMs;
use crate::error::OutboxError;
use crate::policy::limits::{Limits, MAX_NAME_BYTES, MAX_PRIORITY, MAX_URL_BYTES};
use crate::policy::probe::FrozenProbe;
use crate::policy::profile::{KeyPlace, ServerProfile};

/// A request as it goes to the wire at every attempt, credentials and connection headers apart.
#[derive(Clone, PartialEq)]
pub struct FrozenRequest {
    /// The submission's ID.
    pub id: SubmissionId,
    /// Whose.
    pub account: Option<String>,
    /// The method.
    pub method: String,
    /// The canonical absolute URL.
    pub url: String,
    /// Scheme, host and port of the URL.
    pub origin: String,
    /// What a repeat does.
    pub effect: Effect,
    /// The key as the server reads it, spelled.
    pub wire_key: String,
    /// How the server treats keys.
    pub profile: ServerProfile,
    /// The same in the form that was stored, which the checksum covers.
    pub profile_json: String,
    /// The media type of the body.
    pub content_type: Option<String>,
    /// Other stored headers.
    pub headers: Vec<Header>,
    /// The body.
    pub body: FrozenBody,
    /// SHA-256 of the body.
    pub body_digest: [u8; 32],
    /// Identity in 33 bytes.
    pub fingerprint: Fingerprint,
    /// Order among what is due.
    pub priority: i32,
    /// After this it isn't worth sending.
    pub expires_at: Option<WallMs>,
    /// Wait for a network that costs nothing by the byte.
    pub unmetered_only: bool,
    /// How it hangs together with others.
    pub links: FrozenLinks,
    /// How to ask whether it took effect.
    pub probe: Option<FrozenProbe>,
}

impl FrozenRequest {
    /// Reads a submission strictly: a frozen request, or a typed refusal that names the field. A
    /// body from a file comes with what was read of that.
    pub fn freeze(
        submission: Submission,
        file: Option<FileContent>,
        base: Option<&Url>,
        profile: &ServerProfile,
        limits: &Limits,
    ) -> Result<Self, OutboxError> {
        if let Some(account) = &submission.account {
            check_account(account)?;
        }
        let method = read_method(&submission.method)?;
        let effect = effect_of(submission.effect, &method, profile);
        let wire_key = profile.spell(&submission.id.to_string());
        let place = &profile.key_place;
        let in_url = |problem| invalid("url", problem);
        let with_key =
            key_place::into_path(&submission.url, place, effect, &wire_key).map_err(in_url)?;
        let mut url = read_url(with_key.as_deref().unwrap_or(&submission.url), base)?;
        key_place::into_query(&mut url, place, effect, &wire_key).map_err(in_url)?;
        if effect == Effect::Keyed && !key_place::is_in_url(url.as_str(), place, &wire_key) {
            return Err(in_url("dots in the path take the key away again"));
        }
        let read = body::read(submission.body, file, limits)?;
        let read = key_place::into_body(read, place, effect, &wire_key)
            .map_err(|problem| invalid("body", problem))?;
        body::check_size(read.body.length(), limits)?;
        let headers = read_headers(submission.headers, profile)?;
        if effect == Effect::Keyed && profile.key_place == KeyPlace::Nowhere {
            return Err(invalid(
                "effect",
                "the server profile has no place for a key; use overwrite or unkeyed",
            ));
        }
        let expires_at = submission.expires_at.map(read_time).transpose()?;
        check_priority(submission.priority)?;
        let links = FrozenLinks {
            lane: read_lane(submission.lane, submission.lane_policy)?,
            replaces: read_replaces(submission.replaces, &method, effect, profile)?,
            after: read_parents(submission.after, &submission.parts)?,
            parts: parts::read(
                submission.parts,
                &parts::Draft {
                    url: &url,
                    headers: &headers,
                    read: &read,
                    profile,
                },
                limits,
            )?,
        };
        if links.lane.is_some() && links.replaces.is_some() {
            return Err(invalid(
                "replaces",
                "a lane keeps every submission, a latest-wins key only the last: use one of them",
            ));
        }
        let probe = match submission.probe {
            Some(probe) => Some(FrozenProbe::freeze(
                probe,
                submission.id,
                &url.origin(),
                base,
            )?),
            None => None,
        };
        let fingerprint = Fingerprint::of(&Identity {
            account: submission.account.as_deref(),
            method: &method,
            url: url.as_str(),
            content_type: read.content_type.as_deref(),
            key_place: &key_place_text(profile),
            body_digest: &read.digest,
            parts: parts::spell(&links.parts).as_deref(),
        });
        Ok(Self {
            id: submission.id,
            account: submission.account,
            origin: url.origin().ascii_serialization(),
            url: url.into(),
            wire_key,
            profile: profile.clone(),
            profile_json: profile.to_json(),
            method,
            effect,
            content_type: read.content_type,
            headers,
            body: read.body,
            body_digest: read.digest,
            fingerprint,
            priority: submission.priority,
            expires_at,
            unmetered_only: submission.unmetered_only,
            links,
            probe,
        })
    }

    /// The parts that make the request's identity. Key place and parts in their persisted form.
    pub fn identity<'a>(&'a self, key_place: &'a str, parts: Option<&'a str>) -> Identity<'a> {
        Identity {
            account: self.account.as_deref(),
            method: &self.method,
            url: &self.url,
            content_type: self.content_type.as_deref(),
            key_place,
            body_digest: &self.body_digest,
            parts,
        }
    }

    /// The row checksum over everything that is sent or asked, with the digest that the body has now. That
    /// of a body in a file is compared later, right before it is sent.
    /// SQLite's own checks miss most flipped bits.
    pub fn checksum(&self, body_digest: &[u8; 32]) -> [u8; 32] {
        let mut hash = PartHash::new();
        hash.part(self.id.as_bytes());
        hash.part(self.wire_key.as_bytes());
        hash.optional(self.account.as_deref().map(str::as_bytes));
        hash.part(self.method.as_bytes());
        hash.part(self.url.as_bytes());
        hash.optional(self.content_type.as_deref().map(str::as_bytes));
        for header in &self.headers {
            hash.part(header.name.as_bytes());
            hash.part(header.value.as_bytes());
        }
        hash.part(self.profile_json.as_bytes());
        hash.part(effect_text(self.effect).as_bytes());
        hash.part(body_digest);
        hash.part(self.fingerprint.as_bytes());
        if let FrozenBody::File { name, length } = &self.body {
            hash.part(name.as_bytes());
            hash.part(&length.to_be_bytes());
        }
        if let Some(probe) = &self.probe {
            hash.part(probe.json.as_bytes());
        }
        if let Some(parts) = parts::spell(&self.links.parts) {
            hash.part(parts.as_bytes());
        }
        hash.finish()
    }
}

impl fmt::Debug for FrozenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrozenRequest")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// An effect in its persisted form.
pub(crate) fn effect_text(effect: Effect) -> &'static str {
    match effect {
        Effect::Safe => "none",
        Effect::Overwrite => "overwrite",
        Effect::Keyed => "keyed",
        Effect::Unkeyed => "unkeyed",
    }
}

/// Place and spelling of the key, as they enter the fingerprint.
pub(crate) fn key_place_text(profile: &ServerProfile) -> String {
    let spelling = match profile.key_spelling {
        crate::policy::profile::KeySpelling::Raw => "raw",
        crate::policy::profile::KeySpelling::SfString => "sf-string",
    };
    match &profile.key_place {
        KeyPlace::Header { name } => format!("header:{}:{spelling}", name.to_ascii_lowercase()),
        KeyPlace::JsonPointer { pointer } => format!("json:{pointer}:{spelling}"),
        KeyPlace::Query { name } => format!("query:{name}:{spelling}"),
        KeyPlace::Path { placeholder } => format!("path:{placeholder}:{spelling}"),
        KeyPlace::Nowhere => "nowhere".to_owned(),
    }
}

fn check_priority(priority: i32) -> Result<(), OutboxError> {
    if priority.unsigned_abs() > MAX_PRIORITY.unsigned_abs() {
        return Err(invalid("priority", "use -100 to 100"));
    }
    Ok(())
}

/// A name that the app gives something.
pub(crate) fn check_name(field: &str, name: &str) -> Result<(), OutboxError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(invalid(field, "use a name of 1 to 1,024 bytes"));
    }
    Ok(())
}

/// A name that the app gives an account.
pub(crate) fn check_account(account: &str) -> Result<(), OutboxError> {
    check_name("account", account)
}

/// What a repeat does: as the app says, or by the method and the server profile.
pub(crate) fn effect_of(told: Option<Effect>, method: &str, profile: &ServerProfile) -> Effect {
    told.unwrap_or(match method {
        "GET" | "HEAD" | "OPTIONS" => Effect::Safe,
        _ => profile.effect,
    })
}

pub(crate) fn invalid(field: &str, problem: &str) -> OutboxError {
    OutboxError::Invalid {
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

/// RFC 9110, section 9.1: a token, case-sensitive. Lower case is refused, since servers treat
/// `post` as another method; `CONNECT` and `TRACE` cannot be submissions.
fn read_method(method: &str) -> Result<String, OutboxError> {
    let token = !method.is_empty()
        && method.len() <= 32
        && method
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    match method {
        "CONNECT" | "TRACE" => Err(invalid("method", "CONNECT and TRACE cannot be submitted")),
        _ if token => Ok(method.to_owned()),
        _ => Err(invalid("method", "use a method in capitals, such as POST")),
    }
}

pub(crate) fn read_url(text: &str, base: Option<&Url>) -> Result<Url, OutboxError> {
    if text.len() > MAX_URL_BYTES {
        return Err(invalid(
            "url",
            "the URL is longer than servers accept (8 KiB)",
        ));
    }
    if text
        .chars()
        .any(|c| c.is_control() || c == ' ' || c == '\\')
    {
        return Err(invalid(
            "url",
            "percent-encode spaces, backslashes and control characters",
        ));
    }
    let mut url = if text.starts_with('/') && !text.starts_with("//") {
        let base = base.ok_or_else(|| invalid("url", "a path needs the outbox's base_url"))?;
        join(base, text)?
    } else {
        parse_absolute(text).ok_or_else(|| {
            invalid(
                "url",
                "use an absolute http or https URL, or a path that starts with one '/'",
            )
        })?
    };
    check_origin(&url).map_err(|problem| invalid("url", problem))?;
    url.set_fragment(None);
    Ok(url)
}

/// A browser forgives `https:orders` and sends it to a host `orders`. An app means something else.
fn parse_absolute(text: &str) -> Option<Url> {
    let (_, after_scheme) = text.split_once(':')?;
    let host = after_scheme.strip_prefix("//")?;
    Url::parse(text).ok().filter(|_| !host.starts_with('/'))
}

/// The base's own path stays in front, as app teams write `https://api.example.com/v2` and `/orders`.
fn join(base: &Url, path: &str) -> Result<Url, OutboxError> {
    let text = format!("{}{path}", base.as_str().trim_end_matches('/'));
    let url = Url::parse(&text).map_err(|_| invalid("url", "the path is malformed"))?;
    if url.origin() == base.origin() {
        Ok(url)
    } else {
        Err(invalid(
            "url",
            "the path leads to another host than base_url",
        ))
    }
}

/// What every URL of an outbox must be.
pub(crate) fn check_origin(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("only http and https URLs can be sent to");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("the URL has no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("credentials don't belong in a URL: it is stored");
    }
    Ok(())
}

/// A time that milliseconds can hold, in the years people mean.
fn read_time(time: SystemTime) -> Result<WallMs, OutboxError> {
    const YEAR_1970: WallMs = WallMs(0);
    const YEAR_9999: WallMs = WallMs(253_402_300_799_000);
    let wall = WallMs::from_system_time(time);
    if wall < YEAR_1970 || wall > YEAR_9999 {
        return Err(invalid("expires_at", "use a time between 1970 and 9999"));
    }
    Ok(wall)
}
