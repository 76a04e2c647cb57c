//! Starting, stopping, and everything a test tells the server from Rust.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::header::HeaderName;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc as tokio_mpsc;

use crate::behaviour::{Behaviour, Matcher};
use crate::door::{self, Command};
use crate::faults::{Faults, FaultsError};
use crate::judge::JudgeError;
use crate::ledger::Ledger;
use crate::options::{Options, StartError};
use crate::playbook::Playbook;
use crate::store::Store;
use crate::tls::TlsOptions;

/// How long a stopping server waits for work that cannot be interrupted.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// What every connection and handler needs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) store: Store,
    pub(crate) door: tokio_mpsc::UnboundedSender<Command>,
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
}

/// A running server. Dropping it stops it: the port is closed, handlers end, and the database file
/// may be removed.
///
/// All methods are synchronous and may be called from any thread. The server runs on threads of
/// its own, so a plain `#[test]` can use it.
///
/// ```
/// use std::io::{Read, Write};
/// use submit_once_reference_server::{Options, ReferenceServer};
///
/// let server = ReferenceServer::start(Options::default())?;
/// let mut client = std::net::TcpStream::connect(server.addr())?;
/// client.write_all(
///     b"POST /orders HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k-1\r\n\
///       Content-Length: 2\r\nConnection: close\r\n\r\n{}",
/// )?;
/// let mut answer = String::new();
/// client.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 201 Created"));
/// assert_eq!(server.effects_of("k-1")?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReferenceServer {
    address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    network: Option<JoinHandle<()>>,
    database: Option<JoinHandle<()>>,
    /// Removed with the server, after its threads.
    _temporary: Option<tempfile::TempDir>,
}

impl ReferenceServer {
    /// Starts a server and returns once it listens.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing is left running then.
    pub fn start(options: Options) -> Result<Self, StartError> {
        options.faults.check()?;
        options.key_place.check().map_err(StartError::KeyPlace)?;
        let tls = options
            .tls
            .as_ref()
            .map(TlsOptions::config)
            .transpose()
            .map_err(|error| StartError::Tls(error.to_string()))?;
        for name in [Some(&options.key_header), options.replay_marker.as_ref()]
            .into_iter()
            .flatten()
        {
            HeaderName::try_from(name.as_str())
                .map_err(|_| StartError::HeaderName(name.clone()))?;
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("reference-server")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let (listener, address) = listen(&runtime, options.listen)?;

        let temporary = match options.database {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| StartError::Database {
                path: std::env::temp_dir(),
                reason: error.to_string(),
            })?),
        };
        let path = match (&options.database, &temporary) {
            (None, Some(folder)) => folder.path().join("reference-server.sqlite"),
            (path, _) => path.clone().unwrap_or_default(),
        };
        let (store, database) = Store::open(&path, options.durable, options.key_lifetime)
            .map_err(|reason| StartError::Database { path, reason })?;

