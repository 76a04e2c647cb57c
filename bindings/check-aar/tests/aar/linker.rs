//! Real shared libraries for every machine, by the linker that comes with Rust.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use check_aar::abi::Abi;
use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationEncoding, RelocationFlags, RelocationKind,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

/// What a library is made of. The default is a good one.
#[derive(Clone)]
pub struct Library {
    pub abi: Abi,
    pub name: &'static str,
    pub exports: Vec<String>,
    pub undefined: Vec<String>,
    /// Put into its data.
    pub text: String,
    pub needed: &'static str,
    pub page_size: u64,
    /// What the NDK notes.
    pub api_level: u32,
    /// Whether its code holds an address that the loader would have to fill in.
    pub address_in_code: bool,
    pub strip: bool,
    pub build_id: bool,
    /// More flags for the linker.
    pub flags: Vec<&'static str>,
}

impl Library {
    pub fn good(abi: Abi, exports: &[&str]) -> Self {
        Self {
            abi,
            name: "libsubmit_once.so",
            exports: exports.iter().map(ToString::to_string).collect(),
            undefined: vec!["malloc".to_owned()],
            text: "nothing of interest".to_owned(),
            needed: "libc.so",
            page_size: 0x4000,
            api_level: 26,
            address_in_code: false,
            strip: true,
            build_id: true,
            flags: Vec::new(),
        }
    }

    pub fn link(&self) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let object = folder.join("library.o");
        std::fs::write(&object, self.object()).unwrap();
        // What a system library is to a linker: a name.
        let empty = folder.join("empty.o");
        let empty_object = Object::new(BinaryFormat::Elf, self.architecture(), Endianness::Little);
        std::fs::write(&empty, empty_object.write().unwrap()).unwrap();
        let needed = folder.join(self.needed);
        link(&needed, &[empty], &[format!("-soname={}", self.needed)]);

        let mut flags = vec![
            format!("-soname={}", self.name),
            format!("-zmax-page-size={}", self.page_size),
        ];
        flags.extend(self.flags.iter().map(ToString::to_string));
        if self.strip {
            flags.push("--strip-all".to_owned());
        }
        if self.build_id {
            flags.push("--build-id".to_owned());
        }
        let library = folder.join(self.name);
        link(&library, &[object, needed], &flags);
        std::fs::read(library).unwrap()
    }

    fn architecture(&self) -> Architecture {
        match self.abi.name {
            "arm64-v8a" => Architecture::Aarch64,
            "armeabi-v7a" => Architecture::Arm,
            "x86_64" => Architecture::X86_64,
            other => panic!("no architecture for {other}"),
        }
    }

    fn object(&self) -> Vec<u8> {
        let mut object = Object::new(BinaryFormat::Elf, self.architecture(), Endianness::Little);
        let code = object.section_id(StandardSection::Text);
        object.append_section_data(code, &[0; 16], 16);
        let data = object.section_id(StandardSection::Data);
        object.append_section_data(data, self.text.as_bytes(), 1);
        let mut note = Vec::new();
        for word in [8, 4, 1] {
            note.extend(u32::to_le_bytes(word));
        }
        note.extend(b"Android\0");
        note.extend(self.api_level.to_le_bytes());
        let section = object.add_section(
            Vec::new(),
            b".note.android.ident".to_vec(),
            SectionKind::Note,
        );
        object.append_section_data(section, &note, 4);

        let exports = self
            .exports
            .iter()
            .map(|name| (name, SymbolSection::Section(code)));
        let undefined = self
            .undefined
            .iter()
            .map(|name| (name, SymbolSection::Undefined));
        let mut last = None;
        for (name, section) in exports.chain(undefined) {
            last = Some(object.add_symbol(Symbol {
                name: name.clone().into_bytes(),
                value: 0,
                size: 0,
                kind: SymbolKind::Text,
                scope: SymbolScope::Dynamic,
                weak: false,
                section,
                flags: SymbolFlags::None,
            }));
        }
        if self.address_in_code {
            let relocation = Relocation {
                offset: 0,
                symbol: last.unwrap(),
                addend: 0,
                flags: RelocationFlags::Generic {
                    kind: RelocationKind::Absolute,
                    encoding: RelocationEncoding::Generic,
                    size: 64,
                },
            };
            object.add_relocation(code, relocation).unwrap();
        }
        object.write().unwrap()
    }
}

fn link(output: &Path, inputs: &[PathBuf], flags: &[String]) {
    static LINKER: LazyLock<PathBuf> = LazyLock::new(|| {
        let host = rustc(&["--print", "host-tuple"]);
        let name = format!("rust-lld{}", std::env::consts::EXE_SUFFIX);
        Path::new(&rustc(&["--print", "sysroot"]))
            .join("lib/rustlib")
            .join(host)
            .join("bin")
            .join(name)
    });
    let mut command = Command::new(LINKER.as_path());
    command
        .args(["-flavor", "gnu", "-shared", "--no-as-needed", "-o"])
        .arg(output)
        .args(inputs)
        .args(flags);
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} could not be run: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{told}");
}

fn rustc(arguments: &[&str]) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).output().unwrap();
    assert!(output.status.success(), "rustc {arguments:?} failed");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
