//! What the app's own statements may touch: SQLite asks here while it prepares one.
//!
//! The authorizer is set once for each connection, and says yes to everything as long as no statement of
//! the app is at work. To set it anew each time would make SQLite prepare all our statements again.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::store::writer::lock;

/// The authorizer of one connection.
pub(in crate::store) struct Authorizer {
    /// What the statement of the app at work has asked for. `None`: none is at work.
    asked: Mutex<Option<Asked>>,
}

/// What a statement has asked for while it was prepared.
#[derive(Default)]
struct Asked {
    /// Something. What asks for nothing can't be judged: VACUUM.
    anything: bool,
    /// SQLite's own tables: as a part of a change of the schema it writes to them itself.
    schema_tables: bool,
    /// Makes, changes or drops a table, an index, a view or a trigger.
    changes_schema: bool,
    /// Makes a table, of what a query gives perhaps.
    makes_table: bool,
    /// The first thing that it was refused.
    refused: Option<String>,
    /// When it is interrupted.
    until: Option<Instant>,
}

impl Authorizer {
    /// Sets the authorizer of a connection.
    pub(in crate::store) fn of(connection: &mut Connection) -> rusqlite::Result<Arc<Self>> {
        let authorizer = Arc::new(Self {
            asked: Mutex::new(None),
        });
        let asking = Arc::clone(&authorizer);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            match lock(&asking.asked).as_mut() {
                None => Authorization::Allow,
                Some(asked) => asked.ask(&context),
            }
        }))?;
        let timing = Arc::clone(&authorizer);
        connection.progress_handler(
            STEPS,
            Some(move || {
                let asked = lock(&timing.asked);
                let until = asked.as_ref().and_then(|asked| asked.until);
                until.is_some_and(|until| Instant::now() >= until)
            }),
        )?;
        Ok(authorizer)
    }

    /// Does some work with a statement of the app, within what it may touch and, where that is given, until
    /// when.
    pub(super) fn within<T>(
        &self,
        until: Option<Instant>,
        work: impl FnOnce(&Guard<'_>) -> T,
    ) -> T {
        let guard = Guard(self);
        *lock(&self.asked) = Some(Asked {
            until,
            ..Asked::default()
        });
        work(&guard)
    }
}

/// Ends the limits when it is dropped, after a panic too.
pub(super) struct Guard<'a>(&'a Authorizer);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.asked) = None;
    }
}

impl Guard<'_> {
    /// What was refused while a statement was prepared.
    pub(super) fn refused(&self) -> Option<String> {
        lock(&self.0.asked).as_mut()?.refused.take()
    }

    /// Whether a statement that was prepared changes the schema, or why it must not run.
    pub(super) fn judge(&self) -> Result<bool, &'static str> {
        let mut asked = lock(&self.0.asked);
        let asked = asked.get_or_insert_default();
        if !asked.anything {
            return Err("only statements on the app's own tables are allowed");
        }
        if asked.schema_tables && !asked.changes_schema {
            return Err(SQLITES);
        }
        Ok(asked.changes_schema)
    }
}

/// SQLite's instructions between two looks at the time: well under a millisecond.
const STEPS: std::ffi::c_int = 10_000;

const SQLITES: &str = "SQLite's own tables are not the app's";

/// What an app's own things are called.
const PREFIX: &str = "app_";

/// True for the app's own things. SQLite's names don't tell upper case from lower.
pub(super) fn is_app(name: &str) -> bool {
    name.get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

fn is_sqlite(name: &str) -> bool {
    const OWN: &str = "sqlite_";
    name.get(..OWN.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OWN))
}

impl Asked {
    fn ask(&mut self, context: &AuthContext<'_>) -> Authorization {
        self.anything = true;
        let database = match context.action {
            // What is told beside it here may be a column's name.
            AuthAction::AlterTable { database_name, .. } => Some(database_name),
            _ => context.database_name,
        };
        let allowed = match database {
            None | Some("main") => self.allow(&context.action),
            // Renaming looks for what may depend on a name there.
            Some("temp") => match context.action {
                AuthAction::Read { table_name, .. } | AuthAction::Update { table_name, .. } => {
                    self.allow_own(table_name)
                }
                _ => Err("there are no temporary tables".to_owned()),
            },
            Some(_) => Err("there is no other database".to_owned()),
        };
        match allowed {
            Ok(()) => Authorization::Allow,
            Err(refused) => {
                self.refused.get_or_insert(refused);
                Authorization::Deny
            }
        }
    }

