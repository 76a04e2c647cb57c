//! The command line.

use crate::failure::Failure;
use crate::records::THREADS;

pub const HELP: &str = "\
Appends records from four threads of a process that is killed over and over, delivers them in batches to a
server with lost answers, errors and a limit of its own, and reads the server's bodies in the end.

usage: log-day [--records NUMBER] [--kills NUMBER] [--seed NUMBER] [--folder PATH] [--json]

  --records NUMBER  default: 50000
  --kills NUMBER    of the process, spread over the day; default: 40
  --seed NUMBER     for the server's faults and the kills; default: 1
  --folder PATH     where the databases are made, to choose the disk; default: the system's temporary folder
  --json            print the figures as one JSON object
  -h, --help        print this

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
    pub records: usize,
    pub kills: u64,
    pub seed: u64,
    pub folder: Option<String>,
    pub json: bool,
}

/// What a worker is told: where it lives, and the records that each thread has yet to append.
#[derive(Clone)]
pub struct WorkerArgs {
    pub folder: String,
    pub base_url: String,
    /// The first one of each thread.
    pub next: [usize; THREADS],
    /// Where each thread ends.
    pub each: usize,
}

impl WorkerArgs {
    /// As [`parse`] reads it.
    pub fn spell(&self) -> Vec<String> {
        let mut words = vec![
            WORKER.to_owned(),
            self.folder.clone(),
            self.base_url.clone(),
            self.each.to_string(),
        ];
        words.extend(self.next.map(|next| next.to_string()));
        words
    }
}

pub fn parse(args: impl Iterator<Item = String>) -> Result<Command, Failure> {
    let mut day = DayArgs {
        records: 50_000,
        kills: 40,
        seed: 1,
        folder: None,
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
            "--records" => day.records = number(&value()?)?,
            "--kills" => day.kills = number(&value()?)?,
            "--seed" => day.seed = number(&value()?)?,
            "--folder" => day.folder = Some(value()?),
            WORKER => {
                let mut worker = WorkerArgs {
                    folder: value()?,
                    base_url: value()?,
                    each: number(&value()?)?,
                    next: [0; THREADS],
                };
                for next in &mut worker.next {
                    *next = number(&value()?)?;
                }
                return Ok(Command::Worker(worker));
            }
            _ => return Err(refuse(format!("“{name}” is not an argument"))),
        }
    }
    if day.records == 0 || !day.records.is_multiple_of(THREADS) {
        return Err(refuse(format!("--records takes a multiple of {THREADS}")));
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
