//! HTTP/2, frame by frame: what leaves, and what the server's refusals mean.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::super::http_certs::{Chain, server_config};
use super::super::http_rig::{Once, bytes, post, read_head, start, start_looking, transport};
use super::super::transport::{Reported, WireRequest};
use super::*;

// RFC 9113, sections 6 and 7.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
const CANCEL: u32 = 8;
const REFUSED_STREAM: u32 = 7;
const PROTOCOL_ERROR: u32 = 1;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// `:status: 201`, without an index (RFC 7541, section 6.2.2, and its appendix A).
const CREATED: &[u8] = b"\x08\x03201";

#[derive(Debug, Clone, PartialEq)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Frame {
    fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let payload = payload.to_vec();
        Self {
            kind,
            flags,
            stream,
            payload,
        }
    }

    fn ends(&self) -> bool {
        (self.kind == HEADERS || self.kind == DATA) && self.flags & END_STREAM != 0
    }
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

fn write(stream: &mut Stream, frame: &Frame) {
    let length = u32::try_from(frame.payload.len()).unwrap().to_be_bytes();
    let mut all = length[1..].to_vec();
    all.extend([frame.kind, frame.flags]);
    all.extend(frame.stream.to_be_bytes());
    all.extend(&frame.payload);
    // The client may have hung up.
    drop(stream.write_all(&all));
}

fn read(stream: &mut Stream) -> Option<Frame> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).ok()?;
    let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some(Frame::new(head[3], head[4], id, &payload))
}

/// The frames that have come so far.
type Arrived = Arc<Mutex<Vec<Frame>>>;

/// Serves one connection until the client hangs up. When a request is whole it sends `answer`, and
/// then says no more.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, arrived: &Arrived, answer: &[Frame]) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut preface = [0; PREFACE.len()];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    assert_eq!(preface, PREFACE);
    write(&mut stream, &Frame::new(SETTINGS, 0, 0, b""));
    while let Some(frame) = read(&mut stream) {
        if frame.kind == SETTINGS && frame.flags & ACK == 0 {
            write(&mut stream, &Frame::new(SETTINGS, ACK, 0, b""));
        }
        let ends = frame.ends();
        arrived.lock().unwrap().push(frame);
        if ends {
            answer.iter().for_each(|frame| write(&mut stream, frame));
            // That was all; what the client still says is read, lest the answer be cut.
            stream.conn.send_close_notify();
            drop(stream.flush());
            drop(stream.sock.shutdown(Shutdown::Write));
        }
    }
}

/// Sends one request to a server that speaks HTTP/2 and answers with these frames.
fn exchange(
    looks: impl Fn(&Arrived) -> bool + Send + Sync + 'static,
    answer: Vec<Frame>,
) -> (Reported, Vec<Frame>) {
    let chain = Chain::new();
    let config = server_config(&chain.leaf, chain.sent(), &[b"h2"]);
    let arrived = Arrived::default();
    let (serving, looking) = (Arc::clone(&arrived), Arc::clone(&arrived));
    let server = Once::new(move |stream| serve(stream, config, &serving, &answer));
    let url = server.url.replace("http://127.0.0.1", "https://localhost");
    let transport = transport(&chain.trusting());
    let sent = start_looking(&transport, post(url, bytes(b"{}")), move || looks(&looking));
    let reported = sent.report();
    drop(transport);
    server.end();
    let arrived = arrived.lock().unwrap().clone();
    (reported, arrived)
}

fn reset(reason: u32) -> Vec<Frame> {
    vec![Frame::new(RST_STREAM, 0, 1, &reason.to_be_bytes())]
}

fn go_away(last: u32, reason: u32) -> Vec<Frame> {
    let payload = [last.to_be_bytes(), reason.to_be_bytes()].concat();
    vec![Frame::new(GOAWAY, 0, 0, &payload)]
}

#[test]
fn a_request_with_a_body_goes_over_http2_where_the_server_speaks_it() {
    let answer = vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, 1, CREATED)];
    let (reported, arrived) = exchange(|_| true, answer);
    assert!(
        matches!(&reported, Reported::Answered(answer) if answer.status == 201 && answer.complete),
        "{reported:?}"
    );
    let body: Vec<_> = arrived.iter().filter(|frame| frame.kind == DATA).collect();
    assert_eq!(body, [&Frame::new(DATA, END_STREAM, 1, b"{}")]);
}

/// A POST without a body is whole with its head, which can't be kept back once it is queued.
#[test]
fn a_request_with_an_effect_and_no_body_goes_over_http1() {
    let chain = Chain::new();
    let config = server_config(&chain.leaf, chain.sent(), &[b"h2", b"http/1.1"]);
    let server = Once::new(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let head = read_head(&mut stream);
        let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
        head
    });
    let url = server.url.replace("http://127.0.0.1", "https://localhost");
    let sent = start(
        &transport(&chain.trusting()),
        WireRequest {
            method: "DELETE".to_owned(),
            ..post(url, bytes(b""))
        },
        true,
    );
    assert_eq!(sent.answer().status, 201);
    assert!(server.end().starts_with("DELETE /orders HTTP/1.1\r\n"));
}

