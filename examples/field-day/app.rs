//! The app in the foreground: makes everything offline and delivers nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Effect, LanePolicy, Limits, ListFilter, ListState, Outbox, OutboxConfig, OutboxError,
    PageRequest, PartSource, PartTarget, ServerProfile, SignOut, Submission, SubmissionId,
    default_limits,
};

use crate::failure::{Failure, trouble};
use crate::plan::{FINDINGS, Inspection};

/// The library's defaults, with some times shortened so that a day fits into a minute.
pub fn limits() -> Limits {
    Limits {
        quiet_time: Some(Duration::from_millis(600)),
        request_timeout: Duration::from_secs(5),
        backoff_first: Duration::from_millis(100),
        backoff_most: Duration::from_millis(800),
        ..default_limits()
    }
}

pub fn config(folder: &str, base_url: &str) -> OutboxConfig {
    let database = PathBuf::from(folder).join("app").join("outbox.sqlite3");
    OutboxConfig::at(database.to_string_lossy())
        .base_url(base_url)
        .limits(limits())
        // Half an answer to a record has no ID in it; this server gives the whole one again.
        .profile(ServerProfile {
            replays_success: true,
            ..ServerProfile::standard()
        })
}

/// Where the placeholder for the record's ID stands.
const ID: &str = "{inspection}";

pub struct App {
    pub outbox: Arc<Outbox>,
    photos: PathBuf,
}

impl App {
    pub fn open(folder: &str, base_url: &str) -> Result<Self, Failure> {
        let photos = PathBuf::from(folder).join("camera");
        std::fs::create_dir_all(&photos).map_err(|error| trouble("the photos' folder", error))?;
        let outbox = Outbox::open(config(folder, base_url))
            .map_err(|error| trouble("the outbox did not open", error))?;
        Ok(Self { outbox, photos })
    }

    pub fn hand_over_to(&self, inspector: &str) -> Result<(), Failure> {
        let failed = |error| trouble("changing hands", error);
        self.outbox.sign_out(SignOut::Keep).map_err(failed)?;
        self.outbox.sign_in(inspector.to_owned()).map_err(failed)
    }

    /// Makes an inspection with its findings and its photo. The button is hammered: each is submitted
    /// twice.
    pub fn inspect(&self, inspection: Inspection) -> Result<(), Failure> {
        self.try_inspect(inspection)
            .map_err(|error| trouble("an inspection was refused", error))
    }

    fn try_inspect(&self, of: Inspection) -> Result<(), OutboxError> {
        let number = of.number;
        let record = Submission::post(self.id(of, "record")?, &of.path())
            .json(format!(r#"{{"inspection":{number}}}"#))
            .account(of.inspector)
            .lane(of.lane())
            .lane_policy(LanePolicy::Block);
        self.twice(&record)?;
        for finding in 0..FINDINGS {
            let id = self.id(of, &format!("finding {finding}"))?;
            let child = Submission::post(id, &of.finding_path(finding, ID))
                .json(format!(r#"{{"finding":{finding}}}"#))
                .account(of.inspector);
            self.twice(&needs(child, record.id))?;
        }
        let photo = self.photos.join(format!("{number}.jpg"));
        std::fs::write(&photo, of.photo()).map_err(|_| OutboxError::Closed)?;
        let child = Submission::post(self.id(of, "photo")?, &of.photo_path(ID))
            .file("image/jpeg", photo.to_string_lossy())
            .account(of.inspector);
        self.twice(&needs(child, record.id))
    }

    /// Saves the draft of a report once more.
    pub fn save_draft(&self, of: Inspection, save: usize) -> Result<(), Failure> {
        self.id(of, &format!("save {save}"))
            .and_then(|id| {
                let draft = Submission::new(id, "PUT", &of.draft_path())
                    .json(of.draft_body(save))
                    .account(of.inspector)
                    .effect(Effect::Overwrite)
                    .replaces(format!("draft/{}", of.number));
                self.twice(&draft)
            })
            .map_err(|error| trouble("a draft was refused", error))
    }

    fn id(&self, of: Inspection, what: &str) -> Result<SubmissionId, OutboxError> {
        self.outbox.begin(format!("{} {what}", of.number))
    }

    fn twice(&self, submission: &Submission) -> Result<(), OutboxError> {
        for _ in 0..2 {
            self.outbox.submit(submission.clone())?;
        }
        Ok(())
    }

    /// How many of an inspector's submissions are in a state.
    pub fn count(&self, inspector: &str, state: ListState) -> Result<u64, Failure> {
        let filter = ListFilter {
            account: Some(inspector.to_owned()),
            ..ListFilter::of(state)
        };
        let (mut after, mut count) = (0, 0);
        loop {
            let page = PageRequest {
                after,
                limit: 1_000,
            };
            let page = self
                .outbox
                .list(filter.clone(), page)
                .map_err(|error| trouble("the list", error))?;
            count += page.snapshots.len() as u64;
            match page.next {
                Some(next) => after = next,
                None => return Ok(count),
            }
        }
    }
}

/// The ID that the server gives the record goes into the path.
fn needs(child: Submission, record: SubmissionId) -> Submission {
    let from = PartSource::JsonPointer {
        pointer: "/effect".to_owned(),
    };
    let into = PartTarget::Path {
        placeholder: ID.to_owned(),
    };
    child.part(record, from, into)
}
