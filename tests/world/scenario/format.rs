//! The format: what a scenario and its steps are made of.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::records::{Decided, Failure, Gathered, Item, Run, Scope, Statement};

/// A file of scenarios.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What they are about, for readers.
    #[serde(rename = "about")]
    _about: String,
    pub scenarios: Vec<Scenario>,
}

/// A story with one server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// The promises and cases that it guards.
    pub guards: Vec<String>,
    /// Arguments of the server's process.
    #[serde(default)]
    pub server: Vec<String>,
    /// What outboxes are opened with.
    #[serde(default)]
    pub outbox: Config,
    pub steps: Vec<Step>,
    /// What the server's summary is in the end.
    pub end: Map<String, Value>,
}

/// What an outbox is opened with; what is left out is the library's default.
#[derive(Deserialize, Default, Clone)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub profile: Option<Value>,
    pub limits: Map<String, Value>,
    pub base_url: Option<String>,
    pub user_agent: Option<String>,
    pub install_id: Option<String>,
    pub inbox_scopes: Option<Vec<Scope>>,
}

/// One step: a member named by its kind, with the arguments, and these around it.
pub struct Step {
    pub kind: String,
    pub arguments: Value,
    pub on: String,
    pub keep_as: Option<String>,
    pub expect: Option<Value>,
    pub error: Option<Value>,
    pub needs: Option<Needs>,
}

/// What a language must have for a step.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Strings of UTF-16 code units, which may have lone surrogates in them.
    Utf16Strings,
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut members = Map::deserialize(from)?;
        let mut name = |name: &str| match members.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(D::Error::custom(format!("{name} is {other}"))),
        };
        let (on, keep_as) = (name("on")?, name("as")?);
        let expect = members.remove("expect");
        let error = members.remove("error");
        let needs = members.remove("needs").map(Needs::deserialize);
        let mut members = members.into_iter();
        let (Some((kind, arguments)), None) = (members.next(), members.next()) else {
            return Err(D::Error::custom(
                "a step has one kind, and members it knows",
            ));
        };
        if !kinds().any(|known| known == kind) {
            return Err(D::Error::custom(format!("there is no step {kind:?}")));
        }
        if expect.is_some() && error.is_some() {
            return Err(D::Error::custom(format!("{kind} both succeeds and fails")));
        }
        Ok(Self {
            kind,
            arguments,
            on: on.unwrap_or_else(|| "main".to_owned()),
            keep_as,
            expect,
            error,
            needs: needs.transpose().map_err(D::Error::custom)?,
        })
    }
}

