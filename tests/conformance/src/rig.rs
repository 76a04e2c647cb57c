//! Servers and exchanges, observed.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use submit_once::{
    Exchange, ExchangeStop, Header, Reported, Transport, WireAnswer, WireBody, WireRequest,
};

/// How long anything is waited for that should come at once.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) type Check = Result<(), String>;

pub(crate) fn demand(is_so: bool, otherwise: impl FnOnce() -> String) -> Check {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

pub(crate) fn broken(error: impl std::fmt::Display) -> String {
    format!("the suite itself failed: {error}")
}

/// A request, as it came.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    /// Method, target and version.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// With all of the body that its head tells of.
    pub(crate) whole: bool,
}

impl Arrived {
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let of_name = self.headers.iter().filter(|(other, _)| other == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        self.values("accept-encoding")
            .iter()
            .any(|value| value.contains("gzip"))
    }
}

/// A connection, from the server's side.
pub(crate) struct Connection(TcpStream);

impl Connection {
    /// A request, or what came of it before the client hung up.
    pub(crate) fn read(&mut self) -> Arrived {
        let mut arrived = self.read_head();
        let length = arrived
            .values("content-length")
            .first()
            .and_then(|length| length.parse::<u64>().ok());
        if let Some(length) = length {
            let mut body = (&mut self.0).take(length);
            let body = body.read_to_end(&mut arrived.body);
            arrived.whole = body.is_ok() && arrived.body.len() as u64 == length;
        }
        arrived
    }

    pub(crate) fn read_head(&mut self) -> Arrived {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && matches!(self.0.read(&mut byte), Ok(1)) {
            head.extend_from_slice(&byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let fields = lines.filter_map(|line| line.split_once(':'));
        Arrived {
            line,
            headers: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
            whole: head.ends_with("\r\n\r\n"),
        }
    }

    /// Writes; a client may have hung up.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        drop(self.0.write_all(bytes));
    }

    /// Writes an answer, after which the connection is closed.
    pub(crate) fn answer(&mut self, status: &str, headers: &str, body: &[u8]) {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
        );
        self.write(&[head.as_bytes(), body].concat());
    }

    /// All that comes until the client hangs up; an error if it doesn't.
    pub(crate) fn read_to_end(&mut self) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        match self.0.read_to_end(&mut all) {
            Err(error) if is_timeout(&error) => Err("the connection stays open".to_owned()),
            // A reset is one way to hang up.
            Ok(_) | Err(_) => Ok(all),
        }
    }

    /// Something can be read now.
    pub(crate) fn has_bytes(&self) -> bool {
        drop(self.0.set_nonblocking(true));
        let some = matches!(self.0.peek(&mut [0]), Ok(1));
        drop(self.0.set_nonblocking(false));
        some
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// A server that does the same with each connection, one after the other.
pub(crate) struct Server<T> {
    address: SocketAddr,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<Vec<T>>,
}

impl<T: Send + 'static> Server<T> {
    pub(crate) fn new(serve: impl Fn(Connection) -> T + Send + 'static) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(broken)?;
        let address = listener.local_addr().map_err(broken)?;
        let ending = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ending);
        let thread = std::thread::spawn(move || {
            let mut served = Vec::new();
            while let Ok((stream, _)) = listener.accept() {
                drop(stream.set_read_timeout(Some(PATIENCE)));
                drop(stream.set_write_timeout(Some(PATIENCE)));
                // Whoever came before the one that ends it is served.
                if ends.load(Ordering::SeqCst) && is_own(&stream) {
                    break;
                }
                served.push(serve(Connection(stream)));
            }
            served
        });
        Ok(Self {
            address,
            ending,
            thread,
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it did with each of its connections.
    pub(crate) fn end(self) -> Result<Vec<T>, String> {
        self.ending.store(true, Ordering::SeqCst);
        let mut last = TcpStream::connect(self.address).map_err(broken)?;
        last.write_all(END).map_err(broken)?;
        self.thread.join().map_err(|_| broken("a server panicked"))
    }
}

const END: &[u8] = b"end";

/// The suite's own last connection says so; no request begins like this.
fn is_own(stream: &TcpStream) -> bool {
    let mut begin = [0; END.len()];
    stream.peek(&mut begin).is_ok() && begin == END
}

/// An exchange that is under way.
pub(crate) struct Running {
    reports: mpsc::Receiver<Reported>,
    pub(crate) stop: ExchangeStop,
}

impl Running {
    pub(crate) fn report(&self) -> Result<Reported, String> {
        self.reports
            .recv_timeout(PATIENCE)
            .map_err(|_| "nothing was reported".to_owned())
    }

    pub(crate) fn answer(&self) -> Result<WireAnswer, String> {
        match self.report()? {
            Reported::Answered(answer) => Ok(answer),
            Reported::Failed(fault) => Err(format!("no answer was reported, but {fault:?}")),
        }
    }

    /// All reports, once the transport has let go of the exchange.
    pub(crate) fn all_reports(self) -> Result<Vec<Reported>, String> {
        let Self { reports, stop } = self;
        drop(stop);
        let mut all = Vec::new();
        loop {
            match reports.recv_timeout(PATIENCE) {
                Ok(report) => all.push(report),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(all),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    return Err("the exchange is never let go of".to_owned());
                }
            }
        }
    }
}

/// Starts an exchange, on a thread of its own.
pub(crate) fn begin(transport: &Arc<dyn Transport>, request: WireRequest) -> Running {
    begin_holding(transport, request, || true)
}

/// The same; `holds` is the last look.
pub(crate) fn begin_holding(
    transport: &Arc<dyn Transport>,
    request: WireRequest,
    holds: impl Fn() -> bool + Send + Sync + 'static,
) -> Running {
    let (running, exchange) = observed(holds);
    let transport = Arc::clone(transport);
    std::thread::spawn(move || transport.start(request, exchange));
    running
}

pub(crate) fn observed(holds: impl Fn() -> bool + Send + Sync + 'static) -> (Running, Exchange) {
    let (sender, reports) = mpsc::channel();
    let (exchange, stop) = Exchange::observed(holds, move |reported| drop(sender.send(reported)));
    (Running { reports, stop }, exchange)
}

pub(crate) fn request(method: &str, url: String, body: &[u8]) -> WireRequest {
    WireRequest {
        method: method.to_owned(),
        url,
        headers: vec![header("idempotency-key", "a-1")],
        body: WireBody::Bytes(Bytes::copy_from_slice(body)),
        max_answer_bytes: 1_000_000,
        idle_timeout: PATIENCE,
        fresh_connection: false,
    }
}

pub(crate) fn post(url: String, body: &[u8]) -> WireRequest {
    request("POST", url, body)
}

pub(crate) fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A file with a body in it. It goes when it is dropped.
pub(crate) fn file(content: &[u8], length: u64) -> Result<(tempfile::TempPath, WireBody), String> {
    let mut file = tempfile::NamedTempFile::new().map_err(broken)?;
    file.write_all(content).map_err(broken)?;
    let path = file.into_temp_path();
    let body = WireBody::File {
        path: path.to_path_buf(),
        length,
    };
    Ok((path, body))
}

/// Bytes that aren't all the same.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}
