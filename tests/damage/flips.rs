//! Bits, bytes, runs and pages that change, and files that are cut: in the database, in its log, in both,
//! and in the files beside them. Each is opened by the real core, delivered, decided, and judged.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use submit_once::OpenError;

use crate::base::{self, Base, Files};
use crate::common::Place;
use crate::common::attack::{Attack, assert_noticed};
use crate::common::sim::{SimEntropy, World, simulate};

/// Names one flip, to run it alone.
const ONE: &str = "SUBMIT_ONCE_FLIP";

const DATABASE: &str = "outbox.sqlite3";
const LOG: &str = "outbox.sqlite3-wal";
const PAGE: usize = 4_096;

/// Runs of bytes within a file that change, as media and careless programs change them.
pub struct Dice(SimEntropy);

impl Dice {
    pub fn new(seed: u64, number: u64) -> Self {
        Self(SimEntropy::new(seed.wrapping_mul(1_000_003) ^ number))
    }

    pub fn below(&self, end: usize) -> usize {
        (self.0.next() % end.max(1) as u64) as usize
    }

    /// A place in the file: any, or one that isn't empty, or one in a request.
    fn place(&self, bytes: &[u8]) -> usize {
        const REQUEST: &[u8] = b"/orders?of=";
        let at = self.below(bytes.len());
        let rest = &bytes[at..];
        let ahead = match self.below(4) {
            0 => None,
            1 | 2 => rest.iter().position(|byte| *byte != 0),
            _ => {
                let found = rest.windows(REQUEST.len()).position(|text| text == REQUEST);
                found.map(|found| (found + self.below(100)).min(rest.len() - 1))
            }
        };
        at + ahead.unwrap_or(0)
    }

    /// Changes the bytes, and says how.
    fn change(&self, bytes: &mut Vec<u8>) -> String {
        if bytes.is_empty() {
            return "nothing".to_owned();
        }
        let at = self.place(bytes);
        let run = (1 + self.below(64)).min(bytes.len() - at);
        let page = self.below(bytes.len().div_ceil(PAGE)) * PAGE;
        let page_end = (page + PAGE).min(bytes.len());
        match self.below(8) {
            0..=2 => {
                bytes[at] ^= 1 << self.below(8);
                format!("a bit at {at}")
            }
            3 => {
                bytes[at] = bytes[at].wrapping_add(1 + self.below(255) as u8);
                format!("a byte at {at}")
            }
            4 => {
                bytes[at..at + run].fill_with(|| self.below(256) as u8);
                format!("{run} bytes at {at}")
            }
            5 => {
                bytes[page..page_end].fill(0);
                format!("zeros from {page}")
            }
            6 => {
                let from = self.below(bytes.len() / PAGE) * PAGE;
                let copied = bytes[from..(from + page_end - page).min(bytes.len())].to_vec();
                bytes[page..page + copied.len()].copy_from_slice(&copied);
                format!("what is at {from} also at {page}")
            }
            _ => {
                bytes.truncate(at);
                format!("cut at {at}")
            }
        }
    }
}

/// Changes one or two of the files, and says what was done.
fn damage(dice: &Dice, base: &Base) -> (Files, String) {
    let (mut files, names): (Files, Vec<PathBuf>) = match dice.below(8) {
        0..=2 => (base.closed.clone(), vec![DATABASE.into()]),
        3 | 4 => (base.live.clone(), vec![LOG.into()]),
        5 => (base.live.clone(), vec![DATABASE.into()]),
        6 => (base.live.clone(), vec![DATABASE.into(), LOG.into()]),
        _ => {
            let beside =
                |path: &&PathBuf| **path != Path::new(DATABASE) && **path != Path::new(LOG);
            let beside: Vec<_> = base.live.keys().filter(beside).cloned().collect();
            let name = beside[dice.below(beside.len())].clone();
            (base.live.clone(), vec![name])
        }
    };
    let mut done = Vec::new();
    for name in names {
        let bytes = files.get_mut(&name).unwrap();
        for _ in 0..1 + dice.below(3) {
            done.push(format!("{}: {}", name.display(), dice.change(bytes)));
        }
    }
    (files, done.join(", "))
}

