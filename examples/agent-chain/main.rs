//! An agent that reads a mail, extracts a receipt, writes a row, sends a confirmation and rings a bell, and
//! is killed at every one of these steps.
//!
//! ```text
//! cargo run --release --example agent-chain -- --json
//! ```
//!
//! The story: the agent is a process that knows nothing of its earlier lives. Each time it is started it plans
//! all steps again from the first, and asks the inbox before each. It is killed before it asks, after it was
//! told to go on, between the effect and its record, and after the record, at each of the steps. The row is
//! written in the transaction that records its step. The confirmation is a submission whose ID is derived from
//! its step. The bell can't be recognised by anybody who hears it twice, so it is rung at most once: where the
//! agent was killed between its permission and its record, the user is asked.
//!
//! `plan` names the steps, `agent` does them, `crew` starts and kills agents, `chain` tells the story and counts
//! what happened in the row's table, at the server and at the bell. Exit status: 0 if the figures are those
//! that were promised, 1 if not, 2 for bad arguments.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod agent;
mod args;
mod chain;
mod crew;
#[path = "../demo/failure.rs"]
mod failure;
mod plan;
mod verdict;

use std::process::ExitCode;
use std::time::Instant;

use crate::args::{ChainArgs, Command};
use crate::failure::{Failure, trouble};

fn main() -> ExitCode {
    let ran = match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Agent(args)) => return agent::run(&args),
        Ok(Command::Chain(args)) => run(&args),
        Err(failure) => Err(failure),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("agent-chain: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Goes through all plans and prints the verdict. True if it is the promised one.
fn run(args: &ChainArgs) -> Result<bool, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("submit-once-agent-chain-")
        .tempdir()
        .map_err(|error| trouble("there is no temporary folder", error))?;
    let begun = Instant::now();
    let verdict = match chain::live(args, folder.path()) {
        Ok(verdict) => verdict,
        Err(failure) => {
            eprintln!("The databases are kept in {}", folder.keep().display());
            return Err(failure);
        }
    };
    let broken = verdict.broken(args.plans);
    if args.json {
        println!("{}", verdict.to_json());
    } else {
        verdict.print();
    }
    eprintln!("it took {:.1} s", begun.elapsed().as_secs_f64());
    for sentence in &broken {
        eprintln!("BROKEN: {sentence}");
    }
    if !broken.is_empty() {
        eprintln!("The databases are kept in {}", folder.keep().display());
    }
    Ok(broken.is_empty())
}
