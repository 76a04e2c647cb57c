//! What a phone gets with the library: the dependencies that the README tells of, and none that
//! only the programs of this repository need.

use std::collections::BTreeSet;

use super::workshop::{cargo, output, root};

/// The library's normal dependencies, one a line, each as "name v1.2.3 feature,feature".
fn tree(depth: &str) -> Vec<String> {
    let arguments = ["tree", "--package", "submit-once", "--edges", "normal"];
    let mut command = cargo(&arguments);
    command
        .args(["--locked", "--offline", "--prefix", "none"])
        .args(["--format", "{p} {f}", "--depth", depth]);
    // The first line is the library itself.
    output(command).lines().skip(1).map(str::to_owned).collect()
}

fn name(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

#[test]
fn the_readme_tells_of_every_direct_dependency() {
    let lines = tree("1");
    let direct: BTreeSet<&str> = lines.iter().map(|line| name(line)).collect();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let told: Vec<(&str, &str)> = readme
        .lines()
        .skip_while(|line| *line != "| crate | what for |")
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split_once("` | "))
        .collect();
    let names: BTreeSet<&str> = told.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, direct);
    assert_eq!(names.len(), told.len(), "a dependency is there twice");
    for (name, reason) in told {
        assert!(reason.len() > 5, "{name} has no reason");
    }
}

#[test]
fn no_program_brings_its_dependencies_into_the_library() {
    let lines = tree("99");
    assert!(lines.len() > 50, "the tree was not found");
    for line in &lines {
        let others = [
            "askama",
            "clap",
            "clap_builder",
            "indicatif",
            "proptest",
            "submit-once-reference-server",
            "uniffi-bindgen",
            "uniffi_bindgen",
            "uniffi_udl",
        ];
        assert!(!others.contains(&name(line)), "in the library: {line}");
    }
    for (of, feature) in [
        ("hyper", "server"),
        ("tokio", "test-util"),
        ("uniffi", "bindgen"),
        ("uniffi", "cli"),
    ] {
        let line = lines.iter().find(|line| name(line) == of).unwrap();
        let mut features = line.split([' ', ',']);
        assert!(
            !features.any(|has| has == feature),
            "in the library: {line}"
        );
    }
}
