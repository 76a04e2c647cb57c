//! Knows when an answer has left.
//!
//! hyper does not say when a response is on its way, and the judge must know. So the response body
//! passes its [`Flight`] to the socket once it is used up: from then on hyper's buffer holds the
//! rest of the answer, and the write that takes all of it ends the flight. Whatever is dropped
//! before, the body or the socket, drops the flight with it, and the answer counts as lost.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;

use crate::flight::Flight;
use crate::takeover::Takeover;
use crate::transport::Transport;

/// The connection ends here, on purpose or because there is nobody to answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
pub(crate) struct Cut;

/// What a socket and the bodies that go through it tell each other.
#[derive(Debug)]
pub(crate) struct Line {
    /// The number of the connection.
    pub(crate) connection: u64,
    /// Whether many answers share the socket. Then nobody can say when one of them is out: it
    /// counts as answered once hyper has all of it.
    pub(crate) http2: bool,
    /// How many requests came on it.
    requests: AtomicU64,
    state: Mutex<LineState>,
}

#[derive(Debug, Default)]
struct LineState {
    /// The flight whose last byte is in hyper's buffer.
    leaving: Option<Flight>,
    /// The body that waits for a flush, and whether it came.
    flush: Option<Waker>,
    flushed: bool,
    /// What is to be done with the connection when hyper has stopped.
    takeover: Option<Takeover>,
}

impl Line {
    pub(crate) fn new(connection: u64, http2: bool) -> Self {
        Self {
            connection,
            http2,
            requests: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Counts one more request and gives its number.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn hand_over(&self, takeover: Takeover) {
        self.lock().takeover = Some(takeover);
    }

    pub(crate) fn take_takeover(&self) -> Option<Takeover> {
        self.lock().takeover.take()
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// hyper flushes only with an empty buffer: whatever was to be written is written.
    fn flushed(&self) {
        let mut state = self.lock();
        if let Some(waker) = state.flush.take() {
            state.flushed = true;
            waker.wake();
        }
    }

    /// Ready once everything that hyper had buffered before the first call is written.
    fn poll_flushed(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.flushed || self.http2 {
            return Poll::Ready(());
        }
        state.flush = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A stream that reports writes and flushes to its [`Line`].
#[derive(Debug)]
pub(crate) struct WatchedSocket {
    inner: TokioIo<Transport>,
    line: Arc<Line>,
}

impl WatchedSocket {
    pub(crate) fn new(stream: Transport, line: Arc<Line>) -> Self {
        Self {
            inner: TokioIo::new(stream),
            line,
        }
    }

    pub(crate) fn into_inner(self) -> Transport {
        self.inner.into_inner()
    }

    /// Writes; `offered` is everything that hyper has to write.
    fn watched(
        &mut self,
        offered: usize,
        write: impl FnOnce(Pin<&mut TokioIo<Transport>>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let inner = Pin::new(&mut self.inner);
        let leaving = self.line.lock().leaving.take();
        let Some(flight) = leaving else {
            return write(inner);
        };
        let (unfinished, result) = flight.write_last(offered, || write(inner));
        self.line.lock().leaving = unfinished;
        result
    }
}

impl Read for WatchedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for WatchedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.watched(buffer.len(), |inner| inner.poll_write(context, buffer))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        self.line.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let offered = buffers.iter().map(|buffer| buffer.len()).sum();
        self.watched(offered, |inner| inner.poll_write_vectored(context, buffers))
    }
}

/// The body of an answer, and what is owed for it.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    rest: Bytes,
    declared: u64,
    /// After `rest` comes a cut in place of the other half.
    cut: bool,
    line: Arc<Line>,
    /// `None` for control requests, which are not recorded.
    flight: Option<Flight>,
}

impl AnswerBody {
    /// The whole body.
    pub(crate) fn whole(body: Bytes, line: Arc<Line>, flight: Option<Flight>) -> Self {
        let mut whole = Self {
            declared: body.len() as u64,
            rest: body,
            cut: false,
            line,
            flight,
        };
        if whole.line.http2 && whole.rest.is_empty() {
            // There will be no frame at which to say it.
            whole.pass_flight();
        }
        whole
    }

    /// Declares the whole length, sends half and cuts the connection.
    pub(crate) fn half(mut body: Bytes, line: Arc<Line>, flight: Flight) -> Self {
        let declared = body.len() as u64;
        body.truncate(body.len() / 2);
        Self {
            declared,
            rest: body,
            cut: true,
            line,
            flight: Some(flight),
        }
    }

    /// Its length without its bytes, the answer to a HEAD. hyper does this itself over HTTP/1.1.
    pub(crate) fn without_data(mut self) -> Self {
        self.rest.clear();
        self.pass_flight();
        self
    }

    /// The rest of the answer is hyper's.
    fn pass_flight(&mut self) {
        if let Some(flight) = self.flight.take() {
            if self.line.http2 {
                flight.answered();
            } else {
                self.line.lock().leaving = Some(flight);
            }
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if !self.rest.is_empty() {
            let data = std::mem::take(&mut self.rest);
            if !self.cut {
                self.pass_flight();
            }
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if self.cut {
            // Head and first half must be on the wire before the cut, or the client would see
            // less than half.
            ready!(self.line.poll_flushed(context));
            // Lost before the client can see the end of the stream and try again.
            drop(self.flight.take());
            return Poll::Ready(Some(Err(Cut)));
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && !self.cut
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.declared)
    }
}

impl Drop for AnswerBody {
    /// hyper drops a body unread when the answer has none to send (HEAD, 204, length 0). If it
    /// drops it because the connection broke, no flush will follow, and the flight is lost with
    /// the line. Over HTTP/2 such answers have passed their flight already: it is lost here.
    fn drop(&mut self) {
        if !self.line.http2 {
            self.pass_flight();
        }
    }
}
