//! Parts of a request that are taken from parents' results. At submit each part's place is found in
//! the template, so that nothing is accepted that could never be filled; once the parents have
//! succeeded, the values are put in, and nothing else of the template moves.
//!
//! A value is kept as JSON, as it is written in the result: no number is spelled anew.

use url::Url;

use super::body::Read;
use super::fingerprint::digest;
use super::headers::{REFUSED_HEADERS, check_value};
use super::json_text::{self, Added, Astray};
use super::key_place::{Problem, add_parameter, percent_encoded};
use super::links::{KEPT_HEADERS, ParentPart, PartSource, PartTarget};
use super::request::{FrozenRequest, invalid};
use super::submission::{Header, is_token};
use crate::error::OutboxError;
use crate::model::body::FrozenBody;
use crate::policy::limits::{Limits, MAX_HEADERS_BYTES, MAX_NAME_BYTES, MAX_URL_BYTES};
use crate::policy::profile::{KeyPlace, ServerProfile};

/// The request as it is so far: where the parts must find their places.
pub(super) struct Draft<'a> {
    pub(super) url: &'a Url,
    pub(super) headers: &'a [Header],
    pub(super) read: &'a Read,
    pub(super) profile: &'a ServerProfile,
}

/// The result of a parent, as far as it is there.
#[derive(Default)]
pub(crate) struct ParentResult {
    /// Of an answer. What a decision supplied has none.
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<Header>,
    /// `None`: it never came whole, is damaged, or was dropped.
    pub(crate) body: Option<Vec<u8>>,
}

/// Parts in their persisted form. `None` without any: then they aren't part of an identity either.
pub(crate) fn spell(parts: &[ParentPart]) -> Option<String> {
    if parts.is_empty() {
        return None;
    }
    serde_json::to_string(parts).ok()
}

/// The persisted form, read.
pub(crate) fn read_spelled(text: &str) -> Option<Vec<ParentPart>> {
    serde_json::from_str(text).ok()
}

/// Reads parts strictly: each source and each target is well-formed, and its place is there.
pub(super) fn read(
    parts: Vec<ParentPart>,
    draft: &Draft<'_>,
    limits: &Limits,
) -> Result<Vec<ParentPart>, OutboxError> {
    let mut read: Vec<ParentPart> = Vec::with_capacity(parts.len());
    for (n, part) in parts.into_iter().enumerate() {
        let part = ParentPart {
            parent: part.parent,
            from: read_source(part.from)
                .map_err(|problem| invalid(&format!("parts[{n}].from"), problem))?,
            into: read_target(part.into),
        };
        let in_target = |problem| invalid(&format!("parts[{n}].into"), problem);
        if read.iter().any(|other| other.into == part.into) {
            return Err(in_target("another part goes there"));
        }
        check_target(&part.into, draft, limits).map_err(in_target)?;
        read.push(part);
    }
    Ok(read)
}

fn read_source(from: PartSource) -> Result<PartSource, Problem> {
    match from {
        PartSource::JsonPointer { pointer } => {
            if (pointer.is_empty() || json_text::read_pointer(&pointer).is_some())
                && pointer.len() <= MAX_NAME_BYTES
            {
                Ok(PartSource::JsonPointer { pointer })
            } else {
                Err("use a JSON pointer (RFC 6901), such as /id")
            }
        }
        PartSource::Header { name } => {
            let name = name.to_ascii_lowercase();
            if KEPT_HEADERS.contains(&name.as_str()) {
                Ok(PartSource::Header { name })
            } else {
                Err("use a header that is kept with a result, such as Location")
            }
        }
    }
}

/// Header names are compared without their case.
pub(crate) fn read_target(into: PartTarget) -> PartTarget {
    match into {
        PartTarget::Header { name } => PartTarget::Header {
            name: name.to_ascii_lowercase(),
        },
        PartTarget::Path { .. } | PartTarget::Query { .. } | PartTarget::Json { .. } => into,
    }
}

