//! Answers that HTTP does not allow, or that a polite server would never send: written to the
//! socket by hand, piece by piece.
//!
//! The pieces are small, so that each breach of the protocol can be put together from them. The
//! usual ones have constructors of their own at [`Behaviour`](crate::Behaviour).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest raw answer that can be asked for; more is a mistake in a test.
const LENGTH_LIMIT: u64 = 256 * 1024 * 1024;

/// An answer written by hand once the request has been read whole, and the end of its connection.
///
/// The pieces speak of an answer: with `commit` the true one (of a new effect or a replay, with
/// its marker), without it a 503.
///
/// ```
/// use submit_once_reference_server::{Behaviour, End, Piece, RawAnswer};
///
/// let cut: Behaviour = serde_json::from_str(
///     r#"{"raw": {"commit": true, "pieces": ["status_line", "headers", {"bytes": "X-A: "}]}}"#,
/// )?;
/// let same = RawAnswer {
///     commit: true,
///     pieces: vec![Piece::StatusLine, Piece::Headers, Piece::Bytes(b"X-A: ".to_vec())],
///     end: End::Close,
///     delivered: false,
/// };
/// assert_eq!(cut, Behaviour::Raw(same));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAnswer {
    /// Whether the effect happens first. Default in JSON: false.
    #[serde(default)]
    pub commit: bool,
    /// What is written, in order. Neighbours without a pause go out in one write. Default in JSON:
    /// nothing.
    #[serde(default)]
    pub pieces: Vec<Piece>,
    /// What becomes of the connection then. Default in JSON: it is closed.
    #[serde(default)]
    pub end: End,
    /// Whether the client has the true answer when all is written; the record then says that it
    /// was answered, and otherwise that the answer was lost. Default in JSON: false.
    #[serde(default)]
    pub delivered: bool,
}

/// A part of a [`RawAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Piece {
    /// The status line of the answer, with its end of line.
    StatusLine,
    /// The headers of the answer, without those of its framing and without the empty line.
    Headers,
    /// A `Content-Length` that is wrong by this much, 0 for the right one.
    ContentLength(i64),
    /// The empty line after the headers.
    EndOfHead,
    /// The body of the answer.
    Body,
    /// The first half of the body.
    HalfBody,
    /// The body as one chunk of the chunked encoding, without the final chunk.
    Chunk,
    /// These bytes. In JSON a string, or a list of bytes.
    Bytes(#[serde(with = "crate::forms::text_or_bytes")] Vec<u8>),
    /// These bytes so many times.
    Repeat {
        /// The bytes. In JSON a string, or a list of bytes.
        #[serde(with = "crate::forms::text_or_bytes")]
        bytes: Vec<u8>,
        /// How often.
        times: u32,
    },
    /// Nothing for this time, in milliseconds in JSON.
    Pause(#[serde(with = "crate::forms::milliseconds")] Duration),
    /// One byte at a time from here on, with this pause before each, in milliseconds in JSON; 0
    /// ends it.
    Pace(#[serde(with = "crate::forms::milliseconds")] Duration),
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// In order, with a FIN.
    #[default]
    Close,
    /// With a RST: the client's system throws away what the client has not read yet.
    Reset,
    /// Not at all, until [`HANG`](crate::HANG) is released or the client hangs up.
    Hang,
}

impl Piece {
    /// [`Piece::Bytes`] of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }

    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Repeat { bytes, times } => u64::from(*times).saturating_mul(bytes.len() as u64),
            _ => 0,
        }
    }
}

impl RawAnswer {
    /// Whether it fits into memory.
    pub(crate) fn check(&self) -> Result<(), String> {
        let length = self
            .pieces
            .iter()
            .fold(0_u64, |sum, piece| sum.saturating_add(piece.length()));
        if length > LENGTH_LIMIT {
            return Err(format!(
                "a raw answer of {length} bytes is longer than 256 MiB"
            ));
        }
        Ok(())
    }
}
