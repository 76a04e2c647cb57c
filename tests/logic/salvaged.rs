//! P11: a damaged database is salvaged with its keys, kept as it is, and said to be damaged. Files
//! are broken here as media break them: cut, bits flipped, pages of zeros (F88, F105).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    HoldReason, ListFilter, OpenError, Outbox, OutboxError, PageRequest, Resolution, Snapshot,
    StorageError, SubmissionId, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, keys, lost, order, simulate};

const PAGE: usize = 4_096;

/// A closed database, in one file, and what was in it.
struct Whole {
    bytes: Vec<u8>,
    high_water: Vec<u8>,
    all: Vec<Snapshot>,
}

impl Whole {
    /// Of some hundred submissions a third have succeeded, the first of the rest is in doubt, and
    /// nothing else was sent.
    async fn new(world: &World, count: usize) -> Self {
        let place = Place::new();
        let outbox = world.open(&place);
        for n in 0..count / 3 {
            outbox.submit(order(&outbox, &format!("old {n}"))).unwrap();
        }
        drain(&outbox).await;
        outbox.submit(order(&outbox, "in doubt")).unwrap();
        world.network.play([lost()]);
        let budget = submit_once::DrainBudget::of(Duration::from_millis(200));
        outbox.drain(budget).await.unwrap();
        for n in count / 3 + 1..count {
            outbox.submit(order(&outbox, &format!("new {n}"))).unwrap();
        }
        let all: Vec<Snapshot> = everything(&outbox)
            .unwrap()
            .iter()
            .map(|one| outbox.snapshot(one.id).unwrap())
            .collect();
        assert_eq!(all.len(), count);
        outbox.close();
        checkpoint(&place);
        Self {
            bytes: fs::read(place.database()).unwrap(),
            high_water: fs::read(place.folder().join("outbox.sqlite3-highwater")).unwrap(),
            all,
        }
    }

    fn ids(&self) -> Vec<SubmissionId> {
        self.all.iter().map(|one| one.id).collect()
    }

    /// A place with these bytes as its database, and no log.
    fn place(&self, bytes: &[u8]) -> Place {
        let place = Place::new();
        fs::write(place.database(), bytes).unwrap();
        fs::write(
            place.folder().join("outbox.sqlite3-highwater"),
            &self.high_water,
        )
        .unwrap();
        place
    }

    /// The page that a table begins with.
    fn root(&self, table: &str) -> usize {
        root(&self.place(&self.bytes), table)
    }
}

fn root(place: &Place, table: &str) -> usize {
    let root: u32 = place
        .sql()
        .query_row(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
            [table],
            |row| row.get(0),
        )
        .unwrap();
    root as usize - 1
}

fn checkpoint(place: &Place) {
    place
        .sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
}

fn everything(outbox: &Outbox) -> Result<Vec<Snapshot>, OutboxError> {
    let page = PageRequest {
        limit: 1_000,
        ..PageRequest::default()
    };
    let page = outbox.list(ListFilter::default(), page)?;
    Ok(page.snapshots)
}

fn zero(bytes: &mut [u8], page: usize) {
    bytes[page * PAGE..(page + 1) * PAGE].fill(0);
}

fn try_open(world: &World, place: &Place) -> Result<Arc<Outbox>, OpenError> {
    Outbox::open_with(world.config(place), world.seams())
}

fn is_damage(error: &OutboxError) -> bool {
    matches!(
        error,
        OutboxError::Storage {
            storage: StorageError::Corrupt { .. }
        }
    )
}

fn damaged_files(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.folder()).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains(".damaged-"))
        .collect();
    files.sort();
    files
}

