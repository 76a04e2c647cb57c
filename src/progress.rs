//! How far large bodies have come on their way. Kept in memory only, and told in few calls: the
//! latest of each submission, some times a second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::core::lock;
use crate::error::{ListenerError, OutboxError};
use crate::model::id::SubmissionId;
use crate::model::outcome::UploadProgress;
use crate::outbox::Outbox;
use crate::policy::limits::{PROGRESS_EVERY, PROGRESS_FROM};
use crate::runtime::{Executor, run_blocking};

/// Told how far large bodies have come.
#[uniffi::export(rust, foreign)]
pub trait ProgressListener: Send + Sync {
    /// Called on a thread of the core, one call at a time, at most ten times a second, with the
    /// latest of each submission that has moved since. Only for bodies of 64 KiB and more. It may
    /// take its time and call the outbox; delivery doesn't wait for it. An error is ignored.
    fn progressed(&self, progress: Vec<UploadProgress>) -> Result<(), ListenerError>;
}

#[uniffi::export]
impl Outbox {
    /// Sets who is told how far large bodies have come, or nobody. Replaces the one before of this
    /// handle; other handles on the same path have listeners of their own.
    pub fn set_progress_listener(
        &self,
        listener: Option<Arc<dyn ProgressListener>>,
    ) -> Result<(), OutboxError> {
        self.store()?;
        let ear = listener.is_some().then(|| Arc::new(Ear::default()));
        self.core.engine.uploads().set(self.handle, ear.clone());
        if let Err(closed) = self.store() {
            // Closed meanwhile: nobody else takes it down.
            self.core.engine.uploads().set(self.handle, None);
            return Err(closed);
        }
        if let (Some(listener), Some(ear)) = (listener, ear) {
            let executor = Arc::clone(&self.core.engine.parts().executor);
            executor.spawn(Box::pin(tell(Arc::clone(&executor), listener, ear)));
        }
        Ok(())
    }
}

/// Who listens, by handle, and how far what is on the wire has come.
#[derive(Default)]
pub(crate) struct Uploads {
    ears: Mutex<BTreeMap<u64, Arc<Ear>>>,
    on_the_wire: Mutex<BTreeMap<SubmissionId, Upload>>,
}

/// A body on the wire: one number to write as it goes, whoever looks.
struct Upload {
    sent: Arc<AtomicU64>,
    total: u64,
}

/// What one listener is told from.
#[derive(Default)]
pub(crate) struct Ear {
    /// The latest of each submission that it hasn't been told.
    untold: Mutex<BTreeMap<SubmissionId, UploadProgress>>,
    news: Notify,
    stop: Notify,
}

impl Uploads {
    /// Sets who is told for a handle, or nobody.
    pub(crate) fn set(&self, handle: u64, ear: Option<Arc<Ear>>) {
        let mut ears = lock(&self.ears);
        let before = match ear {
            Some(ear) => ears.insert(handle, ear),
            None => ears.remove(&handle),
        };
        if let Some(before) = before {
            before.stop.notify_one();
        }
    }

    /// How far a submission has come that is on the wire.
    pub(crate) fn so_far(&self, id: SubmissionId) -> Option<UploadProgress> {
        lock(&self.on_the_wire)
            .get(&id)
            .map(|upload| UploadProgress {
                id,
                sent: upload.sent.load(Ordering::Relaxed),
                total: upload.total,
            })
    }

    /// It isn't any more.
    pub(crate) fn ended(&self, id: SubmissionId) {
        lock(&self.on_the_wire).remove(&id);
    }

    /// What a transport calls as the body of a submission goes.
    pub(crate) fn of(
        self: &Arc<Self>,
        id: SubmissionId,
        total: u64,
    ) -> Box<dyn Fn(u64) + Send + Sync> {
        if total < PROGRESS_FROM {
            return Box::new(|_| {});
        }
        let uploads = Arc::clone(self);
        let so_far = Arc::new(AtomicU64::new(0));
        let upload = Upload {
            sent: Arc::clone(&so_far),
            total,
        };
        lock(&self.on_the_wire).insert(id, upload);
        Box::new(move |sent| {
            let sent = sent.min(total);
            so_far.store(sent, Ordering::Relaxed);
            for ear in lock(&uploads.ears).values() {
                lock(&ear.untold).insert(id, UploadProgress { id, sent, total });
                ear.news.notify_one();
            }
        })
    }
}

/// Tells a listener, with a pause after each call, until it is replaced or the outbox closes.
async fn tell(executor: Arc<dyn Executor>, listener: Arc<dyn ProgressListener>, ear: Arc<Ear>) {
    loop {
        tokio::select! {
            () = ear.news.notified() => {}
            () = ear.stop.notified() => return,
        }
        let progress = std::mem::take(&mut *lock(&ear.untold));
        if progress.is_empty() {
            continue;
        }
        let listener = Arc::clone(&listener);
        let progress = progress.into_values().collect();
        run_blocking(&executor, move || listener.progressed(progress)).await;
        tokio::select! {
            () = executor.sleep(PROGRESS_EVERY) => {}
            () = ear.stop.notified() => return,
        }
    }
}
