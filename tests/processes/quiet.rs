//! P4: after a kill the server may still be at work, and the next process gives it the quiet time.

use submit_once_reference_server::history::Event;
use submit_once_reference_server::{Behaviour, Matcher, Options};

use crate::common::Place;
use crate::common::agents::PATIENCE;
use crate::common::attack::assert_noticed;
use crate::diary::Diary;
use crate::session::{Order, Session};

/// No test waits for its end.
const LIMITS: [&str; 2] = ["--limits", r#"{"quiet_time":600000}"#];

#[test]
fn after_a_kill_nobody_sends_before_the_quiet_time_is_over() {
    let place = Place::in_memory();
    let diary = Diary::new(Options::default(), "after_a_kill", 1, 0);
    let mut dying = Session::open("dying", &place, &diary, &LIMITS);
    let order = Order {
        id: dying.ask("begin form").unwrap(),
        path: "/orders/1".to_owned(),
        lane: None,
        large: None,
    };
    dying.submit(&order).unwrap();
    let hold = Behaviour::HoldBefore("hold".to_owned());
    diary.server.script(Matcher::key(&order.id), vec![hold]);
    dying.ask("start").unwrap();
    diary.server.wait_until_held("hold", PATIENCE).unwrap();
    dying.agent.kill();
    let by = Some("dying".to_owned());
    diary.note(Event::Crashed { by });
    let mut next = Session::open("next", &place, &diary, &LIMITS);
    let report = next.ask("drain 20000").unwrap();
    diary.server.release_all();
    let figures = diary.judge();
    assert_eq!(figures.requests, 1);
    assert!(report.contains("NothingDue"), "{report}");
    assert!(report.contains("next_wake_at: Some"), "{report}");
}

#[test]
fn a_quiet_time_of_nothing_is_noticed() {
    let test = "quiet::after_a_kill_nobody_sends_before_the_quiet_time_is_over";
    assert_noticed("no-quiet-time", test, "single flight broken");
}
