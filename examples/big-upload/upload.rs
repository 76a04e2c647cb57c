//! One upload: submit the file, deliver it, and say how much memory it took.

use std::fmt;
use std::time::Duration;

use submit_once::{
    Body, DrainBudget, Limits, Outbox, OutboxConfig, Submission, SubmissionId, SubmissionState,
};

use crate::Trouble;
use crate::args::Task;

/// What became of an upload.
pub struct Uploaded {
    pub succeeded: bool,
    /// The peak of the process's memory, where the system tells it.
    pub peak_kib: Option<u64>,
}

impl fmt::Display for Uploaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peak = self
            .peak_kib
            .map_or("-".to_owned(), |peak| peak.to_string());
        write!(f, "{} {peak}", self.succeeded)
    }
}

impl Uploaded {
    pub fn read(text: &str) -> Option<Self> {
        let (succeeded, peak) = text.split_once(' ')?;
        Some(Self {
            succeeded: succeeded.parse().ok()?,
            peak_kib: peak.parse().ok(),
        })
    }
}

pub fn run(task: &Task) -> Result<Uploaded, Trouble> {
    let path = task.database.to_str().ok_or("the path is not UTF-8")?;
    // Short waits: the server that cuts is our own, and the file is what takes the time.
    let limits = Limits {
        quiet_time: Some(Duration::from_millis(200)),
        backoff_first: Duration::from_millis(50),
        backoff_most: Duration::from_millis(400),
        ..Limits::default()
    };
    let config = OutboxConfig::at(path).base_url(&task.base).limits(limits);
    let outbox = Outbox::open(config)?;
    let id = SubmissionId::parse(&task.id)?;
    let mut photo = Submission::post(id, "/photos");
    photo.body = Body::File {
        content_type: "application/octet-stream".to_owned(),
        path: task
            .file
            .to_str()
            .ok_or("the path is not UTF-8")?
            .to_owned(),
    };
    outbox.submit(photo)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let budget = DrainBudget::of(Duration::from_secs(600));
    loop {
        let report = runtime.block_on(outbox.drain(budget))?;
        let snapshot = outbox.snapshot(id)?;
        if snapshot.state.is_final() || matches!(snapshot.state, SubmissionState::Held { .. }) {
            return Ok(Uploaded {
                succeeded: snapshot.state == SubmissionState::Succeeded,
                peak_kib: peak_kib(),
            });
        }
        // Between two attempts there is a wait, and the drain has told until when.
        let wake = report.next_wake_at.ok_or("nothing is left to do")?;
        std::thread::sleep(
            wake.duration_since(std::time::SystemTime::now())
                .unwrap_or_default(),
        );
    }
}

/// The high-water mark of this process's resident memory (Linux).
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
