//! V2: the power is cut at every write and sync, and any part of what wasn't synced is on the medium.

use std::collections::HashSet;
use std::sync::Arc;

use super::ending::{Ending, end};
use super::medium::{Files, Medium};
use super::tape::{After, Moment, Tape};
use super::workers::work;
use crate::common::attack::{Attack, assert_noticed};
use crate::common::sim::SimEntropy;

/// Images in CI, at least.
const IMAGES: u64 = 20_000;

/// Asked for beyond that: some moments have fewer parts that can be missing than their share.
const SPARE: u64 = 400;

/// Of so many images one is delivered from, too.
const DRIVEN: u64 = 20;

/// What a cut left.
struct Image {
    number: u64,
    files: Files,
    with_owners: bool,
    moment: Arc<Moment>,
}

impl Image {
    fn check(&self) {
        let ending = match self.number % DRIVEN {
            0 => Ending::Drive,
            _ => Ending::Look,
        };
        let play = |app| async move { end(&app, ending).await };
        self.moment
            .play(&self.files, After::Cut, self.with_owners, play);
    }
}

struct Cutter<'a> {
    random: SimEntropy,
    give: &'a mut dyn FnMut(String, Box<dyn FnOnce() + Send>),
    made: u64,
    most: u64,
}

impl Cutter<'_> {
    /// With everything on the medium, and with nothing but what was synced.
    fn cut(&mut self, n: usize, medium: &Medium, moment: &Moment, last_of_sync: bool) {
        let moment = Arc::new(moment.clone());
        self.make(format!("all of change {n}"), medium.current(), &moment);
        if last_of_sync {
            self.make(format!("what was synced at {n}"), medium.synced(), &moment);
        }
    }

    /// With something between the two. The images that are still to be made are shared out among the
    /// moments that are still to come.
    fn tear(&mut self, n: usize, left: usize, medium: &Medium, moment: &Moment) {
        let until = self.made + self.most.saturating_sub(self.made).div_ceil(left as u64);
        let moment = Arc::new(moment.clone());
        let (mut seen, mut again) = (HashSet::new(), 0);
        while medium.is_pending() && self.made < until && again < 8 {
            let (files, told) = medium.torn(&self.random);
            if seen.insert(told.clone()) {
                self.make(format!("torn at {n}: {told}"), files, &moment);
            } else {
                again += 1;
            }
        }
    }

    fn make(&mut self, what: String, files: Files, moment: &Arc<Moment>) {
        self.made += 1;
        let image = Image {
            number: self.made,
            files,
            // The entries of their folder may be lost.
            with_owners: !self.random.next().is_multiple_of(4),
            moment: Arc::clone(moment),
        };
        (self.give)(what, Box::new(move || image.check()));
    }
}

#[test]
fn a_power_cut_at_any_moment_loses_nothing() {
    let attack = Attack::begin("V2", "power cuts");
    let tape = Tape::record();
    let moments = tape.steps.len();
    let mut made = 0;
    work(|give| {
        let mut cutter = Cutter {
            random: SimEntropy::new(attack.seed()),
            give,
            made: 0,
            most: attack.count(IMAGES + SPARE),
        };
        tape.each(|n, medium, moment| {
            // Until something more is on the medium, the last moment has most that is acknowledged.
            let last = tape.is_last_before_sync(n);
            cutter.cut(n, medium, moment, last);
        });
        tape.each(|n, medium, moment| cutter.tear(n, moments - n, medium, moment));
        made = cutter.made;
    });
    assert!(made >= attack.count(IMAGES), "only {made} images");
    attack.report(&format!(
        "{made} images of {moments} moments, every {DRIVEN}th delivered from, 0 lost"
    ));
}

#[test]
fn commits_that_are_not_synced_are_noticed() {
    assert_noticed(
        "sync-normal",
        "cuts::a_power_cut_at_any_moment_loses_nothing",
        "changes were lost",
    );
}
