//! The demo keeps its promises: the main job, run as a user runs it.

use std::process::Command;

use crate::agents::binary;

#[test]
fn the_demo_ends_with_every_order_done_once() {
    let orders = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/orders.ndjson");
    let output = Command::new(binary("demo"))
        .args(["--json", "--seed", "7", "--input", orders])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let result: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let number = |name: &str| result[name].as_u64().unwrap();
    for nothing in ["duplicate_effects", "lost", "held"] {
        assert_eq!(number(nothing), 0, "{nothing}: {result}");
    }
    for one in ["max_keys_per_submission", "max_in_flight_per_key"] {
        assert_eq!(number(one), 1, "{one}: {result}");
    }
    assert_eq!(number("effects"), number("submissions"));
    assert!(number("processes_killed") >= 10, "{result}");
    assert!(number("killed_with_request_on_wire") >= 5, "{result}");
    assert!(number("answers_lost") >= 30, "{result}");
}
