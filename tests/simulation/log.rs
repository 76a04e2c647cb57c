//! What happened: the trace, line by line, and the history that the checker judges.

use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};
use submit_once_reference_server::history::{Event, check};

use crate::common::sim::SimClock;

pub struct Log {
    clock: Arc<SimClock>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    lines: Vec<String>,
    history: Vec<Event>,
    broken: Vec<String>,
}

impl Log {
    pub fn new(clock: &Arc<SimClock>) -> Arc<Self> {
        Arc::new(Self {
            clock: Arc::clone(clock),
            inner: Mutex::default(),
        })
    }

    /// A line of the trace, under the true time.
    pub fn say(&self, what: impl Display) {
        let line = format!("{:>11} {what}", self.clock.elapsed());
        self.inner.lock().unwrap().lines.push(line);
    }

    /// An event for the checker, which is a line of the trace, too.
    pub fn note(&self, event: Event) {
        match &event {
            // In full it would be most of the trace.
            Event::Listed { by, states } => {
                let all = digest(format!("{states:?}").as_bytes());
                self.say(format_args!("  {by} lists {} {all}", states.len()));
            }
            event => self.say(format_args!("  {event:?}")),
        }
        self.inner.lock().unwrap().history.push(event);
    }

    /// A promise that the simulation itself sees broken.
    pub fn broken(&self, what: impl Display) {
        self.say(format_args!("BROKEN {what}"));
        self.inner.lock().unwrap().broken.push(what.to_string());
    }

    /// Everything that broke, in words.
    pub fn judge(&self) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let mut broken = inner.broken.clone();
        broken.extend(check(&inner.history).iter().map(ToString::to_string));
        broken
    }

    pub fn lines(&self) -> Vec<String> {
        self.inner.lock().unwrap().lines.clone()
    }

    /// The SHA-256 of the trace.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for line in &self.inner.lock().unwrap().lines {
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
        hex(&hasher.finalize())
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A short digest, to tell bodies apart.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..6])
}
