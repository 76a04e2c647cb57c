//! What an outbox is opened with.

use std::fmt;
use std::sync::Arc;

use crate::clock::Clock;
use crate::delivery::transport::Transport;
use crate::entropy::Entropy;
use crate::model::inbox::InboxScope;
use crate::policy::limits::Limits;
use crate::policy::profile::ServerProfile;
use crate::runtime::Executor;

/// The configuration of an outbox. Only the path is needed.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
#[uniffi::export(Debug)]
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
    /// Whom to trust over TLS, besides or instead of the bundled roots.
    #[uniffi(default = None)]
    pub tls: Option<TlsConfig>,
    /// What identifies this boot of the device, where the host knows better than the system: on
    /// Android the boot count.
    #[uniffi(default = None)]
    pub boot: Option<String>,
    /// What identifies this installation of the app on this device, and is never restored with a
    /// backup: on Android `ANDROID_ID`. Kept with the database when it is told first. If another one
    /// is told later, the file is a copy (a restored backup, a cloned device), and everything unsettled
    /// in it is held as `Restored`: see `OpenReport.restored`. Left out: copies aren't noticed.
    #[uniffi(default = None)]
    pub install_id: Option<String>,
    /// How long the inbox's scopes remember, each at most once. A scope that isn't named keeps results
    /// for 30 days, and that they were done for 90 more. Name the same ones wherever the file is opened.
    #[uniffi(default = [])]
    pub inbox_scopes: Vec<InboxScope>,
}

impl fmt::Debug for OutboxConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A base URL with a password in it is refused, and may be shown before it is.
        f.debug_struct("OutboxConfig")
            .field("path", &self.path)
            .field("profile", &self.profile)
            .field("limits", &self.limits)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
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
            tls: None,
            boot: None,
            install_id: None,
            inbox_scopes: Vec::new(),
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

    /// Sets whom to trust over TLS.
    #[must_use]
    pub fn tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the user agent.
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }
}

/// Whom to trust over TLS. There is no way to trust everybody.
#[derive(Clone, PartialEq, Eq, Default, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct TlsConfig {
    /// Where the roots come from.
    #[uniffi(default = None)]
    pub roots: Option<TrustRoots>,
    /// Root certificates to trust besides, in PEM (any number in one) or DER: those of a company's
    /// own CA, or of a test server.
    #[uniffi(default = [])]
    pub extra_roots: Vec<Vec<u8>>,
    /// Public keys to demand of some hosts, checked in the handshake: not a byte of a request
    /// leaves before. Name a spare key beside the one in use, or a change of the key at the server
    /// locks every installed app out.
    #[uniffi(default = [])]
    pub pins: Vec<CertificatePin>,
}

impl fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A private key may have been put among the roots by mistake.
        f.debug_struct("TlsConfig")
            .field("roots", &self.roots)
            .field("extra_roots", &self.extra_roots.len())
            .field("pins", &self.pins)
            .finish()
    }
}

/// Where root certificates come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, uniffi::Enum)]
pub enum TrustRoots {
    /// Mozilla's roots, compiled in. The default.
    #[default]
    Bundled,
    /// The operating system's verifier, which knows the roots that a user or a company added. Needs
    /// the feature `platform-verifier`, and on Android its Kotlin part, set up before the first
    /// connection. There it takes no `extra_roots`.
    Platform,
    /// None but `extra_roots`.
    ExtraOnly,
}

/// A public key that a host must show, in its own certificate or in that of a CA above it.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct CertificatePin {
    /// The host, for example `api.example.com`. Others are not concerned; of several pins for one
    /// host any is enough.
    pub host: String,
    /// SHA-256 of the certificate's SubjectPublicKeyInfo: 32 bytes, as in RFC 7469.
    pub sha256: Vec<u8>,
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
