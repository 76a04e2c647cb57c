//! The transport: what carries one request to the server and reports what came of it.
//!
//! An implementation must
//! * call [`Exchange::confirm`] after the connection is chosen and connected, right before it
//!   hands the request's first byte over, and send nothing if it returns false;
//! * send the bytes as they are, once: no retries, no redirects, no cookies, no cache;
//! * decode the body of an answer (`Content-Encoding`), or not ask for an encoding, and stop reading
//!   at `max_answer_bytes` of decoded bytes, or after `idle_timeout` without any; what was cut is
//!   reported as not complete;
//! * call [`Exchange::progress`] while it hands a large body over: without it the request must be
//!   answered within the request timeout;
//! * report once, by [`Exchange::answered`] or [`Exchange::failed`]. A report that comes after the
//!   core gave up waiting is welcome: it can still settle a doubt;
//! * return from `start` at once, and stop the exchange when [`Exchange::stopped`] completes.
//!
//! The repository has a conformance suite for implementations, `tests/conformance`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::model::submission::Header;
use crate::policy::classify::Fault;
use crate::runtime::BoxFuture;

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
    pub body: WireBody,
    /// The largest answer to read, in decoded bytes.
    pub max_answer_bytes: usize,
    /// How long the answer's body may pause.
    pub idle_timeout: Duration,
    /// Don't use a connection again that is there: the server said that this one leads to the wrong
    /// place (421; RFC 9110, section 15.5.20).
    pub fresh_connection: bool,
}

impl fmt::Debug for WireRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireRequest")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The bytes of a request.
#[derive(Clone, PartialEq, Eq)]
pub enum WireBody {
    /// In memory.
    Bytes(Bytes),
    /// In a file, to be streamed. Its length and its digest have just been checked; if it can't be
    /// read to this length after all, the request must not end as if it were whole.
    File {
        /// Where.
        path: PathBuf,
        /// How long.
        length: u64,
    },
}

impl WireBody {
    /// The length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// The bytes, if they are in memory.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::File { .. } => None,
        }
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for WireBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WireBody({} bytes)", self.len())
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
    /// The body arrived whole, could be decoded, and wasn't larger than allowed.
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
pub enum Reported {
    /// An answer came.
    Answered(WireAnswer),
    /// No answer came, or none that can be read.
    Failed(Fault),
}

/// Carries requests.
pub trait Transport: Send + Sync + 'static {
    /// Starts one exchange and returns at once.
    fn start(&self, request: WireRequest, exchange: Exchange);
}

/// What the core does when the transport speaks.
pub(crate) struct Ears {
    /// The last look: the lease still holds.
    pub(crate) holds: Box<dyn Fn() -> bool + Send + Sync>,
    pub(crate) reported: Box<dyn Fn(Reported) + Send + Sync>,
    /// So many bytes of the body have been handed over.
    pub(crate) progressed: Box<dyn Fn(u64) + Send + Sync>,
}

/// What the core and the transport share about one exchange.
pub(crate) struct Shared {
    ears: Ears,
    sent: AtomicU64,
    phase: AtomicU8,
    stopped: AtomicBool,
    superseded: AtomicBool,
    reported: AtomicBool,
    moved: Notify,
    done: Notify,
    stop: Notify,
}

// A request leaves `WAITING` once: the transport confirms it, or the core stops it first.
const WAITING: u8 = 0;
const CONFIRMED: u8 = 1;
const STOPPED: u8 = 2;

impl Shared {
    pub(crate) fn new(ears: Ears) -> Arc<Self> {
        Arc::new(Self {
            ears,
            sent: AtomicU64::new(0),
            phase: AtomicU8::new(WAITING),
            stopped: AtomicBool::new(false),
            superseded: AtomicBool::new(false),
            reported: AtomicBool::new(false),
            moved: Notify::new(),
            done: Notify::new(),
            stop: Notify::new(),
        })
    }

    /// The last look. An exchange that was stopped never confirms again, whatever becomes of the
    /// lease: the engine stops what was on the wire before it takes a lapsed lease up anew.
    fn confirm(&self) -> bool {
        (self.ears.holds)()
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

    /// Another exchange has taken this one's place: its answer was a redirect that was followed, and
    /// whatever it reports now says nothing of the attempt.
    pub(crate) fn supersede(&self) {
        self.superseded.store(true, Ordering::Release);
    }

    fn report(&self, reported: Reported) {
        if self.superseded.load(Ordering::Acquire) {
            return;
        }
        let again = self.reported.swap(true, Ordering::AcqRel);
        self.done.notify_one();
        // A late answer may prove something; a late failure says nothing new.
        if !again || matches!(reported, Reported::Answered(_)) {
            (self.ears.reported)(reported);
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

    /// Gives up when nothing has come, and nothing of the body has gone, for as long as a `sleep`.
    pub(crate) async fn time_out(self: Arc<Self>, sleep: impl Fn() -> BoxFuture<()>) {
        loop {
            tokio::select! {
                biased;
                () = self.done.notified() => return,
                () = self.moved.notified() => {}
                () = sleep() => {
                    if !self.reported.load(Ordering::Acquire) {
                        let fault = self.stop(Fault::TimedOut);
                        (self.ears.reported)(Reported::Failed(fault));
                    }
                    return;
                }
            }
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

    /// An exchange outside of an outbox, to test a transport with: `holds` is what the last look
    /// finds, `reported` gets every report.
    pub fn observed(
        holds: impl Fn() -> bool + Send + Sync + 'static,
        reported: impl Fn(Reported) + Send + Sync + 'static,
    ) -> (Self, ExchangeStop) {
        let shared = Shared::new(Ears {
            holds: Box::new(holds),
            reported: Box::new(reported),
            progressed: Box::new(|_| {}),
        });
        (Self::new(Arc::clone(&shared)), ExchangeStop(shared))
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

    /// True once the core no longer waits for this exchange.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Acquire)
    }

    /// Says how many bytes of the body have been handed over so far. As long as they grow, the
    /// request isn't given up.
    pub fn progress(&self, sent: u64) {
        if self.shared.sent.fetch_max(sent, Ordering::AcqRel) < sent {
            self.shared.moved.notify_one();
        }
        (self.shared.ears.progressed)(sent);
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
            (
                true,
                Fault::Offline
                | Fault::Unreachable
                | Fault::Tls
                | Fault::TlsClock
                | Fault::NotSent
                | Fault::BodyMissing
                | Fault::BodyChanged
                | Fault::BodyUnreadable,
            ) => Fault::Lost,
            (false, Fault::Stopped) => Fault::NotSent,
            // A transport that says so without having asked is believed: better in doubt than
            // wrong.
            (_, fault) => fault,
        }
    }
}

/// Ends an exchange from the core's side, in a test of a transport.
pub struct ExchangeStop(Arc<Shared>);

impl ExchangeStop {
    #[cfg(test)]
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    /// How many bytes of the body the transport says it has handed over.
    pub fn progress(&self) -> u64 {
        self.0.sent.load(Ordering::Acquire)
    }

    /// What `suspend` does to an exchange. True if it certainly sent nothing and never will.
    pub fn stop(&self) -> bool {
        self.0.stop(Fault::Stopped) == Fault::NotSent
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
