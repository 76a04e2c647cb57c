//! What the inbox says and is told: once-records for effects on this side.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::policy::limits::{LONGEST, MAX_NAME_BYTES};

/// Something that came in, or is to be done on this side, once: a push message, a local notification, a
/// period of a periodic worker, a step of an agent.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct InboxItem {
    /// What kind of thing it is, for example `push`. Keys of different scopes never meet. 1 to 1,024
    /// bytes.
    pub scope: String,
    /// What makes it the same when it comes again: the message's ID, the step's, the date of the day.
    /// 1 to 1,024 bytes.
    pub key: String,
    /// The content that comes with the key, for example a tool's arguments: with another one, or none, under
    /// the same key, `begin` refuses with `KeyReused`. Only a hash of it is kept. Left out: the key alone
    /// tells.
    #[uniffi(default = None)]
    pub content: Option<Vec<u8>>,
    /// What to do when nobody can know whether it happened.
    pub policy: InboxPolicy,
    /// How long a run may take. After that it counts as lost, whether its process lives or not, and the
    /// policy decides. Time counts while the device sleeps, too. 1 millisecond to 7 days; left out: ten
    /// minutes. See `extend`.
    #[uniffi(default = None)]
    pub lease: Option<Duration>,
}

impl InboxItem {
    /// An item that is known by its key alone.
    pub fn new(scope: &str, key: &str, policy: InboxPolicy) -> Self {
        Self {
            scope: scope.to_owned(),
            key: key.to_owned(),
            content: None,
            policy,
            lease: None,
        }
    }

    /// Sets the content that comes with the key.
    #[must_use]
    pub fn content(mut self, content: impl Into<Vec<u8>>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// Sets how long a run may take.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }
}

impl fmt::Debug for InboxItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys and contents may name a person.
        f.debug_struct("InboxItem")
            .field("scope", &self.scope)
            .field("content_bytes", &self.content.as_ref().map(Vec::len))
            .field("policy", &self.policy)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

/// What to do when a run was lost: its process was killed, or its time was over. A kill after the effect
/// can't be told from one before it. Where the run that was lost began with the other policy than is asked
/// for now, `AtMostOnce` counts. Once a run of `AtLeastOnce` may have had its effect, `AtMostOnce` gets
/// `Uncertain`, whatever later runs said of theirs, until the item is done or somebody decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum InboxPolicy {
    /// It never runs a second time by itself: `Uncertain` is answered until somebody decides. For what
    /// must not happen twice, and can't be recognised where it happens: a payment, a message sent.
    AtMostOnce,
    /// It runs again. For what may happen twice without harm, since it overwrites or is recognised where
    /// it happens: a notification with an ID, a cache cleaned, a row written with `finish_with`.
    AtLeastOnce,
}

/// What `begin` answers.
#[derive(Clone, PartialEq, Eq, uniffi::Enum)]
#[uniffi::export(Debug)]
pub enum InboxAnswer {
    /// It is yours: do it now, then call `finish` or `fail`.
    Run {
        /// What names this run.
        run: InboxRun,
    },
    /// Somebody else is doing it: another task, or another process.
    Busy {
        /// Since when, by this device's clock, or by a later time that is known where it is behind.
        since: SystemTime,
    },
    /// It was done before. Do nothing, and use the first result.
    Done {
        /// The first result, as `finish` was given it. Nothing if that was given none, or if it was
        /// dropped.
        result: Option<Vec<u8>>,
        /// Retention has dropped the result; that it was done is still known.
        dropped: bool,
        /// When, by the same clock as `since`.
        at: SystemTime,
    },
    /// It may have happened: a run was lost, or gave up without knowing, and the policy is `AtMostOnce`.
    /// Nothing runs until `decide`.
    Uncertain {
        /// When the lost run began, by this device's clock.
        since: SystemTime,
    },
}

impl fmt::Debug for InboxAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { run } => f.debug_struct("Run").field("run", run).finish(),
            Self::Busy { since } => f.debug_struct("Busy").field("since", since).finish(),
            Self::Done {
                result,
                dropped,
                at,
            } => f
                .debug_struct("Done")
                .field("result_bytes", &result.as_ref().map(Vec::len))
                .field("dropped", dropped)
                .field("at", at)
                .finish(),
            Self::Uncertain { since } => f.debug_struct("Uncertain").field("since", since).finish(),
        }
    }
}

/// Names one run of an item, and fences earlier ones off.
#[derive(Clone, PartialEq, Eq, Hash, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct InboxRun {
    /// The item's scope.
    pub scope: String,
    /// The item's key.
    pub key: String,
    /// Greater for each later run of the item, also where the item was forgotten meanwhile. 1 for the first
    /// run of an item as long as nothing was forgotten.
    pub number: i64,
}

