//! How a request goes out, and how often.

use std::net::TcpListener;
use std::sync::mpsc;

use submit_once::{Fault, Reported, WireRequest};

use crate::rig::{
    Check, PATIENCE, Server, begin, broken, demand, file, header, observed, pattern, post, request,
};
use crate::{Make, Point};

pub(crate) const POINTS: &[Point] = &[
    Point {
        name: "as_given",
        about: "Method, URL, headers and body go out as they are given, once: servers compare them, \
                byte for byte.",
        check: as_given,
    },
    Point {
        name: "nothing_added",
        about: "Of other headers there are only those that belong to the connection or to what the \
                transport can read: a repeat must be the same request.",
        check: nothing_added,
    },
    Point {
        name: "large_body",
        about: "A large body arrives whole, with its exact length.",
        check: large_body,
    },
    Point {
        name: "progress",
        about: "What of a large body has been handed over is told: without it the request would be \
                given up while it is on its way.",
        check: progress,
    },
    Point {
        name: "file_body",
        about: "A body from a file arrives whole, with its exact length.",
        check: file_body,
    },
    Point {
        name: "file_ended_early",
        about: "A file that is shorter than it was breaks the request: half a body that looks whole \
                would be taken for the submission.",
        check: file_ended_early,
    },
    Point {
        name: "empty_body_has_length_zero",
        about: "A POST without a body says that its length is zero (RFC 9110, section 8.6).",
        check: empty_body_has_length_zero,
    },
    Point {
        name: "start_returns_at_once",
        about: "`start` doesn't wait for the answer: the core calls it while it has others to start.",
        check: start_returns_at_once,
    },
    Point {
        name: "no_redirect",
        about: "A redirect is an answer. Followed, it would be a request that nobody decided on.",
        check: no_redirect,
    },
    Point {
        name: "no_repeat_unread",
        about: "A connection that is closed before the request was read is not tried again.",
        check: no_repeat_unread,
    },
    Point {
        name: "no_repeat_read",
        about: "A request that was read and got no answer is not sent again: it may have taken effect.",
        check: no_repeat_read,
    },
    Point {
        name: "no_cookie",
        about: "A cookie that one answer set doesn't go out with the next request.",
        check: no_cookie,
    },
    Point {
        name: "no_cache",
        about: "An answer is never taken from a cache.",
        check: no_cache,
    },
    Point {
        name: "refused_connection",
        about: "Where nobody listens nothing has left: that is no doubt.",
        check: refused_connection,
    },
    Point {
        name: "left_without_answer",
        about: "What was read by the server and got no answer is lost, and nothing else.",
        check: left_without_answer,
    },
];

fn as_given(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("201 Created", "", b"");
        arrived
    })?;
    let transport = make();
    let mut sent = request(
        "PATCH",
        server.url("/a/%7Eb%2Fc;d?e=f%20g&h=%2B&"),
        b"{\"a\": 1 }",
    );
    sent.headers = vec![
        header(
            "idempotency-key",
            "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
        ),
        header("content-type", "application/json; charset=utf-8"),
        header("x-two-words", "one  two"),
    ];
    begin(&transport, sent.clone()).answer()?;
    let all = server.end()?;
    let [arrived] = all.as_slice() else {
        return Err(format!("{} requests arrived", all.len()));
    };
    let line = "PATCH /a/%7Eb%2Fc;d?e=f%20g&h=%2B& HTTP/1.1";
    demand(arrived.line == line, || {
        format!("it began {}", arrived.line)
    })?;
    for header in &sent.headers {
        let values = arrived.values(&header.name);
        demand(values == [header.value.as_str()], || {
            format!("the header {} was {values:?}", header.name)
        })?;
    }
    demand(sent.body.as_bytes() == Some(&arrived.body), || {
        "another body arrived".to_owned()
    })
}

fn nothing_added(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("201 Created", "", b"");
        arrived
    })?;
    let transport = make();
    begin(&transport, post(server.url("/orders"), b"{}")).answer()?;
    const OWN: [&str; 6] = [
        "host",
        "content-length",
        "connection",
        "accept",
        "accept-encoding",
        "idempotency-key",
    ];
    for arrived in server.end()? {
        for (name, value) in &arrived.headers {
            demand(OWN.contains(&name.as_str()), || {
                format!("{name}: {value} was added")
            })?;
        }
    }
    Ok(())
}

/// Sends these bytes, and demands that they arrive.
fn arrives(make: Make<'_>, content: &[u8], as_file: bool) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("201 Created", "", b"");
        arrived
    })?;
    let (_kept, from_file) = file(content, content.len() as u64)?;
    let mut sent = post(server.url("/orders"), content);
    if as_file {
        sent.body = from_file;
    }
    let transport = make();
    begin(&transport, sent).answer()?;
    let length = content.len().to_string();
    for arrived in server.end()? {
        let lengths = arrived.values("content-length");
        demand(lengths == [length.as_str()], || {
            format!("the length was {lengths:?}")
        })?;
        demand(arrived.body == content, || "other bytes arrived".to_owned())?;
    }
    Ok(())
}

fn large_body(make: Make<'_>) -> Check {
    arrives(make, &pattern(1_000_003), false)
}

