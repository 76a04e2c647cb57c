//! The JSON forms of what calls give back, as the README of the scenarios defines them. Times are left
//! out: no scenario could know them.

use serde_json::{Map, Value, json};
use submit_once::{
    CancelOutcome, Change, ChangePage, CredentialsReason, DrainReport, DrainStop, Fetched, Header,
    HeldCount, Limits, OpenError, OpenReport, OutboxError, Outcome, Receipt, Reconciled,
    RecordReceipt, ResolvedAll, Salvage, ServerProfile, SignedOutReport, Snapshot, SnapshotPage,
    Stats, StorageError, SubmissionId, SubmissionState, UploadProgress, Waited, WaitingFor,
};

/// A name in snake case, of a variant without fields.
pub fn snake(variant: impl std::fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// A state's name, its reason, and the newer one.
fn state(state: SubmissionState) -> (String, Option<String>) {
    match state {
        SubmissionState::Held { reason } => ("held".into(), Some(snake(reason))),
        SubmissionState::Rejected { reason } => ("rejected".into(), Some(snake(reason))),
        SubmissionState::Superseded { .. } => ("superseded".into(), None),
        SubmissionState::Pending
        | SubmissionState::InFlight
        | SubmissionState::Succeeded
        | SubmissionState::Cancelled
        | SubmissionState::Expired
        | SubmissionState::Abandoned => (snake(state), None),
    }
}

pub fn snapshot(snapshot: &Snapshot) -> Value {
    let (state, reason) = state(snapshot.state);
    let (waiting_for, waiting_for_id) = snapshot.waiting_for.as_ref().map(waiting_for).unzip();
    let progress = |one: &UploadProgress| json!({"sent": one.sent, "total": one.total});
    json!({
        "id": snapshot.id.to_string(),
        "account": snapshot.account,
        "method": snapshot.method,
        "url": snapshot.url,
        "effect": snapshot.effect,
        "lane": snapshot.lane,
        "replaces": snapshot.replaces,
        "state": state,
        "reason": reason,
        "revision": snapshot.revision,
        "waiting_for": waiting_for,
        "waiting_for_id": waiting_for_id.flatten(),
        "attempts": snapshot.attempts,
        "has_next_attempt": snapshot.next_attempt_at.is_some(),
        "in_doubt": snapshot.in_doubt,
        "progress": snapshot.progress.as_ref().map(progress),
        "last_problem": snapshot.last_problem,
        "outcome": snapshot.outcome.as_ref().map(outcome),
        "late_evidence": snapshot.late_evidence,
    })
}

/// What it waits for, and which other submission that is.
fn waiting_for(waiting: &WaitingFor) -> (&'static str, Option<String>) {
    let other = |name, id: &SubmissionId| (name, Some(id.to_string()));
    match waiting {
        WaitingFor::Due { .. } => ("due", None),
        WaitingFor::Network { .. } => ("network", None),
        WaitingFor::Certificate { .. } => ("certificate", None),
        WaitingFor::Unmetered => ("unmetered", None),
        WaitingFor::Gate { .. } => ("gate", None),
        WaitingFor::Credentials => ("credentials", None),
        WaitingFor::SignedOut => ("signed_out", None),
        WaitingFor::Lane { id } => other("lane", id),
        WaitingFor::Newer { id } => other("newer", id),
        WaitingFor::Older { id } => other("older", id),
        WaitingFor::Parent { id } => other("parent", id),
        WaitingFor::Probe { .. } => ("probe", None),
    }
}

fn outcome(outcome: &Outcome) -> Value {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    json!({
        "status": outcome.status,
        "content_type": outcome.content_type,
        "headers": pairs(&outcome.headers),
        "body": outcome.body.as_ref().map(text),
        "result_missing": outcome.result_missing,
    })
}

fn pairs(headers: &[Header]) -> Vec<Value> {
    let pair = |header: &Header| json!([header.name, header.value]);
    headers.iter().map(pair).collect()
}

pub fn fetched(value: &Fetched) -> Value {
    json!({
        "id": value.id.to_string(),
        "status": value.status,
        "content_type": value.content_type,
        "headers": pairs(&value.headers),
        "body": String::from_utf8(value.body.clone()).unwrap(),
    })
}

pub fn record(receipt: &RecordReceipt) -> Value {
    json!({"record_id": receipt.record_id, "batch": receipt.batch.to_string()})
}

pub fn receipt(receipt: &Receipt) -> Value {
    json!({
        "id": receipt.id.to_string(),
        "kind": snake(receipt.kind),
        "snapshot": snapshot(&receipt.snapshot),
    })
}

pub fn reconciled(found: &Reconciled) -> Value {
    json!({"id": found.id.to_string(), "snapshot": found.snapshot.as_ref().map(snapshot)})
}

pub fn page(page: &SnapshotPage) -> Value {
    json!({"snapshots": page.snapshots.iter().map(snapshot).collect::<Vec<_>>(), "next": page.next})
}

pub fn waited(waited: &Waited) -> Value {
    let (name, found) = match waited {
        Waited::Settled { snapshot } => ("settled", snapshot),
        Waited::Held { snapshot } => ("held", snapshot),
        Waited::TimedOut { snapshot } => ("timed_out", snapshot),
    };
    json!({"waited": name, "snapshot": snapshot(found)})
}

pub fn drained(report: &DrainReport) -> Value {
    let stopped = match report.stopped {
        DrainStop::NothingDue => "nothing_due",
        DrainStop::CredentialsNeeded => "credentials_needed",
        DrainStop::BudgetEnded => "budget_ended",
        DrainStop::Suspended => "suspended",
    };
    json!({
        "attempts": report.attempts,
        "succeeded": report.succeeded,
        "ended_otherwise": report.ended_otherwise,
        "held": report.held,
        "to_repeat": report.to_repeat,
        "in_flight": report.in_flight,
        "stopped": stopped,
        "wakes_again": report.next_wake_at.is_some(),
    })
}

pub fn cancelled(cancelled: &CancelOutcome) -> Value {
    let (name, found) = match cancelled {
        CancelOutcome::Cancelled => ("cancelled", None),
        CancelOutcome::AlreadyFinal { snapshot } => ("already_final", Some(snapshot)),
        CancelOutcome::MayHaveHappened { snapshot } => ("may_have_happened", Some(snapshot)),
    };
    json!({"cancelled": name, "snapshot": found.map(snapshot)})
}

pub fn changes(page: &ChangePage) -> Value {
    match page {
        ChangePage::Changes {
            changes,
            next,
            more,
        } => json!({
            "resync": false,
            "changes": changes.iter().map(change).collect::<Vec<_>>(),
            "next": next,
            "more": more,
        }),
        ChangePage::Resync { next } => json!({
            "resync": true, "changes": [], "next": next, "more": false,
        }),
    }
}

fn change(change: &Change) -> Value {
    let (state, reason) = state(change.state);
    json!({
        "cursor": change.cursor,
        "id": change.id.to_string(),
        "state": state,
        "reason": reason,
        "revision": change.revision,
    })
}

pub fn stats(stats: &Stats) -> Value {
    let held = |held: &HeldCount| (snake(held.reason), json!(held.count));
    let held_by_reason: Map<String, Value> = stats.held_by_reason.iter().map(held).collect();
    let settled: i64 = stats.time_to_settle.iter().map(|time| time.count).sum();
    json!({
        "pending": stats.pending,
        "in_flight": stats.in_flight,
        "held": stats.held,
        "held_by_reason": held_by_reason,
        "in_doubt": stats.in_doubt,
        "queued_bytes": stats.queued_bytes,
        "result_bytes": stats.result_bytes,
        "database_bytes": stats.database_bytes,
        "submit_calls": stats.submit_calls,
        "accepted": stats.accepted,
        "joined": stats.joined,
        "replayed": stats.replayed,
        "reuse_refused": stats.reuse_refused,
        "succeeded": stats.succeeded,
        "rejected": stats.rejected,
        "cancelled": stats.cancelled,
        "expired": stats.expired,
        "superseded": stats.superseded,
        "abandoned": stats.abandoned,
        "attempts": stats.attempts,
        "retries_after_answer": stats.retries_after_answer,
        "retries_after_silence": stats.retries_after_silence,
        "retries_after_no_connection": stats.retries_after_no_connection,
        "doubts_raised": stats.doubts_raised,
        "doubts_settled": stats.doubts_settled,
        "duplicate_hit_rate": stats.duplicate_hit_rate,
        "reuse_refused_rate": stats.reuse_refused_rate,
        "abnormal_retry_rate": stats.abnormal_retry_rate,
        "time_to_settle": settled,
        "last_cursor": stats.last_cursor,
        "inbox_runs": stats.inbox_runs,
        "inbox_repeats": stats.inbox_repeats,
        "inbox_uncertain": stats.inbox_uncertain,
        "records": stats.records,
    })
}

pub fn open_report(report: &OpenReport) -> Value {
    let salvaged =
        |saved: &Salvage| json!({"submissions": saved.submissions, "damaged": saved.damaged});
    json!({
        "created": report.created,
        "lost_changes": report.lost_changes,
        "shared": report.shared,
        "restored": report.restored,
        "salvaged": report.salvaged.as_ref().map(salvaged),
    })
}

pub fn resolved_all(done: ResolvedAll) -> Value {
    json!({"resolved": done.resolved, "refused": done.refused})
}

pub fn signed_out(report: &SignedOutReport) -> Value {
    json!({
        "account": report.account,
        "kept": report.kept,
        "cancelled": report.cancelled,
        "abandoned": report.abandoned,
        "succeeded": report.succeeded,
    })
}

pub fn credentials_needed(account: &str, reason: CredentialsReason) -> Value {
    json!({"account": account, "reason": snake(reason)})
}

pub fn progress(progress: &UploadProgress) -> Value {
    json!({"id": progress.id.to_string(), "sent": progress.sent, "total": progress.total})
}

/// A profile without its rules.
pub fn profile(profile: &ServerProfile) -> Value {
    let mut form = serde_json::to_value(profile).unwrap();
    form.as_object_mut().unwrap().remove("rules");
    // The library leaves it out where it is false.
    form["latest_wins"] = json!(profile.latest_wins);
    form
}

/// Those of the limits that are counts, and those that are times, in milliseconds.
pub fn limits(limits: &Limits) -> Value {
    json!({
        "max_in_flight": limits.max_in_flight,
        "max_queued": limits.max_queued,
        "max_body_bytes": limits.max_body_bytes,
        "inline_body_bytes": limits.inline_body_bytes,
        "max_answer_bytes": limits.max_answer_bytes,
        "request_timeout": millis(limits.request_timeout),
        "idle_timeout": millis(limits.idle_timeout),
        "connect_timeout": millis(limits.connect_timeout),
        "lease": millis(limits.lease),
        "busy_timeout": millis(limits.busy_timeout),
        "backoff_first": millis(limits.backoff_first),
        "backoff_most": millis(limits.backoff_most),
        "server_wait_most": millis(limits.server_wait_most),
        "quiet_time": limits.quiet_time.map(millis),
        "retry_attempts": limits.retry_attempts,
        "retry_time": millis(limits.retry_time),
        "busy_attempts": limits.busy_attempts,
        "busy_time": millis(limits.busy_time),
        "horizon": millis(limits.horizon),
        "keep_results": millis(limits.keep_results),
        "keep_results_count": limits.keep_results_count,
        "keep_results_bytes": limits.keep_results_bytes,
        "keep_tombstones": millis(limits.keep_tombstones),
        "keep_changes": limits.keep_changes,
    })
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}

pub fn open_error(error: &OpenError) -> Value {
    match error {
        OpenError::InvalidConfig { field, problem } => {
            json!({"name": "InvalidConfig", "field": field, "problem": problem})
        }
        OpenError::IsDirectory => json!({"name": "IsDirectory"}),
        OpenError::ReadOnly => json!({"name": "ReadOnly"}),
        OpenError::NotAnOutbox { detail } => json!({"name": "NotAnOutbox", "detail": detail}),
        OpenError::SchemaTooNew { found, known } => {
            json!({"name": "SchemaTooNew", "found": found, "known": known})
        }
        OpenError::AlreadyOpen => json!({"name": "AlreadyOpen"}),
        OpenError::Setup { detail } => json!({"name": "Setup", "detail": detail}),
        OpenError::Storage { storage } => storage_error(storage),
    }
}

pub fn outbox_error(error: &OutboxError) -> Value {
    let current =
        |name: &str, current: &Snapshot| json!({"name": name, "current": snapshot(current)});
    match error {
        OutboxError::Closed => json!({"name": "Closed"}),
        OutboxError::MalformedId => json!({"name": "MalformedId"}),
        OutboxError::Invalid { field, problem } => {
            json!({"name": "Invalid", "field": field, "problem": problem})
        }
        OutboxError::HeaderRefused { name, reason } => {
            json!({"name": "HeaderRefused", "header": name, "reason": reason})
        }
        OutboxError::BodyTooLarge { bytes, most } => {
            json!({"name": "BodyTooLarge", "bytes": bytes, "most": most})
        }
        OutboxError::UnknownParent { id } => {
            json!({"name": "UnknownParent", "id": id.to_string()})
        }
        OutboxError::KeyReused {
            id,
            existing,
            differs,
        } => json!({
            "name": "KeyReused",
            "id": id.to_string(),
            "existing": snapshot(existing),
            "differs": differs,
        }),
        OutboxError::IdTooOld { id } => json!({"name": "IdTooOld", "id": id.to_string()}),
        OutboxError::QueueFull { most } => json!({"name": "QueueFull", "most": most}),
        OutboxError::NotSignedIn { account } => json!({"name": "NotSignedIn", "account": account}),
        OutboxError::UnknownId { id } => json!({"name": "UnknownId", "id": id.to_string()}),
        OutboxError::Stale { current: found } => current("Stale", found),
        OutboxError::NotHeld { current: found } => current("NotHeld", found),
        OutboxError::NeedsConsent { current: found } => current("NeedsConsent", found),
        OutboxError::CannotRetry { current: found } => current("CannotRetry", found),
        OutboxError::Storage { storage } => storage_error(storage),
    }
}

pub fn storage_error(error: &StorageError) -> Value {
    let what = match error {
        StorageError::Full => "full",
        StorageError::Busy => "busy",
        StorageError::Unavailable { .. } => "unavailable",
        StorageError::Corrupt { .. } => "corrupt",
        StorageError::Moved => "moved",
        StorageError::Indeterminate => "indeterminate",
        StorageError::Internal { .. } => "internal",
    };
    json!({"name": "Storage", "storage": what})
}
