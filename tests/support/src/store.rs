//! The thread that owns the database.
//!
//! It has the only connection and runs one job after the other, so two requests can never be in
//! the database at once, and none waits for SQLite's locks.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::database::Database;
use crate::records::RequestRecord;

/// The database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the server has stopped")]
    Stopped,
}

type Job = Box<dyn FnOnce(&mut Database) + Send>;

/// The way to the thread that owns the connection.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    /// `None` asks the thread to end.
    jobs: mpsc::Sender<Option<Job>>,
}

impl Store {
    /// Opens the file and starts its thread.
    pub(crate) fn open(
        path: &Path,
        durable: bool,
        key_lifetime: Option<Duration>,
    ) -> Result<(Self, JoinHandle<()>), String> {
        let mut database =
            Database::open(path, durable, key_lifetime).map_err(|error| error.to_string())?;
        let (jobs, queue) = mpsc::channel::<Option<Job>>();
        let thread = thread::Builder::new()
            .name("reference-server-database".to_owned())
            .spawn(move || {
                while let Ok(Some(job)) = queue.recv() {
                    job(&mut database);
                }
            })
            .map_err(|error| error.to_string())?;
        Ok((Self { jobs }, thread))
    }

    /// Runs a job and waits for it without blocking the thread.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Database) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.send(move |database| {
            // A handler that is gone has no use for the answer; the job is done all the same.
            let _ = reply.send(job(database));
        })?;
        Ok(answer.await.map_err(|_| StoreError::Stopped)??)
    }

    /// Runs a job and blocks until it is done.
    pub(crate) fn run_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Database) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.send(move |database| {
            let _ = reply.send(job(database));
        })?;
        Ok(answer.recv().map_err(|_| StoreError::Stopped)??)
    }

    /// Writes a request down, some time soon.
    pub(crate) fn archive(&self, record: RequestRecord) {
        // The archive is for people with a SQLite shell; every assertion uses the records in
        // memory, so a full disk must not fail a request here.
        let _ = self.send(move |database| {
            let _ = database.archive(&record);
        });
    }

    /// Ends the thread after the jobs that are already queued.
    pub(crate) fn stop(&self) {
        let _ = self.jobs.send(None);
    }

    fn send(&self, job: impl FnOnce(&mut Database) + Send + 'static) -> Result<(), StoreError> {
        self.jobs
            .send(Some(Box::new(job)))
            .map_err(|_| StoreError::Stopped)
    }
}
