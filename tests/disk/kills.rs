//! V3: a kill at every change of a file, a restart, the same ID again, and then the power is cut. What
//! a killed process had written and not synced is seen by the next one: what that answers must hold.
//!
//! A kill between two changes leaves the same files as one right after the first of them.

use std::sync::{Arc, Mutex};

use submit_once::SubmissionId;
use submit_once_reference_server::history::Event;

use super::app::App;
use super::ending::{Ending, end};
use super::life::{NAMES, order, submission};
use super::medium::Medium;
use super::tape::{After, Beside, Moment, Tape};
use super::workers::work;
use crate::common::attack::{Attack, assert_noticed};
use crate::common::vfs;

/// A process starts on the files as they are, answers the last ID that was submitted, and lists and
/// reads everything. Then the power is cut: only what it or the one before has synced is left.
pub fn restart_then_cut(moment: &Moment, medium: &Medium, with_owners: bool) {
    let mut left = None;
    moment.play(&medium.current(), After::Kill, with_owners, |app| {
        let left = &mut left;
        let medium = Arc::new(Mutex::new(medium.clone()));
        let elapsed = moment.elapsed;
        async move {
            let disk = vfs::disk(&app.database);
            let seen = Arc::clone(&medium);
            disk.faults.watch(Some(Box::new(move |change| {
                seen.lock().unwrap().apply(change)
            })));
            app.open();
            app.list();
            again(&app);
            app.read_all();
            disk.faults.watch(None);
            let beside = Arc::new(Beside::read(app.database.parent().unwrap()));
            let notes = app.log.all();
            let medium = medium.lock().unwrap().clone();
            *left = Some((
                medium,
                Moment {
                    beside,
                    notes,
                    elapsed,
                },
            ));
            app.close();
        }
    });
    let (medium, moment): (Medium, Moment) = left.unwrap();
    cut(&moment, &medium);
}

/// The power is cut, and nothing is left but what was synced.
pub fn cut(moment: &Moment, medium: &Medium) {
    moment.play(&medium.synced(), After::Cut, true, |app| async move {
        end(&app, Ending::Look).await;
    });
}

/// The app, which has had no answer, submits the last one once more.
fn again(app: &App) {
    let last = app
        .log
        .events()
        .into_iter()
        .rev()
        .find_map(|event| match event {
            Event::MaybeAccepted { key, by, .. } if by == "app" => Some(key),
            _ => None,
        });
    let Some(key) = last else { return };
    let id = SubmissionId::parse(&key).unwrap();
    let named = NAMES.iter().map(|name| submission(name));
    let one = named.into_iter().find(|one| one.id == id);
    app.submit(one.unwrap_or_else(|| order("orders", id)))
        .unwrap();
}

#[test]
fn what_a_restarted_process_answers_survives_a_power_cut() {
    let attack = Attack::begin("V3", "kill, restart, cut");
    let tape = Tape::record();
    let mut kills = 0;
    work(|give| {
        tape.each(|n, medium, moment| {
            for with_owners in [true, false] {
                let (medium, moment) = (medium.clone(), moment.clone());
                let change = tape.steps[n].change.name();
                let what = format!("a kill after change {n}, {change}");
                give(
                    what,
                    Box::new(move || restart_then_cut(&moment, &medium, with_owners)),
                );
                kills += 1;
            }
        });
    });
    let moments = tape.steps.len();
    attack.report(&format!(
        "{moments} of {moments} moments, with and without the owners' locks: {kills} kills, 0 lost"
    ));
}

#[test]
fn an_opening_that_syncs_nothing_is_noticed() {
    assert_noticed(
        "no-boot-write",
        "kills::what_a_restarted_process_answers_survives_a_power_cut",
        "never lost",
    );
}
