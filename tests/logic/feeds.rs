//! The change feed as a property: a reader that comes and goes, with pages of any size, in two processes,
//! misses nothing and sees nothing twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    ChangePage, HoldReason, Limits, ListFilter, Outbox, OutboxConfig, PageRequest, Resolution,
    Seams, SignOut, Submission, SubmissionId, SubmissionState, Waited,
};

use crate::common::Place;
use crate::common::sim::{World, created, drain, lost, order, simulate, status, unreachable};
use crate::credentials::of;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone)]
enum Deed {
    Submit { signed: bool },
    Drain,
    Cancel(usize),
    Wake(usize),
    GiveUp,
    Purge,
    Pass(u16),
    Trim,
    Read(u32),
    Reopen,
}

fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    let deed = prop_oneof![
        5 => any::<bool>().prop_map(|signed| Deed::Submit { signed }),
        3 => Just(Deed::Drain),
        2 => (0..20_usize).prop_map(Deed::Cancel),
        2 => (0..20_usize).prop_map(Deed::Wake),
        1 => Just(Deed::GiveUp),
        1 => Just(Deed::Purge),
        2 => (0..60_000_u16).prop_map(Deed::Pass),
        2 => Just(Deed::Trim),
        5 => (1..30_u32).prop_map(Deed::Read),
        1 => Just(Deed::Reopen),
    ];
    proptest::collection::vec((0..2_usize, deed), 20..70)
}

/// An observer, with what it keeps: a cursor, and the latest of each.
#[derive(Default)]
struct Reader {
    cursor: i64,
    known: HashMap<SubmissionId, (i64, SubmissionState)>,
    /// The last revision of each that the feed told.
    told: HashMap<SubmissionId, i64>,
    resyncs: usize,
}

impl Reader {
    /// One page. True if there is more.
    fn read(&mut self, outbox: &Outbox, limit: u32) -> bool {
        match outbox.changes(self.cursor, limit).unwrap() {
            ChangePage::Changes {
                changes,
                next,
                more,
            } => {
                assert!(changes.len() <= limit as usize);
                for change in changes {
                    assert_eq!(change.cursor, self.cursor + 1, "nothing is missed");
                    self.cursor = change.cursor;
                    let before = self.told.insert(change.id, change.revision);
                    assert!(before < Some(change.revision), "nothing is seen twice");
                    let known = self.known.entry(change.id).or_insert((0, change.state));
                    if change.revision > known.0 {
                        *known = (change.revision, change.state);
                    }
                }
                assert_eq!(next, self.cursor);
                more
            }
            ChangePage::Resync { next } => {
                self.resyncs += 1;
                assert!(next > self.cursor);
                self.cursor = next;
                for (id, revision, state) in list(outbox) {
                    self.known.insert(id, (revision, state));
                }
                false
            }
        }
    }
}

fn list(outbox: &Outbox) -> Vec<(SubmissionId, i64, SubmissionState)> {
    let page = PageRequest {
        after: 0,
        limit: 1_000,
    };
    let listed = outbox.list(ListFilter::all(), page).unwrap();
    assert_eq!(listed.next, None);
    let entries = listed.snapshots.into_iter();
    entries
        .map(|snapshot| (snapshot.id, snapshot.revision, snapshot.state))
        .collect()
}

fn config(world: &World, place: &Place) -> OutboxConfig {
    world.config(place).limits(Limits {
        keep_changes: 40,
        ..Limits::default()
    })
}

fn open(world: &World, place: &Place) -> Arc<Outbox> {
    let seams = Seams {
        apart: true,
        ..world.seams()
    };
    Outbox::open_with(config(world, place), seams).unwrap()
}

