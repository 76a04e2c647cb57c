//! Calls whose caller has gone.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

/// Tells a waiting call that its caller has gone: for languages that can't drop a future. For one
/// call or for many; once told, it stays so.
#[derive(Debug, uniffi::Object)]
pub struct Cancellation {
    asked: watch::Sender<bool>,
}

#[uniffi::export]
impl Cancellation {
    /// One that hasn't been told yet.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            asked: watch::Sender::new(false),
        })
    }

    /// The caller has gone. Returns at once.
    pub fn cancel(&self) {
        self.asked.send_replace(true);
    }
}

impl Cancellation {
    /// Ends `call` once the caller has gone, by dropping it.
    pub(crate) async fn ends<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let mut asked = self.asked.subscribe();
        tokio::select! {
            biased;
            result = call => Some(result),
            // The sender is here: it can't end otherwise.
            _ = asked.wait_for(|asked| *asked) => None,
        }
    }
}
