//! The inbox's once-records.

use std::sync::Arc;
use std::time::Duration;

use super::Store;
use crate::error::{InboxError, StorageError};
use crate::model::inbox::{
    AppRow, AppStatement, InboxAnswer, InboxDecision, InboxFailure, InboxItem, InboxRun,
    UncertainItem,
};

fn open<T>() -> Result<T, InboxError> {
    Err(StorageError::Internal {
        detail: String::new(),
    }
    .into())
}

impl Store {
    pub(crate) fn inbox_begin(
        self: &Arc<Self>,
        _item: InboxItem,
    ) -> Result<InboxAnswer, InboxError> {
        open()
    }
    pub(crate) fn inbox_finish(
        self: &Arc<Self>,
        _run: InboxRun,
        _result: Option<Vec<u8>>,
        _statements: Vec<AppStatement>,
    ) -> Result<(), InboxError> {
        open()
    }
    pub(crate) fn inbox_fail(
        self: &Arc<Self>,
        _run: InboxRun,
        _failure: InboxFailure,
    ) -> Result<(), InboxError> {
        open()
    }
    pub(crate) fn inbox_extend(
        self: &Arc<Self>,
        _run: InboxRun,
        _lease: Duration,
    ) -> Result<(), InboxError> {
        open()
    }
    pub(crate) fn inbox_decide(
        self: &Arc<Self>,
        _scope: String,
        _key: String,
        _decision: InboxDecision,
    ) -> Result<(), InboxError> {
        open()
    }
    pub(crate) fn inbox_uncertain(
        self: &Arc<Self>,
        _scope: Option<String>,
        _limit: u32,
    ) -> Result<Vec<UncertainItem>, InboxError> {
        open()
    }
    pub(crate) fn inbox_query(
        self: &Arc<Self>,
        _statement: AppStatement,
    ) -> Result<Vec<AppRow>, InboxError> {
        open()
    }
}
