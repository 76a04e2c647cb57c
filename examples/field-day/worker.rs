//! The worker process, from both ends: the child that drains, and the parent that starts and kills it.
//!
//! The child is this program with a hidden argument. It has its own connection to the database, asks for
//! the token of whoever is signed in, and ends by itself when its standard input closes, so that it never
//! outlives its parent.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use submit_once::{
    CredentialsListener, CredentialsReason, DrainBudget, Header, ListenerError, Outbox, OutboxError,
};

use crate::app;
use crate::args::WorkerArgs;
use crate::failure::{Failure, trouble};

/// How long a drain may take, and the pause between two.
const BUDGET: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

pub fn run(args: &WorkerArgs) -> ExitCode {
    match work(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("worker: {failure}");
            ExitCode::from(3)
        }
    }
}

fn work(args: &WorkerArgs) -> Result<(), Failure> {
    let outbox = Outbox::open(app::config(&args.folder, &args.base_url))
        .map_err(|error| trouble("the outbox did not open", error))?;
    let keychain = Keychain {
        outbox: Arc::downgrade(&outbox),
        folder: PathBuf::from(&args.folder),
    };
    outbox
        .set_credentials_listener(Some(Arc::new(keychain)))
        .map_err(|error| trouble("the outbox took no listener", error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| trouble("no runtime", error))?;
    let (parent, parent_gone) = mpsc::channel::<()>();
    let closing = Arc::clone(&outbox);
    thread::spawn(move || {
        // Nothing is ever written to it. An end or an error: either way the parent is gone.
        let _ = std::io::stdin().read(&mut [0]);
        closing.close();
        drop(parent);
    });
    loop {
        match runtime.block_on(outbox.drain(DrainBudget::of(BUDGET))) {
            Ok(_) => {}
            Err(OutboxError::Closed) => return Ok(()),
            Err(error) => eprintln!("worker: a drain failed: {error}"),
        }
        match parent_gone.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The tokens that a sign-in left on the device.
struct Keychain {
    outbox: Weak<Outbox>,
    folder: PathBuf,
}

impl CredentialsListener for Keychain {
    fn credentials_needed(
        &self,
        account: String,
        _reason: CredentialsReason,
    ) -> Result<(), ListenerError> {
        let token = read_token(&self.folder, &account).map_err(|_| ListenerError::Failed)?;
        let outbox = self.outbox.upgrade().ok_or(ListenerError::Failed)?;
        let header = Header {
            name: "Authorization".to_owned(),
            value: token,
        };
        // Somebody else may have signed in meanwhile; then they are asked for.
        let _ = outbox.supply_credentials(account, vec![header], None);
        Ok(())
    }
}

fn token_file(folder: &Path, account: &str) -> PathBuf {
    folder.join(format!("token-{account}"))
}

fn read_token(folder: &Path, account: &str) -> std::io::Result<String> {
    std::fs::read_to_string(token_file(folder, account))
}

/// Signs in anew at the token's service, in a way.
pub fn keep_token(folder: &Path, account: &str, token: &str) -> Result<(), Failure> {
    std::fs::write(token_file(folder, account), token)
        .map_err(|error| trouble("the token could not be kept", error))
}

/// The parent's end: one worker at a time.
pub struct Crew {
    args: WorkerArgs,
    current: Option<Child>,
    pub killed: u64,
}

impl Crew {
    pub fn new(args: WorkerArgs) -> Self {
        Self {
            args,
            current: None,
            killed: 0,
        }
    }

    pub fn start(&mut self) -> Result<(), Failure> {
        let child = std::env::current_exe()
            .and_then(|program| {
                Command::new(program)
                    .args(self.args.spell())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
            })
            .map_err(|error| trouble("the worker did not start", error))?;
        self.current = Some(child);
        Ok(())
    }

    /// Kills the worker, and starts the next.
    pub fn replace(&mut self) -> Result<(), Failure> {
        if let Some(mut child) = self.current.take() {
            // SIGKILL, on Unix.
            let status = child.kill().and_then(|()| child.wait());
            let status =
                status.map_err(|error| trouble("the worker could not be killed", error))?;
            if let Some(code) = status.code() {
                return Err(trouble("the worker ended by itself", code));
            }
            self.killed += 1;
        }
        self.start()
    }

    /// Closes the worker's standard input and waits until it has gone by itself.
    pub fn dismiss(&mut self) -> Result<(), Failure> {
        match self.current.take().map(|mut child| child.wait()) {
            None => Ok(()),
            Some(Ok(status)) if status.success() => Ok(()),
            Some(Ok(status)) => Err(trouble("the worker", status)),
            Some(Err(error)) => Err(trouble("the worker", error)),
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        if let Some(mut child) = self.current.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
