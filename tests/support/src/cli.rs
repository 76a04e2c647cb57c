//! The server as a program: arguments in, an address out.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::{Faults, Options, ReferenceServer, StartError};

/// What `--help` prints.
const USAGE: &str = "\
Usage: reference-server [OPTIONS]

An HTTP server with idempotency keys that counts effects and misbehaves on request.
Its address is the first line of its output.

  --listen ADDRESS        where to listen (127.0.0.1:0, a free port)
  --database FILE         keep keys, effects and requests here (a temporary file)
  --durable               sync each commit to the disk
  --key-header NAME       the header of the key (Idempotency-Key)
  --key-place JSON        where else the key is, like '{\"query\": \"key\"}' (\"header\")
  --accept-token VALUE    let in this Authorization, and answer 401 to others; repeatable
  --key-scope-token       look keys up per Authorization
  --key-lifetime SECONDS  forget keys after this time (never)
  --optional-key          accept writes without a key, each with an effect
  --allow-plain-put       accept PUT without a key as an overwrite
  --no-lock               do not answer 409 while a key is being handled
  --no-marker             replay without the header Idempotency-Replayed
  --seed NUMBER           the seed of the random faults (0)
  --faults JSON           random faults, like '{\"commit_then_drop\": 0.1}' (none)
  --help                  print this
";

/// The exit status for arguments and circumstances that do not let the server start.
const EXIT_REFUSED: u8 = 2;

/// Arguments that make no sense; the text says which and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}; --help lists the options")]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot print the address: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the server until the process is ended. `arguments` come without the program's name.
///
/// The first line on standard output is the base URL, like `http://127.0.0.1:43121`. When the
/// server cannot start, a sentence on standard error says why and the exit status is 2.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match try_run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("reference-server: {failure}.");
            ExitCode::from(EXIT_REFUSED)
        }
    }
}

fn try_run(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let mut output = std::io::stdout();
    let Some(options) = parse(arguments)? else {
        output.write_all(USAGE.as_bytes())?;
        return Ok(output.flush()?);
    };
    let server = ReferenceServer::start(options)?;
    // Flushed, because a parent process reads this line through a pipe.
    writeln!(output, "{}", server.url())?;
    output.flush()?;
    server.wait();
    Ok(())
}

/// Reads the arguments; `None` when they ask for help.
///
/// # Errors
///
/// Names the argument that is unknown, lacks its value, or has an impossible one.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Options>, UsageError> {
    let mut options = Options::default();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let name = argument.to_string_lossy().into_owned();
        let mut value = || {
            let missing = || UsageError(format!("{name} needs a value"));
            arguments.next().ok_or_else(missing)
        };
        match name.as_str() {
            "--listen" => {
                options.listen = parsed(&name, value()?, "an address like 127.0.0.1:8080")?;
            }
            "--database" => options.database = Some(PathBuf::from(value()?)),
            "--durable" => options.durable = true,
            "--key-header" => options.key_header = parsed(&name, value()?, "a header name")?,
            "--key-place" => {
                let value = value()?;
                options.key_place = serde_json::from_str(&value.to_string_lossy())
                    .map_err(|error| UsageError(format!("--key-place wants JSON: {error}")))?;
            }
            "--accept-token" => {
                let token = parsed(&name, value()?, "a value of Authorization")?;
                options.principals.get_or_insert_default().push(token);
            }
            "--key-scope-token" => options.key_scope_token = true,
            "--key-lifetime" => {
                let seconds = parsed(&name, value()?, "a number of seconds")?;
                options.key_lifetime = Some(Duration::from_secs(seconds));
            }
            "--optional-key" => options.require_key = false,
            "--allow-plain-put" => options.allow_plain_put = true,
            "--no-lock" => options.locks = false,
            "--no-marker" => options.replay_marker = None,
            "--seed" => options.seed = parsed(&name, value()?, "a whole number")?,
            "--faults" => options.faults = faults(&value()?)?,
            "--help" | "-h" => return Ok(None),
            _ => return Err(UsageError(format!("unknown argument `{name}`"))),
        }
    }
    Ok(Some(options))
}

fn parsed<T: std::str::FromStr>(
    name: &str,
    value: OsString,
    wanted: &str,
) -> Result<T, UsageError> {
    let value = value.to_string_lossy();
    value
        .parse()
        .map_err(|_| UsageError(format!("{name} wants {wanted}, not `{value}`")))
}

fn faults(value: &OsString) -> Result<Faults, UsageError> {
    let faults: Faults = serde_json::from_str(&value.to_string_lossy())
        .map_err(|error| UsageError(format!("--faults wants JSON: {error}")))?;
    faults
        .check()
        .map_err(|error| UsageError(format!("--faults: {error}")))?;
    Ok(faults)
}
