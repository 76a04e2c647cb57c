//! A database with submissions in many states, and its files as bytes, to be laid down anywhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Body, DrainBudget, Effect, Limits, OpenError, Outbox, OutboxConfig, OutboxError, PartSource,
    PartTarget, Snapshot, StorageError, Submission, SubmissionId,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, status};
use crate::judge::{Accepted, Expected};

/// Files and their bytes, by their path in the folder.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What was in the database, and its files at two moments.
pub struct Base {
    pub accepted: Accepted,
    /// How each stood at last.
    pub all: Vec<Snapshot>,
    /// Closed, and checkpointed into one file.
    pub closed: Files,
    /// As a power cut would leave them: the later half is in the log.
    pub live: Files,
}

/// Takes bodies of a kilobyte as large ones, so that there is a file for one.
pub fn config(world: &World, place: &Place) -> OutboxConfig {
    world.config(place).limits(Limits {
        inline_body_bytes: 1_000,
        ..Limits::default()
    })
}

fn with_part(outbox: &Outbox, parent: &Submission, slot: &str) -> Submission {
    let from = PartSource::JsonPointer {
        pointer: "/n".to_owned(),
    };
    let into = PartTarget::Json {
        pointer: "/of".to_owned(),
    };
    plain(outbox, slot, "{}").part(parent.id, from, into)
}

fn plain(outbox: &Outbox, slot: &str, body: &str) -> Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    Submission::post(id, &format!("/orders?of={slot}"))
        .json(body)
        .header("X-Note", &format!("the note of {slot}"))
}

fn expected(submission: &Submission) -> Expected {
    let (content_type, body) = match submission.body.clone() {
        Body::Json { text } => ("application/json".to_owned(), text.into_bytes()),
        Body::Bytes {
            content_type,
            bytes,
        } => (content_type, bytes),
        Body::File { .. } | Body::Empty => panic!("another kind of body"),
    };
    Expected {
        url: format!("https://api.example.com{}", submission.url),
        content_type,
        note: submission.headers[0].value.clone(),
        body,
    }
}

impl Base {
    /// Of each kind a few: settled, refused, in doubt, waiting, in a lane, replaced, with a file, with a
    /// part of another's result.
    pub async fn new(world: &World) -> Self {
        let place = Place::in_memory();
        let mut accepted: BTreeMap<String, Expected> = BTreeMap::new();
        let outbox = Outbox::open_with(config(world, &place), world.seams()).unwrap();
        let mut take = |submission: Submission| {
            accepted.insert(submission.id.to_string(), expected(&submission));
            outbox.submit(submission).unwrap();
        };
        let numbered = |slot: &str, n: usize| {
            let body = format!(r#"{{"{slot}":"{}"}}"#, "x".repeat(40 * n));
            plain(&outbox, &format!("{slot}-{n}"), &body)
        };
        for n in 0..2 {
            take(numbered("settled", n));
        }
        drain(&outbox).await;
        world.network.play([status(422), lost()]);
        take(numbered("refused", 0));
        take(numbered("doubt", 0));
        let short = DrainBudget::of(Duration::from_millis(200));
        outbox.drain(short).await.unwrap();
        for n in 0..3 {
            take(numbered("early", n));
        }
        // What comes from here on is in the log alone.
        checkpoint(&place);
        for n in 0..3 {
            take(numbered("late", n));
        }
        for n in 0..2 {
            take(numbered("lane", n).lane("lane"));
        }
        for n in 0..2 {
            let draft = numbered("draft", n).effect(Effect::Overwrite);
            take(draft.replaces("draft"));
        }
        take(numbered("large", 0).bytes("image/jpeg", vec![b'L'; 3_000]));
        let parent = numbered("parent", 0);
        let child = with_part(&outbox, &parent, "child");
        let child_key = child.id.to_string();
        take(parent);
        take(child);
        // The number is that of the parent's result.
        accepted.get_mut(&child_key).unwrap().body = br#"{"of":1}"#.to_vec();
        let all = accepted
            .keys()
            .map(|key| outbox.snapshot(SubmissionId::parse(key).unwrap()).unwrap())
            .collect();
        let live = files(&place);
        outbox.close();
        checkpoint(&place);
        Self {
            accepted: Arc::new(accepted),
            all,
            closed: files(&place),
            live,
        }
    }

    /// The same, with how each stands now.
    pub fn with_states_of(self, outbox: &Outbox) -> Self {
        let all = self.all.iter().map(|one| outbox.snapshot(one.id).unwrap());
        Self {
            all: all.collect(),
            ..self
        }
    }
}

pub fn checkpoint(place: &Place) {
    place
        .sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

/// The files in the folder, but those of locks and of the ballast.
pub fn files(place: &Place) -> Files {
    let mut files = Files::new();
    gather(&place.folder(), Path::new(""), &mut files);
    files.retain(|path, _| {
        let text = path.to_str().unwrap();
        !text.ends_with("-shm") && !text.ends_with("-ballast") && !text.contains("-owners")
    });
    files
}

fn gather(folder: &Path, below: &Path, files: &mut Files) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let below = below.join(entry.file_name());
        if entry.path().is_dir() {
            gather(&entry.path(), &below, files);
        } else {
            files.insert(below, std::fs::read(entry.path()).unwrap());
        }
    }
}

pub fn lay(files: &Files, place: &Place) {
    for (path, bytes) in files {
        let path = place.folder().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Opens it. What is only met by reading is salvaged by the next opening.
pub fn open(world: &World, place: &Place, base: &Base) -> Result<Arc<Outbox>, OpenError> {
    let try_open = || Outbox::open_with(config(world, place), world.seams());
    let outbox = try_open()?;
    let mut reads = base.all.iter().map(|one| outbox.snapshot(one.id).err());
    if reads.by_ref().flatten().any(|error| is_damage(&error)) {
        outbox.close();
        return try_open();
    }
    Ok(outbox)
}

fn is_damage(error: &OutboxError) -> bool {
    matches!(
        error,
        OutboxError::Storage {
            storage: StorageError::Corrupt { .. }
        }
    )
}
