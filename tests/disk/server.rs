//! The server of the attacks on the disk, and the log of what happened, as it and the app saw it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{Exchange, Fault, Transport, WireAnswer, WireBody, WireRequest};
use submit_once_reference_server::history::Event;

use crate::common::sim::answer;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Judged by the checker of histories.
    Event(Event),
    /// `begin` gave this ID for a slot.
    Begun { slot: String, id: String },
    /// A record is in a batch.
    Appended(String),
    /// The server took the record, with the batch of this key.
    Took { record: String, key: String },
    /// An item of the inbox is to be run.
    Run(String),
    /// It is done.
    Done(String),
    /// The app asks for everything of its account to be deleted.
    Purging,
    /// And for the draft's slot to be forgotten.
    Discarding,
}

/// What happened so far, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Note>>>);

impl Log {
    pub fn of(notes: &[Note]) -> Self {
        Self(Arc::new(Mutex::new(notes.to_vec())))
    }

    pub fn add(&self, note: Note) {
        self.0.lock().unwrap().push(note);
    }

    pub fn event(&self, event: Event) {
        self.add(Note::Event(event));
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap().clone()
    }

    pub fn events(&self) -> Vec<Event> {
        let event = |note: Note| match note {
            Note::Event(event) => Some(event),
            _ => None,
        };
        self.all().into_iter().filter_map(event).collect()
    }
}

#[derive(Default)]
struct Memory {
    number: u64,
    effects: BTreeSet<String>,
    times: BTreeMap<String, u32>,
    on_wire: BTreeSet<u64>,
}

/// A server with keys. What it does is a matter of the URL and of how often a key came:
/// `lost` takes effect, and the first answer doesn't arrive; `busy` is so for the first time;
/// `refused` is refused; `unkeyed` knows no keys, and its first answer doesn't arrive.
pub struct Server {
    log: Log,
    memory: Mutex<Memory>,
}

impl Server {
    /// Goes on after what has happened.
    pub fn after(log: &Log) -> Self {
        let mut memory = Memory::default();
        for event in log.events() {
            match event {
                Event::Received { number, key, .. } => {
                    memory.number = memory.number.max(number);
                    memory.on_wire.insert(number);
                    *memory.times.entry(key).or_default() += 1;
                }
                Event::Ended { number } => {
                    memory.on_wire.remove(&number);
                }
                Event::Effect { key } => {
                    memory.effects.insert(key);
                }
                _ => {}
            }
        }
        Self {
            log: log.clone(),
            memory: Mutex::new(memory),
        }
    }

    /// Every process is gone, and so are its connections.
    pub fn crash(&self) {
        self.log.event(Event::Crashed { by: None });
        let on_wire = std::mem::take(&mut self.memory.lock().unwrap().on_wire);
        for number in on_wire {
            self.log.event(Event::Ended { number });
        }
    }

    fn receive(&self, request: &WireRequest) -> (u64, Result<WireAnswer, Fault>) {
        let path: Vec<&str> = request.url.split('/').collect();
        let (kind, name) = (path[3], *path.last().unwrap());
        let find = |name: &str| {
            let found = request.headers.iter().find(|header| header.name == name);
            found.map(|header| header.value.clone())
        };
        let key = match kind {
            // The core makes the ID of a batch by itself: the app may not know it yet.
            "logs" => {
                let key = find("idempotency-key").unwrap();
                self.log.event(Event::MaybeAccepted {
                    by: "core".to_owned(),
                    key: key.clone(),
                    request: "a batch".to_owned(),
                });
                key
            }
            _ => name.to_owned(),
        };
        let body = match &request.body {
            WireBody::Bytes(bytes) => bytes.to_vec(),
            WireBody::File { path, .. } => std::fs::read(path).unwrap(),
        };
        let mut memory = self.memory.lock().unwrap();
        memory.number += 1;
        let number = memory.number;
        memory.on_wire.insert(number);
        let times = memory.times.entry(key.clone()).or_default();
        *times += 1;
        let first = *times == 1;
        let text = String::from_utf8(body).unwrap();
        self.log.event(Event::Received {
            number,
            key: key.clone(),
            request: format!("{} {} {text}", request.method, request.url),
            account: find("authorization").unwrap_or_default(),
        });
        let replayed = memory.effects.contains(&key);
        match kind {
            "refused" => return (number, Ok(answer(422, r#"{"problem":"no"}"#))),
            "busy" if first => return (number, Ok(answer(503, "{}"))),
            _ => {}
        }
        if !replayed || kind == "unkeyed" {
            memory.effects.insert(key.clone());
            self.log.event(Event::Effect { key: key.clone() });
            if kind == "logs" {
                let records: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
                for record in records {
                    let record = record["id"].as_str().unwrap().to_owned();
                    let key = key.clone();
                    self.log.add(Note::Took { record, key });
                }
            }
        }
        if first && matches!(kind, "lost" | "unkeyed") {
            return (number, Err(Fault::Lost));
        }
        (number, Ok(answer(201, &format!(r#"{{"of":"{key}"}}"#))))
    }
}

/// The network to that server. Half a tenth of a second each.
pub struct Network(pub Arc<Server>);

impl Transport for Network {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        if !exchange.confirm() {
            exchange.failed(Fault::NotSent);
            return;
        }
        let (number, answer) = self.0.receive(&request);
        let server = Arc::clone(&self.0);
        drop(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if server.memory.lock().unwrap().on_wire.remove(&number) {
                server.log.event(Event::Ended { number });
            }
            match answer {
                Ok(answer) => exchange.answered(answer),
                Err(fault) => exchange.failed(fault),
            }
        }));
    }
}
