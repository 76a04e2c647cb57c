//! Keys elsewhere than in a header: in the body's JSON, in the query or in the path. Done once, when
//! a submission is frozen; nothing else of the text changes by it.
//!
//! The key goes into JSON, and into the query, for a submission whose effect is `Keyed`: a `GET` has
//! no use for it. A placeholder in the path is replaced whatever the effect is, since it could not
//! be sent as it is; a keyed submission must have one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use url::Url;

use super::body::Read;
use super::submission::Effect;
use crate::policy::limits::{MAX_NAME_BYTES, MAX_URL_BYTES};
use crate::policy::profile::KeyPlace;

/// What is wrong, in words that say what to do.
pub(crate) type Problem = &'static str;

/// Refuses a place that no request could have.
pub(crate) fn check(place: &KeyPlace) -> Result<(), Problem> {
    let sane = |text: &str| {
        !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control)
    };
    match place {
        KeyPlace::Header { .. } | KeyPlace::Nowhere => Ok(()),
        KeyPlace::JsonPointer { pointer } if sane(pointer) && read_pointer(pointer).is_some() => {
            Ok(())
        }
        KeyPlace::JsonPointer { .. } => {
            Err("use a JSON pointer (RFC 6901), such as /data/request_id")
        }
        KeyPlace::Query { name } if sane(name) => Ok(()),
        KeyPlace::Query { .. } => Err("use the name of a query parameter, such as request_id"),
        KeyPlace::Path { placeholder }
            if sane(placeholder) && !placeholder.contains(['/', '?', '#', '\\', ' ']) =>
        {
            Ok(())
        }
        KeyPlace::Path { .. } => {
            Err("use a placeholder within one part of the path, such as {key}")
        }
    }
}

/// True if the key is where the server looks for it, as far as that is the URL. A dot segment after the
/// placeholder, or a redirect, can take it away.
pub(crate) fn is_in_url(url: &str, place: &KeyPlace, key: &str) -> bool {
    match place {
        KeyPlace::Query { name } => Url::parse(url).is_ok_and(|url| {
            url.query_pairs()
                .any(|(found, value)| found == name.as_str() && value == key)
        }),
        KeyPlace::Path { .. } => {
            Url::parse(url).is_ok_and(|url| url.path().contains(&percent_encoded(key)))
        }
        KeyPlace::Header { .. } | KeyPlace::JsonPointer { .. } | KeyPlace::Nowhere => true,
    }
}

/// The URL as it was given, with the key in the place of the placeholder.
pub(crate) fn into_path(
    url: &str,
    place: &KeyPlace,
    effect: Effect,
    key: &str,
) -> Result<Option<String>, Problem> {
    let KeyPlace::Path { placeholder } = place else {
        return Ok(None);
    };
    let mut places = (0..url.len()).filter(|at| {
        url.get(*at..)
            .is_some_and(|rest| rest.starts_with(placeholder.as_str()))
    });
    match (places.next(), places.next()) {
        (None, _) if effect == Effect::Keyed => {
            Err("the server profile puts the key into the path: write its placeholder there")
        }
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err("the key's placeholder is there more than once"),
        (Some(at), None) => {
            let before = url.get(..at).unwrap_or_default();
            if !is_within_path(before) {
                return Err("the key's placeholder belongs into the path");
            }
            let after = url.get(at + placeholder.len()..).unwrap_or_default();
            Ok(Some(format!("{before}{}{after}", percent_encoded(key))))
        }
    }
}

/// True if the path has begun, and neither the query nor the fragment.
fn is_within_path(before: &str) -> bool {
    let path = match before.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map(|(_, path)| path),
        None => before.strip_prefix('/'),
    };
    path.is_some_and(|path| !path.contains(['?', '#']))
}

/// Adds the key as a parameter behind those that are there.
pub(crate) fn into_query(
    url: &mut Url,
    place: &KeyPlace,
    effect: Effect,
    key: &str,
) -> Result<(), Problem> {
    let KeyPlace::Query { name } = place else {
        return Ok(());
    };
    if effect != Effect::Keyed {
        return Ok(());
    }
    if url.query_pairs().any(|(other, _)| other == name.as_str()) {
        return Err("the core writes the key's parameter itself: leave it out");
    }
    let parameter = format!("{}={}", percent_encoded(name), percent_encoded(key));
    let query = match url.query() {
        None | Some("") => parameter,
        Some(query) => format!("{query}&{parameter}"),
    };
    url.set_query(Some(&query));
    if url.as_str().len() > MAX_URL_BYTES {
        return Err("with the key, the URL is longer than servers accept (8 KiB)");
    }
    Ok(())
}

