//! Random sequences of calls on two outboxes of one file, with kills and time, against a model that fits
//! on a page.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    InboxAnswer, InboxDecision, InboxError, InboxFailure, InboxItem, InboxPolicy, InboxRun, Outbox,
};

use super::inbox::inbox;
use crate::common::Place;
use crate::common::sim::{World, simulate};

#[derive(Debug, Clone)]
enum Step {
    Begin {
        at: usize,
        key: usize,
        policy: InboxPolicy,
    },
    /// One of the runs that were ever given, from any of the outboxes.
    Finish {
        at: usize,
        run: prop::sample::Index,
    },
    Fail {
        at: usize,
        run: prop::sample::Index,
        nothing: bool,
    },
    Extend {
        at: usize,
        run: prop::sample::Index,
    },
    Decide {
        at: usize,
        key: usize,
        happened: bool,
    },
    List {
        at: usize,
    },
    /// The outbox is closed as it is, and opened anew.
    Restart {
        at: usize,
    },
    Pass {
        seconds: u64,
    },
}

const KEYS: usize = 4;
const LEASE: u64 = 60;

fn step() -> impl Strategy<Value = Step> {
    let (at, key, run) = (0..2_usize, 0..KEYS, any::<prop::sample::Index>());
    prop_oneof![
        6 => (at.clone(), key.clone(), any::<bool>()).prop_map(|(at, key, most)| {
            let policy = if most { InboxPolicy::AtMostOnce } else { InboxPolicy::AtLeastOnce };
            Step::Begin { at, key, policy }
        }),
        3 => (at.clone(), run.clone()).prop_map(|(at, run)| Step::Finish { at, run }),
        2 => (at.clone(), run.clone(), any::<bool>())
            .prop_map(|(at, run, nothing)| Step::Fail { at, run, nothing }),
        1 => (at.clone(), run).prop_map(|(at, run)| Step::Extend { at, run }),
        2 => (at.clone(), key, any::<bool>())
            .prop_map(|(at, key, happened)| Step::Decide { at, key, happened }),
        1 => at.clone().prop_map(|at| Step::List { at }),
        1 => at.prop_map(|at| Step::Restart { at }),
        2 => (1..LEASE + 10).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

fn item(key: usize, policy: InboxPolicy) -> InboxItem {
    InboxItem::new("s", &key.to_string(), policy).lease(Duration::from_secs(LEASE))
}

/// What is true of a key, as whoever watched everything knows it.
struct Truth {
    /// The run that counts, who has it, and until when.
    running: Option<(i64, usize, u64)>,
    /// That of the run that counts; the safer one once anybody was told of the doubt.
    policy: InboxPolicy,
    /// The run that counts may have had its effect.
    own: bool,
    /// Runs before it, or it when it gave up, may have had theirs, and nobody has decided since.
    earlier: bool,
    last: i64,
    result: Option<Vec<u8>>,
}

impl Truth {
    fn new(policy: InboxPolicy) -> Self {
        Self {
            running: None,
            policy,
            own: false,
            earlier: false,
            last: 0,
            result: None,
        }
    }

    fn may_have_happened(&self) -> bool {
        self.own || self.earlier
    }
}

struct Watched {
    outboxes: Vec<Arc<Outbox>>,
    truth: HashMap<usize, Truth>,
    runs: Vec<(usize, InboxRun)>,
    now: u64,
}

impl Watched {
    async fn take(&mut self, world: &World, place: &Place, step: &Step) {
        match step {
            Step::Begin { at, key, policy } => self.begin(*at, *key, *policy),
            Step::Finish { at, run } => self.finish(*at, run),
            Step::Fail { at, run, nothing } => self.fail(*at, run, *nothing),
            Step::Extend { at, run } => self.extend(*at, run),
            Step::Decide { at, key, happened } => self.decide(*at, *key, *happened),
            Step::List { at } => {
                for listed in inbox(&self.outboxes[*at]).uncertain(None, 10).unwrap() {
                    let truth = &self.truth[&listed.key.parse().unwrap()];
                    assert!(truth.result.is_none() && truth.may_have_happened());
                    assert_eq!(truth.policy, InboxPolicy::AtMostOnce);
                }
            }
            Step::Restart { at } => {
                self.outboxes[*at].close();
                self.outboxes[*at] = world.open_apart(place);
                for truth in self.truth.values_mut() {
                    // Its runs are lost.
                    truth.running = truth.running.filter(|(_, owner, _)| owner != at);
                }
            }
            Step::Pass { seconds } => {
                world.pass(Duration::from_secs(*seconds)).await;
                self.now += seconds;
            }
        }
    }

    fn begin(&mut self, at: usize, key: usize, policy: InboxPolicy) {
        let answer = inbox(&self.outboxes[at]).begin(item(key, policy)).unwrap();
        let now = self.now;
        let truth = self.truth.entry(key).or_insert_with(|| Truth::new(policy));
        let alive = truth.running.is_some_and(|(_, _, until)| now < until);
        match answer {
            InboxAnswer::Run { run } => {
                assert!(!alive, "two runs at once");
                assert!(truth.result.is_none(), "it was done");
                assert!(run.number > truth.last, "an earlier run isn't fenced off");
                truth.last = run.number;
                if policy == InboxPolicy::AtMostOnce {
                    let second = truth.may_have_happened();
                    assert!(!second, "a second effect that nobody decided");
                }
                truth.earlier |= truth.own;
                truth.own = true;
                truth.policy = policy;
                truth.running = Some((run.number, at, now + LEASE));
                self.runs.push((key, run));
            }
            InboxAnswer::Busy { .. } => assert!(alive, "nobody does it"),
            InboxAnswer::Done {
                result, dropped, ..
            } => {
                assert_eq!(truth.result, Some(result.unwrap()));
                assert!(!dropped);
            }
            InboxAnswer::Uncertain { .. } => {
                assert!(!alive && truth.result.is_none() && truth.may_have_happened());
                assert!([policy, truth.policy].contains(&InboxPolicy::AtMostOnce));
                truth.policy = InboxPolicy::AtMostOnce;
            }
        }
    }

    fn pick(&self, run: &prop::sample::Index) -> Option<(usize, InboxRun)> {
        (!self.runs.is_empty()).then(|| self.runs[run.index(self.runs.len())].clone())
    }

    fn finish(&mut self, at: usize, run: &prop::sample::Index) {
        let Some((key, run)) = self.pick(run) else {
            return;
        };
        let result = format!("{key} {} {}", run.number, self.now).into_bytes();
        let finished = inbox(&self.outboxes[at]).finish(run.clone(), Some(result.clone()));
        let truth = self.truth.get_mut(&key).unwrap();
        match finished {
            Ok(()) => {
                assert_eq!(run.number, truth.last, "a run that was fenced off");
                truth.result.get_or_insert(result);
                truth.running = None;
            }
            Err(InboxError::RunLost { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn fail(&mut self, at: usize, run: &prop::sample::Index, nothing: bool) {
        let Some((key, run)) = self.pick(run) else {
            return;
        };
        let failure = if nothing {
            InboxFailure::NothingHappened
        } else {
            InboxFailure::MayHaveHappened
        };
        let failed = inbox(&self.outboxes[at]).fail(run.clone(), failure);
        let truth = self.truth.get_mut(&key).unwrap();
        match failed {
            Ok(()) => {
                assert_eq!(run.number, truth.last, "a run that was fenced off");
                assert!(truth.result.is_none());
                truth.running = None;
                if nothing {
                    truth.own = false;
                } else if truth.policy == InboxPolicy::AtLeastOnce {
                    // It has no say any more.
                    truth.earlier |= truth.own;
                    truth.own = false;
                }
            }
            Err(InboxError::RunLost { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn extend(&mut self, at: usize, run: &prop::sample::Index) {
        let Some((key, run)) = self.pick(run) else {
            return;
        };
        let lease = Duration::from_secs(LEASE);
        let extended = inbox(&self.outboxes[at]).extend(run.clone(), lease);
        let truth = self.truth.get_mut(&key).unwrap();
        match extended {
            Ok(()) => {
                assert_eq!(run.number, truth.last, "a run that was fenced off");
                assert!(truth.result.is_none());
                truth.running = Some((run.number, at, self.now + LEASE));
            }
            Err(InboxError::RunLost { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn decide(&mut self, at: usize, key: usize, happened: bool) {
        let result = b"decided".to_vec();
        let decision = if happened {
            InboxDecision::Happened {
                result: Some(result.clone()),
            }
        } else {
            InboxDecision::RunAgain
        };
        let inbox = inbox(&self.outboxes[at]);
        match inbox.decide("s".to_owned(), key.to_string(), decision) {
            Ok(()) => {
                let now = self.now;
                let truth = self.truth.get_mut(&key).unwrap();
                assert!(truth.running.is_none_or(|(_, _, until)| now >= until));
                assert!(truth.result.is_none());
                truth.running = None;
                // The decision fences the run off that was lost.
                truth.last += 1;
                (truth.own, truth.earlier) = (false, false);
                truth.result = happened.then_some(result);
            }
            Err(InboxError::NotUncertain { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_runs_twice_at_once_and_what_must_not_happen_twice_never_does(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        let place = Place::new();
        simulate(1, |world| async move {
            let mut watched = Watched {
                outboxes: vec![world.open_apart(&place), world.open_apart(&place)],
                truth: HashMap::new(),
                runs: Vec::new(),
                now: 0,
            };
            for step in &steps {
                watched.take(&world, &place, step).await;
            }
        });
    }
}
