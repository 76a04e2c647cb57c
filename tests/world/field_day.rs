//! The day of the inspection app ends with the promised figures, run as a user runs it.

use std::process::Command;

use crate::agents::binary;

#[test]
fn the_field_day_ends_with_the_promised_figures() {
    let output = Command::new(binary("field-day"))
        .args(["--json", "--seed", "7", "--inspections", "60"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{trouble}");
    let figures: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    for (name, wanted) in [
        ("inspections", 60),
        ("children_linked", 180),
        ("orphans", 0),
        ("photos", 60),
        ("lane_order_violations", 0),
        ("cross_account_sends", 0),
        ("duplicate_effects", 0),
        ("lost", 0),
        ("held", 0),
    ] {
        assert_eq!(figures[name], wanted, "{name}: {figures}");
    }
    assert_eq!(figures["photos_digest_equal"], true, "{figures}");
    assert_eq!(figures["drafts_final_equal"], true, "{figures}");
    assert!(figures["kills"].as_u64().unwrap() >= 10, "{figures}");
    assert!(figures["answers_lost"].as_u64().unwrap() >= 30, "{figures}");
}
