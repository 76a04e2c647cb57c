//! A connection that hyper has given up, so that bytes can be written to it by hand.
//!
//! The service that wants this leaves a `Takeover` at its `Line` and
//! fails; the connection finds it there when hyper has stopped.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::Response;
use tokio::io::AsyncWriteExt;

use crate::behaviour::HANG;
use crate::flight::Flight;
use crate::ledger::{Arrival, Ledger};
use crate::raw::{End, Piece, RawAnswer};
use crate::transport::Transport;

/// What is to be written, and who waits for it.
#[derive(Debug)]
pub(crate) struct Takeover {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) arrival: Arrival,
    pub(crate) flight: Flight,
    pub(crate) script: Script,
}

/// A raw answer with the values of the answer that it speaks of.
#[derive(Debug, Default)]
pub(crate) struct Script {
    steps: Vec<Step>,
    end: End,
    delivered: bool,
    /// The status that a client may read from it.
    pub(crate) status: Option<u16>,
}

#[derive(Debug)]
enum Step {
    Pause(Duration),
    /// Never empty. A pace of 0 is one write.
    Write {
        bytes: Vec<u8>,
        pace: Duration,
    },
}

/// The client is gone.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Script {
    /// Fills in the pieces.
    pub(crate) fn new(raw: &RawAnswer, answer: &Response<Bytes>) -> Self {
        let mut script = Self {
            end: raw.end,
            delivered: raw.delivered,
            ..Self::default()
        };
        let mut pace = Duration::ZERO;
        for piece in &raw.pieces {
            match piece {
                Piece::Pause(time) => script.steps.push(Step::Pause(*time)),
                Piece::Pace(time) => pace = *time,
                other => script.write(&bytes(other, answer), pace),
            }
        }
        script
    }

    fn write(&mut self, more: &[u8], new_pace: Duration) {
        if self.status.is_none() {
            self.status = status(more);
        }
        match self.steps.last_mut() {
            _ if more.is_empty() => {}
            // One write for all of it: a client that is content with a part of the answer may act
            // before a second write, while this flight is still open.
            Some(Step::Write { bytes, pace }) if *pace == new_pace => bytes.extend_from_slice(more),
            _ => self.steps.push(Step::Write {
                bytes: more.to_vec(),
                pace: new_pace,
            }),
        }
    }
}

impl Takeover {
    /// Writes everything and ends the connection.
    pub(crate) async fn carry_out(self, mut transport: Transport) {
        let Self {
            ledger,
            arrival,
            flight,
            script,
        } = self;
        let mut flight = Some(flight);
        // A client that is left hanging still waits for its answer: nothing is over until it is.
        let ends_in_write = script.delivered || script.end != End::Hang;
        let last = script
            .steps
            .iter()
            .rposition(|step| matches!(step, Step::Write { .. }));
        for (index, step) in script.steps.iter().enumerate() {
            let is_last = ends_in_write && Some(index) == last;
            let done = match step {
                Step::Pause(time) => pause(&transport, *time).await,
                Step::Write { bytes, pace } => {
                    let last = flight.take_if(|_| is_last);
                    let last = last.map(|flight| {
                        if script.delivered {
                            flight
                        } else {
                            flight.doomed()
                        }
                    });
                    write(&mut transport, bytes, *pace, last).await
                }
            };
            if done.is_err() {
                return;
            }
        }
        match script.end {
            End::Close => {
                // Lost before the client can see the end of the stream and try again.
                drop(flight);
                let _ = transport.shutdown().await;
            }
            End::Reset => {
                drop(flight);
                transport.reset();
            }
            End::Hang => tokio::select! {
                _ = ledger.stand(&arrival, HANG) => {}
                () = transport.hung_up() => {}
            },
        }
    }
}

async fn pause(transport: &Transport, time: Duration) -> Result<(), Gone> {
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = transport.hung_up() => Err(Gone),
    }
}

/// Writes `bytes`, the end of which is the end of the flight `last`.
async fn write(
    transport: &mut Transport,
    bytes: &[u8],
    pace: Duration,
    last: Option<Flight>,
) -> Result<(), Gone> {
    let (mut before, mut end) = match last {
        Some(_) if pace.is_zero() => (&[][..], bytes),
        Some(_) => bytes.split_at(bytes.len().saturating_sub(1)),
        None => (bytes, &[][..]),
    };
    while let Some((first, rest)) = before.split_first() {
        if pace.is_zero() {
            transport.write_all(before).await?;
            break;
        }
        pause(transport, pace).await?;
        transport.write_all(&[*first]).await?;
        transport.flush().await?;
        before = rest;
    }
    if let Some(mut flight) = last {
        if !pace.is_zero() {
            pause(transport, pace).await?;
        }
        loop {
            let (unfinished, result) = write_last(transport, end, flight).await;
            let written = result?;
            end = end.get(written..).unwrap_or_default();
            match unfinished {
                Some(again) if written > 0 => flight = again,
                Some(_) | None => break,
            }
        }
    }
    Ok(transport.flush().await?)
}

async fn write_last(
    transport: &mut Transport,
    bytes: &[u8],
    flight: Flight,
) -> (Option<Flight>, io::Result<usize>) {
    use tokio::io::AsyncWrite as _;
    let mut waiting = Some(flight);
    poll_fn(|context| {
        let mut write =
            |context: &mut Context<'_>| Pin::new(&mut *transport).poll_write(context, bytes);
        let Some(flight) = waiting.take() else {
            return write(context).map(|result| (None, result));
        };
        let (unfinished, result) = flight.write_last(bytes.len(), || write(context));
        match result {
            Poll::Ready(result) => Poll::Ready((unfinished, result)),
            Poll::Pending => {
                waiting = unfinished;
                Poll::Pending
            }
        }
    })
    .await
}

/// The bytes of one piece.
fn bytes(piece: &Piece, answer: &Response<Bytes>) -> Vec<u8> {
    let body = answer.body();
    match piece {
        Piece::StatusLine => {
            let status = answer.status();
            let reason = status.canonical_reason().unwrap_or_default();
            format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes()
        }
        Piece::Headers => answer
            .headers()
            .iter()
            .flat_map(|(name, value)| {
                [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat()
            })
            .collect(),
        Piece::ContentLength(off) => {
            let length = (body.len() as u64).saturating_add_signed(*off);
            format!("content-length: {length}\r\n").into_bytes()
        }
        Piece::EndOfHead => b"\r\n".to_vec(),
        Piece::Body => body.to_vec(),
        Piece::HalfBody => body.slice(..body.len() / 2).to_vec(),
        Piece::Chunk => [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat(),
        Piece::Bytes(bytes) => bytes.clone(),
        Piece::Repeat { bytes, times } => {
            bytes.repeat(usize::try_from(*times).unwrap_or(usize::MAX))
        }
        Piece::Pause(_) | Piece::Pace(_) => Vec::new(),
    }
}

/// The status of a piece that begins like a final answer.
fn status(piece: &[u8]) -> Option<u16> {
    let text = piece.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    let status = std::str::from_utf8(text).ok()?.parse().ok()?;
    (200..600).contains(&status).then_some(status)
}