        let playbook = Playbook::new(options.seed, options.faults.clone());
        let (door, commands) = tokio_mpsc::unbounded_channel();
        let ledger = Arc::new(Ledger::new(playbook, store.clone()));
        ledger.accept(options.principals.clone());
        let shared = Arc::new(Shared {
            options,
            ledger,
            store,
            door,
            tls,
        });
        let serving = door::serve(listener, address, commands, Arc::clone(&shared));
        let network = thread::Builder::new()
            .name("reference-server-network".to_owned())
            .spawn(move || {
                runtime.block_on(serving);
                runtime.shutdown_timeout(STOP_TIMEOUT);
            })
            .map_err(StartError::Threads)?;
        Ok(Self {
            address,
            shared,
            network: Some(network),
            database: Some(database),
            _temporary: temporary,
        })
    }

    /// The address it listens on, with the real port.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, like `http://127.0.0.1:43121`, without a slash at the end. With TLS it is
    /// like `https://localhost:43121`.
    #[must_use]
    pub fn url(&self) -> String {
        match self.shared.tls {
            Some(_) => format!("https://localhost:{}", self.address.port()),
            None => format!("http://{}", self.address),
        }
    }

    /// Gives the next matching requests these behaviours, one each, in order; later ones are
    /// [`Behaviour::Normal`] again. With several scripts the oldest that still has a behaviour for
    /// the request counts.
    pub fn script(&self, matcher: Matcher, behaviours: Vec<Behaviour>) {
        self.shared
            .ledger
            .playbook(|playbook| playbook.add_script(matcher, behaviours));
    }

    /// Gives every matching request this behaviour, unless a script has one for it. The newest
    /// matching order counts.
    pub fn always(&self, matcher: Matcher, behaviour: Behaviour) {
        self.shared
            .ledger
            .playbook(|playbook| playbook.add_standing(matcher, behaviour));
    }

    /// Forgets all scripts and standing orders.
    pub fn clear_scripts(&self) {
        self.shared.ledger.playbook(Playbook::clear_scripts);
    }

    /// Replaces the random faults.
    ///
    /// # Errors
    ///
    /// When a share or their sum is not between 0 and 1; nothing is changed then.
    pub fn set_faults(&self, faults: Faults) -> Result<(), FaultsError> {
        faults.check()?;
        self.shared
            .ledger
            .playbook(|playbook| playbook.set_faults(faults));
        Ok(())
    }

    /// Lets in only these values of `Authorization` (`Bearer a`) from now on. A request with
    /// another or none gets 401 before anything else: it draws no behaviour, and its key is not
    /// looked at. A reset does not change it.
    pub fn accept_tokens<T: Into<String>>(&self, tokens: impl IntoIterator<Item = T>) {
        let tokens = tokens.into_iter().map(Into::into).collect();
        self.shared.ledger.accept(Some(tokens));
    }

    /// Lets everybody in again.
    pub fn accept_anyone(&self) {
        self.shared.ledger.accept(None);
    }

    /// Lets every request that has arrived so far pass the hold `name`, whether it stands there
    /// already or has yet to reach it. Requests that arrive later stand again.
    pub fn release(&self, name: &str) {
        self.shared.ledger.release(name);
    }

    /// Lets every request that has arrived so far pass every hold, [`HANG`](crate::HANG) too.
    pub fn release_all(&self) {
        self.shared.ledger.release_all();
    }

    /// Forgets every key, as a server does after its retention, and says how many there were.
    /// Effects stay counted.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn forget_keys(&self) -> Result<u64, JudgeError> {
        let store = &self.shared.store;
        store
            .run_blocking(|database| database.forget_keys())
            .map_err(JudgeError::new)
    }

    /// Starts over: no records, keys, effects, scripts or counts; faults and options stay.
    /// Requests that are still in flight end without an answer or an effect.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn reset(&self) -> Result<(), JudgeError> {
        self.shared.ledger.reset().map_err(JudgeError::new)
    }

    /// Airplane mode: closes the port and every connection, and returns when that is done. New
    /// connections are refused. Handlers go on; it is the network that is gone, not the server.
    pub fn go_offline(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        if self.shared.door.send(Command::Offline(Some(done))).is_ok() {
            let _ = wait.recv();
        }
    }

    /// Listens again on the same port, and returns when it does.
    ///
    /// # Errors
    ///
    /// When another program took the port meanwhile, which a reservation all but rules out.
    pub fn go_online(&self) -> io::Result<()> {
        let (done, wait) = mpsc::sync_channel(1);
        let stopped = || io::Error::other("the server has stopped");
        self.shared
            .door
            .send(Command::Online(Some(done)))
            .map_err(|_| stopped())?;
        wait.recv().map_err(|_| stopped())?
    }

    /// Waits until the server stops, which a running one does only with its process.
    pub(crate) fn wait(mut self) {
        if let Some(network) = self.network.take() {
            let _ = network.join();
        }
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        let _ = self.shared.door.send(Command::Stop);
        if let Some(network) = self.network.take() {
            let _ = network.join();
        }
        // The handlers and connections are gone by now, and their last records are queued.
        self.shared.store.stop();
        if let Some(database) = self.database.take() {
            let _ = database.join();
        }
    }
}

/// Listens before anything else is set up, so that a port in use is an error of the start.
fn listen(runtime: &Runtime, address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let refused = |reason: io::Error| match reason.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse(address),
        _ => StartError::Listen { address, reason },
    };
    let listener = StdListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let actual = listener.local_addr().map_err(refused)?;
    // Registering needs the runtime's event queue.
    let _inside = runtime.enter();
    Ok((TcpListener::from_std(listener).map_err(refused)?, actual))
}
