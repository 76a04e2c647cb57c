//! P3 and P4: two processes drain what a third one accepts. One is killed, or frozen with a request on the
//! wire or on its way there, and thawed later. Only a process that was frozen until its lease was out
//! excuses two requests of one key at once; effects stay at one.

use crate::common::attack::{Attack, assert_noticed};
use crate::crowd::side_by_side;
use crate::diary::Figures;
use crate::dice::Dice;
use crate::round::{Kind, Round};

/// Processes of a round wait most of the time: for a lease, a quiet time, a look at who is dead.
const AT_ONCE: usize = 24;

/// How often each kind comes up in ten rounds.
const KINDS: [Kind; 10] = [
    Kind::Killed,
    Kind::FrozenOnTheWire,
    Kind::FrozenBriefly,
    Kind::FrozenAfterItsLastLook,
    Kind::KilledOnTheWire,
    Kind::FrozenOnTheWire,
    Kind::FrozenAfterItsClaim,
    Kind::FrozenAfterItsLastLook,
    Kind::FrozenBriefly,
    Kind::FrozenAndKilled,
];

#[test]
fn processes_that_share_a_queue_send_nothing_twice() {
    let attack = Attack::begin("V6", "processes that share");
    let (seed, rounds) = (attack.seed(), attack.count(200));
    let figures = side_by_side(AT_ONCE, rounds, |part| {
        let kind = KINDS[usize::try_from(part % 10).unwrap()];
        Round::new(kind, seed, part, Dice::of(seed, part)).play()
    });
    let kinds: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| {
            let of_ten = KINDS.iter().filter(|other| *other == kind).count() as u64;
            format!("{} {kind}", rounds * of_ten / 10)
        })
        .collect();
    let all = Figures::sum(figures);
    attack.report(&format!(
        "{rounds} rounds ({}), {} submissions, {} requests, {} effects, 0 lost, 0 doubled",
        kinds.join(", "),
        all.submissions,
        all.requests,
        all.effects
    ));
}

/// The part of it that the tests below have again with a rule taken out.
#[test]
fn what_a_live_process_has_on_the_wire_nobody_else_sends() {
    side_by_side(2, 2, |part| {
        Round::new(Kind::FrozenBriefly, 1, part, Dice::of(1, part)).play()
    });
}

const LIVE: &str = "rounds::what_a_live_process_has_on_the_wire_nobody_else_sends";

#[test]
fn a_lease_that_is_over_at_once_is_noticed() {
    assert_noticed("lease-zero", LIVE, "single flight broken");
}

#[test]
fn an_owner_that_counts_as_dead_while_its_lock_is_held_is_noticed() {
    assert_noticed("held-lock-is-dead", LIVE, "single flight broken");
}
