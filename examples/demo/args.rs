//! The command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

pub const HELP: &str = "\
Delivers a day's orders over a bad network, with a worker process that is killed over and over,
and lets the server judge whether each order took effect exactly once.

usage: demo [--input FILE] [--seed NUMBER] [--json]

  --input FILE     orders to deliver, one JSON object a line (examples/data/README.md);
                   default: the 500 orders in examples/data/orders.ndjson
  --seed NUMBER    for the server's faults, the taps and the kills; default: 1
  --json           print the figures as one JSON object, as the last line
  -h, --help       print this

exit status: 0 every promise held, 1 one broke or the demo failed, 2 bad arguments or input
";

/// The argument that makes this program the worker. Not for people.
const WORKER: &str = "--be-the-worker";

/// The shipped orders. The path is the one of the build, so that `cargo run` finds it from any
/// folder.
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/orders.ndjson");

pub enum Command {
    Help,
    Demo(DemoArgs),
    Worker(WorkerArgs),
}

pub struct DemoArgs {
    pub input: PathBuf,
    pub seed: u64,
    pub json: bool,
}

pub struct WorkerArgs {
    pub database: String,
    pub base_url: String,
    pub user_agent: String,
}

impl WorkerArgs {
    /// As [`parse`] reads it.
    pub fn spell(&self) -> [&str; 4] {
        [WORKER, &self.database, &self.base_url, &self.user_agent]
    }
}

pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Command, Failure> {
    let mut demo = DemoArgs {
        input: PathBuf::from(SHIPPED),
        seed: 1,
        json: false,
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        let (name, inline) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
            _ => (text.as_str(), None),
        };
        let mut value = || {
            inline
                .clone()
                .or_else(|| args.next())
                .ok_or_else(|| refuse(format!("{name} needs a value")))
        };
        match name {
            "-h" | "--help" => return Ok(Command::Help),
            "--json" if inline.is_none() => demo.json = true,
            "--input" => demo.input = PathBuf::from(value()?),
            "--seed" => {
                let value = value()?.to_string_lossy().into_owned();
                demo.seed = value
                    .parse()
                    .map_err(|_| refuse(format!("--seed takes a whole number, not “{value}”")))?;
            }
            WORKER => {
                let mut text = || value().map(|value| value.to_string_lossy().into_owned());
                return Ok(Command::Worker(WorkerArgs {
                    database: text()?,
                    base_url: text()?,
                    user_agent: text()?,
                }));
            }
            _ => return Err(refuse(format!("“{text}” is not an argument of this demo"))),
        }
    }
    Ok(Command::Demo(demo))
}

fn refuse(sentence: String) -> Failure {
    Failure::Input(format!("{sentence}; see --help"))
}

/// An input's name for people.
pub fn shown(input: &Path) -> String {
    if input == Path::new(SHIPPED) {
        "examples/data/orders.ndjson".to_owned()
    } else {
        input.display().to_string()
    }
}
