//! Many stories at once, each with a database, a server and processes of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs a job for each of the numbers below `count`, on so many threads. The first that panics ends it all.
pub fn side_by_side<T: Send>(threads: usize, count: u64, job: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let mut results = Vec::new();
        while !failed.load(Ordering::SeqCst) {
            let number = next.fetch_add(1, Ordering::SeqCst);
            if number >= count {
                break;
            }
            let fails = Fails(&failed);
            results.push(job(number));
            std::mem::forget(fails);
        }
        results
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        results
            .flat_map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Dropped in a panic alone.
struct Fails<'a>(&'a AtomicBool);

impl Drop for Fails<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
