//! The engine of one database in one process: the pump, what is on the wire, and who wants it to
//! run.
//!
//! `suspend` takes the lock of the gate, which a turn holds from its beginning to its end: when it
//! returns, nothing of the pump is on the way to the database any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};

use super::credentials::Desk;
use super::drain::{Drain, DrainStop, Next};
use super::gate::{Gate, Report};
use super::lease::Lease;
use super::transport::Transport;
use crate::clock::Clock;
use crate::entropy::{Entropy, up_to};
use crate::error::{OutboxError, StorageError};
use crate::policy::limits::{Limits, NETWORK_JITTER, STORE_RETRY_FIRST, STORE_RETRY_MOST};
use crate::progress::Uploads;
use crate::runtime::{Executor, run_blocking};
use crate::store::{Stepped, Store, Terms, earliest};

/// What the engine is made of: every seam in one place.
pub(crate) struct Parts {
    pub(crate) store: Arc<Store>,
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) desk: Desk,
    pub(crate) limits: Limits,
    pub(crate) user_agent: String,
}

pub(crate) struct Engine {
    pub(super) parts: Parts,
    pub(super) lease: Arc<Lease>,
    pub(super) uploads: Arc<Uploads>,
    pub(super) gate: Mutex<Gate>,
    pub(super) demand: Mutex<Demand>,
    pub(super) nudge: Arc<Notify>,
    pub(super) reports: mpsc::UnboundedSender<Report>,
    network: Mutex<Option<NetworkKind>>,
    changed: watch::Sender<u64>,
}

/// What kind of network there is, as far as the host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum NetworkKind {
    /// None. Only a hint: what is due is tried all the same, and waits by its backoff.
    Offline,
    /// One that costs by the byte, such as a mobile network.
    Metered,
    /// One that doesn't.
    Unmetered,
}

/// Who wants the pump to run.
#[derive(Default)]
pub(super) struct Demand {
    pub(super) started: bool,
    pub(super) suspended: bool,
    /// Nothing more is begun, until delivery is wanted again.
    pub(super) winding_down: bool,
    closed: bool,
    pumping: bool,
    /// Grows with each demand. A turn answers only for those that were there when it began.
    pub(super) asked: u64,
    pub(super) drains: Vec<(u64, Drain)>,
}

/// What a turn of the pump found.
#[derive(Default)]
struct Turned {
    /// When something is due.
    due: Option<Duration>,
    /// When there is something to do without an event from outside.
    wake: Option<Duration>,
    /// When the pump has to turn again by itself.
    next: Option<Duration>,
    in_flight: usize,
    /// Submissions wait for an unmetered network alone.
    awaits_unmetered: bool,
    /// Submissions wait for credentials that nobody has supplied.
    needs_credentials: bool,
    /// They may come at any moment.
    awaits_credentials: bool,
    /// Answers that could not be written down yet.
    unsettled: bool,
    /// The last demand that it knows of.
    asked: u64,
    error: Option<OutboxError>,
}

impl Engine {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let (sender, receiver) = mpsc::unbounded_channel();
        Arc::new(Self {
            lease: Arc::new(Lease::new(Arc::clone(&parts.clock))),
            uploads: Arc::default(),
            gate: Mutex::new(Gate::new(receiver)),
            demand: Mutex::default(),
            nudge: Arc::new(Notify::new()),
            reports: sender,
            network: Mutex::default(),
            changed: watch::Sender::new(0),
            parts,
        })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// What the requests on the wire tell of their progress.
    pub(crate) fn uploads(&self) -> &Arc<Uploads> {
        &self.uploads
    }

    /// Counts commits that changed something, in this process and, while somebody observes, in
    /// others.
    pub(crate) fn changed(&self) -> &watch::Sender<u64> {
        &self.changed
    }

    /// Something may have become due.
    pub(crate) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Delivers in the foreground until `suspend` or `close`.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(), OutboxError> {
        self.demand(|demand| {
            demand.started = true;
            demand.suspended = false;
            demand.winding_down = false;
        })
    }

    pub(super) fn demand(
        self: &Arc<Self>,
        ask: impl FnOnce(&mut Demand),
    ) -> Result<(), OutboxError> {
        let mut demand = lock(&self.demand);
        if demand.closed {
            return Err(OutboxError::Closed);
        }
        demand.asked += 1;
        ask(&mut demand);
        let idle = !std::mem::replace(&mut demand.pumping, true);
        drop(demand);
        if idle {
            let engine = Arc::clone(self);
            self.parts
                .executor
                .spawn(Box::pin(async move { engine.pump().await }));
        } else {
            self.nudge();
        }
        Ok(())
    }

