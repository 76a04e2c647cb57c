//! A simple transport on plain sockets, with one connection for each request, and its flaws.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use submit_once::{Exchange, Fault, Transport, WireAnswer, WireBody, WireRequest};
use submit_once_transport_conformance::PATIENCE;

use super::reading::{Failure, read_answer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    None,
    TidiesUrls,
    AddsHeader,
    CutsLargeBodies,
    CutsLargeFiles,
    TellsNoProgress,
    PadsFiles,
    OmitsLengthZero,
    BlocksInStart,
    FollowsRedirects,
    RepeatsAfterReset,
    RepeatsAfterEnd,
    KeepsCookies,
    KeepsAnswers,
    TakesRefusedForLost,
    TakesLostForUnbegun,
    LooksBeforeConnecting,
    LooksLateWithBody,
    IgnoresFailedLook,
    LooksLateWithoutBody,
    LooksLateIfSafe,
    LooksLateWithFile,
    IgnoresStopBeforeAnswer,
    IgnoresStopWithinAnswer,
    KeepsCase,
    TakesInterim,
    ChokesOnChunks,
    WantsLength,
    WantsBodyOfHead,
    DecodesWrongly,
    CutsOneEarly,
    IgnoresSize,
    IgnoresDecodedSize,
    TakesShortForWhole,
    TakesOpenChunksForWhole,
    TakesBadGzipForWhole,
    IgnoresPauses,
    TakesAnything,
    ReportsTwice,
}

/// What one transport remembers, and shouldn't.
#[derive(Default)]
struct Memory {
    cookie: Option<String>,
    answers: HashMap<String, WireAnswer>,
}

pub struct Plain {
    flaw: Flaw,
    memory: Arc<Mutex<Memory>>,
}

impl Plain {
    pub fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            memory: Arc::default(),
        }
    }
}

impl Transport for Plain {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        let (flaw, memory) = (self.flaw, Arc::clone(&self.memory));
        let running = std::thread::spawn(move || run(flaw, &memory, request, exchange));
        if flaw == Flaw::BlocksInStart {
            running.join().unwrap();
        }
    }
}

fn run(flaw: Flaw, memory: &Mutex<Memory>, mut request: WireRequest, exchange: Exchange) {
    let exchange = Arc::new(exchange);
    let known = memory.lock().unwrap().answers.get(&request.url).cloned();
    if let Some(answer) = known.filter(|_| flaw == Flaw::KeepsAnswers && request.method == "GET") {
        return exchange.answered(answer);
    }
    let mut result = carry(flaw, memory, &request, &exchange);
    let again = match (flaw, &result) {
        (Flaw::RepeatsAfterReset, Err(Failure::Reset))
        | (Flaw::RepeatsAfterEnd, Err(Failure::Ended)) => true,
        (Flaw::FollowsRedirects, Ok(answer)) if (300..400).contains(&answer.status) => {
            request.url = request.url.replace("/orders", "/elsewhere");
            true
        }
        _ => false,
    };
    if again {
        result = carry(flaw, memory, &request, &exchange);
    }
    match result {
        Ok(answer) => {
            let mut memory = memory.lock().unwrap();
            let cookie = answer
                .headers
                .iter()
                .find(|header| header.name == "set-cookie");
            memory.cookie = cookie.map(|cookie| cookie.value.clone());
            memory.answers.insert(request.url, answer.clone());
            if flaw == Flaw::ReportsTwice {
                exchange.answered(answer.clone());
            }
            exchange.answered(answer);
        }
        Err(failure) => exchange.failed(match failure {
            Failure::Refused if flaw == Flaw::TakesRefusedForLost => Fault::Lost,
            Failure::Refused => Fault::Unreachable,
            Failure::NotConfirmed => Fault::NotSent,
            Failure::Ended if flaw == Flaw::TakesLostForUnbegun => Fault::NotProcessed,
            Failure::Ended | Failure::Reset | Failure::NoFile => Fault::Lost,
            Failure::Malformed => Fault::BadAnswer,
        }),
    }
}

