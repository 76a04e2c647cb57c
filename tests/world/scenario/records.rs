//! What the steps of the inbox and of batches are made of, and what they are in the library.

use std::time::Duration;

use serde::Deserialize;
use submit_once::{
    AppStatement, BatchConfig, BatchFormat, Effect, InboxDecision, InboxFailure, InboxItem,
    InboxPolicy, InboxRun, InboxScope, SqlValue,
};

use super::read;

/// How long a scope remembers.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    name: String,
    keep_results_ms: u64,
    keep_keys_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    scope: String,
    key: String,
    policy: Policy,
    content: Option<String>,
    lease_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Policy {
    AtMostOnce,
    AtLeastOnce,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    scope: String,
    key: String,
    number: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    NothingHappened,
    MayHaveHappened,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decided {
    Happened { result: Option<String> },
    RunAgain,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    sql: String,
    #[serde(default)]
    parameters: Vec<Option<Field>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(String),
}

/// Where small records go; what is left out is the library's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gathered {
    key: String,
    url: String,
    account: Option<String>,
    method: Option<String>,
    effect: Option<Effect>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    format: Option<Format>,
    id_member: Option<String>,
    max_records: Option<u32>,
    max_bytes: Option<u32>,
    max_age_ms: Option<u64>,
    priority: Option<i32>,
    unmetered_only: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Format {
    JsonArray,
    JsonObject { member: String },
    Ndjson,
}

pub fn scope(of: &Scope) -> InboxScope {
    InboxScope {
        name: of.name.clone(),
        keep_results: Duration::from_millis(of.keep_results_ms),
        keep_keys: of.keep_keys_ms.map(Duration::from_millis),
    }
}

pub fn item(of: Item) -> InboxItem {
    InboxItem {
        scope: of.scope,
        key: of.key,
        content: of.content.map(String::into_bytes),
        policy: match of.policy {
            Policy::AtMostOnce => InboxPolicy::AtMostOnce,
            Policy::AtLeastOnce => InboxPolicy::AtLeastOnce,
        },
        lease: of.lease_ms.map(Duration::from_millis),
    }
}

pub fn run(of: Run) -> InboxRun {
    InboxRun {
        scope: of.scope,
        key: of.key,
        number: of.number,
    }
}

pub fn failure(of: &Failure) -> InboxFailure {
    match of {
        Failure::NothingHappened => InboxFailure::NothingHappened,
        Failure::MayHaveHappened => InboxFailure::MayHaveHappened,
    }
}

pub fn decided(of: Decided) -> InboxDecision {
    match of {
        Decided::Happened { result } => InboxDecision::Happened {
            result: result.map(String::into_bytes),
        },
        Decided::RunAgain => InboxDecision::RunAgain,
    }
}

pub fn statement(of: Statement) -> AppStatement {
    AppStatement::new(&of.sql, of.parameters.into_iter().map(field))
}

fn field(of: Option<Field>) -> SqlValue {
    match of {
        None => SqlValue::Null,
        Some(Field::Integer(value)) => SqlValue::Integer { value },
        Some(Field::Real(value)) => SqlValue::Real { value },
        Some(Field::Text(value)) => SqlValue::Text { value },
        Some(Field::Blob(text)) => SqlValue::Blob {
            value: text.into_bytes(),
        },
    }
}

pub fn batch(of: Gathered) -> BatchConfig {
    let with = BatchConfig::new(&of.key, &of.url);
    BatchConfig {
        account: of.account,
        method: of.method.unwrap_or(with.method),
        effect: of.effect,
        headers: read::headers(&of.headers),
        format: of.format.map(|format| match format {
            Format::JsonArray => BatchFormat::JsonArray,
            Format::JsonObject { member } => BatchFormat::JsonObject { member },
            Format::Ndjson => BatchFormat::Ndjson,
        }),
        id_member: of.id_member.unwrap_or(with.id_member),
        max_records: of.max_records.unwrap_or(with.max_records),
        max_bytes: of.max_bytes.unwrap_or(with.max_bytes),
        max_age: of.max_age_ms.map(Duration::from_millis),
        priority: of.priority.unwrap_or(with.priority),
        unmetered_only: of.unmetered_only.unwrap_or(with.unmetered_only),
        key: with.key,
        url: with.url,
    }
}
