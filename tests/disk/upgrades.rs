//! V16: a file of every released schema is opened by this version, while each call fails in turn, and
//! with a kill and a power cut at each change. A file of a newer one is refused and stays as it is.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use submit_once::OpenError;
use submit_once_reference_server::history::{Event, State};
use tempfile::TempDir;

use super::app::App;
use super::calls::is_repeat;
use super::ending::{Ending, end};
use super::life::{id, submission};
use super::medium::Medium;
use super::server::{Log, Note};
use super::stages::{copy, database, folder, on_disk};
use super::tape::{After, Beside, Moment};
use super::workers::work;
use crate::common::attack::Attack;
use crate::common::sim::{SimEntropy, simulate};
use crate::common::vfs::{self, Mode, Op, Part};

/// What each schema adds, and rows in it as its version wrote them.
const SCHEMAS: [(&str, &str); 5] = [
    (
        include_str!("../../src/store/schema/0001_outbox.sql"),
        include_str!("golden/rows_1.sql"),
    ),
    (
        include_str!("../../src/store/schema/0002_gates.sql"),
        include_str!("golden/rows_2.sql"),
    ),
    (
        include_str!("../../src/store/schema/0003_runs.sql"),
        include_str!("golden/rows_3.sql"),
    ),
    (
        include_str!("../../src/store/schema/0004_order.sql"),
        include_str!("golden/rows_4.sql"),
    ),
    (
        include_str!("../../src/store/schema/0005_records.sql"),
        include_str!("golden/rows_5.sql"),
    ),
];

/// How calls fail: an opening ends at its first failure, so that what fails later is of no matter.
const MODES: [Mode; 3] = [Mode::Once, Mode::Half, Mode::Full];

/// Torn images of each moment.
const TORN: u64 = 1;

/// After so many runs everything is delivered, too.
const DRIVEN: usize = 8;

/// A file of a schema, closed by the version that wrote it.
fn golden(schema: usize) -> TempDir {
    let folder = folder();
    let sql = Connection::open(database(folder.path())).unwrap();
    sql.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;",
    )
    .unwrap();
    for (tables, rows) in &SCHEMAS[..schema] {
        sql.execute_batch(tables).unwrap();
        sql.execute_batch(rows).unwrap();
    }
    sql.pragma_update(None, "application_id", 0x5375_624f)
        .unwrap();
    sql.pragma_update(None, "user_version", schema as i64)
        .unwrap();
    sql.close().unwrap();
    folder
}

/// What had happened by then.
fn past(schema: usize) -> Vec<Note> {
    let mut events = Vec::new();
    for name in [
        "golden waiting",
        "golden doubt",
        "golden settled",
        "golden cancelled",
    ] {
        events.push(Event::Accepted {
            by: "app".to_owned(),
            key: id(name).to_string(),
            request: submission(name).url,
            lane: None,
        });
    }
    for (number, name) in [(1, "golden doubt"), (2, "golden settled")] {
        let (one, key) = (submission(name), id(name).to_string());
        events.push(Event::Received {
            number,
            key: key.clone(),
            request: format!(
                "POST https://api.example.com{} {{\"order\":\"{key}\"}}",
                one.url
            ),
            account: String::new(),
        });
        events.push(Event::Effect { key });
        events.push(Event::Ended { number });
    }
    events.push(Event::Read {
        by: "app".to_owned(),
        key: id("golden settled").to_string(),
        state: State::Succeeded,
        result: format!("Some(201) {{\"of\":\"{}\"}}", id("golden settled")),
    });
    let listed = Event::Listed {
        by: "app".to_owned(),
        states: vec![
            (id("golden waiting").to_string(), State::Pending),
            (id("golden doubt").to_string(), State::Pending),
            (id("golden settled").to_string(), State::Succeeded),
            (id("golden cancelled").to_string(), State::Cancelled),
        ],
    };
    events.push(listed);
    let mut notes: Vec<Note> = events.into_iter().map(Note::Event).collect();
    if schema >= 5 {
        notes.push(Note::Run("m0".to_owned()));
    }
    notes
}

/// What was on the medium at each change.
type Moments = Vec<(Medium, Moment)>;

