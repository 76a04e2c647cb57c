//! Every verdict of the classifier is guarded: of each arm of its table and of each fault the proof is
//! turned, one at a time, and the page of verdicts no longer agrees.

use std::process::Command;

use submit_once::Fault;

use crate::common::agents::binary;
use crate::common::attack::{Attack, is_weakened};

const FAULTS: [Fault; 13] = [
    Fault::Offline,
    Fault::Unreachable,
    Fault::Tls,
    Fault::TlsClock,
    Fault::NotSent,
    Fault::NotProcessed,
    Fault::BodyMissing,
    Fault::BodyChanged,
    Fault::BodyUnreadable,
    Fault::TimedOut,
    Fault::Lost,
    Fault::BadAnswer,
    Fault::Stopped,
];

/// Statuses with two arms, and the table of the page that is about the one with a condition.
const GUARDED: [(u16, &str); 5] = [
    (207, "Every member succeeded"),
    (304, "A safe method"),
    (403, "`Retry-After`"),
    (413, "`Retry-After`"),
    (422, "A body that speaks of the key"),
];

/// The arms of the table as they are written, each with the statuses that it names. What is new there is
/// tried without being told here.
fn arms() -> Vec<(String, Vec<u16>)> {
    let source = include_str!("../../src/policy/table.rs");
    let table = source.split("match answer.status {").nth(1).unwrap();
    let table = table.split("judgement.turned_by_a_test").next().unwrap();
    let arms = table.lines().filter_map(|line| {
        let (pattern, _) = line.split_once(" => ")?;
        let numbers = pattern.split(|c: char| !c.is_ascii_digit());
        let mut statuses: Vec<u16> = numbers.filter_map(|text| text.parse().ok()).collect();
        if pattern.trim() == "_" {
            statuses.push(599);
        }
        Some((pattern.trim().to_owned(), statuses))
    });
    arms.collect()
}

/// What the page and the program differ in, with a rule taken out.
fn differences(weakness: Option<&str>) -> String {
    let mut command = Command::new(binary("classify"));
    command.arg("--check");
    if let Some(weakness) = weakness {
        command.env("SUBMIT_ONCE_WEAKNESS", weakness);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) => String::new(),
        Some(1) => said,
        other => panic!("{other:?}: {said}"),
    }
}

#[test]
fn the_page_says_what_the_classifier_decides() {
    assert_eq!(differences(None), "");
}

#[test]
fn whatever_verdict_is_turned_the_page_no_longer_agrees() {
    if is_weakened() {
        return;
    }
    let attack = Attack::begin("V17", "verdicts turned");
    let arms = arms();
    for (arm, statuses) in &arms {
        assert!(!statuses.is_empty(), "{arm} names no status");
        for status in statuses {
            let said = differences(Some(&format!("turned-{status}")));
            assert!(
                said.contains(&format!("Every status, {status}:")),
                "{arm}: {said}"
            );
        }
    }
    for (status, table) in GUARDED {
        let said = differences(Some(&format!("turned-{status}")));
        assert!(
            said.contains(&format!("{table}, {status}:")),
            "{table}: {said}"
        );
    }
    for fault in FAULTS {
        let said = differences(Some(&format!("turned-{fault:?}")));
        assert!(said.contains("No answer, "), "{fault:?}: {said}");
    }
    let (count, faults) = (arms.len(), FAULTS.len());
    assert!(count > 30, "the table wasn't found");
    attack.report(&format!(
        "{count} of {count} arms of the table and {faults} of {faults} faults noticed"
    ));
}
