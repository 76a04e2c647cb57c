//! Which behaviour a request gets: scripts first, then standing orders, then the dice.

use std::collections::{HashMap, VecDeque};

use crate::behaviour::{Behaviour, Matcher};
use crate::faults::Faults;

/// The head of a request as far as the server cares.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// With query.
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) principal: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) if_none_match: Option<String>,
    pub(crate) connection: u64,
    pub(crate) nth_on_connection: u64,
}

impl Head {
    /// Whether the method asks for an effect.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }
}

/// One behaviour per matching request, until there are none left.
#[derive(Debug)]
struct Script {
    matcher: Matcher,
    behaviours: VecDeque<Behaviour>,
}

/// All orders given by the test.
#[derive(Debug)]
pub(crate) struct Playbook {
    seed: u64,
    faults: Faults,
    scripts: Vec<Script>,
    standing: Vec<(Matcher, Behaviour)>,
    /// How often each key arrived. The faults depend on this, and not on the time.
    arrivals: HashMap<String, u64>,
}

impl Playbook {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        Self {
            seed,
            faults,
            scripts: Vec::new(),
            standing: Vec::new(),
            arrivals: HashMap::new(),
        }
    }

    pub(crate) fn add_script(&mut self, matcher: Matcher, behaviours: Vec<Behaviour>) {
        self.scripts.push(Script {
            matcher,
            behaviours: behaviours.into(),
        });
    }

    pub(crate) fn add_standing(&mut self, matcher: Matcher, behaviour: Behaviour) {
        self.standing.push((matcher, behaviour));
    }

    pub(crate) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Forgets every script and standing order; faults stay.
    pub(crate) fn clear_scripts(&mut self) {
        self.scripts.clear();
        self.standing.clear();
    }

    /// Forgets scripts and counts; the faults stay and begin anew.
    pub(crate) fn reset(&mut self) {
        self.clear_scripts();
        self.arrivals.clear();
    }

    /// The behaviour for the request that arrives now.
    ///
    /// [`Behaviour::CloseAfterRead`] is passed over by the first request of a connection.
    pub(crate) fn choose(&mut self, head: &Head) -> Behaviour {
        let who = head
            .key
            .clone()
            .unwrap_or_else(|| format!("{} {}", head.method, head.path));
        let arrivals = self.arrivals.entry(who.clone()).or_default();
        let nth = *arrivals;
        *arrivals += 1;
        let meant = |matcher: &Matcher| matcher.matches(head.key.as_deref(), &head.path);

        let possible = |behaviour: &Behaviour| {
            *behaviour != Behaviour::CloseAfterRead || head.nth_on_connection > 1
        };

        let scripted = self.scripts.iter_mut().find_map(|script| {
            if meant(&script.matcher) && script.behaviours.front().is_some_and(possible) {
                script.behaviours.pop_front()
            } else {
                None
            }
        });
        if let Some(behaviour) = scripted {
            return behaviour;
        }
        // The newest order counts, so that a test can change its mind.
        if let Some((_, behaviour)) = self
            .standing
            .iter()
            .rev()
            .find(|(matcher, behaviour)| meant(matcher) && possible(behaviour))
        {
            return behaviour.clone();
        }
        if head.is_write() {
            self.faults.draw(self.seed, &who, nth)
        } else {
            Behaviour::Normal
        }
    }
}