impl fmt::Debug for InboxRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxRun")
            .field("scope", &self.scope)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// What a run that failed knows of its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum InboxFailure {
    /// Nothing happened in this run. The next `begin` runs it, by either policy, unless an earlier run
    /// may have had its effect.
    NothingHappened,
    /// It may have happened. The policy decides, as for a run that was lost.
    MayHaveHappened,
}

/// A decision about an item that is uncertain.
#[derive(Clone, PartialEq, Eq, uniffi::Enum)]
#[uniffi::export(Debug)]
pub enum InboxDecision {
    /// It happened, as the app or its user found out in another way.
    Happened {
        /// The result to give from now on, if one is known.
        result: Option<Vec<u8>>,
    },
    /// It didn't happen, or may happen again: the next `begin` runs it.
    RunAgain,
}

impl fmt::Debug for InboxDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Happened { result } => f
                .debug_struct("Happened")
                .field("result_bytes", &result.as_ref().map(Vec::len))
                .finish(),
            Self::RunAgain => f.write_str("RunAgain"),
        }
    }
}

/// An item that waits for a decision.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct UncertainItem {
    /// Its scope.
    pub scope: String,
    /// Its key.
    pub key: String,
    /// When the lost run began, by this device's clock.
    pub since: SystemTime,
    /// Runs so far.
    pub runs: i64,
}

impl fmt::Debug for UncertainItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UncertainItem")
            .field("scope", &self.scope)
            .field("since", &self.since)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

/// How long a scope remembers. An age only counts by the `Date` of a server that answered since the
/// boot, as for submissions. Each opener of a file forgets by the scopes that it names itself: all of them
/// must name the same, or the shortest time counts.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct InboxScope {
    /// The scope.
    pub name: String,
    /// How long results are kept after their item was done.
    pub keep_results: Duration,
    /// How long it is remembered after that that it was done: what comes again later runs again. Left
    /// out: for ever. Choose it longer than anything can come again.
    #[uniffi(default = None)]
    pub keep_keys: Option<Duration>,
}

impl InboxScope {
    /// Refuses scopes that make no sense.
    pub(crate) fn check(scopes: &[Self]) -> Result<(), &'static str> {
        for (n, scope) in scopes.iter().enumerate() {
            if scope.name.is_empty() || scope.name.len() > MAX_NAME_BYTES {
                return Err("names have 1 to 1,024 bytes");
            }
            if scopes
                .iter()
                .skip(n + 1)
                .any(|other| other.name == scope.name)
            {
                return Err("name each scope once");
            }
            if scope.keep_results > LONGEST || scope.keep_keys.is_some_and(|keep| keep > LONGEST) {
                return Err("times must be shorter than a hundred years");
            }
        }
        Ok(())
    }
}

/// A statement of the app, for tables of its own in the outbox's file.
#[derive(Clone, PartialEq, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct AppStatement {
    /// One SQL statement. It may make, change and read tables, indexes, views and triggers whose names
    /// begin with `app_`, and nothing else.
    pub sql: String,
    /// The values of its parameters `?1`, `?2`, …. Parameters with names are refused.
    #[uniffi(default = [])]
    pub parameters: Vec<SqlValue>,
}

impl AppStatement {
    /// A statement with its parameters.
    pub fn new(sql: &str, parameters: impl IntoIterator<Item = SqlValue>) -> Self {
        Self {
            sql: sql.to_owned(),
            parameters: parameters.into_iter().collect(),
        }
    }
}

impl fmt::Debug for AppStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppStatement")
            .field("sql", &self.sql)
            .field("parameters", &self.parameters.len())
            .finish()
    }
}

/// A value of SQLite's.
#[derive(Clone, PartialEq, uniffi::Enum)]
#[uniffi::export(Debug)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// A whole number.
    Integer {
        /// It.
        value: i64,
    },
    /// A floating-point number.
    Real {
        /// It.
        value: f64,
    },
    /// A text.
    Text {
        /// It.
        value: String,
    },
    /// Bytes.
    Blob {
        /// They.
        value: Vec<u8>,
    },
}

impl fmt::Debug for SqlValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Null",
            Self::Integer { .. } => "Integer",
            Self::Real { .. } => "Real",
            Self::Text { .. } => "Text",
            Self::Blob { .. } => "Blob",
        })
    }
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Integer { value }
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real { value }
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text {
            value: value.to_owned(),
        }
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob { value }
    }
}

/// A row of an app's own table.
#[derive(Debug, Clone, PartialEq, uniffi::Record)]
pub struct AppRow {
    /// Its values, in the order of the query's columns.
    pub values: Vec<SqlValue>,
}
