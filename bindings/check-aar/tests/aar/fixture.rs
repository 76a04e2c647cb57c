//! A good archive, to be broken.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::sync::LazyLock;

use check_aar::abi::Abi;
use check_aar::budget::Budget;
use check_aar::{Settings, Target, check};
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

use super::linker::Library;

/// What the bindings call, and the library exports.
pub const CALLED: [&str; 2] = [
    "ffi_submit_once_rustbuffer_alloc",
    "uniffi_submit_once_fn_method_outbox_submit",
];

pub const RULES: &str = include_str!("../../../kotlin/consumer-rules.pro");

pub const MANIFEST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android"
    package="dev.submitonce.android">
  <uses-sdk android:minSdkVersion="26" />
  <uses-permission android:name="android.permission.INTERNET" />
  <uses-permission android:name="android.permission.ACCESS_NETWORK_STATE" />
</manifest>
"#;

pub const BUDGET: &str = r#"
[phones]
archive = 100_000
[phones.library]
arm64-v8a = 50_000
armeabi-v7a = 50_000
x86_64 = 50_000
[host]
archive = 100_000
[host.library]
arm64-v8a = 50_000
x86_64 = 50_000
"#;

/// Entries of a zip file, and how they are written.
#[derive(Clone)]
pub struct Zip {
    pub entries: BTreeMap<String, Vec<u8>>,
    pub time: DateTime,
    pub reversed: bool,
}

impl Zip {
    pub fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            time: DateTime::from_date_and_time(1980, 2, 1, 0, 0, 0).unwrap(),
            reversed: false,
        }
    }

    pub fn put(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.entries.insert(name.to_owned(), content.into());
    }

    pub fn remove(&mut self, name: &str) {
        assert!(self.entries.remove(name).is_some(), "{name} isn't there");
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        if self.reversed {
            entries.reverse();
        }
        let options = SimpleFileOptions::default().last_modified_time(self.time);
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            zip.start_file(name.as_str(), options).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }
}

/// Everything that is checked.
#[derive(Clone)]
pub struct Candidate {
    pub target: Target,
    pub aar: Zip,
    pub jar: Zip,
    pub jna: Zip,
    pub budget: String,
    pub build_paths: Vec<String>,
}

/// What is right in every way.
pub fn good() -> Candidate {
    static GOOD: LazyLock<Candidate> = LazyLock::new(make);
    GOOD.clone()
}

/// The same from this machine's library.
pub fn good_host() -> Candidate {
    let mut candidate = good();
    candidate.target = Target::Host;
    for abi in Abi::SHIPPED {
        candidate.aar.remove(&abi.library());
    }
    let mut library = Library::good(Abi::HOST, &CALLED);
    library.needed = "libc.so.6";
    candidate.put_library(&library);
    candidate
}

impl Candidate {
    pub fn put_library(&mut self, library: &Library) {
        self.aar.put(&library.abi.library(), library.link());
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut aar = self.aar.clone();
        if let Some(jar) = aar.entries.get_mut("classes.jar") {
            *jar = self.jar.bytes();
        }
        aar.bytes()
    }

    pub fn problems(&self) -> Vec<String> {
        let settings = Settings {
            target: self.target,
            budget: Budget::parse(&self.budget).unwrap(),
            jna: self.jna.bytes(),
            build_paths: self.build_paths.clone(),
        };
        check(&self.bytes(), &settings).problems().collect()
    }

    /// Refused for one reason, and told it in these words.
    #[track_caller]
    pub fn is_refused(&self, words: &str) {
        self.is_refused_for(&[words]);
    }

    /// Refused for these reasons and no other.
    #[track_caller]
    pub fn is_refused_for(&self, reasons: &[&str]) {
        let problems = self.problems();
        let each_told = problems.len() == reasons.len()
            && problems
                .iter()
                .zip(reasons)
                .all(|(problem, words)| problem.contains(words));
        assert!(each_told, "expected {reasons:#?}, was told {problems:#?}");
    }
}

/// A class file with native methods and nothing else.
pub fn class(name: &str, natives: &[&str], version: u16) -> Vec<u8> {
    fn utf8(out: &mut Vec<u8>, text: &str) {
        out.push(1);
        out.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        out.extend(text.as_bytes());
    }
    let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0];
    let words = |out: &mut Vec<u8>, words: &[usize]| {
        for word in words {
            out.extend(u16::try_from(*word).unwrap().to_be_bytes());
        }
    };
    words(&mut out, &[usize::from(version), 6 + natives.len()]);
    utf8(&mut out, name);
    out.extend([7, 0, 1]);
    utf8(&mut out, "java/lang/Object");
    out.extend([7, 0, 3]);
    utf8(&mut out, "()V");
    for native in natives {
        utf8(&mut out, native);
    }
    // Public; this class and its parent; no interfaces, no fields.
    words(&mut out, &[0x21, 2, 4, 0, 0, natives.len()]);
    for index in 0..natives.len() {
        // Public and native; name and type; no attributes.
        words(&mut out, &[0x101, 6 + index, 5, 0]);
    }
    words(&mut out, &[0]);
    out
}

fn make() -> Candidate {
    let mut jar = Zip::new();
    for (name, natives) in [
        ("dev/submitonce/Outbox", &[] as &[&str]),
        ("dev/submitonce/android/OutboxWorker", &[]),
        ("dev/submitonce/internal/UniffiLib", &CALLED),
    ] {
        jar.put(&format!("{name}.class"), class(name, natives, 52));
    }
    jar.put("META-INF/submit-once.kotlin_module", "module");

    let mut aar = Zip::new();
    aar.put("AndroidManifest.xml", MANIFEST);
    aar.put("proguard.txt", RULES);
    aar.put("R.txt", "");
    aar.put("classes.jar", "");
    aar.put(
        "META-INF/com/android/build/gradle/aar-metadata.properties",
        "aarFormatVersion=1.0\naarMetadataVersion=1.0\nminCompileSdk=1\n",
    );
    let mut jna = Zip::new();
    for abi in Abi::SHIPPED {
        aar.put(&abi.library(), Library::good(abi, &CALLED).link());
        jna.put(&jna_library(abi), Library::good(abi, &[]).link());
    }
    Candidate {
        target: Target::Phones,
        aar,
        jar,
        jna,
        budget: BUDGET.to_owned(),
        build_paths: vec!["/builds/app".to_owned()],
    }
}

pub fn jna_library(abi: Abi) -> String {
    format!("jni/{}/libjnidispatch.so", abi.name)
}
