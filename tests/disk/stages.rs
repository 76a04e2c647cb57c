//! The life, part by part, on a disk that is well: what each part begins with, and what it does.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

use super::app::App;
use super::life::Stage;
use super::server::{Log, Note};
use crate::common::sim::{World, simulate};
use crate::common::vfs;

/// A folder that is gone when the test is, in memory where there is some.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("outbox.sqlite3")
}

/// What a part of the life begins with.
pub struct Start {
    pub stage: Stage,
    files: TempDir,
    pub notes: Vec<Note>,
    /// How much time has passed since the birth of the device.
    pub elapsed: Duration,
}

impl Start {
    /// Plays something on a copy of the files, after what has happened before.
    pub fn play<F: Future<Output = ()>>(&self, body: impl FnOnce(App) -> F) {
        let folder = folder();
        copy(self.files.path(), folder.path());
        let path = database(folder.path());
        simulate(1 + self.stage as u64, |world| {
            world.clock.sleep_device(self.elapsed);
            let world = on_disk(world);
            body(App::after(&world, &path, &Log::of(&self.notes)))
        });
        vfs::forget(&path);
    }
}

/// On the disk of the tests.
pub fn on_disk(world: World) -> World {
    World {
        vfs: Some(vfs::register()),
        ..world
    }
}

/// Plays the whole life once, and keeps what each part begins with.
pub fn starts() -> Vec<Start> {
    let starts: Arc<Mutex<Vec<Start>>> = Arc::default();
    let mut start = Start {
        stage: Stage::Create,
        files: folder(),
        notes: Vec::new(),
        elapsed: Duration::ZERO,
    };
    for (n, stage) in Stage::ALL.into_iter().enumerate() {
        let next = Mutex::new(None);
        start.play(|app| {
            let (next, elapsed) = (&next, start.elapsed);
            async move {
                let began = tokio::time::Instant::now();
                if !stage.opens() {
                    app.open();
                }
                stage.play(&app).await;
                let files = folder();
                copy(app.database.parent().unwrap(), files.path());
                app.close();
                let following = Stage::ALL.get(n + 1).copied().unwrap_or(stage);
                *next.lock().unwrap() = Some(Start {
                    stage: following,
                    files,
                    notes: app.log.all(),
                    elapsed: elapsed + began.elapsed() + Duration::from_secs(1),
                });
            }
        });
        let next = next.into_inner().unwrap().unwrap();
        starts
            .lock()
            .unwrap()
            .push(std::mem::replace(&mut start, next));
    }
    Arc::into_inner(starts).unwrap().into_inner().unwrap()
}

/// Copies the files of a database as a kill leaves them: without the memory that its processes share.
pub fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&path, &target);
        } else if !path.to_str().unwrap().ends_with("-shm") {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
