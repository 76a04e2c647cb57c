//! The transport: what carries one request to the server and reports what came of it.
//!
//! An implementation must
//! * call [`Exchange::confirm`] after the connection is chosen and connected, right before it
//!   hands the request's first byte over, and send nothing if it returns false;
//! * send the bytes as they are, once: no retries, no redirects, no cookies, no cache;
//! * report once, by [`Exchange::answered`] or [`Exchange::failed`]. A report that comes after the
//!   core gave up waiting is welcome: it can still settle a doubt;
//! * return from `start` at once, and stop the exchange when [`Exchange::stopped`] completes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;

use super::lease::Lease;
use crate::model::submission::Header;
use crate::policy::classify::Fault;

/// One request, exactly as it goes out. The same at every attempt, but for a `user-agent` that the
/// submission doesn't store.
#[derive(Clone, PartialEq)]
pub struct WireRequest {
    /// The method.
    pub method: String,
    /// The absolute URL.
    pub url: String,
    /// All headers but `Host` and `Content-Length`. Names in lower case.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Vec<u8>,
    /// The largest answer to read, in bytes.
    pub max_answer_bytes: usize,
}

impl fmt::Debug for WireRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireRequest")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// An answer, as it came.
#[derive(Clone, PartialEq)]
pub struct WireAnswer {
    /// The status.
    pub status: u16,
    /// The headers. Names in lower case.
    pub headers: Vec<Header>,
    /// The body, or what arrived of it.
    pub body: Vec<u8>,
    /// The body arrived whole and wasn't larger than allowed.
    pub complete: bool,
}

impl fmt::Debug for WireAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireAnswer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("complete", &self.complete)
            .finish_non_exhaustive()
    }
}

/// What became of an exchange.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reported {
    Answered(WireAnswer),
    Failed(Fault),
}

/// Carries requests.
pub trait Transport: Send + Sync + 'static {
    /// Starts one exchange and returns at once.
    fn start(&self, request: WireRequest, exchange: Exchange);
}

type Report = Box<dyn Fn(Reported) + Send + Sync>;

/// What the core and the transport share about one exchange.
pub(crate) struct Shared {
    lease: Arc<Lease>,
    report: Report,
    phase: AtomicU8,
    stopped: AtomicBool,
    reported: AtomicBool,
    done: Notify,
    stop: Notify,
}

// A request leaves `WAITING` once: the transport confirms it, or the core stops it first.
const WAITING: u8 = 0;
const CONFIRMED: u8 = 1;
const STOPPED: u8 = 2;

impl Shared {
    pub(crate) fn new(lease: Arc<Lease>, report: Report) -> Arc<Self> {
        Arc::new(Self {
            lease,
            report,
            phase: AtomicU8::new(WAITING),
            stopped: AtomicBool::new(false),
            reported: AtomicBool::new(false),
            done: Notify::new(),
            stop: Notify::new(),
        })
    }

    /// The last look. An exchange that was stopped never confirms again, whatever becomes of the
    /// lease: the engine stops what was on the wire before it takes a lapsed lease up anew.
    fn confirm(&self) -> bool {
        self.lease.holds()
            && !self.stopped.load(Ordering::Acquire)
            && (self
                .phase
                .compare_exchange(WAITING, CONFIRMED, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
                || self.is_confirmed())
    }

    fn is_confirmed(&self) -> bool {
        self.phase.load(Ordering::Acquire) == CONFIRMED
    }

    fn report(&self, reported: Reported) {
        let again = self.reported.swap(true, Ordering::AcqRel);
        self.done.notify_one();
        // A late answer may prove something; a late failure says nothing new.
        if !again || matches!(reported, Reported::Answered(_)) {
            (self.report)(reported);
        }
    }

    /// Ends the exchange from the core's side. The fault says whether bytes may have left.
    pub(crate) fn stop(&self, if_sent: Fault) -> Fault {
        self.stopped.store(true, Ordering::Release);
        let unsent = self
            .phase
            .compare_exchange(WAITING, STOPPED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        self.reported.store(true, Ordering::Release);
        self.done.notify_one();
        self.stop.notify_one();
        if unsent { Fault::NotSent } else { if_sent }
    }

    /// Gives up waiting after `timeout`, unless the exchange ends before.
    pub(crate) async fn time_out(self: Arc<Self>, sleep: crate::runtime::BoxFuture<()>) {
        tokio::select! {
            () = sleep => {
                if !self.reported.load(Ordering::Acquire) {
                    let fault = self.stop(Fault::TimedOut);
                    (self.report)(Reported::Failed(fault));
                }
            }
            () = self.done.notified() => {}
        }
    }
}

/// The transport's end of one exchange. Dropped without a report, it counts as failed.
pub struct Exchange {
    shared: Arc<Shared>,
    finished: AtomicBool,
}

impl Exchange {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            finished: AtomicBool::new(false),
        }
    }

    /// The last look at the lease. Call it after the connection is chosen and connected, right
    /// before the first byte; if it returns false, send nothing and report [`Fault::NotSent`].
    #[must_use]
    pub fn confirm(&self) -> bool {
        self.shared.confirm()
    }

    /// True once [`Exchange::confirm`] has returned true: bytes may have left.
    pub fn is_confirmed(&self) -> bool {
        self.shared.is_confirmed()
    }

    /// Completes when the core no longer waits for this exchange.
    pub async fn stopped(&self) {
        self.shared.stop.notified().await;
    }

    /// Reports an answer.
    pub fn answered(&self, answer: WireAnswer) {
        self.finished.store(true, Ordering::Release);
        self.shared.report(Reported::Answered(answer));
    }

    /// Reports that there is no answer. A fault that means "nothing was sent" is only believed if
    /// nothing was confirmed.
    pub fn failed(&self, fault: Fault) {
        self.finished.store(true, Ordering::Release);
        let fault = self.honest(fault);
        self.shared.report(Reported::Failed(fault));
    }

    fn honest(&self, fault: Fault) -> Fault {
        match (self.is_confirmed(), fault) {
            (true, Fault::Offline | Fault::Unreachable | Fault::Tls | Fault::NotSent) => {
                Fault::Lost
            }
            (false, Fault::Stopped) => Fault::NotSent,
            // A transport that says so without having asked is believed: better in doubt than
            // wrong.
            (_, fault) => fault,
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.finished.load(Ordering::Acquire) {
            let fault = self.honest(Fault::Stopped);
            self.shared.report(Reported::Failed(fault));
        }
    }
}
