//! The seams: the real core, with fakes for clock, randomness, transport, executor and VFS, on one
//! thread. The same seed gives the same trace.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{Resolution, Waited};

use crate::common::sim::{Play, World, created, lost, order, simulate, status, unreachable};
use crate::common::{Place, vfs};

/// A world with faults drawn from the seed, and all that could be seen of it.
fn trace(seed: u64) -> String {
    let place = Place::new();
    let trace = Arc::new(Mutex::new(String::new()));
    let out = Arc::clone(&trace);
    simulate(seed, |world| async move {
        let world = World {
            vfs: Some(vfs::register()),
            ..world
        };
        let dice = Arc::clone(&world.entropy);
        world.network.always(move |_| match dice.next() % 6 {
            0 => lost(),
            1 => status(503),
            2 => unreachable(),
            3 => Play::Silence,
            _ => created(),
        });
        let outbox = world.open(&place);
        outbox.start().unwrap();
        let mut ids = Vec::new();
        for n in 0..12 {
            let order = order(&outbox, &format!("form {n}"));
            outbox.submit(order.clone()).unwrap();
            ids.push(order.id);
            world
                .pass(Duration::from_millis(world.entropy.next() % 3_000))
                .await;
        }
        world.clock.reboot();
        for id in ids {
            let waited = outbox.wait(id, Duration::from_secs(86_400)).await.unwrap();
            if let Waited::Held { snapshot } = waited {
                outbox
                    .resolve(id, snapshot.revision, Resolution::GiveUp)
                    .unwrap();
            }
        }
        let changes = outbox.changes(0, 1_000).unwrap();
        let seen = world.network.seen();
        outbox.close();
        let disk = vfs::disk(&place.database());
        assert!(disk.opens.load(Ordering::SeqCst) > 0, "the VFS was used");
        *out.lock().unwrap() = format!("{changes:#?}{:#?}", seen_text(&seen));
    });
    let trace = trace.lock().unwrap();
    trace.clone()
}

fn seen_text(seen: &[crate::common::sim::Seen]) -> Vec<String> {
    seen.iter()
        .map(|seen| format!("{:?} {:?} {}", seen.at, seen.request.headers, seen.sent))
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another_one() {
    let first = trace(7);
    assert!(first.len() > 2_000);
    assert_eq!(first, trace(7));
    assert_ne!(first, trace(8));
}
