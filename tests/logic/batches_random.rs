//! Random appends, answers and restarts: every record that was acknowledged is on the server once, or
//! rejected alone, or still queued in one place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{BatchConfig, Fault, HoldReason, Outbox, WireRequest};

use crate::batches::{batch, count, logs, record};
use crate::common::Place;
use crate::common::sim::{Play, answer, drain, simulate};

#[derive(Debug, Clone)]
enum Op {
    /// So many records, and whether one of them is bad.
    Append {
        records: usize,
        poison: bool,
        by: usize,
    },
    Flush,
    Pass(u64),
    Drain,
    Restart,
    /// The process dies: what its outbox would have written is never written.
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Luck {
    Fine,
    LostBefore,
    LostAfter,
    Error,
    TooLarge,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..5_usize, prop::bool::weighted(0.15), 0..2_usize)
            .prop_map(|(records, poison, by)| Op::Append { records, poison, by }),
        2 => Just(Op::Flush),
        3 => (0..45_u64).prop_map(Op::Pass),
        2 => Just(Op::Drain),
        1 => Just(Op::Restart),
        1 => Just(Op::Kill),
    ]
}

fn luck() -> impl Strategy<Value = Luck> {
    prop_oneof![
        6 => Just(Luck::Fine),
        2 => Just(Luck::LostBefore),
        2 => Just(Luck::LostAfter),
        2 => Just(Luck::Error),
        3 => Just(Luck::TooLarge),
    ]
}

/// A server that knows keys: what it has done under one it doesn't do again.
#[derive(Default)]
struct Server {
    lucks: Vec<Luck>,
    done: BTreeMap<String, Vec<u8>>,
    taken: BTreeMap<String, u32>,
    complaints: Vec<String>,
}

impl Server {
    fn serve(&mut self, request: &WireRequest) -> Play {
        let after = Duration::from_millis(50);
        let lose = || Play::Fail {
            after,
            sent: true,
            fault: Fault::Lost,
        };
        let says = |status| Play::Answer(after, answer(status, "{}"));
        let body = request.body.as_bytes().unwrap();
        let records: Vec<serde_json::Value> = serde_json::from_slice(body).unwrap();
        let key = request
            .headers
            .iter()
            .find(|it| it.name == "idempotency-key")
            .unwrap();
        if records.is_empty() {
            self.complaints.push("an empty batch came".to_owned());
        }
        if let Some(done) = self.done.get(&key.value) {
            if *done != body {
                self.complaints
                    .push(format!("{} came with other bytes", key.value));
            }
            return says(201);
        }
        let luck = self.lucks.pop().unwrap_or(Luck::Fine);
        match luck {
            Luck::LostBefore => return lose(),
            Luck::Error => return says(500),
            Luck::TooLarge if records.len() > 2 => return says(413),
            Luck::TooLarge | Luck::Fine | Luck::LostAfter => {}
        }
        if records.iter().any(|record| record["bad"] == true) {
            return says(400);
        }
        self.done.insert(key.value.clone(), body.to_vec());
        for record in &records {
            let id = record["id"].as_str().unwrap().to_owned();
            *self.taken.entry(id).or_default() += 1;
        }
        if luck == Luck::LostAfter {
            lose()
        } else {
            says(201)
        }
    }
}

/// The records of batches in these states, by their IDs, each as often as it is there.
fn stored(place: &Place, states: &str) -> Vec<String> {
    let sql = place.sql();
    let sql = sql
        .prepare(&format!(
            "SELECT json_extract(r.body, '$.id') FROM record r JOIN submission s ON s.seq = r.batch
             WHERE {states} ORDER BY 1"
        ))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>();
    sql.unwrap()
}

