//! The open outboxes of a scenario, and those who listen to them.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};
use submit_once::{
    Batch, ChangeListener, CredentialsListener, CredentialsReason, ListenerError, Outbox,
    ProgressListener, UploadProgress,
};

use super::format::Ear;
use super::forms;
use super::matching::misfit;
use crate::agents::PATIENCE;

/// An outbox, with what its listeners have heard.
pub struct Handle {
    pub outbox: Arc<Outbox>,
    /// The database's name in the scenario's folder.
    pub file: String,
    pub open: bool,
    heard: HashMap<Ear, Arc<Heard>>,
    batches: HashMap<String, Arc<Batch>>,
}

/// What one listener has heard, in order.
#[derive(Default)]
pub struct Heard {
    all: Mutex<Vec<Value>>,
    more: Condvar,
}

impl Heard {
    fn hear(&self, what: Value) {
        self.all.lock().unwrap().push(what);
        self.more.notify_all();
    }
}

impl ChangeListener for Heard {
    fn changed(&self) -> Result<(), ListenerError> {
        self.hear(json!({}));
        Ok(())
    }
}

impl CredentialsListener for Heard {
    fn credentials_needed(
        &self,
        account: String,
        reason: CredentialsReason,
    ) -> Result<(), ListenerError> {
        self.hear(forms::credentials_needed(&account, reason));
        Ok(())
    }
}

impl ProgressListener for Heard {
    fn progressed(&self, progress: Vec<UploadProgress>) -> Result<(), ListenerError> {
        for one in &progress {
            self.hear(forms::progress(one));
        }
        Ok(())
    }
}

impl Handle {
    pub fn new(outbox: Arc<Outbox>, file: String) -> Self {
        Self {
            outbox,
            file,
            open: true,
            heard: HashMap::new(),
            batches: HashMap::new(),
        }
    }

    pub fn close(&mut self) {
        self.outbox.close();
        self.open = false;
    }

    /// Gives a batch a name, or another one the same.
    pub fn name_batch(&mut self, name: String, batch: Arc<Batch>) {
        self.batches.insert(name, batch);
    }

    pub fn batch(&self, name: &str) -> &Batch {
        match self.batches.get(name) {
            Some(batch) => batch,
            None => panic!("no batch is called {name}"),
        }
    }

    /// An ear that hears from now on, or none.
    pub fn listen(&mut self, ear: Ear, listening: bool) -> Option<Arc<Heard>> {
        self.heard.remove(&ear);
        listening.then(|| Arc::clone(self.heard.entry(ear).or_default()))
    }

    /// Waits until something that fits has been heard, now or before.
    pub fn wait_to_hear(&self, ear: Ear, expected: &Value) -> Value {
        let Some(heard) = self.heard.get(&ear) else {
            panic!("nobody listens");
        };
        let fitting = |all: &[Value]| {
            let fits = |one: &&Value| misfit(expected, one).is_none();
            all.iter().find(fits).cloned()
        };
        let all = heard.all.lock().unwrap();
        let waited = heard
            .more
            .wait_timeout_while(all, PATIENCE, |all| fitting(all).is_none());
        let (all, _) = waited.unwrap();
        fitting(&all).unwrap_or_else(|| panic!("expected {expected}\n   heard {all:?}"))
    }
}
