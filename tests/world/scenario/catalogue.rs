//! The files of scenarios, and what the library exports.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::format::File;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all files, without their ending.
pub fn names() -> BTreeSet<String> {
    std::fs::read_dir(root().join("tests/conformance"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".json").map(str::to_owned)
        })
        .collect()
}

pub fn load(name: &str) -> File {
    let path = root().join(format!("tests/conformance/{name}.json"));
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|problem| panic!("{name}.json: {problem}"))
}

/// The promises, and the cases that `docs/cases.md` tells.
pub fn guarded() -> BTreeSet<String> {
    let page = std::fs::read_to_string(root().join("docs/cases.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix('|'));
    let cases = rows.flat_map(|row| row.split('|').next().unwrap_or_default().split(','));
    let promises = (1..=13).map(|number| format!("P{number}"));
    cases
        .map(|case| case.trim().to_owned())
        .chain(promises)
        .collect()
}

/// The functions that the library exports: methods of the outbox and of batches, those of the inbox with
/// its name before theirs, and those of nobody. The sources are
/// formatted by rustfmt, which CI checks.
pub fn exported_functions() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                functions(&std::fs::read_to_string(path).unwrap(), &mut found);
            }
        }
    }
    found
}

fn functions(text: &str, found: &mut BTreeSet<String>) {
    let (mut exported, mut object) = (false, None);
    for line in text.lines() {
        let function = line.trim_start().trim_start_matches("pub ");
        let function = function.trim_start_matches("async ").strip_prefix("fn ");
        let inside = object.filter(|_| line.starts_with("    pub "));
        let prefix = inside.or(exported.then_some(""));
        if let (Some(function), Some(prefix)) = (function, prefix) {
            let name = function.split(['(', '<']).next().unwrap_or_default();
            found.insert(format!("{prefix}{name}"));
        }
        object = match line {
            "}" => None,
            "impl Outbox {" | "impl Batch {" => exported.then_some(""),
            "impl Inbox {" => exported.then_some("inbox_"),
            _ => object,
        };
        exported = line == "#[uniffi::export]";
    }
}
