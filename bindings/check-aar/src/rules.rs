//! What R8 must keep in the release build of every app that uses the archive.
//!
//! JNA finds classes, fields and methods by name and by annotation, from native code too, and
//! brings no rules of its own. An archive with too few of them works in every debug build.

use crate::report::Report;

/// Whole rules. `com.sun.jna.*` with one star is not enough: it leaves out sub-packages.
const RULES: [&str; 7] = [
    "-dontwarn java.awt.**",
    "-keep class com.sun.jna.** { *; }",
    "-keep class * extends com.sun.jna.** { *; }",
    "-keep class * implements com.sun.jna.** { *; }",
    "-keep class dev.submitonce.internal.** { *; }",
    // WorkManager stores a worker's name, and makes it by its constructor after an update too.
    "-keep class dev.submitonce.** extends androidx.work.ListenableWorker { public <init>(android.content.Context, androidx.work.WorkerParameters); }",
    "-keepattributes",
];

/// `@Structure.FieldOrder` is read at run time, and belongs to an inner class.
const ATTRIBUTES: [&str; 6] = [
    "RuntimeVisibleAnnotations",
    "RuntimeInvisibleAnnotations",
    "AnnotationDefault",
    "InnerClasses",
    "EnclosingMethod",
    "Signature",
];

/// What only the app may decide: R8 takes these from a library for the whole app, or refuses them.
const OPTIONS: [&str; 6] = [
    "-dontobfuscate",
    "-dontoptimize",
    "-dontshrink",
    "-ignorewarnings",
    "-printconfiguration",
    "-printmapping",
];

/// Checks the text of the rules.
pub fn check(bytes: &[u8], report: &mut Report) {
    let text = String::from_utf8_lossy(bytes);
    let rules = parse(&text);
    let mut problems = Vec::new();
    for wanted in RULES {
        let wanted = normal(wanted);
        let is_there = |rule: &String| *rule == wanted || rule.starts_with(&format!("{wanted} "));
        if !rules.iter().any(is_there) {
            problems.push(format!("lacks {wanted}"));
        }
    }
    let kept: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule.strip_prefix("-keepattributes "))
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .collect();
    let lacking: Vec<&str> = ATTRIBUTES
        .into_iter()
        .filter(|name| !kept.contains(name))
        .collect();
    if !kept.is_empty() && !lacking.is_empty() {
        problems.push(format!("-keepattributes lacks {}", lacking.join(", ")));
    }
    for option in OPTIONS {
        if rules
            .iter()
            .any(|rule| rule.split(' ').next() == Some(option))
        {
            problems.push(format!("{option} is for the app to decide"));
        }
    }
    let figure = format!("{} rules, JNA, bindings and workers kept", rules.len());
    report.judge("proguard.txt", problems, figure);
}

/// The rules, each in one line with single spaces, without comments.
fn parse(text: &str) -> Vec<String> {
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .collect();
    // Each rule begins with a dash, and nothing else in them has one after a space.
    let joined = normal(&code.join(" "));
    format!(" {joined}")
        .split(" -")
        .skip(1)
        .map(|rule| format!("-{}", rule.trim()))
        .collect()
}

/// Single spaces, also beside punctuation.
fn normal(text: &str) -> String {
    let mut spaced = String::new();
    for c in text.chars() {
        if "{};,()".contains(c) {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}
