//! Files beside the database that are gone, cut, damaged or another's.

use std::fs;
use std::sync::Arc;

use crate::base::{Base, lay, open};
use crate::common::Place;
use crate::common::sim::drain;
use crate::scenarios::{is_told, is_whole, placed, with_base};

const LOG: &str = "outbox.sqlite3-wal";
const MARK: &str = "outbox.sqlite3-highwater";

/// Something happens to the live files, after which all is there.
fn whole_after(happen: fn(&Place)) {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        happen(&place);
        is_whole(&world, &place, &base).await;
    });
}

/// Something happens to the live files, and the app is told.
fn told_after(happen: fn(&Place)) {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        happen(&place);
        is_told(&world, &place, &base).await;
    });
}

fn change(place: &Place, name: &str, change: fn(&mut Vec<u8>)) {
    let path = place.folder().join(name);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub fn no_index() {
    whole_after(|place| assert!(!place.folder().join("outbox.sqlite3-shm").exists()));
}

pub fn damaged_index() {
    whole_after(|place| drop(place.file("outbox.sqlite3-shm", &[0xa5; 32_768])));
}

pub fn no_log() {
    told_after(|place| fs::remove_file(place.folder().join(LOG)).unwrap());
}

pub fn cut_log() {
    told_after(|place| change(place, LOG, |bytes| bytes.truncate(bytes.len() / 2)));
}

pub fn empty_log() {
    told_after(|place| change(place, LOG, Vec::clear));
}

/// What came after the log was copied is gone, and what it says of the rest is old.
pub fn older_log() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        let outbox = open(&world, &place, &base).unwrap();
        let before = world.network.seen().len();
        drain(&outbox).await;
        assert!(world.network.seen().len() > before);
        let base = base.with_states_of(&outbox);
        outbox.close();
        crate::base::checkpoint(&place);
        fs::write(
            place.folder().join(LOG),
            &base.live[LOG.as_ref() as &std::path::Path],
        )
        .unwrap();
        is_told(&world, &place, &base).await;
    });
}

/// Two databases of one app, and the log of the one beside the other: of what is sent everything was
/// accepted by one of them.
pub fn other_log() {
    with_base(|world, base| async move {
        let mut other = Base::new(&world).await;
        let mut both = (*base.accepted).clone();
        both.extend((*other.accepted).clone());
        let place = placed(&base.live);
        lay(
            &[(
                LOG.into(),
                other.live.remove::<std::path::Path>(LOG.as_ref()).unwrap(),
            )]
            .into(),
            &place,
        );
        let base = Base {
            accepted: Arc::new(both),
            ..base
        };
        match open(&world, &place, &base) {
            Ok(outbox) => drop(base.deliver(&world, &outbox).await),
            Err(error) => assert!(
                matches!(error, submit_once::OpenError::Storage { .. }),
                "{error:?}"
            ),
        }
    });
}

pub fn no_mark() {
    whole_after(|place| fs::remove_file(place.folder().join(MARK)).unwrap());
}

pub fn damaged_mark() {
    whole_after(|place| change(place, MARK, |bytes| bytes[3] ^= 0x40));
}

/// The body's file is gone: that one is refused or held, and all others go.
pub fn no_bodies() {
    with_base(|world, base| async move {
        let place = placed(&base.live);
        fs::remove_dir_all(place.folder().join("outbox.sqlite3-bodies")).unwrap();
        let outbox = open(&world, &place, &base).unwrap();
        let judge = base.deliver(&world, &outbox).await;
        let large = base
            .all
            .iter()
            .find(|one| one.url.ends_with("large-0"))
            .unwrap();
        assert!(!judge.sent().contains(&large.id.to_string()));
        assert!(judge.sent().len() > 8);
    });
}
