//! A file that changes between being measured and being copied.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{NotCopied, Source, read};
use crate::error::OutboxError;
use crate::model::body::FileContent;
use crate::policy::limits::Limits;

/// A file of ten thousand bytes, measured, and where a copy of it may go.
fn measured(folder: &Path) -> (PathBuf, Source, File) {
    let path = folder.join("film");
    fs::write(&path, [1; 10_000]).unwrap();
    let limits = Limits {
        inline_body_bytes: 100,
        ..Limits::default()
    };
    let (content, source) = read(path.to_str().unwrap(), &limits).unwrap();
    assert!(matches!(
        content,
        FileContent::Measured { length: 10_000, .. }
    ));
    let target = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(folder.join("copy"))
        .unwrap();
    (path, source.unwrap(), target)
}

#[track_caller]
fn refusal(copied: Result<(), NotCopied>) -> String {
    match copied {
        Err(NotCopied::Source(OutboxError::Invalid { field, problem })) => {
            assert_eq!(field, "body.path");
            problem
        }
        Err(NotCopied::Source(error)) => panic!("{error:?}"),
        Err(NotCopied::Target(error)) => panic!("{error:?}"),
        Ok(()) => panic!("copied"),
    }
}

#[test]
fn a_copy_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (_, source, target) = measured(folder.path());
    assert!(source.copy(&target).is_ok());
    assert_eq!(fs::read(folder.path().join("copy")).unwrap(), [1; 10_000]);
}

#[test]
fn what_has_changed_since_it_was_measured_is_not_copied() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("changes while", |path| {
            fs::write(path, [2; 10_000]).unwrap()
        }),
        ("changes while", |path| {
            fs::write(path, [1; 10_001]).unwrap()
        }),
        ("changes while", |path| fs::write(path, [1; 9_999]).unwrap()),
        ("changes while", |path| fs::write(path, "").unwrap()),
        ("no such file", |path| fs::remove_file(path).unwrap()),
        ("symbolic link", |path| {
            fs::rename(path, path.with_extension("moved")).unwrap();
            std::os::unix::fs::symlink(path.with_extension("moved"), path).unwrap();
        }),
    ];
    for (word, change) in changes {
        let folder = tempfile::tempdir().unwrap();
        let (path, source, target) = measured(folder.path());
        change(&path);
        let problem = refusal(source.copy(&target));
        assert!(problem.contains(word), "{problem}");
    }
}

/// Of a file without end only as much is read as was measured.
#[test]
fn a_file_that_grows_and_grows_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, source, target) = measured(folder.path());
    fs::write(&path, vec![1; 5_000_000]).unwrap();
    assert!(refusal(source.copy(&target)).contains("changes while"));
    assert_eq!(target.metadata().unwrap().len(), 10_001);
}

#[test]
fn what_the_target_says_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (_, source, _) = measured(folder.path());
    let full = File::options()
        .read(true)
        .write(true)
        .open("/dev/full")
        .unwrap();
    match source.copy(&full) {
        Err(NotCopied::Target(error)) => {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            assert_eq!(
                super::super::bodies::storage(&error),
                crate::StorageError::Full
            );
        }
        _ => panic!("copied onto a full disk"),
    }
}
