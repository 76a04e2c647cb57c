//! Uploads a large file to a server that cuts the connection three times, in a process of its own,
//! and counts: one effect, the same bytes, and hardly more memory than for a small one.
//!
//! ```text
//! cargo run --release --example big-upload
//! ```
//!
//! Exit status: 0 if all of it holds, 1 if something doesn't, 2 for bad arguments.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod args;
mod report;
mod upload;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use sha2::{Digest, Sha256};
use submit_once::SubmissionId;
use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};

use crate::args::{Command, Wanted};
use crate::report::Report;
use crate::upload::Uploaded;

/// What goes wrong before anything can be judged.
type Trouble = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let result = match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Upload(task)) => upload::run(&task).map(|uploaded| {
            println!("{uploaded}");
            true
        }),
        Ok(Command::Compare(wanted)) => compare(&wanted),
        Err(problem) => {
            eprintln!("big-upload: {problem}; see --help");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("big-upload: {trouble}");
            ExitCode::FAILURE
        }
    }
}

/// Uploads a small file and a large one, each in a process of its own, and compares.
fn compare(wanted: &Wanted) -> Result<bool, Trouble> {
    let began = Instant::now();
    let folder = tempfile::tempdir()?;
    let server = ReferenceServer::start(Options::default())?;
    let small = make_file(&folder.path().join("small"), 1024)?;
    let large = make_file(&folder.path().join("large"), wanted.bytes())?;
    let small = send(folder.path(), &server, &small)?;
    server.script(Matcher::Any, cuts(wanted));
    let sent = send(folder.path(), &server, &large)?;
    let key = sent.id.to_string();
    let records: Vec<_> = server
        .records()
        .into_iter()
        .filter(|record| record.key.as_deref() == Some(&key))
        .collect();
    let effects: Vec<_> = server
        .effects()?
        .into_iter()
        .filter(|effect| effect.key.as_deref() == Some(&key))
        .collect();
    let report = Report {
        bytes: wanted.bytes(),
        cuts: wanted.cuts,
        requests: records.len(),
        requests_cut: records.iter().filter(|r| !r.body_complete).count(),
        effects: effects.len(),
        digest_equal: effects.first().is_some_and(|effect| {
            effect.body_sha256 == large.digest && effect.body_bytes == wanted.bytes()
        }),
        succeeded: sent.uploaded.succeeded && small.uploaded.succeeded,
        peak_small_kib: small.uploaded.peak_kib,
        peak_large_kib: sent.uploaded.peak_kib,
        seconds: began.elapsed().as_secs_f64(),
    };
    report.print(wanted.json);
    Ok(report.holds())
}

/// Where the connection ends: in even parts of the file.
fn cuts(wanted: &Wanted) -> Vec<Behaviour> {
    (1..=wanted.cuts)
        .map(|cut| {
            let share = wanted.bytes() / u64::from(wanted.cuts + 1);
            Behaviour::cut_request(share * u64::from(cut))
        })
        .collect()
}

/// A file, and what is in it.
struct Made {
    path: PathBuf,
    digest: String,
}

/// Bytes that don't compress, so that nothing can cheat, from a generator that is fast.
fn make_file(path: &Path, bytes: u64) -> Result<Made, Trouble> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut hash = Sha256::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut left = bytes;
    let mut block = [0; 64 * 1024];
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        let piece = block.get(..most).unwrap_or_default();
        hash.update(piece);
        file.write_all(piece)?;
        left -= most as u64;
    }
    file.flush()?;
    let digest = hash
        .finalize()
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    Ok(Made {
        path: path.to_owned(),
        digest,
    })
}

struct Sent {
    id: SubmissionId,
    uploaded: Uploaded,
}

/// Uploads in a child process, whose peak memory is its own.
fn send(folder: &Path, server: &ReferenceServer, file: &Made) -> Result<Sent, Trouble> {
    let id = SubmissionId::new()?;
    let database = folder.join(format!("{id}.sqlite3"));
    let output = std::process::Command::new(std::env::current_exe()?)
        .arg("--upload")
        .args([&database, &file.path])
        .args([server.url(), id.to_string()])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let uploaded = Uploaded::read(text.trim()).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("the uploading process failed: {text}{errors}")
    })?;
    Ok(Sent { id, uploaded })
}