/// What became of damaged files.
#[derive(Default)]
struct Counts {
    opened: AtomicU64,
    salvaged: AtomicU64,
    refused: AtomicU64,
    sent: AtomicU64,
}

/// Says which one it was if the test fails in it.
struct Case<'a> {
    seed: u64,
    number: u64,
    what: &'a Cell<String>,
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "flip {n} of seed {seed} ({what}); again: \
                 SUBMIT_ONCE_SEED={seed} {ONE}={n} cargo test --test damage flips",
                n = self.number,
                seed = self.seed,
                what = self.what.take(),
            );
        }
    }
}

async fn flip(world: &World, base: &Base, seed: u64, number: u64, counts: &Counts) {
    let what = Cell::new(String::new());
    let _case = Case {
        seed,
        number,
        what: &what,
    };
    let (files, done) = damage(&Dice::new(seed, number), base);
    what.set(done);
    let place = Place::in_memory();
    base::lay(&files, &place);
    let outbox = match base::open(world, &place, base) {
        Ok(outbox) => outbox,
        Err(error) => {
            is_typed(&error);
            counts.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
    };
    let salvaged = outbox.open_report().salvaged.is_some();
    let which = if salvaged {
        &counts.salvaged
    } else {
        &counts.opened
    };
    which.fetch_add(1, Ordering::Relaxed);
    let judge = base.deliver(world, &outbox).await;
    let sent = judge.sent().len() as u64;
    counts.sent.fetch_add(sent, Ordering::Relaxed);
    outbox.close();
}

/// A refusal that tells the app what to do, and not that the library is broken.
fn is_typed(error: &OpenError) {
    let typed = match error {
        OpenError::NotAnOutbox { .. } | OpenError::SchemaTooNew { .. } => true,
        OpenError::Storage { storage } => {
            !matches!(storage, submit_once::StorageError::Internal { .. })
        }
        _ => false,
    };
    assert!(typed, "{error:?}");
}

/// Panics of the core's own tasks end those alone: they are counted here.
fn count_panics() -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&count);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        counting.fetch_add(1, Ordering::SeqCst);
        before(info);
    }));
    count
}

#[test]
fn no_flipped_byte_sends_what_was_not_accepted() {
    let attack = Attack::begin("V12", "flipped bytes");
    let (seed, count) = (attack.seed(), attack.count(1_000));
    let counts = Counts::default();
    let panics = count_panics();
    let one: Option<u64> = std::env::var(ONE).ok().map(|text| text.parse().unwrap());
    let count = one.map_or(count, |one| one + 1);
    let next = AtomicU64::new(one.unwrap_or(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                simulate(seed, |world| async {
                    let world = world;
                    let base = Base::new(&world).await;
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        if number >= count {
                            break;
                        }
                        flip(&world, &base, seed, number, &counts).await;
                    }
                });
            });
        }
    });
    assert_eq!(
        panics.load(Ordering::SeqCst),
        0,
        "a task of the core panicked"
    );
    if one.is_some() {
        return;
    }
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (opened, salvaged, refused) = (
        of(&counts.opened),
        of(&counts.salvaged),
        of(&counts.refused),
    );
    assert_eq!(opened + salvaged + refused, count);
    assert!(
        salvaged > count / 10 && of(&counts.sent) > count,
        "the attack is blind"
    );
    attack.report(&format!(
        "{count} flips ({opened} opened, {salvaged} salvaged, {refused} refused with a typed error), \
         {} requests judged, 0 bad rows sent",
        of(&counts.sent)
    ));
}

/// What keeps a changed row from being sent.
#[test]
fn rows_that_are_not_checked_are_noticed() {
    assert_noticed(
        "unchecked-rows",
        "flips::no_flipped_byte_sends_what_was_not_accepted",
        "bad rows were sent",
    );
}