    fn allow(&mut self, action: &AuthAction<'_>) -> Result<(), String> {
        match *action {
            AuthAction::Select | AuthAction::Recursive => Ok(()),
            AuthAction::Function { function_name } => {
                if function_name.eq_ignore_ascii_case("load_extension") {
                    Err("the function load_extension is not allowed".to_owned())
                } else {
                    Ok(())
                }
            }
            // SQLite itself looks up the row of the new table, and no more.
            AuthAction::Read {
                table_name,
                column_name,
            } if self.makes_table && is_sqlite(table_name) && column_name != "ROWID" => {
                Err(SQLITES.to_owned())
            }
            AuthAction::Read { table_name, .. }
            | AuthAction::Insert { table_name }
            | AuthAction::Update { table_name, .. }
            | AuthAction::Delete { table_name } => self.allow_own(table_name),
            AuthAction::CreateTable { table_name } => {
                self.makes_table = true;
                self.allow_schema(&[table_name])
            }
            AuthAction::DropTable { table_name }
            | AuthAction::AlterTable { table_name, .. }
            | AuthAction::CreateView {
                view_name: table_name,
            }
            | AuthAction::DropView {
                view_name: table_name,
            } => self.allow_schema(&[table_name]),
            AuthAction::CreateIndex {
                index_name,
                table_name,
            } => {
                // The index of a UNIQUE in a table's definition.
                if is_sqlite(index_name) {
                    self.allow_schema(&[table_name])
                } else {
                    self.allow_schema(&[index_name, table_name])
                }
            }
            AuthAction::DropIndex {
                index_name,
                table_name,
            } => self.allow_schema(&[index_name, table_name]),
            AuthAction::CreateTrigger {
                trigger_name,
                table_name,
            }
            | AuthAction::DropTrigger {
                trigger_name,
                table_name,
            } => self.allow_schema(&[trigger_name, table_name]),
            // As a part of making an index.
            AuthAction::Reindex { .. } if self.changes_schema => Ok(()),
            AuthAction::CreateTempTable { .. }
            | AuthAction::CreateTempIndex { .. }
            | AuthAction::CreateTempView { .. }
            | AuthAction::CreateTempTrigger { .. } => {
                Err("there are no temporary tables".to_owned())
            }
            AuthAction::CreateVtable { .. } | AuthAction::DropVtable { .. } => {
                Err("there are no virtual tables".to_owned())
            }
            AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
                Err("the transaction is the inbox's".to_owned())
            }
            AuthAction::Pragma { pragma_name, .. } => {
                Err(format!("PRAGMA {pragma_name} is not allowed"))
            }
            _ => Err("this kind of statement is not allowed".to_owned()),
        }
    }

    fn allow_own(&mut self, table: &str) -> Result<(), String> {
        if is_app(table) {
            return Ok(());
        }
        if is_sqlite(table) {
            // SQLite itself refuses to have them written by a statement. Whether this is one is known
            // once it is prepared.
            self.schema_tables = true;
            return Ok(());
        }
        Err(not_app(table))
    }

    fn allow_schema(&mut self, names: &[&str]) -> Result<(), String> {
        match names.iter().find(|name| !is_app(name)) {
            Some(other) => Err(not_app(other)),
            None => {
                self.changes_schema = true;
                Ok(())
            }
        }
    }
}

fn not_app(name: &str) -> String {
    format!("the name {name} doesn't begin with {PREFIX}")
}

/// What must not stand outside of quotes and comments. A word that would reach beyond the statement: one
/// undoes what others have written in the same transaction, the other lets its end fail. And what begins a
/// parameter with a name: that may go on with brackets around a quote, and hide such a word behind it.
pub(super) fn forbidden(sql: &str) -> Option<String> {
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\'' | '"' | '`' => 1 + quoted(rest.get(1..)?, first),
            '[' => 1 + quoted(rest.get(1..)?, ']'),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest
                .get(2..)
                .and_then(|inner| inner.find("*/"))
                .map_or(rest.len(), |end| end + 4),
            _ if is_word(first) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                for forbidden in ["ROLLBACK", "DEFERRED"] {
                    if word.eq_ignore_ascii_case(forbidden) {
                        return Some(format!("the word {forbidden} is not allowed"));
                    }
                }
                end
            }
            '$' | '@' | ':' | '#' => {
                return Some(format!(
                    "the character {first} is not allowed outside of quotes; parameters are ?1, ?2, …"
                ));
            }
            _ => first.len_utf8(),
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Bytes up to the end of a quotation, with it. A doubled quote begins the next one.
fn quoted(text: &str, end: char) -> usize {
    text.find(end).map_or(text.len(), |at| at + 1)
}