/// Opens a damaged file, and once more if the damage is only met by reading. What is there at last,
/// or the refusal; and the bytes that the last opening found.
fn open_damaged(
    world: &World,
    place: &Place,
    ids: &[SubmissionId],
) -> (Result<Arc<Outbox>, OpenError>, Vec<u8>) {
    let before = fs::read(place.database()).unwrap();
    let outbox = match try_open(world, place) {
        Err(error) => return (Err(error), before),
        Ok(outbox) => outbox,
    };
    if outbox.open_report().salvaged.is_some() {
        return (Ok(outbox), before);
    }
    // One value that can't be read isn't damage to SQLite: its row is put aside when its turn comes.
    let reads = std::iter::once(everything(&outbox).err())
        .chain(ids.iter().map(|id| outbox.snapshot(*id).err()));
    let error = reads
        .flatten()
        .find(|error| is_damage(error) || matches!(error, OutboxError::UnknownId { .. }));
    let Some(error) = error else {
        return (Ok(outbox), before);
    };
    if !is_damage(&error) {
        // A page that leads elsewhere looks whole to SQLite; only a check of the whole file finds it.
        // The mark asks for one.
        fs::write(place.folder().join("outbox.sqlite3-suspect"), "").unwrap();
    }
    outbox.close();
    let before = fs::read(place.database()).unwrap();
    let outbox = try_open(world, place).unwrap();
    assert!(outbox.open_report().salvaged.is_some(), "{error:?}");
    (Ok(outbox), before)
}

/// What must hold after damage of any kind. Returns whether it was salvaged.
async fn check(world: &World, whole: &Whole, bytes: &[u8], what: &str) -> bool {
    let place = whole.place(bytes);
    let (opened, before) = open_damaged(world, &place, &whole.ids());
    let outbox = match opened {
        Ok(outbox) => outbox,
        Err(error) => {
            assert_eq!(fs::read(place.database()).unwrap(), before, "{what}");
            assert!(damaged_files(&place).is_empty(), "{what}: {error:?}");
            let typed = matches!(
                error,
                OpenError::NotAnOutbox { .. } | OpenError::SchemaTooNew { .. }
            );
            assert!(typed, "{what}: {error:?}");
            return false;
        }
    };
    let report = outbox.open_report();
    let mut gone = 0;
    for one in &whole.all {
        match outbox.snapshot(one.id) {
            Ok(found) => assert_eq!(found.id, one.id, "{what}"),
            Err(OutboxError::UnknownId { .. }) => gone += 1,
            // One row that can't be read, told so.
            Err(error) => assert!(matches!(error, OutboxError::Storage { .. }), "{error:?}"),
        }
    }
    let told = report
        .salvaged
        .as_ref()
        .map_or(0, |salvage| salvage.damaged);
    assert!(
        gone <= told || report.lost_changes > 0,
        "{what}: {gone} are gone, {told} were told, {report:?}"
    );
    let sent = world.network.seen().len();
    let budget = || submit_once::DrainBudget::of(Duration::from_secs(3_600));
    let drained = outbox.drain(budget()).await;
    if drained.is_ok() {
        // What was in doubt waits for the server before it goes on.
        world.pass(Duration::from_secs(60)).await;
        outbox.drain(budget()).await.ok();
    }
    let mut sent = keys(world, sent);
    if let Some(salvage) = &report.salvaged {
        drained.unwrap();
        assert_eq!(sent, Vec::<String>::new(), "{what}: without a decision");
        assert_eq!(fs::read(&salvage.kept_at).unwrap(), before, "{what}");
        assert_eq!(damaged_files(&place)[0], Path::new(&salvage.kept_at));
        let integrity: String = place
            .sql()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(integrity, "ok", "{what}");
    } else {
        for key in &sent {
            let id = SubmissionId::parse(key).unwrap();
            let was = whole.all.iter().find(|one| one.id == id);
            let was = was.unwrap_or_else(|| panic!("{what}: {key} was never accepted"));
            assert_eq!(was.state, SubmissionState::Pending, "{what}");
        }
        let count = sent.len();
        sent.sort();
        sent.dedup();
        assert_eq!(sent.len(), count, "{what}: sent twice");
    }
    outbox.close();
    report.salvaged.is_some()
}

