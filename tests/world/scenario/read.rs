//! What scenarios say, as the library's own types.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use submit_once::{
    BuiltInProfile, Header, HoldReason, Limits, ListFilter, ListState, OutboxConfig, OutboxError,
    PartSource, PartTarget, PartValue, Resolution, ServerProfile, StatusProbe, Submission,
    SubmissionId, built_in_profile, default_limits, profile_from_json,
};

use super::format::{
    Body, Bytes, Config, Content, Decision, Filled, Filter, Listed, Probe, Reason, Source, Target,
};
use super::records;
use crate::common::Place;

/// The folder of the app's own files, in that of the scenario.
pub const BODIES: &str = "bodies";

/// A configuration, with what one step says laid over what the scenario says.
pub fn config(
    path: String,
    url: &str,
    of_scenario: &Config,
    of_step: &Config,
) -> Result<OutboxConfig, OutboxError> {
    let first = |pick: fn(&Config) -> Option<&String>| pick(of_step).or(pick(of_scenario)).cloned();
    let mut config = OutboxConfig::at(path)
        .base_url(first(|config| config.base_url.as_ref()).unwrap_or(url.to_owned()));
    config.user_agent = first(|config| config.user_agent.as_ref());
    config.install_id = first(|config| config.install_id.as_ref());
    let scopes = of_step.inbox_scopes.as_ref();
    let scopes = scopes.or(of_scenario.inbox_scopes.as_ref());
    config.inbox_scopes = scopes.into_iter().flatten().map(records::scope).collect();
    config.profile = match of_step.profile.as_ref().or(of_scenario.profile.as_ref()) {
        Some(Value::String(name)) => Some(built_in_profile(built_in(name))),
        Some(json) => Some(profile(json)?),
        None => None,
    };
    let mut changed = of_scenario.limits.clone();
    changed.extend(of_step.limits.clone());
    config.limits = Some(limits(&changed));
    Ok(config)
}

pub fn profile(json: &Value) -> Result<ServerProfile, OutboxError> {
    profile_from_json(&json.to_string())
}

pub fn built_in(name: &str) -> BuiltInProfile {
    match name {
        "standard" => BuiltInProfile::Standard,
        "ietf" => BuiltInProfile::Ietf,
        "stripe" => BuiltInProfile::Stripe,
        "paypal" => BuiltInProfile::Paypal,
        "adyen" => BuiltInProfile::Adyen,
        "square" => BuiltInProfile::Square,
        "google_aip155" => BuiltInProfile::GoogleAip155,
        "matrix" => BuiltInProfile::Matrix,
        "plain_put" => BuiltInProfile::PlainPut,
        "unkeyed" => BuiltInProfile::Unkeyed,
        other => panic!("there is no profile {other:?}"),
    }
}

/// The default limits with these changed.
fn limits(changed: &Map<String, Value>) -> Limits {
    let mut limits = default_limits();
    for (name, value) in changed {
        let number = value.as_u64();
        let count = || u32::try_from(number.unwrap()).unwrap();
        let time = || Duration::from_millis(number.unwrap());
        match name.as_str() {
            "max_in_flight" => limits.max_in_flight = count(),
            "max_queued" => limits.max_queued = count(),
            "max_body_bytes" => limits.max_body_bytes = number.unwrap(),
            "inline_body_bytes" => limits.inline_body_bytes = count(),
            "max_answer_bytes" => limits.max_answer_bytes = count(),
            "request_timeout" => limits.request_timeout = time(),
            "idle_timeout" => limits.idle_timeout = time(),
            "connect_timeout" => limits.connect_timeout = time(),
            "lease" => limits.lease = time(),
            "busy_timeout" => limits.busy_timeout = time(),
            "backoff_first" => limits.backoff_first = time(),
            "backoff_most" => limits.backoff_most = time(),
            "server_wait_most" => limits.server_wait_most = time(),
            "quiet_time" => limits.quiet_time = number.map(Duration::from_millis),
            "retry_attempts" => limits.retry_attempts = count(),
            "retry_time" => limits.retry_time = time(),
            "busy_attempts" => limits.busy_attempts = count(),
            "busy_time" => limits.busy_time = time(),
            "horizon" => limits.horizon = time(),
            "keep_results" => limits.keep_results = time(),
            "keep_results_count" => limits.keep_results_count = count(),
            "keep_results_bytes" => limits.keep_results_bytes = number.unwrap(),
            "keep_tombstones" => limits.keep_tombstones = time(),
            "keep_changes" => limits.keep_changes = count(),
            other => panic!("there is no limit {other:?}"),
        }
    }
    limits
}

pub fn id(text: &str) -> Result<SubmissionId, OutboxError> {
    SubmissionId::parse(text).map_err(OutboxError::from)
}

