//! Statements of the app on tables of its own.

use std::time::Instant;

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Batch, Connection, ErrorCode, Statement, ToSql};

use super::authorizer::{Authorizer, Guard, forbidden, is_app};
use crate::error::{InboxError, StorageError};
use crate::model::inbox::{AppRow, AppStatement, SqlValue};
use crate::policy::limits::{QUERY_BYTES, QUERY_ROWS, STATEMENT_BYTES, STATEMENTS_TIME};

/// Carries out statements, in the transaction that is open.
pub(super) fn run(
    connection: &Connection,
    authorizer: &Authorizer,
    statements: &[AppStatement],
) -> Result<(), InboxError> {
    for (statement, number) in statements.iter().zip(1..) {
        check_length(statement).map_err(|failed| failed.numbered(number))?;
    }
    let until = Instant::now() + STATEMENTS_TIME;
    carry_out(connection, authorizer, statements, Some(until))
}

fn carry_out(
    connection: &Connection,
    authorizer: &Authorizer,
    statements: &[AppStatement],
    until: Option<Instant>,
) -> Result<(), InboxError> {
    for (statement, number) in statements.iter().zip(1..) {
        let others = others(connection)?;
        let changes_schema = authorizer
            .within(until, |guard| -> Result<bool, Failed> {
                let (mut prepared, changes_schema) = prepare(connection, statement, guard)?;
                let mut rows = prepared.raw_query();
                while rows.next()?.is_some() {}
                Ok(changes_schema)
            })
            .map_err(|failed| failed.numbered(number))?;
        if changes_schema {
            check_schema(connection, others).map_err(|failed| failed.numbered(number))?;
        }
    }
    Ok(())
}

/// Reads rows of the app's own tables.
pub(super) fn query(
    connection: &Connection,
    authorizer: &Authorizer,
    statement: &AppStatement,
) -> Result<Vec<AppRow>, InboxError> {
    let until = Instant::now() + STATEMENTS_TIME;
    let read = authorizer.within(Some(until), |guard| {
        check_length(statement)?;
        let (mut prepared, changes_schema) = prepare(connection, statement, guard)?;
        if changes_schema || !prepared.readonly() {
            return Err(refused("it writes; use finish_with"));
        }
        let columns = prepared.column_count();
        let mut rows = prepared.raw_query();
        let (mut read, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            if read.len() == QUERY_ROWS {
                return Err(refused(&format!(
                    "it gives more than {QUERY_ROWS} rows; add a LIMIT"
                )));
            }
            let mut values = Vec::with_capacity(columns);
            for column in 0..columns {
                let value = row.get_ref(column)?;
                bytes += match value {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
                    ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 8,
                };
                if bytes > QUERY_BYTES {
                    return Err(refused(&format!(
                        "it gives more than {QUERY_BYTES} bytes; add a LIMIT"
                    )));
                }
                values.push(from_sql(value));
            }
            read.push(AppRow { values });
        }
        Ok(read)
    });
    read.map_err(|failed| failed.numbered(1))
}

/// Makes a thing of the app's with a definition that was stored before. `false` if it isn't one.
pub(in crate::store) fn define(
    connection: &Connection,
    authorizer: &Authorizer,
    sql: &str,
) -> Result<bool, StorageError> {
    // As it was stored: a table that had many columns added is defined by a long text, and an index of a
    // large one takes its time.
    match carry_out(connection, authorizer, &[AppStatement::new(sql, [])], None) {
        Ok(()) => Ok(true),
        Err(InboxError::Storage { storage }) => Err(storage),
        Err(_) => Ok(false),
    }
}

/// Why a statement came to nothing.
enum Failed {
    Refused(String),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

fn refused(problem: &str) -> Failed {
    Failed::Refused(problem.to_owned())
}

impl Failed {
    fn numbered(self, number: u32) -> InboxError {
        let problem = match self {
            Self::Refused(problem) => problem,
            Self::Sql(rusqlite::Error::SqlInputError { msg, .. }) => msg,
            Self::Sql(rusqlite::Error::MultipleStatement) => {
                "there is a second one behind it; pass each by itself".to_owned()
            }
            Self::Sql(error)
                if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) =>
            {
                let seconds = STATEMENTS_TIME.as_secs();
                format!("with those before it, it takes longer than {seconds} seconds")
            }
            Self::Sql(error) => match StorageError::from(error) {
                // What the disk or another process said is not about the statement.
                StorageError::Internal { detail } => detail,
                storage => return storage.into(),
            },
        };
        InboxError::Statement { number, problem }
    }
}

