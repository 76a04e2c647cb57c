//! Keys elsewhere than in a header: in the body's JSON, in the query or in the path. Done once, when
//! a submission is frozen; nothing else of the text changes by it.
//!
//! The key goes into JSON, and into the query, for a submission whose effect is `Keyed`: a `GET` has
//! no use for it. A placeholder in the path is replaced whatever the effect is, since it could not
//! be sent as it is; a keyed submission must have one.

use url::Url;

use super::body::Read;
use super::json_text::{self, Added, Astray};
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
        KeyPlace::JsonPointer { pointer }
            if sane(pointer) && json_text::read_pointer(pointer).is_some() =>
        {
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
    add_parameter(url, name, key);
    if url.as_str().len() > MAX_URL_BYTES {
        return Err("with the key, the URL is longer than servers accept (8 KiB)");
    }
    Ok(())
}

/// Adds a parameter behind those that are there, which stay as they are.
pub(super) fn add_parameter(url: &mut Url, name: &str, value: &str) {
    let parameter = format!("{}={}", percent_encoded(name), percent_encoded(value));
    let query = match url.query() {
        None | Some("") => parameter,
        Some(query) => format!("{query}&{parameter}"),
    };
    url.set_query(Some(&query));
}

/// RFC 3986, section 2.3: what needs no encoding anywhere.
pub(super) fn percent_encoded(text: &str) -> String {
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
    if !read
        .content_type
        .as_deref()
        .is_some_and(json_text::is_json_type)
    {
        return Err("the server profile puts the key into a JSON body: send one");
    }
    let text = std::str::from_utf8(bytes).map_err(|_| UNREADABLE)?;
    Ok(match into_json(text, pointer, key)? {
        Some(text) => Read::bytes(read.content_type, text.into_bytes(), false),
        None => read,
    })
}

/// Inserts the key into a JSON text: right behind the brace of the object that the pointer names,
/// and nothing else moves. `None` if the very same member is there already.
///
/// # Errors
/// In words, if there is no such object, or something else has the member's name.
pub(crate) fn into_json(text: &str, pointer: &str, key: &str) -> Result<Option<String>, Problem> {
    let added =
        json_text::add(text, pointer, &json_text::quoted(key)).map_err(|why| match why {
            Astray::Pointer => "the key's JSON pointer is malformed",
            Astray::NotJson => UNREADABLE,
            Astray::Nothing => {
                "the server profile puts the key into a JSON object that this body doesn't have"
            }
            Astray::Repeated => "a member on the way to the key is there more than once",
        })?;
    match added {
        Added::Text(text) => Ok(Some(text)),
        Added::There(value) if serde_json::from_str::<String>(value).is_ok_and(|it| it == key) => {
            Ok(None)
        }
        Added::There(_) => Err(OTHER_VALUE),
    }
}

const UNREADABLE: Problem = "the text is not JSON that a key can be put into";
const OTHER_VALUE: Problem =
    "the core writes the key's member itself: leave it out, or give it the submission's ID";
