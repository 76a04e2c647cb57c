//! What the day is made of: names, paths and bytes, so that the verdict can tell what the server should
//! have without asking the client.

use sha2::{Digest, Sha256};

/// Who shares the tablet.
pub const INSPECTORS: [&str; 2] = ["anna", "bert"];

/// Findings of one inspection.
pub const FINDINGS: usize = 3;

/// How often the draft of a report is saved.
pub const SAVES: usize = 10;

/// Lanes of an inspector; the other one uses the same names.
const SITES: usize = 5;

/// One inspection, by its number of the day.
#[derive(Clone, Copy)]
pub struct Inspection {
    pub number: usize,
    pub inspector: &'static str,
}

impl Inspection {
    pub fn new(number: usize, inspector: &'static str) -> Self {
        Self { number, inspector }
    }

    pub fn lane(self) -> String {
        format!("site/{}", self.number % SITES)
    }

    /// The path of the record itself.
    pub fn path(self) -> String {
        format!("/inspections?n={}&by={}", self.number, self.inspector)
    }

    /// The path of a finding, with the place that the record's ID goes to.
    pub fn finding_path(self, finding: usize, id: &str) -> String {
        format!(
            "/inspections/{id}/findings/{finding}?n={}&by={}",
            self.number, self.inspector
        )
    }

    /// The path of the photo, with the same.
    pub fn photo_path(self, id: &str) -> String {
        format!(
            "/inspections/{id}/photo?n={}&by={}",
            self.number, self.inspector
        )
    }

    pub fn draft_path(self) -> String {
        format!("/drafts?n={}&by={}", self.number, self.inspector)
    }

    pub fn draft_body(self, save: usize) -> String {
        format!(r#"{{"inspection":{},"save":{save}}}"#, self.number)
    }

    /// 300 KB that compress badly and differ from all others.
    pub fn photo(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(300 * 1024);
        let mut block = Sha256::digest(self.number.to_le_bytes());
        while bytes.len() < 300 * 1024 {
            bytes.extend_from_slice(&block);
            block = Sha256::digest(block);
        }
        bytes
    }
}

/// SHA-256 in hex, as the server records it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
