//! Builds the library and the generator as a release would, and generates both languages, once
//! for all tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// Everything that was made.
pub struct Workshop {
    /// The symbols of the library's UniFFI metadata, without their common prefix.
    pub metadata: Vec<String>,
    /// The one generated Kotlin file.
    pub kotlin: String,
    /// The one generated Swift file.
    pub swift: String,
    folder: TempDir,
}

/// Made at the first use.
pub static WORKSHOP: LazyLock<Workshop> = LazyLock::new(make);

impl Workshop {
    /// A file that the generator wrote.
    pub fn file(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{name} was not generated: {error}"))
    }
}

/// The repository's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Cargo, as it would be called by hand in the repository's folder.
///
/// A test inherits variables that say which package it is of. Build scripts ask to be run again
/// when these change, so that each test run would compile the C code anew.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "DEP_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let of_unit = ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];
        if of_package || of_unit.contains(&&*name) || name == "CARGO_TARGET_TMPDIR" {
            command.env_remove(&*name);
        }
    }
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command to its end, and gives what it printed.
pub fn output(mut command: Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} could not be run: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn make() -> Workshop {
    // This test is in TARGET/PROFILE/deps, or in TARGET/TRIPLE/PROFILE/deps.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let this = std::env::current_exe().unwrap();
    let profile = this.ancestors().nth(2).and_then(Path::file_name).unwrap();
    let profile = profile.to_str().unwrap();
    let flags = [
        "--profile",
        if profile == "debug" { "dev" } else { profile },
        "--locked",
        "--offline",
        "--quiet",
        "--target-dir",
        target.to_str().unwrap(),
    ];

    // Alone, so without the features that only tests and programs need.
    let mut build = cargo(&["rustc", "--package", "submit-once", "--lib"]);
    build.args(flags).args(["--crate-type", "cdylib"]);
    output(build);
    let library: PathBuf = target.join(profile).join(format!(
        "{}submit_once{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));

    // With the examples, as the tests are built: the features of the dependencies are the same
    // then, and nothing but the generator itself is left to compile.
    let mut build = cargo(&["build", "--workspace", "--bins", "--examples"]);
    build.args(flags);
    output(build);

    let folder = tempfile::tempdir().unwrap();
    let generator = format!("uniffi-bindgen{}", std::env::consts::EXE_SUFFIX);
    let mut generate = Command::new(target.join(profile).join(generator));
    generate
        .current_dir(root())
        .arg("generate")
        .arg(&library)
        .args(["--language", "kotlin", "--language", "swift"])
        .args(["--no-format", "--out-dir"])
        .arg(folder.path());
    output(generate);

    let mut workshop = Workshop {
        metadata: metadata(&std::fs::read(&library).unwrap()),
        kotlin: String::new(),
        swift: String::new(),
        folder,
    };
    workshop.kotlin = workshop.file("dev/submitonce/internal/submit_once.kt");
    workshop.swift = workshop.file("SubmitOnceGenerated.swift");
    workshop
}

/// UniFFI describes each export in a static of a telling name, such as
/// `UNIFFI_META_SUBMIT_ONCE_METHOD_OUTBOX_SUBMIT`.
fn metadata(library: &[u8]) -> Vec<String> {
    const PREFIX: &[u8] = b"UNIFFI_META_SUBMIT_ONCE_";
    let mut names: Vec<String> = library
        .windows(PREFIX.len())
        .enumerate()
        .filter(|(_, window)| *window == PREFIX)
        .filter_map(|(at, _)| {
            let rest = &library[at + PREFIX.len()..];
            let end = rest
                .iter()
                .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
            (rest[end] == 0).then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}
