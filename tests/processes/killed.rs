//! P1 to P5, P7 and P8: a process that accepts and drains is killed, again and again, at random moments
//! and at named points, against a server that misbehaves.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::common::attack::Attack;
use crate::crowd::side_by_side;
use crate::diary::{Diary, Figures};
use crate::dice::Dice;
use crate::ends::End;
use crate::story::{Story, server};

/// Of each story.
const KILLS: u64 = 25;

/// More than a small machine has cores, since each waits for its server now and then.
const AT_ONCE: usize = 6;

#[test]
fn whatever_kills_a_process_nothing_is_lost_or_doubled() {
    let attack = Attack::begin("V5", "killed processes");
    let (seed, kills) = (attack.seed(), attack.count(2_000));
    let reached = Mutex::new(HashMap::new());
    let figures = side_by_side(AT_ONCE, kills / KILLS, |part| {
        let dice = Dice::of(seed, part);
        let test = "whatever_kills_a_process";
        let diary = Diary::new(server(&dice, seed ^ part), test, seed, part);
        let mut story = Story::new(&diary, dice);
        for number in 0..KILLS {
            if let Some(point) = story.live(number) {
                *reached.lock().unwrap().entry(point).or_default() += 1_u64;
            }
        }
        story.end()
    });
    let all = Figures::sum(figures);
    let reached = reached.into_inner().unwrap();
    for point in End::names() {
        assert!(reached.contains_key(point), "none died at {point}");
    }
    let at_points: u64 = reached.values().sum();
    attack.report(&format!(
        "{kills} kills ({} at random, {at_points} at {} named points), {} submissions, {} requests, \
         {} effects, 0 lost, 0 doubled",
        kills - at_points,
        reached.len(),
        all.submissions,
        all.requests,
        all.effects
    ));
}
