//! Doubt, lanes, latest-wins keys and dependencies together: random histories of an app, its network and
//! its restarts, against what a plain server saw of them. The server keeps a key's effect for ever; it
//! answers, fails or falls silent at random, before or after the effect.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    Effect, Fault, HoldReason, LanePolicy, ListFilter, ListState, Outbox, PageRequest, PartSource,
    PartTarget, Resolution, Submission, SubmissionId, SubmissionState, WireBody,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, simulate};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
enum Op {
    /// An order, in one of two lanes or in none.
    Order {
        lane: usize,
        rejects_rest: bool,
    },
    /// A version of one of two drafts.
    Draft {
        key: usize,
    },
    /// A photo of an order, which needs the order's ID.
    Photo {
        of: prop::sample::Index,
    },
    Pass {
        seconds: u64,
    },
    Cancel {
        which: prop::sample::Index,
    },
    Wake {
        which: prop::sample::Index,
    },
    GiveUp {
        which: prop::sample::Index,
    },
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0..3_usize, any::<bool>()).prop_map(|(lane, rejects_rest)| Op::Order { lane, rejects_rest }),
        4 => (0..2_usize).prop_map(|key| Op::Draft { key }),
        3 => index().prop_map(|of| Op::Photo { of }),
        6 => prop::sample::select(vec![0, 1, 3, 20, 400]).prop_map(|seconds| Op::Pass { seconds }),
        1 => index().prop_map(|which| Op::Cancel { which }),
        1 => index().prop_map(|which| Op::Wake { which }),
        1 => index().prop_map(|which| Op::GiveUp { which }),
        1 => Just(Op::Restart),
    ]
}

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Luck {
    Fine,
    /// It takes effect, and the answer is lost.
    LostAfter,
    LostBefore,
    Unreachable,
    Says(u16),
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        5 => Just(Luck::Fine),
        2 => Just(Luck::LostAfter),
        2 => Just(Luck::LostBefore),
        1 => Just(Luck::Unreachable),
        2 => prop::sample::select(vec![422, 429, 500, 406, 425]).prop_map(Luck::Says),
    ]
}

/// What was submitted, in its order.
#[derive(Clone)]
struct Made {
    id: SubmissionId,
    lane: Option<usize>,
    draft: Option<usize>,
    parent: Option<usize>,
}

/// One request, as the server saw it.
struct Arrival {
    at: Duration,
    ends: Duration,
    of: usize,
    /// The effect's number, where it has taken effect by now.
    body: String,
    applied: bool,
}

/// What the network decided, in the order of the requests.
type Decided = Arc<Mutex<Vec<(Luck, Duration)>>>;