/// F88: no damage makes it panic, or start empty as if nothing had been there.
#[test]
fn damage_of_any_kind_at_any_place_loses_nothing_silently() {
    simulate(1, |world| async move {
        let whole = Whole::new(&world, 90).await;
        let pages = whole.bytes.len() / PAGE;
        let random = |below: usize| (world.entropy.next() % below as u64) as usize;
        let mut salvaged = 0;
        for seed in 0..30 {
            let mut bytes = whole.bytes.clone();
            let what = match seed % 5 {
                0 => {
                    let at = random(bytes.len());
                    bytes[at] ^= 1 << random(8);
                    format!("bit at {at}")
                }
                1 => {
                    // Where it matters most: in the head of a page.
                    let at = random(pages) * PAGE + random(12);
                    bytes[at] = bytes[at].wrapping_add(1 + random(255) as u8);
                    format!("head at {at}")
                }
                2 => {
                    let page = random(pages);
                    zero(&mut bytes, page);
                    format!("page {page}")
                }
                3 => {
                    let many: Vec<usize> = (0..pages / 4).map(|_| random(pages)).collect();
                    for page in &many {
                        zero(&mut bytes, *page);
                    }
                    format!("pages {many:?}")
                }
                _ => {
                    let length = 100 + random(bytes.len() - 100);
                    bytes.truncate(length);
                    format!("cut at {length}")
                }
            };
            salvaged += usize::from(check(&world, &whole, &bytes, &what).await);
        }
        assert!(salvaged > 10, "{salvaged}");
    });
}

/// The first page leads to all others.
#[test]
fn a_lost_first_page_loses_no_submission() {
    simulate(2, |world| async move {
        let whole = Whole::new(&world, 60).await;
        let mut header = whole.bytes.clone();
        header[..100].fill(0);
        let mut page = whole.bytes.clone();
        zero(&mut page, 0);
        for bytes in [header, page] {
            let place = whole.place(&bytes);
            let outbox = world.open(&place);
            let report = outbox.open_report();
            let salvage = report.salvaged.unwrap();
            assert_eq!((salvage.submissions, salvage.damaged), (60, 0));
            assert_eq!(report.lost_changes, 0);
            assert!(!report.created);
            for one in &whole.all {
                let found = outbox.snapshot(one.id).unwrap();
                assert_eq!(found.state, one.state);
                assert_eq!(found.url, one.url);
                assert_eq!(found.outcome, one.outcome, "results are saved too");
            }
        }
    });
}

/// What is saved is sent under the key that it had, once it is decided, and once.
#[test]
fn what_was_saved_is_sent_with_its_key_after_a_decision() {
    simulate(3, |world| async move {
        let whole = Whole::new(&world, 60).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("meta"));
        let place = whole.place(&bytes);
        let outbox = world.open(&place);
        assert!(outbox.open_report().salvaged.is_some());
        let before = world.network.seen().len();
        drain(&outbox).await;
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), before);
        let mut expected = Vec::new();
        for one in everything(&outbox).unwrap() {
            let held = SubmissionState::Held {
                reason: HoldReason::OutcomeUnknown,
            };
            if one.state == held {
                let retry = Resolution::RetrySameKey {
                    accept_second_effect: true,
                };
                outbox.resolve(one.id, one.revision, retry).unwrap();
                expected.push(one.id.to_string());
            }
        }
        assert_eq!(expected.len(), 40);
        drain(&outbox).await;
        world.pass(Duration::from_secs(60)).await;
        drain(&outbox).await;
        let mut sent = keys(&world, before);
        sent.sort();
        expected.sort();
        assert_eq!(sent, expected);
        // From here on it is a database as any other.
        let new = order(&outbox, "after");
        world.pass(Duration::from_secs(1)).await;
        outbox.submit(new.clone()).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        assert_eq!(outbox.open_report().salvaged, None);
        assert_eq!(outbox.open_report().lost_changes, 0);
    });
}

/// The rows of requests are gone, those of submissions are there: held, and not sent.
#[test]
fn a_submission_whose_request_is_lost_is_held_as_damaged() {
    simulate(4, |world| async move {
        let whole = Whole::new(&world, 60).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("request"));
        let place = whole.place(&bytes);
        let (opened, _) = open_damaged(&world, &place, &whole.ids());
        let outbox = opened.unwrap();
        let salvage = outbox.open_report().salvaged.unwrap();
        assert_eq!((salvage.submissions, salvage.damaged), (60, 60));
        for one in &whole.all {
            let found = outbox.snapshot(one.id).unwrap();
            if one.state == SubmissionState::Pending {
                let damaged = SubmissionState::Held {
                    reason: HoldReason::Damaged,
                };
                assert_eq!(found.state, damaged);
                assert!(found.in_doubt);
            } else {
                assert_eq!(found.outcome, one.outcome);
            }
        }
    });
}

