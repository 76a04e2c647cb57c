//! The gate: what this process has on the wire, and what came back from it. All of its bookkeeping
//! happens under one lock, which a turn of the pump holds from collecting reports to launching
//! claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tracing::Span;

use super::body;
use super::engine::{Engine, lock};
use super::judge::{About, find, judge, wire_request};
use super::probe::{Asked, Asking};
use super::transport::{Ears, Exchange, Reported, Shared, WireBody, WireRequest};
use crate::clock::UptimeMs;
use crate::error::{OutboxError, StorageError};
use crate::policy::classify::Fault;
use crate::policy::limits::{RETAIN_EVERY, RETAIN_STEPS};
use crate::policy::redirect::{Follow, follow};
use crate::store::{Claim, Finished, Probed, Step, Stepped};
use crate::trace::TARGET;

/// What is on the wire, and what came back from it.
pub(super) struct Gate {
    /// By their attempts, so that all are stopped in an order that can be repeated.
    pub(super) flights: BTreeMap<i64, Flight>,
    /// Status probes on the wire, by their submission.
    pub(super) asking: BTreeMap<i64, Asking>,
    reports: mpsc::UnboundedReceiver<Report>,
    pub(super) unsettled: Vec<Finished>,
    pub(super) probed: Vec<Probed>,
    pub(super) lease_until: UptimeMs,
    retained: Option<UptimeMs>,
}

pub(super) struct Flight {
    about: Arc<About>,
    shared: Arc<Shared>,
    /// What was sent, in case a redirect asks for it elsewhere.
    parcel: Parcel,
    began: UptimeMs,
    /// From the attempt's first request to its end, redirects included.
    span: Span,
}

/// A request, and what there is to know of it besides.
#[derive(Clone)]
struct Parcel {
    request: WireRequest,
    /// SHA-256 of its body.
    digest: [u8; 32],
    /// Whose credentials it carries.
    account: Option<String>,
    unmetered_only: bool,
}

/// What came of a request.
pub(super) enum Report {
    Attempt(Arc<About>, Reported),
    Probe(Arc<Asked>, Reported),
}

impl Gate {
    pub(super) fn new(reports: mpsc::UnboundedReceiver<Report>) -> Self {
        Self {
            flights: BTreeMap::new(),
            asking: BTreeMap::new(),
            reports,
            unsettled: Vec::new(),
            probed: Vec::new(),
            lease_until: UptimeMs(i64::MIN),
            retained: None,
        }
    }

    /// Requests on the wire, attempts and probes.
    pub(super) fn on_the_wire(&self) -> usize {
        self.flights.len() + self.asking.len()
    }

    /// Something came back, and isn't written down yet.
    pub(super) fn has_unsettled(&self) -> bool {
        !self.unsettled.is_empty() || !self.probed.is_empty()
    }
}

impl Engine {
    /// Ends everything on the wire from this side. What may have left is unknown then.
    pub(super) fn stop_flights(&self, gate: &mut Gate) {
        for flight in std::mem::take(&mut gate.flights).into_values() {
            self.stop_flight(gate, &flight);
        }
    }

    /// Ends what must not go over a network that costs by the byte.
    pub(super) fn stop_unmetered(&self, gate: &mut Gate) {
        self.stop_where(gate, |_, flight| flight.parcel.unmetered_only);
    }

    /// Ends what belongs to an account. How each ended is the caller's to settle.
    pub(super) fn stop_account(&self, gate: &mut Gate, account: &str) -> Vec<Finished> {
        let others = gate.unsettled.len();
        self.stop_where(gate, |_, flight| {
            flight.parcel.account.as_deref() == Some(account)
        });
        gate.unsettled.split_off(others)
    }

    fn stop_where(&self, gate: &mut Gate, stops: impl Fn(i64, &Flight) -> bool) {
        let (stopped, on_the_wire): (BTreeMap<_, _>, _) = std::mem::take(&mut gate.flights)
            .into_iter()
            .partition(|(attempt, flight)| stops(*attempt, flight));
        gate.flights = on_the_wire;
        for flight in stopped.into_values() {
            self.stop_flight(gate, &flight);
        }
    }

    fn stop_flight(&self, gate: &mut Gate, flight: &Flight) {
        self.uploads.ended(flight.about.id);
        let fault = flight.shared.stop(Fault::Stopped);
        let finished = self.judge(&flight.about, Reported::Failed(fault));
        gate.unsettled.push(finished);
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.parts.limits.max_in_flight as usize
    }

    /// At most half of what may be in flight, so that slow answers to questions hold no action up.
    pub(super) fn room_to_ask(&self, gate: &Gate) -> usize {
        let most = self.most_in_flight().div_ceil(2);
        most.saturating_sub(gate.asking.len())
    }

