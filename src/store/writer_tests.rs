use super::*;
use crate::clock::SystemClock;
use crate::error::OutboxError;

/// A writer on a database with tables, and the folder that it is in.
fn writer() -> (tempfile::TempDir, Writer) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox.sqlite3");
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    super::super::migrate::migrate(&connection).unwrap();
    let context = Context {
        clock: Arc::new(SystemClock::new(None)),
        boot: 1,
        quiet_time: None,
        max_body_bytes: 0,
    };
    let writer = Writer::new(connection, Guards::new(&path), context);
    (folder, writer)
}

fn total(writer: &Writer) -> i64 {
    let sum = "SELECT coalesce(sum(count), 0) FROM total";
    let read = |open: &mut Open| open.connection.query_row(sum, [], |row| row.get(0));
    writer.group.between(read).unwrap().unwrap()
}

/// Commands that share a transaction: what the one that is refused has counted and told goes with it.
#[test]
fn a_command_that_is_rolled_back_counts_nothing() {
    let (_folder, writer) = writer();
    let writer = Arc::new(writer);
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let write = |count: i64, refused: bool| {
        let writer = Arc::clone(&writer);
        std::thread::spawn(move || {
            writer.write(move |tx| {
                tx.count("joined", count);
                if refused {
                    return Err(OutboxError::MalformedId);
                }
                Ok(())
            })
        })
    };
    let first = {
        let writer = Arc::clone(&writer);
        std::thread::spawn(move || {
            writer.write(move |_| {
                wait.recv().unwrap();
                Ok(())
            })
        })
    };
    let queued = |count: usize, led: bool| {
        while writer.group.queued() != (count, led) {
            std::thread::yield_now();
        }
    };
    queued(0, true);
    // The first has been taken from the queue; these meet in the transaction after it.
    let (kept, refused, also_kept) = (write(1, false), write(10, true), write(100, false));
    queued(3, true);
    go.send(()).unwrap();
    first.join().unwrap().unwrap();
    kept.join().unwrap().unwrap();
    also_kept.join().unwrap().unwrap();
    assert_eq!(
        refused.join().unwrap().unwrap_err(),
        OutboxError::MalformedId
    );
    assert_eq!(total(&writer), 101);
    drop(writer.write(|tx| {
        tx.count("joined", 1_000);
        Err::<(), _>(OutboxError::MalformedId)
    }));
    assert_eq!(total(&writer), 101, "alone, too");
}

/// A call is written once, with what is written anyway, and stays counted where that fails.
#[test]
fn a_call_is_moved_into_the_table_once_and_not_by_a_transaction_that_fails() {
    let (_folder, writer) = writer();
    let left = || -> i64 { writer.calls.left().iter().map(|(_, count)| count).sum() };
    writer.calls.note(totals::Call::Joined);
    writer.write(|_| Ok(())).unwrap();
    assert_eq!((left(), total(&writer)), (1, 0), "nothing else was written");
    drop(writer.write(|tx| {
        tx.with_calls.set(true);
        Err::<(), _>(OutboxError::MalformedId)
    }));
    assert_eq!((left(), total(&writer)), (1, 0));
    for _ in 0..2 {
        writer
            .write(|tx| {
                tx.connection
                    .execute_batch("INSERT INTO host (origin) VALUES (hex(randomblob(8)))")?;
                Ok(())
            })
            .unwrap();
        assert_eq!((left(), total(&writer)), (0, 1));
    }
}
