//! The same controls over HTTP, for tests in other languages and processes.
//!
//! Control requests are not recorded, and no script applies to them.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::http::Method;
use hyper::http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::answer::Answer;
use crate::behaviour::{Behaviour, Matcher};
use crate::door::Command;
use crate::faults::Faults;
use crate::key_place::decoded;
use crate::playbook::Playbook;
use crate::records::RequestRecord;
use crate::server::Shared;
use crate::store::StoreError;
use crate::summary::Summary;

/// Where the control requests are.
pub(crate) const PREFIX: &str = "/_control/";
/// The largest control body; scripts with large bodies belong into the Rust API.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
/// The longest wait. HTTP clients give up soon after.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// The body of `POST script`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptOrder {
    #[serde(rename = "match", default = "any")]
    matcher: Matcher,
    #[serde(default)]
    behaviours: Vec<Behaviour>,
    always: Option<Behaviour>,
}

/// The body of `POST accept-tokens`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensOrder {
    /// `null` lets everybody in.
    tokens: Option<Vec<String>>,
}

/// The body of `POST offline`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfflineOrder {
    for_ms: u64,
}

/// The body of `POST wait`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitOrder {
    #[serde(rename = "match", default = "any")]
    matcher: Matcher,
    #[serde(default)]
    until: Until,
    #[serde(default = "one")]
    count: usize,
    timeout_ms: u64,
}

/// What a wait is for.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// The head has arrived.
    #[default]
    Arrived,
    /// The effect is committed or replayed.
    Effect,
    /// The flight is over.
    Over,
    /// The request stands at this hold.
    Held(String),
}

#[derive(Serialize)]
struct Waited {
    met: bool,
    records: Vec<RequestRecord>,
}

fn any() -> Matcher {
    Matcher::Any
}

fn one() -> usize {
    1
}

/// Answers `command`, the path after [`PREFIX`].
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    command: &str,
    parts: &Parts,
    body: Incoming,
) -> Answer {
    let result = if parts.method == Method::GET {
        read(shared, command).await
    } else if parts.method == Method::POST {
        match Limited::new(body, BODY_LIMIT).collect().await {
            Ok(body) => order(shared, command, &body.to_bytes()).await,
            Err(_) => Err(Refusal::Order(
                "the body is cut or longer than 4 MiB".to_owned(),
            )),
        }
    } else {
        Err(Refusal::Method)
    };
    match result {
        Ok(answer) => answer,
        Err(Refusal::Order(reason)) => Answer::control_refused(400, &reason),
        Err(Refusal::Unknown) => {
            Answer::control_refused(404, "There is no such command with this method.")
        }
        Err(Refusal::Method) => Answer::control_refused(405, "Use GET or POST."),
        Err(Refusal::Store(error)) => Answer::broken(&error.to_string()),
    }
}

enum Refusal {
    Order(String),
    Unknown,
    Method,
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

async fn read(shared: &Arc<Shared>, command: &str) -> Result<Answer, Refusal> {
    let ledger = &shared.ledger;
    match command {
        "summary" => {
            let effects = shared.store.run(|database| database.effects()).await?;
            let summary = ledger.read(|records| Summary::of(records, &effects));
            Ok(Answer::json(200, &summary))
        }
        "records" => Ok(Answer::json(200, &ledger.read(<[RequestRecord]>::to_vec))),
        "in-flight" => {
            let flying: Vec<RequestRecord> = ledger.read(|records| {
                records
                    .iter()
                    .filter(|record| record.in_flight())
                    .cloned()
                    .collect()
            });
            Ok(Answer::json(200, &flying))
        }
        "tls" => Ok(Answer::json(200, &ledger.tls_seen())),
        "effects" => {
            let effects = shared.store.run(|database| database.effects()).await?;
            Ok(Answer::json(200, &effects))
        }
        _ => Err(Refusal::Unknown),
    }
}

async fn order(shared: &Arc<Shared>, command: &str, body: &[u8]) -> Result<Answer, Refusal> {
    let ledger = &shared.ledger;
    match command {
        "script" => script(shared, parse(body)?)?,
        "clear-scripts" => ledger.playbook(Playbook::clear_scripts),
        "faults" => {
            let faults: Faults = parse(body)?;
            faults
                .check()
                .map_err(|error| Refusal::Order(error.to_string()))?;
            ledger.playbook(|playbook| playbook.set_faults(faults));
        }
        "accept-tokens" => {
            let order: TokensOrder = parse(body)?;
            ledger.accept(order.tokens);
        }
        "release" => ledger.release_all(),
        "forget-keys" => {
            let forgotten = shared.store.run(|database| database.forget_keys()).await?;
            return Ok(Answer::json(
                200,
                &json!({ "ok": true, "forgotten": forgotten }),
            ));
        }
        "reset" => ledger.reset()?,
        "offline" => offline(shared, parse(body)?),
        "wait" => return wait(shared, parse(body)?).await,
        other => match other.strip_prefix("release/") {
            Some(name) if !name.is_empty() => ledger.release(&decoded(name)),
            _ => return Err(Refusal::Unknown),
        },
    }
    Ok(Answer::json(200, &json!({ "ok": true })))
}

fn script(shared: &Shared, order: ScriptOrder) -> Result<(), Refusal> {
    for behaviour in order.behaviours.iter().chain(&order.always) {
        behaviour.check().map_err(Refusal::Order)?;
    }
    if order.behaviours.is_empty() && order.always.is_none() {
        let reason = "give `behaviours`, a list, or `always`, one behaviour";
        return Err(Refusal::Order(reason.to_owned()));
    }
    shared.ledger.playbook(|playbook| {
        if let Some(always) = order.always {
            playbook.add_standing(order.matcher.clone(), always);
        }
        playbook.add_script(order.matcher, order.behaviours);
    });
    Ok(())
}

/// Going offline closes the connection of the order itself: after it, expect no answer.
fn offline(shared: &Arc<Shared>, order: OfflineOrder) {
    let door = shared.door.clone();
    tokio::spawn(async move {
        let _ = door.send(Command::Offline(None));
        tokio::time::sleep(Duration::from_millis(order.for_ms)).await;
        let _ = door.send(Command::Online(None));
    });
}

async fn wait(shared: &Arc<Shared>, order: WaitOrder) -> Result<Answer, Refusal> {
    let ledger = Arc::clone(&shared.ledger);
    let timeout = Duration::from_millis(order.timeout_ms).min(WAIT_LIMIT);
    let waited = tokio::task::spawn_blocking(move || {
        let mut last = Vec::new();
        let met = ledger.wait_for(timeout, |records| {
            let found: Vec<&RequestRecord> = records
                .iter()
                .filter(|record| order.wants(record))
                .collect();
            let enough = found.len() >= order.count;
            last = found.into_iter().cloned().collect();
            enough.then_some(())
        });
        Waited {
            met: met.is_some(),
            records: last,
        }
    });
    let waited = waited.await.map_err(|_| StoreError::Stopped)?;
    Ok(Answer::json(200, &waited))
}

impl WaitOrder {
    fn wants(&self, record: &RequestRecord) -> bool {
        let state = match &self.until {
            Until::Arrived => true,
            Until::Effect => record.effect.is_some(),
            Until::Over => !record.in_flight(),
            Until::Held(name) => record.held_at.as_ref() == Some(name),
        };
        state && self.matcher.matches(record.key.as_deref(), &record.path)
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Order(error.to_string()))
}