/// Of rows that are lost, the index and the feed still tell the IDs: they don't begin again.
#[test]
fn a_submission_of_which_only_the_id_is_left_is_not_taken_for_new() {
    simulate(5, |world| async move {
        let whole = Whole::new(&world, 60).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("submission"));
        let place = whole.place(&bytes);
        let (opened, _) = open_damaged(&world, &place, &whole.ids());
        let outbox = opened.unwrap();
        let salvage = outbox.open_report().salvaged.unwrap();
        assert_eq!((salvage.submissions, salvage.damaged), (0, 60));
        for one in &whole.all {
            let found = outbox.snapshot(one.id).unwrap();
            match one.state {
                SubmissionState::Succeeded => assert_eq!(found.state, one.state),
                _ => assert_eq!(
                    found.state,
                    SubmissionState::Held {
                        reason: HoldReason::Damaged
                    }
                ),
            }
            let again = submit_once::Submission::post(one.id, "/orders").json("{}");
            let refused = outbox.submit(again).unwrap_err();
            assert!(
                matches!(refused, OutboxError::KeyReused { .. }),
                "{refused:?}"
            );
        }
    });
}

/// The log is damaged while nobody has the database open: what was in it is said to be lost.
#[test]
fn a_damaged_log_is_reported_as_loss() {
    let place = Place::new();
    simulate(6, |world| async move {
        let original = world.open(&place);
        for n in 0..20 {
            let slot = format!("{n}");
            original.submit(order(&original, &slot)).unwrap();
        }
        // As a power cut leaves them.
        let copied = Place::new();
        for suffix in ["", "-wal", "-highwater"] {
            let name = format!("outbox.sqlite3{suffix}");
            fs::copy(place.folder().join(&name), copied.folder().join(&name)).unwrap();
        }
        original.close();
        let log = copied.folder().join("outbox.sqlite3-wal");
        let mut bytes = fs::read(&log).unwrap();
        let middle = bytes.len() * 3 / 4;
        bytes[middle] ^= 1;
        fs::write(&log, bytes).unwrap();
        let outbox = world.open(&copied);
        assert!(!everything(&outbox).unwrap().is_empty());
        assert!(outbox.open_report().lost_changes > 0);
        drain(&outbox).await;
        assert_eq!(world.network.seen().len(), 0, "in doubt, all that is left");
    });
}

/// Somebody has the file open: it isn't moved away under them.
#[test]
fn a_database_that_is_open_elsewhere_is_not_salvaged() {
    let place = Place::new();
    simulate(7, |world| async move {
        let other = world.open_apart(&place);
        other.submit(order(&other, "form")).unwrap();
        let whole = fs::read(place.database()).unwrap();
        let mut bytes = whole.clone();
        bytes[..16].fill(0);
        fs::write(place.database(), &bytes).unwrap();
        let error = try_open(&world, &place).unwrap_err();
        let busy = OpenError::Storage {
            storage: StorageError::Busy,
        };
        assert_eq!(error, busy);
        assert_eq!(fs::read(place.database()).unwrap(), bytes);
        assert!(damaged_files(&place).is_empty());
        fs::write(place.database(), &whole).unwrap();
        other.close();
    });
}

/// No room for the copy: a typed error, and everything stays where it is.
#[test]
fn a_salvage_that_finds_no_room_moves_nothing() {
    simulate(8, |world| async move {
        let whole = Whole::new(&world, 30).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("meta"));
        let place = whole.place(&bytes);
        let world = World {
            vfs: Some(crate::common::vfs::register()),
            ..world
        };
        let new = place.folder().join("outbox.sqlite3-salvage/new.sqlite3");
        fs::create_dir(new.parent().unwrap()).unwrap();
        let disk = crate::common::vfs::disk(&new);
        disk.full.store(true, std::sync::atomic::Ordering::SeqCst);
        let full = OpenError::Storage {
            storage: StorageError::Full,
        };
        assert_eq!(try_open(&world, &place).unwrap_err(), full);
        assert_eq!(fs::read(place.database()).unwrap(), bytes);
        assert!(damaged_files(&place).is_empty());
        disk.full.store(false, std::sync::atomic::Ordering::SeqCst);
        let outbox = try_open(&world, &place).unwrap();
        let salvage = outbox.open_report().salvaged.unwrap();
        assert_eq!(salvage.submissions, 30);
    });
}

