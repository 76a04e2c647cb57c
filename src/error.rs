//! The errors of the two boundaries: opening an outbox, and using one. Each variant says what the
//! caller can do. No message shows a body, a header's value or a credential.

use crate::model::id::SubmissionId;
use crate::model::outcome::Snapshot;

/// Why an outbox could not be opened. Nothing has been moved or deleted. A damaged file is no reason:
/// it is salvaged, see `OpenReport`. While another process has it open, that waits: `Storage` with
/// `Busy`.
#[derive(Debug, Clone, PartialEq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum OpenError {
    /// The configuration makes no sense: fix the field.
    #[error("the configuration's {field} is not usable: {problem}")]
    InvalidConfig {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The path is a directory: name a file in it.
    #[error("the path is a directory; name a file in it, such as outbox.sqlite3")]
    IsDirectory,
    /// The file or its folder can't be written to.
    #[error("the database or its folder is read-only; use a private, writable folder")]
    ReadOnly,
    /// The file is something else. Choose another path; nothing was changed.
    #[error("the file is not an outbox: {detail}; choose another path")]
    NotAnOutbox {
        /// What it looks like.
        detail: String,
    },
    /// A newer version of the library wrote the file. Update the app; nothing was changed.
    #[error("the file has schema {found}, this version knows up to {known}; update the app")]
    SchemaTooNew {
        /// The file's schema.
        found: i64,
        /// The newest that this version knows.
        known: i64,
    },
    /// This process has the file open with another configuration. Use the same one.
    #[error("this process has the outbox open with another configuration; share one")]
    AlreadyOpen,
    /// The runtime or the TLS stack could not be set up.
    #[error("the runtime could not be set up: {detail}")]
    Setup {
        /// What failed.
        detail: String,
    },
    /// The database said no.
    #[error(transparent)]
    Storage {
        /// What it said.
        #[from]
        storage: StorageError,
    },
}

/// What the database said. Nothing half-done is left behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum StorageError {
    /// The disk is full. Free some space and call again; joining and replaying still work.
    #[error("the disk is full; free some space and call again with the same ID")]
    Full,
    /// Another process holds the database for longer than the busy timeout. Call again.
    #[error("another process is using the database; call again")]
    Busy,
    /// The file can't be reached now, for example while an iPhone is locked. Call again later.
    #[error("the database can't be reached now: {detail}; call again later")]
    Unavailable {
        /// What the system said.
        detail: String,
    },
    /// The file's content is damaged. Keep it: it holds keys that must not be lost. Met while the
    /// outbox is open: close it and open it again, which saves what can be read into a new file and
    /// tells so in `OpenReport`.
    #[error("the database is damaged: {detail}; keep the file, it holds keys")]
    Corrupt {
        /// What SQLite said.
        detail: String,
    },
    /// The file was moved, replaced or deleted under the open outbox. Close it and open anew.
    #[error("the database was moved or deleted while open; close the outbox and open it again")]
    Moved,
    /// The commit failed in a way that leaves open whether it is durable. Call again with the same
    /// ID: it converges.
    #[error("it is not certain that the change is durable; call again with the same ID")]
    Indeterminate,
    /// A defect of this library. Please report it.
    #[error("internal error: {detail}")]
    Internal {
        /// Where.
        detail: String,
    },
}

