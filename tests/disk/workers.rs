//! Two threads that run one small attack after the other. Each attack has a disk and a time of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::common::attack::asked_seed;

/// What is attacked, in words, and the attack.
type Job<'a> = (String, Box<dyn FnOnce() + Send + 'a>);

const THREADS: usize = 2;

/// Runs all that is given. Fails with the first that fails, and says which that was.
pub fn work<'a>(give_all: impl FnOnce(&mut dyn FnMut(String, Box<dyn FnOnce() + Send + 'a>))) {
    let (give, jobs) = sync_channel::<Job<'a>>(4 * THREADS);
    let jobs = Mutex::new(jobs);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| run_all(&jobs, &failed));
        }
        give_all(&mut |what, job| give.send((what, job)).unwrap());
        drop(give);
    });
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let seed = asked_seed().unwrap_or(1);
    assert!(
        !failed.load(Ordering::SeqCst),
        "an attack got through, see above; again: SUBMIT_ONCE_SEED={seed} cargo test --test disk {test}"
    );
}

fn run_all(jobs: &Mutex<Receiver<Job<'_>>>, failed: &AtomicBool) {
    loop {
        let job = jobs.lock().unwrap().recv();
        let Ok((what, job)) = job else { return };
        if failed.load(Ordering::SeqCst) {
            continue;
        }
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            eprintln!("this was {what}");
            failed.store(true, Ordering::SeqCst);
        }
    }
}
