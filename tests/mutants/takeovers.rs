//! P4: a claim of another process is taken over when that is dead, and then the quiet time is waited.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{Limits, Outbox};

use crate::common::Place;
use crate::common::sim::{Play, World, order, simulate};

fn open(world: &World, place: &Place) -> Arc<Outbox> {
    world.open_apart_with(world.config(place).limits(Limits {
        quiet_time: Some(Duration::from_secs(60)),
        ..Limits::default()
    }))
}

/// One process has sent something, and waits for the answer.
async fn on_the_wire(world: &World, place: &Place) -> Arc<Outbox> {
    let first = open(world, place);
    world.network.play([Play::Silence]);
    first.submit(order(&first, "form")).unwrap();
    first.start().unwrap();
    world.pass(Duration::from_millis(100)).await;
    assert_eq!(world.network.sent(), 1);
    first
}

#[test]
fn what_a_living_process_has_on_the_wire_is_left_to_it() {
    let place = Place::in_memory();
    simulate(1, |world| async move {
        let first = on_the_wire(&world, &place).await;
        let other = open(&world, &place);
        other.start().unwrap();
        world.pass(Duration::from_secs(10)).await;
        let id = first.begin("form".into()).unwrap();
        let snapshot = other.snapshot(id).unwrap();
        assert_eq!(snapshot.state, submit_once::SubmissionState::InFlight);
        assert_eq!(world.network.sent(), 1);
    });
}

/// Its lock can be taken, so it is dead: here its file is unlocked by removing it, and its lease runs
/// out.
#[test]
fn what_a_dead_process_had_on_the_wire_waits_the_quiet_time() {
    let place = Place::in_memory();
    simulate(2, |world| async move {
        let first = on_the_wire(&world, &place).await;
        world.clock.sleep_device(Duration::from_secs(3_600));
        let other = open(&world, &place);
        other.start().unwrap();
        world.pass(Duration::from_secs(50)).await;
        assert_eq!(world.network.sent(), 1, "within the quiet time");
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(world.network.sent(), 2);
        drop(first);
    });
}
