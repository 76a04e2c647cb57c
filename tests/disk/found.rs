//! What the attacks have found, each as a test of its own.

use submit_once::{OpenError, StorageError};

use super::ending::{Ending, end};
use super::life::Stage;
use super::medium::Files;
use super::stages::starts;
use super::tape::{After, Moment, Tape};
use crate::common::vfs::{self, Mode, Op, Part};

/// The power goes while SQLite writes the first page of a new file, and its first sector stays
/// empty. The journal beside it says that there was nothing before: it is no file of somebody else.
#[test]
fn a_file_whose_making_was_cut_off_is_made_anew() {
    let tape = Tape::record();
    let mut tried = 0;
    tape.each(|_, medium, moment| {
        let mut files = medium.current();
        let is_synced = medium
            .synced()
            .get(&Part::Main)
            .is_some_and(|main| !main.is_empty());
        if let Some(main) = files.get_mut(&Part::Main)
            && !main.is_empty()
            && !is_synced
        {
            main[..512].fill(0);
        } else {
            return;
        }
        let play = |app| async move { end(&app, Ending::Drive).await };
        moment.play(&files, After::Cut, true, play);
        tried += 1;
    });
    assert!(tried > 0);
}

/// SQLite gives a transaction up by itself when a read fails. The caller is told of the read, not
/// that there is nothing left to roll back.
#[test]
fn an_opening_says_what_failed_first() {
    let starts = starts();
    let create = &starts[0];
    assert_eq!(create.stage, Stage::Create);
    let made = super::calls::play(create, None, Ending::Look);
    let reads = made
        .iter()
        .enumerate()
        .filter(|(_, call)| **call == (Op::Read, Part::Main));
    for (n, _) in reads {
        create.play(|app| async move {
            let disk = vfs::disk(&app.database);
            disk.faults.arm(Some((n, Mode::Once)));
            let opened = app.try_open();
            disk.faults.disarm();
            let said = match opened {
                Ok(outbox) => return outbox.close(),
                Err(error) => error,
            };
            assert!(
                matches!(
                    said,
                    OpenError::Storage {
                        storage: StorageError::Unavailable { .. }
                    }
                ),
                "{said:?}"
            );
        });
    }
}

/// The power goes in the first checkpoint of a new file: later pages are on the medium, and the first
/// one is as it was.
fn cut_in_the_first_checkpoint() -> (Files, Moment) {
    let tape = Tape::record();
    let mut found = None;
    tape.each(|_, medium, moment| {
        let (mut files, synced) = (medium.current(), medium.synced());
        let first = synced.get(&Part::Main).filter(|main| main.len() == 4_096);
        let has_log = synced.get(&Part::Log).is_some_and(|log| !log.is_empty());
        if let (Some(first), true, Some(main)) = (first, has_log, files.get_mut(&Part::Main))
            && main.len() > 8 * 4_096
        {
            main[..4_096].copy_from_slice(first);
            found = Some((files, moment.clone()));
        }
    });
    found.unwrap()
}

/// All is in the log: that is no damage.
#[test]
fn a_first_checkpoint_that_was_cut_off_is_done_again() {
    let (files, moment) = cut_in_the_first_checkpoint();
    moment.play(&files, After::Cut, true, |app| async move {
        end(&app, Ending::Drive).await;
    });
}

/// Nothing is in the log: then it is damage, and told as such, and not a new file.
#[test]
fn an_empty_header_without_a_log_that_counts_is_damage() {
    let (mut files, moment) = cut_in_the_first_checkpoint();
    files.insert(Part::Log, vec![7; 100]);
    moment.play(&files, After::Cut, true, |app| async move {
        let report = app.try_open().unwrap().open_report();
        assert!(report.salvaged.is_some() && !report.created, "{report:?}");
    });
}