    /// Settles and claims, and launches what was claimed.
    pub(super) fn step(
        self: &Arc<Self>,
        gate: &mut Gate,
        claims: bool,
    ) -> Result<Stepped, OutboxError> {
        let room = self.most_in_flight().saturating_sub(gate.on_the_wire());
        let step = Step {
            finished: gate.unsettled.clone(),
            probed: gate.probed.clone(),
            capacity: if claims { room } else { 0 },
            questions: self.room_to_ask(gate),
            on_the_wire: !gate.flights.is_empty(),
            terms: self.terms(),
        };
        let mut stepped = self.carry_out(step)?;
        gate.unsettled.clear();
        gate.probed.clear();
        for state in &stepped.settled {
            for (_, drain) in &mut lock(&self.demand).drains {
                drain.note_settled(*state);
            }
        }
        if stepped.lapsed {
            self.stop_flights(gate);
        }
        // What another process has purged, or taken over.
        self.stop_where(gate, |attempt, _| !stepped.in_flight.contains(&attempt));
        let claims = std::mem::take(&mut stepped.claims);
        if !claims.is_empty() {
            self.extend_lease(gate, stepped.lease);
        }
        for claim in claims {
            self.launch(gate, claim);
        }
        for question in std::mem::take(&mut stepped.questions) {
            self.ask(gate, question);
        }
        // What was just settled needs no body any more.
        self.parts.store.delete_released();
        Ok(stepped)
    }

    /// Writes down what has ended, and claims nothing.
    pub(super) fn settle(&self, gate: &mut Gate) -> Result<(), OutboxError> {
        self.carry_out(Step {
            finished: gate.unsettled.clone(),
            probed: gate.probed.clone(),
            ..Step::default()
        })?;
        gate.unsettled.clear();
        gate.probed.clear();
        Ok(())
    }

    /// A step with answers in it that finds the disk full is made again at once: the ballast has
    /// just made room.
    fn carry_out(&self, step: Step) -> Result<Stepped, OutboxError> {
        let full = OutboxError::from(StorageError::Full);
        match self.parts.store.step(step.clone()) {
            Err(error) if error == full && step.has_answers() => self.parts.store.step(step),
            stepped => stepped,
        }
    }

    /// Extends the lease while requests live, long before it runs out. Where it can't be, the next
    /// turn tries again, and a sender whose lease is out sends nothing.
    pub(super) fn renew(&self, gate: &mut Gate) {
        let now = self.parts.clock.now().uptime;
        let left = gate.lease_until.since(now);
        if gate.flights.is_empty() || left > self.parts.limits.lease.mul_f32(0.8) {
            return;
        }
        match self.parts.store.renew() {
            Ok(Some(until)) => self.extend_lease(gate, until),
            Ok(None) => self.stop_flights(gate),
            Err(_) => {}
        }
    }

    /// Forgets in small steps, now and then, while nothing is on the wire. A failure costs nothing
    /// but room; the next time comes.
    pub(super) fn retain(&self, gate: &mut Gate, now: UptimeMs) {
        let lately = gate
            .retained
            .is_some_and(|last| now.since(last) < RETAIN_EVERY);
        if lately || !gate.flights.is_empty() {
            return;
        }
        gate.retained = Some(now);
        for _ in 0..RETAIN_STEPS {
            if !matches!(self.parts.store.retain(), Ok(true)) {
                return;
            }
        }
        // There is more, and the next turn goes on: what settles fast must not outgrow the steps.
        gate.retained = None;
    }

    fn extend_lease(&self, gate: &mut Gate, until: UptimeMs) {
        gate.lease_until = until;
        self.lease.extend(until);
    }

    pub(super) fn collect(self: &Arc<Self>, gate: &mut Gate) {
        while let Ok(report) = gate.reports.try_recv() {
            let (about, reported) = match report {
                Report::Attempt(about, reported) => (about, reported),
                Report::Probe(asked, reported) => {
                    self.hear(gate, &asked, reported);
                    continue;
                }
            };
            if let Some(flight) = gate.flights.get(&about.attempt) {
                if about.hops < flight.about.hops {
                    // The attempt has been redirected since; its last answer is the one that counts.
                    continue;
                }
                let sent = &flight.parcel;
                if let Some((about, request)) = redirected(&about, &sent.request, &reported)
                    && matches!(self.parts.store.is_in_flight(about.attempt), Ok(true))
                {
                    let parcel = Parcel {
                        request,
                        ..sent.clone()
                    };
                    flight.shared.supersede();
                    self.send(gate, about, parcel);
                    continue;
                }
            }
            let (mut time, mut span) = (None, Span::none());
            if let Some(flight) = gate.flights.remove(&about.attempt) {
                self.uploads.ended(about.id);
                let took = self.parts.clock.now().uptime.since(flight.began);
                time = Some(took);
                span = flight.span;
                for (_, drain) in &mut lock(&self.demand).drains {
                    drain.note_exchange(took);
                }
            }
            let finished = self.judge(&about, reported);
            span.in_scope(|| {
                tracing::debug!(
                    target: TARGET,
                    id = %about.id,
                    attempt = finished.attempt,
                    status = finished.answer.as_ref().map(|answer| answer.status),
                    proves = ?finished.judgement.proves,
                    // Nothing, if it came too late for this process to wait for.
                    took = time.map(tracing::field::debug),
                    "attempt ended"
                );
            });
            gate.unsettled.push(finished);
        }
    }

