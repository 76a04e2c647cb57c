//! The parent's end of the workers: starts them, counts what they were told, and kills them.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::args::WorkerArgs;
use crate::failure::{Failure, trouble};
use crate::records::{Record, THREADS};

/// What the threads know over all their lives.
pub struct Crew {
    pub args: WorkerArgs,
    /// Microseconds of each append that was heard of.
    pub times: Vec<u64>,
    /// Records whose append may have been made without that the thread heard of it, and that were appended
    /// again: one for each time.
    pub in_question: Vec<Record>,
    pub killed: u64,
}

impl Crew {
    pub fn new(args: WorkerArgs) -> Self {
        Self {
            args,
            times: Vec::new(),
            in_question: Vec::new(),
            killed: 0,
        }
    }

    /// Runs a worker until it is done, or kills it once so many more records are durable.
    pub fn live(&mut self, kill_after: Option<usize>) -> Result<(), Failure> {
        let mut child = std::env::current_exe()
            .and_then(|program| {
                Command::new(program)
                    .args(self.args.spell())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
            })
            .map_err(|error| trouble("the worker did not start", error))?;
        let wanted = kill_after.map(|more| self.times.len() + more);
        let (mut done, mut killed) = (false, false);
        let lines = child.stdout.take().map(BufReader::new);
        // After a kill, what stands in the pipe is still heard: the thread was told.
        for line in lines.into_iter().flat_map(BufRead::lines) {
            let line = line.map_err(|error| trouble("a worker can't be heard", error))?;
            match line.as_str() {
                "done" => done = true,
                line => self.heard(line)?,
            }
            if !killed && wanted.is_some_and(|wanted| self.times.len() >= wanted) {
                // SIGKILL, on Unix.
                child
                    .kill()
                    .map_err(|error| trouble("the worker could not be killed", error))?;
                killed = true;
            }
        }
        let status = child
            .wait()
            .map_err(|error| trouble("the worker's end", error))?;
        if killed && status.code().is_none() {
            self.killed += 1;
            self.question();
            return Ok(());
        }
        if done && status.success() {
            return Ok(());
        }
        Err(trouble("the worker", status))
    }

    fn heard(&mut self, line: &str) -> Result<(), Failure> {
        let mut words = line.split(' ').map(str::parse::<usize>);
        let (Some(Ok(thread)), Some(Ok(number)), Some(Ok(micros))) =
            (words.next(), words.next(), words.next())
        else {
            return Err(trouble("a worker said", line));
        };
        match self.args.next.get_mut(thread) {
            Some(next) if *next == number => *next += 1,
            _ => return Err(trouble("a thread left a record out, at", line)),
        }
        self.times.push(micros as u64);
        Ok(())
    }

    /// Each thread was at some record, and can't know whether it is durable.
    fn question(&mut self) {
        let each = self.args.each;
        let open = (0..THREADS)
            .zip(self.args.next)
            .filter(|(_, number)| *number < each)
            .map(|(thread, number)| Record { thread, number });
        self.in_question.extend(open);
    }
}
