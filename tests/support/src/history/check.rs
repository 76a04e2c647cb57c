//! The checker: reads a history once, front to back, and says what broke.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{Event, State};

/// A promise that this history broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// A short name of the promise.
    pub promise: &'static str,
    /// The place in the history, from 0.
    pub at: usize,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} broken at event {}: {}",
            self.promise, self.at, self.what
        )
    }
}

/// What is known of one submission so far.
#[derive(Default)]
struct Known {
    /// A submit returned.
    accepted: bool,
    /// A submit may have stored it.
    perhaps: bool,
    /// As its client gave it.
    asked: Option<String>,
    /// As the server received it.
    received: Option<(String, String)>,
    effects: u64,
    consents: u64,
    /// The first final state and result that anybody saw.
    read: Option<(State, Option<String>)>,
    lane: Option<(String, usize)>,
    /// Requests on the wire now, with the count of freezes when each began.
    on_wire: Vec<(u64, u64)>,
}

#[derive(Default)]
struct Checker {
    known: HashMap<String, Known>,
    /// Which key each request on the wire is for.
    requests: HashMap<u64, String>,
    numbers: HashSet<u64>,
    /// How many submissions each lane has taken, and the place of its last effect.
    lanes: HashMap<String, (usize, usize)>,
    freezes: u64,
    settled: bool,
    violations: Vec<Violation>,
    at: usize,
}

/// Judges a history. Empty if it kept every promise.
pub fn check(history: &[Event]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, event) in history.iter().enumerate() {
        checker.at = at;
        checker.take(event);
    }
    checker.violations
}

