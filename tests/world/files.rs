//! Bad files: each is told from the others, none is changed (P11, F43).

use std::fs;
use std::path::Path;

use submit_once::{
    OpenError, Outbox, OutboxConfig, OutboxError, StorageError, Submission, SubmissionId,
};

use crate::common::Place;

fn open(path: &Path) -> Result<std::sync::Arc<Outbox>, OpenError> {
    Outbox::open(OutboxConfig::at(path.to_str().unwrap()))
}

fn refusal(path: &Path) -> OpenError {
    let before = fs::read(path).ok();
    let error = open(path).unwrap_err();
    assert_eq!(fs::read(path).ok(), before, "nothing was changed");
    error
}

fn order() -> Submission {
    let id = SubmissionId::new().unwrap();
    Submission::post(id, "http://localhost/orders").json("{}")
}

/// A whole database with some orders, closed and checkpointed into one file.
fn filled(place: &Place) -> Vec<SubmissionId> {
    let outbox = open(&place.database()).unwrap();
    let ids = (0..40)
        .map(|_| outbox.submit(order()).unwrap().id)
        .collect();
    outbox.close();
    place
        .sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    ids
}

#[test]
fn a_directory() {
    let place = Place::new();
    assert_eq!(refusal(&place.folder()), OpenError::IsDirectory);
}

#[test]
fn garbage() {
    let place = Place::new();
    fs::write(
        place.database(),
        "this is no database at all, but it is long enough",
    )
    .unwrap();
    let error = refusal(&place.database());
    assert!(matches!(error, OpenError::NotAnOutbox { .. }), "{error:?}");
}

#[test]
fn another_applications_database() {
    let place = Place::new();
    place.sql().execute_batch("CREATE TABLE t (x)").unwrap();
    let error = refusal(&place.database());
    assert!(matches!(error, OpenError::NotAnOutbox { .. }), "{error:?}");
    let other = Place::new();
    other
        .sql()
        .execute_batch("PRAGMA application_id = 7")
        .unwrap();
    let error = refusal(&other.database());
    assert!(matches!(error, OpenError::NotAnOutbox { .. }), "{error:?}");
}

#[test]
fn a_newer_schema_is_left_untouched() {
    let place = Place::new();
    filled(&place);
    place
        .sql()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    place
        .sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    assert_eq!(
        refusal(&place.database()),
        OpenError::SchemaTooNew {
            found: 99,
            known: 5
        }
    );
}

/// F43: a cut file is salvaged, not an empty queue: each of its submissions is still known.
#[test]
fn a_cut_database_is_damaged_not_empty() {
    let place = Place::new();
    let ids = filled(&place);
    let whole = fs::read(place.database()).unwrap();
    let high_water = fs::read(place.folder().join("outbox.sqlite3-highwater")).unwrap();
    for length in [50, 99, 4_096, whole.len() / 2, whole.len() - 4_096] {
        let place = Place::new();
        fs::write(place.database(), &whole[..length]).unwrap();
        fs::write(place.folder().join("outbox.sqlite3-highwater"), &high_water).unwrap();
        let mut outbox = open(&place.database()).unwrap();
        if outbox.open_report().salvaged.is_none() {
            // What is cut off at the end may only be met when it is read. The next opening salvages.
            let listed = outbox.list(Default::default(), Default::default());
            listed.map(|page| page.snapshots.len()).unwrap_err();
            outbox.close();
            outbox = open(&place.database()).unwrap();
        }
        let report = outbox.open_report();
        let salvage = report.salvaged.unwrap();
        assert!(!report.created);
        assert_eq!(fs::read(&salvage.kept_at).unwrap().len(), length);
        let gone = ids
            .iter()
            .filter(|id| outbox.snapshot(**id).is_err())
            .count();
        assert!(
            gone as i64 <= salvage.damaged || report.lost_changes > 0,
            "{length}: {gone} are gone, {salvage:?}"
        );
    }
}

/// Without the mark beside it nothing tells whose a file was that ends within its header.
#[test]
fn a_cut_header_without_a_mark_is_left_untouched() {
    let place = Place::new();
    filled(&place);
    let whole = fs::read(place.database()).unwrap();
    let place = Place::new();
    fs::write(place.database(), &whole[..50]).unwrap();
    let error = refusal(&place.database());
    assert!(
        matches!(
            error,
            OpenError::Storage {
                storage: StorageError::Corrupt { .. }
            }
        ),
        "{error:?}"
    );
}

/// F43: cut to nothing it opens as new, and says what is gone.
#[test]
fn a_database_that_was_emptied_reports_the_loss() {
    let place = Place::new();
    filled(&place);
    fs::write(place.database(), "").unwrap();
    fs::remove_file(place.folder().join("outbox.sqlite3-wal")).ok();
    let outbox = open(&place.database()).unwrap();
    let report = outbox.open_report();
    assert!(report.created);
    assert_eq!(report.lost_changes, 40);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.database(), "").unwrap();
    let outbox = open(&place.database()).unwrap();
    assert!(outbox.open_report().created);
}

#[test]
fn a_folder_that_does_not_exist_is_made_and_a_file_in_its_place_is_refused() {
    let place = Place::new();
    let path = place.folder().join("a/b/outbox.sqlite3");
    open(&path).unwrap().submit(order()).unwrap();
    assert!(path.exists());
    let error = open(&path.join("c/outbox.sqlite3")).unwrap_err();
    assert!(matches!(error, OpenError::Storage { .. }), "{error:?}");
}