/// Opens a file while a call fails, and then on a disk that is well. Gives the calls of the first
/// opening, and what it did to the files.
fn upgrade(
    golden: &Path,
    schema: usize,
    fails: Option<(usize, Mode)>,
    ending: Ending,
) -> (Vec<(Op, Part)>, Moments) {
    let folder = folder();
    copy(golden, folder.path());
    let path = database(folder.path());
    let (mut made, moments) = (Vec::new(), Arc::new(Mutex::new(Moments::new())));
    simulate(7, |world| {
        let (made, moments) = (&mut made, Arc::clone(&moments));
        async move {
            let app = App::after(&on_disk(world), &path, &Log::of(&past(schema)));
            let disk = vfs::disk(&app.database);
            if fails.is_none() {
                let (mut medium, notes) = (Medium::of(folder.path()), past(schema));
                let folder = folder.path().to_owned();
                disk.faults.watch(Some(Box::new(move |change| {
                    medium.apply(change);
                    let moment = Moment {
                        beside: Arc::new(Beside::read(&folder)),
                        notes: notes.clone(),
                        elapsed: Duration::ZERO,
                    };
                    moments.lock().unwrap().push((medium.clone(), moment));
                })));
            }
            app.set_faulty(fails.is_some());
            disk.faults.arm(fails);
            app.open();
            *made = disk.faults.disarm();
            disk.faults.watch(None);
            app.close();
            end(&app, ending).await;
            vfs::forget(&app.database);
        }
    });
    let moments = std::mem::take(&mut *moments.lock().unwrap());
    (made, moments)
}

#[test]
fn an_upgrade_from_every_schema_survives_faults_kills_and_cuts_at_every_step() {
    let attack = Attack::begin("V16", "upgrades");
    let random = SimEntropy::new(attack.seed());
    let torn = attack.count(TORN);
    let (mut calls, mut images, mut runs) = (0, 0, 0);
    let mut ending = move || {
        runs += 1;
        if runs % DRIVEN == 0 {
            Ending::Drive
        } else {
            Ending::Look
        }
    };
    let files: Vec<TempDir> = (1..=SCHEMAS.len()).map(golden).collect();
    work(|give| {
        for (schema, golden) in (1..).zip(&files) {
            let golden = golden.path();
            let (made, moments) = upgrade(golden, schema, None, Ending::Drive);
            calls += made.len();
            for (n, (op, part)) in made.into_iter().enumerate() {
                for mode in MODES {
                    if !is_repeat(op, mode) {
                        let (fails, ending) = (Some((n, mode)), ending());
                        give(
                            format!("schema {schema}, call {n} ({op:?} of {part:?}), {mode:?}"),
                            Box::new(move || drop(upgrade(golden, schema, fails, ending))),
                        );
                    }
                }
            }
            for (n, (medium, moment)) in moments.into_iter().enumerate() {
                let mut left = vec![
                    ("a kill", medium.current(), After::Kill),
                    ("a cut", medium.synced(), After::Cut),
                ];
                for _ in 0..torn {
                    left.push(("a torn cut", medium.torn(&random).0, After::Cut));
                }
                for (what, files, after) in left {
                    let moment = moment.clone();
                    let ending = ending();
                    let play = move |app| async move { end(&app, ending).await };
                    give(
                        format!("schema {schema}, {what} after change {n}"),
                        Box::new(move || moment.play(&files, after, true, play)),
                    );
                    images += 1;
                }
            }
        }
    });
    let (schemas, modes) = (SCHEMAS.len(), MODES.len());
    attack.report(&format!(
        "{schemas} of {schemas} schemas, {calls} of {calls} I/O calls x {modes} modes, \
         {images} kills and cuts, 0 lost"
    ));
}

/// An older version doesn't touch what a newer one wrote.
#[test]
fn a_newer_schema_is_refused_and_its_file_stays_as_it_is() {
    let golden = golden(SCHEMAS.len());
    let path = database(golden.path());
    let newer = SCHEMAS.len() + 1;
    let sql = Connection::open(&path).unwrap();
    sql.execute_batch("CREATE TABLE later (a INTEGER) STRICT")
        .unwrap();
    sql.pragma_update(None, "user_version", newer as i64)
        .unwrap();
    sql.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    simulate(1, |world| async move {
        let app = App::after(&on_disk(world), &path, &Log::default());
        let error = app.try_open().unwrap_err();
        let (found, known) = (newer as i64, SCHEMAS.len() as i64);
        assert_eq!(error, OpenError::SchemaTooNew { found, known });
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let log = Path::new(path.to_str().unwrap()).with_extension("sqlite3-wal");
        assert_eq!(std::fs::read(log).unwrap_or_default(), b"");
    });
}