fn carry(
    flaw: Flaw,
    memory: &Mutex<Memory>,
    request: &WireRequest,
    exchange: &Arc<Exchange>,
) -> Result<WireAnswer, Failure> {
    let rest = request.url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let head = head(flaw, memory, request, host, path);
    if flaw == Flaw::LooksBeforeConnecting && !exchange.confirm() {
        return Err(Failure::NotConfirmed);
    }
    let mut stream = TcpStream::connect(host).map_err(|_| Failure::Refused)?;
    stream.set_read_timeout(Some(2 * PATIENCE)).unwrap();
    stream.set_write_timeout(Some(2 * PATIENCE)).unwrap();
    let safe = ["GET", "HEAD"].contains(&request.method.as_str());
    let late = match &request.body {
        _ if safe => flaw == Flaw::LooksLateIfSafe,
        WireBody::File { .. } => flaw == Flaw::LooksLateWithFile,
        body if body.is_empty() => flaw == Flaw::LooksLateWithoutBody,
        WireBody::Bytes(_) => flaw == Flaw::LooksLateWithBody,
    };
    if late {
        stream
            .write_all(head.as_bytes())
            .map_err(|_| Failure::Reset)?;
    }
    let with_body = !safe && matches!(request.body, WireBody::Bytes(_)) && !request.body.is_empty();
    let ignored = flaw == Flaw::IgnoresFailedLook && with_body;
    if flaw != Flaw::LooksBeforeConnecting && !exchange.confirm() && !ignored {
        return Err(Failure::NotConfirmed);
    }
    if !late {
        stream
            .write_all(head.as_bytes())
            .map_err(|_| Failure::Reset)?;
    }
    let within = Arc::new(AtomicBool::new(false));
    let _ends_with_this = watch(flaw, exchange, &stream, &within);
    send_body(flaw, request, &mut stream)?;
    if flaw != Flaw::TellsNoProgress {
        exchange.progress(request.body.len());
    }
    // What isn't read yet can be peeked at: at no moment an answer has come and isn't noticed.
    stream.peek(&mut [0]).map_err(|_| Failure::Reset)?;
    within.store(true, Ordering::SeqCst);
    read_answer(flaw, request, stream)
}

fn head(
    flaw: Flaw,
    memory: &Mutex<Memory>,
    request: &WireRequest,
    host: &str,
    path: &str,
) -> String {
    let path = match flaw {
        Flaw::TidiesUrls => path.trim_end_matches('&'),
        _ => path,
    };
    let mut head = format!(
        "{} /{path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n",
        request.method
    );
    for header in &request.headers {
        head.push_str(&format!("{}: {}\r\n", header.name, header.value));
    }
    if flaw == Flaw::AddsHeader {
        head.push_str("X-Request-Id: 1\r\n");
    }
    if let Some(cookie) = &memory.lock().unwrap().cookie
        && flaw == Flaw::KeepsCookies
    {
        head.push_str(&format!("Cookie: {cookie}\r\n"));
    }
    let empty = request.body.is_empty();
    if !(empty && (request.method == "GET" || flaw == Flaw::OmitsLengthZero)) {
        head.push_str(&format!(
            "Content-Length: {}\r\n",
            sent_length(flaw, &request.body)
        ));
    }
    head + "\r\n"
}

fn sent_length(flaw: Flaw, body: &WireBody) -> u64 {
    let length = body.len();
    let cut = match body {
        WireBody::Bytes(_) => flaw == Flaw::CutsLargeBodies && length > 65_536,
        WireBody::File { .. } => flaw == Flaw::CutsLargeFiles && length > 500_000,
    };
    if cut { 65_536 } else { length }
}

fn send_body(flaw: Flaw, request: &WireRequest, stream: &mut TcpStream) -> Result<(), Failure> {
    let length = sent_length(flaw, &request.body);
    let sent = match &request.body {
        WireBody::Bytes(bytes) => {
            let cut = bytes.slice(..length as usize);
            stream.write_all(&cut).map(|()| length)
        }
        WireBody::File { path, .. } => {
            let file = std::fs::File::open(path).map_err(|_| Failure::NoFile)?;
            std::io::copy(&mut file.take(length), stream)
        }
    };
    let missing = length - sent.map_err(|_| Failure::Reset)?;
    if missing > 0 && flaw != Flaw::PadsFiles {
        return Err(Failure::NoFile);
    }
    let padding = vec![0; missing as usize];
    stream.write_all(&padding).map_err(|_| Failure::Reset)
}

/// Hangs up when the exchange is stopped, until what is returned is dropped.
fn watch(
    flaw: Flaw,
    exchange: &Arc<Exchange>,
    stream: &TcpStream,
    within: &Arc<AtomicBool>,
) -> tokio::sync::oneshot::Sender<()> {
    let (guard, ended) = tokio::sync::oneshot::channel::<()>();
    let (exchange, within) = (Arc::clone(exchange), Arc::clone(within));
    let stream = stream.try_clone().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let stopped = { runtime }.build().unwrap().block_on(async {
            tokio::select! {
                () = exchange.stopped() => true,
                _ = ended => false,
            }
        });
        drop(exchange);
        if !stopped {
            return;
        }
        stream.set_nonblocking(true).unwrap();
        let has_come = within.load(Ordering::SeqCst) || matches!(stream.peek(&mut [0]), Ok(1));
        stream.set_nonblocking(false).unwrap();
        let ignored = match flaw {
            Flaw::IgnoresStopBeforeAnswer => !has_come,
            Flaw::IgnoresStopWithinAnswer => has_come,
            _ => false,
        };
        if !ignored {
            drop(stream.shutdown(Shutdown::Both));
        }
    });
    guard
}
