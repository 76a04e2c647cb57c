//! How a server is set up, and why it may refuse to start.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::faults::{Faults, FaultsError};
use crate::key_place::KeyPlace;
use crate::tls::TlsOptions;

/// How a [`ReferenceServer`](crate::ReferenceServer) behaves from its first request on.
///
/// The default is a careful server: it demands a key, locks a key that is being handled, replays
/// answers with a marker and never misbehaves.
///
/// ```
/// use std::time::Duration;
/// use submit_once_reference_server::Options;
///
/// let forgetful = Options {
///     key_lifetime: Some(Duration::from_secs(60)),
///     locks: false,
///     ..Options::default()
/// };
/// assert_eq!(forgetful.key_header, "Idempotency-Key");
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on; port 0 takes a free port. Default: `127.0.0.1:0`.
    ///
    /// The control API has no password, so stay on loopback unless the network is your own.
    pub listen: SocketAddr,
    /// The SQLite file with keys, effects and requests. `None` (the default) uses a temporary file
    /// that goes away with the server. An existing file is continued: its keys still replay.
    pub database: Option<PathBuf>,
    /// Sync each commit to the disk. Default: false, since a judge that dies with its machine has
    /// nothing left to judge, and syncs cost it most of its speed.
    pub durable: bool,
    /// The header that carries the idempotency key. Default: `Idempotency-Key`. The value is
    /// compared as it stands: `"k"` with quotes and `k` without are two keys.
    pub key_header: String,
    /// Where the key is. Default: in that header.
    pub key_place: KeyPlace,
    /// Answer 400 when a write has no key. Default: true. With false such a write makes an effect
    /// each time it arrives.
    pub require_key: bool,
    /// Forget a key this long after it was stored. Default: `None`, never. A forgotten key runs
    /// again, and its second effect is counted as a duplicate.
    pub key_lifetime: Option<Duration>,
    /// The header (value `true`) on a replayed answer. Default: `Idempotency-Replayed`; `None`
    /// replays without a marker.
    pub replay_marker: Option<String>,
    /// Answer 409 while the same key is being handled. Default: true. With false the server looks
    /// the key up first and acts later, so that two requests at once can make two effects.
    pub locks: bool,
    /// Let `PUT` without a key through as an overwrite, which is harmless to repeat.
    /// Default: false.
    pub allow_plain_put: bool,
    /// The values of `Authorization` (`Bearer a`) that are let in; a request with another or none
    /// gets 401. Default: `None`, everybody. Later
    /// [`ReferenceServer::accept_tokens`](crate::ReferenceServer::accept_tokens) changes it.
    pub principals: Option<Vec<String>>,
    /// Look keys up per value of `Authorization`. Default: false. With true a key that comes with
    /// a refreshed token is a new one, and runs again.
    pub key_scope_token: bool,
    /// Speak TLS. Default: `None`, plain HTTP/1.1.
    pub tls: Option<TlsOptions>,
    /// Answer 413, without an effect, to a write whose body is longer. Default: `None`, no limit.
    pub max_body_bytes: Option<u64>,
    /// Keep the body of each effect (up to 16 MiB of it), for
    /// [`ReferenceServer::bodies`](crate::ReferenceServer::bodies). Default: false.
    pub keep_bodies: bool,
    /// Random faults. Default: none.
    pub faults: Faults,
    /// The seed of the random faults. The same seed gives the same key the same faults.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: None,
            durable: false,
            key_header: "Idempotency-Key".to_owned(),
            key_place: KeyPlace::Header,
            require_key: true,
            key_lifetime: None,
            replay_marker: Some("Idempotency-Replayed".to_owned()),
            locks: true,
            allow_plain_put: false,
            principals: None,
            key_scope_token: false,
            tls: None,
            max_body_bytes: None,
            keep_bodies: false,
            faults: Faults::default(),
            seed: 0,
        }
    }
}

/// Why a server did not start. Nothing is left running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Somebody else listens on the address: choose another port, or port 0.
    #[error("the address {0} is already in use")]
    AddressInUse(SocketAddr),
    /// The address cannot be listened on: it is not this machine's, or the port is privileged.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address from the options.
        address: SocketAddr,
        /// What the operating system said.
        reason: std::io::Error,
    },
    /// The database cannot be opened or is not one of this server's.
    #[error("cannot use the database {}: {reason}", path.display())]
    Database {
        /// The file from the options, or the temporary one.
        path: PathBuf,
        /// What SQLite or the operating system said.
        reason: String,
    },
    /// A header name in the options is not a header name.
    #[error("`{0}` is not a valid header name")]
    HeaderName(String),
    /// No key can be at the place in the options: pointers and paths begin with a slash, and names
    /// are not empty.
    #[error("no key can be found at `{0}`")]
    KeyPlace(String),
    /// TLS cannot be spoken with this certificate and key.
    #[error("cannot speak TLS: {0}")]
    Tls(String),
    /// The random faults contradict themselves.
    #[error(transparent)]
    Faults(#[from] FaultsError),
    /// The machine gave no thread or no event queue.
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}
