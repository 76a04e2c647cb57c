//! # submit-once
//!
//! An offline-sync core for mobile apps. An app hands it a *submission* ("create this order"); the
//! core gives it a stable ID, writes it durably to SQLite and delivers it over HTTP, retrying with
//! the same key until the outcome is certain. Double taps, re-run workers, killed processes, lost
//! answers and a second process converge to one effect and one result, which can be replayed.
//!
//! ## The story of a submission
//!
//! 1. [`Outbox::begin`] gives the intent an ID and remembers it, so that a form that is opened
//!    again, after the process died too, goes on with the same one.
//! 2. [`Outbox::submit`] freezes the request and stores it. When it returns, the submission is
//!    durable; the second tap on the button *joins* it.
//! 3. [`Outbox::start`] in the foreground, or [`Outbox::drain`] in a worker, claims what is due.
//!    A claim opens an *attempt* in the same transaction, before the first byte leaves.
//! 4. The answer, or the lack of one, is judged: applied, not applied, or unknown. Unknown attempts
//!    put the submission *in doubt*; it is then repeated with the same key, or held for a decision
//!    where that isn't safe, and never called undone.
//! 5. The first result is stored with the final state, in one transaction. Every later caller gets
//!    it: [`Outbox::wait`], [`Outbox::snapshot`], or a repeated submit, which *replays* it.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use submit_once::{Outbox, OutboxConfig, Submission};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let outbox = Outbox::open(OutboxConfig::at("orders/outbox.sqlite3"))?;
//! let id = outbox.begin("new-order-form".into())?;
//! let order = Submission::post(id, "https://api.example.com/orders").json(r#"{"item":"tea"}"#);
//! outbox.submit(order)?; // durable from here on; call it as often as the button is tapped
//! outbox.start()?;
//! let waited = outbox.wait(id, Duration::from_secs(30)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! ## The house
//!
//! Data flows one way: `model` (what is a submission) → `store` (keep it) → `delivery` (move it), with
//! `policy` (decide) asked by delivery. Nothing below knows anything above. What an answer of your
//! server would mean can be asked in [`classification`] without sending anything.

// The code of the page is compiled with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/scenes.md")]
struct Scenes;

mod accounts;
mod batch;
mod cancellation;
pub mod classification;
mod clock;
mod config;
mod core;
mod decisions;
mod delivery;
mod entropy;
mod error;
mod fetched;
mod inbox;
mod listener;
mod metrics;
mod model;
mod outbox;
mod policy;
mod progress;
#[doc(hidden)]
pub mod rules;
mod runs;
mod runtime;
mod store;
mod trace;
mod waiting;
mod weakness;

pub use batch::Batch;
pub use cancellation::Cancellation;
pub use clock::{Clock, Now, SystemClock, UptimeMs, WallMs};
pub use config::{CertificatePin, OutboxConfig, Seams, TlsConfig, TrustRoots};
pub use delivery::credentials::{CredentialsListener, CredentialsReason};
pub use delivery::drain::{DrainBudget, DrainReport, DrainStop};
pub use delivery::engine::NetworkKind;
pub use delivery::http::HttpTransport;
pub use delivery::transport::{
    Exchange, ExchangeStop, Reported, Transport, WireAnswer, WireBody, WireRequest,
};
pub use delivery::wind_down::WindDown;
pub use entropy::{Entropy, SystemEntropy};
pub use error::{InboxError, ListenerError, OpenError, OutboxError, StorageError};
pub use inbox::Inbox;
pub use listener::ChangeListener;
pub use metrics::{HeldCount, SettleTimes, Stats};
pub use model::batch::{BatchConfig, BatchFormat, RecordReceipt};
pub use model::id::{
    IdError, SubmissionId, derive_submission_id, new_submission_id, parse_submission_id,
};
pub use model::inbox::{
    AppRow, AppStatement, InboxAnswer, InboxDecision, InboxFailure, InboxItem, InboxPolicy,
    InboxRun, InboxScope, SqlValue, UncertainItem,
};
pub use model::links::{LanePolicy, ParentPart, PartSource, PartTarget, PartValue};
pub use model::outcome::{
    CancelOutcome, Change, ChangePage, Fetched, ListFilter, ListState, Outcome, PageRequest,
    Receipt, ReceiptKind, Resolution, ResolvedAll, SignOut, SignedOutReport, Snapshot,
    SnapshotPage, UploadProgress, Waited, WaitingFor,
};
pub use model::state::{HoldReason, RejectReason, SubmissionState};
pub use model::submission::{Body, Effect, Header, Submission};
pub use outbox::{Outbox, Reconciled};
pub use policy::built_in::{BuiltInProfile, built_in_profile, profile_from_json};
pub use policy::classify::Fault;
pub use policy::limits::{Limits, default_limits};
pub use policy::probe::StatusProbe;
pub use policy::profile::{KeyPlace, KeyScope, KeySpelling, ReplayedErrors, ServerProfile};
pub use policy::rules::{AnswerRule, HeaderCondition, MemberCondition, RuleVerdict};
pub use progress::ProgressListener;
pub use runs::RunNetwork;
pub use runtime::{BoxFuture, Executor, OwnRuntime};
pub use store::{OpenReport, Salvage};

uniffi::setup_scaffolding!();
