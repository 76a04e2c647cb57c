//! The example that uploads a large file, run as a user would, with a smaller one.

use std::process::Command;

use crate::agents::binary;

#[test]
fn a_large_file_goes_up_through_cuts_with_one_effect_and_little_memory() {
    let output = Command::new(binary("big-upload"))
        .args(["--json", "--megabytes", "24"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["holds"], true, "{report}");
    assert_eq!(report["requests_cut"], 3, "{report}");
    let wrong = Command::new(binary("big-upload"))
        .arg("--no")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
