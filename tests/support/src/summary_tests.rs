//! The verdict on flights and keys that are built by hand, down to the nanosecond.

use super::*;
use crate::behaviour::Behaviour;

fn flight(key: &str, path: &str, arrived_at_ns: u64, ended_at_ns: Option<u64>) -> RequestRecord {
    RequestRecord {
        number: 0,
        key: Some(key.to_owned()),
        method: "POST".to_owned(),
        path: path.to_owned(),
        body_sha256: None,
        body_bytes: 0,
        body_complete: true,
        principal: None,
        user_agent: None,
        connection: 1,
        nth_on_connection: 1,
        arrived_at_ns,
        arrived_wall_ms: 0,
        answered_at_ns: ended_at_ns,
        lost_at_ns: None,
        handler_done_at_ns: ended_at_ns,
        status: None,
        behaviour: Behaviour::Normal,
        effect: None,
        effect_at_ns: None,
        replayed: false,
        answer_lost: false,
        held_at: None,
    }
}

fn most_in_flight(records: &[RequestRecord]) -> u64 {
    Summary::of(records, &[]).max_in_flight_per_key
}

#[test]
fn flights_that_touch_do_not_overlap_and_one_nanosecond_more_does() {
    let touching = [flight("k", "/", 1, Some(5)), flight("k", "/", 5, Some(9))];
    assert_eq!(most_in_flight(&touching), 1);
    let overlapping = [flight("k", "/", 1, Some(6)), flight("k", "/", 5, Some(9))];
    assert_eq!(most_in_flight(&overlapping), 2);
}

#[test]
fn an_open_flight_overlaps_everything_after_it_with_its_key_only() {
    let open = flight("k", "/", 1, None);
    let other = flight("other", "/", 2, None);
    assert_eq!(most_in_flight(&[open.clone(), other.clone()]), 1);
    assert_eq!(
        most_in_flight(&[open, other, flight("k", "/", 50, Some(60))]),
        2
    );
}

#[test]
fn the_later_one_of_answer_and_handler_ends_a_flight() {
    let mut working = flight("k", "/", 1, Some(5));
    working.handler_done_at_ns = Some(50);
    assert_eq!(working.flight_ended_at_ns(), Some(50));
    let mut unanswered = flight("k", "/", 1, Some(5));
    unanswered.answered_at_ns = None;
    assert!(unanswered.in_flight());
    unanswered.lost_at_ns = Some(70);
    assert_eq!(unanswered.flight_ended_at_ns(), Some(70));
}

#[test]
fn keys_are_counted_per_path() {
    let records = [
        flight("a", "/orders?id=1", 1, Some(2)),
        flight("b", "/orders?id=2", 1, Some(2)),
        flight("c", "/orders?id=2", 3, Some(4)),
    ];
    let summary = Summary::of(&records, &[]);
    assert_eq!((summary.keys, summary.max_keys_per_path), (3, 2));
}
