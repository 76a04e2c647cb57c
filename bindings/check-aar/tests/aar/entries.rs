//! What the archive holds, and in which form.

use zip::DateTime;

use super::fixture::{good, good_host};

#[test]
fn a_good_archive_is_accepted() {
    good().is_refused_for(&[]);
}

#[test]
fn a_good_archive_for_the_host_is_accepted() {
    good_host().is_refused_for(&[]);
}

#[test]
fn an_archive_for_the_host_is_not_one_for_phones() {
    let mut candidate = good_host();
    candidate.target = check_aar::Target::Phones;
    candidate.is_refused_for(&[
        "jni/arm64-v8a/libsubmit_once.so is missing",
        "jni/armeabi-v7a/libsubmit_once.so is missing",
        "needs libc.so.6, which Android doesn't have",
    ]);
}

#[test]
fn each_entry_must_be_there() {
    for (entry, words) in [
        ("AndroidManifest.xml", "AndroidManifest.xml is missing"),
        ("R.txt", "R.txt is missing"),
        ("proguard.txt", "proguard.txt is missing"),
        ("classes.jar", "classes.jar is missing"),
        (
            "jni/arm64-v8a/libsubmit_once.so",
            "jni/arm64-v8a/libsubmit_once.so is missing",
        ),
        (
            "jni/armeabi-v7a/libsubmit_once.so",
            "jni/armeabi-v7a/libsubmit_once.so is missing",
        ),
        (
            "META-INF/com/android/build/gradle/aar-metadata.properties",
            "aar-metadata.properties is missing",
        ),
    ] {
        let mut candidate = good();
        candidate.aar.remove(entry);
        candidate.is_refused(words);
    }
}

#[test]
fn no_other_entry_may_be_there() {
    for entry in [
        "jni/x86_64/libjnidispatch.so",
        "jni/mips/libsubmit_once.so",
        "res/values/values.xml",
    ] {
        let mut candidate = good();
        candidate.aar.put(entry, "what for?");
        candidate.is_refused(&format!("{entry} doesn't belong there"));
    }
}

#[test]
fn the_plugin_needs_its_two_versions() {
    let mut candidate = good();
    let metadata = "META-INF/com/android/build/gradle/aar-metadata.properties";
    candidate.aar.put(metadata, "aarFormatVersion=1.0\n");
    candidate.is_refused("aarMetadataVersion=1.0 is missing");
}

#[test]
fn entries_are_sorted() {
    let mut candidate = good();
    candidate.aar.reversed = true;
    candidate.is_refused("archive form: the entries are not in order");
    let mut candidate = good();
    candidate.jar.reversed = true;
    candidate.is_refused("classes.jar form: the entries are not in order");
}

#[test]
fn no_entry_tells_when_it_was_built() {
    let mut candidate = good();
    candidate.aar.time = DateTime::from_date_and_time(2026, 1, 2, 3, 4, 6).unwrap();
    candidate.is_refused("archive form: an entry has a time of its own");
}

#[test]
fn an_archive_has_a_budget() {
    let mut candidate = good();
    candidate.budget = candidate
        .budget
        .replace("archive = 100_000", "archive = 1_000");
    candidate.is_refused("archive: too large: ");
}
