//! The kinds of machine that a native library is for.

use goblin::elf::header::{EM_AARCH64, EM_ARM, EM_X86_64};

/// One of Android's application binary interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abi {
    /// Its name, which is also the name of its folder.
    pub name: &'static str,
    /// The machine in an ELF header.
    pub machine: u16,
    /// Whether it has 64-bit addresses, and with them perhaps 16 KB pages.
    pub is_64_bit: bool,
}

const ARM64: Abi = Abi {
    name: "arm64-v8a",
    machine: EM_AARCH64,
    is_64_bit: true,
};
const ARM32: Abi = Abi {
    name: "armeabi-v7a",
    machine: EM_ARM,
    is_64_bit: false,
};
const X86_64: Abi = Abi {
    name: "x86_64",
    machine: EM_X86_64,
    is_64_bit: true,
};

impl Abi {
    /// What ships: phones, old phones, and emulators and Chromebooks.
    pub const SHIPPED: [Self; 3] = [ARM64, ARM32, X86_64];

    /// The one that has this machine's processor.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") {
        ARM64
    } else {
        X86_64
    };

    /// The place of our library in an archive.
    pub fn library(&self) -> String {
        format!("jni/{}/libsubmit_once.so", self.name)
    }
}
