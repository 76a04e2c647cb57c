//! What may stand in a step in place of a value: the name of an earlier one, a long text, a text in
//! UTF-16.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What earlier steps gave, by the names that they gave it.
pub type Known = HashMap<String, Value>;

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Scenario(String),
    #[error("no string of Rust can hold this text, and the step doesn't say what it needs")]
    NotExpressible,
}

/// Puts values in place of their notations.
pub fn resolve(value: &Value, known: &Known) -> Result<Value, Problem> {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            Some(path) => look_up(path, known),
            None => Ok(value.clone()),
        },
        Value::Array(items) => {
            let items = items.iter().map(|item| resolve(item, known));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        Value::Object(members) => match sole(members) {
            Some(("$utf16", units)) => utf16(units),
            Some(("$repeat", repeat)) => repeated(repeat),
            _ => {
                let members = members
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), resolve(value, known)?)));
                Ok(Value::Object(members.collect::<Result<_, _>>()?))
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

/// The only member of an object.
pub fn sole(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut members = members.iter();
    let (name, value) = members.next()?;
    members.next().is_none().then_some((name.as_str(), value))
}

/// `name`, or `name.member.member`.
fn look_up(path: &str, known: &Known) -> Result<Value, Problem> {
    let mut names = path.split('.');
    let mut value = names.next().and_then(|name| known.get(name));
    for name in names {
        value = value.and_then(|value| value.get(name));
    }
    let value = value.cloned();
    value.ok_or_else(|| Problem::Scenario(format!("nothing is known as ${path}")))
}

fn utf16(units: &Value) -> Result<Value, Problem> {
    let units: Vec<u16> = read(units)?;
    let text = String::from_utf16(&units).map_err(|_| Problem::NotExpressible)?;
    Ok(Value::String(text))
}

fn repeated(repeat: &Value) -> Result<Value, Problem> {
    let (text, times): (String, usize) = read(repeat)?;
    Ok(Value::String(text.repeat(times)))
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, Problem> {
    serde_json::from_value(value.clone()).map_err(|error| Problem::Scenario(error.to_string()))
}