#[test]
fn what_the_server_says_it_did_not_begin_has_no_effect() {
    for refusal in [
        reset(REFUSED_STREAM),
        go_away(0, 0),
        go_away(0, PROTOCOL_ERROR),
    ] {
        let (reported, _) = exchange(|_| true, refusal.clone());
        assert_eq!(
            reported,
            Reported::Failed(Fault::NotProcessed),
            "{refusal:?}"
        );
    }
}

/// A `GOAWAY` that names this request, or a later one, says nothing about it.
#[test]
fn other_ends_of_a_stream_leave_it_in_doubt() {
    for end in [
        reset(CANCEL),
        go_away(1, 0),
        go_away(1, PROTOCOL_ERROR),
        Vec::new(),
    ] {
        let (reported, _) = exchange(|_| true, end.clone());
        assert_eq!(reported, Reported::Failed(Fault::Lost), "{end:?}");
    }
}

#[test]
fn an_answer_without_a_status_is_none() {
    // `content-length: 0`, by the static table.
    let head = b"\x0f\x0d\x010";
    let answer = vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, 1, head)];
    let (reported, _) = exchange(|_| true, answer);
    assert_eq!(reported, Reported::Failed(Fault::BadAnswer));
}

#[test]
fn the_last_look_comes_before_the_head() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&heads);
    let (reported, _) = exchange(
        move |arrived| {
            let arrived = arrived.lock().unwrap();
            let heads = arrived.iter().filter(|frame| frame.kind == HEADERS);
            found.lock().unwrap().push(heads.count());
            true
        },
        vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, 1, CREATED)],
    );
    // There is another look before the body.
    assert_eq!(heads.lock().unwrap().first(), Some(&0));
    assert!(matches!(reported, Reported::Answered(_)), "{reported:?}");
}

/// A look that fails can't keep the head back; the request never becomes whole, and is in doubt.
#[test]
fn after_a_look_that_fails_no_request_becomes_whole() {
    let (reported, arrived) = exchange(|_| false, Vec::new());
    assert_eq!(reported, Reported::Failed(Fault::Lost));
    assert!(!arrived.iter().any(Frame::ends), "{arrived:?}");
    assert!(
        arrived.iter().all(|frame| frame.kind != DATA),
        "{arrived:?}"
    );
}

/// Serves one connection after the other, each with its answer.
fn serve_each(answers: Vec<Vec<Frame>>) -> (String, crate::config::TlsConfig, Arrived) {
    let chain = Chain::new();
    let config = server_config(&chain.leaf, chain.sent(), &[b"h2"]);
    let arrived = Arrived::default();
    let serving = Arc::clone(&arrived);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().unwrap();
            serve(stream, Arc::clone(&config), &serving, &answer);
        }
    });
    (url, chain.trusting(), arrived)
}

/// P5: through a whole outbox, in doubt and not. What the server didn't begin with had no effect, and
/// settles nothing of what was lost before.
#[test]
fn what_was_not_begun_is_repeated_and_settles_no_earlier_doubt() {
    use crate::{Limits, Outbox, OutboxConfig, Submission, SubmissionId, SubmissionState, Waited};
    const QUICK: std::time::Duration = std::time::Duration::from_millis(5);
    let created = || vec![Frame::new(HEADERS, END_HEADERS | END_STREAM, 1, CREATED)];
    for not_begun in [reset(REFUSED_STREAM), go_away(0, 0)] {
        for in_doubt in [false, true] {
            let mut answers = vec![not_begun.clone(), created()];
            let mut marks = vec!["not_applied", "applied"];
            if in_doubt {
                // The request is read, and the connection ends without a word.
                answers.insert(0, Vec::new());
                marks.insert(0, "unknown");
            }
            let (url, tls, arrived) = serve_each(answers);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("outbox.sqlite3");
            let limits = Limits {
                quiet_time: Some(QUICK),
                backoff_first: QUICK,
                ..Limits::default()
            };
            let config = OutboxConfig::at(path.to_str().unwrap())
                .base_url(url)
                .tls(tls)
                .limits(limits);
            let outbox = Outbox::open(config).unwrap();
            let id = SubmissionId::new().unwrap();
            let order = Submission::post(id, "/orders").json("{}");
            outbox.submit(order).unwrap();
            outbox.start().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            let patience = std::time::Duration::from_secs(20);
            let waited = runtime.block_on(outbox.wait(id, patience)).unwrap();
            let Waited::Settled { snapshot } = waited else {
                panic!("{waited:?}");
            };
            assert_eq!(snapshot.state, SubmissionState::Succeeded);
            let sql = rusqlite::Connection::open(&path).unwrap();
            let mut statement = sql.prepare("SELECT mark FROM attempt ORDER BY id").unwrap();
            let found: Vec<String> = statement
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert_eq!(found, marks);
            let requests = arrived.lock().unwrap().iter().filter(|f| f.ends()).count();
            assert_eq!(requests, marks.len());
        }
    }
}
