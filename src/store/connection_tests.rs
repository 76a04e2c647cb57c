use rusqlite::StatementStatus;

use super::*;
use crate::store::view;

/// SQLite looks at bound values when it plans, unless it is told not to, and plans anew for others: the
/// partial indexes of the queue made it do so at every reading of a snapshot.
#[test]
fn a_statement_stays_prepared_whatever_is_bound_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let connection = Connection::open(folder.path().join("outbox.sqlite3")).unwrap();
    prepare(&connection, &Limits::default()).unwrap();
    migrate::migrate(&connection).unwrap();
    let mut statement = connection
        .prepare(&format!(
            "SELECT {} FROM submission s JOIN request r ON r.seq = s.seq WHERE s.id = ?1",
            view::columns()
        ))
        .unwrap();
    for id in 0..3_u8 {
        assert!(!statement.exists([[id; 16]]).unwrap());
    }
    assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
}
