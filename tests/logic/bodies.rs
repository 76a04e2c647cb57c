//! Bodies from files, and large ones that go into files: what arrives is what was handed over, and
//! what can't be taken is refused by name (P2, P3).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use submit_once::{Limits, Outbox, OutboxError, ReceiptKind, Submission, WireBody};

use crate::common::Place;
use crate::common::sim::{World, created, drain, simulate};

/// More than this goes into files, in these tests.
const INLINE: u32 = 1_000;

pub fn open(world: &World, place: &Place) -> std::sync::Arc<Outbox> {
    let limits = Limits {
        inline_body_bytes: INLINE,
        max_body_bytes: 1_000_000,
        ..Limits::default()
    };
    world.open_with(world.config(place).limits(limits))
}

/// Bytes that differ from place to place.
pub fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8).collect()
}

pub fn photo(outbox: &Outbox, slot: &str, path: &str) -> Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    Submission::post(id, "/photos").file("image/jpeg", path)
}

#[track_caller]
fn refused(outbox: &Outbox, path: &str) -> String {
    match outbox.submit(photo(outbox, "refused", path)) {
        Err(OutboxError::Invalid { field, problem }) => {
            assert_eq!(field, "body.path");
            assert!(!problem.contains(path) || path.is_empty(), "{problem}");
            problem
        }
        other => panic!("not refused: {other:?}"),
    }
}

/// What the network saw, read from the file at that time.
fn keep_what_is_sent(world: &World) -> std::sync::Arc<std::sync::Mutex<Vec<Vec<u8>>>> {
    let sent = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&sent);
    world.network.always(move |request| {
        kept.lock().unwrap().push(match &request.body {
            WireBody::Bytes(bytes) => bytes.to_vec(),
            WireBody::File { path, length } => {
                let bytes = fs::read(path).unwrap();
                assert_eq!(bytes.len() as u64, *length);
                bytes
            }
        });
        created()
    });
    sent
}

/// F71, F73: nothing is read as text on the way, and no bytes are a body too.
#[test]
fn every_length_and_every_byte_arrives_as_it_was_handed_over() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = open(&world, &place);
        let sent = keep_what_is_sent(&world);
        let inline = INLINE as usize;
        let mut bodies = vec![
            Vec::new(),
            b"\0".to_vec(),
            b"a\0b".to_vec(),
            "\u{feff}שלום 🛒 \u{202e}x".as_bytes().to_vec(),
            b"\xff\xfe\x00".to_vec(),
        ];
        bodies.extend([1, inline - 1, inline, inline + 1, 300_000, 1_000_000].map(bytes));
        let large = bodies.iter().filter(|body| body.len() > inline).count();
        for (n, body) in bodies.iter().enumerate() {
            let path = place.file(&format!("file {n}"), body);
            outbox
                .submit(photo(&outbox, &format!("file {n}"), &path))
                .unwrap();
            // The app's own file isn't needed any more.
            fs::remove_file(path).unwrap();
            let id = outbox.begin(format!("bytes {n}")).unwrap();
            let same = Submission::post(id, "/photos").bytes("image/jpeg", body.clone());
            outbox.submit(same).unwrap();
        }
        assert_eq!(place.bodies().len(), 2 * large);
        drain(&outbox).await;
        let sent = sent.lock().unwrap();
        assert_eq!(sent.len(), 2 * bodies.len());
        for (pair, body) in sent.chunks(2).zip(&bodies) {
            assert!(pair.iter().all(|one| one == body), "{} bytes", body.len());
        }
        assert_eq!(place.bodies().len(), 0, "settled, so their files are gone");
    });
}