/// Why a call on an outbox was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Display)]
pub enum OutboxError {
    /// The outbox was closed. Open it again.
    #[error("the outbox is closed; open it again")]
    Closed,
    /// A text is not a submission ID.
    #[error("the text is not a submission ID; use one from begin, new or derived")]
    MalformedId,
    /// A field of the input is not usable: fix it.
    #[error("{field} is not usable: {problem}")]
    Invalid {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A header can't be stored with a submission.
    #[error("the header {name} can't be stored: {reason}")]
    HeaderRefused {
        /// The header.
        name: String,
        /// Why.
        reason: String,
    },
    /// The body is larger than the outbox takes.
    #[error(
        "the body has {bytes} bytes, the outbox takes {most}; raise max_body_bytes or send less"
    )]
    BodyTooLarge {
        /// The body's size.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// A parent isn't known here. Submit it first; then nothing can wait for itself.
    #[error("the parent {id} isn't known here; submit it first")]
    UnknownParent {
        /// The parent.
        id: SubmissionId,
    },
    /// The ID belongs to another submission. Nothing was stored or sent. A new action needs a new
    /// ID.
    #[error(
        "the ID {id} belongs to a submission that differs in {differs:?}; a new action needs a new ID"
    )]
    KeyReused {
        /// The ID.
        id: SubmissionId,
        /// The submission that has it.
        existing: Box<Snapshot>,
        /// The names of the parts that differ.
        differs: Vec<String>,
    },
    /// The ID is unknown and older than the memory of settled submissions reaches, so it can't be
    /// told whether it was sent before. Find out at the server; a new action needs a new ID.
    #[error(
        "the ID {id} is older than settled submissions are remembered; a new action needs a new ID"
    )]
    IdTooOld {
        /// The ID.
        id: SubmissionId,
    },
    /// As many submissions are waiting as the outbox takes. Nothing was dropped. Drain it, and decide
    /// what is held.
    #[error(
        "{most} submissions are waiting, as many as the outbox takes; drain, or decide what is held"
    )]
    QueueFull {
        /// The limit.
        most: u32,
    },
    /// The account isn't the one that is signed in. Call `sign_in` first.
    #[error("the account isn't signed in; call sign_in before its credentials are supplied")]
    NotSignedIn {
        /// The account.
        account: String,
    },
    /// No submission has this ID.
    #[error("no submission has the ID {id}; submit it, or check where the ID came from")]
    UnknownId {
        /// The ID.
        id: SubmissionId,
    },
    /// The submission has changed since the revision that the decision is about. Look again.
    #[error("the submission has changed since; look at it again before deciding")]
    Stale {
        /// How it stands now.
        current: Box<Snapshot>,
    },
    /// Only a held submission can be decided.
    #[error("the submission isn't held; there is nothing to decide")]
    NotHeld {
        /// How it stands.
        current: Box<Snapshot>,
    },
    /// The server may have forgotten the key, so that a retry could take effect a second time.
    /// Ask the user, then say `accept_second_effect`.
    #[error("the server may have forgotten the key; a retry needs accept_second_effect")]
    NeedsConsent {
        /// How it stands.
        current: Box<Snapshot>,
    },
    /// What is stored can't be sent: it is damaged, or a part of it is missing. A part can be
    /// supplied with `FillParts`; else only "it happened" and "give up" are left, and a new action.
    #[error(
        "what is stored can't be sent: supply its missing parts, decide it happened, or give up"
    )]
    CannotRetry {
        /// How it stands.
        current: Box<Snapshot>,
    },
    /// The database said no.
    #[error(transparent)]
    Storage {
        /// What it said.
        #[from]
        storage: StorageError,
    },
}

/// Why a call on an inbox was refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error, uniffi::Error)]
#[uniffi::export(Debug, Display)]
pub enum InboxError {
    /// The outbox was closed. Open it again.
    #[error("the outbox is closed; open it again")]
    Closed,
    /// A field of the input is not usable: fix it.
    #[error("{field} is not usable: {problem}")]
    Invalid {
        /// The field.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The key came with another content before. Nothing was changed. Another thing to do needs
    /// another key.
    #[error("the key came to the scope {scope} with another content before; use another key")]
    KeyReused {
        /// The scope.
        scope: String,
        /// The key.
        key: String,
    },
    /// The run isn't the one that counts any more: its time was over and another began, it was given
    /// up, or a decision was made. Nothing was changed. Ask `begin` for what stands.
    #[error("the run in the scope {scope} was lost to another, or decided; ask begin what stands")]
    RunLost {
        /// The scope.
        scope: String,
        /// The key.
        key: String,
    },
    /// There is nothing to decide: the item isn't uncertain.
    #[error("the item in the scope {scope} isn't uncertain; there is nothing to decide")]
    NotUncertain {
        /// The scope.
        scope: String,
        /// The key.
        key: String,
    },
    /// A statement of the app isn't allowed, or failed. Nothing was changed.
    #[error("statement {number} was refused: {problem}")]
    Statement {
        /// Which one, from 1.
        number: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// The database said no.
    #[error(transparent)]
    Storage {
        /// What it said.
        #[from]
        storage: StorageError,
    },
}

impl std::fmt::Debug for InboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key, which may name a person.
        write!(f, "InboxError({self})")
    }
}

impl From<OutboxError> for InboxError {
    fn from(error: OutboxError) -> Self {
        match error {
            OutboxError::Closed => Self::Closed,
            OutboxError::Storage { storage } => Self::Storage { storage },
            OutboxError::Invalid { field, problem } => Self::Invalid { field, problem },
            // The inbox has nothing to do with submissions.
            other => Self::Storage {
                storage: StorageError::Internal {
                    detail: other.to_string(),
                },
            },
        }
    }
}

/// What a listener may throw. It changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, uniffi::Error)]
pub enum ListenerError {
    /// The listener failed.
    #[error("the listener failed")]
    Failed,
}

impl From<uniffi::UnexpectedUniFFICallbackError> for ListenerError {
    fn from(_: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed
    }
}
