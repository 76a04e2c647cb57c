//! What is in the jar.

use super::fixture::{CALLED, class, good};
use super::linker::Library;
use check_aar::abi::Abi;

#[test]
fn stubs_of_android_are_refused() {
    for name in ["androidx/work/CoroutineWorker", "android/content/Context"] {
        let mut candidate = good();
        candidate
            .jar
            .put(&format!("{name}.class"), class(name, &[], 52));
        candidate.is_refused(&format!("{name}.class is a stub of Android's"));
    }
}

#[test]
fn other_peoples_classes_are_refused() {
    let mut candidate = good();
    let name = "com/sun/jna/Native";
    candidate
        .jar
        .put(&format!("{name}.class"), class(name, &[], 52));
    candidate.is_refused("com/sun/jna/Native.class is not of this library");
}

#[test]
fn tests_are_refused() {
    for name in [
        "dev/submitonce/OutboxTest",
        "dev/submitonce/OutboxTest$one$1",
    ] {
        let mut candidate = good();
        candidate
            .jar
            .put(&format!("{name}.class"), class(name, &[], 52));
        candidate.is_refused(&format!("{name}.class is a test"));
    }
}

#[test]
fn a_native_library_in_the_jar_is_refused() {
    let mut candidate = good();
    candidate.jar.put("linux-x86-64/libsubmit_once.so", "ELF");
    candidate.is_refused("linux-x86-64/libsubmit_once.so is a native library");
}

#[test]
fn the_worker_and_the_bindings_must_be_there() {
    let mut candidate = good();
    candidate
        .jar
        .remove("dev/submitonce/android/OutboxWorker.class");
    candidate.is_refused("OutboxWorker.class is missing");
}

#[test]
fn a_kotlin_module_must_be_there() {
    let mut candidate = good();
    candidate.jar.remove("META-INF/submit-once.kotlin_module");
    candidate.is_refused("META-INF/*.kotlin_module is missing");
}

#[test]
fn classes_for_a_newer_java_are_refused() {
    let mut candidate = good();
    let name = "dev/submitonce/Newer";
    candidate
        .jar
        .put(&format!("{name}.class"), class(name, &[], 61));
    candidate.is_refused("Newer.class has class file version 61, above 55");
}

#[test]
fn a_class_in_another_ones_place_is_refused() {
    let mut candidate = good();
    let bytes = class("dev/submitonce/Two", &[], 52);
    candidate.jar.put("dev/submitonce/One.class", bytes);
    candidate.is_refused("One.class holds the class dev/submitonce/Two");
}

#[test]
fn a_damaged_class_is_refused() {
    let mut candidate = good();
    candidate
        .jar
        .put("dev/submitonce/Half.class", [0xCA, 0xFE, 0xBA]);
    candidate.is_refused("Half.class can't be read");
}

#[test]
fn a_path_of_the_build_is_refused() {
    let mut candidate = good();
    let module = "META-INF/submit-once.kotlin_module";
    candidate.jar.put(module, "/builds/app/Outbox.kt");
    candidate.is_refused(&format!("{module} names a path of the build: /builds/app/"));
}

#[test]
fn what_the_bindings_call_is_exported() {
    let mut candidate = good();
    let name = "dev/submitonce/internal/UniffiLib";
    let bytes = class(
        name,
        &[CALLED[0], CALLED[1], "ffi_submit_once_new_call"],
        52,
    );
    candidate.jar.put(&format!("{name}.class"), bytes);
    let words = "ffi_submit_once_new_call is called by the bindings and not exported";
    candidate.is_refused_for(&[words, words, words]);
}

#[test]
fn a_library_of_an_older_build_is_refused() {
    let mut candidate = good();
    candidate.put_library(&Library::good(Abi::SHIPPED[1], &CALLED[..1]));
    candidate.is_refused(
        "jni/armeabi-v7a/libsubmit_once.so exports: uniffi_submit_once_fn_method_outbox_submit is called",
    );
}