fn rule(
    lucks: Vec<Luck>,
    decided: &Decided,
) -> impl Fn(&submit_once::WireRequest) -> Play + Send + 'static {
    let decided = Arc::clone(decided);
    let known: Mutex<HashMap<String, ()>> = Mutex::default();
    move |request| {
        let mut decided = decided.lock().unwrap();
        let n = decided.len();
        let takes = Duration::from_millis(50 + (n as u64 * 977) % 9_000);
        let url = request.url.clone();
        let mut known = known.lock().unwrap();
        let mut luck = lucks.get(n).copied().unwrap_or(Luck::Fine);
        // What took effect once is answered so again, by its key: here each has a URL of its own.
        if matches!(luck, Luck::Says(_)) && known.contains_key(&url) {
            luck = Luck::Fine;
        }
        if matches!(luck, Luck::Fine | Luck::LostAfter) {
            known.insert(url.clone(), ());
        }
        decided.push((luck, takes));
        let lost = |sent| Play::Fail {
            after: takes,
            sent,
            fault: if sent {
                Fault::Lost
            } else {
                Fault::Unreachable
            },
        };
        match luck {
            Luck::Fine => Play::Answer(takes, answer(201, &format!(r#"{{"id":"of {url}"}}"#))),
            Luck::Says(status) => Play::Answer(takes, answer(status, "{}")),
            Luck::LostAfter | Luck::LostBefore => lost(true),
            Luck::Unreachable => lost(false),
        }
    }
}

struct History {
    world: World,
    place: Place,
    outbox: Arc<Outbox>,
    made: Vec<Made>,
}

impl History {
    fn submit(&mut self, submission: Submission, made: Made) {
        // A parent that gives way to a newer version of its key takes no children.
        if self.outbox.submit(submission).is_ok() {
            self.made.push(made);
        }
    }

    fn url(&self, kind: &str) -> String {
        format!("/{kind}/{}", self.made.len())
    }

    fn id(&self) -> SubmissionId {
        self.outbox
            .begin(format!("slot {}", self.made.len()))
            .unwrap()
    }

    fn pick(&self, index: &prop::sample::Index) -> Option<(usize, Made)> {
        (!self.made.is_empty()).then(|| {
            let n = index.index(self.made.len());
            (n, self.made[n].clone())
        })
    }

    async fn carry_out(&mut self, op: &Op) {
        let id = self.id();
        let made = Made {
            id,
            lane: None,
            draft: None,
            parent: None,
        };
        match op {
            Op::Order { lane, rejects_rest } => {
                let mut order = Submission::post(id, &self.url("orders")).json("{}");
                let lane = (*lane < 2).then_some(*lane);
                if let Some(lane) = lane {
                    order = order
                        .lane(format!("lane {lane}"))
                        .lane_policy(match rejects_rest {
                            true => LanePolicy::RejectRest,
                            false => LanePolicy::Block,
                        });
                }
                self.submit(order, Made { lane, ..made });
            }
            Op::Draft { key } => {
                let draft = Submission::new(id, "PUT", &self.url("drafts"))
                    .json("{}")
                    .effect(Effect::Overwrite)
                    .replaces(format!("draft {key}"));
                let draft_of = Some(*key);
                self.submit(
                    draft,
                    Made {
                        draft: draft_of,
                        ..made
                    },
                );
            }
            Op::Photo { of } => {
                if let Some((parent, of)) = self.pick(of) {
                    let from = PartSource::JsonPointer {
                        pointer: "/id".to_owned(),
                    };
                    let into = PartTarget::Json {
                        pointer: "/parent".to_owned(),
                    };
                    let photo = Submission::post(id, &self.url("photos"))
                        .json(r#"{"photo":true}"#)
                        .part(of.id, from, into);
                    let parent = Some(parent);
                    self.submit(photo, Made { parent, ..made });
                }
            }
            Op::Pass { seconds } => {
                self.world
                    .pass(SECOND * u32::try_from(*seconds).unwrap())
                    .await
            }
            Op::Cancel { which } => {
                if let Some((_, of)) = self.pick(which) {
                    self.outbox.cancel(of.id).unwrap();
                }
            }
            Op::Wake { which } => {
                if let Some((_, of)) = self.pick(which) {
                    self.outbox.wake(of.id).unwrap();
                }
            }
            Op::GiveUp { which } => {
                if let Some((_, of)) = self.pick(which) {
                    let revision = self.outbox.snapshot(of.id).unwrap().revision;
                    drop(self.outbox.resolve(of.id, revision, Resolution::GiveUp));
                }
            }
            Op::Restart => {
                self.outbox.close();
                self.outbox = self.world.open_apart(&self.place);
                self.outbox.start().unwrap();
            }
        }
    }

    /// The network is well, and what is held is retried: everything comes to its end.
    async fn finish(&self) {
        for _ in 0..400 {
            self.world.pass(SECOND * 120).await;
            let page = PageRequest {
                after: 0,
                limit: 1_000,
            };
            let held = self
                .outbox
                .list(ListFilter::of(ListState::Held), page)
                .unwrap();
            for snapshot in held.snapshots {
                let decision = match snapshot.state {
                    SubmissionState::Held {
                        reason: HoldReason::OutcomeUnknown | HoldReason::CancelRequested,
                    } => Resolution::RetrySameKey {
                        accept_second_effect: false,
                    },
                    _ => panic!("{snapshot:?}"),
                };
                self.outbox
                    .resolve(snapshot.id, snapshot.revision, decision)
                    .unwrap();
            }
            for lane in 0..2 {
                self.outbox
                    .release_lane(None, format!("lane {lane}"))
                    .unwrap();
            }
            let moving = self
                .outbox
                .list(ListFilter::of(ListState::Moving), page)
                .unwrap();
            let held = self
                .outbox
                .list(ListFilter::of(ListState::Held), page)
                .unwrap();
            if moving.snapshots.is_empty() && held.snapshots.is_empty() {
                return;
            }
        }
        let page = PageRequest::default();
        let moving = self
            .outbox
            .list(ListFilter::of(ListState::Moving), page)
            .unwrap();
        panic!("P9: {:?}", moving.snapshots.first());
    }

    fn arrivals(&self, decided: &Decided) -> Vec<Arrival> {
        let decided = decided.lock().unwrap();
        let mut applied: BTreeMap<usize, ()> = BTreeMap::new();
        let mut arrivals = Vec::new();
        for (seen, (luck, takes)) in self.world.network.seen().into_iter().zip(decided.iter()) {
            let of: usize = seen
                .request
                .url
                .rsplit_once('/')
                .unwrap()
                .1
                .parse()
                .unwrap();
            let takes_effect = seen.sent && matches!(luck, Luck::Fine | Luck::LostAfter);
            let WireBody::Bytes(body) = &seen.request.body else {
                panic!("small bodies");
            };
            if !seen.sent {
                continue;
            }
            let applied = takes_effect && applied.insert(of, ()).is_none();
            arrivals.push(Arrival {
                at: seen.at,
                ends: seen.at + *takes,
                of,
                body: String::from_utf8(body.to_vec()).unwrap(),
                applied,
            });
        }
        arrivals
    }

    fn check(&self, decided: &Decided) {
        let arrivals = self.arrivals(decided);
        let applied = |of: usize| {
            arrivals
                .iter()
                .find(|arrival| arrival.of == of && arrival.applied)
        };
        for (n, made) in self.made.iter().enumerate() {
            let snapshot = self.outbox.snapshot(made.id).unwrap();
            let happened = applied(n).is_some();
            match snapshot.state {
                SubmissionState::Succeeded => assert!(happened, "{n} succeeded"),
                SubmissionState::Cancelled
                | SubmissionState::Rejected { .. }
                | SubmissionState::Expired => assert!(!happened, "{n}: {:?}", snapshot.state),
                SubmissionState::Superseded { .. } => {
                    assert!(!happened || snapshot.in_doubt, "{n} superseded");
                }
                SubmissionState::Abandoned => {}
                SubmissionState::Pending
                | SubmissionState::InFlight
                | SubmissionState::Held { .. } => {
                    panic!("{n} is unsettled: {snapshot:?}")
                }
            }
        }
        for lane in 0..2 {
            let of_lane: Vec<_> = arrivals
                .iter()
                .filter(|arrival| self.made[arrival.of].lane == Some(lane))
                .collect();
            assert!(
                of_lane.is_sorted_by_key(|arrival| arrival.of),
                "order of lane {lane}"
            );
            apart(&of_lane, &format!("lane {lane}"));
        }
        for key in 0..2 {
            let of_key: Vec<_> = arrivals
                .iter()
                .filter(|arrival| self.made[arrival.of].draft == Some(key))
                .collect();
            apart(&of_key, &format!("draft {key}"));
            let succeeded = |n: &usize| {
                let made = &self.made[*n];
                made.draft == Some(key)
                    && self.outbox.snapshot(made.id).unwrap().state == SubmissionState::Succeeded
            };
            let newest = (0..self.made.len()).rev().find(succeeded);
            let written = of_key
                .iter()
                .filter(|arrival| applied(arrival.of).is_some())
                .rev()
                .map(|arrival| arrival.of)
                .next();
            assert!(
                written >= newest,
                "draft {key}: {written:?} over {newest:?}"
            );
        }
        for arrival in &arrivals {
            let Some(parent) = self.made[arrival.of].parent else {
                continue;
            };
            let before = applied(parent).is_some_and(|parent| parent.at < arrival.at);
            assert!(before, "{} before its parent {parent}", arrival.of);
            let id = format!("/{parent}\"");
            assert!(
                arrival.body.contains(&id),
                "{} has {}",
                arrival.of,
                arrival.body
            );
        }
    }
}

/// No two of them at once.
fn apart(arrivals: &[&Arrival], what: &str) {
    for pair in arrivals.windows(2) {
        assert!(
            pair[1].at >= pair[0].ends || pair[0].of == pair[1].of,
            "{what}: {} and {} overlap",
            pair[0].of,
            pair[1].of
        );
    }
}

fn play(seed: u64, ops: Vec<Op>, lucks: Vec<Luck>) {
    let place = Place::new();
    simulate(seed, |world| async move {
        let decided = Decided::default();
        world.network.always(rule(lucks, &decided));
        let outbox = world.open_apart(&place);
        outbox.start().unwrap();
        let mut history = History {
            world,
            place,
            outbox,
            made: Vec::new(),
        };
        for op in &ops {
            history.carry_out(op).await;
        }
        history.finish().await;
        history.check(&decided);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_history_converges_in_order(
        seed in any::<u64>(),
        ops in prop::collection::vec(op(), 1..40),
        lucks in prop::collection::vec(luck(), 0..60),
    ) {
        play(seed, ops, lucks);
    }
}
