//! The app's process: four threads that append, and the outbox that delivers beside them.
//!
//! Each line of its output is one write: `THREAD NUMBER MICROSECONDS` once a record is durable, and `done`
//! when nothing is left to be delivered. What the parent has read from it is what the threads were told.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use submit_once::{Batch, DrainBudget, ListFilter, ListState, Outbox, OutboxError, PageRequest};

use crate::args::WorkerArgs;
use crate::disk::micros;
use crate::failure::{Failure, trouble};
use crate::records::{Record, batches, config};

/// How long a drain may take.
const BUDGET: Duration = Duration::from_secs(20);

pub fn run(args: &WorkerArgs) -> ExitCode {
    match work(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("worker: {failure}");
            ExitCode::from(3)
        }
    }
}

fn work(args: &WorkerArgs) -> Result<(), Failure> {
    let failed = |error| trouble("the outbox", error);
    let outbox = Outbox::open(config(&args.folder, &args.base_url))
        .map_err(|error| trouble("the outbox did not open", error))?;
    end_with_the_parent();
    outbox.start().map_err(failed)?;
    let batch = Arc::clone(&outbox).batch(batches()).map_err(failed)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(args.next)
            .map(|(thread, next)| {
                let batch = &batch;
                scope.spawn(move || {
                    (next..args.each)
                        .try_for_each(|number| append(batch, Record { thread, number }))
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| trouble("a thread", "it panicked"))?
        })
    })?;
    batch.flush().map_err(failed)?;
    deliver(&outbox)?;
    say("done")
}

/// Appends a record and says so once it is durable.
fn append(batch: &Batch, record: Record) -> Result<(), Failure> {
    let text = record.text();
    let begun = Instant::now();
    batch
        .append(text)
        .map_err(|error| trouble("a record was refused", error))?;
    say(&format!(
        "{} {} {}",
        record.thread,
        record.number,
        micros(begun)
    ))
}

/// Drains until nothing moves any more.
fn deliver(outbox: &Outbox) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|error| trouble("no runtime", error))?;
    loop {
        runtime
            .block_on(outbox.drain(DrainBudget::of(BUDGET)))
            .map_err(|error| trouble("a drain", error))?;
        if !moving(outbox).map_err(|error| trouble("the list", error))? {
            return Ok(());
        }
        // What is left waits for its time; the outbox that is started takes it then.
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn moving(outbox: &Outbox) -> Result<bool, OutboxError> {
    let page = PageRequest { after: 0, limit: 1 };
    let page = outbox.list(ListFilter::of(ListState::Moving), page)?;
    Ok(!page.snapshots.is_empty())
}

/// A worker never outlives its parent, which keeps its standard input open as long as it lives.
fn end_with_the_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(3);
    });
}

/// One line, in one write.
fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| trouble("the parent does not listen", error))
}
