//! What the attacks have found, each as a test of its own.

use submit_once::{OpenError, StorageError};

use super::ending::{Ending, end};
use super::life::Stage;
use super::stages::starts;
use super::tape::{After, Tape};
use crate::common::vfs::{self, Mode, Op, Part};

/// The power goes while SQLite writes the first page of a new file, and its first sector stays
/// empty. The journal beside it says that there was nothing before: it is no file of somebody else.
#[test]
fn a_file_whose_making_was_cut_off_is_made_anew() {
    let tape = Tape::record();
    let mut tried = 0;
    tape.each(|_, medium, moment| {
        let mut files = medium.current();
        let is_new = files.contains_key(&Part::Journal) && !files.contains_key(&Part::Log);
        let Some(main) = files.get_mut(&Part::Main).filter(|_| is_new) else {
            return;
        };
        if main.is_empty() {
            return;
        }
        main[..512].fill(0);
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
