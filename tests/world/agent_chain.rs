//! The agent that is killed at every step ends with the promised figures, run as a user runs it.

use std::process::Command;

use crate::agents::binary;

#[test]
fn an_agent_killed_at_every_point_of_every_step_does_each_once() {
    let output = Command::new(binary("agent-chain"))
        .args(["--json", "--plans", "2"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{trouble}");
    let figures: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    for (name, wanted) in [
        ("rows", 2),
        ("confirmations", 2),
        ("rings", 2),
        ("uncertain", 4),
        ("uncertain_expected", 4),
        ("wrong_results", 0),
        ("kills", 40),
    ] {
        assert_eq!(figures[name], wanted, "{name}: {figures}");
    }
    assert!(figures["replayed"].as_u64().unwrap() >= 80, "{figures}");
}
