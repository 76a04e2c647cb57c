//! What `build-aar.sh` says where it can't build for phones: exactly what is missing.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What the script calls before it knows what is missing.
const TOOLS: [&str; 13] = [
    "basename", "bash", "cat", "dirname", "env", "find", "mktemp", "readlink", "rm", "sed", "sort",
    "tail", "uname",
];

const TARGETS: [&str; 3] = [
    "aarch64-linux-android",
    "armv7-linux-androideabi",
    "x86_64-linux-android",
];

/// A machine with Rust and the usual commands, and nothing of Android's.
struct Machine {
    folder: TempDir,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        for folder in ["bin", "home", "sysroot"] {
            std::fs::create_dir(machine.path(folder)).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        for tool in TOOLS {
            let found = std::env::split_paths(&path)
                .map(|folder| folder.join(tool))
                .find(|candidate| candidate.is_file())
                .unwrap_or_else(|| panic!("{tool} isn't installed"));
            symlink(found, machine.path("bin").join(tool)).unwrap();
        }
        symlink(env!("CARGO"), machine.path("bin/cargo")).unwrap();
        // A toolchain without targets.
        machine.has_command(
            "rustc",
            &format!("echo '{}'", machine.path("sysroot").display()),
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn has_command(&self, name: &str, code: &str) {
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/usr/bin/env bash\n{code}\n")).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn has_jar(&self) {
        self.has_command("jar", "echo ' --date=TIMESTAMP'");
    }

    fn has_java_tools(&self) {
        self.has_jar();
        self.has_command("mvn", "exit 1");
    }

    fn has_targets(&self, triples: &[&str]) {
        for triple in triples {
            let lib = self.path("sysroot/lib/rustlib").join(triple).join("lib");
            std::fs::create_dir_all(lib).unwrap();
        }
    }

    fn has_ndk(&self, folder: &str, version: &str) {
        let folder = self.path(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("Pkg.Desc = Android NDK\nPkg.Revision = {version}\n");
        std::fs::write(folder.join("source.properties"), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kotlin/build-aar.sh");
        Command::new(self.path("bin/bash"))
            .arg(script)
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap()
    }

    /// What it says, without the name of this folder.
    #[track_caller]
    fn is_refused(&self, arguments: &[&str], text: &str) {
        let output = self.run(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        let told = told.replace(&self.folder.path().display().to_string(), "MACHINE");
        assert_eq!(told, text);
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let mut machine = Machine::new();
    machine
        .variables
        .push(("ANDROID_HOME", machine.path("sdk")));
    machine.is_refused(
        &[],
        "build-aar.sh: the archive for phones can't be built here. Missing:
  - the Android NDK, r28 or later. Looked at:
      ANDROID_NDK_HOME: not set
      ANDROID_NDK_ROOT: not set
      ANDROID_NDK_PATH: not set
      NDK_HOME: not set
      ANDROID_HOME, its folder ndk: MACHINE/sdk
      ANDROID_SDK_ROOT, its folder ndk: not set
      ANDROID_SDK_HOME, its folder ndk: not set
      MACHINE/home/Android/Sdk/ndk
      MACHINE/home/Library/Android/sdk/ndk
  - cargo-ndk: cargo install cargo-ndk --locked
  - Rust's standard library for phones: rustup target add aarch64-linux-android \
         armv7-linux-androideabi x86_64-linux-android
  - Maven: mvn
  - a JDK of version 17 or later: jar
Without these, --host-check still exercises everything but the cross compiler.
",
    );
}

#[test]
fn an_old_ndk_is_told() {
    let mut machine = Machine::new();
    machine.has_java_tools();
    machine.has_targets(&TARGETS);
    machine.has_command("cargo-ndk", "exit 1");
    machine.has_ndk("ndk", "27.2.12479018");
    machine
        .variables
        .push(("ANDROID_NDK_HOME", machine.path("ndk")));
    machine.is_refused(
        &[],
        "build-aar.sh: the archive for phones can't be built here. Missing:
  - an NDK of r28 or later: MACHINE/ndk is r27
Without these, --host-check still exercises everything but the cross compiler.
",
    );
}

#[test]
fn the_newest_ndk_of_an_sdk_is_taken() {
    let mut machine = Machine::new();
    machine.has_java_tools();
    machine.has_targets(&TARGETS);
    machine.has_ndk("sdk/ndk/9.0.1", "9.0.1");
    machine.has_ndk("sdk/ndk/29.0.14206865", "29.0.14206865");
    machine
        .variables
        .push(("ANDROID_SDK_ROOT", machine.path("sdk")));
    machine.is_refused(
        &[],
        "build-aar.sh: the archive for phones can't be built here. Missing:
  - cargo-ndk: cargo install cargo-ndk --locked
Without these, --host-check still exercises everything but the cross compiler.
",
    );
}

#[test]
fn the_native_part_needs_no_maven() {
    let machine = Machine::new();
    machine.has_jar();
    machine.has_targets(&TARGETS[..1]);
    machine.has_ndk("home/Android/Sdk/ndk/28.0.1", "28.0.1");
    machine.has_command("cargo-ndk", "exit 1");
    machine.is_refused(
        &["--native-only"],
        "build-aar.sh: the archive for phones can't be built here. Missing:
  - Rust's standard library for phones: rustup target add armv7-linux-androideabi \
         x86_64-linux-android
Without these, --host-check still exercises everything but the cross compiler.
",
    );
}

#[test]
fn wrong_arguments_end_with_2_and_help_with_0() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["--fast"]).status.code(), Some(2));
    assert_eq!(machine.run(&["--host-check", "x"]).status.code(), Some(2));
    let help = machine.run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).starts_with("Usage: "));
}