/// An enum of step kinds, with the arguments of each, and the names of all.
macro_rules! actions {
    ($(#[$doc:meta])* $Action:ident, $NAMES:ident:
        $($kind:literal $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* }),* $(,)?) => {
        /// The names of the kinds.
        pub const $NAMES: &[&str] = &[$($kind),*];

        $(#[$doc])*
        #[derive(Deserialize)]
        pub enum $Action {
            $(#[serde(rename = $kind)] $name($name)),*
        }

        $(#[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$attribute])* pub $field: $type),* })*
    };
}

actions! {
    /// What needs no open outbox.
    Apart, APART:
    "open" Open { file: Option<String>, #[serde(default)] with: Config },
    "copy_files" CopyFiles { from: String, to: String },
    "new_submission_id" NewId {},
    "derive_submission_id" DeriveId { account: Option<String>, action: String, business_key: String },
    "parse_submission_id" ParseId { text: String },
    "built_in_profile" BuiltIn { which: String },
    "profile_from_json" FromJson { profile: Value },
    "default_limits" DefaultLimits {},
    "let" Let { value: Value },
    "server" Server { get: Option<String>, post: Option<String>, body: Option<Value> },
}

actions! {
    /// What is done with an open outbox.
    OnOutbox, ON_OUTBOX:
    "open_report" OpenReport {},
    "close" Close {},
    "begin" Begin { slot: String },
    "discard" Discard { slot: String },
    "submit" Submit { submission: Content },
    "submit_all" SubmitAll { submissions: Vec<Content> },
    "submit_at_once" SubmitAtOnce { submission: Content, callers: usize },
    "snapshot" Snapshot { id: String },
    "reconcile" Reconcile { ids: Vec<String> },
    "list" List { #[serde(default)] filter: Filter, after: Option<i64>, limit: Option<u32> },
    "wait" Wait { id: String, timeout_ms: Option<u64> },
    "drain" Drain { budget_ms: Option<u64> },
    "start" Start {},
    "suspend" Suspend {},
    "cancel" Cancel { id: String },
    "resolve" Resolve { id: String, revision: i64, decision: Decision },
    "resolve_all" ResolveAll { reason: Reason, decision: Decision },
    "release_lane" ReleaseLane { account: Option<String>, lane: String },
    "wake" Wake { id: String },
    "changes" Changes { #[serde(default)] after: i64, limit: Option<u32> },
    "stats" Stats {},
    "retain" Retain {},
    "sign_in" SignIn { account: String },
    "sign_out" SignOut { #[serde(default)] how: Leaving },
    "signed_in" SignedIn {},
    "supply_credentials" SupplyCredentials { account: String, headers: Vec<(String, String)>, valid_for_ms: Option<u64> },
    "network_available" NetworkAvailable { network: Network },
    "request_run" RequestRun { network: RunKind },
    "run_scheduled" RunScheduled { network: RunKind },
    "clear_run_request" ClearRunRequest { network: RunKind },
    "adopt_run_requests" AdoptRunRequests {},
    "set_listener" SetListener { listening: bool },
    "set_credentials_listener" SetCredentialsListener { listening: bool },
    "set_progress_listener" SetProgressListener { listening: bool },
    "heard" Heard { by: Ear },
    "batch" MakeBatch { name: String, config: Gathered },
    "append" Append { batch: String, record: String },
    "append_all" AppendAll { batch: String, records: Vec<String> },
    "flush" Flush { batch: String },
    "current" Current { account: Option<String>, key: String },
}

actions! {
    /// What is done with the inbox of an open outbox.
    OnInbox, ON_INBOX:
    "inbox_begin" BeginRun { item: Item },
    "inbox_finish" FinishRun { run: Run, result: Option<String>, statements: Option<Vec<Statement>> },
    "inbox_fail" FailRun { run: Run, failure: Failure },
    "inbox_extend" ExtendRun { run: Run, lease_ms: u64 },
    "inbox_decide" DecideItem { scope: String, key: String, decision: Decided },
    "inbox_uncertain" ListUncertain { scope: Option<String>, limit: Option<u32> },
    "inbox_query" QueryApp { statement: Statement },
}

/// The names of all kinds.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    APART.iter().chain(ON_OUTBOX).chain(ON_INBOX).copied()
}

/// A submission.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub id: String,
    pub url: String,
    pub account: Option<String>,
    pub method: Option<String>,
    pub effect: Option<submit_once::Effect>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    pub body: Option<Body>,
    #[serde(default)]
    pub priority: i32,
    /// From now, by the device's clock; may be negative.
    pub expires_in_ms: Option<i64>,
    pub lane: Option<String>,
    pub lane_policy: Option<submit_once::LanePolicy>,
    pub replaces: Option<String>,
    #[serde(default)]
    pub after: Vec<String>,
    #[serde(default)]
    pub parts: Vec<Part>,
    pub probe: Option<Probe>,
    #[serde(default)]
    pub unmetered_only: bool,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Json(String),
    Bytes(Bytes),
    File(Bytes),
}

/// Bytes, as text in UTF-8 or in hex.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    pub content_type: String,
    pub text: Option<String>,
    pub hex: Option<String>,
}

/// What a submission takes from the result of another.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub parent: String,
    pub from: Source,
    pub into: Target,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    JsonPointer(String),
    Header(String),
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Path(String),
    Query(String),
    Header(String),
    Json(String),
}

/// A status probe; what is left out is the library's default.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    pub url: String,
    pub pointer: Option<String>,
    pub missing_means_not_applied: Option<bool>,
    pub of_key_record: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    RetrySameKey { accept_second_effect: bool },
    ItHappened { result: Option<String> },
    GiveUp {},
    FillParts { values: Vec<Filled> },
}

/// A part that the result of a parent lacks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filled {
    pub into: Target,
    pub json: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    pub state: Option<Listed>,
    pub reason: Option<Reason>,
    pub account: Option<String>,
    pub lane: Option<String>,
    pub replaces: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    Moving,
    Held,
    Settled,
}

/// What something is held for.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    OutcomeUnknown,
    Conflict,
    CancelRequested,
    ExpiredInDoubt,
    Restored,
    Damaged,
    ParentResultMissing,
    KeyUsedElsewhere,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Leaving {
    #[default]
    Keep,
    Purge,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    Offline,
    Metered,
    Unmetered,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    Any,
    Unmetered,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Ear {
    Listener,
    CredentialsListener,
    ProgressListener,
}
