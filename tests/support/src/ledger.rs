//! Everything that requests share, behind one lock: records, scripts, locked keys and holds.
//!
//! Each change wakes those who wait for the server, so no test has to sleep.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;

use crate::behaviour::Behaviour;
use crate::clock::{Clock, wall_ms};
use crate::intake::principal;
use crate::playbook::{Head, Playbook};
use crate::records::RequestRecord;
use crate::store::{Store, StoreError};
use crate::tls::TlsSeen;

/// The shared state of one server.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    /// Notified on each arrival, answer, loss, hold and handler's end.
    changed: Condvar,
    /// Changed whenever something is released; held handlers look again.
    gates: watch::Sender<u64>,
    clock: Clock,
    store: Store,
}

#[derive(Debug)]
struct State {
    /// The number of the first record. Numbers go on after a reset, so that a handler from before
    /// can't write into the record of a later request.
    first: u64,
    records: Vec<RequestRecord>,
    playbook: Playbook,
    /// Keys that are being handled.
    locked: HashSet<String>,
    /// For each hold, the highest arrival number that may pass.
    released: HashMap<String, u64>,
    /// The highest arrival number that may pass every hold.
    all_released: u64,
    /// How many resets there were.
    epoch: u64,
    /// The principals that are let in; `None` lets everybody in.
    accepted: Option<HashSet<String>>,
    tls: TlsSeen,
}

/// What a handler must know about its request's arrival.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) behaviour: Behaviour,
    /// Whether its credential is not, or no longer, accepted.
    pub(crate) stranger: bool,
}

