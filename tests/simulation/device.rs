//! The device: its processes, which can be frozen and killed, and its disk.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use submit_once::{
    BoxFuture, Clock, Entropy, Executor, OpenError, Outbox, OutboxConfig, Seams, Transport,
};
use tempfile::TempDir;

use crate::common::sim::World;
use crate::common::vfs;
use crate::wire::{Net, Wire};

/// Whether a process runs.
#[derive(Default)]
pub struct Life {
    frozen: AtomicBool,
    dead: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Life {
    pub fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
    }

    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::SeqCst);
        self.wake();
    }

    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        for waker in self.waiting.lock().unwrap().drain(..) {
            waker.wake();
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::SeqCst)
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Completes when the process runs, or never will again.
    pub async fn runs(&self) {
        std::future::poll_fn(|context| {
            if self.is_frozen() && !self.is_dead() {
                self.waiting.lock().unwrap().push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

/// A task of a process: it stands still while that is frozen, and ends with it.
struct Task {
    future: BoxFuture<()>,
    life: Arc<Life>,
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.life.is_dead() {
            return Poll::Ready(());
        }
        if self.life.is_frozen() {
            let waker = context.waker().clone();
            self.life.waiting.lock().unwrap().push(waker);
            return Poll::Pending;
        }
        self.future.as_mut().poll(context)
    }
}

struct Tasks(Arc<Life>);

impl Executor for Tasks {
    fn spawn(&self, future: BoxFuture<()>) {
        drop(tokio::spawn(Task {
            future,
            life: Arc::clone(&self.0),
        }));
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn blocking(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

/// A process that has the file open.
pub struct Process {
    pub number: u64,
    pub outbox: Arc<Outbox>,
    pub life: Arc<Life>,
}

/// The device's storage, and what runs on it.
pub struct Device {
    pub world: World,
    pub net: Arc<Net>,
    pub folder: TempDir,
    /// The first is the app; a second one may run beside it.
    pub processes: Vec<Process>,
    pub config: OutboxConfig,
    started: u64,
}

pub fn fresh_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

impl Device {
    pub fn new(world: &World, net: &Arc<Net>, config: OutboxConfig) -> Self {
        Self {
            world: world.clone(),
            net: Arc::clone(net),
            folder: fresh_folder(),
            processes: Vec::new(),
            config,
            started: 0,
        }
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("outbox.sqlite3")
    }

    pub fn disk(&self) -> Arc<vfs::Disk> {
        vfs::disk(&self.database())
    }

    pub fn app(&self) -> &Process {
        &self.processes[0]
    }

    /// Starts one more process.
    pub fn open(&mut self) -> Result<(), OpenError> {
        self.started += 1;
        let life = Arc::new(Life::default());
        let seams = Seams {
            clock: Some(Arc::clone(&self.world.clock) as Arc<dyn Clock>),
            entropy: Some(Arc::clone(&self.world.entropy) as Arc<dyn Entropy>),
            executor: Some(Arc::new(Tasks(Arc::clone(&life)))),
            transport: Some(Arc::new(Wire {
                net: Arc::clone(&self.net),
                life: Arc::clone(&life),
                process: self.started,
            }) as Arc<dyn Transport>),
            vfs: Some(vfs::register()),
            apart: true,
        };
        let config = OutboxConfig {
            path: self.database().to_str().unwrap().to_owned(),
            ..self.config.clone()
        };
        let outbox = Outbox::open_with(config, seams)?;
        self.processes.push(Process {
            number: self.started,
            outbox,
            life,
        });
        Ok(())
    }

    /// Ends a process in order.
    pub fn close(&mut self, which: usize) {
        let process = self.processes.remove(which);
        process.life.thaw();
        process.outbox.close();
        self.net.hang_up(process.number);
        process.life.kill();
    }

    /// Every process dies at once. What they wrote is there; what they would have written now isn't:
    /// they are left behind with another copy of the files.
    pub fn crash(&mut self) {
        let after = fresh_folder();
        copy(self.folder.path(), after.path());
        for process in self.processes.drain(..) {
            self.net.hang_up(process.number);
            process.life.kill();
            process.outbox.close();
        }
        self.folder = after;
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let into = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&into).unwrap();
            copy(&entry.path(), &into);
        } else if !entry.file_name().to_str().unwrap().ends_with("-shm") {
            std::fs::copy(entry.path(), into).unwrap();
        }
    }
}