/// P3: where the bytes are kept is no part of what a submission is.
#[test]
fn a_file_and_the_same_bytes_are_the_same_submission() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = open(&world, &place);
        for length in [10, 5_000] {
            let slot = format!("{length}");
            let body = bytes(length);
            let path = place.file("photo", &body);
            let from_file = photo(&outbox, &slot, &path);
            let from_memory = from_file.clone().bytes("image/jpeg", body.clone());
            assert_eq!(
                outbox.submit(from_file.clone()).unwrap().kind,
                ReceiptKind::Accepted
            );
            let files = place.bodies();
            assert_eq!(
                outbox.submit(from_memory).unwrap().kind,
                ReceiptKind::Joined
            );
            assert_eq!(
                outbox.submit(from_file.clone()).unwrap().kind,
                ReceiptKind::Joined
            );
            assert_eq!(place.bodies(), files, "a repeat copies nothing");
            fs::write(&path, bytes(length + 1)).unwrap();
            let reused = outbox.submit(from_file.clone()).unwrap_err();
            let OutboxError::KeyReused { differs, .. } = reused else {
                panic!("{reused:?}");
            };
            assert_eq!(differs, ["body"]);
            assert_eq!(place.bodies(), files);
        }
    });
}

#[test]
fn the_files_are_private_and_nothing_unfinished_stays() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = open(&world, &place);
        let path = place.file("photo", &bytes(5_000));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        outbox.submit(photo(&outbox, "form", &path)).unwrap();
        let [file] = &place.bodies()[..] else {
            panic!()
        };
        let mode =
            |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
        assert!(
            file.extension()
                .is_some_and(|extension| extension.len() == 32)
        );
    });
}

#[test]
fn only_a_regular_file_that_is_there_is_taken() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = open(&world, &place);
        let path = |name: &str| place.folder().join(name).to_str().unwrap().to_owned();
        let photo = place.file("photo", &bytes(5_000));
        std::os::unix::fs::symlink(&photo, path("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("broken")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (path, word) in [
            (path("missing"), "no such file"),
            (path("photo/within"), "no such file"),
            (format!("file://{photo}"), "not a URI"),
            (String::new(), "no such file"),
            (path("link"), "symbolic link"),
            (path("broken"), "symbolic link"),
            (path("pipe"), "pipe"),
            (path(""), "folder"),
            ("/dev/null".to_owned(), "device"),
            (path("a\0b"), "NUL"),
            (path(&"x".repeat(300)), "too long"),
            // Its length is said to be nothing, and isn't.
            ("/proc/self/status".to_owned(), "changes while it is read"),
        ] {
            let problem = refused(&outbox, &path);
            assert!(problem.contains(word), "{path:?}: {problem}");
        }
        refused(
            &outbox,
            socket
                .local_addr()
                .unwrap()
                .as_pathname()
                .unwrap()
                .to_str()
                .unwrap(),
        );
        let large = place.file("large", &bytes(1_000_001));
        let too_large = outbox
            .submit(self::photo(&outbox, "refused", &large))
            .unwrap_err();
        let (bytes, most) = (1_000_001, 1_000_000);
        assert_eq!(too_large, OutboxError::BodyTooLarge { bytes, most });
        assert_eq!(outbox.stats().unwrap().pending, 0);
        assert_eq!(place.bodies().len(), 0);
    });
}

/// What is in a file is the app's business, and it may be larger than memory.
#[test]
fn nobody_looks_into_a_file() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = open(&world, &place);
        for length in [10, 5_000] {
            let path = place.file("not.json", &bytes(length));
            let id = outbox.begin(format!("{length}")).unwrap();
            let order = Submission::post(id, "/orders").file("application/json", path);
            assert_eq!(outbox.submit(order).unwrap().kind, ReceiptKind::Accepted);
        }
    });
}

/// A key can't be put into bytes that nobody looks into.
#[test]
fn a_file_takes_no_key_into_its_body() {
    let place = Place::new();
    simulate(5, |world| async move {
        let profile = submit_once::ServerProfile {
            key_place: submit_once::KeyPlace::JsonPointer {
                pointer: "/key".to_owned(),
            },
            ..submit_once::ServerProfile::standard()
        };
        let outbox = world.open_with(world.config(&place).profile(profile));
        let path = place.file("order.json", b"{}");
        let id = outbox.begin("form".into()).unwrap();
        let order = Submission::post(id, "/orders").file("application/json", path);
        let refused = outbox.submit(order).unwrap_err();
        assert!(matches!(refused, OutboxError::Invalid { field, .. } if field == "body"));
    });
}
