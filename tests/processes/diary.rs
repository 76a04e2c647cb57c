//! The history of one database: what this process has seen, put in order with what the server has seen.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use submit_once_reference_server::history::{Event, State, check};
use submit_once_reference_server::{Options, ReferenceServer};

use crate::common::agents::PATIENCE;

/// A server, and what happened besides.
pub struct Diary {
    pub server: ReferenceServer,
    noted: Mutex<Vec<(u64, Event)>>,
    /// How to have it all again.
    again: String,
}

/// What a history adds up to.
#[derive(Default, Clone, Copy)]
pub struct Figures {
    pub submissions: u64,
    pub requests: u64,
    pub effects: u64,
}

impl Diary {
    /// `test` and `seed` say how to run it again, should it fail.
    pub fn new(options: Options, test: &str, seed: u64, part: u64) -> Self {
        Self {
            server: ReferenceServer::start(options).unwrap(),
            noted: Mutex::default(),
            again: format!(
                "part {part} of SUBMIT_ONCE_SEED={seed} cargo test --profile ci --test processes {test}"
            ),
        }
    }

    /// It has just happened.
    pub fn note(&self, event: Event) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.push((self.server.now_ns(), event));
    }

    /// Judges it all, once no request is on its way any more.
    pub fn judge(&self) -> Figures {
        assert!(self.server.wait_until_quiet(PATIENCE), "{}", self.again);
        let mut events = self.noted.lock().unwrap().clone();
        events.extend(self.server.events());
        // Stable: what this process noted in one nanosecond stays in order.
        events.sort_by_key(|(at, _)| *at);
        let history: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
        let broken: Vec<String> = check(&history).iter().map(ToString::to_string).collect();
        assert!(
            broken.is_empty(),
            "{}\n{}\n{}",
            broken.join("\n"),
            self.again,
            told(&history)
        );
        let summary = self.server.summary().unwrap();
        assert_eq!(summary.duplicate_effects, 0, "{}", self.again);
        Figures {
            submissions: listed(&history),
            requests: summary.requests,
            effects: summary.effects,
        }
    }
}

impl Drop for Diary {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let line = format!("to have it again: {}\n", self.again);
            drop(std::io::stderr().write_all(line.as_bytes()));
        }
    }
}

impl Figures {
    pub fn sum(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::default(), |sum, one| Self {
            submissions: sum.submissions + one.submissions,
            requests: sum.requests + one.requests,
            effects: sum.effects + one.effects,
        })
    }
}

/// Of the last list.
fn listed(history: &[Event]) -> u64 {
    let last = history.iter().rev().find_map(|event| match event {
        Event::Listed { states, .. } => Some(states.len() as u64),
        _ => None,
    });
    last.unwrap_or(0)
}

fn told(history: &[Event]) -> String {
    let lines = history.iter().enumerate().map(|(at, event)| {
        let event = match event {
            Event::Listed { by, states } => format!("Listed by {by}, {} entries", states.len()),
            event => format!("{event:?}"),
        };
        format!("{at:>4} {event}\n")
    });
    lines.collect()
}

/// A state as the agent prints it.
pub fn state(text: &str) -> State {
    match text.split(' ').next().unwrap() {
        "Pending" => State::Pending,
        "InFlight" => State::InFlight,
        "Held" => State::Held,
        "Succeeded" => State::Succeeded,
        "Rejected" => State::Rejected,
        "Cancelled" => State::Cancelled,
        "Expired" => State::Expired,
        "Superseded" => State::Superseded,
        "Abandoned" => State::Abandoned,
        _ => panic!("no state: {text}"),
    }
}

/// A list as the agent prints it: `all ID:State …`.
pub fn states(text: &str) -> Vec<(String, State)> {
    let mut words = text.split(' ');
    assert_eq!(words.next(), Some("all"), "{text}");
    words
        .map(|word| {
            let (key, name) = word.split_once(':').unwrap();
            (key.to_owned(), state(name))
        })
        .collect()
}
