//! The day, life by life.

use std::path::Path;
use std::time::Duration;

use submit_once_reference_server::{Behaviour, Faults, Matcher, Options, ReferenceServer};

use crate::args::{DayArgs, WorkerArgs};
use crate::crew::Crew;
use crate::dice::Dice;
use crate::disk;
use crate::failure::{Failure, trouble};
use crate::records::{PATH, SERVER_LIMIT, THREADS};
use crate::verdict::{self, Verdict};

/// What the server does wrong, at random.
fn faults() -> Faults {
    Faults {
        commit_then_drop: 0.15,
        unavailable_503_retry_after: 0.03,
        retry_after_seconds: 1,
        late: 0.10,
        late_max_ms: 300,
        error_500_after_effect: 0.05,
        half: 0.05,
    }
}

pub fn live(args: &DayArgs, folder: &Path) -> Result<Verdict, Failure> {
    let fdatasync =
        disk::fdatasync_us_p50(folder).map_err(|error| trouble("the disk's measure", error))?;
    let server = ReferenceServer::start(Options {
        database: Some(folder.join("server.sqlite3")),
        faults: faults(),
        seed: args.seed,
        max_body_bytes: Some(SERVER_LIMIT),
        keep_bodies: true,
        ..Options::default()
    })
    .map_err(|error| trouble("the reference server did not start", error))?;
    // Chance goes by the batches' keys, which are new each day; a short day has these at least.
    server.script(
        Matcher::path(PATH),
        vec![
            Behaviour::CommitThenDrop,
            Behaviour::unavailable(1),
            Behaviour::ErrorAfter { status: 500 },
            Behaviour::AnswerHalf,
        ],
    );
    let mut crew = Crew::new(WorkerArgs {
        folder: folder.to_string_lossy().into_owned(),
        base_url: server.url(),
        next: [0; THREADS],
        each: args.records / THREADS,
    });
    let mut dice = Dice::new(args.seed);
    // Every life but the last is ended by a kill, after about as many records as the others.
    let share = args.records as u64 / (args.kills + 1);
    for life in 0..args.kills {
        let records = dice.between(share / 2, share);
        crew.live(usize::try_from(records).ok())?;
        if life % 10 == 9 {
            eprintln!(
                "{} kills: {} of {} records durable, {} requests arrived",
                life + 1,
                crew.times.len(),
                args.records,
                server.records().len()
            );
        }
    }
    crew.live(None)?;
    server.wait_until_quiet(Duration::from_secs(5));
    let mut verdict = verdict::judge(&crew, &server)?;
    verdict.fdatasync_us_p50 = fdatasync;
    verdict.append_us_p50 = disk::percentile(&mut crew.times, 50);
    verdict.append_us_p99 = disk::percentile(&mut crew.times, 99);
    Ok(verdict)
}
