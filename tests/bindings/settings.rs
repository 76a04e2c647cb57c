//! The generator ignores a setting that it doesn't know, silently. So each one of `uniffi.toml` is
//! looked for in what was generated.

use super::workshop::WORKSHOP;

#[test]
fn kotlin_is_in_the_internal_package_and_loads_the_library_by_its_name() {
    let kotlin = &WORKSHOP.kotlin;
    let package = kotlin.lines().find(|line| line.starts_with("package "));
    assert_eq!(package, Some("package dev.submitonce.internal"));
    assert!(kotlin.contains("return \"submit_once\""));
}

#[test]
fn kotlin_runs_on_android_and_the_jvm_alike() {
    let kotlin = &WORKSHOP.kotlin;
    assert!(!kotlin.contains("java.lang.ref.Cleaner"));
    assert!(!kotlin.contains("android.system"));
    assert!(kotlin.contains("com.sun.jna.internal.Cleaner"));
}

#[test]
fn kotlin_has_one_close_that_frees_and_one_shutdown_that_stops() {
    let kotlin = &WORKSHOP.kotlin;
    assert!(kotlin.contains("override fun close()"));
    assert!(!kotlin.contains("fun `close`("));
    assert!(kotlin.contains("fun `shutdown`("));
}

#[test]
fn kotlin_uses_what_its_target_version_has() {
    assert!(WORKSHOP.kotlin.contains(".entries"));
}

#[test]
fn records_can_not_be_changed_in_either_language() {
    for (language, text, start, end, changeable) in [
        (
            "Kotlin",
            &WORKSHOP.kotlin,
            "\ndata class ",
            "companion",
            "var `",
        ),
        (
            "Swift",
            &WORKSHOP.swift,
            "\npublic struct ",
            "\n}\n",
            "public var ",
        ),
    ] {
        let records: Vec<&str> = text
            .split(start)
            .skip(1)
            .filter(|text| !text.starts_with("FfiConverter"))
            .map(|text| text.split(end).next().unwrap_or_default())
            .collect();
        assert!(
            records.len() > 10,
            "the records of {language} were not found"
        );
        for record in records {
            // With a brace at its end it has no value of its own: it is computed.
            let changes = |line: &str| line.contains(changeable) && !line.ends_with('{');
            assert!(!record.lines().any(changes), "{language}: {record}");
        }
    }
}

#[test]
fn swift_has_a_module_of_its_own_for_the_c_side() {
    assert!(WORKSHOP.swift.contains("import SubmitOnceFFI"));
    let map = WORKSHOP.file("SubmitOnceFFI.modulemap");
    assert!(map.contains("module SubmitOnceFFI {"));
    assert!(map.contains("header \"SubmitOnceFFI.h\""));
    assert!(!WORKSHOP.file("SubmitOnceFFI.h").is_empty());
}
