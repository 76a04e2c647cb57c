//! Random families of submissions, with random answers, losses and restarts, against what a plain
//! server saw of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    Fault, HoldReason, Outbox, PartSource, PartTarget, PartValue, RejectReason, Resolution,
    Submission, SubmissionState, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{Play, answer, drain, simulate};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Luck {
    Fine,
    /// It takes effect, and the answer is lost.
    LostAfter,
    LostBefore,
    Refused,
    /// Its answer says nothing of what it made.
    Silent,
    /// The app cancels it before anything is sent.
    Cancelled,
}

#[derive(Debug, Clone)]
struct Node {
    luck: Luck,
    /// What it waits for, among those before it, and whether it takes a part of that.
    parents: Vec<(prop::sample::Index, bool)>,
    restart: bool,
}

fn node() -> impl Strategy<Value = Node> {
    let luck = prop_oneof![
        6 => Just(Luck::Fine),
        2 => Just(Luck::LostAfter),
        2 => Just(Luck::LostBefore),
        1 => Just(Luck::Refused),
        1 => Just(Luck::Silent),
        1 => Just(Luck::Cancelled),
    ];
    let parents = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..4);
    (luck, parents, prop::bool::weighted(0.2)).prop_map(|(luck, parents, restart)| Node {
        luck,
        parents,
        restart,
    })
}

/// A node with its parents by number, each once.
struct Member {
    luck: Luck,
    parents: Vec<(usize, bool)>,
}

fn members(nodes: &[Node]) -> Vec<Member> {
    let resolve = |(n, node): (usize, &Node)| {
        let mut parents: Vec<(usize, bool)> = Vec::new();
        for (index, part) in &node.parents {
            if n > 0 && !parents.iter().any(|(other, _)| *other == index.index(n)) {
                parents.push((index.index(n), *part));
            }
        }
        let luck = node.luck;
        Member { luck, parents }
    };
    nodes.iter().enumerate().map(resolve).collect()
}

/// What the server has made, by the number of the node: the key and the ID of the thing.
#[derive(Default)]
struct Server {
    made: HashMap<usize, (String, u64)>,
    tries: HashMap<usize, usize>,
    complaints: Vec<String>,
}

