//! A day of logging: fifty thousand records from four threads, a server that is often unwell, and a process
//! that is killed over and over.
//!
//! ```text
//! cargo run --release --example log-day -- --json
//! ```
//!
//! The story: four threads of an app append records to one batch and go on when a record is durable. The
//! process is killed dozens of times, wherever that falls. A thread that was killed before it heard of its
//! record appends it once more in the next process, with the same ID in the record itself, as a logger would
//! that reads its own file again. Meanwhile the outbox delivers: answers are lost after their effect, errors
//! come before and after it, and batches that are larger than the server takes are split. In the end the
//! bodies that took effect at the server are read, record by record.
//!
//! `records` names everything, `worker` appends and delivers, `crew` starts and kills workers and counts what
//! they were told was durable, `day` tells the story, `disk` measures what a bare append costs, and `verdict` reads
//! the server's bodies. Exit status: 0 if the figures are those that were promised, 1 if not, 2 for bad
//! arguments.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod args;
mod crew;
mod day;
#[path = "../demo/dice.rs"]
#[allow(dead_code, reason = "shared with the demo")]
mod dice;
mod disk;
#[path = "../demo/failure.rs"]
mod failure;
mod records;
mod verdict;
mod worker;

use std::process::ExitCode;
use std::time::Instant;

use crate::args::{Command, DayArgs};
use crate::failure::{Failure, trouble};

fn main() -> ExitCode {
    let ran = match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Worker(args)) => return worker::run(&args),
        Ok(Command::Day(args)) => run(&args),
        Err(failure) => Err(failure),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("log-day: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Lives the day and prints the verdict. True if it is the promised one.
fn run(args: &DayArgs) -> Result<bool, Failure> {
    let folder = match &args.folder {
        Some(folder) => tempfile::Builder::new().tempdir_in(folder),
        None => tempfile::Builder::new()
            .prefix("submit-once-log-day-")
            .tempdir(),
    }
    .map_err(|error| trouble("there is no temporary folder", error))?;
    let begun = Instant::now();
    let verdict = match day::live(args, folder.path()) {
        Ok(verdict) => verdict,
        Err(failure) => {
            eprintln!("The databases are kept in {}", folder.keep().display());
            return Err(failure);
        }
    };
    let broken = verdict.broken(args);
    if args.json {
        println!("{}", verdict.to_json());
    } else {
        verdict.print();
    }
    eprintln!("the day took {:.1} s", begun.elapsed().as_secs_f64());
    for sentence in &broken {
        eprintln!("BROKEN: {sentence}");
    }
    if !broken.is_empty() {
        eprintln!("The databases are kept in {}", folder.keep().display());
    }
    Ok(broken.is_empty())
}