/// What an app does to its submissions.
async fn carry_out(world: &World, outbox: &Outbox, ids: &mut Vec<SubmissionId>, deed: &Deed) {
    match deed {
        Deed::Submit { signed } => {
            let id = SubmissionId::derived(None, "order", &ids.len().to_string());
            let order = Submission::post(id, "/orders").json("{}");
            let order = if *signed { of("ann", order) } else { order };
            outbox.submit(order).unwrap();
            ids.push(id);
        }
        Deed::Drain => drop(drain(outbox).await),
        Deed::Cancel(n) => {
            if let Some(id) = ids.get(*n) {
                outbox.cancel(*id).unwrap();
            }
        }
        Deed::Wake(n) => {
            if let Some(id) = ids.get(*n) {
                // Retention or a purge may have left its tombstone alone.
                outbox.wake(*id).unwrap();
            }
        }
        Deed::GiveUp => {
            outbox
                .resolve_all(HoldReason::CancelRequested, Resolution::GiveUp)
                .unwrap();
        }
        Deed::Purge => {
            outbox.sign_in("ann".into()).unwrap();
            outbox.sign_out(SignOut::Purge).unwrap();
        }
        Deed::Pass(millis) => world.pass(Duration::from_millis((*millis).into())).await,
        Deed::Trim => while outbox.retain().unwrap() {},
        Deed::Read(_) | Deed::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_misses_nothing_and_sees_nothing_twice(seed in any::<u64>(), deeds in deeds()) {
        let place = Place::new();
        simulate(seed, |world| async move {
            let random = Arc::clone(&world.entropy);
            world.network.always(move |_| match random.next() % 5 {
                0 => lost(),
                1 => unreachable(),
                2 => status(503),
                3 => status(412),
                _ => created(),
            });
            let mut outboxes = [open(&world, &place), open(&world, &place)];
            let mut readers = [Reader::default(), Reader::default()];
            let mut ids = Vec::new();
            for (n, deed) in &deeds {
                match deed {
                    Deed::Read(limit) => drop(readers[*n].read(&outboxes[*n], *limit)),
                    Deed::Reopen => {
                        outboxes[*n].close();
                        outboxes[*n] = open(&world, &place);
                    }
                    deed => carry_out(&world, &outboxes[*n], &mut ids, deed).await,
                }
            }
            for reader in &mut readers {
                while reader.read(&outboxes[0], 7) {}
                for (id, revision, state) in list(&outboxes[1]) {
                    assert_eq!(reader.known.get(&id), Some(&(revision, state)));
                }
                // Of what is purged the feed told the end, or the reader was sent to the list.
                for (id, (_, state)) in &reader.known {
                    let now = outboxes[1].snapshot(*id).unwrap().state;
                    assert!(*state == now || reader.resyncs > 0, "{id}: {state:?}, {now:?}");
                }
            }
        });
    }
}

/// Beyond its horizon the feed says so, to each reader, and tells the rest to those within.
#[test]
fn a_reader_that_was_away_too_long_lists_anew_and_goes_on() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = open(&world, &place);
        let (mut away, mut near) = (Reader::default(), Reader::default());
        for n in 0..60 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
            if n == 30 {
                while near.read(&outbox, 10) {}
            }
        }
        while outbox.retain().unwrap() {}
        while near.read(&outbox, 10) {}
        while away.read(&outbox, 10) {}
        assert_eq!((near.resyncs, away.resyncs), (0, 1));
        assert_eq!(near.known, away.known);
        assert_eq!(near.known.len(), 60);
        outbox.cancel(*near.known.keys().next().unwrap()).unwrap();
        away.read(&outbox, 10);
        assert_eq!(away.told.len(), 1);
    });
}

/// Any number of callers wait for one, and all of them learn that it is held, and later how it ended;
/// those in another process too.
#[test]
fn a_thousand_wait_for_one_and_all_are_told() {
    let place = Place::new();
    simulate(2, |world| async move {
        let (outbox, other) = (world.open(&place), world.open_apart(&place));
        world.network.play([status(412)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let all = || -> Vec<_> {
            (0..1_000)
                .map(|n| {
                    let outbox = Arc::clone(if n % 10 == 0 { &other } else { &outbox });
                    tokio::spawn(async move { outbox.wait(order.id, HOUR).await.unwrap() })
                })
                .collect()
        };
        let waiting = all();
        world.pass(Duration::from_secs(1)).await;
        outbox.start().unwrap();
        let mut revision = 0;
        for waited in waiting {
            let Waited::Held { snapshot } = waited.await.unwrap() else {
                panic!("held");
            };
            assert_eq!(
                snapshot.state,
                SubmissionState::Held {
                    reason: HoldReason::Conflict
                }
            );
            revision = snapshot.revision;
        }
        // Who comes now is told at once; who waits after the decision learns the end.
        assert!(matches!(
            other.wait(order.id, HOUR).await,
            Ok(Waited::Held { .. })
        ));
        outbox.suspend().unwrap();
        let retry = Resolution::RetrySameKey {
            accept_second_effect: false,
        };
        outbox.resolve(order.id, revision, retry).unwrap();
        let waiting = all();
        outbox.start().unwrap();
        for waited in waiting {
            assert!(matches!(waited.await.unwrap(), Waited::Settled { .. }));
        }
    });
}