    /// What a claim may use now.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            credentials: self.parts.desk.usable(),
            unmetered: self.network() == Some(NetworkKind::Unmetered),
        }
    }

    pub(crate) fn network(&self) -> Option<NetworkKind> {
        *lock(&self.network)
    }

    /// The network has changed, or is there again.
    pub(crate) fn network_available(
        self: &Arc<Self>,
        kind: NetworkKind,
    ) -> Result<(), OutboxError> {
        let before = lock(&self.network).replace(kind);
        if kind != NetworkKind::Unmetered && before != Some(kind) {
            let mut gate = lock(&self.gate);
            self.collect(&mut gate);
            self.stop_unmetered(&mut gate);
        }
        if kind != NetworkKind::Offline {
            let most = u64::try_from(NETWORK_JITTER.as_millis()).unwrap_or_default();
            // A worker that a scheduler starts is spread already, and drains at once.
            let jitter = match lock(&self.demand).started {
                true => up_to(self.parts.entropy.as_ref(), most),
                false => 0,
            };
            self.parts
                .store
                .network_returned(Duration::from_millis(jitter))?;
        }
        self.nudge();
        if before != Some(kind) {
            // What waits for a network waits for something else now.
            self.changed.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// Stops what is on the wire and is quiet: when this returns, no transaction of the pump is
    /// open and none will come. What may have been sent is recorded as unknown.
    pub(crate) fn suspend(self: &Arc<Self>) -> Result<(), OutboxError> {
        self.suspend_if(|_| true).map(drop)
    }

    /// The same, or nothing and `false`.
    pub(super) fn suspend_if(
        self: &Arc<Self>,
        wanted: impl FnOnce(&Demand) -> bool,
    ) -> Result<bool, OutboxError> {
        {
            let mut demand = lock(&self.demand);
            if !wanted(&demand) {
                return Ok(false);
            }
            demand.suspended = true;
            demand.started = false;
        }
        let mut gate = lock(&self.gate);
        self.collect(&mut gate);
        self.stop_flights(&mut gate);
        self.stop_asking(&mut gate);
        self.nudge();
        if gate.has_unsettled() {
            self.settle(&mut gate)?;
        }
        Ok(true)
    }

    pub(crate) fn close(self: &Arc<Self>) {
        lock(&self.demand).closed = true;
        // What can't be settled now is taken over by the next opening.
        self.parts.store.hurry();
        drop(self.suspend());
        self.parts.store.close();
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn is_suspended(&self) -> bool {
        lock(&self.demand).suspended
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.demand).closed
    }

    async fn pump(self: Arc<Self>) {
        let mut trouble = STORE_RETRY_FIRST;
        loop {
            let engine = Arc::clone(&self);
            let turned = run_blocking(&self.parts.executor, move || engine.turn()).await;
            let turned = turned.unwrap_or_else(|| Turned {
                error: Some(
                    StorageError::Internal {
                        detail: "a turn of the pump panicked".to_owned(),
                    }
                    .into(),
                ),
                ..Turned::default()
            });
            let next = if turned.error.is_some() {
                let wait = trouble;
                trouble = trouble.saturating_mul(2).min(STORE_RETRY_MOST);
                Some(wait)
            } else {
                trouble = STORE_RETRY_FIRST;
                turned.next
            };
            let Some(until) = self.go_on(turned, next) else {
                return;
            };
            match until {
                Some(time) => {
                    tokio::select! {
                        // Not in an order by chance, which nobody could repeat.
                        biased;
                        () = self.nudge.notified() => {}
                        () = self.parts.executor.sleep(time) => {}
                    }
                }
                None => self.nudge.notified().await,
            }
        }
    }

    /// One turn: collect what came back, settle it, claim what is due, launch it.
    fn turn(self: &Arc<Self>) -> Turned {
        let mut gate = lock(&self.gate);
        self.collect(&mut gate);
        let now = self.parts.clock.now().uptime;
        let mut turned = Turned::default();
        let claims = {
            let demand = lock(&self.demand);
            turned.asked = demand.asked;
            if demand.suspended || demand.closed {
                return turned;
            }
            !demand.winding_down
                && (demand.started || demand.drains.iter().any(|(_, drain)| drain.claims_at(now)))
        };
        if gate.lease_until < now {
            // The device slept, or the process was frozen: others may have taken over.
            self.stop_flights(&mut gate);
        }
        let supplies = self.parts.desk.supplies();
        match self.step(&mut gate, claims) {
            Ok(stepped) => {
                let changed = self.parts.desk.note(stepped.signed_in.as_ref());
                self.renew(&mut gate);
                self.retain(&mut gate, now);
                turned.due = earliest([stepped.due, stepped.ask]);
                turned.needs_credentials = stepped.needs_credentials && stepped.signed_in.is_some();
                turned.awaits_unmetered = stepped.awaits_unmetered;
                let room = claims && gate.on_the_wire() < self.most_in_flight();
                let renewal = (!gate.flights.is_empty()).then(|| self.parts.limits.lease / 4);
                let due = stepped.due.filter(|_| room);
                let ask = stepped.ask.filter(|_| room && self.room_to_ask(&gate) > 0);
                let asking = if changed {
                    // What was looked for with others is looked for again.
                    turned.awaits_credentials = true;
                    Some(Duration::ZERO)
                } else if claims {
                    self.ask_for_credentials(&stepped, supplies, &mut turned)
                } else {
                    None
                };
                turned.wake = earliest([turned.due, stepped.chores, renewal]);
                turned.next = earliest([due, ask, stepped.chores, renewal, asking]);
            }
            Err(error) => turned.error = Some(error),
        }
        if gate.has_unsettled() && turned.error.is_none() {
            turned.next = Some(Duration::ZERO);
        }
        turned.unsettled = gate.has_unsettled();
        turned.in_flight = gate.on_the_wire();
        turned
    }

    /// Nudges the host, if nothing but credentials is missing. Returns when to look again.
    fn ask_for_credentials(
        &self,
        stepped: &Stepped,
        supplies: u64,
        turned: &mut Turned,
    ) -> Option<Duration> {
        let signed_in = stepped.signed_in.as_ref()?;
        if !stepped.needs_credentials {
            return None;
        }
        let asking = self.parts.desk.ask(signed_in, turned.asked, supplies);
        turned.needs_credentials = true;
        turned.awaits_credentials = asking.awaited;
        if let Some((listener, reason)) = asking.nudge {
            let account = signed_in.name.clone();
            let executor = Arc::clone(&self.parts.executor);
            self.parts.executor.spawn(Box::pin(async move {
                // What it throws, or whether it panics, changes nothing: it is asked again.
                let _told = run_blocking(&executor, move || {
                    listener.credentials_needed(account, reason)
                })
                .await;
            }));
        }
        asking.again
    }

    /// Answers the drains that are over. `None` if nobody wants the pump any more; otherwise how
    /// long to sleep.
    fn go_on(&self, turned: Turned, next: Option<Duration>) -> Option<Option<Duration>> {
        let now = self.parts.clock.now();
        let mut demand = lock(&self.demand);
        let stopped = demand.suspended || demand.closed;
        let idle = turned.error.is_none()
            && turned.in_flight == 0
            && !turned.unsettled
            && !turned.awaits_credentials
            && turned.due.is_none_or(|due| !due.is_zero());
        let after = Next {
            wake_at: turned.wake.map(|wake| now.wall.plus(wake).to_system_time()),
            awaits_unmetered: turned.awaits_unmetered,
        };
        let mut going = Vec::new();
        let mut times: Vec<Duration> = next.into_iter().collect();
        for (asked, drain) in std::mem::take(&mut demand.drains) {
            if drain.is_over_early() {
                continue;
            }
            if asked > turned.asked {
                // It joined after the turn began, so nobody has looked for it yet.
                times.push(Duration::ZERO);
                going.push((asked, drain));
                continue;
            }
            let over = now.uptime >= drain.deadline
                || (!drain.claims_at(now.uptime) && turned.in_flight == 0);
            if stopped {
                drain.finish(DrainStop::Suspended, turned.in_flight, Next::default());
            } else if let Some(error) = &turned.error {
                drain.fail(error.clone());
            } else if idle && turned.needs_credentials {
                drain.finish(DrainStop::CredentialsNeeded, 0, after);
            } else if idle {
                drain.finish(DrainStop::NothingDue, 0, after);
            } else if over {
                drain.finish(DrainStop::BudgetEnded, turned.in_flight, after);
            } else {
                times.push(drain.deadline.since(now.uptime));
                going.push((asked, drain));
            }
        }
        demand.drains = going;
        let wanted =
            demand.started || !demand.drains.is_empty() || turned.in_flight > 0 || turned.unsettled;
        if (stopped && demand.drains.is_empty()) || !wanted {
            demand.pumping = false;
            return None;
        }
        Some(times.into_iter().min())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
