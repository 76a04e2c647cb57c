//! A request's body, which looks at the lease when the engine first turns to it.
//!
//! The engine turns to a body after the connection is chosen and connected, and before it writes
//! the request's first byte: it asks whether the body is at its end. Middleware, which comes before
//! there is a connection, only asks for the length. So the first question about the end is the time
//! for the last look.
//!
//! Over HTTP/1.1 a body whose look failed ends the exchange with nothing written: the engine then
//! asks for the length, then for bytes, and gets an error before it has flushed the head. Over HTTP/2
//! the engine asks for the length *before* the end, and queues the head whatever it hears; the body's
//! error then makes it reset the stream. What leaves is a head without an end, at most. Hence
//! [`Refusal::HeadMayHaveLeft`], and hence no request that is whole without a body goes over HTTP/2.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::transport::{Exchange, WireBody};
use crate::policy::classify::Fault;
use crate::runtime::{Executor, run_blocking};

/// Bodies are handed over in pieces of this many bytes. [`Exchange::progress`] grows by it.
const PIECE: usize = 64 * 1024;

/// Pieces of a file that are read before the engine asks for them. With the one that is being read
/// and the one that waits for room, a body from a file takes three pieces of memory.
const READ_AHEAD: usize = 1;

const NOT_YET: u8 = 0;
const HELD: u8 = 1;
const LOST: u8 = 2;

/// A body on its way out.
pub(super) struct Outgoing {
    exchange: Arc<Exchange>,
    source: Source,
    length: u64,
    sent: u64,
    /// The engine has asked for bytes.
    asked: bool,
    /// Without bytes, the request has no body at all, rather than one of length zero.
    may_lack: bool,
    /// What the last look found.
    look: AtomicU8,
    /// The length was asked for after the look, as an engine does that hasn't queued the head.
    head_is_kept: AtomicBool,
    refused: Refused,
}

/// What it means that the body was refused. Not every engine hands the body's error on.
pub(super) type Refused = Arc<OnceLock<Fault>>;

enum Source {
    Bytes(Bytes),
    /// Nothing of it has been read.
    File(PathBuf, Arc<dyn Executor>),
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

/// Why a body gives no more bytes. Neither lets the request end as if it were whole.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The last look found the lease lost, or the exchange stopped. Nothing was written.
    NotConfirmed,
    /// The same, by an engine that may have sent the head before it asked.
    HeadMayHaveLeft,
    /// The file can't be read, or isn't as long as it was.
    BrokenFile(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConfirmed => f.write_str("the lease was lost before the first byte"),
            Self::HeadMayHaveLeft => f.write_str("the lease was lost before the body"),
            Self::BrokenFile(error) => write!(f, "the body's file can't be read: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    fn fault(&self) -> Fault {
        match self {
            Self::NotConfirmed => Fault::NotSent,
            // Better in doubt than wrong.
            Self::HeadMayHaveLeft | Self::BrokenFile(_) => Fault::Lost,
        }
    }
}

impl Outgoing {
    /// `may_lack`: without bytes, the request has no body, and no `Content-Length`.
    pub(super) fn new(
        body: WireBody,
        may_lack: bool,
        exchange: Arc<Exchange>,
        executor: Arc<dyn Executor>,
    ) -> Self {
        let length = body.len();
        let source = match body {
            WireBody::Bytes(bytes) => Source::Bytes(bytes),
            WireBody::File { path, .. } => Source::File(path, executor),
        };
        Self {
            exchange,
            source,
            length,
            sent: 0,
            asked: false,
            may_lack,
            look: AtomicU8::new(NOT_YET),
            head_is_kept: AtomicBool::new(false),
            refused: Refused::default(),
        }
    }

    /// Is set when the body is refused.
    pub(super) fn refused(&self) -> Refused {
        Arc::clone(&self.refused)
    }

    /// The last look, when it is first called.
    fn holds(&self) -> bool {
        if self.look.load(Ordering::Acquire) == NOT_YET {
            let found = if self.exchange.confirm() { HELD } else { LOST };
            self.look.store(found, Ordering::Release);
        }
        self.look.load(Ordering::Acquire) == HELD
    }

