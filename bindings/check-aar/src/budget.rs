//! How large things may be, from a file that is changed on purpose.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Target;
use crate::abi::Abi;

/// The file, in bytes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// For phones.
    phones: Sizes,
    /// For the machine that builds.
    host: Sizes,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sizes {
    archive: usize,
    library: BTreeMap<String, usize>,
}

impl Budget {
    /// Reads the file's text.
    ///
    /// # Errors
    ///
    /// Where it isn't TOML, or not of this form.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// For a whole archive.
    pub fn archive(&self, target: Target) -> usize {
        self.sizes(target).archive
    }

    /// For our library: nothing, where the file doesn't name the ABI.
    pub fn library(&self, target: Target, abi: Abi) -> usize {
        let size = self.sizes(target).library.get(abi.name);
        size.copied().unwrap_or(0)
    }

    fn sizes(&self, target: Target) -> &Sizes {
        match target {
            Target::Phones => &self.phones,
            Target::Host => &self.host,
        }
    }
}
