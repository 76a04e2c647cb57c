//! JSON as it is written: a value is found in the text, or a member is added to it, and nothing else
//! moves, no number is spelled anew.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Why a pointer leads nowhere in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Astray {
    /// It is malformed, or names the whole document where a member is wanted.
    Pointer,
    /// The text is not JSON.
    NotJson,
    /// What it leads through isn't there, or can't have members.
    Nothing,
    /// A member on the way is there more than once.
    Repeated,
}

/// What became of a member that was to be added.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added<'a> {
    /// The text with it.
    Text(String),
    /// There is one of the name already: its value.
    There(&'a str),
}

/// RFC 6838, section 4.2.8: `application/json`, and what is written in JSON.
pub(crate) fn is_json_type(content_type: &str) -> bool {
    let (essence, _) = content_type.split_once(';').unwrap_or((content_type, ""));
    let essence = essence.trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// One JSON value, without the space around it. `None` if it is anything else.
pub(crate) fn value(text: &str) -> Option<&str> {
    serde_json::from_str(text).ok().map(RawValue::get)
}

/// The value that a pointer names, as it is written.
pub(crate) fn find<'a>(text: &'a str, pointer: &str) -> Result<&'a str, Astray> {
    let tokens = match pointer {
        "" => Vec::new(),
        _ => read_pointer(pointer).ok_or(Astray::Pointer)?,
    };
    let document: &RawValue = serde_json::from_str(text).map_err(|_| Astray::NotJson)?;
    walk(document, &tokens).map(RawValue::get)
}

/// Adds the member that a pointer names: right behind the brace of its object, which must be there.
/// The value is JSON and stays as it is written.
pub(crate) fn add<'a>(text: &'a str, pointer: &str, value: &str) -> Result<Added<'a>, Astray> {
    let mut tokens = read_pointer(pointer).ok_or(Astray::Pointer)?;
    let name = tokens.pop().ok_or(Astray::Pointer)?;
    let document: &RawValue = serde_json::from_str(text).map_err(|_| Astray::NotJson)?;
    let object = walk(document, &tokens)?;
    if let Some(there) = member(object, &name)? {
        return Ok(Added::There(there.get()));
    }
    // A slice of the text: how far its end is from the text's tells where it begins.
    let begins = object.get().as_ptr().addr() - text.as_ptr().addr();
    let (before, after) = text.split_at_checked(begins + 1).ok_or(Astray::Nothing)?;
    let comma = if members(object)?.is_empty() { "" } else { "," };
    let name = quoted(&name);
    Ok(Added::Text(format!("{before}{name}:{value}{comma}{after}")))
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The parts of a pointer, unescaped. `None` if it is malformed or names the whole document.
pub(crate) fn read_pointer(pointer: &str) -> Option<Vec<String>> {
    pointer
        .strip_prefix('/')?
        .split('/')
        .map(|token| {
            let rest = token.replace("~0", "").replace("~1", "");
            (!rest.contains('~')).then(|| token.replace("~1", "/").replace("~0", "~"))
        })
        .collect()
}

fn walk<'a>(document: &'a RawValue, tokens: &[String]) -> Result<&'a RawValue, Astray> {
    let mut value = document;
    for token in tokens {
        value = if value.get().starts_with('[') {
            element(value, token)?
        } else {
            member(value, token)?.ok_or(Astray::Nothing)?
        };
    }
    Ok(value)
}

/// The member of an object, which must be an object, and may have it once.
fn member<'a>(object: &'a RawValue, name: &str) -> Result<Option<&'a RawValue>, Astray> {
    let mut found = members(object)?
        .into_iter()
        .filter(|(other, _)| other == name)
        .map(|(_, value)| value);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err(Astray::Repeated),
    }
}

fn members(object: &RawValue) -> Result<Vec<(String, &RawValue)>, Astray> {
    if !object.get().starts_with('{') {
        return Err(Astray::Nothing);
    }
    serde_json::from_str::<Members<'_>>(object.get())
        .map(|members| members.0)
        .map_err(|_| Astray::NotJson)
}

/// RFC 6901, section 4: digits without a leading zero.
fn element<'a>(array: &'a RawValue, token: &str) -> Result<&'a RawValue, Astray> {
    let is_index = token == "0"
        || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    let index: Option<usize> = token.parse().ok().filter(|_| is_index);
    let elements: Vec<&RawValue> =
        serde_json::from_str(array.get()).map_err(|_| Astray::NotJson)?;
    index
        .and_then(|index| elements.get(index).copied())
        .ok_or(Astray::Nothing)
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
