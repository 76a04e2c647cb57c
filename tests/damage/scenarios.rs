//! What happens to files, one by one, in one table. Each scenario lays a database down, does something
//! to it, opens it with the real core, delivers, decides, and judges what left.

use submit_once::{OpenError, Outbox};

use crate::base::{Base, Files, config, lay};
use crate::common::Place;
use crate::common::attack::{Attack, assert_noticed};
use crate::common::sim::{World, simulate};
use crate::{foreign, in_the_way, missing, mounts, moved};

/// Names one scenario, to run it alone.
pub const ONE: &str = "SUBMIT_ONCE_SCENARIO";

const SCENARIOS: &[(&str, fn())] = &[
    ("a directory in its place", in_the_way::directory),
    ("a file in place of its folder", in_the_way::no_folder),
    ("a symlink to it", in_the_way::symlink_to_it),
    ("a symlink to nothing", in_the_way::dangling_symlink),
    ("a symlink to itself", in_the_way::looping_symlink),
    ("a pipe in its place", in_the_way::pipe),
    (
        "directories in place of the files beside it",
        in_the_way::directories_beside,
    ),
    (
        "a file in place of its folder of bodies",
        in_the_way::no_bodies,
    ),
    ("a file that can't be written", in_the_way::read_only_file),
    ("no index of the log", missing::no_index),
    ("a damaged index of the log", missing::damaged_index),
    ("no log", missing::no_log),
    ("a log that ends early", missing::cut_log),
    ("an empty log", missing::empty_log),
    ("an older log", missing::older_log),
    ("the log of another database", missing::other_log),
    ("no mark of how far it had come", missing::no_mark),
    ("a damaged mark", missing::damaged_mark),
    ("no bodies", missing::no_bodies),
    ("deleted while open", moved::deleted),
    ("its log deleted while open", moved::log_deleted),
    ("replaced while open", moved::replaced),
    ("an older copy put back", moved::older_copy),
    ("copied to another device", moved::other_device),
    ("copied while open", moved::copied_while_open),
    (
        "another program's visit while closed",
        foreign::visit_while_closed,
    ),
    (
        "another program's visit while open",
        foreign::visit_while_open,
    ),
    (
        "a backup that drops the locks, and another process",
        foreign::dropped_locks,
    ),
    ("another program holds its lock", foreign::lock_held),
    ("another journal mode", foreign::other_mode),
    ("a journal left by another mode", foreign::hot_journal),
    ("a journal of nothing", foreign::stale_journal),
    ("vacuumed by another program", foreign::vacuumed),
    ("an index dropped", foreign::index_dropped),
    ("the guards dropped", foreign::guards_dropped),
    ("requests rewritten by another program", foreign::rewritten),
    (
        "another program's number for its schema",
        foreign::other_numbers,
    ),
    ("a disk that fills up", mounts::fills_up),
    ("a disk that is full", mounts::full_at_opening),
    ("a disk too full to salvage", mounts::full_at_salvage),
    ("a read-only disk", mounts::read_only),
    ("a read-only disk with a log", mounts::read_only_with_a_log),
];

#[test]
fn whatever_happens_to_the_files_nothing_bad_is_sent() {
    let attack = Attack::begin("V12", "files");
    let one = std::env::var(ONE).ok();
    let mut run = 0;
    for (name, scenario) in SCENARIOS {
        if one.as_ref().is_none_or(|one| one == name) {
            println!("scenario: {name}; again: {ONE}='{name}' cargo test --test damage scenarios");
            scenario();
            run += 1;
        }
    }
    if one.is_none() {
        assert!(run >= 25);
        attack.report(&format!("{run} scenarios, 0 bad rows sent"));
    }
    assert!(run > 0, "there is no such scenario");
}

#[test]
fn another_process_leaves_the_log_of_an_open_database() {
    foreign::dropped_locks();
}

/// What the rule protects: a process that has the database open goes on, whoever else closes it.
#[test]
fn a_log_that_goes_with_the_last_connection_is_noticed() {
    assert_noticed(
        "no-persist-wal",
        "scenarios::another_process_leaves_the_log_of_an_open_database",
        "the log is gone under an open database",
    );
}

/// A simulated world with a database that was used.
pub fn with_base<F: Future<Output = ()>>(body: impl FnOnce(World, Base) -> F) {
    simulate(1, |world| async move {
        let base = Base::new(&world).await;
        body(world, base).await;
    });
}

pub fn placed(files: &Files) -> Place {
    let place = Place::in_memory();
    lay(files, &place);
    place
}

/// Opens a place that must not open, which changes nothing in it.
pub fn refusal(world: &World, place: &Place) -> OpenError {
    let before = crate::base::files(place);
    let error = Outbox::open_with(config(world, place), world.seams()).unwrap_err();
    assert!(
        crate::base::files(place) == before,
        "{error:?}, and something was changed"
    );
    error
}

/// Opens it, and it is as if nothing had happened: all that waited is sent, once.
pub async fn is_whole(world: &World, place: &Place, base: &Base) {
    let outbox = Outbox::open_with(config(world, place), world.seams()).unwrap();
    let report = outbox.open_report();
    assert!(report.salvaged.is_none() && !report.created, "{report:?}");
    assert_eq!(report.lost_changes, 0);
    base.deliver_whole(world, &outbox).await;
    outbox.close();
}

/// Opens it, and is told of a loss or a salvage: nothing is sent without a decision.
pub async fn is_told(world: &World, place: &Place, base: &Base) {
    let outbox = Outbox::open_with(config(world, place), world.seams()).unwrap();
    let report = outbox.open_report();
    assert!(
        report.lost_changes > 0 || report.salvaged.is_some(),
        "{report:?}"
    );
    base.deliver_after_decisions(world, &outbox).await;
    outbox.close();
}
