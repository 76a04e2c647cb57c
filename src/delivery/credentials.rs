//! Credentials: in memory only, asked for when they are needed, one question for any number of
//! submissions.
//!
//! The core nudges ([`CredentialsListener`]) and the host answers whenever it has something
//! (`supply_credentials`); an offline host doesn't answer, and is asked again later. A refusal by
//! the server asks once; the second in a row closes the account's gate, and what the host supplies
//! then is tried the later the more often it was refused: a dead refresh token makes no loop.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::engine::lock;
use crate::clock::{Clock, UptimeMs, WallMs};
use crate::error::ListenerError;
use crate::model::submission::Header;
use crate::policy::backoff::exponential;
use crate::policy::limits::{CREDENTIALS_MARGIN, CREDENTIALS_PATIENCE, Limits};
use crate::store::{SignedIn, Usable};

/// Told that an account's credentials are needed. Only a nudge: answer with `supply_credentials`,
/// during the call or any time after it, or not at all while that isn't possible.
#[uniffi::export(rust, foreign)]
pub trait CredentialsListener: Send + Sync {
    /// Called on a thread of the core. It may call the outbox. An error is ignored.
    fn credentials_needed(
        &self,
        account: String,
        reason: CredentialsReason,
    ) -> Result<(), ListenerError>;
}

/// Why credentials are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum CredentialsReason {
    /// There are none: they are never stored, so it is like that after each start.
    Missing,
    /// They are about to expire, or have.
    Expiring,
    /// The server refused them. Get fresh ones.
    Refused,
    /// The server refused fresh ones, too. Nothing of the account is sent any more until the host
    /// supplies others: the user has to sign in again.
    RefusedAgain,
}

/// The credentials of the account that is signed in.
pub(crate) struct Desk {
    inner: Mutex<Inner>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

#[derive(Default)]
struct Inner {
    supplied: Option<Supplied>,
    asked: Option<Asked>,
    /// By handle, in the order in which they were set. The last is asked; when it goes, the one before.
    listeners: Vec<(u64, Arc<dyn CredentialsListener>)>,
    /// Calls that supply some just now, and those that have ended.
    supplying: u32,
    supplies: u64,
}

/// Credentials are being supplied, until it is dropped.
pub(crate) struct Supplying<'a>(&'a Desk);

impl Drop for Supplying<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.supplying -= 1;
        inner.supplies += 1;
    }
}

struct Supplied {
    usable: Usable,
    headers: Vec<Header>,
    from: UptimeMs,
    until: Option<UptimeMs>,
    /// The server has refused them.
    refused: bool,
}

struct Asked {
    account: String,
    reason: CredentialsReason,
    /// What was there when it was asked.
    number: Option<i64>,
    at: UptimeMs,
    times: u32,
    demand: u64,
}

/// What became of a look at whether to ask.
#[derive(Default)]
pub(super) struct Asking {
    /// Whom to nudge, now and without a lock held.
    pub(super) nudge: Option<(Arc<dyn CredentialsListener>, CredentialsReason)>,
    /// When to look again.
    pub(super) again: Option<Duration>,
    /// An answer may come at any moment.
    pub(super) awaited: bool,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

impl Desk {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        Self {
            inner: Mutex::default(),
            clock,
            limits,
        }
    }

    /// Sets whom a handle wants asked, or nobody.
    pub(crate) fn set_listener(&self, handle: u64, listener: Option<Arc<dyn CredentialsListener>>) {
        let before: Vec<_> = {
            let mut inner = lock(&self.inner);
            let before = inner.listeners.extract_if(.., |(of, _)| *of == handle);
            let before: Vec<_> = before.collect();
            if listener.is_some() || !before.is_empty() {
                inner.asked = None;
            }
            inner
                .listeners
                .extend(listener.map(|listener| (handle, listener)));
            before
        };
        // Without the lock: what a host does when its listener goes is its own affair.
        drop(before);
    }

