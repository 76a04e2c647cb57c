//! What must hold after a fault: everything that was acknowledged is there, and comes to its end.

use std::time::Duration;

use submit_once::{InboxAnswer, SubmissionId};
use submit_once_reference_server::history::{Event, check};

use super::app::App;
use super::life::{self, NAMES, order, submission};
use super::server::Note;

const HOUR: Duration = Duration::from_secs(3_600);

/// How much is done after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All is listed and read.
    Look,
    /// All is submitted once more, and delivered.
    Drive,
}

/// Opens the file on a disk that is well, and judges everything that happened.
pub async fn end(app: &App, ending: Ending) {
    app.set_faulty(false);
    app.open();
    app.list();
    assert_eq!(integrity(app), "ok");
    slots(app);
    inbox(app);
    app.read_again();
    if ending == Ending::Drive {
        drive(app).await;
    }
    app.close();
    judge(app);
}

pub fn judge(app: &App) {
    let broken = check(&app.log.events());
    let said: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{said:#?}");
}

fn integrity(app: &App) -> String {
    let connection = rusqlite::Connection::open(&app.database).unwrap();
    let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
    check.unwrap()
}

fn slots(app: &App) {
    let notes = app.log.all();
    // An account has slots of its own.
    let signed_in = app.call(|outbox| outbox.signed_in()).unwrap().is_some();
    if signed_in || notes.contains(&Note::Discarding) {
        return;
    }
    let draft = notes.iter().find_map(|note| match note {
        Note::Begun { slot, id } if slot == "draft" => Some(id.clone()),
        _ => None,
    });
    if let Some(id) = draft {
        let now = app.begin("draft").unwrap();
        assert_eq!(now.to_string(), id, "another ID for a slot");
    }
}

/// What ran may not run again, and what is done stays done, together with its row.
fn inbox(app: &App) {
    for note in app.log.all() {
        let Note::Run(key) = note else { continue };
        let answer = app.run(&key, key == "m2").unwrap();
        let is_done = matches!(&answer, InboxAnswer::Done { result, .. }
            if result.as_deref() == Some(key.as_bytes()));
        let was_done = app.log.all().contains(&Note::Done(key.clone()));
        assert!(is_done || !was_done, "{key} was done: {answer:?}");
        let may_run = matches!(answer, InboxAnswer::Run { .. } | InboxAnswer::Busy { .. });
        assert!(!may_run, "{key} runs again: {answer:?}");
        if key == "m2" {
            assert_eq!(
                app.rows().contains(&key),
                is_done,
                "an effect without its record"
            );
        }
    }
}

async fn drive(app: &App) {
    let submitted = app.submitted();
    let form = app.log.all().into_iter().find_map(|note| match note {
        Note::Begun { slot, id } if slot == "form" => Some(id),
        _ => None,
    });
    let form = form.map(|id| order("orders", SubmissionId::parse(&id).unwrap()));
    let named = NAMES.iter().map(|name| submission(name));
    for one in form.into_iter().chain(named) {
        if submitted.contains(&one.id.to_string()) {
            app.submit(one).unwrap();
        }
    }
    life::sign_in(app);
    app.deliver(3 * HOUR).await;
    app.log.event(Event::Settled);
    app.list();
    app.read_all();
    records(app);
}

/// Each record that was acknowledged went with one batch.
fn records(app: &App) {
    let notes = app.log.all();
    for note in &notes {
        let Note::Appended(record) = note else {
            continue;
        };
        let took = |note: &&Note| matches!(note, Note::Took { record: one, .. } if one == record);
        let times = notes.iter().filter(took).count();
        assert_eq!(times, 1, "the record {record} was taken so often");
    }
}