#[test]
fn a_read_only_file() {
    let place = Place::new();
    filled(&place);
    let mut permissions = fs::metadata(place.database()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(place.database(), permissions).unwrap();
    assert_eq!(refusal(&place.database()), OpenError::ReadOnly);
}

#[test]
fn bad_configurations_name_their_field() {
    let place = Place::new();
    let field = |config: OutboxConfig| match Outbox::open(config).unwrap_err() {
        OpenError::InvalidConfig { field, .. } => field,
        error => panic!("{error:?}"),
    };
    let at = || OutboxConfig::at(place.path());
    assert_eq!(field(OutboxConfig::at("")), "path");
    assert_eq!(field(OutboxConfig::at("a\0b")), "path");
    for url in [
        "",
        "api.example.com",
        "ftp://x",
        "https://u:p@x",
        "https://x/?q=1",
    ] {
        assert_eq!(field(at().base_url(url)), "base_url", "{url}");
    }
    assert_eq!(field(at().user_agent("a\r\nb: c")), "user_agent");
    let profile = |change: fn(&mut submit_once::ServerProfile)| {
        let mut profile = submit_once::ServerProfile::standard();
        change(&mut profile);
        field(at().profile(profile))
    };
    assert_eq!(
        profile(|profile| profile.quiet_time = std::time::Duration::MAX),
        "profile.quiet_time"
    );
    assert_eq!(
        profile(|profile| profile.retention = Some(std::time::Duration::MAX)),
        "profile.retention"
    );
    assert_eq!(
        profile(|profile| profile.key_place = submit_once::KeyPlace::Nowhere),
        "profile.effect"
    );
    for name in ["", "host", "Authorization", "content-length", "a b"] {
        let profile = submit_once::ServerProfile {
            key_place: submit_once::KeyPlace::Header { name: name.into() },
            ..submit_once::ServerProfile::standard()
        };
        assert_eq!(field(at().profile(profile)), "profile.key_place", "{name}");
    }
    for key_place in [
        submit_once::KeyPlace::JsonPointer {
            pointer: "key".into(),
        },
        submit_once::KeyPlace::Query { name: "".into() },
        submit_once::KeyPlace::Path {
            placeholder: "a/b".into(),
        },
    ] {
        let profile = submit_once::ServerProfile {
            key_place,
            ..submit_once::ServerProfile::standard()
        };
        assert_eq!(field(at().profile(profile)), "profile.key_place");
    }
    let quoted = submit_once::ServerProfile {
        key_place: submit_once::KeyPlace::Query { name: "key".into() },
        key_spelling: submit_once::KeySpelling::SfString,
        ..submit_once::ServerProfile::standard()
    };
    assert_eq!(field(at().profile(quoted)), "profile.key_spelling");
    let limits = |change: fn(&mut submit_once::Limits)| {
        let mut limits = submit_once::Limits::default();
        change(&mut limits);
        field(at().limits(limits))
    };
    assert_eq!(
        limits(|limits| limits.lease = std::time::Duration::from_secs(1)),
        "limits"
    );
    assert_eq!(limits(|limits| limits.max_in_flight = 0), "limits");
    assert_eq!(
        limits(|limits| limits.request_timeout = std::time::Duration::ZERO),
        "limits"
    );
    assert_eq!(
        limits(|limits| limits.backoff_most = std::time::Duration::MAX),
        "limits"
    );
    assert_eq!(
        limits(|limits| limits.quiet_time = Some(std::time::Duration::MAX)),
        "limits"
    );
    assert!(!place.database().exists(), "nothing was made");
}

/// A commit into a deleted file is lost with the process, so it isn't reported as done.
#[test]
fn a_database_that_is_deleted_while_open_is_noticed() {
    let place = Place::new();
    let outbox = open(&place.database()).unwrap();
    outbox.submit(order()).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(place.folder().join(format!("outbox.sqlite3{suffix}"))).unwrap();
    }
    let error = outbox.submit(order()).unwrap_err();
    let moved = OutboxError::Storage {
        storage: StorageError::Moved,
    };
    assert_eq!(error, moved);
    assert_eq!(outbox.begin("form".into()).unwrap_err(), moved);
    // Nothing that this outbox says counts any more: what it still reads is a ghost.
    assert_eq!(outbox.submit(order()).unwrap_err(), moved);
    assert_eq!(outbox.stats().unwrap_err(), moved);
    outbox.close();
    let anew = open(&place.database()).unwrap();
    // The high-water mark is beside it still: what was acknowledged there is gone.
    assert!(anew.open_report().lost_changes > 0);
}

/// A plain open and close of the database's files by other code in the process drops SQLite's
/// locks; with the log kept at the last close, another process can't delete it.
#[test]
fn closing_keeps_the_log() {
    let place = Place::new();
    let outbox = open(&place.database()).unwrap();
    outbox.submit(order()).unwrap();
    outbox.close();
    assert!(place.folder().join("outbox.sqlite3-wal").exists());
}

/// F92: opening looks at no body, and a claim only at those that it takes.
#[test]
fn opening_and_claiming_of_a_long_queue_takes_little_memory() {
    use crate::agents::Agent;
    let place = Place::new();
    let outbox = open(&place.database()).unwrap();
    let body = vec![b'x'; 50_000];
    for _ in 0..20 {
        let orders = (0..100)
            .map(|_| order().bytes("text/plain", body.clone()))
            .collect();
        outbox.submit_all(orders).unwrap();
    }
    outbox.close();
    let empty = Place::new();
    // Opened, and one round of claims, which nobody answers.
    let memory = |place: &Place| -> u64 {
        let mut agent = Agent::start(place, &["--mute"]);
        agent.say("drain 300");
        while agent.read() == "claimed" {}
        agent.ask("memory").parse().unwrap()
    };
    let base = memory(&empty);
    let long = memory(&place);
    assert!(
        long < base + 8_000,
        "100 MB of bodies: {long} kB, an empty queue {base} kB"
    );
}
