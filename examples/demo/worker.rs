//! The worker process, from both ends: the child that drains, and the parent that starts and kills
//! it.
//!
//! The child is this same program with a hidden argument, as WorkManager would start it: it opens
//! the app's database, drains what is due, waits, drains again. It ends by itself when its
//! standard input closes, so that it never outlives its parent.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use submit_once::{DrainBudget, Outbox, OutboxConfig, OutboxError};
use submit_once_reference_server::{Behaviour, ReferenceServer, RequestRecord};

use crate::args::WorkerArgs;
use crate::failure::{Failure, trouble};
use crate::shortened;

/// The user agent of each worker, with its number: what the server tells processes apart by.
const WORKERS: &str = "field-sales/worker-";

/// How long a drain may take.
const BUDGET: Duration = Duration::from_secs(20);

/// Between drains: what the app accepts meanwhile must not wait longer.
const PAUSE: Duration = Duration::from_millis(50);

/// The life of a worker, until it is killed or its standard input closes.
pub fn run(args: &WorkerArgs) -> ExitCode {
    match work(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{}: {failure}", args.user_agent);
            ExitCode::from(3)
        }
    }
}

fn work(args: &WorkerArgs) -> Result<(), Failure> {
    let config = OutboxConfig::at(&args.database)
        .base_url(&args.base_url)
        .user_agent(&args.user_agent)
        .limits(shortened::limits());
    let outbox = Outbox::open(config).map_err(|error| trouble("the outbox did not open", error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| trouble("no runtime", error))?;

    let (parent, parent_gone) = mpsc::channel::<()>();
    let closing = Arc::clone(&outbox);
    thread::spawn(move || {
        // Nothing is ever written to it. An end or an error: either way the parent is gone.
        let _ = std::io::stdin().read(&mut [0]);
        // Ends a drain that is under way.
        closing.close();
        drop(parent);
    });

    loop {
        let pause = match runtime.block_on(outbox.drain(DrainBudget::of(BUDGET))) {
            Ok(report) => report.next_wake_at.map_or(PAUSE, |at| {
                at.duration_since(SystemTime::now())
                    .unwrap_or_default()
                    .min(PAUSE)
            }),
            Err(OutboxError::Closed) => return Ok(()),
            Err(error) => {
                // As a real worker would: this run failed, the next may not.
                eprintln!("{}: a drain failed: {error}", args.user_agent);
                PAUSE
            }
        };
        match parent_gone.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// What became of the workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    pub killed: u64,
    /// Of these: at least one request had arrived at the server and was never answered.
    pub killed_with_request_on_wire: u64,
}

/// The parent's end: one worker at a time.
pub struct Crew<'a> {
    server: &'a ReferenceServer,
    database: PathBuf,
    current: Option<Worker>,
    started: u32,
    count: Count,
}

struct Worker {
    user_agent: String,
    child: Child,
    since: Instant,
}

impl<'a> Crew<'a> {
    pub fn new(server: &'a ReferenceServer, database: PathBuf) -> Self {
        Self {
            server,
            database,
            current: None,
            started: 0,
            count: Count::default(),
        }
    }

    pub fn count(&self) -> Count {
        self.count
    }

    /// Starts the next worker.
    pub fn start(&mut self) -> Result<(), Failure> {
        self.started += 1;
        let args = WorkerArgs {
            database: self.database.to_string_lossy().into_owned(),
            base_url: self.server.url(),
            user_agent: format!("{WORKERS}{}", self.started),
        };
        let child = std::env::current_exe()
            .and_then(|program| {
                Command::new(program)
                    .args(args.spell())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn()
            })
            .map_err(|error| trouble("the worker did not start", error))?;
        self.current = Some(Worker {
            user_agent: args.user_agent,
            child,
            since: Instant::now(),
        });
        Ok(())
    }

    /// Waits until the server has a request of the worker and stands over it, which leaves time to
    /// strike. False if there was none within the time.
    pub fn wait_for_slow_request(&self, timeout: Duration) -> bool {
        self.wait_for(timeout, |record| {
            matches!(
                record.behaviour,
                Behaviour::WorkLate(_) | Behaviour::AnswerLate(_)
            )
        })
    }

    /// Waits until the server has any request of the worker.
    pub fn wait_for_request(&self, timeout: Duration) -> bool {
        self.wait_for(timeout, |_| true)
    }

    fn wait_for(&self, timeout: Duration, wanted: impl Fn(&RequestRecord) -> bool) -> bool {
        let Some(worker) = &self.current else {
            return false;
        };
        self.server.wait_for(
            |records| {
                records
                    .iter()
                    .any(|record| unanswered(record, &worker.user_agent) && wanted(record))
            },
            timeout,
        )
    }

    /// Kills the worker and says what that was worth.
    pub fn kill(&mut self) -> Result<String, Failure> {
        let Some(mut worker) = self.current.take() else {
            return Err(trouble("the worker", "there is none to kill"));
        };
        let before: Vec<u64> = self
            .server
            .in_flight()
            .iter()
            .filter(|record| unanswered(record, &worker.user_agent))
            .map(|record| record.number)
            .collect();
        // SIGKILL, on Unix.
        let status = worker.child.kill().and_then(|()| worker.child.wait());
        let lived = worker.since.elapsed();
        let status = status.map_err(|error| trouble("the worker could not be killed", error))?;
        if let Some(code) = status.code() {
            let what = format!("{} ended by itself", worker.user_agent);
            return Err(trouble(&what, format!("exit status {code}")));
        }
        // The process is gone now. Whatever it had asked and the server has not answered yet was
        // on the wire when it died.
        let on_wire = self
            .server
            .records()
            .iter()
            .filter(|record| before.contains(&record.number) && record.answered_at_ns.is_none())
            .count();
        self.count.killed += 1;
        if on_wire > 0 {
            self.count.killed_with_request_on_wire += 1;
        }
        Ok(format!(
            "  {} killed after {} ms, {} at the server",
            worker.user_agent,
            lived.as_millis(),
            match on_wire {
                0 => "no request".to_owned(),
                1 => "1 request".to_owned(),
                n => format!("{n} requests"),
            }
        ))
    }

    /// Closes the worker's standard input and waits until it has gone by itself.
    pub fn dismiss(&mut self) -> Result<(), Failure> {
        let Some(mut worker) = self.current.take() else {
            return Ok(());
        };
        // `wait` closes the child's standard input first.
        let status = worker.child.wait();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(trouble(&worker.user_agent, status)),
            Err(error) => Err(trouble(&worker.user_agent, error)),
        }
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        if let Some(mut worker) = self.current.take() {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}

/// Whether a request came from a worker process.
pub fn is_worker(record: &RequestRecord) -> bool {
    let user_agent = record.user_agent.as_deref();
    user_agent.is_some_and(|user_agent| user_agent.starts_with(WORKERS))
}

/// Whether the server has this request of the worker whole, and has not answered. A request whose
/// connection the server is about to cut by itself doesn't count.
fn unanswered(record: &RequestRecord, user_agent: &str) -> bool {
    record.user_agent.as_deref() == Some(user_agent)
        && record.body_complete
        && record.answered_at_ns.is_none()
        && record.lost_at_ns.is_none()
        && !matches!(
            record.behaviour,
            Behaviour::CommitThenDrop | Behaviour::AnswerHalf
        )
}