fn check(place: &Place, server: &Server, appended: &BTreeSet<String>) {
    assert!(server.complaints.is_empty(), "{:?}", server.complaints);
    for (id, times) in &server.taken {
        assert_eq!(*times, 1, "{id} was taken {times} times");
    }
    let queued = stored(place, "s.settled_wall IS NULL");
    let rejected = stored(place, "s.state = 'rejected'");
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    for id in queued.iter().chain(&rejected) {
        assert!(seen.insert(id), "{id} is there twice");
    }
    for id in &rejected {
        assert!(
            !server.taken.contains_key(id),
            "{id} was rejected and taken"
        );
    }
    for id in appended {
        assert!(
            seen.contains(id) || server.taken.contains_key(id),
            "{id} is lost"
        );
    }
    let alone = "SELECT count(*) FROM batch b JOIN submission s USING (seq)
        WHERE s.state = 'rejected' AND (SELECT count(*) FROM record WHERE batch = b.seq) > 1";
    assert_eq!(count(place, alone), 0, "more than the bad one was rejected");
    let kept = "SELECT queued_bytes - (SELECT coalesce(sum(length(r.body)), 0) FROM request r
            JOIN submission s USING (seq) WHERE s.settled_wall IS NULL)
        - (SELECT coalesce(sum(length(r.body)), 0) FROM record r
            JOIN submission s ON s.seq = r.batch WHERE s.settled_wall IS NULL) FROM meta";
    assert_eq!(count(place, kept), 0, "the counter of bytes");
    let misplaced = "SELECT count(*) FROM batch WHERE open = 1 AND body_digest IS NOT NULL";
    assert_eq!(count(place, misplaced), 0, "open, and yet sealed");
}

/// What is held since its refusal came in doubt is asked for again, by the server's key.
fn release(outbox: &Outbox) {
    let again = submit_once::Resolution::RetrySameKey {
        accept_second_effect: true,
    };
    outbox
        .resolve_all(HoldReason::OutcomeUnknown, again)
        .unwrap();
}

fn configs() -> [BatchConfig; 2] {
    let small = BatchConfig {
        max_records: 6,
        ..logs()
    };
    let other = BatchConfig {
        key: "other".to_owned(),
        max_bytes: 120,
        ..logs()
    };
    [small, other]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn every_record_arrives_once_or_is_refused_alone(
        seed: u64,
        ops in prop::collection::vec(op(), 1..30),
        lucks in prop::collection::vec(luck(), 0..40),
    ) {
        simulate(seed, |world| async move {
            let mut place = Place::new();
            let server = Arc::new(Mutex::new(Server { lucks, ..Server::default() }));
            let serving = Arc::clone(&server);
            world.network.always(move |request| serving.lock().unwrap().serve(request));
            let mut appended = BTreeSet::new();
            let mut outbox = world.open(&place);
            for op in ops {
                match op {
                    Op::Append { records, poison, by } => {
                        let names: Vec<String> =
                            (0..records).map(|n| format!("{}-{n}", appended.len())).collect();
                        let mut texts: Vec<String> = names.iter().map(|id| record(id)).collect();
                        if poison {
                            texts[0] = format!(r#"{{"id":"{}","bad":true}}"#, names[0]);
                        }
                        let batch = batch(&outbox, configs()[by].clone());
                        batch.append_all(texts).unwrap();
                        appended.extend(names);
                    }
                    Op::Flush => {
                        for config in configs() {
                            batch(&outbox, config).flush().unwrap();
                        }
                    }
                    Op::Pass(seconds) => {
                        outbox.start().unwrap();
                        world.pass(Duration::from_secs(seconds)).await;
                    }
                    Op::Drain => drop(drain(&outbox).await),
                    Op::Restart => {
                        outbox.close();
                        outbox = world.open(&place);
                    }
                    Op::Kill => {
                        let left = Place::new();
                        for name in ["outbox.sqlite3", "outbox.sqlite3-wal"] {
                            let from = place.folder().join(name);
                            std::fs::copy(from, left.folder().join(name)).unwrap();
                        }
                        outbox.close();
                        place = left;
                        outbox = world.open(&place);
                    }
                }
                check(&place, &server.lock().unwrap(), &appended);
            }
            for config in configs() {
                batch(&outbox, config).flush().unwrap();
            }
            outbox.start().unwrap();
            for _ in 0..3 {
                world.pass(Duration::from_secs(3_600)).await;
                check(&place, &server.lock().unwrap(), &appended);
                release(&outbox);
            }
            world.pass(Duration::from_secs(3_600)).await;
            check(&place, &server.lock().unwrap(), &appended);
            // What is refused and in doubt waits for a person: by now only for a bad record.
            let waiting = "SELECT count(*) FROM submission s WHERE settled_wall IS NULL
                AND NOT (state = 'held' AND EXISTS (SELECT 1 FROM record r
                    WHERE r.batch = s.seq AND json_extract(r.body, '$.bad')))";
            assert_eq!(count(&place, waiting), 0);
        });
    }
}
