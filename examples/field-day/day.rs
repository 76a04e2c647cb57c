//! The day, turn by turn.

use std::path::Path;
use std::time::{Duration, Instant};

use submit_once::ListState;
use submit_once_reference_server::{Behaviour, Faults, Matcher, Options, ReferenceServer};

use crate::app::App;
use crate::args::{DayArgs, WorkerArgs};
use crate::dice::Dice;
use crate::failure::{Failure, trouble};
use crate::plan::{INSPECTORS, Inspection, SAVES};
use crate::verdict::{self, Verdict};
use crate::worker::{Crew, keep_token};

/// How often the tablet changes hands.
const TURNS: usize = 10;

/// The turn in which the server is busy for an hour, shortened to this.
const BUSY_TURN: usize = 4;
const BUSY: Duration = Duration::from_secs(3);

/// The turn in which a token is refused.
const REFUSED_TURN: usize = 6;

/// When settling is given up, without any progress.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the server does wrong, at random.
fn faults() -> Faults {
    Faults {
        commit_then_drop: 0.15,
        unavailable_503_retry_after: 0.02,
        retry_after_seconds: 1,
        late: 0.10,
        late_max_ms: 300,
        error_500_after_effect: 0.03,
        half: 0.02,
    }
}

/// A token of an inspector.
pub fn token(inspector: &str, number: usize) -> String {
    format!("Bearer {inspector}-{number}")
}

pub fn live(args: &DayArgs, folder: &Path) -> Result<Verdict, Failure> {
    let accepted = |anna: usize| vec![token("anna", anna), token("bert", 1)];
    let server = ReferenceServer::start(Options {
        database: Some(folder.join("server.sqlite3")),
        faults: faults(),
        seed: args.seed,
        principals: Some(accepted(1)),
        ..Options::default()
    })
    .map_err(|error| trouble("the reference server did not start", error))?;
    for inspector in INSPECTORS {
        keep_token(folder, inspector, &token(inspector, 1))?;
    }
    let path = folder.to_string_lossy().into_owned();
    let app = App::open(&path, &server.url())?;
    let mut crew = Crew::new(WorkerArgs {
        folder: path,
        base_url: server.url(),
    });
    let mut dice = Dice::new(args.seed);
    crew.start()?;

    let mut made: Vec<Inspection> = Vec::new();
    for turn in 0..TURNS {
        let [anna, bert] = INSPECTORS;
        let inspector = if turn % 2 == 0 { anna } else { bert };
        app.hand_over_to(inspector)?;
        let share = args.inspections * (turn + 1) / TURNS;
        let new: Vec<Inspection> = (made.len()..share)
            .map(|number| Inspection::new(number, inspector))
            .collect();
        if turn == BUSY_TURN {
            server.always(
                Matcher::Any,
                Behaviour::ErrorBefore {
                    status: 503,
                    headers: vec![("Retry-After".to_owned(), "1".to_owned())],
                },
            );
        }
        if turn == REFUSED_TURN {
            // Until the next one is there, the old one is refused.
            server.accept_tokens(accepted(2));
        }
        for inspection in &new {
            app.inspect(*inspection)?;
        }
        for save in 1..=SAVES {
            for inspection in &new {
                app.save_draft(*inspection, save)?;
            }
            // Each turn has two kills, in the middle of its saves.
            if save == 3 || save == 7 {
                std::thread::sleep(dice.millis(50, 400));
                crew.replace()?;
            }
        }
        if turn == BUSY_TURN {
            std::thread::sleep(BUSY);
            server.clear_scripts();
        }
        if turn == REFUSED_TURN {
            std::thread::sleep(Duration::from_millis(300));
            keep_token(folder, anna, &token(anna, 2))?;
        }
        made.extend(new);
        eprintln!(
            "turn {}: {} of {} inspections made, {} requests arrived",
            turn + 1,
            made.len(),
            args.inspections,
            server.records().len()
        );
    }
    for inspector in INSPECTORS {
        app.hand_over_to(inspector)?;
        settle(&app, &mut crew, inspector)?;
    }
    crew.dismiss()?;
    server.wait_until_quiet(Duration::from_secs(5));
    verdict::judge(&app, &server, &made, crew.killed)
}

/// Waits until nothing of an inspector moves any more.
fn settle(app: &App, crew: &mut Crew, inspector: &str) -> Result<(), Failure> {
    // Once more, with the last of them on the way.
    crew.replace()?;
    let mut least = u64::MAX;
    let mut since = Instant::now();
    loop {
        let moving = app.count(inspector, ListState::Moving)?;
        if moving == 0 {
            return Ok(());
        }
        if moving < least {
            (least, since) = (moving, Instant::now());
        }
        if since.elapsed() > PATIENCE {
            return Err(trouble(
                "the day doesn't end",
                format!("{moving} submissions of {inspector} don't move"),
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
