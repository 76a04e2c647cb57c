//! The jar with the classes: ours and nobody else's, and what they call in the native library.

use std::collections::BTreeSet;

use cafebabe::{MethodAccessFlags, ParseOptions};

use crate::archive::Archive;
use crate::paths;
use crate::report::Report;

const SUBJECT: &str = "classes.jar";

/// Java 11: what the Android tools of the last years read without asking.
const NEWEST: u16 = 55;

/// Where the generated bindings live.
const BINDINGS: &str = "dev/submitonce/internal/";

/// Named in apps' storage or read by name, so never to be moved unnoticed.
const REQUIRED: [&str; 2] = [
    "dev/submitonce/android/OutboxWorker.class",
    "dev/submitonce/internal/UniffiLib.class",
];

/// A jar that was read.
#[derive(Debug)]
pub struct Classes {
    archive: Archive,
    classes: usize,
    problems: Vec<String>,
    /// The native methods of the generated bindings. JNA looks up every one when their class is
    /// loaded: one that the library doesn't export, and the app can't start.
    pub natives: BTreeSet<String>,
}

impl Classes {
    /// Reads the jar and every class in it.
    pub fn read(jar: &[u8], report: &mut Report) -> Option<Self> {
        let archive = Archive::read(SUBJECT, jar, report)?;
        let mut classes = Self {
            classes: 0,
            problems: Vec::new(),
            natives: BTreeSet::new(),
            archive,
        };
        let mut options = ParseOptions::default();
        options.parse_bytecode(false);
        for (name, content) in classes.archive.entries() {
            let Some(class_name) = name.strip_suffix(".class") else {
                continue;
            };
            classes.classes += 1;
            let class = match cafebabe::parse_class_with_options(content, &options) {
                Ok(class) => class,
                Err(error) => {
                    classes
                        .problems
                        .push(format!("{name} can't be read: {error}"));
                    continue;
                }
            };
            let is = class.this_class.to_string();
            if is != class_name {
                classes
                    .problems
                    .push(format!("{name} holds the class {is}"));
            }
            if class.major_version > NEWEST {
                let is = class.major_version;
                let problem = format!("{name} has class file version {is}, above {NEWEST}");
                classes.problems.push(problem);
            }
            if class_name.starts_with(BINDINGS) {
                let methods = class.methods.iter();
                let natives =
                    methods.filter(|m| m.access_flags.contains(MethodAccessFlags::NATIVE));
                classes
                    .natives
                    .extend(natives.map(|method| method.name.to_string()));
            }
        }
        Some(classes)
    }

    /// Judges what was read.
    pub fn check(&self, build_paths: &[String], report: &mut Report) {
        let mut problems = self.problems.clone();
        for name in REQUIRED {
            if self.archive.get(name).is_none() {
                problems.push(format!("{name} is missing"));
            }
        }
        let mut modules = 0;
        for (name, content) in self.archive.entries() {
            let is_module = name.starts_with("META-INF/") && name.ends_with(".kotlin_module");
            modules += usize::from(is_module);
            if !is_module {
                problems.extend(out_of_place(name));
            }
            let found = paths::found(content, build_paths);
            problems.extend(found.into_iter().map(|path| format!("{name} {path}")));
        }
        // Without it other people's Kotlin doesn't see functions outside classes.
        if modules == 0 {
            problems.push("META-INF/*.kotlin_module is missing".to_owned());
        }
        if self.natives.is_empty() {
            problems.push(format!("no native method in {BINDINGS}"));
        }
        let figure = format!(
            "{} classes, {modules} Kotlin modules, {} native methods",
            self.classes,
            self.natives.len()
        );
        report.judge(SUBJECT, problems, figure);
        self.archive.check_form(report);
    }
}

/// Why an entry may not be in the jar.
fn out_of_place(name: &str) -> Option<String> {
    if ["androidx/", "android/"]
        .iter()
        .any(|start| name.starts_with(start))
    {
        return Some(format!(
            "{name} is a stub of Android's: it would hide the real class"
        ));
    }
    if [".so", ".dll", ".dylib"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        return Some(format!(
            "{name} is a native library: phones don't look for it there"
        ));
    }
    let simple = name.trim_end_matches(".class").rsplit('/').next()?;
    let outer = simple.split('$').next()?;
    if outer.ends_with("Test") || outer.ends_with("Tests") {
        return Some(format!("{name} is a test"));
    }
    let ours = name.starts_with("dev/submitonce/");
    (!ours).then(|| format!("{name} is not of this library"))
}
