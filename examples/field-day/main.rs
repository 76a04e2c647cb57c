//! A day of an inspection app, with two inspectors on one tablet and everything going wrong.
//!
//! ```text
//! cargo run --release --example field-day -- --json
//! ```
//!
//! The story: two hundred inspections are made without waiting for the network. Each is a record with
//! three findings that need the ID which the server gives it, a photo in a file, and a draft of its report
//! that is saved ten times. Two inspectors take turns on the tablet and use the same names of lanes. A worker
//! process delivers and is killed over and over; answers are lost after their effect; the server is busy
//! for an hour, shortened to three seconds; one token is refused. In the end the server's tables are asked
//! what happened.
//!
//! `plan` names everything, `app` makes it, `worker` delivers it, `day` tells the story and `verdict` reads
//! the server's tables. Exit status: 0 if the figures are those that were promised, 1 if not, 2 for bad
//! arguments.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod app;
mod args;
mod day;
#[path = "../demo/dice.rs"]
#[allow(dead_code, reason = "shared with the demo, which has threads")]
mod dice;
#[path = "../demo/failure.rs"]
mod failure;
mod plan;
mod verdict;
mod worker;

use std::process::ExitCode;
use std::time::Instant;

use crate::args::{Command, DayArgs};
use crate::failure::{Failure, trouble};
use crate::verdict::Verdict;

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
            eprintln!("field-day: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Lives the day and prints the verdict. True if it is the promised one.
fn run(args: &DayArgs) -> Result<bool, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("submit-once-field-day-")
        .tempdir()
        .map_err(|error| trouble("there is no temporary folder", error))?;
    let begun = Instant::now();
    let lived = day::live(args, folder.path());
    let verdict: Verdict = match lived {
        Ok(verdict) => verdict,
        Err(failure) => {
            eprintln!("The databases are kept in {}", folder.keep().display());
            return Err(failure);
        }
    };
    let broken = verdict.broken(args.inspections);
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