impl Ledger {
    pub(crate) fn new(playbook: Playbook, store: Store) -> Self {
        Self {
            state: Mutex::new(State {
                first: 1,
                records: Vec::new(),
                playbook,
                locked: HashSet::new(),
                released: HashMap::new(),
                all_released: 0,
                epoch: 0,
                accepted: None,
                tls: TlsSeen::default(),
            }),
            changed: Condvar::new(),
            gates: watch::Sender::new(0),
            clock: Clock::start(),
            store,
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Records a new request and decides its behaviour.
    pub(crate) fn arrive(&self, head: &Head) -> Arrival {
        let mut state = self.lock();
        let stranger = state.accepted.as_ref().is_some_and(|accepted| {
            let known = |principal: &String| accepted.contains(principal);
            !head.principal.as_ref().is_some_and(known)
        });
        // A stranger leaves the scripts to those who come with the right credential.
        let behaviour = if stranger {
            Behaviour::Normal
        } else {
            state.playbook.choose(head)
        };
        let number = state.next_number();
        state.records.push(RequestRecord {
            number,
            key: head.key.clone(),
            method: head.method.clone(),
            path: head.path.clone(),
            body_sha256: None,
            body_bytes: 0,
            body_complete: false,
            principal: head.principal.clone(),
            user_agent: head.user_agent.clone(),
            connection: head.connection,
            nth_on_connection: head.nth_on_connection,
            // Taken under the lock: arrival numbers and arrival times have one order.
            arrived_at_ns: self.clock.now_ns(),
            arrived_wall_ms: wall_ms(),
            answered_at_ns: None,
            lost_at_ns: None,
            handler_done_at_ns: None,
            status: None,
            behaviour: behaviour.without_body(),
            effect: None,
            effect_at_ns: None,
            replayed: false,
            answer_lost: false,
            held_at: None,
        });
        let epoch = state.epoch;
        drop(state);
        self.changed.notify_all();
        Arrival {
            number,
            epoch,
            behaviour,
            stranger,
        }
    }

    /// Changes one record. A record that a reset has removed is left alone.
    pub(crate) fn update(&self, number: u64, change: impl FnOnce(&mut RequestRecord)) {
        let mut state = self.lock();
        self.change(&mut state, number, change);
        drop(state);
        self.changed.notify_all();
    }

    /// Makes a write that may be an answer's last, and lets `note` note its end if it took all
    /// the bytes it was `offered`.
    ///
    /// The write is made inside the lock. A client can act on an answer before the call that sent
    /// it returns; this way neither its next request nor a look at the records can find this
    /// flight still open.
    pub(crate) fn write_last(
        &self,
        number: u64,
        offered: usize,
        write: impl FnOnce() -> Poll<io::Result<usize>>,
        note: impl FnOnce(&mut RequestRecord, u64),
    ) -> Poll<io::Result<usize>> {
        let mut state = self.lock();
        let begun = self.now_ns();
        let result = write();
        if takes_all(&result, offered) {
            self.change(&mut state, number, |record| note(record, begun));
            drop(state);
            self.changed.notify_all();
        }
        result
    }

    fn change(&self, state: &mut State, number: u64, change: impl FnOnce(&mut RequestRecord)) {
        let Some(record) = state.record(number) else {
            return;
        };
        let was_in_flight = record.in_flight();
        change(record);
        record.settle();
        if was_in_flight && !record.in_flight() {
            self.store.archive(record.clone());
        }
    }

    /// Locks a key for one handler; `None` while another one has it.
    pub(crate) fn lock_key(self: &Arc<Self>, key: &str) -> Option<KeyLock> {
        let fresh = self.lock().locked.insert(key.to_owned());
        fresh.then(|| KeyLock {
            ledger: Arc::clone(self),
            key: key.to_owned(),
        })
    }

    /// Stands at a hold until the name is released. False after a reset: the test that asked for
    /// the hold is over.
    pub(crate) async fn stand(&self, arrival: &Arrival, name: &str) -> bool {
        // Subscribed before the first look, so that no release falls in between.
        let mut gates = self.gates.subscribe();
        self.update(arrival.number, |record| {
            record.held_at = Some(name.to_owned())
        });
        loop {
            {
                let state = self.lock();
                if state.epoch != arrival.epoch {
                    return false;
                }
                let limit = state.released.get(name).copied().unwrap_or(0);
                if arrival.number <= limit.max(state.all_released) {
                    break;
                }
            }
            if gates.changed().await.is_err() {
                return false;
            }
        }
        self.update(arrival.number, |record| record.held_at = None);
        true
    }

    /// Lets every request that has arrived so far pass the hold `name`.
    pub(crate) fn release(&self, name: &str) {
        let mut state = self.lock();
        let limit = state.next_number() - 1;
        state.released.insert(name.to_owned(), limit);
        drop(state);
        self.open_gates();
    }

    /// Lets every request that has arrived so far pass every hold.
    pub(crate) fn release_all(&self) {
        let mut state = self.lock();
        state.all_released = state.next_number() - 1;
        drop(state);
        self.open_gates();
    }

    /// Counts what came through TLS.
    pub(crate) fn tls(&self, count: impl FnOnce(&mut TlsSeen)) {
        count(&mut self.lock().tls);
        self.changed.notify_all();
    }

    pub(crate) fn tls_seen(&self) -> TlsSeen {
        self.lock().tls
    }

    /// Lets in these values of `Authorization` from now on, or everybody.
    pub(crate) fn accept(&self, tokens: Option<Vec<String>>) {
        let accepted = tokens.map(|tokens| {
            let names = tokens.iter().map(|token| principal(token.as_bytes()));
            names.collect()
        });
        self.lock().accepted = accepted;
    }

    /// Gives new orders.
    pub(crate) fn playbook(&self, change: impl FnOnce(&mut Playbook)) {
        change(&mut self.lock().playbook);
    }

    /// Looks at the records under the lock.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&[RequestRecord]) -> T) -> T {
        look(&self.lock().records)
    }

    /// Waits until `found` gives something, looking again at each change.
    pub(crate) fn wait_for<T>(
        &self,
        timeout: Duration,
        mut found: impl FnMut(&[RequestRecord]) -> Option<T>,
    ) -> Option<T> {
        self.wait_for_state(timeout, |state| found(&state.records))
    }

    /// Waits until what came through TLS is as wanted.
    pub(crate) fn wait_for_tls(
        &self,
        timeout: Duration,
        mut wanted: impl FnMut(TlsSeen) -> bool,
    ) -> bool {
        self.wait_for_state(timeout, |state| wanted(state.tls).then_some(()))
            .is_some()
    }

    fn wait_for_state<T>(
        &self,
        timeout: Duration,
        mut found: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let mut result = None;
        let state = self.lock();
        let _state = self
            .changed
            .wait_timeout_while(state, timeout, |state| {
                result = found(state);
                result.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        result
    }

    /// Starts over: no records, keys, effects or scripts. Handlers that still run end without an
    /// effect.
    pub(crate) fn reset(&self) -> Result<(), StoreError> {
        let mut state = self.lock();
        let epoch = state.epoch + 1;
        // Under the lock, so that no request arrives between the two halves.
        self.store
            .run_blocking(move |database| database.reset(epoch))?;
        state.epoch = epoch;
        state.first = state.next_number();
        state.records.clear();
        state.playbook.reset();
        state.released.clear();
        drop(state);
        self.open_gates();
        self.changed.notify_all();
        Ok(())
    }

    fn open_gates(&self) {
        self.gates
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A test's predicate that panics inside the lock must not take the server down with it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next_number(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    fn record(&mut self, number: u64) -> Option<&mut RequestRecord> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.records.get_mut(index)
    }
}

/// Whether a write took all the bytes it was offered.
pub(crate) fn takes_all(result: &Poll<io::Result<usize>>, offered: usize) -> bool {
    matches!(result, Poll::Ready(Ok(count)) if *count == offered)
}

/// The right to handle a key; given back when dropped, by a panic too.
#[derive(Debug)]
pub(crate) struct KeyLock {
    ledger: Arc<Ledger>,
    key: String,
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        self.ledger.lock().locked.remove(&self.key);
    }
}
