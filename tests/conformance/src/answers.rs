//! What is read of an answer.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use submit_once::{Fault, Reported, WireAnswer, WireRequest};

use crate::rig::{Check, Server, begin, broken, demand, pattern, post, request};
use crate::{Make, Point};

pub(crate) const POINTS: &[Point] = &[
    Point {
        name: "names_in_lower_case",
        about: "The names of an answer's headers are given in lower case, their values as they are.",
        check: names_in_lower_case,
    },
    Point {
        name: "interim_answers",
        about: "Answers of the kind 1xx come before the answer, and aren't it.",
        check: interim_answers,
    },
    Point {
        name: "body_in_chunks",
        about: "A body in chunks is put together.",
        check: body_in_chunks,
    },
    Point {
        name: "body_until_the_end",
        about: "A body without a length goes to the end of the connection (RFC 9112, section 6.3).",
        check: body_until_the_end,
    },
    Point {
        name: "no_body_after_head",
        about: "The answer to HEAD is complete without the body that it tells of.",
        check: no_body_after_head,
    },
    Point {
        name: "decoded",
        about: "What the transport asked to have encoded, it decodes.",
        check: decoded,
    },
    Point {
        name: "as_large_as_allowed",
        about: "An answer of exactly the largest size is complete.",
        check: as_large_as_allowed,
    },
    Point {
        name: "larger_than_allowed",
        about: "A larger answer is cut, and not complete: it could fill the memory.",
        check: larger_than_allowed,
    },
    Point {
        name: "larger_when_decoded",
        about: "It is the decoded bytes that count.",
        check: larger_when_decoded,
    },
    Point {
        name: "cut_before_its_length",
        about: "A body that is shorter than its head says isn't complete.",
        check: cut_before_its_length,
    },
    Point {
        name: "cut_within_chunks",
        about: "Nor is one in chunks without the last.",
        check: cut_within_chunks,
    },
    Point {
        name: "cut_when_encoded",
        about: "Nor is one that arrived whole, but can't be decoded to its end.",
        check: cut_when_encoded,
    },
    Point {
        name: "pauses",
        about: "After the idle timeout without a byte of the body, what came is reported as not complete.",
        check: pauses,
    },
    Point {
        name: "not_an_answer",
        about: "What can't be read as an answer is none; the request has left.",
        check: not_an_answer,
    },
    Point {
        name: "one_report",
        about: "There is one report, whatever happens.",
        check: one_report,
    },
];

/// The answer that these bytes make.
fn met(make: Make<'_>, bytes: &[u8]) -> Result<WireAnswer, String> {
    let bytes = bytes.to_vec();
    let server = Server::new(move |mut connection| {
        connection.read();
        connection.write(&bytes);
    })?;
    let transport = make();
    let answer = begin(&transport, post(server.url("/orders"), b"{}")).answer()?;
    server.end()?;
    Ok(answer)
}

fn is(answer: &WireAnswer, complete: bool, body: &[u8]) -> Check {
    demand(answer.complete == complete && answer.body == body, || {
        format!("the answer was {answer:?}")
    })
}

fn names_in_lower_case(make: Make<'_>) -> Check {
    let bytes = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nX-Mixed-Case: Mixed Case\r\n\r\n";
    let answer = met(make, bytes)?;
    let values: Vec<_> = answer
        .headers
        .iter()
        .filter(|header| header.name == "x-mixed-case")
        .map(|header| header.value.as_str())
        .collect();
    demand(values == ["Mixed Case"], || {
        format!("the headers were {:?}", answer.headers)
    })
}

fn interim_answers(make: Make<'_>) -> Check {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n\
                  HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
    let answer = met(make, bytes)?;
    demand(answer.status == 201, || {
        format!("the answer was {}", answer.status)
    })?;
    is(&answer, true, b"{}")
}

fn body_in_chunks(make: Make<'_>) -> Check {
    let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  3\r\n{\"a\r\n4;b=c\r\n\":1}\r\n0\r\n\r\n";
    is(&met(make, bytes)?, true, b"{\"a\":1}")
}

fn body_until_the_end(make: Make<'_>) -> Check {
    is(
        &met(make, b"HTTP/1.1 200 OK\r\n\r\n{\"a\":1}")?,
        true,
        b"{\"a\":1}",
    )
}

fn no_body_after_head(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        connection.read();
        connection.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    })?;
    let transport = make();
    let answer = begin(&transport, request("HEAD", server.url("/orders"), b"")).answer()?;
    server.end()?;
    is(&answer, true, b"")
}

