//! Small, full and read-only disks. Each scenario runs this binary again in a mount namespace of its own,
//! with a small disk for its temporary files.

use std::fs;
use std::process::Command;

use submit_once::{OpenError, Outbox, OutboxError, StorageError};

use crate::base::{Base, checkpoint, config, lay, open};
use crate::common::Place;
use crate::common::sim::World;
use crate::scenarios::{ONE, is_whole, with_base};

/// Set in the process that has its own disk: where that is.
const DISK: &str = "SUBMIT_ONCE_SMALL_DISK";

/// Runs a scenario on a disk of so many kilobytes.
fn on_a_disk<F: Future<Output = ()>>(
    name: &str,
    kilobytes: u32,
    body: impl FnOnce(World, Base, Place) -> F,
) {
    if std::env::var_os(DISK).is_some() {
        return with_base(|world, base| async move { body(world, base, Place::new()).await });
    }
    let disk = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o size={kilobytes}k tmpfs \"${DISK}\" && touch \"${DISK}/mounted\" && exec \"$0\" \"$@\""
    );
    let test = "scenarios::whatever_happens_to_the_files_nothing_bad_is_sent";
    let run = Command::new("unshare")
        .args(["-rm", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(DISK, disk.path())
        .env("TMPDIR", disk.path())
        .env(ONE, name)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(
        said.contains("running 1 test"),
        "no disk can be mounted here: {said}"
    );
    assert!(run.status.success(), "{said}");
}

/// Takes all the room that is left.
fn fill(place: &Place) {
    let mut step = 64 * 1024;
    let path = place.folder().join("filler");
    let mut filler = fs::File::create(path).unwrap();
    while step > 0 {
        while std::io::Write::write_all(&mut filler, &vec![1; step]).is_ok() {}
        step /= 2;
    }
}

fn make_room(place: &Place) {
    fs::remove_file(place.folder().join("filler")).unwrap();
}

fn remount(mode: &str) {
    let disk = std::env::var(DISK).unwrap();
    let done = Command::new("mount")
        .args(["-o", &format!("remount,{mode}"), &disk])
        .status();
    assert!(done.unwrap().success());
}

const FULL: StorageError = StorageError::Full;

/// Refused as a whole; what was accepted joins, and goes out when there is room again.
pub fn fills_up() {
    on_a_disk(
        "a disk that fills up",
        4_000,
        |world, base, place| async move {
            lay(&base.live, &place);
            let outbox = open(&world, &place, &base).unwrap();
            fill(&place);
            let big = |outbox: &Outbox, n: u32| {
                let id = outbox.begin(format!("big-{n}"))?;
                let body = format!("\"{}\"", "x".repeat(900));
                outbox.submit(submit_once::Submission::post(id, "/orders").json(body))
            };
            let refused = (0..2_000).find_map(|n| big(&outbox, n).err()).unwrap();
            assert_eq!(refused, OutboxError::Storage { storage: FULL });
            for was in &base.all {
                assert_eq!(outbox.snapshot(was.id).unwrap().state, was.state);
            }
            make_room(&place);
            big(&outbox, 9_999).unwrap();
            cancel_all_but(&outbox, &base);
            base.deliver_whole(&world, &outbox).await;
        },
    );
}

/// The test's own orders, page by page.
fn cancel_all_but(outbox: &Outbox, base: &Base) {
    let mut page = submit_once::PageRequest::default();
    loop {
        let found = outbox.list(Default::default(), page).unwrap();
        for one in found.snapshots {
            if base.all.iter().all(|was| was.id != one.id) {
                outbox.cancel(one.id).unwrap();
            }
        }
        match found.next {
            Some(next) => page.after = next,
            None => return,
        }
    }
}

pub fn full_at_opening() {
    on_a_disk(
        "a disk that is full",
        4_000,
        |world, base, place| async move {
            lay(&base.live, &place);
            fill(&place);
            match Outbox::open_with(config(&world, &place), world.seams()) {
                Err(error) => assert_eq!(error, OpenError::Storage { storage: FULL }),
                Ok(outbox) => outbox.close(),
            }
            make_room(&place);
            is_whole(&world, &place, &base).await;
        },
    );
}

pub fn full_at_salvage() {
    on_a_disk(
        "a disk too full to salvage",
        4_000,
        |world, base, place| async move {
            lay(&base.closed, &place);
            checkpoint(&place);
            let mut bytes = fs::read(place.database()).unwrap();
            bytes[..100].fill(0);
            fs::write(place.database(), &bytes).unwrap();
            fill(&place);
            let error = Outbox::open_with(config(&world, &place), world.seams()).unwrap_err();
            assert_eq!(error, OpenError::Storage { storage: FULL });
            assert!(
                fs::read(place.database()).unwrap() == bytes,
                "it stays as it is"
            );
            make_room(&place);
            let outbox = open(&world, &place, &base).unwrap();
            let salvage = outbox.open_report().salvaged.unwrap();
            assert_eq!(salvage.submissions, base.all.len() as i64);
            base.deliver_after_decisions(&world, &outbox).await;
        },
    );
}

pub fn read_only() {
    on_a_disk("a read-only disk", 4_000, |world, base, place| async move {
        lay(&base.closed, &place);
        remount("ro");
        let error = Outbox::open_with(config(&world, &place), world.seams()).unwrap_err();
        assert_eq!(error, OpenError::ReadOnly);
        remount("rw");
        is_whole(&world, &place, &base).await;
    });
}

/// The log can't be brought into the file, so what is in it can't be told.
pub fn read_only_with_a_log() {
    on_a_disk(
        "a read-only disk with a log",
        4_000,
        |world, base, place| async move {
            lay(&base.live, &place);
            remount("ro");
            let error = Outbox::open_with(config(&world, &place), world.seams()).unwrap_err();
            assert_eq!(error, OpenError::ReadOnly);
            remount("rw");
            is_whole(&world, &place, &base).await;
        },
    );
}
