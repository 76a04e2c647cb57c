//! Talking to a process that may die at any word, and noting what it says.

use std::process::Command;

use submit_once_reference_server::history::{Event, State};

use crate::common::Place;
use crate::common::agents::{Agent, binary};
use crate::diary::{Diary, state, states};

/// A submission as its app keeps it.
#[derive(Clone)]
pub struct Order {
    pub id: String,
    pub path: String,
    pub lane: Option<String>,
    /// So many bytes, which the core keeps in a file of their own; otherwise a word.
    pub large: Option<u64>,
}

impl Order {
    fn request(&self) -> String {
        format!("POST {} {:?}", self.path, self.large)
    }

    fn command(&self) -> String {
        let (id, path) = (&self.id, &self.path);
        match (&self.lane, self.large) {
            (Some(lane), _) => format!("submit-in {lane} {id} {path} tea"),
            (None, Some(bytes)) => format!("submit-large {id} {path} {bytes}"),
            (None, None) => format!("submit {id} {path} tea"),
        }
    }
}

pub struct Session<'a> {
    pub agent: Agent,
    pub name: String,
    diary: &'a Diary,
    /// It came to the point that was named, and that is the end of it.
    pub at_point: bool,
}

impl<'a> Session<'a> {
    /// A process that isn't open yet.
    pub fn launch(name: String, place: &Place, diary: &'a Diary, options: &[&str]) -> Self {
        let url = diary.server.url();
        let options = [&["--base", &url][..], options].concat();
        Self {
            agent: Agent::launch(Command::new(binary("agent")), place, &options),
            name,
            diary,
            at_point: false,
        }
    }

    /// One that is, and lives.
    pub fn open(name: &str, place: &Place, diary: &'a Diary, options: &[&str]) -> Self {
        let mut session = Self::launch(name.to_owned(), place, diary, options);
        assert_eq!(session.read().as_deref(), Some("open"), "{name}");
        session
    }

    pub fn read(&mut self) -> Option<String> {
        let line = self.agent.try_read()?;
        self.heard(line)
    }

    pub fn ask(&mut self, command: &str) -> Option<String> {
        let line = self.agent.try_ask(command)?;
        self.heard(line)
    }

    fn heard(&mut self, line: String) -> Option<String> {
        if line.starts_with("at ") {
            self.at_point = true;
            self.rest();
            return None;
        }
        Some(line)
    }

    /// All that it still says, until it is dead.
    pub fn rest(&mut self) {
        while let Some(line) = self.agent.try_read() {
            self.at_point |= line.starts_with("at ");
        }
    }

    /// Submits, for the first time or again. `None` leaves open whether it was stored.
    pub fn submit(&mut self, order: &Order) -> Option<String> {
        let (by, key, request) = (self.name.clone(), order.id.clone(), order.request());
        self.diary.note(Event::MaybeAccepted { by, key, request });
        let told = self.ask(&order.command())?;
        assert!(
            ["Accepted", "Joined", "Replayed"].contains(&told.as_str()),
            "{}: {told}",
            self.name
        );
        self.diary.note(Event::Accepted {
            by: self.name.clone(),
            key: order.id.clone(),
            request: order.request(),
            lane: order.lane.clone(),
        });
        Some(told)
    }

    /// Looks at one, and at its result if there is one.
    pub fn look(&mut self, id: &str) -> Option<State> {
        let state = state(&self.ask(&format!("snapshot {id}"))?);
        if state.is_final() {
            let result = self.ask(&format!("result {id}"))?;
            self.diary.note(Event::Read {
                by: self.name.clone(),
                key: id.to_owned(),
                state,
                result,
            });
        }
        Some(state)
    }

    pub fn list(&mut self) -> Option<Vec<(String, State)>> {
        let states = states(&self.ask("list")?);
        self.diary.note(Event::Listed {
            by: self.name.clone(),
            states: states.clone(),
        });
        Some(states)
    }

    pub fn cancel(&mut self, id: &str) -> Option<()> {
        if self.ask(&format!("cancel {id}"))? == "Cancelled" {
            self.look(id)?;
        }
        Some(())
    }

    /// Delivers until everything is final or held, and reads it all.
    pub fn finish(&mut self) {
        assert_eq!(self.ask("start").unwrap(), "started");
        for (id, state) in self.list().unwrap() {
            if !state.is_final() && state != State::Held {
                let waited = self.ask(&format!("wait {id} 60000")).unwrap();
                assert_ne!(waited, "TimedOut", "{id} comes to no end");
            }
        }
        self.diary.note(Event::Settled);
        self.read_all();
    }

    /// The list, and every result.
    pub fn read_all(&mut self) {
        for (id, _) in self.list().unwrap() {
            self.look(&id).unwrap();
        }
    }
}
