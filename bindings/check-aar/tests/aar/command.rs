//! The command: what it prints, and how it ends.

use std::path::Path;
use std::process::{Command, Output};

use super::fixture::{Candidate, good, good_host};

fn run(candidate: &Candidate, folder: &Path, flags: &[&str]) -> Output {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    Command::new(env!("CARGO_BIN_EXE_check-aar"))
        .arg(write("submit-once.aar", &candidate.bytes()))
        .arg("--jna")
        .arg(write("jna.aar", &candidate.jna.bytes()))
        .arg("--budget")
        .arg(write("budget.toml", candidate.budget.as_bytes()))
        .args(flags)
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_good_archive_ends_with_0_and_a_line_for_each_check() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&good(), folder.path(), &[]);
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let figure = "ok      jni/arm64-v8a/libsubmit_once.so alignment: 0x4000\n";
    assert!(printed.contains(figure), "{printed}");
    assert!(printed.ends_with(" passed, 0 failed\n"), "{printed}");
}

#[test]
fn the_host_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&good_host(), folder.path(), &["--host"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let output = run(&good_host(), folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
}

#[test]
fn a_broken_archive_ends_with_1_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut candidate = good();
    candidate.aar.remove("R.txt");
    let output = run(&candidate, folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let printed = printed(&output);
    assert!(
        printed.contains("FAILED  archive entries: R.txt is missing\n"),
        "{printed}"
    );
    assert!(printed.ends_with(" passed, 1 failed\n"), "{printed}");
}

#[test]
fn a_file_that_is_no_archive_ends_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&good(), folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0));
    let mut command = Command::new(env!("CARGO_BIN_EXE_check-aar"));
    let budget = folder.path().join("budget.toml");
    command
        .arg(&budget)
        .arg("--jna")
        .arg(folder.path().join("jna.aar"));
    let output = command.arg("--budget").arg(&budget).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("archive: not a readable zip file"));
}

#[test]
fn wrong_arguments_end_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&good(), folder.path(), &["--fast"]);
    assert_eq!(output.status.code(), Some(2));
    let mut candidate = good();
    candidate.budget = "[phones]\n".to_owned();
    let output = run(&candidate, folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("budget.toml"));
}
