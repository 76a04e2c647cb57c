//! Group commit: who runs what is queued, and who waits for it. Nothing here knows of SQLite, so that
//! the schedules of its threads can be tried one by one.
//!
//! A caller that finds nobody leading leads: it takes what is queued, in the order of arrival, through
//! one transaction on its own thread, gives each its answer, and hands the lead on to the first
//! that came meanwhile. The others wait for an answer or for the lead.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::weakness::{self, Weakness};

/// What waits in the queue for a transaction.
pub(super) trait Queued {
    /// Why a transaction came to nothing.
    type Failed;

    /// Answers the caller, once the transaction that it was the `n`th of has ended.
    fn answer(&mut self, n: usize, failed: Option<&Self::Failed>);

    /// Makes the waiting caller the leader.
    fn lead(&self);
}

/// How a transaction ended.
pub(super) struct Ended<F, D> {
    pub(super) failed: Option<F>,
    /// What the leader does, without any lock held, when it has handed the lead on.
    pub(super) done: D,
}

/// The group has been closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed;

pub(super) struct GroupCommit<C, R> {
    queue: Mutex<Queue<C>>,
    /// What transactions run on. `None` once closed.
    open: Mutex<Option<R>>,
    most_at_once: usize,
}

struct Queue<C> {
    waiting: VecDeque<C>,
    /// Somebody leads, or has been told to. While nobody does, nobody waits.
    led: bool,
    closed: bool,
}

impl<C: Queued, R> GroupCommit<C, R> {
    pub(super) fn new(open: R, most_at_once: usize) -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                led: false,
                closed: false,
            }),
            open: Mutex::new(Some(open)),
            most_at_once,
        }
    }

    /// Queues a command and returns with what its slot is given, leading meanwhile if it has to.
    /// A command that finds the group closed when its turn comes is answered without having run.
    pub(super) fn run<T, D: Default>(
        &self,
        command: C,
        slot: &Slot<T>,
        transact: impl Fn(&mut R, &mut [C]) -> Ended<C::Failed, D>,
        after: impl Fn(D),
    ) -> Result<T, Closed> {
        let mut leads = self.enqueue(command)?;
        loop {
            if leads {
                after(self.lead(&transact));
            }
            match slot.wait() {
                Turn::Done(answer) => return Ok(answer),
                Turn::Lead => leads = true,
            }
        }
    }

    /// True if the caller has to lead.
    fn enqueue(&self, command: C) -> Result<bool, Closed> {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return Err(Closed);
        }
        queue.waiting.push_back(command);
        Ok(!std::mem::replace(&mut queue.led, true))
    }

    /// Takes what is queued through one transaction, then hands the lead on.
    fn lead<D: Default>(&self, transact: &impl Fn(&mut R, &mut [C]) -> Ended<C::Failed, D>) -> D {
        let mut open = lock(&self.open);
        let mut batch: Vec<C> = {
            let mut queue = lock(&self.queue);
            let count = queue.waiting.len().min(self.most_at_once);
            queue.waiting.drain(..count).collect()
        };
        let ended = match open.as_mut() {
            Some(open) => transact(open, &mut batch),
            None => Ended {
                failed: None,
                done: D::default(),
            },
        };
        for (n, command) in batch.iter_mut().enumerate() {
            command.answer(n, ended.failed.as_ref());
        }
        drop(open);
        let mut queue = lock(&self.queue);
        match queue.waiting.front() {
            Some(_) if weakness::is_out(Weakness::NoHandOver) => {}
            Some(next) => next.lead(),
            None => queue.led = weakness::is_out(Weakness::LeadNeverEnds),
        }
        drop(queue);
        ended.done
    }

    /// What transactions run on, between two of them. `None` once closed.
    pub(super) fn between<T>(&self, work: impl FnOnce(&mut R) -> T) -> Option<T> {
        lock(&self.open).as_mut().map(work)
    }

    /// Refuses further commands, waits for the transaction under way, and gives up what they run on.
    pub(super) fn close(&self, last: impl FnOnce(R)) {
        lock(&self.queue).closed = true;
        let mut open = lock(&self.open);
        if let Some(resource) = open.take() {
            last(resource);
        }
    }

    /// How many wait, and whether somebody leads.
    #[cfg(test)]
    pub(super) fn queued(&self) -> (usize, bool) {
        let queue = lock(&self.queue);
        (queue.waiting.len(), queue.led)
    }
}

/// Where a caller waits for its turn.
pub(super) struct Slot<T> {
    turn: Mutex<Option<Turn<T>>>,
    changed: Condvar,
}

enum Turn<T> {
    Lead,
    Done(T),
}

impl<T> Slot<T> {
    pub(super) fn new() -> Self {
        Self {
            turn: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    pub(super) fn answer(&self, answer: T) {
        self.put(Turn::Done(answer));
    }

    pub(super) fn lead(&self) {
        self.put(Turn::Lead);
    }

    fn put(&self, turn: Turn<T>) {
        *lock(&self.turn) = Some(turn);
        if !weakness::is_out(Weakness::NoWakeUp) {
            self.changed.notify_one();
        }
    }

    fn wait(&self) -> Turn<T> {
        let mut turn = lock(&self.turn);
        loop {
            if let Some(turn) = turn.take() {
                return turn;
            }
            turn = self
                .changed
                .wait(turn)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
