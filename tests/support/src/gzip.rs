//! Answers that say `Content-Encoding: gzip`, honestly or not.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;

/// The most that a bomb inflates to; more is a mistake in a test.
const INFLATED_LIMIT: u64 = 1024 * 1024 * 1024;
/// What a bomb is filled with: JSON ignores it, so nothing but its length is wrong.
static FILLING: [u8; 64 * 1024] = [b' '; 64 * 1024];

/// What is wrong with a compressed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Gzip {
    /// Nothing.
    Whole,
    /// So many bytes are missing at its end, and its `Content-Length` is right without them, so
    /// that only the decoder can tell. With up to 8 it is only the trailer that is cut: the whole
    /// body comes out before the error.
    Truncated(usize),
    /// The true body is followed by spaces, so that it inflates to this many bytes.
    Bomb(u64),
}

impl Gzip {
    pub(crate) fn check(self) -> Result<(), String> {
        match self {
            Self::Bomb(bytes) if bytes > INFLATED_LIMIT => Err(format!(
                "a bomb of {bytes} bytes is larger than {INFLATED_LIMIT}"
            )),
            Self::Whole | Self::Truncated(_) | Self::Bomb(_) => Ok(()),
        }
    }

    /// Compresses the body of an answer.
    pub(crate) fn wrap(self, mut answer: Answer) -> Answer {
        let packed = self.check().and_then(|()| {
            let body = &answer.body;
            self.pack(body).map_err(|error| error.to_string())
        });
        match packed {
            Ok(body) => {
                answer.body = body.into();
                answer
                    .headers
                    .push(("Content-Encoding".to_owned(), "gzip".to_owned()));
                answer
            }
            Err(reason) => Answer::broken(&reason),
        }
    }

    fn pack(self, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body)?;
        if let Self::Bomb(inflated) = self {
            let mut rest = inflated.saturating_sub(body.len() as u64);
            while rest > 0 {
                let step = FILLING
                    .len()
                    .min(usize::try_from(rest).unwrap_or(usize::MAX));
                encoder.write_all(FILLING.get(..step).unwrap_or(&FILLING))?;
                rest -= step as u64;
            }
        }
        let mut packed = encoder.finish()?;
        if let Self::Truncated(missing) = self {
            packed.truncate(packed.len().saturating_sub(missing));
        }
        Ok(packed)
    }
}