fn check_length(statement: &AppStatement) -> Result<(), Failed> {
    if statement.sql.len() > STATEMENT_BYTES {
        return Err(refused(&format!(
            "it has more than {STATEMENT_BYTES} bytes; pass values as parameters"
        )));
    }
    Ok(())
}

/// Prepares a statement, not cached: what was prepared within other limits is never taken up. `true` if it
/// changes the schema.
fn prepare<'a>(
    connection: &'a Connection,
    statement: &AppStatement,
    guard: &Guard<'_>,
) -> Result<(Statement<'a>, bool), Failed> {
    if let Some(problem) = forbidden(&statement.sql) {
        return Err(Failed::Refused(problem));
    }
    let prepared = first_of(connection, &statement.sql);
    // It says more than that something was refused.
    if let Some(problem) = guard.refused() {
        return Err(Failed::Refused(problem));
    }
    let mut prepared = prepared?;
    let changes_schema = guard.judge().map_err(refused)?;
    let (has, given) = (prepared.parameter_count(), statement.parameters.len());
    if has != given {
        return Err(refused(&format!(
            "it has {has} parameters, and {given} are given"
        )));
    }
    for (value, number) in statement.parameters.iter().zip(1_usize..) {
        prepared.raw_bind_parameter(number, value)?;
    }
    Ok((prepared, changes_schema))
}

/// The one statement of a text. `Connection::prepare` looks for a second one by preparing all that follow,
/// each within the call for the one before: a script of 16 KiB fills the stack of a phone's thread.
fn first_of<'a>(connection: &'a Connection, sql: &str) -> rusqlite::Result<Statement<'a>> {
    let mut all = Batch::new(connection, sql);
    let first = all.next()?.ok_or(rusqlite::Error::Empty)?;
    match all.next()? {
        Some(_) => Err(rusqlite::Error::MultipleStatement),
        None => Ok(first),
    }
}

/// How many things in the schema aren't the app's.
fn others(connection: &Connection) -> Result<i64, StorageError> {
    Ok(connection
        .prepare_cached(
            r"SELECT count(*) FROM sqlite_schema
             WHERE NOT (name LIKE 'app\_%' ESCAPE '\' OR (tbl_name LIKE 'app\_%' ESCAPE '\'
                AND name LIKE 'sqlite\_autoindex\_%' ESCAPE '\'))",
        )?
        .query_row([], |row| row.get(0))?)
}

/// Refuses what the authorizer isn't asked about: a new name, and a reference to a table of ours, which
/// would have a say in what is deleted there.
fn check_schema(connection: &Connection, others_before: i64) -> Result<(), Failed> {
    let now = others(connection);
    if now.map_err(|_| refused("the schema can't be read"))? != others_before {
        return Err(refused("the new name doesn't begin with app_"));
    }
    let mut references = connection.prepare_cached(
        r#"SELECT f."table" FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
         WHERE m.type = 'table' AND m.name LIKE 'app\_%' ESCAPE '\'"#,
    )?;
    let mut rows = references.query([])?;
    while let Some(row) = rows.next()? {
        let table: String = row.get(0)?;
        if !is_app(&table) {
            return Err(refused(&format!(
                "a reference to the table {table} is not allowed"
            )));
        }
    }
    Ok(())
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer { value } => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Real { value } => ToSqlOutput::Owned(Value::Real(*value)),
            Self::Text { value } => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Self::Blob { value } => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
        })
    }
}

fn from_sql(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Integer { value },
        ValueRef::Real(value) => SqlValue::Real { value },
        ValueRef::Text(bytes) => SqlValue::Text {
            value: String::from_utf8_lossy(bytes).into_owned(),
        },
        ValueRef::Blob(bytes) => SqlValue::Blob {
            value: bytes.to_vec(),
        },
    }
}
