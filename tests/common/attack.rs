//! What all attacks on the promises share: how much of them is run, from which seed, how a figure
//! is reported, and how an attack is shown to notice a rule that was taken out.
//!
//! * `SUBMIT_ONCE_DEEP=n` multiplies the counts.
//! * `SUBMIT_ONCE_SEED=n` is the seed, in place of the one that CI runs with.
//!
//! Each attack leaves its figure in the build's folder, as a row of the table that `tests/run` prints
//! and writes to `docs/verification.md`.

#![allow(clippy::expect_used, reason = "what isn't a number is said in words")]

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// One attack under way.
pub struct Attack {
    id: &'static str,
    name: &'static str,
    seed: u64,
    began: Instant,
}

/// The seed that was asked for.
pub fn asked_seed() -> Option<u64> {
    let text = std::env::var("SUBMIT_ONCE_SEED").ok()?;
    Some(text.parse().expect("SUBMIT_ONCE_SEED is a whole number"))
}

/// What `SUBMIT_ONCE_DEEP` multiplies the counts by.
pub fn depth() -> u64 {
    std::env::var("SUBMIT_ONCE_DEEP").map_or(1, |text| {
        let depth = text.parse().expect("SUBMIT_ONCE_DEEP is a whole number");
        assert!(depth > 0, "SUBMIT_ONCE_DEEP is at least 1");
        depth
    })
}

impl Attack {
    /// Begins the attack with this number in the list, such as V2; the name tells it from other parts
    /// of the same one.
    pub fn begin(id: &'static str, name: &'static str) -> Self {
        Self {
            id,
            name,
            seed: asked_seed().unwrap_or(1),
            began: Instant::now(),
        }
    }

    /// Where the randomness starts.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many, where CI runs this many.
    pub fn count(&self, in_ci: u64) -> u64 {
        in_ci * depth()
    }

    /// The attack is over and nothing broke: says what was done, with its counts.
    pub fn report(self, figure: &str) {
        if is_weakened() {
            return;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        let row = format!(
            "| {} | {} | {figure} | {} | {} | {seconds:.1} s |\n",
            self.id,
            self.name,
            self.seed,
            depth()
        );
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attacks");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{}-{}.row", self.id, self.name.replace(' ', "-")));
        std::fs::write(file, row).unwrap();
        std::fs::write(folder.join("sqlite-version"), rusqlite::version()).unwrap();
        // Not captured by the test harness: whoever runs the attack sees what was done.
        let line = format!(
            "attack {:<4} {}: {figure}; seed {}, {seconds:.1} s\n",
            self.id, self.name, self.seed
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

/// True in a process that runs with a rule taken out.
pub fn is_weakened() -> bool {
    std::env::var_os("SUBMIT_ONCE_WEAKNESS").is_some()
}

/// Runs one test of this binary again with a rule taken out, in a process of its own: it must fail, and
/// say this.
pub fn assert_noticed(weakness: &str, test: &str, complaint: &str) {
    if is_weakened() {
        return;
    }
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("SUBMIT_ONCE_WEAKNESS", weakness)
        .env_remove("SUBMIT_ONCE_DEEP")
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    assert!(
        said.contains("running 1 test"),
        "there is no test {test}: {said}"
    );
    assert!(
        !run.status.success(),
        "{test} passes although the rule {weakness} is taken out"
    );
    assert!(
        said.contains(complaint),
        "{test} fails with {weakness}, but not with “{complaint}”: {said}"
    );
}
