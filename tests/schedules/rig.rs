//! A group commit with callers whose every step a scheduler chooses, and what is seen of it from outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::thread::yield_now;
use shuttle::{Config, Runner};

use crate::attack::Attack;
use crate::group_commit::{Closed, Ended, GroupCommit, Queued, Slot};

/// Commands of one transaction at most.
pub const MOST: usize = 3;

/// How a command fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Succeeds,
    /// It alone is refused.
    IsRefused,
    /// Nobody knows how the transaction that it is in has ended.
    IsUncertain,
}

/// What a caller is told of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Committed,
    Refused,
    Uncertain,
    /// Closed before its turn.
    NotRun,
}

/// How often something was met in all schedules: a test that never meets it tests nothing.
#[derive(Default)]
pub struct Met {
    pub schedules: AtomicU64,
    pub shared: AtomicU64,
    pub full: AtomicU64,
    pub refused: AtomicU64,
    pub uncertain: AtomicU64,
    pub not_run: AtomicU64,
    pub turned_away: AtomicU64,
}

pub fn meet(count: &AtomicU64) {
    count.fetch_add(1, SeqCst);
}

struct Command {
    name: usize,
    fate: Fate,
    ran: bool,
    answers: Arc<AtomicU64>,
    slot: Arc<Slot<Told>>,
}

impl Queued for Command {
    type Failed = ();

    fn answer(&mut self, _: usize, failed: Option<&()>) {
        meet(&self.answers);
        self.slot.answer(match (failed, self.ran, self.fate) {
            (Some(()), ..) => Told::Uncertain,
            (None, false, _) => Told::NotRun,
            (None, true, Fate::IsRefused) => Told::Refused,
            (None, true, _) => Told::Committed,
        });
    }

    fn lead(&self) {
        self.slot.lead();
    }
}

/// The locks of what is seen are the system's: to look is no step of a schedule.
#[derive(Default)]
struct Seen {
    ran: Vec<usize>,
    /// Those whose transaction has ended.
    ended: Vec<usize>,
    transactions: usize,
    afterwards: usize,
    closed: bool,
}

pub struct Rig {
    group: GroupCommit<Command, ()>,
    seen: Mutex<Seen>,
    /// A transaction that has begun waits for this.
    pub gate: AtomicBool,
    met: Arc<Met>,
}

impl Rig {
    pub fn new(met: &Arc<Met>) -> Arc<Self> {
        meet(&met.schedules);
        Arc::new(Self {
            group: GroupCommit::new((), MOST),
            seen: Mutex::default(),
            gate: AtomicBool::new(true),
            met: Arc::clone(met),
        })
    }

    /// One call from its begin to its end.
    pub fn call(&self, name: usize, fate: Fate) -> Result<Told, Closed> {
        let slot = Arc::new(Slot::new());
        let answers = Arc::new(AtomicU64::new(0));
        let command = Command {
            name,
            fate,
            ran: false,
            answers: Arc::clone(&answers),
            slot: Arc::clone(&slot),
        };
        let closed_before = self.seen.lock().unwrap().closed;
        let told = self.group.run(
            command,
            &slot,
            |(), batch| self.transact(batch),
            |transaction: Option<usize>| self.after(transaction),
        );
        let answers = answers.load(SeqCst);
        let seen = self.seen.lock().unwrap();
        let (ran, ended) = (seen.ran.contains(&name), seen.ended.contains(&name));
        match &told {
            Err(Closed) => assert_eq!((answers, ran), (0, false), "turned away, and taken"),
            Ok(Told::NotRun) => assert_eq!((answers, ran), (1, false), "not run, it says"),
            Ok(_) => {
                assert_eq!(answers, 1, "answers to one call");
                assert!(ran && ended, "answered before its transaction has ended");
                assert!(!closed_before, "taken after the end");
            }
        }
        match &told {
            Err(Closed) => meet(&self.met.turned_away),
            Ok(Told::NotRun) => meet(&self.met.not_run),
            Ok(Told::Refused) => meet(&self.met.refused),
            Ok(Told::Uncertain) => meet(&self.met.uncertain),
            Ok(Told::Committed) => {}
        }
        match (&told, fate) {
            (Ok(Told::Committed), Fate::Succeeds)
            | (Ok(Told::Refused), Fate::IsRefused)
            | (Ok(Told::Uncertain | Told::NotRun) | Err(Closed), _) => {}
            (told, fate) => panic!("told {told:?} of one that {fate:?}"),
        }
        told
    }

    fn transact(&self, batch: &mut [Command]) -> Ended<(), Option<usize>> {
        assert!((1..=MOST).contains(&batch.len()), "{} at once", batch.len());
        let transaction = {
            let mut seen = self.seen.lock().unwrap();
            assert!(!seen.closed, "a transaction after the end");
            seen.transactions += 1;
            seen.transactions
        };
        if batch.len() > 1 {
            meet(&self.met.shared);
        }
        if batch.len() == MOST {
            meet(&self.met.full);
        }
        while !self.gate.load(SeqCst) {
            yield_now();
        }
        for command in &mut *batch {
            yield_now();
            assert!(!command.ran, "run twice");
            command.ran = true;
            self.seen.lock().unwrap().ran.push(command.name);
        }
        yield_now();
        let names = batch.iter().map(|command| command.name);
        self.seen.lock().unwrap().ended.extend(names);
        let is_uncertain = |command: &Command| command.fate == Fate::IsUncertain;
        Ended {
            failed: batch.iter().any(is_uncertain).then_some(()),
            done: Some(transaction),
        }
    }

    /// What follows a transaction may call again, so no lock is held.
    fn after(&self, transaction: Option<usize>) {
        self.group.between(|()| ());
        self.group.queued();
        if transaction.is_some() {
            self.seen.lock().unwrap().afterwards += 1;
        }
    }

    pub fn close(&self) {
        self.group
            .close(|()| self.seen.lock().unwrap().closed = true);
    }

    /// The commands that ran, in order.
    pub fn ran(&self) -> Vec<usize> {
        self.seen.lock().unwrap().ran.clone()
    }

    pub fn has_not_begun(&self) -> bool {
        self.seen.lock().unwrap().transactions == 0
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.group.queued().0
    }

    /// Everybody has come back: nothing is left behind.
    pub fn check_over(&self) {
        assert_eq!(self.group.queued(), (0, false), "left behind");
        let seen = self.seen.lock().unwrap();
        assert_eq!(seen.afterwards, seen.transactions, "told of transactions");
    }
}

/// Runs it in so many schedules, half of them random, half by PCT with a few changes of priority.
pub fn in_schedules(attack: &Attack, count: u64, body: fn(&Arc<Met>), met: &Arc<Met>) {
    let half = usize::try_from(count / 2).unwrap();
    let seed = attack.seed();
    run(seed, RandomScheduler::new_from_seed(seed, half), body, met);
    run(seed, PctScheduler::new_from_seed(seed, 3, half), body, met);
}

fn run(seed: u64, scheduler: impl Scheduler + 'static, body: fn(&Arc<Met>), met: &Arc<Met>) {
    let mut config = Config::new();
    config.silence_warnings = true;
    let met = Arc::clone(met);
    let runs = || Runner::new(scheduler, config).run(move || body(&met));
    assert!(
        catch_unwind(AssertUnwindSafe(runs)).is_ok(),
        "again: SUBMIT_ONCE_SEED={seed} cargo test --test schedules"
    );
}