    fn refusal(&self) -> Refusal {
        if self.head_is_kept.load(Ordering::Acquire) {
            Refusal::NotConfirmed
        } else {
            Refusal::HeadMayHaveLeft
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        // Between the two looks an HTTP/2 engine may have waited for the server to admit the stream.
        let first = !std::mem::replace(&mut self.asked, true);
        if !self.holds() || (first && !self.exchange.confirm()) {
            return Poll::Ready(Some(Err(self.refusal())));
        }
        if self.sent == self.length {
            return Poll::Ready(None);
        }
        self.poll_piece(context)
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        if let Source::File(path, executor) = &self.source {
            let (sender, receiver) = mpsc::channel(READ_AHEAD);
            let reading = read_file(Arc::clone(executor), path.clone(), self.length, sender);
            executor.spawn(Box::pin(reading));
            self.source = Source::Pieces(receiver);
        }
        match &mut self.source {
            Source::Bytes(bytes) => {
                let piece = bytes.split_to(bytes.len().min(PIECE));
                Poll::Ready((!piece.is_empty()).then_some(Ok(piece)))
            }
            Source::Pieces(pieces) => pieces.poll_recv(context).map(|piece| match piece {
                Some(piece) => Some(piece.map_err(Refusal::BrokenFile)),
                // The reader is gone, with the executor.
                None => Some(Err(Refusal::BrokenFile(ended_early()))),
            }),
            // Replaced above.
            Source::File(..) => Poll::Ready(Some(Err(Refusal::BrokenFile(ended_early())))),
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Refusal;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refusal>>> {
        let this = self.get_mut();
        this.poll_next(context).map(|next| {
            next.map(|piece| match piece {
                Ok(piece) => {
                    this.sent += piece.len() as u64;
                    this.exchange.progress(this.sent);
                    Ok(Frame::data(piece))
                }
                Err(refusal) => {
                    this.refused.get_or_init(|| refusal.fault());
                    Err(refusal)
                }
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.holds() && self.sent == self.length && (self.length > 0 || self.may_lack)
    }

    fn size_hint(&self) -> SizeHint {
        let look = self.look.load(Ordering::Acquire);
        if look != NOT_YET {
            self.head_is_kept.store(true, Ordering::Release);
        }
        if look == LOST {
            // With something to send it is asked for bytes, whatever the method, and can fail before
            // the head leaves.
            SizeHint::with_exact(self.length.max(1))
        } else {
            SizeHint::with_exact(self.length - self.sent)
        }
    }
}

fn ended_early() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}

/// Reads a file piece by piece, as they are taken. Ends when nobody takes them any more.
async fn read_file(
    executor: Arc<dyn Executor>,
    path: PathBuf,
    length: u64,
    pieces: mpsc::Sender<io::Result<Bytes>>,
) {
    let mut file = None;
    let mut left = length;
    while left > 0 {
        let (opened, path) = (file.take(), path.clone());
        let read = run_blocking(&executor, move || {
            let mut file = match opened {
                Some(file) => file,
                None => open(&path, length)?,
            };
            let piece = read_piece(&mut file, left)?;
            Ok((file, piece))
        })
        .await
        .unwrap_or_else(|| Err(ended_early()));
        let piece = match read {
            Ok((opened, piece)) => {
                file = Some(opened);
                left -= piece.len() as u64;
                Ok(piece)
            }
            Err(error) => {
                left = 0;
                Err(error)
            }
        };
        if pieces.send(piece).await.is_err() {
            return;
        }
    }
}

fn open(path: &Path, length: u64) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.len() == length {
        Ok(file)
    } else {
        Err(io::Error::other("the file has another length"))
    }
}

fn read_piece(file: &mut File, left: u64) -> io::Result<Bytes> {
    let size = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
    let mut piece = vec![0; size];
    file.read_exact(&mut piece)?;
    Ok(Bytes::from(piece))
}

#[cfg(test)]
#[path = "http_body_tests.rs"]
mod tests;
