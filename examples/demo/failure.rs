//! Why the demo could not come to a verdict, as one sentence.

use std::fmt;

/// Why there is no verdict.
#[derive(Debug)]
pub enum Failure {
    /// What the user gave cannot be used: fix it.
    Input(String),
    /// Something that has to work did not.
    Trouble(String),
}

impl Failure {
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Trouble(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(sentence) | Self::Trouble(sentence) => f.write_str(sentence),
        }
    }
}

/// A failure of this program or its surroundings.
pub fn trouble(what: &str, why: impl fmt::Display) -> Failure {
    Failure::Trouble(format!("{what}: {why}"))
}
