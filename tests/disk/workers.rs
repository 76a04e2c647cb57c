//! Two threads that run one small attack after the other. Each attack has a disk and a time of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

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
        let mut n = 0;
        give_all(&mut |what, job| {
            n += 1;
            if std::env::var_os("DISK_TRACE").is_some() && n % 100 == 0 {
                eprintln!("{n} {what}");
            }
            let stride: usize =
                std::env::var("DISK_STRIDE").map_or(1, |text| text.parse().unwrap());
            if n % stride == 0 {
                give.send((what, job)).unwrap();
            }
        });
        drop(give);
    });
    assert!(
        !failed.load(Ordering::SeqCst),
        "an attack got through, see above"
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
