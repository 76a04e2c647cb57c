//! A process that uses the library as an app would, driven line by line on its standard input, for
//! tests that kill, freeze and race real processes.
//!
//! Arguments: the database, then options `--base URL`, `--mute` (claims, and sends nothing before
//! `unmute`), `--limits JSON` with milliseconds, `--die POINT:N` and `--stand POINT:N` (see `points`). Each
//! line of input is a command; each answer is a line.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a tool of the tests: it speaks on standard output and may fail loudly"
)]

mod inbox;
mod points;
mod transports;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    DrainBudget, Header, Limits, ListFilter, Outbox, OutboxConfig, PageRequest, PartSource,
    PartTarget, Seams, Submission, SubmissionId,
};

use points::Then;
use transports::{Mute, Stepwise};

fn user_agent() -> String {
    format!("agent/{}", std::process::id())
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").expect("the parent reads");
    out.flush().expect("the parent reads");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a database");
    let mut config = OutboxConfig::at(path.clone());
    let mut seams = Seams::default();
    let mut mute = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--base" => config.base_url = arguments.next(),
            "--mute" => seams.transport = Some(Arc::clone(mute.insert(Arc::new(Mute::new()))) as _),
            "--die" | "--stand" => {
                let then = match argument.as_str() {
                    "--die" => Then::Dies,
                    _ => Then::Stands,
                };
                points::set(&arguments.next().expect("a point"), then);
                seams.transport = Some(Arc::new(Stepwise::new()));
            }
            "--limits" => {
                let text = arguments.next().expect("limits");
                config.limits = Some(limits(&text));
            }
            _ => panic!("unknown argument {argument}"),
        }
    }
    config.user_agent = Some(user_agent());
    let opened = points::within("open", || Outbox::open_with(config, seams));
    let outbox = match opened {
        Ok(outbox) => outbox,
        Err(error) => {
            say(&format!("failed {error:?}"));
            std::process::exit(1);
        }
    };
    say("open");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime to wait in");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("readable input");
        let words: Vec<&str> = line.split(' ').collect();
        if words == ["go"] {
            points::go();
            say("going");
            continue;
        }
        if let (["unmute"], Some(mute)) = (words.as_slice(), &mute) {
            say(&mute.unmute());
            continue;
        }
        match run(&outbox, &path, &runtime, &words) {
            Ok(answer) => say(&answer),
            Err(error) => say(&format!("error {error}")),
        }
    }
}

fn run(
    outbox: &Arc<Outbox>,
    path: &str,
    runtime: &tokio::runtime::Runtime,
    words: &[&str],
) -> Result<String, Box<dyn std::error::Error>> {
    Ok(match words {
        ["begin", slot] => outbox.begin((*slot).to_owned())?.to_string(),
        ["submit", id, path, body] => {
            let submission = Submission::post(SubmissionId::parse(id)?, path)
                .bytes("text/plain", body.as_bytes().to_vec());
            submit(outbox, submission)?
        }
        ["submit-in", lane, id, path, body] => {
            let submission = Submission::post(SubmissionId::parse(id)?, path)
                .bytes("text/plain", body.as_bytes().to_vec())
                .lane(*lane);
            submit(outbox, submission)?
        }
        ["sign-in", account] => {
            outbox.sign_in((*account).to_owned())?;
            "signed in".to_owned()
        }
        ["supply", account, token] => {
            let header = Header {
                name: "Authorization".to_owned(),
                value: format!("Bearer {token}"),
            };
            outbox.supply_credentials((*account).to_owned(), vec![header], None)?;
            "supplied".to_owned()
        }
        ["submit-as", account, id, path, body] => {
            let submission = Submission {
                account: Some((*account).to_owned()),
                ..Submission::post(SubmissionId::parse(id)?, path)
                    .bytes("text/plain", body.as_bytes().to_vec())
            };
            format!("{:?}", outbox.submit(submission)?.kind)
        }
        ["submit-child", id, path, parent] => {
            // Of what the reference server answers, into the path.
            let from = PartSource::JsonPointer {
                pointer: "/effect".to_owned(),
            };
            let into = PartTarget::Path {
                placeholder: "{parent}".to_owned(),
            };
            let submission = Submission::post(SubmissionId::parse(id)?, path).part(
                SubmissionId::parse(parent)?,
                from,
                into,
            );
            format!("{:?}", outbox.submit(submission)?.kind)
        }
        ["submit-large", id, path, bytes] => {
            let body = vec![b'x'; bytes.parse()?];
            let submission =
                Submission::post(SubmissionId::parse(id)?, path).bytes("text/plain", body);
            submit(outbox, submission)?
        }
        ["submit-file", id, path, file] => {
            let submission = Submission::post(SubmissionId::parse(id)?, path)
                .file("application/octet-stream", *file);
            format!("{:?}", outbox.submit(submission)?.kind)
        }
        ["reconcile", id] => {
            let known = outbox.reconcile(vec![SubmissionId::parse(id)?])?;
            format!(
                "{:?}",
                known[0].snapshot.as_ref().map(|snapshot| snapshot.state)
            )
        }
        ["list"] => list(outbox)?,
        ["snapshot", id] => {
            format!("{:?}", outbox.snapshot(SubmissionId::parse(id)?)?.state)
        }
        ["cancel", id] => {
            let cancelled = format!("{:?}", outbox.cancel(SubmissionId::parse(id)?)?);
            cancelled.split(' ').next().unwrap_or_default().to_owned()
        }
        ["result", id] => {
            let outcome = outbox.snapshot(SubmissionId::parse(id)?)?.outcome;
            let body = outcome.and_then(|outcome| outcome.body);
            String::from_utf8_lossy(&body.unwrap_or_default()).into_owned()
        }
        ["drain", millis] => {
            let budget = DrainBudget::of(Duration::from_millis(millis.parse()?));
            format!("{:?}", runtime.block_on(outbox.drain(budget))?)
        }
        ["wait", id, millis] => {
            let timeout = Duration::from_millis(millis.parse()?);
            let waited = runtime.block_on(outbox.wait(SubmissionId::parse(id)?, timeout))?;
            format!("{waited:?}")
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned()
        }
        ["drain-in-background", millis] => {
            let budget = DrainBudget::of(Duration::from_millis(millis.parse()?));
            let outbox = Arc::clone(outbox);
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .expect("a runtime to wait in");
                drop(runtime.block_on(outbox.drain(budget)));
            });
            "draining".to_owned()
        }
        ["many", threads, each, url] => many(path, threads.parse()?, each.parse()?, url),
        ["others", id] => {
            // Every other call that touches the database, one after the other.
            let id = SubmissionId::parse(id)?;
            let unknown = SubmissionId::derived(None, "agent", "unknown");
            let revision = outbox.snapshot(id)?.revision;
            let fresh = SubmissionId::new()?;
            outbox.submit_all(vec![Submission::post(fresh, "/others")])?;
            outbox.wake(fresh)?;
            outbox.cancel(fresh)?;
            let refused = outbox.resolve(id, revision, submit_once::Resolution::GiveUp);
            let missing = outbox.cancel(unknown);
            outbox.list(ListFilter::all(), PageRequest::default())?;
            outbox.changes(0, 10)?;
            outbox.stats()?;
            outbox.retain()?;
            outbox.discard("nobody".to_owned())?;
            outbox.set_listener(None)?;
            format!("{} {}", refused.is_err(), missing.is_err())
        }
        ["start"] => {
            outbox.start()?;
            "started".to_owned()
        }
        ["suspend"] => {
            points::within("suspend", || outbox.suspend())?;
            "suspended".to_owned()
        }
        ["close"] => {
            points::within("close", || outbox.close());
            "closed".to_owned()
        }
        ["inbox", words @ ..] => inbox::run(outbox, words)?,
        ["exclusive"] => exclusive(path)?,
        ["visit", other] => visit(other)?,
        ["memory"] => memory()?,
        _ => return Err(format!("unknown command {words:?}").into()),
    })
}

