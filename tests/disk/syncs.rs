//! V4: each sync fails once, and the pages that it was for are never written although they look
//! clean. The process goes on, is killed, or opens the file anew; then the power is cut.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::ending::Ending;
use super::kills::{cut, restart_then_cut};
use super::medium::Medium;
use super::server::Log;
use super::stages::{Start, starts};
use super::tape::{Beside, Moment};
use super::workers::work;
use crate::common::attack::{Attack, assert_noticed};
use crate::common::vfs::{self, Change, Mode, Op};

/// Cuts after the fault, at most.
const CUTS: usize = 4;

/// What was there at some time after the fault.
struct Seen {
    medium: Medium,
    beside: Beside,
    notes: usize,
}

struct Watch {
    medium: Medium,
    /// The moment of the fault, and after each acknowledgement from then on.
    seen: Vec<Seen>,
}

/// Plays a part of the life while one sync fails. Gives the medium at the fault and later.
fn play(start: &Start, sync: usize, reopens: bool) -> Vec<(Medium, Moment)> {
    let mut moments = Vec::new();
    start.play(|mut app| {
        let moments = &mut moments;
        let elapsed = start.elapsed + Duration::from_secs(60);
        async move {
            let disk = vfs::disk(&app.database);
            if !start.stage.opens() {
                app.open();
            }
            let folder = app.database.parent().unwrap().to_owned();
            let watch = Arc::new(Mutex::new(Watch {
                medium: Medium::of(&folder),
                seen: Vec::new(),
            }));
            let (kept, log) = (Arc::clone(&watch), app.log.clone());
            disk.faults.watch(Some(Box::new(move |change| {
                kept.lock().unwrap().see(change, &log, &folder);
            })));
            app.set_faulty(true);
            app.reopens = reopens;
            disk.faults.arm(Some((sync, Mode::Once)));
            start.stage.play(&app).await;
            assert!(disk.faults.hit(), "nothing failed");
            disk.faults.disarm();
            disk.faults.watch(None);
            let folder = app.database.parent().unwrap().to_owned();
            let mut watch = watch.lock().unwrap();
            watch.look(&app.log, &folder);
            let notes = app.log.all();
            for seen in watch.seen.drain(..) {
                let moment = Moment {
                    beside: Arc::new(seen.beside),
                    notes: notes[..seen.notes].to_vec(),
                    elapsed,
                };
                moments.push((seen.medium, moment));
            }
            app.close();
        }
    });
    moments
}

impl Watch {
    fn see(&mut self, change: &Change, log: &Log, folder: &std::path::Path) {
        // As late as possible: before the next change.
        if self.seen.last().is_some_and(|last| last.notes < log.len()) {
            self.look(log, folder);
        }
        self.medium.apply(change);
        if matches!(change, Change::Dropped(_)) {
            self.look(log, folder);
        }
    }

    fn look(&mut self, log: &Log, folder: &std::path::Path) {
        self.seen.push(Seen {
            medium: self.medium.clone(),
            beside: Beside::read(folder),
            notes: log.len(),
        });
    }
}

/// Some of the moments, the first and the last among them.
fn some(moments: &[(Medium, Moment)]) -> impl Iterator<Item = &(Medium, Moment)> {
    let apart = moments.len().saturating_sub(1).max(1).div_ceil(CUTS - 1);
    let last = moments.len() - 1;
    let chosen = move |(n, _): &(usize, _)| n % apart == 0 || *n == last;
    moments
        .iter()
        .enumerate()
        .filter(chosen)
        .map(|(_, one)| one)
}

/// Says which part of an attack it was, if this panics.
fn say_where<T>(what: &str, run: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(value) => value,
        Err(panic) => {
            eprintln!("it was {what}");
            resume_unwind(panic);
        }
    }
}

/// Lets one sync fail, with each of the three that may follow, and cuts the power then.
fn attack(start: &Start, sync: usize) -> usize {
    let went_on = play(start, sync, false);
    let reopened = play(start, sync, true);
    let (medium, moment) = &went_on[0];
    say_where("killed", || restart_then_cut(moment, medium, true));
    let mut cuts = 1;
    for (how, moments) in [("gone on", &went_on), ("opened anew", &reopened)] {
        for (medium, moment) in some(moments) {
            say_where(how, || cut(moment, medium));
            cuts += 1;
        }
    }
    cuts
}

#[test]
fn a_failed_sync_whose_pages_are_lost_loses_nothing_that_was_answered() {
    let ongoing = Attack::begin("V4", "failed syncs");
    let starts = starts();
    let (mut syncs, cuts) = (0, AtomicUsize::new(0));
    work(|give| {
        for start in &starts {
            let made = super::calls::play(start, None, Ending::Look);
            for (n, (op, part)) in made.into_iter().enumerate() {
                if op != Op::Sync {
                    continue;
                }
                syncs += 1;
                let cuts = &cuts;
                give(
                    format!("the sync {n} of {part:?} in {:?}", start.stage),
                    Box::new(move || {
                        cuts.fetch_add(attack(start, n), Ordering::SeqCst);
                    }),
                );
            }
        }
    });
    let cuts = cuts.into_inner();
    ongoing.report(&format!(
        "{syncs} of {syncs} syncs x 3, {cuts} power cuts, 0 lost"
    ));
}

#[test]
fn an_opening_that_leaves_the_log_as_it_is_is_noticed() {
    assert_noticed(
        "no-checkpoint-at-open",
        "syncs::a_failed_sync_whose_pages_are_lost_loses_nothing_that_was_answered",
        "never lost",
    );
}