fn check_target(into: &PartTarget, draft: &Draft<'_>, limits: &Limits) -> Result<(), Problem> {
    match into {
        PartTarget::Path { placeholder } => {
            let encoded = encoded(placeholder)
                .ok_or("use a placeholder in braces, of letters, digits, '-', '_' and '.'")?;
            match draft.url.path().matches(&encoded).count() {
                0 => Err("write the placeholder into the path, where no dots take it away"),
                1 => Ok(()),
                _ => Err("the placeholder is in the path more than once"),
            }
        }
        PartTarget::Query { name } => {
            if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control)
            {
                return Err("use the name of a query parameter, such as order_id");
            }
            match draft.url.query_pairs().any(|(other, _)| other == **name) {
                true => Err("the parameter is in the query already: leave it out there"),
                false => Ok(()),
            }
        }
        PartTarget::Header { name } => check_header(name, draft),
        PartTarget::Json { pointer } => {
            check_body(draft.read, limits)?;
            let text = draft.read.body.as_bytes().and_then(text_of);
            add_member(text.ok_or(NO_JSON)?, pointer, "null").map(|_| ())
        }
    }
}

fn check_header(name: &str, draft: &Draft<'_>) -> Result<(), Problem> {
    let is_key = matches!(&draft.profile.key_place,
        KeyPlace::Header { name: key } if key.eq_ignore_ascii_case(name));
    if !is_token(name) {
        return Err("a header's name is letters, digits and hyphens");
    }
    if is_key {
        return Err("the core writes the key itself");
    }
    if let Some((_, reason)) = REFUSED_HEADERS.iter().find(|(refused, _)| *refused == name) {
        return Err(reason);
    }
    if draft.headers.iter().any(|header| header.name == name) {
        return Err("the submission stores the header itself: leave it out there");
    }
    Ok(())
}

const NO_JSON: Problem = "a JSON part needs a JSON body";

fn check_body(read: &Read, limits: &Limits) -> Result<(), Problem> {
    if read.from_file {
        return Err("a body from a file can't take a JSON part: it is sent as it is");
    }
    if !read
        .content_type
        .as_deref()
        .is_some_and(json_text::is_json_type)
    {
        return Err(NO_JSON);
    }
    if read.body.length() > u64::from(limits.inline_body_bytes) {
        return Err("the body is too large to take a JSON part: at most inline_body_bytes");
    }
    Ok(())
}