fn gzip(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).map_err(broken)?;
    encoder.finish().map_err(broken)
}

/// The answer with this body, encoded if that was asked for, and without so many of its last bytes.
/// `None` if it wasn't asked for.
fn encoded(
    make: Make<'_>,
    body: &[u8],
    most: usize,
    without: usize,
) -> Result<Option<WireAnswer>, String> {
    let encoded = gzip(body)?;
    let server = Server::new(move |mut connection| {
        let asked = connection.read().accepts_gzip();
        if asked {
            let sent = encoded.get(..encoded.len() - without).unwrap_or_default();
            connection.answer("200 OK", "content-encoding: gzip\r\n", sent);
        } else {
            connection.answer("200 OK", "", b"");
        }
        asked
    })?;
    let sent = WireRequest {
        max_answer_bytes: most,
        ..post(server.url("/orders"), b"{}")
    };
    let transport = make();
    let answer = begin(&transport, sent).answer()?;
    let asked = server.end()?.iter().all(|asked| *asked);
    Ok(asked.then_some(answer))
}

fn decoded(make: Make<'_>) -> Check {
    let body = pattern(50_000);
    match encoded(make, &body, 1_000_000, 0)? {
        Some(answer) => is(&answer, true, &body),
        None => Ok(()),
    }
}

/// What is reported of an answer of this size where 10,000 bytes are allowed.
fn of_size(make: Make<'_>, size: usize) -> Result<WireAnswer, String> {
    let server = Server::new(move |mut connection| {
        connection.read();
        connection.answer("200 OK", "", &pattern(size));
    })?;
    let sent = WireRequest {
        max_answer_bytes: 10_000,
        ..post(server.url("/orders"), b"{}")
    };
    let transport = make();
    let answer = begin(&transport, sent).answer()?;
    server.end()?;
    Ok(answer)
}

fn as_large_as_allowed(make: Make<'_>) -> Check {
    is(&of_size(make, 10_000)?, true, &pattern(10_000))
}

fn is_cut(answer: &WireAnswer) -> Check {
    demand(!answer.complete && answer.body.len() <= 10_000, || {
        format!("the answer was {answer:?}")
    })
}

fn larger_than_allowed(make: Make<'_>) -> Check {
    is_cut(&of_size(make, 10_001)?)
}

fn larger_when_decoded(make: Make<'_>) -> Check {
    match encoded(make, &vec![b' '; 1_000_000], 10_000, 0)? {
        Some(answer) => is_cut(&answer),
        None => Ok(()),
    }
}

fn cut_before_its_length(make: Make<'_>) -> Check {
    let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\":1}";
    is(&met(make, bytes)?, false, b"{\"a\":1}")
}

fn cut_within_chunks(make: Make<'_>) -> Check {
    let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n";
    is(&met(make, bytes)?, false, b"{\"a\":1}")
}

fn cut_when_encoded(make: Make<'_>) -> Check {
    // A checksum is at the end: without a part of it, all the content may be there.
    match encoded(make, &pattern(50_000), 1_000_000, 3)? {
        Some(answer) => demand(!answer.complete, || format!("the answer was {answer:?}")),
        None => Ok(()),
    }
}

fn pauses(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        connection.read();
        connection.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\"");
        connection.read_to_end().map(drop)
    })?;
    let sent = WireRequest {
        idle_timeout: Duration::from_millis(200),
        ..post(server.url("/orders"), b"{}")
    };
    let transport = make();
    let answer = begin(&transport, sent).answer()?;
    server.end()?.into_iter().collect::<Check>()?;
    is(&answer, false, b"{\"a\"")
}

fn not_an_answer(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        connection.read();
        connection.write(b"ICY 200 OK\r\n\r\n");
    })?;
    let transport = make();
    let reported = begin(&transport, post(server.url("/orders"), b"{}")).report()?;
    server.end()?;
    let read = [Fault::BadAnswer, Fault::Lost].map(Reported::Failed);
    demand(read.contains(&reported), || {
        format!("reported was {reported:?}")
    })
}

fn one_report(make: Make<'_>) -> Check {
    for bytes in [
        &b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}"[..],
        b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{",
        b"",
    ] {
        let server = Server::new(move |mut connection| {
            connection.read();
            connection.write(bytes);
        })?;
        let transport = make();
        let running = begin(&transport, post(server.url("/orders"), b"{}"));
        let reports = running.all_reports()?;
        server.end()?;
        demand(reports.len() == 1, || format!("reported was {reports:?}"))?;
    }
    Ok(())
}
