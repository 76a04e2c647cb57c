//! What an outbox is opened with.

use std::sync::Arc;

use crate::clock::Clock;
use crate::delivery::transport::Transport;
use crate::entropy::Entropy;
use crate::policy::limits::Limits;
use crate::policy::profile::ServerProfile;
use crate::runtime::Executor;

/// The configuration of an outbox. Only the path is needed.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct OutboxConfig {
    /// The database file, in a private folder of its own that is not backed up. Files that belong
    /// to it are put beside it, under names that begin with its own.
    pub path: String,
    /// What paths of submissions are joined to, for example `https://api.example.com/v2`.
    #[uniffi(default = None)]
    pub base_url: Option<String>,
    /// How the server treats keys. Left out: an `Idempotency-Key` header, remembered for 24 hours.
    #[uniffi(default = None)]
    pub profile: Option<ServerProfile>,
    /// Numbers to tune.
    #[uniffi(default = None)]
    pub limits: Option<Limits>,
    /// The `User-Agent` of requests that store none.
    #[uniffi(default = None)]
    pub user_agent: Option<String>,
    /// What identifies this boot of the device, where the host knows better than the system.
    #[uniffi(default = None)]
    pub boot: Option<String>,
}

impl OutboxConfig {
    /// The defaults, with the database at this path.
    pub fn at(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            base_url: None,
            profile: None,
            limits: None,
            user_agent: None,
            boot: None,
        }
    }

    /// Sets the base URL.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the server profile.
    #[must_use]
    pub fn profile(mut self, profile: ServerProfile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Sets the user agent.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }
}

/// What the core takes from the outside world. Each can be replaced, so that the real core runs in
/// a simulation; `None` is the real thing.
#[derive(Default, Clone)]
pub struct Seams {
    /// Time.
    pub clock: Option<Arc<dyn Clock>>,
    /// Randomness.
    pub entropy: Option<Arc<dyn Entropy>>,
    /// Spawning, sleeping and blocking.
    pub executor: Option<Arc<dyn Executor>>,
    /// The network.
    pub transport: Option<Arc<dyn Transport>>,
    /// The name of a registered SQLite VFS: the disk.
    pub vfs: Option<String>,
    /// Share nothing with other outboxes of this process on the same path, as if they were of
    /// another process: for simulations of several.
    pub apart: bool,
}
