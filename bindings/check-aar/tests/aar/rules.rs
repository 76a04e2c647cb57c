//! What R8 must keep.

use super::fixture::{Candidate, RULES, good};

fn with(rules: impl Into<String>) -> Candidate {
    let mut candidate = good();
    candidate.aar.put("proguard.txt", rules.into());
    candidate
}

fn replaced(from: &str, to: &str) -> Candidate {
    assert!(RULES.contains(from), "{from} isn't in the rules");
    with(RULES.replace(from, to))
}

#[test]
fn empty_rules_are_refused() {
    let problems = with("# Nothing to keep.\n").problems();
    assert_eq!(problems.len(), 7, "{problems:#?}");
    assert!(
        problems
            .iter()
            .all(|problem| problem.contains("proguard.txt: lacks -"))
    );
}

#[test]
fn a_single_star_for_jna_is_refused() {
    replaced(
        "-keep class com.sun.jna.** {",
        "-keep class com.sun.jna.* {",
    )
    .is_refused("lacks -keep class com.sun.jna.** { * ; }");
}

#[test]
fn a_rule_in_a_comment_is_none() {
    replaced(
        "-keep class dev.submitonce.internal.**",
        "# -keep class dev.submitonce.internal.**",
    )
    .is_refused("lacks -keep class dev.submitonce.internal.**");
}

#[test]
fn workers_keep_their_names() {
    replaced(
        "extends androidx.work.ListenableWorker",
        "extends androidx.work.Other",
    )
    .is_refused("extends androidx.work.ListenableWorker");
}

#[test]
fn each_attribute_is_kept() {
    replaced("AnnotationDefault", "SourceFile")
        .is_refused("-keepattributes lacks AnnotationDefault");
}

#[test]
fn options_are_left_to_the_app() {
    with(format!("{RULES}\n-dontobfuscate\n")).is_refused("-dontobfuscate is for the app");
}
