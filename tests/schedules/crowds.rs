//! Crowds of callers on one group commit (V11).

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use crate::attack::{Attack, assert_noticed};
use crate::group_commit::Closed;
use crate::rig::{Fate, Met, Rig, Told, in_schedules};

fn spawn(rig: &Arc<Rig>, work: impl FnOnce(&Rig) + Send + 'static) -> thread::JoinHandle<()> {
    let rig = Arc::clone(rig);
    thread::spawn(move || work(&rig))
}

fn any_fate() -> Fate {
    match thread_rng().gen_range(0..6) {
        0 => Fate::IsRefused,
        1 => Fate::IsUncertain,
        _ => Fate::Succeeds,
    }
}

/// Up to five callers with up to two calls each, some of which fail.
fn crowd(met: &Arc<Met>) {
    let rig = Rig::new(met);
    let callers = thread_rng().gen_range(2..=5);
    let threads = (0..callers).map(|caller| {
        spawn(&rig, move |rig| {
            for call in 0..thread_rng().gen_range(1..=2) {
                rig.call(caller * 10 + call, any_fate()).unwrap();
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
    rig.check_over();
}

/// The same, and somebody closes it meanwhile.
fn crowd_at_the_end(met: &Arc<Met>) {
    let rig = Rig::new(met);
    let callers = thread_rng().gen_range(2..=4);
    let threads = (0..callers).map(|caller| {
        spawn(&rig, move |rig| {
            for call in 0..2 {
                let told = rig.call(caller * 10 + call, any_fate());
                if told == Err(Closed) || told == Ok(Told::NotRun) {
                    let again = rig.call(caller * 10 + 5, Fate::Succeeds);
                    assert_eq!(again, Err(Closed), "after the end");
                }
            }
        })
    });
    let mut threads: Vec<_> = threads.collect();
    threads.push(spawn(&rig, Rig::close));
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(rig.call(99, Fate::Succeeds), Err(Closed));
    rig.check_over();
}

/// Callers of whom it is known in which order they came.
fn queue(met: &Arc<Met>) {
    let rig = Rig::new(met);
    rig.gate.store(false, SeqCst);
    let mut threads = Vec::new();
    for caller in 0..6 {
        threads.push(spawn(&rig, move |rig| {
            assert_eq!(rig.call(caller, Fate::Succeeds), Ok(Told::Committed));
        }));
        // The first is taken along at once, and its transaction waits for the gate.
        while rig.waiting() != caller || rig.has_not_begun() {
            thread::yield_now();
        }
    }
    rig.gate.store(true, SeqCst);
    for thread in threads {
        thread.join().unwrap();
    }
    let ran = rig.ran();
    assert_eq!(ran, [0, 1, 2, 3, 4, 5], "not in the order of arrival");
    rig.check_over();
}

#[test]
fn every_caller_is_answered_once_in_every_schedule() {
    let attack = Attack::begin("V11", "schedules of the group commit");
    let met = Arc::new(Met::default());
    in_schedules(&attack, attack.count(9_000), crowd, &met);
    in_schedules(&attack, attack.count(9_000), crowd_at_the_end, &met);
    in_schedules(&attack, attack.count(2_000), queue, &met);
    let of = |count: &std::sync::atomic::AtomicU64| {
        let count = count.load(SeqCst);
        assert!(count > 100, "met {count} times only");
        count
    };
    attack.report(&format!(
        "{} schedules, {} shared transactions ({} full), {} calls refused, {} uncertain, {} closed \
         before their turn, {} turned away, 0 lost, 0 hang",
        of(&met.schedules),
        of(&met.shared),
        of(&met.full),
        of(&met.refused),
        of(&met.uncertain),
        of(&met.not_run),
        of(&met.turned_away),
    ));
}

const ATTACK: &str = "crowds::every_caller_is_answered_once_in_every_schedule";

#[test]
fn a_lost_wake_up_is_found() {
    assert_noticed("no-wake-up", ATTACK, "deadlock");
}

#[test]
fn a_leader_that_does_not_hand_on_is_found() {
    assert_noticed("no-hand-over", ATTACK, "deadlock");
}

#[test]
fn a_lead_that_is_never_given_up_is_found() {
    assert_noticed("lead-never-ends", ATTACK, "left behind");
}
