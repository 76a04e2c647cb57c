//! The steps of the inbox, and the JSON forms of what they give.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use submit_once::{AppRow, InboxAnswer, InboxError, Outbox, SqlValue, UncertainItem};

use super::format::OnInbox;
use super::{forms, records};

pub fn play(action: OnInbox, outbox: &Arc<Outbox>) -> Result<Value, InboxError> {
    let inbox = Arc::clone(outbox).inbox();
    Ok(match action {
        OnInbox::BeginRun(of) => answer(inbox.begin(records::item(of.item))?),
        OnInbox::FinishRun(of) => {
            let (run, result) = (records::run(of.run), of.result.map(String::into_bytes));
            match of.statements {
                None => inbox.finish(run, result)?,
                Some(of) => {
                    let statements = of.into_iter().map(records::statement).collect();
                    inbox.finish_with(run, result, statements)?;
                }
            }
            Value::Null
        }
        OnInbox::FailRun(of) => {
            inbox.fail(records::run(of.run), records::failure(&of.failure))?;
            Value::Null
        }
        OnInbox::ExtendRun(of) => {
            let lease = Duration::from_millis(of.lease_ms);
            inbox.extend(records::run(of.run), lease)?;
            Value::Null
        }
        OnInbox::DecideItem(of) => {
            inbox.decide(of.scope, of.key, records::decided(of.decision))?;
            Value::Null
        }
        OnInbox::ListUncertain(of) => {
            let items = inbox.uncertain(of.scope, of.limit.unwrap_or(1_000))?;
            items.iter().map(uncertain).collect()
        }
        OnInbox::QueryApp(of) => {
            let rows = inbox.query(records::statement(of.statement))?;
            rows.into_iter().map(row).collect()
        }
    })
}

fn uncertain(item: &UncertainItem) -> Value {
    json!({"scope": item.scope, "key": item.key, "runs": item.runs})
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn answer(answer: InboxAnswer) -> Value {
    let form = |name, run: Value, result: Option<Vec<u8>>, dropped: Option<bool>| json!({"answer": name, "run": run, "result": result.map(text), "dropped": dropped});
    match answer {
        InboxAnswer::Run { run } => {
            let run = json!({"scope": run.scope, "key": run.key, "number": run.number});
            form("run", run, None, None)
        }
        InboxAnswer::Busy { .. } => form("busy", Value::Null, None, None),
        InboxAnswer::Done {
            result, dropped, ..
        } => form("done", Value::Null, result, Some(dropped)),
        InboxAnswer::Uncertain { .. } => form("uncertain", Value::Null, None, None),
    }
}

fn row(row: AppRow) -> Value {
    let field = |value| match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer { value } => json!({"integer": value}),
        SqlValue::Real { value } => json!({"real": value}),
        SqlValue::Text { value } => json!({"text": value}),
        SqlValue::Blob { value } => json!({"blob": text(value)}),
    };
    row.values.into_iter().map(field).collect()
}

pub fn error(error: &InboxError) -> Value {
    let of_item =
        |name: &str, scope: &str, key: &str| json!({"name": name, "scope": scope, "key": key});
    match error {
        InboxError::Closed => json!({"name": "Closed"}),
        InboxError::Invalid { field, problem } => {
            json!({"name": "Invalid", "field": field, "problem": problem})
        }
        InboxError::KeyReused { scope, key } => of_item("KeyReused", scope, key),
        InboxError::RunLost { scope, key } => of_item("RunLost", scope, key),
        InboxError::NotUncertain { scope, key } => of_item("NotUncertain", scope, key),
        InboxError::Statement { number, problem } => {
            json!({"name": "Statement", "number": number, "problem": problem})
        }
        InboxError::Storage { storage } => forms::storage_error(storage),
    }
}
