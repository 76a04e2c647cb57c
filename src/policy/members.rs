//! The members of a 207 (RFC 4918, section 13) or 208: one answer that has many statuses.

use serde_json::Value;

/// True if there are members and each has a status of 200 to 299: in JSON, every `status` (or
/// `statusCode`, `status_code`) at any depth; in XML, every `HTTP/1.1 201 Created`.
pub(super) fn all_succeeded(json: Option<&Value>, body: &[u8]) -> bool {
    let mut statuses = Vec::new();
    match json {
        Some(value) => collect(value, &mut statuses),
        None => collect_xml(body, &mut statuses),
    }
    !statuses.is_empty()
        && statuses
            .iter()
            .all(|status| status.is_some_and(|status| (200..300).contains(&status)))
}

fn collect(value: &Value, into: &mut Vec<Option<u64>>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
        Value::Object(members) => {
            for (name, value) in members {
                if matches!(name.as_str(), "status" | "statusCode" | "status_code") {
                    into.push(match value {
                        Value::Number(number) => number.as_u64(),
                        Value::String(text) => first_number(text),
                        // No status that this can read is not a success.
                        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                    });
                } else {
                    collect(value, into);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `201`, `201 Created` or `HTTP/1.1 201 Created`.
fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().find_map(|word| word.parse().ok())
}

fn collect_xml(body: &[u8], into: &mut Vec<Option<u64>>) {
    let text = String::from_utf8_lossy(body);
    for after in text.split("HTTP/").skip(1) {
        into.push(after.split_whitespace().nth(1).and_then(|word| {
            let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        }));
    }
}
