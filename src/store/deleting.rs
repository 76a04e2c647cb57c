//! Deleting the files of bodies that nobody needs. What can't be deleted now takes room and does no
//! harm; a later call finds it again.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Store, bodies};
use crate::policy::limits::RELEASED_AT_ONCE;

impl Store {
    /// Where the file of a body is.
    pub(crate) fn body_path(&self, name: &str) -> PathBuf {
        self.bodies.path(name)
    }

    /// Deletes bodies that nobody needs, some of them. True if there may be more.
    pub(crate) fn delete_bodies(self: &Arc<Self>) -> bool {
        let more_released = self.delete_released();
        let (suspects, more) = self.bodies.suspects();
        if !suspects.is_empty() {
            let bodies = Arc::clone(&self.bodies);
            // What can't be deleted now takes room and does no harm; the next look finds it again.
            let any = self.read(|reader| bodies.any_orphan(reader, &suspects));
            if matches!(any, Ok(true)) {
                let deleted = self
                    .writer
                    .write(move |tx| bodies.delete_orphans(tx.connection, &suspects));
                return deleted.is_ok() && (more || more_released);
            }
        }
        more || more_released
    }

    /// Deletes the files of settled submissions, some of them. True if there may be more. What fails
    /// is done by a later call.
    pub(crate) fn delete_released(self: &Arc<Self>) -> bool {
        let Ok(names) = self.read(|reader| Ok(bodies::released(reader)?)) else {
            return false;
        };
        if names.is_empty() {
            return false;
        }
        let full = names.len() == RELEASED_AT_ONCE;
        let gone = self.bodies.delete(names);
        let all = gone.len() == RELEASED_AT_ONCE;
        let forgotten = self.writer.write(move |tx| Ok(bodies::forget(tx, &gone)?));
        full && all && forgotten.is_ok()
    }
}
