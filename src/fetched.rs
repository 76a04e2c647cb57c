//! Fetched values: configuration, and whatever else is asked for again and again.

use crate::error::OutboxError;
use crate::model::outcome::Fetched;
use crate::model::request::{check_account, check_name};
use crate::outbox::Outbox;

#[uniffi::export]
impl Outbox {
    /// The latest value of a latest-wins key whose submissions are `GET`s without an effect: the result
    /// of the newest that succeeded, of this account or of nobody. It stays until a newer one succeeds:
    /// a failure never removes it, an older answer never takes its place, retention never drops it. A
    /// submission that is accepted while there is one asks only whether it has changed
    /// (`If-None-Match`), and succeeds with a 304 if it hasn't.
    pub fn current(
        &self,
        account: Option<String>,
        key: String,
    ) -> Result<Option<Fetched>, OutboxError> {
        if let Some(account) = &account {
            check_account(account)?;
        }
        check_name("key", &key)?;
        self.store()?.current(account.as_deref(), &key)
    }
}
