//! Native libraries.

use check_aar::abi::Abi;

use super::fixture::{CALLED, Candidate, good, jna_library};
use super::linker::Library;

const ARM64: Abi = Abi::SHIPPED[0];
const ARM32: Abi = Abi::SHIPPED[1];
const X86_64: Abi = Abi::SHIPPED[2];

/// A good archive with one other library.
fn with(abi: Abi, change: impl FnOnce(&mut Library)) -> Candidate {
    let mut library = Library::good(abi, &CALLED);
    change(&mut library);
    let mut candidate = good();
    candidate.put_library(&library);
    candidate
}

#[test]
fn four_kilobyte_pages_are_refused_for_64_bit() {
    for abi in [ARM64, X86_64] {
        with(abi, |library| library.page_size = 0x1000)
            .is_refused("a segment is aligned to 0x1000, not to 16 KB pages");
    }
}

#[test]
fn four_kilobyte_pages_are_fine_for_32_bit() {
    with(ARM32, |library| library.page_size = 0x1000).is_refused_for(&[]);
}

#[test]
fn larger_pages_are_fine() {
    with(ARM64, |library| library.page_size = 0x10000).is_refused_for(&[]);
}

#[test]
fn jna_is_looked_at_too() {
    let mut candidate = good();
    let mut library = Library::good(ARM64, &[]);
    library.page_size = 0x1000;
    candidate.jna.put(&jna_library(ARM64), library.link());
    candidate.is_refused(
        "JNA jni/arm64-v8a/libjnidispatch.so alignment: a segment is aligned to 0x1000",
    );
}

#[test]
fn jna_has_each_machine() {
    let mut candidate = good();
    candidate.jna.remove(&jna_library(ARM32));
    candidate.is_refused("JNA jni/armeabi-v7a/libjnidispatch.so: is missing");
}

#[test]
fn a_library_for_another_machine_is_refused() {
    let mut candidate = good();
    let path = ARM64.library();
    candidate
        .aar
        .put(&path, Library::good(X86_64, &CALLED).link());
    candidate.is_refused("is for X86_64, not for arm64-v8a");
}

#[test]
fn what_is_no_library_is_refused() {
    let mut candidate = good();
    candidate.aar.put(&ARM64.library(), "libsubmit_once");
    candidate.is_refused("not an ELF file");
}

#[test]
fn an_unstripped_library_is_refused() {
    with(ARM64, |library| library.strip = false).is_refused("is not stripped");
}

#[test]
fn a_library_without_a_build_id_is_refused() {
    with(ARM32, |library| library.build_id = false).is_refused("has no build ID");
}

#[test]
fn a_second_sqlite_is_refused() {
    with(X86_64, |library| {
        library.exports.push("sqlite3_open_v2".to_owned())
    })
    .is_refused("exports sqlite3_open_v2, which is not of the bindings");
}

#[test]
fn the_compilers_own_functions_are_linked() {
    with(X86_64, |library| {
        library.undefined.push("__extenddftf2".to_owned())
    })
    .is_refused("__extenddftf2 is undefined: link the compiler's built-ins");
}

#[test]
fn a_path_of_the_build_is_refused() {
    for path in [
        "/home/somebody/src/lib.rs",
        "/Users/somebody/src/lib.rs",
        "/builds/app/src/lib.rs",
        "C:\\Users\\somebody\\lib.rs",
    ] {
        with(ARM64, |library| {
            library.text = format!("panicked at {path} here")
        })
        .is_refused(&format!("names a path of the build: {path}"));
    }
}

#[test]
fn each_library_has_a_budget() {
    with(ARM32, |library| library.text = "x".repeat(60_000))
        .is_refused("jni/armeabi-v7a/libsubmit_once.so size: too large: ");
}

#[test]
fn a_library_that_no_budget_names_is_refused() {
    let mut candidate = good();
    candidate.budget = candidate.budget.replacen("armeabi-v7a = 50_000\n", "", 1);
    candidate.is_refused("of at most 0");
}

#[test]
fn a_library_of_another_name_is_refused() {
    with(ARM64, |library| library.name = "libother.so")
        .is_refused("its name inside is Some(\"libother.so\")");
}

#[test]
fn a_library_for_another_system_is_refused() {
    with(ARM64, |library| library.needed = "libgcc_s.so.1")
        .is_refused("needs libgcc_s.so.1, which Android doesn't have");
}

#[test]
fn a_library_with_search_paths_is_refused() {
    with(ARM64, |library| library.flags.push("-rpath=/lib")).is_refused("has search paths");
}

#[test]
fn a_library_with_an_executable_stack_is_refused() {
    with(ARM64, |library| library.flags.push("-zexecstack"))
        .is_refused("wants an executable stack");
}

#[test]
fn a_library_with_addresses_in_its_code_is_refused() {
    with(X86_64, |library| {
        library.address_in_code = true;
        library.flags.push("-znotext");
    })
    .is_refused("has text relocations");
}

#[test]
fn a_library_for_newer_phones_is_refused() {
    with(ARM64, |library| library.api_level = 30).is_refused("is built for API 30, above 26");
}