impl Server {
    fn serve(&mut self, members: &[Member], request: &WireRequest) -> Play {
        let after = Duration::from_millis(50);
        let body: serde_json::Value =
            serde_json::from_slice(request.body.as_bytes().unwrap()).unwrap();
        let n = usize::try_from(body["node"].as_u64().unwrap()).unwrap();
        let key = request
            .headers
            .iter()
            .find(|it| it.name == "idempotency-key");
        let key = key.unwrap().value.clone();
        let tries = self.tries.entry(n).or_default();
        *tries += 1;
        let first = *tries == 1;
        for (parent, part) in &members[n].parents {
            match self.made.get(parent) {
                None => self
                    .complaints
                    .push(format!("{n} came before its parent {parent}")),
                Some((_, id)) if *part => {
                    let told = body[format!("p{parent}")].as_u64();
                    let supplied = members[*parent].luck == Luck::Silent;
                    if told != Some(if supplied { 1_000 } else { *id }) {
                        self.complaints
                            .push(format!("{n} names {told:?} as {parent}, not {id}"));
                    }
                }
                Some(_) => {}
            }
        }
        let lose = Play::Fail {
            after,
            sent: true,
            fault: Fault::Lost,
        };
        match members[n].luck {
            Luck::Cancelled => self.complaints.push(format!("{n} was cancelled")),
            Luck::Refused => return Play::Answer(after, answer(422, "{}")),
            Luck::LostBefore if first => return lose,
            Luck::Fine | Luck::LostAfter | Luck::LostBefore | Luck::Silent => {}
        }
        let id = self.made.len() as u64;
        let made = self.made.entry(n).or_insert_with(|| (key.clone(), id));
        if made.0 != key {
            self.complaints.push(format!("{n} came with another key"));
        }
        match members[n].luck {
            Luck::LostAfter if first => lose,
            Luck::Silent => Play::Answer(after, answer(201, "{}")),
            _ => Play::Answer(after, answer(201, &format!(r#"{{"id":{}}}"#, made.1))),
        }
    }
}

fn submission(
    outbox: &Outbox,
    ids: &[submit_once::SubmissionId],
    n: usize,
    member: &Member,
) -> Submission {
    let id = outbox.begin(format!("node {n}")).unwrap();
    let node = Submission::post(id, "/nodes").json(format!(r#"{{"node":{n}}}"#));
    member.parents.iter().fold(node, |node, (parent, part)| {
        if !*part {
            return node.after(ids[*parent]);
        }
        let from = PartSource::JsonPointer {
            pointer: "/id".to_owned(),
        };
        node.part(ids[*parent], from, target(*parent))
    })
}

fn target(parent: usize) -> PartTarget {
    PartTarget::Json {
        pointer: format!("/p{parent}"),
    }
}

/// Supplies what is missing, each time with the number 1,000.
fn supply(outbox: &Outbox, ids: &[submit_once::SubmissionId], members: &[Member]) -> bool {
    let mut any = false;
    for (n, id) in ids.iter().enumerate() {
        let snapshot = outbox.snapshot(*id).unwrap();
        let missing = SubmissionState::Held {
            reason: HoldReason::ParentResultMissing,
        };
        if snapshot.state != missing {
            continue;
        }
        let silent = members[n]
            .parents
            .iter()
            .filter(|(parent, part)| *part && members[*parent].luck == Luck::Silent);
        let values = silent.map(|(parent, _)| PartValue {
            into: target(*parent),
            json: "1000".to_owned(),
        });
        let values = values.collect();
        outbox
            .resolve(*id, snapshot.revision, Resolution::FillParts { values })
            .unwrap();
        any = true;
    }
    any
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn no_child_before_its_parents_and_each_with_their_ids(
        nodes in prop::collection::vec(node(), 1..9),
        seed: u64,
    ) {
        let place = Place::new();
        simulate(seed, |world| async move {
            let members = Arc::new(members(&nodes));
            let server: Arc<Mutex<Server>> = Arc::default();
            let (seen, family) = (Arc::clone(&server), Arc::clone(&members));
            world.network.always(move |request| seen.lock().unwrap().serve(&family, request));
            let mut outbox = world.open(&place);
            let mut ids = Vec::new();
            for (n, member) in members.iter().enumerate() {
                let node = submission(&outbox, &ids, n, member);
                ids.push(node.id);
                outbox.submit(node).unwrap();
                if member.luck == Luck::Cancelled {
                    outbox.cancel(ids[n]).unwrap();
                }
                if nodes[n].restart {
                    // What was submitted so far may be sent before the rest comes.
                    if n % 2 == 0 {
                        drain(&outbox).await;
                    }
                    outbox.close();
                    outbox = world.open(&place);
                }
            }
            loop {
                outbox.start().unwrap();
                world.pass(Duration::from_secs(3_600)).await;
                if !supply(&outbox, &ids, &members) {
                    break;
                }
            }
            let server = server.lock().unwrap();
            assert!(server.complaints.is_empty(), "{:?}", server.complaints);
            // What each must have come to, from its own luck and its parents' ends.
            let mut succeeded: Vec<bool> = Vec::new();
            for (n, member) in members.iter().enumerate() {
                let may = member.parents.iter().all(|(parent, _)| succeeded[*parent]);
                let (ends, state) = match member.luck {
                    // Cancelled at once, or its parent was before it came.
                    Luck::Cancelled => (false, outbox.snapshot(ids[n]).unwrap().state),
                    _ if !may => (false, SubmissionState::Rejected { reason: RejectReason::Dependency }),
                    Luck::Refused => (false, SubmissionState::Rejected { reason: RejectReason::Invalid }),
                    _ => (true, SubmissionState::Succeeded),
                };
                succeeded.push(ends);
                assert!(state.is_final());
                assert_eq!(outbox.snapshot(ids[n]).unwrap().state, state, "{n}");
                // No orphan on either side: it is there if and only if it succeeded.
                assert_eq!(server.made.contains_key(&n), ends, "{n}");
            }
        });
    }
}
