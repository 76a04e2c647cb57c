//! What a server's answers would mean, without sending anything.
//!
//! ```text
//! cargo run --release --example classify -- --table
//! cargo run --release --example classify -- --check
//! cargo run --release --example classify -- --status 409 --profile stripe --in-doubt
//! ```
//!
//! `scenarios` names the tables, `rows` asks the library for their rows, `page` reads the page
//! that people wrote and compares, `words` puts verdicts into words, and `one` speaks of a single
//! answer. It reads files and writes none: the page is written by hand, so that it can disagree.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod args;
mod one;
mod page;
mod rows;
mod scenarios;
mod words;

use std::io::Write;
use std::process::ExitCode;

use crate::args::Command;

fn main() -> ExitCode {
    match run() {
        Ok(status) => status,
        Err(problem) => {
            eprintln!("classify: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    match args::parse(std::env::args_os().skip(1))? {
        Command::Help => say(args::HELP)?,
        Command::Table => {
            for scenario in scenarios::all() {
                say(&format!("{}\n", rows::table(&scenario)))?;
            }
        }
        Command::Check(path) => {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("{} can't be read: {error}", path.display()))?;
            let differences = page::compare(&text, &scenarios::all());
            for difference in &differences {
                say(&format!("{}:{difference}\n", path.display()))?;
            }
            if !differences.is_empty() {
                return Ok(ExitCode::from(1));
            }
            say("The page says what the program decides.\n")?;
        }
        Command::One(question) => say(&format!("{}\n", one::sentence(&question)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints. A reader that has seen enough, such as `head`, is no trouble.
fn say(text: &str) -> Result<(), String> {
    match write!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
        Ok(()) | Err(_) => Ok(()),
    }
}
