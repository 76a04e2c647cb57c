//! The app: each order's form is opened once, its button tapped one to three times, from several
//! threads at once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use submit_once::{Outbox, OutboxError, ReceiptKind, StorageError, SubmissionId};

use crate::dice::Dice;
use crate::failure::{Failure, trouble};
use crate::orders::Order;

/// Threads that tap.
pub const THREADS: usize = 4;

/// Calls of `submit` for one tap, where the database says "call again".
const CALLS: u32 = 5;

pub struct App {
    pub outbox: Arc<Outbox>,
    pub entries: Vec<Entry>,
    taps: AtomicU64,
    /// The results that taps have met, to be compared with the final ones.
    replays: Mutex<Vec<Replay>>,
}

/// An order and what the app keeps of it.
pub struct Entry {
    pub order: Order,
    id: OnceLock<SubmissionId>,
    /// Receipts of kind `Accepted`: one is right.
    accepted: AtomicU64,
}

/// The result that a tap met.
pub struct Replay {
    pub id: SubmissionId,
    pub body: Option<Vec<u8>>,
}

impl Entry {
    pub fn id(&self) -> Option<SubmissionId> {
        self.id.get().copied()
    }

    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self.id.get() {
            Some(id) => format!("order {} (submission {id})", self.order.order),
            None => format!("order {}", self.order.order),
        }
    }
}

impl App {
    pub fn new(outbox: Arc<Outbox>, orders: Vec<Order>) -> Self {
        let entries = orders
            .into_iter()
            .map(|order| Entry {
                order,
                id: OnceLock::new(),
                accepted: AtomicU64::new(0),
            })
            .collect();
        Self {
            outbox,
            entries,
            taps: AtomicU64::new(0),
            replays: Mutex::default(),
        }
    }

    pub fn taps(&self) -> u64 {
        self.taps.load(Ordering::Relaxed)
    }

    pub fn take_replays(&self) -> Vec<Replay> {
        std::mem::take(&mut self.replays.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens the form of each of these orders, which mints its ID, durably.
    pub fn begin(&self, orders: Range<usize>) -> Result<(), Failure> {
        let entries = self.entries.get(orders).unwrap_or_default();
        self.share(entries, |entry| {
            let slot = format!("order-form/{}", entry.order.order);
            let id = again(|| self.outbox.begin(slot.clone()))
                .map_err(|error| trouble(&format!("{}: begin", entry.name()), error))?;
            // Nobody else begins it: an entry is given to one thread.
            let _ = entry.id.set(id);
            Ok(())
        })
    }

    /// Taps each button one to three times; taps of one order fall to several threads at once.
    pub fn tap(&self, orders: Range<usize>, dice: &mut Dice) -> Result<(), Failure> {
        let mut taps: Vec<&Entry> = Vec::new();
        for entry in self.entries.get(orders).unwrap_or_default() {
            taps.extend((0..dice.between(1, 3)).map(|_| entry));
        }
        // Impatient fingers: an order's second tap may come a little after the next order's first.
        for late in 1..taps.len() {
            let early = late.saturating_sub(usize::try_from(dice.between(0, 4)).unwrap_or(0));
            taps.swap(late, early);
        }
        self.share(&taps, |entry| self.tap_once(entry))
    }

    /// Taps each button once more.
    pub fn tap_all_again(&self) -> Result<(), Failure> {
        self.share(&self.entries, |entry| self.tap_once(entry))
    }

    fn tap_once(&self, entry: &Entry) -> Result<(), Failure> {
        let id = entry
            .id()
            .ok_or_else(|| trouble(&entry.name(), "tapped before its form was opened"))?;
        self.taps.fetch_add(1, Ordering::Relaxed);
        let receipt =
            again(|| self.outbox.submit(entry.order.submission(id))).map_err(|error| {
                let sentence = format!("{}: {error}", entry.name());
                match error {
                    OutboxError::Invalid { .. } | OutboxError::BodyTooLarge { .. } => {
                        Failure::Input(sentence)
                    }
                    _ => Failure::Trouble(sentence),
                }
            })?;
        match receipt.kind {
            ReceiptKind::Accepted => {
                entry.accepted.fetch_add(1, Ordering::Relaxed);
            }
            ReceiptKind::Joined => {}
            ReceiptKind::Replayed => {
                let outcome = receipt.snapshot.outcome.as_ref();
                let replay = Replay {
                    id,
                    body: outcome.and_then(|outcome| outcome.body.clone()),
                };
                let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
                replays.push(replay);
            }
        }
        Ok(())
    }

    /// Gives the items to the threads one by one, in order, and returns the first failure.
    fn share<T: Sync>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let next = AtomicUsize::new(0);
        let run = || {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                work(item)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(trouble("a thread that taps", "it panicked")))
            })
        })
    }
}

/// Does what the error says: call again.
fn again<T>(call: impl Fn() -> Result<T, OutboxError>) -> Result<T, OutboxError> {
    let mut left = CALLS;
    loop {
        left -= 1;
        match call() {
            Err(OutboxError::Storage {
                storage: StorageError::Busy | StorageError::Indeterminate,
            }) if left > 0 => {}
            result => return result,
        }
    }
}