impl Checker {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Accepted {
                key, request, lane, ..
            } => self.accepted(key, request, lane.as_deref()),
            Event::MaybeAccepted { key, request, .. } => {
                self.entry(key).perhaps = true;
                self.asked(key, request);
            }
            Event::Consented { key } => self.entry(key).consents += 1,
            Event::Received {
                number,
                key,
                request,
                account,
            } => self.received(*number, key, request, account),
            Event::Ended { number } => self.ended(*number),
            Event::Effect { key } => self.effect(key),
            Event::Listed { by, states } => self.listed(by, states),
            Event::Read {
                by,
                key,
                state,
                result,
            } => self.read(by, key, *state, Some(result)),
            Event::Crashed { .. } => {}
            Event::Frozen { .. } | Event::Thawed { .. } => self.freezes += 1,
            Event::Settled => self.settled = true,
        }
    }

    fn accepted(&mut self, key: &str, request: &str, lane: Option<&str>) {
        self.asked(key, request);
        let known = self.known.entry(key.to_owned()).or_default();
        known.accepted = true;
        if let (Some(lane), None) = (lane, &known.lane) {
            let (taken, _) = self.lanes.entry(lane.to_owned()).or_default();
            *taken += 1;
            known.lane = Some((lane.to_owned(), *taken));
        }
    }

    /// The same key with another request must have been refused.
    fn asked(&mut self, key: &str, request: &str) {
        let known = self.entry(key);
        match &known.asked {
            None => known.asked = Some(request.to_owned()),
            Some(first) if first == request => {}
            Some(first) => {
                let what = format!("{key} was taken as “{first}” and as “{request}”");
                self.broken("one submission per ID", what);
            }
        }
    }

    fn received(&mut self, number: u64, key: &str, request: &str, account: &str) {
        if !self.numbers.insert(number) {
            self.broken("a sound history", format!("request {number} came twice"));
        }
        let freezes = self.freezes;
        let known = self.entry(key);
        let mut broken = Vec::new();
        if !known.accepted && !known.perhaps {
            broken.push(("no ghosts", format!("{key} was sent and never submitted")));
        }
        if let Some((state, _)) = known.read
            && state == State::Cancelled
        {
            broken.push((
                "no ghosts",
                format!("{key} was sent after it was cancelled"),
            ));
        }
        let now = (request.to_owned(), account.to_owned());
        match &known.received {
            None => known.received = Some(now),
            Some(first) if *first == now => {}
            Some(first) => broken.push((
                "the same request",
                format!("{key} was sent as {first:?} and as {now:?}"),
            )),
        }
        // A frozen process may send once it is thawed, whatever happened meanwhile.
        if known.on_wire.iter().any(|(_, then)| *then == freezes) {
            broken.push(("single flight", format!("{key} is on the wire twice")));
        }
        known.on_wire.push((number, freezes));
        self.requests.insert(number, key.to_owned());
        for (promise, what) in broken {
            self.broken(promise, what);
        }
    }

    fn ended(&mut self, number: u64) {
        match self.requests.remove(&number) {
            Some(key) => self.entry(&key).on_wire.retain(|(n, _)| *n != number),
            None => self.broken(
                "a sound history",
                format!("request {number} ended and is not on the wire"),
            ),
        }
    }

    fn effect(&mut self, key: &str) {
        let known = self.entry(key);
        known.effects += 1;
        let (effects, allowed) = (known.effects, 1 + known.consents);
        let (read, lane) = (known.read.clone(), known.lane.clone());
        if effects > allowed {
            self.broken("at most once", format!("{key} had {effects} effects"));
        }
        if let Some((state, _)) = read
            && state.denies_effect()
        {
            let what = format!("{key} had an effect after it was read as {state:?}");
            self.broken("the truth", what);
        }
        if let Some((lane, place)) = lane
            && effects == 1
        {
            let (_, last) = self.lanes.entry(lane.clone()).or_default();
            let overtaken = place <= *last;
            *last = place.max(*last);
            if overtaken {
                self.broken("order", format!("{key} came late in the lane {lane}"));
            }
        }
    }

    fn listed(&mut self, by: &str, states: &[(String, State)]) {
        let mut listed = HashSet::new();
        for (key, state) in states {
            if !listed.insert(key.as_str()) {
                self.broken("one submission per ID", format!("{by} lists {key} twice"));
            }
            let known = self.entry(key);
            if !known.accepted && !known.perhaps {
                self.broken("no ghosts", format!("{by} lists {key}, never submitted"));
            }
            // Seen once, it is there for good.
            self.entry(key).accepted = true;
            if state.is_final() {
                self.read(by, key, *state, None);
            } else {
                self.open(by, key, *state);
            }
        }
        let lost = |(key, known): (&String, &Known)| {
            (known.accepted && !listed.contains(key.as_str())).then(|| key.clone())
        };
        let lost: Vec<String> = self.known.iter().filter_map(lost).collect();
        for key in lost {
            self.broken("never lost", format!("{by} doesn't list {key}"));
        }
    }

    fn open(&mut self, by: &str, key: &str, state: State) {
        if let Some((then, _)) = self.entry(key).read {
            let what = format!("{key} was {then:?}, and {by} sees it as {state:?}");
            self.broken("final is final", what);
        }
        if self.settled && state != State::Held {
            let what = format!("{key} is still {state:?}");
            self.broken("an end for all", what);
        }
    }

    fn read(&mut self, by: &str, key: &str, state: State, result: Option<&String>) {
        if !state.is_final() {
            self.broken("a sound history", format!("{key} was read as {state:?}"));
            return;
        }
        let known = self.entry(key);
        let mut broken = Vec::new();
        if !known.accepted && !known.perhaps {
            broken.push(("no ghosts", format!("{by} read {key}, never submitted")));
        }
        match &mut known.read {
            None => known.read = Some((state, result.cloned())),
            Some((then, first)) => {
                if *then != state {
                    let what = format!("{key} was {then:?}, and {by} reads it as {state:?}");
                    broken.push(("final is final", what));
                }
                match (&first, result) {
                    (Some(first), Some(now)) if *first != *now => {
                        let what = format!("{by} read “{now}” for {key}, others “{first}”");
                        broken.push(("the same result", what));
                    }
                    (None, Some(now)) => *first = Some(now.clone()),
                    _ => {}
                }
            }
        }
        if state == State::Succeeded && known.effects == 0 {
            let what = format!("{key} succeeded, and the server did nothing");
            broken.push(("the truth", what));
        }
        if state.denies_effect() && known.effects > known.consents {
            let what = format!("{key} is {state:?}, and the server did it");
            broken.push(("the truth", what));
        }
        for (promise, what) in broken {
            self.broken(promise, what);
        }
    }

    fn entry(&mut self, key: &str) -> &mut Known {
        self.known.entry(key.to_owned()).or_default()
    }

    fn broken(&mut self, promise: &'static str, what: String) {
        let at = self.at;
        self.violations.push(Violation { promise, at, what });
    }
}
