//! What an SQLite error means to a caller.

use rusqlite::ffi::{self, ErrorCode};

use crate::error::StorageError;
use crate::model::state::IllegalTransition;

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(code, text) = &error else {
            return Self::Internal {
                detail: without_values(&error),
            };
        };
        let detail = text.clone().unwrap_or_else(|| code.to_string());
        match code.code {
            ErrorCode::DiskFull => Self::Full,
            // The log's index couldn't grow, and it is a file like any other.
            ErrorCode::SystemIoFailure if code.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                Self::Full
            }
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Corrupt { detail },
            ErrorCode::ReadOnly if code.extended_code == ffi::SQLITE_READONLY_DBMOVED => {
                Self::Moved
            }
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::OutOfMemory => Self::Unavailable { detail },
            _ => Self::Internal { detail },
        }
    }
}

/// rusqlite's other errors may quote a value; the kind is enough.
fn without_values(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::InvalidColumnType(_, name, kind) => {
            format!("column {name} holds {kind}")
        }
        rusqlite::Error::QueryReturnedNoRows => "a row is missing".to_owned(),
        rusqlite::Error::FromSqlConversionFailure(column, kind, _) => {
            format!("column {column} of type {kind} can't be read")
        }
        _ => "the database interface failed".to_owned(),
    }
}

impl From<IllegalTransition> for StorageError {
    fn from(illegal: IllegalTransition) -> Self {
        Self::Internal {
            detail: illegal.to_string(),
        }
    }
}

impl From<IllegalTransition> for crate::error::OutboxError {
    fn from(illegal: IllegalTransition) -> Self {
        StorageError::from(illegal).into()
    }
}

/// True if a failed commit leaves open whether it is durable: a sync or a write of the log failed.
pub(super) fn is_indeterminate(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(code, _)
        if code.code == ErrorCode::SystemIoFailure)
}