    /// What is found missing from now on may be there already. Nudge the engine when it is dropped.
    pub(crate) fn begin_supply(&self) -> Supplying<'_> {
        lock(&self.inner).supplying += 1;
        Supplying(self)
    }

    /// How often credentials were supplied.
    pub(super) fn supplies(&self) -> u64 {
        lock(&self.inner).supplies
    }

    /// The number of these credentials, if they are the ones that are there.
    pub(crate) fn same(&self, account: &str, headers: &[Header]) -> Option<i64> {
        let inner = lock(&self.inner);
        let supplied = inner.supplied.as_ref()?;
        let same = supplied.usable.account == account && supplied.headers == headers;
        (same && !supplied.refused).then_some(supplied.usable.number)
    }

    /// Takes credentials over.
    pub(crate) fn supply(
        &self,
        signed_in: &SignedIn,
        number: i64,
        headers: Vec<Header>,
        valid_until: Option<WallMs>,
    ) {
        let now = self.clock.now();
        let wait = match signed_in.refusals {
            0 | 1 => Duration::ZERO,
            refusals => exponential(refusals - 1, &self.limits),
        };
        // A time that has passed says that a clock is wrong, perhaps this one: the server will tell.
        let left = valid_until
            .map(|until| until.since(now.wall))
            .filter(|left| !left.is_zero());
        let until = left.map(|left| {
            let margin = CREDENTIALS_MARGIN.min(left / 2);
            now.uptime.plus(left.saturating_sub(margin))
        });
        let mut inner = lock(&self.inner);
        inner.asked = None;
        inner.supplied = Some(Supplied {
            usable: Usable {
                account: signed_in.name.clone(),
                number,
            },
            headers,
            from: now.uptime.plus(wait),
            until,
            refused: false,
        });
    }

    pub(crate) fn forget(&self) {
        let mut inner = lock(&self.inner);
        inner.supplied = None;
        inner.asked = None;
    }

    /// Credentials that can be used now.
    pub(crate) fn usable(&self) -> Option<Usable> {
        let now = self.clock.now().uptime;
        let inner = lock(&self.inner);
        let supplied = inner.supplied.as_ref()?;
        if supplied.refused {
            return None;
        }
        let in_time = supplied.from <= now && supplied.until.is_none_or(|until| now < until);
        in_time.then(|| supplied.usable.clone())
    }

    /// Takes note of what the database knows of the account. True if that changed what can be used.
    pub(super) fn note(&self, signed_in: Option<&SignedIn>) -> bool {
        let mut inner = lock(&self.inner);
        let Some(supplied) = &mut inner.supplied else {
            return false;
        };
        let refused = signed_in.is_some_and(|signed_in| {
            signed_in.name == supplied.usable.account && supplied.usable.number <= signed_in.refused
        });
        std::mem::replace(&mut supplied.refused, refused) != refused
    }

    /// The headers themselves, if they are still the ones that were claimed with.
    pub(super) fn headers(&self, usable: &Usable) -> Option<Vec<Header>> {
        let inner = lock(&self.inner);
        let supplied = inner.supplied.as_ref()?;
        (supplied.usable == *usable).then(|| supplied.headers.clone())
    }

    /// Submissions of the account waited for nothing but credentials, when there had been so many
    /// `supplies`: decides whether to ask. `demand` is the number of the last drain or start.
    pub(super) fn ask(&self, signed_in: &SignedIn, demand: u64, supplies: u64) -> Asking {
        let now = self.clock.now().uptime;
        let mut inner = lock(&self.inner);
        if inner.supplying > 0 || inner.supplies != supplies {
            // They came meanwhile, and a nudge comes with them.
            return Asking {
                awaited: true,
                ..Asking::default()
            };
        }
        let own = inner
            .supplied
            .as_ref()
            .filter(|supplied| supplied.usable.account == signed_in.name);
        let number = own.map(|supplied| supplied.usable.number);
        let reason = match own {
            _ if signed_in.closed => CredentialsReason::RefusedAgain,
            // The last ones were refused, before this process began perhaps: fresh ones are needed.
            None if signed_in.refusals > 0 => CredentialsReason::Refused,
            None => CredentialsReason::Missing,
            Some(supplied) if supplied.refused => CredentialsReason::Refused,
            Some(supplied) if supplied.from > now => {
                return Asking {
                    again: Some(supplied.from.since(now)),
                    ..Asking::default()
                };
            }
            Some(_) => CredentialsReason::Expiring,
        };
        let latched = reason == CredentialsReason::RefusedAgain;
        let before = inner
            .asked
            .as_ref()
            .filter(|asked| asked.account == signed_in.name)
            .filter(|asked| asked.reason == reason && asked.number == number);
        let times = before.map_or(0, |asked| asked.times);
        if let Some(asked) = before {
            let waited = now.since(asked.at);
            let patience = CREDENTIALS_PATIENCE
                .saturating_mul(1 << times.min(16))
                .min(self.limits.backoff_most);
            let anew = demand > asked.demand && waited >= CREDENTIALS_PATIENCE;
            if !anew && (latched || waited < patience) {
                return Asking {
                    nudge: None,
                    again: (!latched).then(|| {
                        let awaited = CREDENTIALS_PATIENCE.saturating_sub(waited);
                        if awaited.is_zero() {
                            patience.saturating_sub(waited)
                        } else {
                            awaited
                        }
                    }),
                    awaited: !latched
                        && !inner.listeners.is_empty()
                        && waited < CREDENTIALS_PATIENCE,
                };
            }
        }
        inner.asked = Some(Asked {
            account: signed_in.name.clone(),
            reason,
            number,
            at: now,
            times: times + 1,
            demand,
        });
        Asking {
            nudge: inner
                .listeners
                .last()
                .map(|(_, listener)| (Arc::clone(listener), reason)),
            // To let a drain go that waits for the answer; the next question comes later.
            again: (!latched).then_some(CREDENTIALS_PATIENCE),
            awaited: !latched && !inner.listeners.is_empty(),
        }
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
