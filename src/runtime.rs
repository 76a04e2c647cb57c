//! Every spawn, sleep and blocking job of the crate, so that a simulation can own them.
//!
//! Work runs here and not in the caller's future: a dropped future (a cancelled coroutine, a
//! cancelled task) stops waiting and loses nothing.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

/// A boxed future that owns all it needs.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// The executor, passed in so that tests own it.
pub trait Executor: Send + Sync + 'static {
    /// Runs a future to its end.
    fn spawn(&self, future: BoxFuture<()>);
    /// Completes after this long.
    fn sleep(&self, time: Duration) -> BoxFuture<()>;
    /// Runs a job that blocks, for example on the database.
    fn blocking(&self, job: Box<dyn FnOnce() + Send>);
}

/// Database jobs, listeners and DNS look-ups share the pool. A look-up on a bad network can hang for
/// many seconds, and there may be one for each request on the wire; the database must not wait for
/// them. Threads only come when they are needed.
const BLOCKING_THREADS: usize = 256;

/// How long a thread of the pool waits for another job.
const IDLE_THREADS: Duration = Duration::from_secs(2);

/// The core's own tokio runtime: two workers for the network, and a pool for what blocks.
pub struct OwnRuntime(Option<tokio::runtime::Runtime>);

impl OwnRuntime {
    /// Starts the runtime.
    ///
    /// # Errors
    /// If the system gives no threads or no event queue.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(BLOCKING_THREADS)
            // Idle threads end soon, so that an idle outbox doesn't wake up for them later.
            .thread_keep_alive(IDLE_THREADS)
            .thread_name("submit-once")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(tokio::runtime::Runtime::handle)
    }
}

impl Executor for OwnRuntime {
    fn spawn(&self, future: BoxFuture<()>) {
        if let Some(handle) = self.handle() {
            drop(handle.spawn(future));
        }
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        let guard = self.handle().map(Handle::enter);
        let sleep = tokio::time::sleep(time);
        drop(guard);
        Box::pin(sleep)
    }

    fn blocking(&self, job: Box<dyn FnOnce() + Send>) {
        if let Some(handle) = self.handle() {
            drop(handle.spawn_blocking(job));
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // The last owner may be one of the runtime's own threads, which can't wait for itself.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs a blocking job and waits for its result without blocking an async thread. `None` if the
/// job panicked or the runtime is gone.
pub(crate) async fn run_blocking<T: Send + 'static>(
    executor: &Arc<dyn Executor>,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    executor.blocking(Box::new(move || {
        // Nobody may be waiting any more; the job was done for its effect.
        drop(sender.send(job()));
    }));
    receiver.await.ok()
}
