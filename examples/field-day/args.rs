//! The command line.

use crate::failure::Failure;

pub const HELP: &str = "\
Lives a day of an inspection app against the reference server, with lost answers, a worker process that
is killed over and over, two accounts and an hour of 503, and reads the server's tables in the end.

usage: field-day [--inspections NUMBER] [--seed NUMBER] [--json]

  --inspections NUMBER  default: 200
  --seed NUMBER         for the server's faults and the kills; default: 1
  --json                print the figures as one JSON object
  -h, --help            print this

exit status: 0 the figures are as promised, 1 they are not or the program failed, 2 bad arguments
";

/// The argument that makes this program the worker. Not for people.
const WORKER: &str = "--be-the-worker";

pub enum Command {
    Help,
    Day(DayArgs),
    Worker(WorkerArgs),
}

pub struct DayArgs {
    pub inspections: usize,
    pub seed: u64,
    pub json: bool,
}

/// What a worker needs to know, as WorkManager's input data would say it.
pub struct WorkerArgs {
    pub folder: String,
    pub base_url: String,
}

impl WorkerArgs {
    /// As [`parse`] reads it.
    pub fn spell(&self) -> [&str; 3] {
        [WORKER, &self.folder, &self.base_url]
    }
}

pub fn parse(args: impl Iterator<Item = String>) -> Result<Command, Failure> {
    let mut day = DayArgs {
        inspections: 200,
        seed: 1,
        json: false,
    };
    let mut args = args;
    while let Some(name) = args.next() {
        let mut value = || {
            args.next()
                .ok_or_else(|| refuse(format!("{name} needs a value")))
        };
        match name.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "--json" => day.json = true,
            "--inspections" => day.inspections = number(&value()?)?,
            "--seed" => day.seed = number(&value()?)?,
            WORKER => {
                return Ok(Command::Worker(WorkerArgs {
                    folder: value()?,
                    base_url: value()?,
                }));
            }
            _ => return Err(refuse(format!("“{name}” is not an argument"))),
        }
    }
    if day.inspections == 0 {
        return Err(refuse("--inspections takes at least one".to_owned()));
    }
    Ok(Command::Day(day))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| refuse(format!("“{text}” is not a whole number")))
}

fn refuse(sentence: String) -> Failure {
    Failure::Input(format!("{sentence}; see --help"))
}
