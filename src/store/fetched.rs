//! Fetched values: the latest result of each latest-wins key whose submissions only read.

use std::sync::Arc;

use super::Store;
use crate::error::{OutboxError, StorageError};
use crate::model::outcome::Fetched;

impl Store {
    pub(crate) fn current(
        self: &Arc<Self>,
        _account: Option<&str>,
        _key: &str,
    ) -> Result<Option<Fetched>, OutboxError> {
        Err(StorageError::Internal {
            detail: String::new(),
        }
        .into())
    }
}
