//! `check-aar`: see `--help`.

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use check_aar::budget::Budget;
use check_aar::{Settings, Target, check};
use clap::Parser;

/// Checks an Android archive of submit-once before anybody gets it.
///
/// Looks at its entries and their form, the manifest, the rules for R8, the classes, and the
/// native libraries, JNA's too: machine, alignment for 16 KB pages, symbols, exports, paths of
/// the build, and size. Prints one line for each check, with what it found.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit status: 0 if the archive is right, 1 if not, 2 for a wrong argument or a \
                  file that can't be read."
)]
struct Arguments {
    /// The archive.
    aar: PathBuf,
    /// JNA's archive, as apps get it.
    #[arg(long, value_name = "AAR")]
    jna: PathBuf,
    /// How many bytes things may have.
    #[arg(long, value_name = "TOML")]
    budget: PathBuf,
    /// A folder of the building machine that nothing may name. Usual ones are looked for anyway.
    #[arg(long = "build-path", value_name = "FOLDER")]
    build_paths: Vec<String>,
    /// The archive holds this machine's library in the place of a phone's, and is not to be
    /// published.
    #[arg(long)]
    host: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            // Nobody is left to tell where this fails too.
            let _ = writeln!(stderr(), "check-aar: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let budget = read(&arguments.budget)?;
    let budget = Budget::parse(&String::from_utf8_lossy(&budget))
        .map_err(|error| format!("{}: {error}", arguments.budget.display()))?;
    let settings = Settings {
        target: if arguments.host {
            Target::Host
        } else {
            Target::Phones
        },
        budget,
        jna: read(&arguments.jna)?,
        build_paths: arguments.build_paths.clone(),
    };
    let report = check(&read(&arguments.aar)?, &settings);
    write!(stdout(), "{report}").map_err(|error| format!("can't print: {error}"))?;
    Ok(report.passed())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
