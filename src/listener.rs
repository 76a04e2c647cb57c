//! Being told of changes.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::core::{Core, lock};
use crate::error::{ListenerError, OutboxError};
use crate::outbox::Outbox;
use crate::runtime::run_blocking;

/// Told that something has changed. Only a nudge: read `changes` or `snapshot` for what.
#[uniffi::export(rust, foreign)]
pub trait ChangeListener: Send + Sync {
    /// Called on a thread of the core, one call at a time; calls that would come while one is
    /// running are made one call after it. It may call the outbox. An error is ignored.
    fn changed(&self) -> Result<(), ListenerError>;
}

#[uniffi::export]
impl Outbox {
    /// Sets who is told that something has changed, or nobody. Replaces the one before of this
    /// handle; other handles on the same path have listeners of their own.
    pub fn set_listener(
        &self,
        listener: Option<Arc<dyn ChangeListener>>,
    ) -> Result<(), OutboxError> {
        self.store()?;
        let stop = Arc::new(Notify::new());
        let next = listener.is_some().then(|| Arc::clone(&stop));
        if let Some(before) = std::mem::replace(&mut *lock(&self.listening), next) {
            before.notify_one();
        }
        // It may have been closed meanwhile, and then nobody else stops what begins here.
        self.store()?;
        if let Some(listener) = listener {
            let core = Arc::clone(&self.core);
            // From here on nothing is missed, however late the task gets its turn.
            let changed = core.engine.changed().subscribe();
            self.core
                .engine
                .parts()
                .executor
                .spawn(Box::pin(listen(core, listener, changed, stop)));
        }
        Ok(())
    }
}

/// Tells a listener of changes, one call at a time, until it is replaced or the outbox closes.
async fn listen(
    core: Arc<Core>,
    listener: Arc<dyn ChangeListener>,
    mut changed: watch::Receiver<u64>,
    stop: Arc<Notify>,
) {
    let executor = Arc::clone(&core.engine.parts().executor);
    let observing = core.observe();
    loop {
        tokio::select! {
            biased;
            () = stop.notified() => break,
            result = changed.changed() => {
                if result.is_err() || core.engine.is_closed() {
                    break;
                }
                let listener = Arc::clone(&listener);
                run_blocking(&executor, move || listener.changed()).await;
            }
        }
    }
    drop(observing);
}
