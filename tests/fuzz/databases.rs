//! Bytes of databases: a damaged file is refused or salvaged, and never sends what was not accepted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    Effect, ListFilter, OpenError, Outbox, OutboxError, PageRequest, Submission, SubmissionId,
    WireBody,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, order, simulate, status, unreachable};
use crate::engine::fuzz;

const PAGE: usize = 4_096;

/// What was accepted under a key.
#[derive(Clone)]
struct Accepted {
    url: String,
    body: String,
    is_final: bool,
}

/// A database with submissions in many states, as its files, and what is in it.
#[derive(Clone, Default)]
struct Original {
    files: Vec<(String, Vec<u8>)>,
    accepted: HashMap<String, Accepted>,
}

fn original() -> Original {
    let place = Place::in_memory();
    let kept = Arc::new(Mutex::new(Original::default()));
    let out = Arc::clone(&kept);
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let accepted = fill(&world, &outbox).await;
        outbox.close();
        let mut original = out.lock().unwrap();
        original.accepted = accepted;
        for file in std::fs::read_dir(place.folder()).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                original.files.push((name, std::fs::read(path).unwrap()));
            }
        }
    });
    let original = kept.lock().unwrap().clone();
    assert!(original.accepted.values().any(|one| one.is_final));
    original
}

async fn fill(world: &World, outbox: &Arc<Outbox>) -> HashMap<String, Accepted> {
    let mut all: Vec<Submission> = Vec::new();
    let mut submit = |submission: Submission| {
        outbox.submit(submission.clone()).unwrap();
        all.push(submission);
    };
    // Succeeded, rejected, in doubt, held, cancelled.
    let plays = [status(201), status(422), lost(), status(412), unreachable()];
    for (n, play) in plays.into_iter().enumerate() {
        world.network.play([play]);
        submit(order(outbox, &format!("ended {n}")));
        drain(outbox).await;
    }
    let cancelled = order(outbox, "cancelled");
    submit(cancelled.clone());
    outbox.cancel(cancelled.id).unwrap();
    for n in 0..6 {
        submit(order(outbox, &format!("free {n}")));
        submit(order(outbox, &format!("queued {n}")).lane("lane"));
    }
    let id = outbox.begin("draft".to_owned()).unwrap();
    let draft = Submission::post(id, "/drafts").json(r#"{"draft":1}"#);
    submit(draft.header("x-app", "1").effect(Effect::Keyed));
    let of = |submission: Submission| {
        let snapshot = outbox.snapshot(submission.id).unwrap();
        let submit_once::Body::Json { text } = submission.body else {
            panic!("all are JSON");
        };
        let accepted = Accepted {
            url: snapshot.url,
            body: text,
            is_final: snapshot.state.is_final(),
        };
        (submission.id.to_string(), accepted)
    };
    all.into_iter().map(of).collect()
}

/// What an input makes of a file: the bytes after `raw:` are all of it; else it is edited, six bytes for
/// each edit.
fn damage(file: &mut Vec<u8>, input: &[u8]) {
    if let Some(raw) = input.strip_prefix(b"raw:") {
        *file = raw.to_vec();
        return;
    }
    for edit in input.chunks_exact(6) {
        let [kind, a, b, c, value, other] = edit.try_into().unwrap();
        let place = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let Some(at) = place.checked_rem(file.len()) else {
            return;
        };
        let page = at / PAGE * PAGE;
        let page = page..(page + PAGE).min(file.len());
        match kind % 16 {
            0..8 => file[at] ^= value,
            8..11 => file[at] = value,
            11 => file.truncate(at),
            12 => file[page].fill(0),
            13 => {
                let from = usize::from(other) * PAGE % file.len();
                let copied = file[from..(from + PAGE).min(file.len())].to_vec();
                let end = (page.start + copied.len()).min(file.len());
                file[page.start..end].copy_from_slice(&copied[..end - page.start]);
            }
            14 => {
                // In the first page's header, where every reader begins.
                let end = file.len().min(100);
                file[at % end] = value;
            }
            _ => file.extend_from_slice(&[value; 64]),
        }
    }
}

/// The name of the file that an input is about, and the rest of it.
fn target(input: &[u8]) -> (&'static str, &[u8]) {
    match input.strip_prefix(b"log:") {
        Some(rest) => ("outbox.sqlite3-wal", rest),
        None => ("outbox.sqlite3", input),
    }
}

fn lay(folder: &Path, original: &Original, input: &[u8]) {
    let (target, edits) = target(input);
    for (name, bytes) in &original.files {
        let mut bytes = bytes.clone();
        if name == target {
            damage(&mut bytes, edits);
        }
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Only typed errors, whatever is read.
fn look(outbox: &Outbox, ids: impl Iterator<Item = SubmissionId>) {
    let fine = |error: OutboxError| {
        assert!(
            matches!(
                error,
                OutboxError::Storage { .. } | OutboxError::UnknownId { .. }
            ),
            "{error:?}"
        );
    };
    drop(
        outbox
            .list(ListFilter::all(), PageRequest::default())
            .map_err(fine),
    );
    drop(outbox.changes(0, 1_000).map_err(fine));
    drop(outbox.stats().map_err(fine));
    for id in ids {
        drop(outbox.snapshot(id).map_err(fine));
    }
}

fn try_one(original: &Original, input: &[u8]) -> Ended {
    let place = Place::in_memory();
    lay(&place.folder(), original, input);
    let ended = Arc::new(Mutex::new(Ended::Refused));
    let out = Arc::clone(&ended);
    let accepted = original.accepted.clone();
    simulate(2, |world| async move {
        let opened = Outbox::open_with(world.config(&place), world.seams());
        assert!(place.database().exists(), "it was deleted");
        let outbox = match opened {
            Ok(outbox) => outbox,
            Err(
                OpenError::Storage { .. }
                | OpenError::NotAnOutbox { .. }
                | OpenError::SchemaTooNew { .. },
            ) => return,
            Err(other) => panic!("{other:?}"),
        };
        let salvaged = outbox.open_report().salvaged;
        if let Some(salvage) = &salvaged {
            assert!(
                Path::new(&salvage.kept_at).exists(),
                "the damaged file is kept"
            );
        }
        let ids = || accepted.keys().map(|id| SubmissionId::parse(id).unwrap());
        look(&outbox, ids());
        for _ in 0..3 {
            // A database that can't be used says so.
            let budget = submit_once::DrainBudget::of(Duration::from_secs(60));
            if let Err(error) = outbox.drain(budget).await {
                assert!(matches!(error, OutboxError::Storage { .. }), "{error:?}");
            }
            world.pass(Duration::from_secs(60)).await;
        }
        look(&outbox, ids());
        check_sent(&world, &accepted);
        outbox.close();
        *out.lock().unwrap() = match salvaged {
            Some(_) => Ended::Salvaged,
            None => Ended::Opened,
        };
    });
    *ended.lock().unwrap()
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Ended {
    Opened,
    Salvaged,
    Refused,
}

/// Every request is one that was accepted, byte for byte, and none of what had ended.
fn check_sent(world: &World, accepted: &HashMap<String, Accepted>) {
    for seen in world.network.seen() {
        let request = &seen.request;
        let key = request
            .headers
            .iter()
            .find(|header| header.name == "idempotency-key");
        let key = &key.unwrap().value;
        let one = accepted
            .get(key)
            .unwrap_or_else(|| panic!("nobody accepted {key}"));
        let WireBody::Bytes(bytes) = &request.body else {
            panic!("a file");
        };
        assert_eq!(bytes.as_ref(), one.body.as_bytes(), "other bytes");
        assert_eq!(request.url, one.url, "another URL");
        assert_eq!(request.method, "POST", "another method");
        assert!(!one.is_final, "it had ended, and was sent again");
    }
}

#[test]
fn a_damaged_database_sends_nothing_that_was_not_accepted() {
    let original = original();
    let mut ends: HashMap<Ended, u64> = HashMap::new();
    fuzz("databases", "damaged databases", 500, |input| {
        *ends.entry(try_one(&original, input)).or_default() += 1;
    });
    for end in [Ended::Opened, Ended::Salvaged, Ended::Refused] {
        let count = ends.get(&end).copied().unwrap_or_default();
        assert!(count > 20, "{end:?} {count} times only");
    }
}
