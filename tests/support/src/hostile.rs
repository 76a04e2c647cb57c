//! The usual cases of a hostile network, by name.

use std::time::Duration;

use crate::behaviour::Behaviour;
use crate::gzip::Gzip;
use crate::raw::{End, Piece, RawAnswer};

/// What a captive portal shows.
const PORTAL: &str = "<!DOCTYPE html><html><head><title>Sign in to Wi-Fi</title></head>\
    <body><form>Accept the terms to go online</form></body></html>";

/// A head that HTTP clients understand, up to the empty line.
fn head() -> Vec<Piece> {
    vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::ContentLength(0),
        Piece::EndOfHead,
    ]
}

/// An answer with these headers besides its own.
fn with_headers(more: Piece) -> Behaviour {
    Behaviour::raw_delivered(vec![
        Piece::StatusLine,
        Piece::Headers,
        more,
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::Body,
    ])
}

/// Raw answers. Each has its effect first; see [`Behaviour::without_effect`].
impl Behaviour {
    /// [`Behaviour::Raw`] with an effect, whose answer never really arrives; the connection is
    /// closed.
    #[must_use]
    pub fn raw(pieces: Vec<Piece>) -> Self {
        Self::Raw(RawAnswer {
            commit: true,
            pieces,
            end: End::Close,
            delivered: false,
        })
    }

    /// [`Behaviour::raw`] that counts as answered when all of it is written.
    #[must_use]
    pub fn raw_delivered(pieces: Vec<Piece>) -> Self {
        Self::Raw(RawAnswer {
            commit: true,
            pieces,
            end: End::Close,
            delivered: true,
        })
    }

    /// The whole head, and not one byte of the body.
    #[must_use]
    pub fn cut_after_headers() -> Self {
        Self::raw(head())
    }

    /// The whole head and half of the body.
    #[must_use]
    pub fn cut_in_body() -> Self {
        Self::raw([head(), vec![Piece::HalfBody]].concat())
    }

    /// `Content-Length` promises `missing` bytes more than come.
    #[must_use]
    pub fn content_length_too_long(missing: u32) -> Self {
        Self::wrong_length(i64::from(missing))
    }

    /// `Content-Length` promises `surplus` bytes less than come.
    #[must_use]
    pub fn content_length_too_short(surplus: u32) -> Self {
        Self::wrong_length(-i64::from(surplus))
    }

    fn wrong_length(off: i64) -> Self {
        Self::raw(vec![
            Piece::StatusLine,
            Piece::Headers,
            Piece::ContentLength(off),
            Piece::EndOfHead,
            Piece::Body,
        ])
    }

    /// The whole body in the chunked encoding, without the chunk that says so.
    #[must_use]
    pub fn chunked_without_end() -> Self {
        Self::raw(vec![
            Piece::StatusLine,
            Piece::Headers,
            Piece::text("Transfer-Encoding: chunked\r\n"),
            Piece::EndOfHead,
            Piece::Chunk,
        ])
    }

    /// A RST in place of an answer, once the request has been read whole.
    #[must_use]
    pub fn reset_after_read() -> Self {
        Self::raw(Vec::new()).ending(End::Reset)
    }

    /// The whole answer, a byte at a time, with this pause before each.
    #[must_use]
    pub fn trickle(interval: Duration) -> Self {
        let answer = [head(), vec![Piece::Body]].concat();
        Self::raw_delivered([vec![Piece::Pace(interval)], answer].concat())
    }

    /// Interim answers with these statuses (100, 102, 103) before the real one.
    #[must_use]
    pub fn interim(statuses: &[u16]) -> Self {
        let interim = statuses.iter().map(|status| {
            // An empty reason is allowed, and no client may care for it.
            Piece::Bytes(format!("HTTP/1.1 {status} \r\n\r\n").into_bytes())
        });
        Self::raw_delivered(interim.chain(head()).chain([Piece::Body]).collect())
    }

    /// The answer with so many headers more.
    #[must_use]
    pub fn many_headers(count: u32) -> Self {
        with_headers(Piece::Repeat {
            bytes: b"X-Many: a\r\n".to_vec(),
            times: count,
        })
    }

    /// The answer with a head that is longer by this many bytes, in headers of 1 KiB.
    #[must_use]
    pub fn large_head(bytes: u32) -> Self {
        let line = format!("X-Large: {}\r\n", "a".repeat(1024 - 11));
        with_headers(Piece::Repeat {
            bytes: line.into_bytes(),
            times: bytes.div_ceil(1024),
        })
    }

    /// Something that is no status line, and then the rest of the answer.
    #[must_use]
    pub fn malformed_status_line() -> Self {
        let rest = [head(), vec![Piece::Body]].concat();
        let rest = rest.into_iter().skip(1);
        Self::raw(
            [Piece::text("HTTP/1.1 two hundred and one\r\n")]
                .into_iter()
                .chain(rest)
                .collect(),
        )
    }

    /// A raw answer or a cut request with another end of its connection. Others stay as they are.
    #[must_use]
    pub fn ending(mut self, new: End) -> Self {
        match &mut self {
            Self::Raw(RawAnswer { end, .. }) | Self::CutRequest { end, .. } => *end = new,
            _ => {}
        }
        self
    }

    /// A raw answer without its effect, to a request whose key stays free; what it sends in place
    /// of the true answer is a 503. Other behaviours stay as they are.
    #[must_use]
    pub fn without_effect(mut self) -> Self {
        if let Self::Raw(raw) = &mut self {
            raw.commit = false;
        }
        self
    }
}

/// The others.
impl Behaviour {
    /// A RST while the body is still coming, after this many bytes of it.
    #[must_use]
    pub fn cut_request(after_bytes: u64) -> Self {
        Self::CutRequest {
            after_bytes,
            end: End::Reset,
        }
    }

    /// The true answer, compressed.
    #[must_use]
    pub fn gzip() -> Self {
        Self::Gzip(Gzip::Whole)
    }

    /// The true answer, compressed, without the trailer that would prove it complete.
    #[must_use]
    pub fn gzip_truncated() -> Self {
        Self::Gzip(Gzip::Truncated(8))
    }

    /// The true answer, compressed, and as many spaces as inflate to this many bytes: a thousand
    /// times what is sent.
    #[must_use]
    pub fn gzip_bomb(inflated: u64) -> Self {
        Self::Gzip(Gzip::Bomb(inflated))
    }

    /// A captive portal that says so (RFC 6585).
    #[must_use]
    pub fn portal_511() -> Self {
        Self::respond(511, "text/html", PORTAL)
    }

    /// A captive portal that pretends to be the server.
    #[must_use]
    pub fn portal_html_200() -> Self {
        Self::respond(200, "text/html", PORTAL)
    }
}
