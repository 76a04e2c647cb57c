//! What `submit` and `snapshot` cost, called from Rust: one half of the comparison with Kotlin that
//! `bindings/kotlin/bench.sh` prints.
//!
//! ```text
//! cargo run --release --example calls -- FOLDER CALLS
//! ```
//!
//! Submits so many orders of 1 KB to an outbox in the folder, one after the other, then reads each
//! one's snapshot, and prints the median times in nanoseconds, as JSON.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use submit_once::{Outbox, OutboxConfig, Submission, SubmissionId};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map(PathBuf::from);
    let calls = arguments
        .next()
        .and_then(|text| text.to_str()?.parse().ok());
    let (Some(folder), Some(calls)) = (folder, calls) else {
        eprintln!("calls: name a folder and a number of calls");
        return ExitCode::from(2);
    };
    match measure(&folder, calls) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("calls: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(folder: &std::path::Path, calls: u32) -> Result<String, Box<dyn Error>> {
    let path = folder.join("rust.sqlite3");
    let outbox = Outbox::open(OutboxConfig::at(path.to_string_lossy()))?;
    let body = format!(r#"{{"item":"{}"}}"#, "x".repeat(1_013));
    let mut submits = Vec::new();
    let mut snapshots = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..calls {
        let id = SubmissionId::new()?;
        let order = Submission::post(id, "https://api.example.com/orders").json(body.as_str());
        submits.push(timed(|| outbox.submit(order))?);
        ids.push(id);
    }
    for id in ids {
        snapshots.push(timed(|| outbox.snapshot(id))?);
    }
    outbox.close();
    Ok(format!(
        r#"{{"submit_ns":{},"snapshot_ns":{}}}"#,
        median(submits),
        median(snapshots)
    ))
}

fn timed<T, E>(call: impl FnOnce() -> Result<T, E>) -> Result<u128, E> {
    let began = Instant::now();
    call()?;
    Ok(began.elapsed().as_nanos())
}

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
