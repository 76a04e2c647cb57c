//! P12: an idle outbox is quiet: no file is touched, and the process hardly wakes up.

use std::process::Command;
use std::time::Duration;

use crate::agents::{Agent, binary};
use crate::common::Place;

/// How long is looked. The delay is the thing that is measured, not a wait for something else.
const LOOK: Duration = Duration::from_secs(60);

#[test]
fn a_started_outbox_whose_next_attempt_is_an_hour_away_does_nothing_for_a_minute() {
    let place = Place::new();
    let log = place.folder().join("strace.log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-ttt", "-o"])
        .arg(&log)
        .arg(binary("agent"));
    let limits = r#"{"backoff_first":3600000,"backoff_most":3600000}"#;
    let mut agent = Agent::spawn(strace, &place, &["--limits", limits]);
    let id = agent.ask("begin form");
    // Nobody listens there: refused, and an hour of backoff.
    agent.ask(&format!("submit {id} http://127.0.0.1:1/orders tea"));
    agent.ask("start");
    agent.ask("drain 5000");
    // Somebody observes for a moment; afterwards nobody does.
    assert_eq!(agent.ask(&format!("wait {id} 1500")), "TimedOut");
    assert_eq!(agent.ask(&format!("snapshot {id}")), "Pending");
    // What the last command needed comes to its end first.
    let from = now() + 4.0;
    std::thread::sleep(LOOK + Duration::from_secs(5));
    let until = from + LOOK.as_secs_f64();
    let lines = lines(&log);
    let seen: Vec<&String> = lines
        .iter()
        .filter(|line| (from..until).contains(&time_of(line)))
        .collect();
    let files = [
        "open", "read", "write", "sync", "stat", "lock", "unlink", "seek", "truncate", "fcntl",
    ];
    let touched: Vec<_> = seen
        .iter()
        .filter(|line| files.iter().any(|call| call_of(line).contains(call)))
        .collect();
    assert!(touched.is_empty(), "{touched:#?}");
    // Every thread waits in a call. A timer's wake-up is the end of one without an event.
    let wake_ups = seen
        .iter()
        .filter(|line| line.contains("resumed>"))
        .filter(|line| line.contains("TIMEDOUT") || line.ends_with("= 0"))
        .count();
    assert!(wake_ups <= 2, "{seen:#?}");
    // The measure can fail: the same process does touch files when it is asked something.
    let before = std::fs::metadata(&log).unwrap().len();
    agent.ask("begin another-form");
    assert!(std::fs::metadata(&log).unwrap().len() > before);
}

fn now() -> f64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64()
}

fn time_of(line: &str) -> f64 {
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn lines(log: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(log)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The name of the system call in a line of `strace -f -ttt`.
fn call_of(line: &str) -> &str {
    let call = line.split_whitespace().nth(2).unwrap_or_default();
    let call = call.strip_prefix("resumed>").unwrap_or(call);
    call.split('(').next().unwrap_or_default()
}
