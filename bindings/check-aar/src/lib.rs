//! Checks an Android archive of `submit-once` before anybody gets it.
//!
//! An archive that lacks a rule, a symbol or an alignment builds, installs and passes its tests;
//! it fails in the release build of somebody's app, on somebody's phone, or at the store's door.
//! Everything of this kind that can be read from the files is looked at here:
//!
//! * [`archive`]: the archive holds what it must and nothing else, in a reproducible form;
//! * [`manifest`]: what the archive asks of an app;
//! * [`rules`]: what R8 must keep;
//! * [`classes`]: what is in the jar;
//! * [`library`]: the native libraries, JNA's too.
//!
//! Each check prints one line, with the figure that it found.

pub mod abi;
pub mod archive;
pub mod budget;
pub mod classes;
pub mod library;
pub mod manifest;
pub mod paths;
pub mod report;
pub mod rules;

use abi::Abi;
use archive::Archive;
use budget::Budget;
use classes::Classes;
use report::Report;

/// Where the native libraries of an archive are to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// On phones: a library for each ABI that ships.
    Phones,
    /// On this machine: its own library in the place of a phone's. Such an archive is never
    /// published; it shows that everything else of it is right.
    Host,
}

impl Target {
    /// The ABIs whose libraries the archive holds.
    pub fn abis(self) -> Vec<Abi> {
        match self {
            Self::Phones => Abi::SHIPPED.to_vec(),
            Self::Host => vec![Abi::HOST],
        }
    }
}

/// What an archive is checked against.
#[derive(Debug)]
pub struct Settings {
    /// Where its libraries are to run.
    pub target: Target,
    /// How large it may be.
    pub budget: Budget,
    /// The bytes of JNA's archive, which an app gets along with this one.
    pub jna: Vec<u8>,
    /// Folders of the machine that built it. None may be named in it.
    pub build_paths: Vec<String>,
}

/// Checks the bytes of an archive.
pub fn check(aar: &[u8], settings: &Settings) -> Report {
    let mut report = Report::default();
    let abis = settings.target.abis();
    let Some(archive) = Archive::read("archive", aar, &mut report) else {
        return report;
    };
    archive.check_entries(&abis, &mut report);
    archive.check_form(&mut report);
    report.check_size(
        "archive",
        aar.len(),
        settings.budget.archive(settings.target),
    );
    if let Some(bytes) = archive.get("AndroidManifest.xml") {
        manifest::check(bytes, &mut report);
    }
    if let Some(bytes) = archive.get("proguard.txt") {
        rules::check(bytes, &mut report);
    }
    let classes = archive
        .get("classes.jar")
        .and_then(|jar| Classes::read(jar, &mut report));
    if let Some(classes) = &classes {
        classes.check(&settings.build_paths, &mut report);
    }
    let natives = classes.map(|classes| classes.natives).unwrap_or_default();
    for abi in &abis {
        if let Some(bytes) = archive.get(&abi.library()) {
            library::check(bytes, *abi, &natives, settings, &mut report);
        }
    }
    library::check_jna(&settings.jna, &abis, &mut report);
    report
}
