//! Asking only whether something has changed: RFC 9110, sections 8.8 and 13.1.

use crate::model::fingerprint::PartHash;
use crate::model::parts;
use crate::model::request::FrozenRequest;
use crate::model::submission::Header;

use super::limits::MAX_HEADERS_BYTES;

/// Headers that ask whether something has changed.
const VALIDATORS: [&str; 2] = ["if-none-match", "if-modified-since"];

/// What makes a request one of the app's own that asks for a change or for a part.
const CONDITIONS: [&str; 4] = ["if-none-match", "if-modified-since", "range", "if-range"];

/// What a request asks for, in 32 bytes. A validator is only good for the same again.
pub(crate) fn asked(request: &FrozenRequest) -> [u8; 32] {
    let mut hash = PartHash::new();
    hash.part(b"submit-once fetched 1");
    hash.part(request.method.as_bytes());
    hash.part(request.url.as_bytes());
    hash.optional(request.content_type.as_deref().map(str::as_bytes));
    hash.part(&request.body_digest);
    hash.optional(
        parts::spell(&request.links.parts)
            .as_deref()
            .map(str::as_bytes),
    );
    for header in &request.headers {
        if !VALIDATORS.contains(&header.name.as_str()) {
            hash.part(header.name.as_bytes());
            hash.part(header.value.as_bytes());
        }
    }
    hash.finish()
}

/// True if the core may ask whether something has changed. Not where the app does so itself, or asks for
/// a part; nor where the request isn't whole before a parent has succeeded.
pub(crate) fn may_ask(request: &FrozenRequest) -> bool {
    let has_condition = |header: &Header| CONDITIONS.contains(&header.name.as_str());
    request.links.parts.is_empty() && !request.headers.iter().any(has_condition)
}

/// The request with a validator among its stored headers, where there is room for it.
pub(crate) fn asking(request: &FrozenRequest, validator: Header) -> Option<FrozenRequest> {
    let bytes = |header: &Header| header.name.len() + header.value.len();
    let total: usize = request.headers.iter().map(bytes).sum();
    (total + bytes(&validator) <= MAX_HEADERS_BYTES).then(|| {
        let mut asking = request.clone();
        asking.headers.push(validator);
        asking
    })
}

/// True if a request asks with this validator and no other.
pub(crate) fn asks_with(request: &FrozenRequest, validator: &Header) -> bool {
    let mut asked = request
        .headers
        .iter()
        .filter(|header| VALIDATORS.contains(&header.name.as_str()));
    asked.next() == Some(validator) && asked.next().is_none()
}

/// The header that asks whether an answer with these headers has changed: by its entity-tag, or else by
/// its date.
pub(crate) fn validator(answer: &[Header]) -> Option<Header> {
    let ask = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    if let Some(tag) = only(answer, "etag").filter(|tag| is_entity_tag(tag)) {
        return Some(ask("if-none-match", tag));
    }
    only(answer, "last-modified")
        .filter(|date| httpdate::parse_http_date(date).is_ok())
        .map(|date| ask("if-modified-since", date))
}

/// The value of a header that is there once: of two, nobody knows which one counts.
fn only<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    let mut found = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some(header), None) => Some(&header.value),
        _ => None,
    }
}

/// RFC 9110, section 8.8.3, without the obsolete bytes: they aren't sent as they came.
fn is_entity_tag(text: &str) -> bool {
    let opaque = text.strip_prefix("W/").unwrap_or(text);
    opaque
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .is_some_and(|tag| {
            tag.bytes()
                .all(|byte| byte == b'!' || (b'#'..=b'~').contains(&byte))
        })
}
