//! The parent's end of an agent: starts it, listens to it, and kills it where it stands.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::args::AgentArgs;
use crate::failure::{Failure, trouble};

/// How an agent's life ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It stood where it was told to, and was killed.
    Killed,
    /// It came to a step that the user has to decide about.
    Uncertain,
    /// It has done everything.
    Done,
}

/// What an agent said of its steps.
#[derive(Debug, Default)]
pub struct Life {
    /// Tools, and the results that it went on with.
    pub results: Vec<(String, String)>,
    /// Steps that the inbox said were done before.
    pub replayed: u64,
}

pub fn live(args: &AgentArgs) -> Result<(Life, End), Failure> {
    let mut child = std::env::current_exe()
        .and_then(|program| {
            Command::new(program)
                .args(args.spell())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        })
        .map_err(|error| trouble("the agent did not start", error))?;
    let mut life = Life::default();
    let mut end = None;
    let lines = child.stdout.take().map(BufReader::new);
    for line in lines.into_iter().flat_map(BufRead::lines) {
        let line = line.map_err(|error| trouble("an agent can't be heard", error))?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "result" => {
                let (tool, result) = rest.split_once(' ').unwrap_or((rest, ""));
                life.results.push((tool.to_owned(), result.to_owned()));
            }
            "replayed" => life.replayed += 1,
            "uncertain" => end = Some(End::Uncertain),
            "done" => end = Some(End::Done),
            "standing" => {
                // SIGKILL, on Unix.
                child
                    .kill()
                    .map_err(|error| trouble("the agent could not be killed", error))?;
                end = Some(End::Killed);
            }
            _ => return Err(trouble("an agent said", line)),
        }
    }
    let status = child
        .wait()
        .map_err(|error| trouble("the agent's end", error))?;
    match end {
        Some(End::Killed) if status.code().is_none() => Ok((life, End::Killed)),
        Some(end) if status.success() => Ok((life, end)),
        _ => Err(trouble("the agent", status)),
    }
}