/// A placeholder as it stands in a URL's path, whose parser encodes braces.
fn encoded(placeholder: &str) -> Option<String> {
    let name = placeholder.strip_prefix('{')?.strip_suffix('}')?;
    let sane = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    sane.then(|| format!("%7B{name}%7D"))
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Finds a part in a parent's result, as JSON. A null is no value.
pub(crate) fn find(from: &PartSource, result: &ParentResult) -> Result<String, Problem> {
    match from {
        PartSource::JsonPointer { pointer } => {
            let body = result
                .body
                .as_deref()
                .ok_or("the parent's result isn't there")?;
            if result
                .content_type
                .as_deref()
                .is_some_and(|content_type| !json_text::is_json_type(content_type))
            {
                return Err("the parent's result isn't JSON");
            }
            let text = text_of(body).ok_or("the parent's result isn't JSON")?;
            match json_text::find(text, pointer) {
                Ok("null") | Err(Astray::Nothing | Astray::Pointer) => {
                    Err("the parent's result has nothing there")
                }
                Ok(value) => Ok(value.to_owned()),
                Err(Astray::NotJson) => Err("the parent's result isn't JSON"),
                Err(Astray::Repeated) => Err("the parent's result has it more than once"),
            }
        }
        PartSource::Header { name } => {
            let mut found = result.headers.iter().filter(|header| header.name == *name);
            match (found.next(), found.next()) {
                (Some(header), None) => Ok(json_text::quoted(&header.value)),
                (Some(_), Some(_)) => Err("the parent's result has the header more than once"),
                (None, _) => Err("the parent's result doesn't have the header"),
            }
        }
    }
}

/// The request with the values in it that are there, by the number of the part; an error if it could
/// not be sent so. The others' places stay as they are.
pub(crate) fn fill(
    template: &FrozenRequest,
    values: &[Option<String>],
    max_body_bytes: u64,
) -> Result<FrozenRequest, Problem> {
    let mut url = Url::parse(&template.url).map_err(|_| "the stored URL is malformed")?;
    let mut headers = template.headers.clone();
    let mut body: Option<String> = None;
    let mut segments: Vec<(String, String)> = Vec::new();
    for (part, value) in template.links.parts.iter().zip(values) {
        let Some(value) = value else { continue };
        match &part.into {
            PartTarget::Path { placeholder } => {
                let encoded = encoded(placeholder).ok_or("the placeholder is malformed")?;
                segments.push((encoded, percent_encoded(&as_text(value)?)));
            }
            PartTarget::Query { name } => add_parameter(&mut url, name, &as_text(value)?),
            PartTarget::Header { name } => {
                let value = as_text(value)?;
                if value.trim() != value || check_value("value", &value).is_err() {
                    return Err("a header takes visible ASCII only");
                }
                let name = name.clone();
                headers.push(Header { name, value });
            }
            PartTarget::Json { pointer } => {
                let inline = || template.body.as_bytes().and_then(text_of);
                let text = body.as_deref().or_else(inline).ok_or(NO_JSON)?;
                body = Some(add_member(text, pointer, value)?);
            }
        }
    }
    fill_path(&mut url, &segments)?;
    if url.as_str().len() > MAX_URL_BYTES {
        return Err("with it, the URL is longer than servers accept (8 KiB)");
    }
    let header_bytes: usize = headers
        .iter()
        .map(|it| it.name.len() + it.value.len())
        .sum();
    if header_bytes > MAX_HEADERS_BYTES {
        return Err("with it, the headers are more than servers accept (16 KiB in all)");
    }
    let mut filled = FrozenRequest {
        url: url.into(),
        headers,
        ..template.clone()
    };
    if let Some(body) = body {
        if body.len() as u64 > max_body_bytes {
            return Err("with it, the body is larger than max_body_bytes");
        }
        filled.body_digest = digest(body.as_bytes());
        filled.body = FrozenBody::Inline(body.into_bytes());
    }
    Ok(filled)
}

/// Puts encoded values into the path, all at once: a value may look like another's placeholder. The
/// parser has the last word: a path that it would read otherwise is no path to send to.
fn fill_path(url: &mut Url, segments: &[(String, String)]) -> Result<(), Problem> {
    let mut places = Vec::with_capacity(segments.len());
    for (placeholder, value) in segments {
        let at = url.path().find(placeholder.as_str());
        places.push((at.ok_or("the placeholder is gone")?, placeholder, value));
    }
    places.sort_unstable();
    let mut path = String::new();
    let mut from = 0;
    for (at, placeholder, value) in places {
        path.push_str(url.path().get(from..at).unwrap_or_default());
        path.push_str(value);
        from = at + placeholder.len();
    }
    path.push_str(url.path().get(from..).unwrap_or_default());
    url.set_path(&path);
    if url.path() == path {
        Ok(())
    } else {
        Err("as dots, it would change the path")
    }
}

/// A text or a number, as it goes into a URL or a header.
fn as_text(json: &str) -> Result<String, Problem> {
    match json.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(json) {
            Ok(text) if text.is_empty() => Err("an empty text can't go there"),
            Ok(text) => Ok(text),
            Err(_) => Err("it isn't a text that can be read"),
        },
        Some(b'-' | b'0'..=b'9') => Ok(json.to_owned()),
        _ => Err("only a text or a number can go there"),
    }
}

fn add_member(text: &str, pointer: &str, value: &str) -> Result<String, Problem> {
    match json_text::add(text, pointer, value) {
        Ok(Added::Text(text)) => Ok(text),
        Ok(Added::There(_)) => Err("the body has the member already: leave it out there"),
        Err(Astray::Pointer) => Err("use a JSON pointer (RFC 6901), such as /order_id"),
        Err(Astray::NotJson) => Err(NO_JSON),
        Err(Astray::Nothing) => Err("the member needs an object that is in the body"),
        Err(Astray::Repeated) => Err("a member on the way is in the body more than once"),
    }
}

/// Where a part goes, in words.
pub(crate) fn name_of(into: &PartTarget) -> String {
    match into {
        PartTarget::Path { placeholder } => format!("{placeholder} in the path"),
        PartTarget::Query { name } => format!("{name} in the query"),
        PartTarget::Header { name } => format!("the header {name}"),
        PartTarget::Json { pointer } => format!("{pointer} in the body"),
    }
}
