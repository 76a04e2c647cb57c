//! The names of cases in the sources are told in `docs/cases.md`, and no others are.

use std::collections::BTreeSet;
use std::path::Path;

/// `F` or `C` and a number, as a word of its own.
fn cases(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            let digits = word.strip_prefix(['F', 'C']).unwrap_or_default();
            (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map(str::to_owned)
}

fn sources(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            // Comments alone: code may call a type parameter like this.
            for line in text
                .lines()
                .filter(|line| line.trim_start().starts_with("//"))
            {
                into.extend(cases(line));
            }
        }
    }
}

#[test]
fn every_case_that_the_sources_name_is_told_and_every_one_that_is_told_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    sources(&root.join("src"), &mut named);
    sources(&root.join("tests"), &mut named);
    let page = std::fs::read_to_string(root.join("docs/cases.md")).unwrap();
    let told: BTreeSet<String> = page
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| cases(line.split('|').nth(1).unwrap_or_default()).collect::<Vec<_>>())
        .collect();
    let untold: Vec<_> = named.difference(&told).collect();
    assert!(untold.is_empty(), "not in docs/cases.md: {untold:?}");
    let unnamed: Vec<_> = told.difference(&named).collect();
    assert!(unnamed.is_empty(), "in no test: {unnamed:?}");
}
