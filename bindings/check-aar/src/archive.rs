//! The entries of an archive: what must be there, what may not, and a form that two builds share.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};

use zip::{DateTime, ZipArchive};

use crate::abi::Abi;
use crate::report::Report;

/// What every archive holds, beside its libraries.
const ENTRIES: [&str; 5] = [
    "AndroidManifest.xml",
    "META-INF/com/android/build/gradle/aar-metadata.properties",
    "R.txt",
    "classes.jar",
    "proguard.txt",
];

/// A zip file that was read.
#[derive(Debug)]
pub struct Archive {
    subject: String,
    names: Vec<String>,
    times: BTreeSet<Option<DateTime>>,
    contents: BTreeMap<String, Vec<u8>>,
}

impl Archive {
    /// Reads everything, or says why that can't be.
    pub fn read(subject: &str, bytes: &[u8], report: &mut Report) -> Option<Self> {
        match Self::try_read(subject, bytes) {
            Ok(archive) => Some(archive),
            Err(error) => {
                report.fail(subject, format!("not a readable zip file: {error}"));
                None
            }
        }
    }

    fn try_read(subject: &str, bytes: &[u8]) -> zip::result::ZipResult<Self> {
        let mut zip = ZipArchive::new(Cursor::new(bytes))?;
        let mut archive = Self {
            subject: subject.to_owned(),
            names: Vec::new(),
            times: BTreeSet::new(),
            contents: BTreeMap::new(),
        };
        for index in 0..zip.len() {
            let mut entry = zip.by_index(index)?;
            let name = entry.name()?.into_owned();
            archive.times.insert(entry.last_modified());
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            archive.names.push(name.clone());
            archive.contents.insert(name, content);
        }
        Ok(archive)
    }

    /// The bytes of an entry.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.contents.get(name).map(Vec::as_slice)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.contents
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_slice()))
    }

    /// Exactly the entries of an archive for these ABIs.
    pub fn check_entries(&self, abis: &[Abi], report: &mut Report) {
        let fixed = ENTRIES.iter().map(ToString::to_string);
        let expected: BTreeSet<String> = fixed.chain(abis.iter().map(Abi::library)).collect();
        let found: BTreeSet<String> = self.contents.keys().cloned().collect();
        let missing = expected
            .difference(&found)
            .map(|name| format!("{name} is missing"));
        let extra = found
            .difference(&expected)
            .map(|name| format!("{name} doesn't belong there"));
        report.judge(
            &format!("{} entries", self.subject),
            missing.chain(extra).collect(),
            format!("{}, each expected", found.len()),
        );
        if let Some(metadata) =
            self.get("META-INF/com/android/build/gradle/aar-metadata.properties")
        {
            check_metadata(metadata, report);
        }
    }

    /// The same sources give the same bytes: in order, and at one time that isn't the build's.
    pub fn check_form(&self, report: &mut Report) {
        let mut problems = Vec::new();
        if !self.names.is_sorted() {
            problems.push("the entries are not in order of their names".to_owned());
        }
        let fixed = DateTime::from_date_and_time(1980, 2, 1, 0, 0, 0).ok();
        if self.times.iter().any(|time| *time != fixed) {
            problems.push("an entry has a time of its own, not 1980-02-01 00:00:00".to_owned());
        }
        report.judge(
            &format!("{} form", self.subject),
            problems,
            "sorted, all of one time",
        );
    }
}

/// The Android Gradle plugin refuses an archive without these two.
fn check_metadata(properties: &[u8], report: &mut Report) {
    let text = String::from_utf8_lossy(properties);
    let required = ["aarFormatVersion=1.0", "aarMetadataVersion=1.0"];
    let problems = required
        .iter()
        .filter(|wanted| !text.lines().any(|line| line == **wanted))
        .map(|wanted| format!("{wanted} is missing"))
        .collect();
    report.judge("aar-metadata.properties", problems, "format 1.0");
}
