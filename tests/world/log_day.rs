//! The day of logging ends with the promised figures, run as a user runs it.

use std::process::Command;

use crate::agents::binary;

#[test]
fn every_record_that_a_thread_was_told_is_durable_arrives_and_none_comes_twice_by_itself() {
    let output = Command::new(binary("log-day"))
        .args([
            "--json",
            "--seed",
            "7",
            "--records",
            "2000",
            "--kills",
            "10",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{trouble}");
    let figures: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    for (name, wanted) in [
        ("acknowledged", 2_000),
        ("arrived", 2_000),
        ("lost", 0),
        ("duplicates", 0),
        ("wrong_records", 0),
        ("duplicate_effects", 0),
        ("unsettled", 0),
        ("kills", 10),
    ] {
        assert_eq!(figures[name], wanted, "{name}: {figures}");
    }
    assert!(figures["requests"].as_u64().unwrap() < 100, "{figures}");
    assert!(figures["too_large"].as_u64().unwrap() > 0, "{figures}");
}