/// RFC 3986, section 2.3: what needs no encoding anywhere.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The body with the key in it, where it goes there.
pub(super) fn into_body(
    read: Read,
    place: &KeyPlace,
    effect: Effect,
    key: &str,
) -> Result<Read, Problem> {
    let KeyPlace::JsonPointer { pointer } = place else {
        return Ok(read);
    };
    if effect != Effect::Keyed {
        return Ok(read);
    }
    let (false, Some(bytes)) = (read.from_file, read.body.as_bytes()) else {
        return Err("the server profile puts the key into a JSON body: a file can't take it");
    };
    if !read.content_type.as_deref().is_some_and(is_json) {
        return Err("the server profile puts the key into a JSON body: send one");
    }
    let text = std::str::from_utf8(bytes).map_err(|_| UNREADABLE)?;
    Ok(match into_json(text, pointer, key)? {
        Some(text) => Read::bytes(read.content_type, text.into_bytes(), false),
        None => read,
    })
}

/// RFC 6838, section 4.2.8: `application/json`, and what is written in JSON.
fn is_json(content_type: &str) -> bool {
    let (essence, _) = content_type.split_once(';').unwrap_or((content_type, ""));
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// Inserts the key into a JSON text: right behind the brace of the object that the pointer names,
/// and nothing else moves. `None` if the very same member is there already.
///
/// # Errors
/// In words, if there is no such object, or something else has the member's name.
pub(crate) fn into_json(text: &str, pointer: &str, key: &str) -> Result<Option<String>, Problem> {
    let mut tokens = read_pointer(pointer).ok_or("the key's JSON pointer is malformed")?;
    let name = tokens.pop().ok_or("the key's JSON pointer is malformed")?;
    let mut value: &RawValue = serde_json::from_str(text).map_err(|_| UNREADABLE)?;
    for token in &tokens {
        value = if value.get().starts_with('[') {
            element(value, token)?
        } else {
            member(value, token)?.ok_or(NO_PARENT)?
        };
    }
    if let Some(there) = member(value, &name)? {
        let same = serde_json::from_str::<String>(there.get()).is_ok_and(|there| there == key);
        return if same { Ok(None) } else { Err(OTHER_VALUE) };
    }
    // A slice of the text: how far its end is from the text's tells where it begins.
    let begins = value.get().as_ptr().addr() - text.as_ptr().addr();
    let (before, after) = text.split_at_checked(begins + 1).ok_or(NO_PARENT)?;
    let comma = if members(value)?.is_empty() { "" } else { "," };
    let inserted = format!("{}:{}{comma}", quoted(&name), quoted(key));
    Ok(Some(format!("{before}{inserted}{after}")))
}

const UNREADABLE: Problem = "the text is not JSON that a key can be put into";
const NO_PARENT: Problem =
    "the server profile puts the key into a JSON object that this body doesn't have";
const OTHER_VALUE: Problem =
    "the core writes the key's member itself: leave it out, or give it the submission's ID";

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The parts of a pointer, unescaped. `None` if it is malformed or names the whole document.
fn read_pointer(pointer: &str) -> Option<Vec<String>> {
    pointer
        .strip_prefix('/')?
        .split('/')
        .map(|token| {
            let rest = token.replace("~0", "").replace("~1", "");
            (!rest.contains('~')).then(|| token.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

/// The member of an object, which must be an object, and may have it once.
fn member<'a>(object: &'a RawValue, name: &str) -> Result<Option<&'a RawValue>, Problem> {
    let mut found = members(object)?
        .into_iter()
        .filter(|(other, _)| other == name)
        .map(|(_, value)| value);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err("a member on the way to the key is there more than once"),
    }
}

fn members(object: &RawValue) -> Result<Vec<(String, &RawValue)>, Problem> {
    if !object.get().starts_with('{') {
        return Err(NO_PARENT);
    }
    serde_json::from_str::<Members<'_>>(object.get())
        .map(|members| members.0)
        .map_err(|_| UNREADABLE)
}

/// RFC 6901, section 4: digits without a leading zero.
fn element<'a>(array: &'a RawValue, token: &str) -> Result<&'a RawValue, Problem> {
    let is_index = token == "0"
        || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    let index: usize = token.parse().ok().filter(|_| is_index).ok_or(NO_PARENT)?;
    let elements: Vec<&RawValue> = serde_json::from_str(array.get()).map_err(|_| UNREADABLE)?;
    elements.get(index).copied().ok_or(NO_PARENT)
}

/// The members of an object as they are written, in their order, repeated ones too.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Reader)
    }
}