/// A submission, and the file of its body where it has one.
pub fn submission(content: &Content, place: &Place) -> Result<Submission, OutboxError> {
    let method = content.method.as_deref().unwrap_or("POST");
    let mut submission = Submission::new(id(&content.id)?, method, &content.url);
    submission.account = content.account.clone();
    submission.effect = content.effect;
    submission.headers = headers(&content.headers);
    submission = match &content.body {
        None => submission,
        Some(Body::Json(text)) => submission.json(text),
        Some(Body::Bytes(read)) => submission.bytes(&read.content_type, bytes(read)),
        Some(Body::File(read)) => {
            let name = format!("{BODIES}/{}", content.id);
            submission.file(&read.content_type, place.file(&name, &bytes(read)))
        }
    };
    submission.priority = content.priority;
    submission.expires_at = content.expires_in_ms.map(from_now);
    submission.lane = content.lane.clone();
    submission.lane_policy = content.lane_policy;
    submission.replaces = content.replaces.clone();
    submission.after = content
        .after
        .iter()
        .map(|text| id(text))
        .collect::<Result<_, _>>()?;
    for part in &content.parts {
        submission = submission.part(id(&part.parent)?, source(&part.from), target(&part.into));
    }
    submission.probe = content.probe.as_ref().map(probe);
    submission.unmetered_only = content.unmetered_only;
    Ok(submission)
}

fn source(of: &Source) -> PartSource {
    match of.clone() {
        Source::JsonPointer(pointer) => PartSource::JsonPointer { pointer },
        Source::Header(name) => PartSource::Header { name },
    }
}

fn target(of: &Target) -> PartTarget {
    match of.clone() {
        Target::Path(placeholder) => PartTarget::Path { placeholder },
        Target::Query(name) => PartTarget::Query { name },
        Target::Header(name) => PartTarget::Header { name },
        Target::Json(pointer) => PartTarget::Json { pointer },
    }
}

fn probe(of: &Probe) -> StatusProbe {
    let mut probe = StatusProbe::at(&of.url);
    probe.pointer = of.pointer.clone();
    let missing = of.missing_means_not_applied;
    probe.missing_means_not_applied = missing.unwrap_or(probe.missing_means_not_applied);
    probe.of_key_record = of.of_key_record.unwrap_or(probe.of_key_record);
    probe
}

pub fn decision(of: Decision) -> Resolution {
    let value = |of: Filled| PartValue {
        into: target(&of.into),
        json: of.json,
    };
    match of {
        Decision::RetrySameKey {
            accept_second_effect,
        } => Resolution::RetrySameKey {
            accept_second_effect,
        },
        Decision::ItHappened { result } => Resolution::ItHappened { result },
        Decision::GiveUp {} => Resolution::GiveUp,
        Decision::FillParts { values } => Resolution::FillParts {
            values: values.into_iter().map(value).collect(),
        },
    }
}

pub fn filter(of: Filter) -> ListFilter {
    ListFilter {
        state: of.state.map(|state| match state {
            Listed::Moving => ListState::Moving,
            Listed::Held => ListState::Held,
            Listed::Settled => ListState::Settled,
        }),
        reason: of.reason.map(hold_reason),
        account: of.account,
        lane: of.lane,
        replaces: of.replaces,
    }
}

pub fn hold_reason(reason: Reason) -> HoldReason {
    match reason {
        Reason::OutcomeUnknown => HoldReason::OutcomeUnknown,
        Reason::Conflict => HoldReason::Conflict,
        Reason::CancelRequested => HoldReason::CancelRequested,
        Reason::ExpiredInDoubt => HoldReason::ExpiredInDoubt,
        Reason::Restored => HoldReason::Restored,
        Reason::Damaged => HoldReason::Damaged,
        Reason::ParentResultMissing => HoldReason::ParentResultMissing,
        Reason::KeyUsedElsewhere => HoldReason::KeyUsedElsewhere,
    }
}

pub fn headers(pairs: &[(String, String)]) -> Vec<Header> {
    let header = |(name, value): &(String, String)| Header {
        name: name.clone(),
        value: value.clone(),
    };
    pairs.iter().map(header).collect()
}

pub fn from_now(millis: i64) -> SystemTime {
    let time = Duration::from_millis(millis.unsigned_abs());
    if millis < 0 {
        SystemTime::now() - time
    } else {
        SystemTime::now() + time
    }
}

fn bytes(read: &Bytes) -> Vec<u8> {
    match (&read.text, &read.hex) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(hex)) => {
            assert!(hex.len().is_multiple_of(2), "half a byte in {hex}");
            let pair = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(pair).collect()
        }
        _ => panic!("bytes are either text or hex"),
    }
}
