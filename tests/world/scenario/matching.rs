//! Whether what came is what was expected. Only what is named is looked at; what is named must be
//! there.

use serde_json::Value;

use super::notation::sole;

/// What doesn't fit, if something doesn't.
pub fn misfit(expected: &Value, actual: &Value) -> Option<String> {
    differs(expected, actual).then(|| format!("expected {expected}\n     got {actual}"))
}

fn differs(expected: &Value, actual: &Value) -> bool {
    match expected {
        Value::Object(members) => match sole(members) {
            Some((pattern, value)) if pattern.starts_with('$') => !fits(pattern, value, actual),
            _ => members
                .iter()
                .any(|(name, value)| actual.get(name).is_none_or(|actual| differs(value, actual))),
        },
        Value::Array(items) => actual.as_array().is_none_or(|actual| {
            actual.len() != items.len()
                || items
                    .iter()
                    .zip(actual)
                    .any(|(item, actual)| differs(item, actual))
        }),
        Value::Number(number) => number.as_f64() != actual.as_f64(),
        Value::Null | Value::Bool(_) | Value::String(_) => expected != actual,
    }
}

fn fits(pattern: &str, value: &Value, actual: &Value) -> bool {
    let numbers = || value.as_f64().zip(actual.as_f64());
    match pattern {
        "$at_least" => numbers().is_some_and(|(least, actual)| actual >= least),
        "$more_than" => numbers().is_some_and(|(less, actual)| actual > less),
        "$present" => value.as_bool() == Some(!actual.is_null()),
        "$not" => differs(value, actual),
        "$length" => actual.as_array().map(|items| items.len() as u64) == value.as_u64(),
        "$contains" => match actual {
            Value::Array(items) => items.iter().any(|item| !differs(value, item)),
            Value::String(text) => value.as_str().is_some_and(|part| text.contains(part)),
            _ => false,
        },
        other => panic!("there is no pattern {other:?}"),
    }
}
