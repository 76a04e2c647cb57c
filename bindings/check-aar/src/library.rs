//! The native libraries: made for their machine, loadable with 16 KB pages, small, and telling
//! nothing of the machine that built them.

use std::collections::BTreeSet;

use goblin::elf::dynamic::{DF_TEXTREL, DT_TEXTREL};
use goblin::elf::program_header::{PF_X, PT_GNU_STACK, PT_LOAD};
use goblin::elf::section_header::SHT_SYMTAB;
use goblin::elf::sym::{STB_LOCAL, STB_WEAK};
use goblin::elf::{Elf, Sym};

use crate::abi::Abi;
use crate::archive::Archive;
use crate::report::Report;
use crate::{Settings, Target, paths};

/// Pages of 16 KB. Google Play refuses 64-bit libraries that can't be loaded with them.
const PAGE: u64 = 0x4000;

/// The API level of `minSdk`.
const API_LEVEL: u32 = 26;

/// What Android has for every app.
const ANDROID_LIBRARIES: [&str; 4] = ["libc.so", "libdl.so", "liblog.so", "libm.so"];

/// What UniFFI exports for a crate of this name. Anything else could clash with another library of
/// the app: a second SQLite above all.
const EXPORTS: [&str; 5] = [
    "ffi_submit_once_",
    "uniffi_submit_once_",
    // Only for the generator of the bindings.
    "UNIFFI_META_SUBMIT_ONCE_",
    "UNIFFI_META_NAMESPACE_SUBMIT_ONCE",
    "UNIFFI_META_UNIFFI_TRAIT_SUBMIT_ONCE_",
];

/// Checks our library.
pub fn check(
    bytes: &[u8],
    abi: Abi,
    natives: &BTreeSet<String>,
    settings: &Settings,
    report: &mut Report,
) {
    let path = abi.library();
    let Some(elf) = parse(&path, bytes, abi, report) else {
        return;
    };
    if abi.is_64_bit {
        check_alignment(&path, &elf, report);
    }
    check_symbols(&path, &elf, report);
    check_loading(&path, bytes, &elf, settings.target, report);
    check_exports(&path, &elf, natives, report);
    check_undefined(&path, &elf, report);
    let subject = format!("{path} paths");
    report.judge(
        &subject,
        paths::found(bytes, &settings.build_paths),
        "none of the build",
    );
    let at_most = settings.budget.library(settings.target, abi);
    report.check_size(&format!("{path} size"), bytes.len(), at_most);
}

/// Checks that JNA's own library can be loaded wherever ours can.
pub fn check_jna(aar: &[u8], abis: &[Abi], report: &mut Report) {
    let Some(archive) = Archive::read("JNA", aar, report) else {
        return;
    };
    for abi in abis {
        let path = format!("jni/{}/libjnidispatch.so", abi.name);
        let subject = format!("JNA {path}");
        let Some(bytes) = archive.get(&path) else {
            report.fail(&subject, "is missing");
            continue;
        };
        if let Some(elf) = parse(&subject, bytes, *abi, report)
            && abi.is_64_bit
        {
            check_alignment(&subject, &elf, report);
        }
    }
}

fn parse<'a>(path: &str, bytes: &'a [u8], abi: Abi, report: &mut Report) -> Option<Elf<'a>> {
    let subject = format!("{path} machine");
    let elf = match Elf::parse(bytes) {
        Ok(elf) => elf,
        Err(error) => {
            report.fail(&subject, format!("not an ELF file: {error}"));
            return None;
        }
    };
    let mut problems = Vec::new();
    if elf.header.e_machine != abi.machine || elf.is_64 != abi.is_64_bit {
        let found = goblin::elf::header::machine_to_str(elf.header.e_machine);
        problems.push(format!("is for {found}, not for {}", abi.name));
    }
    report.judge(&subject, problems, abi.name);
    Some(elf)
}

fn check_alignment(path: &str, elf: &Elf<'_>, report: &mut Report) {
    let segments = elf.program_headers.iter().filter(|h| h.p_type == PT_LOAD);
    let least = segments.map(|header| header.p_align).min().unwrap_or(0);
    let mut problems = Vec::new();
    if least < PAGE {
        problems.push(format!(
            "a segment is aligned to {least:#x}, not to 16 KB pages"
        ));
    }
    report.judge(
        &format!("{path} alignment"),
        problems,
        format!("{least:#x}"),
    );
}

