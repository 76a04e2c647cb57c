//! Accounts, their credentials, and the network: what the host tells the outbox about the world.

use std::sync::Arc;
use std::time::SystemTime;

use crate::clock::WallMs;
use crate::core::lock;
use crate::delivery::credentials::CredentialsListener;
use crate::delivery::engine::NetworkKind;
use crate::error::OutboxError;
use crate::model::headers::read_credentials;
use crate::model::outcome::{SignOut, SignedOutReport};
use crate::model::request::check_account;
use crate::model::submission::Header;
use crate::outbox::Outbox;

#[uniffi::export]
impl Outbox {
    /// Signs an account in, and any other out. Which one is remembered; its credentials are not.
    /// What others have submitted is kept and waits. An account whose gate was closed, since its
    /// credentials were refused, is asked for new ones. Durable when it returns.
    ///
    /// # Errors
    /// [`OutboxError::Invalid`] for a name that is empty or longer than 1,024 bytes;
    /// [`OutboxError::Storage`].
    pub fn sign_in(&self, account: String) -> Result<(), OutboxError> {
        check_account(&account)?;
        let store = self.store()?;
        let _signing = lock(&self.core.signing);
        self.core.engine.parts().desk.forget();
        store.sign_in(&account)?;
        self.core.engine.nudge();
        Ok(())
    }

    /// Signs the account out and forgets its credentials. With `Keep`, what it has submitted is kept
    /// and waits for it to come back; requests that are on the wire come to their end. With `Purge`,
    /// everything of it ends and is deleted: requests on the wire are stopped, what is in doubt is
    /// abandoned; only what recognises late duplicates stays. A purge that a kill interrupts goes on
    /// at the next opening, and so does one that failed, if it isn't called again. What another process
    /// has on the wire is stopped within a second if somebody observes there, else within half a minute.
    /// Takes a transaction for every hundred submissions or so.
    ///
    /// # Errors
    /// [`OutboxError::Storage`]. With `Purge`, call again: it goes on, and counts all of it.
    pub fn sign_out(&self, how: SignOut) -> Result<SignedOutReport, OutboxError> {
        let store = self.store()?;
        let _signing = lock(&self.core.signing);
        self.core.engine.parts().desk.forget();
        match how {
            SignOut::Keep => store.sign_out(),
            SignOut::Purge => self.core.engine.purge(),
        }
    }

    /// The account that is signed in, here or by another process.
    pub fn signed_in(&self) -> Result<Option<String>, OutboxError> {
        Ok(self.store()?.signed_in()?.map(|signed_in| signed_in.name))
    }

    /// Gives the headers that the account's requests carry from now on, for example `Authorization`.
    /// They are kept in memory alone. `valid_until`, by this device's clock, lets fresh ones be asked
    /// for in time. A list without headers means that the account needs none.
    ///
    /// # Errors
    /// [`OutboxError::NotSignedIn`] for another account than the one that is signed in;
    /// [`OutboxError::Invalid`] and [`OutboxError::HeaderRefused`] for headers that can't be sent.
    pub fn supply_credentials(
        &self,
        account: String,
        headers: Vec<Header>,
        valid_until: Option<SystemTime>,
    ) -> Result<(), OutboxError> {
        let headers = read_credentials(headers, &self.core.profile)?;
        let names = headers.iter().map(|header| header.name.clone()).collect();
        let store = self.store()?;
        let engine = &self.core.engine;
        let desk = &engine.parts().desk;
        let supplying = desk.begin_supply();
        let supplied = store
            .credentials_supplied(&account, names, desk.same(&account, &headers))
            .map(|(signed_in, number)| {
                let valid_until = valid_until.map(WallMs::from_system_time);
                desk.supply(&signed_in, number, headers, valid_until);
            });
        drop(supplying);
        engine.nudge();
        // What waits for them waits for something else now, and nothing of that was written down.
        engine.changed().send_modify(|count| *count += 1);
        supplied
    }

    /// Sets who is told that credentials are needed, or nobody. Replaces the one before of this
    /// handle. Of several handles on one path the one is told that was set last.
    pub fn set_credentials_listener(
        &self,
        listener: Option<Arc<dyn CredentialsListener>>,
    ) -> Result<(), OutboxError> {
        self.store()?;
        self.core
            .engine
            .parts()
            .desk
            .set_listener(self.handle, listener);
        if let Err(closed) = self.store() {
            // Closed meanwhile: nobody else takes it down.
            self.core
                .engine
                .parts()
                .desk
                .set_listener(self.handle, None);
            return Err(closed);
        }
        self.core.engine.nudge();
        Ok(())
    }

    /// Tells what the system says of the network. Waits that are for want of one end within seconds;
    /// never a wait that the server asked for, and never the quiet time. What may only go over an
    /// unmetered network is stopped when it costs, and waits until somebody has told of one that doesn't.
    /// For everything else it is a hint: nothing depends on its coming. Waits for a turn of the
    /// delivery that is under way, some milliseconds.
    ///
    /// # Errors
    /// [`OutboxError::Closed`], and [`OutboxError::Storage`] if the waits can't be written down.
    pub fn network_available(&self, kind: NetworkKind) -> Result<(), OutboxError> {
        self.store()?;
        self.core.engine.network_available(kind)
    }
}
