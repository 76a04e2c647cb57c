//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

pub const HELP: &str = "\
Usage: big-upload [--json] [--megabytes N] [--cuts N]

Uploads a file of N megabytes (200) to a server on loopback that cuts the connection N times (3), from
a process of its own, and compares that process's peak memory with that of a small upload.

  --json         print one JSON object instead of a table
  --megabytes N  the file's size, 1 to 4000
  --cuts N       how often the connection is cut, 0 to 20

Exit status: 0 if there was one effect, of the same bytes, with less than 8 MiB more memory; 1 if
not; 2 for a wrong argument.
";

/// What to do.
pub enum Command {
    Help,
    Compare(Wanted),
    Upload(Task),
}

/// The comparison.
pub struct Wanted {
    pub json: bool,
    pub megabytes: u32,
    pub cuts: u32,
}

/// One upload, by a child process.
pub struct Task {
    pub database: PathBuf,
    pub file: PathBuf,
    pub base: String,
    pub id: String,
}

impl Wanted {
    pub fn bytes(&self) -> u64 {
        u64::from(self.megabytes) * 1024 * 1024
    }
}

pub fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut wanted = Wanted {
        json: false,
        megabytes: 200,
        cuts: 3,
    };
    while let Some(arg) = args.next() {
        match arg.to_str().unwrap_or_default() {
            "--help" | "-h" => return Ok(Command::Help),
            "--json" => wanted.json = true,
            "--megabytes" => wanted.megabytes = number(args.next(), 1, 4_000)?,
            "--cuts" => wanted.cuts = number(args.next(), 0, 20)?,
            "--upload" => {
                return task(args).ok_or_else(|| "--upload is for its own use".to_owned());
            }
            _ => return Err(format!("there is no argument {}", arg.display())),
        }
    }
    Ok(Command::Compare(wanted))
}

fn number(arg: Option<OsString>, least: u32, most: u32) -> Result<u32, String> {
    arg.and_then(|arg| arg.to_str()?.parse().ok())
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("expected a number from {least} to {most}"))
}

fn task(mut args: impl Iterator<Item = OsString>) -> Option<Command> {
    Some(Command::Upload(Task {
        database: args.next()?.into(),
        file: args.next()?.into(),
        base: args.next()?.into_string().ok()?,
        id: args.next()?.into_string().ok()?,
    }))
}