/// Stripped, with an ID by which the symbols are found again.
fn check_symbols(path: &str, elf: &Elf<'_>, report: &mut Report) {
    let sections: Vec<&str> = elf
        .section_headers
        .iter()
        .filter_map(|header| elf.shdr_strtab.get_at(header.sh_name))
        .collect();
    let has_symbols = elf.section_headers.iter().any(|h| h.sh_type == SHT_SYMTAB);
    let mut problems = Vec::new();
    if has_symbols || sections.iter().any(|name| name.starts_with(".debug_")) {
        problems.push("is not stripped".to_owned());
    }
    if !sections.contains(&".note.gnu.build-id") {
        problems.push("has no build ID: its symbols can't be found for a crash".to_owned());
    }
    report.judge(
        &format!("{path} symbols"),
        problems,
        "stripped, with a build ID",
    );
}

/// What the system's loader reads.
fn check_loading(path: &str, bytes: &[u8], elf: &Elf<'_>, target: Target, report: &mut Report) {
    let mut problems = Vec::new();
    if elf.soname != Some("libsubmit_once.so") {
        problems.push(format!("its name inside is {:?}", elf.soname));
    }
    if target == Target::Phones {
        for needed in &elf.libraries {
            if !ANDROID_LIBRARIES.contains(needed) {
                problems.push(format!("needs {needed}, which Android doesn't have"));
            }
        }
    }
    if !elf.rpaths.is_empty() || !elf.runpaths.is_empty() {
        problems.push("has search paths for libraries".to_owned());
    }
    let relocates_code = elf.dynamic.as_ref().is_some_and(|dynamic| {
        let in_flags = dynamic.info.flags & DF_TEXTREL != 0;
        in_flags || dynamic.dyns.iter().any(|entry| entry.d_tag == DT_TEXTREL)
    });
    if relocates_code {
        problems.push("has text relocations: Android doesn't load it".to_owned());
    }
    let stack = elf
        .program_headers
        .iter()
        .find(|h| h.p_type == PT_GNU_STACK);
    if stack.is_none_or(|header| header.p_flags & PF_X != 0) {
        problems.push("wants an executable stack".to_owned());
    }
    problems.extend(api_level_problem(bytes, elf));
    let figure = format!("needs {}", elf.libraries.join(", "));
    report.judge(&format!("{path} loading"), problems, figure);
}

/// The NDK notes the API level that a library was built for; a host's compiler doesn't.
fn api_level_problem(bytes: &[u8], elf: &Elf<'_>) -> Option<String> {
    let mut notes = elf.iter_note_sections(bytes, Some(".note.android.ident"))?;
    let level = notes.find_map(|note| note.ok()?.desc.first_chunk().copied());
    let level = u32::from_le_bytes(level?);
    (level > API_LEVEL).then(|| format!("is built for API {level}, above {API_LEVEL}"))
}

/// Everything that the bindings call, and nothing that could clash.
fn check_exports(path: &str, elf: &Elf<'_>, natives: &BTreeSet<String>, report: &mut Report) {
    let exported: BTreeSet<&str> = elf
        .dynsyms
        .iter()
        .filter(|symbol| !symbol.is_import() && symbol.st_bind() != STB_LOCAL)
        .filter(|symbol| symbol.st_name != 0)
        .filter_map(|symbol| name(elf, &symbol))
        .collect();
    let missing = natives
        .iter()
        .filter(|native| !exported.contains(native.as_str()))
        .map(|native| format!("{native} is called by the bindings and not exported"));
    let unexpected = exported
        .iter()
        .filter(|name| !EXPORTS.iter().any(|start| name.starts_with(start)))
        .map(|name| format!("exports {name}, which is not of the bindings"));
    report.judge(
        &format!("{path} exports"),
        missing.chain(unexpected).collect(),
        format!("{}, {} of them called", exported.len(), natives.len()),
    );
}

/// Helpers for 128-bit floating point come from the compiler, and Android has none: SQLite on
/// x86_64 asks for them where it isn't linked with the compiler's own library.
fn check_undefined(path: &str, elf: &Elf<'_>, report: &mut Report) {
    let ends = ["tf2", "tf3", "tfsi", "tfdi", "tfti", "sitf", "ditf", "titf"];
    let undefined: Vec<&str> = elf
        .dynsyms
        .iter()
        .filter(|symbol| symbol.is_import() && symbol.st_bind() != STB_WEAK)
        .filter_map(|symbol| name(elf, &symbol))
        .collect();
    let problems = undefined
        .iter()
        .filter(|name| name.starts_with("__") && ends.iter().any(|end| name.ends_with(end)))
        .map(|name| format!("{name} is undefined: link the compiler's built-ins"))
        .collect();
    let figure = format!("{}, none of them the compiler's", undefined.len());
    report.judge(&format!("{path} undefined"), problems, figure);
}

fn name<'a>(elf: &Elf<'a>, symbol: &Sym) -> Option<&'a str> {
    elf.dynstrtab.get_at(symbol.st_name)
}
