//! The whole life, played once on a disk that is well, with everything that it did to the files.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::app::App;
use super::life::Stage;
use super::medium::{Files, Medium};
use super::server::{Log, Note};
use super::stages::{database, folder, on_disk};
use crate::common::sim::simulate;
use crate::common::vfs::{self, Change};

/// The files beside the database, which the core writes without SQLite: the high-water mark and the
/// bodies with their bytes, and the names of the owners.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beside {
    files: Vec<(String, Vec<u8>)>,
    owners: Vec<String>,
}

const BODIES: &str = "outbox.sqlite3-bodies";
const OWNERS: &str = "outbox.sqlite3-owners";
const HIGH_WATER: &str = "outbox.sqlite3-highwater";

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

impl Beside {
    pub fn read(folder: &Path) -> Self {
        let bodies = names(&folder.join(BODIES));
        let bodies = bodies.into_iter().map(|name| format!("{BODIES}/{name}"));
        let files = bodies.chain([HIGH_WATER.to_owned()]);
        Self {
            files: files
                .filter_map(|name| Some((name.clone(), std::fs::read(folder.join(name)).ok()?)))
                .collect(),
            owners: names(&folder.join(OWNERS)),
        }
    }

    fn write(&self, folder: &Path, with_owners: bool) {
        std::fs::create_dir(folder.join(BODIES)).unwrap();
        for (name, bytes) in &self.files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        if with_owners {
            std::fs::create_dir(folder.join(OWNERS)).unwrap();
            for name in &self.owners {
                std::fs::write(folder.join(OWNERS).join(name), "").unwrap();
            }
        }
    }
}

/// What was going on at some moment, for whoever comes after a kill or a cut.
#[derive(Clone)]
pub struct Moment {
    pub beside: Arc<Beside>,
    pub notes: Vec<Note>,
    pub elapsed: Duration,
}

/// Who is there after a kill or a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The device runs on.
    Kill,
    /// It starts again.
    Cut,
}

impl Moment {
    /// Puts files down as they are found then, and plays something on them. The locks of dead owners
    /// may be gone: then nobody knows that they are dead.
    pub fn play<F: Future<Output = ()>>(
        &self,
        files: &Files,
        after: After,
        with_owners: bool,
        body: impl FnOnce(App) -> F,
    ) {
        let folder = folder();
        let path = database(folder.path());
        for (part, bytes) in files {
            let name = format!("{}{}", path.to_str().unwrap(), part.suffix());
            std::fs::write(name, bytes).unwrap();
        }
        self.beside.write(folder.path(), with_owners);
        simulate(99 + self.notes.len() as u64, |world| {
            world
                .clock
                .sleep_device(self.elapsed + Duration::from_secs(1));
            let world = match after {
                After::Kill => on_disk(world),
                After::Cut => {
                    world.clock.reboot();
                    world
                }
            };
            let app = App::after(&world, &path, &Log::of(&self.notes));
            app.server.crash();
            body(app)
        });
        if after == After::Kill {
            vfs::forget(&path);
        }
    }
}

/// One change of a file, and what was there before it.
pub struct Step {
    pub change: Change,
    pub notes: usize,
    pub beside: Arc<Beside>,
}

/// The whole life.
pub struct Tape {
    pub steps: Vec<Step>,
    pub notes: Vec<Note>,
    pub elapsed: Duration,
}

impl Tape {
    pub fn record() -> Self {
        let steps: Arc<Mutex<Vec<Step>>> = Arc::default();
        let mut tape = Self {
            steps: Vec::new(),
            notes: Vec::new(),
            elapsed: Duration::ZERO,
        };
        let folder = folder();
        simulate(1, |world| {
            let (tape, steps, folder) = (&mut tape, Arc::clone(&steps), folder.path());
            async move {
                let began = tokio::time::Instant::now();
                let app = App::after(&on_disk(world), &database(folder), &Log::default());
                let disk = vfs::disk(&app.database);
                let (log, kept) = (app.log.clone(), Arc::clone(&steps));
                let path = folder.to_owned();
                disk.faults.watch(Some(Box::new(move |change| {
                    let mut steps = kept.lock().unwrap();
                    let beside = Beside::read(&path);
                    let beside = match steps.last() {
                        Some(last) if *last.beside == beside => Arc::clone(&last.beside),
                        _ => Arc::new(beside),
                    };
                    steps.push(Step {
                        change: change.clone(),
                        notes: log.len(),
                        beside,
                    });
                })));
                for stage in Stage::ALL {
                    if !stage.opens() {
                        app.open();
                    }
                    stage.play(&app).await;
                    app.close();
                    app.world.pass(Duration::from_secs(1)).await;
                }
                disk.faults.watch(None);
                tape.notes = app.log.all();
                tape.elapsed = began.elapsed();
            }
        });
        vfs::forget(&database(folder.path()));
        tape.steps = std::mem::take(&mut *steps.lock().unwrap());
        tape
    }

    /// Shows the moment after each change: as late as possible, when most is acknowledged.
    pub fn each(&self, mut show: impl FnMut(usize, &Medium, &Moment)) {
        let mut medium = Medium::default();
        let mut moment = Moment {
            beside: Arc::default(),
            notes: Vec::new(),
            elapsed: self.elapsed,
        };
        for (n, step) in self.steps.iter().enumerate() {
            medium.apply(&step.change);
            let (notes, beside) = match self.steps.get(n + 1) {
                Some(next) => (next.notes, &next.beside),
                None => (self.notes.len(), &step.beside),
            };
            let new = moment.notes.len()..notes;
            moment.notes.extend_from_slice(&self.notes[new]);
            moment.beside = Arc::clone(beside);
            show(n, &medium, &moment);
        }
    }

    /// True if the next change brings something to the medium, or if there is none.
    pub fn is_last_before_sync(&self, n: usize) -> bool {
        let next = self.steps.get(n + 1).map(|step| &step.change);
        matches!(
            next,
            None | Some(Change::Synced(_) | Change::Deleted { .. })
        )
    }
}
