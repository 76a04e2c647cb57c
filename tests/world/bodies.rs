//! Bodies in real files, over real sockets, by real processes that are killed (F42, F44, F46, F90).

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use submit_once::{DrainBudget, Limits, Outbox, OutboxConfig, Submission, SubmissionState};
use submit_once_reference_server::{Behaviour, Matcher};

use crate::agents::{Agent, assert_converged, binary, server};
use crate::common::Place;

/// As `QUICK`, with bodies of more than 1,000 bytes in files.
const QUICK: &str = r#"{"request_timeout":4000,"busy_timeout":1500,"lease":7100,"backoff_first":50,"backoff_most":400,"quiet_time":300,"inline_body_bytes":1000}"#;

/// Writes a file of this length that is different everywhere, and gives its SHA-256 in hex.
fn write(path: &str, length: u64) -> String {
    let mut file = File::create(path).unwrap();
    let mut hash = Sha256::new();
    let mut left = length;
    for n in 0u64.. {
        let block: Vec<u8> = n.to_be_bytes().repeat(1_024);
        let block = &block[..block.len().min(usize::try_from(left).unwrap())];
        file.write_all(block).unwrap();
        hash.update(block);
        left -= block.len() as u64;
        if left == 0 {
            break;
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// F90: what the server gets is what was in the file, whatever its length.
#[tokio::test]
async fn files_of_one_byte_to_64_megabytes_arrive_whole() {
    let (place, server) = (Place::new(), server());
    let config = OutboxConfig::at(place.path()).base_url(server.url());
    let outbox = Outbox::open(config).unwrap();
    let inline = u64::from(Limits::default().inline_body_bytes);
    let mut sent = Vec::new();
    for length in [1, 65_537, inline, inline + 1, 2_000_000, 64 * 1024 * 1024] {
        let path = place.file("photo", b"");
        let digest = write(&path, length);
        let id = outbox.begin(format!("{length}")).unwrap();
        outbox
            .submit(Submission::post(id, "/photos").file("image/jpeg", &path))
            .unwrap();
        // The app's own file changes: too late to matter.
        std::fs::write(&path, "another photo").unwrap();
        sent.push((id, length, digest));
    }
    outbox
        .drain(DrainBudget::of(Duration::from_secs(60)))
        .await
        .unwrap();
    let records = server.records();
    assert_eq!(records.len(), sent.len());
    for (id, length, digest) in sent {
        let state = outbox.snapshot(id).unwrap().state;
        assert_eq!(state, SubmissionState::Succeeded, "{length}");
        let record = records
            .iter()
            .find(|record| record.key == Some(id.to_string()))
            .unwrap();
        assert_eq!(record.body_bytes, length);
        assert_eq!(record.body_sha256.as_deref(), Some(&digest[..]), "{length}");
    }
    assert_eq!(place.bodies().len(), 0);
}

/// However large: it is read in pieces at submit, before the send and for the send.
#[test]
fn a_large_file_takes_no_memory() {
    let (place, server) = (Place::new(), server());
    let path = place.file("film", b"");
    let length = 300_000_000;
    let digest = write(&path, length);
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut agent = Agent::start(&place, &options);
    // A small one first, so that the network stack is there.
    let small = agent.ask("begin small");
    agent.ask(&format!("submit {small} /photos x"));
    agent.ask("drain 5000");
    let before: u64 = agent.ask("memory").parse().unwrap();
    let id = agent.ask("begin film");
    let submit = format!("submit-file {id} /films {path}");
    assert_eq!(agent.ask(&submit), "Accepted");
    assert_eq!(agent.ask(&submit), "Joined");
    agent.ask("drain 60000");
    assert_eq!(agent.ask(&format!("snapshot {id}")), "Succeeded");
    let after: u64 = agent.ask("memory").parse().unwrap();
    assert!(
        after < before + 8_000,
        "{before} kB before, {after} kB after"
    );
    let records = server.records();
    assert_eq!(records[1].body_sha256, Some(digest));
}

/// P1: the file is on the medium, under its name, before the row that names it.
#[test]
fn a_file_is_synced_and_renamed_before_its_row_is_written() {
    let place = Place::new();
    let log = place.folder().join("strace.log");
    let path = place.file("photo", &[7; 5_000]);
    let mut strace = Command::new("strace");
    strace
        .args([
            "-f",
            "-qq",
            "-y",
            "-e",
            "trace=fsync,fdatasync,rename,pwrite64",
        ])
        .arg("-o")
        .arg(&log)
        .arg(binary("agent"));
    let mut agent = Agent::spawn(strace, &place, &["--limits", QUICK]);
    let id = agent.ask("begin form");
    let before = std::fs::read_to_string(&log).unwrap().lines().count();
    let kind = agent.ask(&format!("submit-file {id} http://localhost/photos {path}"));
    assert_eq!(kind, "Accepted");
    let log = std::fs::read_to_string(&log).unwrap();
    let calls: Vec<&str> = log.lines().skip(before).collect();
    let place_of = |words: &[&str]| {
        let found = calls
            .iter()
            .position(|call| words.iter().all(|word| call.contains(word)));
        found.unwrap_or_else(|| panic!("no {words:?} in {calls:#?}"))
    };
    let order = [
        // The folder itself is new.
        place_of(&["fsync(", &format!("<{}>", place.folder().display())]),
        place_of(&["fsync(", ".part>"]),
        place_of(&["rename(", ".part"]),
        place_of(&["fsync(", "outbox.sqlite3-bodies>"]),
        place_of(&["pwrite64(", "outbox.sqlite3-wal>"]),
        place_of(&["sync(", "outbox.sqlite3-wal>"]),
    ];
    assert!(order.is_sorted(), "{order:?} in {calls:#?}");
}

/// F44: the process is killed once it has accepted, and the app's own file is deleted.
#[test]
fn a_file_outlives_the_process_that_submitted_it() {
    let (place, server) = (Place::new(), server());
    let path = place.file("photo", b"");
    let digest = write(&path, 3_000_000);
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut first = Agent::start(&place, &options);
    let id = first.ask("begin form");
    let submit = format!("submit-file {id} /photos {path}");
    assert_eq!(first.ask(&submit), "Accepted");
    first.kill();
    std::fs::remove_file(&path).unwrap();
    let mut next = Agent::start(&place, &options);
    next.ask("drain 5000");
    assert_eq!(next.ask(&format!("snapshot {id}")), "Succeeded");
    assert_converged(&server, 1);
    assert_eq!(server.records()[0].body_sha256, Some(digest));
    assert_eq!(place.bodies().len(), 0);
}

/// Killed while it copies, again and again: no half of a file is ever sent, and none stays.
#[test]
fn killed_while_it_copies_a_file_leaves_nothing_half_done() {
    let (place, server) = (Place::new(), server());
    let path = place.file("film", b"");
    let digest = write(&path, 30_000_000);
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut id = String::new();
    let mut left_over = 0;
    for round in 0..12 {
        let mut agent = Agent::start(&place, &options);
        id = agent.ask("begin form");
        agent.say(&format!("submit-file {id} /films {path}"));
        std::thread::sleep(Duration::from_millis(25 * round));
        agent.kill();
        left_over = left_over.max(place.bodies().len());
    }
    assert!(left_over > 0, "never killed while it copied");
    let mut last = Agent::start(&place, &options);
    let kind = last.ask(&format!("submit-file {id} /films {path}"));
    assert!(["Accepted", "Joined"].contains(&kind.as_str()), "{kind}");
    assert_eq!(place.bodies().len(), 1, "what was left over is gone");
    last.ask("drain 20000");
    assert_eq!(last.ask(&format!("snapshot {id}")), "Succeeded");
    assert_converged(&server, 1);
    assert_eq!(server.records()[0].body_sha256, Some(digest));
    assert_eq!(place.bodies().len(), 0);
}

/// F46: killed wherever that falls between claim, answer, record and clean-up. Each photo takes
/// effect once, and at the end there is no file.
#[test]
fn killed_again_and_again_while_photos_are_sent() {
    let (place, server) = (Place::new(), server());
    server.always(Matcher::Any, Behaviour::WorkLate(Duration::from_millis(10)));
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut first = Agent::start(&place, &options);
    let photos = 16;
    let ids: Vec<String> = (0..photos)
        .map(|n| {
            let path = place.file(&format!("photo {n}").replace(' ', "-"), b"");
            write(&path, 50_000 + n);
            let id = first.ask(&format!("begin form-{n}"));
            first.ask(&format!("submit-file {id} /photos/{n} {path}"));
            id
        })
        .collect();
    first.kill();
    assert_eq!(place.bodies().len(), ids.len());
    for round in 0..15 {
        let mut agent = Agent::start(&place, &options);
        agent.ask("start");
        let before = server.records().len();
        server.wait_for(
            |records| records.len() > before + round % 3,
            Duration::from_millis(400),
        );
        agent.kill();
    }
    let mut last = Agent::start(&place, &options);
    last.ask("start");
    for id in &ids {
        assert_eq!(last.ask(&format!("wait {id} 60000")), "Settled", "{id}");
        assert_eq!(last.ask(&format!("snapshot {id}")), "Succeeded");
    }
    last.ask("drain 1000");
    assert_converged(&server, photos);
    assert_eq!(place.bodies().len(), 0);
}
