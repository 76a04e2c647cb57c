//! Something else is where a file should be, or leads there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use submit_once::{OpenError, Outbox, OutboxConfig, OutboxError, Submission};

use crate::base::config;
use crate::common::Place;
use crate::common::sim::{World, order, simulate};
use crate::scenarios::{is_whole, placed, refusal, with_base};

fn at(world: &World, place: &Place, name: &str) -> OutboxConfig {
    OutboxConfig {
        path: place.folder().join(name).to_str().unwrap().to_owned(),
        ..config(world, place)
    }
}

pub fn directory() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        fs::create_dir(place.database()).unwrap();
        assert_eq!(refusal(&world, &place), OpenError::IsDirectory);
    });
}

pub fn no_folder() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        place.file("folder", b"a file");
        let config = at(&world, &place, "folder/outbox.sqlite3");
        let error = Outbox::open_with(config, world.seams()).unwrap_err();
        assert!(matches!(error, OpenError::Storage { .. }), "{error:?}");
        assert_eq!(fs::read(place.folder().join("folder")).unwrap(), b"a file");
    });
}

/// Both names are one database, with one log.
pub fn symlink_to_it() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        symlink("outbox.sqlite3", place.folder().join("link")).unwrap();
        let linked = Outbox::open_with(at(&world, &place, "link"), world.seams()).unwrap();
        let direct = Outbox::open_with(config(&world, &place), world.seams()).unwrap();
        assert!(!linked.open_report().created);
        assert!(
            !place.folder().join("link-wal").exists(),
            "a log of its own"
        );
        let order = order(&direct, "by both names");
        direct.submit(order.clone()).unwrap();
        assert_eq!(linked.snapshot(order.id).unwrap().id, order.id);
        direct.cancel(order.id).unwrap();
        linked.close();
        direct.close();
        is_whole(&world, &place, &base).await;
    });
}

pub fn dangling_symlink() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        symlink(place.folder().join("elsewhere"), place.database()).unwrap();
        let opened = Outbox::open_with(config(&world, &place), world.seams());
        let outbox = match opened {
            Ok(outbox) => outbox,
            Err(error) => {
                assert!(matches!(error, OpenError::Storage { .. }), "{error:?}");
                return;
            }
        };
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.close();
        let outbox = Outbox::open_with(config(&world, &place), world.seams()).unwrap();
        assert_eq!(outbox.open_report().lost_changes, 0);
        outbox.snapshot(order.id).unwrap();
    });
}

pub fn looping_symlink() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        symlink("outbox.sqlite3", place.database()).unwrap();
        let error = Outbox::open_with(config(&world, &place), world.seams()).unwrap_err();
        assert!(matches!(error, OpenError::Storage { .. }), "{error:?}");
    });
}

pub fn pipe() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        let made = std::process::Command::new("mkfifo")
            .arg(place.database())
            .status();
        assert!(made.unwrap().success());
        let error = Outbox::open_with(config(&world, &place), world.seams()).unwrap_err();
        let typed = matches!(
            error,
            OpenError::Storage { .. } | OpenError::NotAnOutbox { .. }
        );
        assert!(typed, "{error:?}");
    });
}

/// One after the other: each is an error that is said, or is not needed; none is a panic.
pub fn directories_beside() {
    with_base(|world, base| async move {
        for suffix in ["-wal", "-shm", "-highwater", "-ballast", "-suspect"] {
            let place = placed(&base.closed);
            let path = place.folder().join(format!("outbox.sqlite3{suffix}"));
            fs::remove_file(&path).ok();
            fs::create_dir(&path).unwrap();
            match Outbox::open_with(config(&world, &place), world.seams()) {
                Err(error) => {
                    let typed = matches!(error, OpenError::Storage { .. } | OpenError::IsDirectory);
                    assert!(typed, "{suffix}: {error:?}");
                }
                Ok(outbox) => {
                    base.deliver(&world, &outbox).await;
                    outbox.close();
                }
            }
            fs::remove_dir(&path).ok();
        }
    });
}

pub fn no_bodies() {
    simulate(1, |world| async move {
        let place = Place::in_memory();
        place.file("outbox.sqlite3-bodies", b"a file");
        let outbox = Outbox::open_with(config(&world, &place), world.seams()).unwrap();
        let small = order(&outbox, "small");
        outbox.submit(small).unwrap();
        let id = outbox.begin("large".into()).unwrap();
        let large = Submission::post(id, "/orders").bytes("image/jpeg", vec![7; 5_000]);
        let error = outbox.submit(large).unwrap_err();
        assert!(matches!(error, OutboxError::Storage { .. }), "{error:?}");
        assert!(outbox.snapshot(id).is_err(), "nothing half-done");
    });
}

/// The superuser may write all the same, and doesn't.
pub fn read_only_file() {
    with_base(|world, base| async move {
        let place = placed(&base.closed);
        let mode = |mode| {
            fs::set_permissions(place.database(), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o444);
        assert_eq!(refusal(&world, &place), OpenError::ReadOnly);
        mode(0o644);
        is_whole(&world, &place, &base).await;
    });
}