    fn judge(&self, about: &About, reported: Reported) -> Finished {
        judge(
            about,
            reported,
            &self.parts.limits,
            self.parts.clock.now().wall,
            self.parts.entropy.as_ref(),
        )
    }

    fn launch(self: &Arc<Self>, gate: &mut Gate, claim: Claim) {
        let about = About::of(&claim);
        let credentials = match &claim.credentials {
            None => Some(Vec::new()),
            // Looked at again: they may have gone with their account since the claim.
            Some(usable) => self.parts.desk.headers(usable),
        };
        let Some(credentials) = credentials else {
            let finished = self.judge(&about, Reported::Failed(Fault::NotSent));
            gate.unsettled.push(finished);
            return;
        };
        let unmetered_only = claim.request.unmetered_only;
        let account = claim.credentials.map(|usable| usable.account);
        let digest = claim.request.body_digest;
        let request = WireRequest {
            fresh_connection: claim.misdirected,
            ..wire_request(
                claim.request,
                credentials,
                &self.parts.store,
                &self.parts.user_agent,
                &self.parts.limits,
            )
        };
        let parcel = Parcel {
            request,
            digest,
            account,
            unmetered_only,
        };
        self.send(gate, about, parcel);
    }

    /// Puts a request of an open attempt on the wire.
    fn send(self: &Arc<Self>, gate: &mut Gate, about: About, parcel: Parcel) {
        let about = Arc::new(about);
        let progressed = self.uploads.of(about.id, parcel.request.body.len());
        let shared = {
            let about = Arc::clone(&about);
            let reports = self.reports.clone();
            let nudge = Arc::clone(&self.nudge);
            let lease = Arc::clone(&self.lease);
            Shared::new(Ears {
                holds: Box::new(move || lease.holds()),
                reported: Box::new(move |reported| {
                    let about = Arc::clone(&about);
                    // The receiver goes with the engine; then the next opening takes over.
                    drop(reports.send(Report::Attempt(about, reported)));
                    nudge.notify_one();
                }),
                progressed,
            })
        };
        let now = self.parts.clock.now().uptime;
        let before = gate.flights.remove(&about.attempt);
        let (began, span) = before.map_or_else(
            || (now, attempt_span(&about)),
            |before| (before.began, before.span),
        );
        let flight = Flight {
            shared: Arc::clone(&shared),
            parcel: parcel.clone(),
            began,
            span,
            about: Arc::clone(&about),
        };
        gate.flights.insert(about.attempt, flight);
        let executor = Arc::clone(&self.parts.executor);
        let patience = self.parts.limits.request_timeout;
        let sleep = move || executor.sleep(patience);
        self.parts
            .executor
            .spawn(Box::pin(Arc::clone(&shared).time_out(sleep)));
        let transport = Arc::clone(&self.parts.transport);
        let exchange = Exchange::new(shared);
        body::send(
            parcel.request,
            parcel.digest,
            exchange,
            transport,
            self.parts.executor.as_ref(),
        );
    }
}

/// Each attempt is a root of its own: it may outlive the drain that began it.
fn attempt_span(about: &About) -> Span {
    tracing::debug_span!(
        target: TARGET,
        parent: None,
        "attempt",
        id = %about.id,
        attempt = about.attempt
    )
}

/// Where an attempt goes on, if its answer is a redirect that is followed.
fn redirected(
    about: &About,
    sent: &WireRequest,
    reported: &Reported,
) -> Option<(About, WireRequest)> {
    let Reported::Answered(answer) = reported else {
        return None;
    };
    if about.following {
        return None;
    }
    let location = find(answer, "location");
    let (request, following) = match follow(answer.status, location, &sent.url, about.hops)? {
        // Without its key it would be another request.
        Follow::Same(url) if !about.keeps_key(&url) => return None,
        Follow::Same(url) => (
            WireRequest {
                url,
                ..sent.clone()
            },
            false,
        ),
        Follow::Get(url) => (get(sent, url, about.key_header().as_deref()), true),
    };
    Some((about.redirected(following), request))
}

/// Asks where a 303 pointed: without the body, and without the key, which belongs to the action.
fn get(sent: &WireRequest, url: String, key_header: Option<&str>) -> WireRequest {
    let mut request = WireRequest {
        method: "GET".to_owned(),
        url,
        body: WireBody::Bytes(Bytes::new()),
        ..sent.clone()
    };
    request
        .headers
        .retain(|header| header.name != "content-type" && Some(header.name.as_str()) != key_header);
    request
}
