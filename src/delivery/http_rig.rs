//! What the tests of the default transport stand on: one transport, one exchange, one connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;

use super::http::HttpTransport;
use super::transport::{
    Ears, Exchange, ExchangeStop, Reported, Shared, Transport, WireAnswer, WireBody, WireRequest,
};
use crate::config::TlsConfig;
use crate::policy::limits::Limits;
use crate::runtime::OwnRuntime;

/// Only a bound: nothing waits for it when all is well.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn post(url: String, body: WireBody) -> WireRequest {
    WireRequest {
        method: "POST".to_owned(),
        url,
        headers: Vec::new(),
        body,
        max_answer_bytes: 1_000,
        idle_timeout: PATIENCE,
        fresh_connection: false,
    }
}

pub(super) fn bytes(body: &[u8]) -> WireBody {
    WireBody::Bytes(Bytes::copy_from_slice(body))
}

/// An exchange that is under way.
pub(super) struct Sent {
    pub(super) reports: mpsc::Receiver<Reported>,
    pub(super) progress: Arc<AtomicU64>,
    pub(super) stop: ExchangeStop,
}

impl Sent {
    pub(super) fn report(&self) -> Reported {
        self.reports.recv_timeout(PATIENCE).unwrap()
    }

    pub(super) fn answer(&self) -> WireAnswer {
        match self.report() {
            Reported::Answered(answer) => answer,
            Reported::Failed(fault) => panic!("no answer: {fault:?}"),
        }
    }
}

pub(super) fn transport(tls: &TlsConfig) -> HttpTransport {
    let executor = Arc::new(OwnRuntime::start().unwrap());
    HttpTransport::new(&Limits::default(), tls, executor).unwrap()
}

/// Starts a request; `holds` is what the last look finds.
pub(super) fn start(transport: &HttpTransport, request: WireRequest, holds: bool) -> Sent {
    start_looking(transport, request, move || holds)
}

pub(super) fn start_looking(
    transport: &HttpTransport,
    request: WireRequest,
    holds: impl Fn() -> bool + Send + Sync + 'static,
) -> Sent {
    let (sender, reports) = mpsc::channel();
    let progress = Arc::new(AtomicU64::new(0));
    let grown = Arc::clone(&progress);
    let shared = Shared::new(Ears {
        holds: Box::new(holds),
        reported: Box::new(move |reported| drop(sender.send(reported))),
        progressed: Box::new(move |sent| {
            assert!(grown.swap(sent, Ordering::SeqCst) < sent, "no progress");
        }),
    });
    let stop = ExchangeStop::of(Arc::clone(&shared));
    transport.start(request, Exchange::new(shared));
    Sent {
        reports,
        progress,
        stop,
    }
}

/// A server that does `serve` with its first connection, on a thread.
pub(super) struct Once<T> {
    pub(super) url: String,
    address: SocketAddr,
    thread: std::thread::JoinHandle<T>,
}

impl<T: Send + 'static> Once<T> {
    pub(super) fn new(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}/orders");
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            serve(stream)
        });
        Self {
            url,
            address,
            thread,
        }
    }

    /// What it has done. A server that nobody came to meets a client that says nothing.
    pub(super) fn end(self) -> T {
        drop(TcpStream::connect(self.address));
        self.thread.join().unwrap()
    }
}

/// Reads a head, with the empty line at its end.
pub(super) fn read_head(stream: &mut impl Read) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Reads all that comes until the other side closes, in an orderly way or not.
pub(super) fn read_all(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    drop(stream.read_to_end(&mut all));
    all
}

/// Answers one request without a body with these bytes, and closes.
pub(super) fn answering(answer: &[u8]) -> Once<()> {
    let answer = answer.to_vec();
    Once::new(move |mut stream| {
        read_head(&mut stream);
        stream.write_all(&answer).unwrap();
    })
}
