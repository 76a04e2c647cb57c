//! V1: every call of SQLite to its disk fails once, in each way.

use std::time::Duration;

use super::ending::{Ending, end};
use super::stages::{Start, starts};
use super::workers::work;
use crate::common::attack::Attack;
use crate::common::vfs::{self, Mode, Op, Part};

/// After so many runs everything is delivered, too.
const DRIVEN: usize = 8;

/// Plays a part of the life while one of its calls fails, and then ends everything on a disk that is
/// well. Gives the calls that were made up to the end of the part.
pub fn play(start: &Start, fails: Option<(usize, Mode)>, ending: Ending) -> Vec<(Op, Part)> {
    let mut made = Vec::new();
    start.play(|app| {
        let made = &mut made;
        async move {
            let disk = vfs::disk(&app.database);
            if !start.stage.opens() {
                app.open();
            }
            app.set_faulty(fails.is_some());
            disk.faults.arm(fails);
            start.stage.play(&app).await;
            assert!(fails.is_none() || disk.faults.hit(), "nothing failed");
            *made = disk.faults.disarm();
            app.close();
            app.world.pass(Duration::from_secs(1)).await;
            end(&app, ending).await;
        }
    });
    made
}

/// True if the same calls fail in the same way from another call or in another mode: a full disk
/// shows at the next write alone, a lost file at the next call for its bytes, and most calls have no
/// half.
pub fn is_repeat(op: Op, mode: Mode) -> bool {
    match mode {
        Mode::Full => op != Op::Write,
        Mode::FileGone => !op.is_of_bytes(),
        Mode::Half => !op.is_of_bytes() && !matches!(op, Op::Open | Op::Delete),
        Mode::Once | Mode::Gone => false,
    }
}

#[test]
fn every_call_fails_in_every_way_and_nothing_is_lost() {
    let attack = Attack::begin("V1", "failing calls");
    let starts = starts();
    let (mut calls, mut runs) = (0, 0);
    work(|give| {
        for start in &starts {
            let made = play(start, None, Ending::Drive);
            calls += made.len();
            for (n, (op, part)) in made.into_iter().enumerate() {
                for mode in Mode::ALL {
                    if is_repeat(op, mode) {
                        continue;
                    }
                    let stage = start.stage;
                    let what = format!("{stage:?}, call {n} ({op:?} of {part:?}), {mode:?}");
                    let ending = if runs % DRIVEN == 0 {
                        Ending::Drive
                    } else {
                        Ending::Look
                    };
                    let run = move || drop(play(start, Some((n, mode)), ending));
                    give(what, Box::new(run));
                    runs += 1;
                }
            }
        }
    });
    attack.report(&format!(
        "{calls} of {calls} I/O calls x {} modes ({runs} different runs), 0 lost",
        Mode::ALL.len()
    ));
}