fn progress(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        connection.read();
        connection.answer("201 Created", "", b"");
    })?;
    let body = pattern(1_000_003);
    let transport = make();
    let running = begin(&transport, post(server.url("/orders"), &body));
    running.answer()?;
    server.end()?;
    let told = running.stop.progress();
    demand(told == body.len() as u64, || {
        format!("of {} bytes {told} were told", body.len())
    })
}

fn file_body(make: Make<'_>) -> Check {
    arrives(make, &pattern(1_000_003), true)
}

fn file_ended_early(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("201 Created", "", b"");
        arrived
    })?;
    let length = 300_000;
    let (_kept, body) = file(&pattern(299_999), length)?;
    let sent = WireRequest {
        body,
        ..post(server.url("/orders"), b"")
    };
    let transport = make();
    let reported = begin(&transport, sent).report()?;
    for arrived in server.end()? {
        let is_whole = arrived.whole && !arrived.line.is_empty();
        demand(!is_whole, || "a body arrived that looks whole".to_owned())?;
    }
    demand(matches!(reported, Reported::Failed(_)), || {
        format!("reported was {reported:?}")
    })
}

fn empty_body_has_length_zero(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("201 Created", "", b"");
        arrived
    })?;
    let transport = make();
    begin(&transport, post(server.url("/orders"), b"")).answer()?;
    for arrived in server.end()? {
        let lengths = arrived.values("content-length");
        demand(lengths == ["0"], || format!("the length was {lengths:?}"))?;
    }
    Ok(())
}

fn start_returns_at_once(make: Make<'_>) -> Check {
    let (returned, has_returned) = mpsc::channel();
    let server = Server::new(move |mut connection| {
        connection.read();
        let in_time = has_returned.recv_timeout(PATIENCE / 4).is_ok();
        connection.answer("201 Created", "", b"");
        in_time
    })?;
    let transport = make();
    let (running, exchange) = observed(|| true);
    transport.start(post(server.url("/orders"), b"{}"), exchange);
    // Nobody may be there any more to hear it.
    let _ = returned.send(());
    running.answer()?;
    demand(server.end()?.iter().all(|in_time| *in_time), || {
        "it returned when the answer had come".to_owned()
    })
}

fn no_redirect(make: Make<'_>) -> Check {
    for status in [
        "307 Temporary Redirect",
        "301 Moved Permanently",
        "303 See Other",
    ] {
        let server = Server::new(move |mut connection| {
            if connection.read().line.contains("/orders") {
                connection.answer(status, "location: /elsewhere\r\n", b"");
            } else {
                connection.answer("200 OK", "", b"");
            }
        })?;
        let transport = make();
        let answer = begin(&transport, post(server.url("/orders"), b"{}")).answer()?;
        let arrived = server.end()?.len();
        demand(status.starts_with(&answer.status.to_string()), || {
            format!("the answer was {}", answer.status)
        })?;
        demand(arrived == 1, || format!("{arrived} requests arrived"))?;
    }
    Ok(())
}

fn no_repeat_unread(make: Make<'_>) -> Check {
    let server = Server::new(drop)?;
    let transport = make();
    begin(&transport, post(server.url("/orders"), b"{}")).report()?;
    let came = server.end()?.len();
    demand(came == 1, || format!("it connected {came} times"))
}

fn no_repeat_read(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| connection.read().line)?;
    let transport = make();
    begin(&transport, post(server.url("/orders"), b"{}")).report()?;
    let came = server.end()?;
    demand(came.len() == 1, || format!("there arrived {came:?}"))
}

fn no_cookie(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        let arrived = connection.read();
        connection.answer("200 OK", "set-cookie: a=b; Path=/\r\n", b"");
        arrived
    })?;
    let transport = make();
    for _ in 0..2 {
        begin(&transport, post(server.url("/orders"), b"{}")).answer()?;
    }
    for arrived in server.end()? {
        let cookies = arrived.values("cookie");
        demand(cookies.is_empty(), || format!("there arrived {cookies:?}"))?;
    }
    Ok(())
}

fn no_cache(make: Make<'_>) -> Check {
    let server = Server::new(|mut connection| {
        connection.read();
        let fresh = "cache-control: public, max-age=3600\r\netag: \"a\"\r\n";
        connection.answer("200 OK", fresh, b"{}");
    })?;
    let transport = make();
    for _ in 0..2 {
        begin(&transport, request("GET", server.url("/orders"), b"")).answer()?;
    }
    let arrived = server.end()?.len();
    demand(arrived == 2, || {
        format!("of two requests {arrived} arrived")
    })
}

fn refused_connection(make: Make<'_>) -> Check {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let url = format!("http://{}/orders", free.map_err(broken)?);
    let transport = make();
    let reported = begin(&transport, post(url, b"{}")).report()?;
    demand(reported == Reported::Failed(Fault::Unreachable), || {
        format!("reported was {reported:?}")
    })
}

fn left_without_answer(make: Make<'_>) -> Check {
    for body in [&b"{}"[..], b""] {
        let server = Server::new(|mut connection| drop(connection.read()))?;
        let transport = make();
        let reported = begin(&transport, post(server.url("/orders"), body)).report()?;
        server.end()?;
        demand(reported == Reported::Failed(Fault::Lost), || {
            format!("reported was {reported:?}")
        })?;
    }
    Ok(())
}