/// Killed between any two steps: the next opening finishes it, or begins anew.
#[test]
fn a_salvage_that_was_killed_is_finished_by_the_next_opening() {
    simulate(9, |world| async move {
        let whole = Whole::new(&world, 30).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("meta"));
        // A whole run, stopped before its last step: its files are what each stage is made of.
        let staged = whole.place(&bytes);
        world.open(&staged).close();
        checkpoint(&staged);
        let new = fs::read(staged.database()).unwrap();
        let plan = r#"{"kept":1,"submissions":30,"damaged":0,"lost_changes":0}"#;
        for stage in 0..6 {
            let place = whole.place(&bytes);
            let folder = place.folder().join("outbox.sqlite3-salvage");
            let log = place.folder().join("outbox.sqlite3-wal");
            let kept = place.folder().join("outbox.sqlite3.damaged-1");
            let kept_log = place.folder().join("outbox.sqlite3.damaged-1-wal");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("new.sqlite3"), &new).unwrap();
            fs::write(&log, "").unwrap();
            match stage {
                // While the new file was being written.
                0 => fs::write(folder.join("new.sqlite3"), &new[..PAGE * 3]).unwrap(),
                // Before the plan was whole.
                1 => fs::write(folder.join("plan.part"), &plan[..9]).unwrap(),
                _ => fs::write(folder.join("plan"), plan).unwrap(),
            }
            if stage >= 3 {
                fs::rename(&log, &kept_log).unwrap();
            }
            if stage >= 4 {
                fs::rename(place.database(), &kept).unwrap();
            }
            if stage >= 5 {
                fs::rename(folder.join("new.sqlite3"), place.database()).unwrap();
            }
            let outbox = try_open(&world, &place).unwrap();
            let salvage = outbox.open_report().salvaged.unwrap();
            assert_eq!(salvage.kept_at, kept.to_str().unwrap(), "{stage}");
            assert_eq!(fs::read(&kept).unwrap(), bytes, "{stage}");
            assert!(!folder.exists(), "{stage}");
            assert_eq!(everything(&outbox).unwrap().len(), 30, "{stage}");
            let before = world.network.seen().len();
            drain(&outbox).await;
            assert_eq!(world.network.seen().len(), before, "{stage}");
            outbox.close();
            let outbox = try_open(&world, &place).unwrap();
            assert_eq!(outbox.open_report().salvaged, None, "{stage}");
        }
    });
}

/// A second damage is kept beside the first.
#[test]
fn each_damaged_file_is_kept() {
    simulate(10, |world| async move {
        let whole = Whole::new(&world, 30).await;
        let mut bytes = whole.bytes.clone();
        zero(&mut bytes, whole.root("meta"));
        let place = whole.place(&bytes);
        for n in 1..4 {
            let outbox = world.open(&place);
            let salvage = outbox.open_report().salvaged.unwrap();
            assert!(
                salvage
                    .kept_at
                    .ends_with(&format!("outbox.sqlite3.damaged-{n}"))
            );
            assert_eq!(salvage.submissions, 30);
            outbox.close();
            checkpoint(&place);
            let mut bytes = fs::read(place.database()).unwrap();
            zero(&mut bytes, whole.root("meta"));
            fs::write(place.database(), bytes).unwrap();
        }
    });
}

/// What was on the wire when the file broke was taken from a process that is gone.
#[test]
fn what_was_in_flight_is_taken_over() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        world.network.play([Play::HandOver { confirm: true }]);
        let draining = {
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { drain(&outbox).await })
        };
        world.pass(Duration::from_millis(10)).await;
        checkpoint(&place);
        let copied = Place::new();
        fs::copy(place.database(), copied.database()).unwrap();
        world.network.take().answered(answer(201, "{}"));
        draining.await.unwrap();
        let mut bytes = fs::read(copied.database()).unwrap();
        zero(&mut bytes, root(&copied, "meta"));
        fs::write(copied.database(), bytes).unwrap();
        let saved = world.open(&copied);
        drain(&saved).await;
        world.pass(Duration::from_secs(60)).await;
        drain(&saved).await;
        let found = saved.snapshot(order.id).unwrap();
        let held = SubmissionState::Held {
            reason: HoldReason::OutcomeUnknown,
        };
        assert_eq!(found.state, held);
        assert_eq!(world.network.sent(), 1);
    });
}
