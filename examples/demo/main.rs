//! A day in the life of a field-sales app, with everything going wrong at once.
//!
//! ```text
//! cargo run --release --example demo
//! ```
//!
//! The story: a reference server on loopback loses answers, refuses, dawdles and fails after the
//! fact. An app takes 500 orders, each button tapped one to three times from several threads. A
//! worker process drains the same database at the same time and is killed over and over, mostly
//! while the server has its request. The network goes away for a while. In the end the server,
//! which can't be fooled, is asked: does each order have exactly one effect, made under one key,
//! never with two requests at once?
//!
//! `day` tells the story, `app` taps, `worker` is both ends of the child process, `verdict` judges
//! by the server's records, and `report` prints. Exit status: 0 if every promise held, 1 if one
//! broke (the submission is named, the databases are kept), 2 for bad arguments or input.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people: printing is its job"
)]

mod app;
mod args;
mod day;
mod dice;
mod failure;
mod orders;
mod report;
mod screen;
mod shortened;
mod verdict;
mod worker;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use submit_once::{Outbox, OutboxConfig};
use submit_once_reference_server::{Options, ReferenceServer};

use crate::app::App;
use crate::args::{Command, DemoArgs};
use crate::day::Day;
use crate::dice::Dice;
use crate::failure::{Failure, trouble};
use crate::orders::Order;
use crate::screen::Screen;
use crate::verdict::Verdict;
use crate::worker::Crew;

fn main() -> ExitCode {
    match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Ok(Command::Worker(args)) => worker::run(&args),
        Ok(Command::Demo(args)) => match demo(&args) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(failure) => {
                eprintln!("demo: {failure}");
                ExitCode::from(failure.exit_status())
            }
        },
        Err(failure) => {
            eprintln!("demo: {failure}");
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Runs the day and prints the verdict. True if every promise held.
fn demo(args: &DemoArgs) -> Result<bool, Failure> {
    let orders = orders::read(&args.input)?;
    let folder = tempfile::Builder::new()
        .prefix("submit-once-demo-")
        .tempdir()
        .map_err(|error| trouble("there is no temporary folder", error))?;
    println!(
        "orders: {} from {}, seed {}",
        orders.len(),
        args::shown(&args.input),
        args.seed
    );
    day::print_faults();
    shortened::print();

    let begun = Instant::now();
    let ran = live(args, orders, folder.path());
    let verdict = match ran {
        Ok(verdict) => verdict,
        Err(failure) => {
            if failure.exit_status() == 1 {
                eprintln!("The databases are kept in {}", folder.keep().display());
            }
            return Err(failure);
        }
    };
    report::print(&verdict, begun.elapsed(), args.json);
    if verdict.broken.is_empty() {
        return Ok(true);
    }
    for sentence in &verdict.broken {
        eprintln!("BROKEN: {sentence}");
    }
    eprintln!("The databases are kept in {}", folder.keep().display());
    Ok(false)
}

fn live(args: &DemoArgs, orders: Vec<Order>, folder: &Path) -> Result<Verdict, Failure> {
    let server = ReferenceServer::start(Options {
        database: Some(folder.join("server.sqlite3")),
        faults: day::faults(),
        seed: args.seed,
        ..Options::default()
    })
    .map_err(|error| trouble("the reference server did not start", error))?;
    let database = folder.join("app").join("outbox.sqlite3");
    let config = OutboxConfig::at(database.to_string_lossy())
        .base_url(server.url())
        .user_agent("field-sales/app")
        .limits(shortened::limits());
    let outbox = Outbox::open(config).map_err(|error| trouble("the outbox did not open", error))?;
    let screen = Arc::new(Screen::new(orders.len(), &outbox));
    outbox
        .set_listener(Some(Arc::clone(&screen) as Arc<_>))
        .map_err(|error| trouble("the outbox took no listener", error))?;

    let app = App::new(Arc::clone(&outbox), orders);
    let mut crew = Crew::new(&server, database);
    let day = Day {
        app: &app,
        server: &server,
        screen: &screen,
    };
    let replayed = day.live(&mut crew, &mut Dice::new(args.seed))?;
    let verdict = verdict::judge(&app, &server, crew.count(), replayed);
    outbox.close();
    screen.finish();
    verdict
}