fn submit(outbox: &Outbox, submission: Submission) -> Result<String, submit_once::OutboxError> {
    let receipt = points::within("submit", || outbox.submit(submission))?;
    points::pass("submitted");
    Ok(format!("{:?}", receipt.kind))
}

/// Everything that there is, as `ID:State`.
fn list(outbox: &Outbox) -> Result<String, submit_once::OutboxError> {
    let mut page = PageRequest::default();
    let mut entries = vec!["all".to_owned()];
    loop {
        let found = outbox.list(ListFilter::all(), page)?;
        let entry = |snapshot: submit_once::Snapshot| {
            let state = format!("{:?}", snapshot.state);
            let state = state.split(' ').next().unwrap_or_default();
            format!("{}:{state}", snapshot.id)
        };
        entries.extend(found.snapshots.into_iter().map(entry));
        let Some(next) = found.next else {
            return Ok(entries.join(" "));
        };
        page.after = next;
    }
}

/// Opens and submits from several threads at once; says how many were accepted.
fn many(path: &str, threads: usize, each: usize, url: &str) -> String {
    let accepted: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut config = OutboxConfig::at(path);
                    config.user_agent = Some(user_agent());
                    let outbox = Outbox::open(config).expect("an outbox to share");
                    (0..each)
                        .filter(|_| {
                            let id = SubmissionId::new().expect("randomness");
                            outbox.submit(Submission::post(id, url)).is_ok()
                        })
                        .count()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"))
            .sum()
    });
    accepted.to_string()
}

/// Takes and gives back the database's exclusive lock, without waiting: another program's view.
fn exclusive(path: &str) -> Result<String, Box<dyn std::error::Error>> {
    let connection = rusqlite::Connection::open(path)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.execute_batch("BEGIN EXCLUSIVE; ROLLBACK")?;
    // A reader that was left open doesn't stop a writer, but it does keep the log from being reset.
    let busy: bool =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(if busy { "busy" } else { "free" }.to_owned())
}

/// What another program does to a database that it takes for its own: it writes, with SQLite's default
/// settings, and its connection is closed.
fn visit(path: &str) -> Result<String, Box<dyn std::error::Error>> {
    let connection = rusqlite::Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS visit (at TEXT); INSERT INTO visit VALUES (datetime())",
    )?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok("visited".to_owned())
}

/// The greatest resident memory so far, in kB.
fn memory() -> Result<String, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .ok_or("no VmHWM")?;
    Ok(line.chars().filter(char::is_ascii_digit).collect())
}

fn limits(json: &str) -> Limits {
    let values: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let millis = |name: &str, default: Duration| {
        values[name].as_u64().map_or(default, Duration::from_millis)
    };
    let defaults = Limits::default();
    Limits {
        request_timeout: millis("request_timeout", defaults.request_timeout),
        busy_timeout: millis("busy_timeout", defaults.busy_timeout),
        lease: millis("lease", defaults.lease),
        backoff_first: millis("backoff_first", defaults.backoff_first),
        backoff_most: millis("backoff_most", defaults.backoff_most),
        inline_body_bytes: values["inline_body_bytes"]
            .as_u64()
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(16 * 1024 * 1024),
        quiet_time: values["quiet_time"].as_u64().map(Duration::from_millis),
        ..defaults
    }
}
