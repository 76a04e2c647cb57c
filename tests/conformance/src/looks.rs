//! The last look, and the end from the core's side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use submit_once::{Fault, Reported, WireRequest};

use crate::rig::{Check, PATIENCE, Server, begin, begin_holding, demand, file, post, request};
use crate::{Make, Point};

pub(crate) const POINTS: &[Point] = &[
    Point {
        name: "look_after_connecting",
        about: "The last look comes when the connection is made: connecting can take long enough to \
                lose the lease.",
        check: look_after_connecting,
    },
    Point {
        name: "look_with_a_body",
        about: "The last look comes before the first byte, and if it fails nothing leaves.",
        check: |make| look(make, |url| Ok(post(url, b"{}"))),
    },
    Point {
        name: "look_without_a_body",
        about: "The same for a request without a body.",
        check: |make| look(make, |url| Ok(post(url, b""))),
    },
    Point {
        name: "look_of_a_safe_method",
        about: "The same for a request that only reads.",
        check: |make| look(make, |url| Ok(request("GET", url, b""))),
    },
    Point {
        name: "look_with_a_file",
        about: "The same for a body from a file.",
        check: look_with_a_file,
    },
    Point {
        name: "stop_before_the_answer",
        about: "An exchange that is stopped lets go of its connection: the core has ended the attempt.",
        check: stop_before_the_answer,
    },
    Point {
        name: "stop_within_the_answer",
        about: "The same while the body of the answer comes.",
        check: stop_within_the_answer,
    },
];

fn look_after_connecting(make: Make<'_>) -> Check {
    let (connected, has_connected) = mpsc::channel();
    let server = Server::new(move |mut connection| {
        let _ = connected.send(());
        connection.read();
        connection.answer("201 Created", "", b"");
    })?;
    let has_connected = Mutex::new(has_connected);
    let late = Arc::new(AtomicBool::new(false));
    let found = Arc::clone(&late);
    let transport = make();
    let running = begin_holding(&transport, post(server.url("/orders"), b"{}"), move || {
        // Later looks find nothing new.
        if !found.load(Ordering::SeqCst) {
            let connected = has_connected.lock().unwrap_or_else(PoisonError::into_inner);
            let came = connected.recv_timeout(PATIENCE / 4).is_ok();
            found.store(came, Ordering::SeqCst);
        }
        true
    });
    running.answer()?;
    server.end()?;
    demand(late.load(Ordering::SeqCst), || {
        "it looked when nothing was connected".to_owned()
    })
}

/// The look finds that no byte has arrived; after one that fails none ever does.
fn look(make: Make<'_>, of: impl Fn(String) -> Result<WireRequest, String>) -> Check {
    for holds in [true, false] {
        let (looked, has_looked) = mpsc::channel::<()>();
        let (told, tell) = mpsc::channel();
        let server = Server::new(move |mut connection| {
            // The look waits for what is found here.
            let in_time = has_looked.recv_timeout(PATIENCE).is_ok();
            let early = connection.has_bytes();
            let _ = told.send(());
            let after = if holds {
                connection.read();
                connection.answer("201 Created", "", b"");
                Vec::new()
            } else {
                connection.read_to_end().unwrap_or_default()
            };
            (in_time, early, after.len())
        })?;
        let tell = Mutex::new(Some(tell));
        let unmet = Arc::new(AtomicBool::new(false));
        let alone = Arc::clone(&unmet);
        let transport = make();
        let running = begin_holding(&transport, of(server.url("/orders"))?, move || {
            let _ = looked.send(());
            let first = tell.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(tell) = first {
                // Nobody is there yet if it looks too early, which is another point's matter.
                let answered = tell.recv_timeout(PATIENCE / 4).is_ok();
                alone.store(!answered, Ordering::SeqCst);
            }
            holds
        });
        let reported = running.report()?;
        for (in_time, early, after) in server.end()? {
            demand(in_time, || "it never looked".to_owned())?;
            demand(!early || unmet.load(Ordering::SeqCst), || {
                "it looked when bytes had left".to_owned()
            })?;
            demand(after == 0, || {
                format!("after a look that failed {after} bytes left")
            })?;
        }
        let as_it_was = match &reported {
            Reported::Answered(_) => holds,
            Reported::Failed(fault) => !holds && *fault == Fault::NotSent,
        };
        demand(as_it_was, || format!("reported was {reported:?}"))?;
    }
    Ok(())
}

fn look_with_a_file(make: Make<'_>) -> Check {
    let (_kept, body) = file(b"{}", 2)?;
    look(make, |url| {
        Ok(WireRequest {
            body: body.clone(),
            ..post(url, b"")
        })
    })
}

/// Stops an exchange when the server has read the request and done `first`; demands that the
/// connection is closed then.
fn stops(make: Make<'_>, first: &'static [u8]) -> Check {
    let (read, has_read) = mpsc::channel();
    let server = Server::new(move |mut connection| {
        connection.read();
        connection.write(first);
        let _ = read.send(());
        connection.read_to_end().map(drop)
    })?;
    let transport = make();
    let sent = WireRequest {
        // The stop is meant to end it, and nothing else.
        idle_timeout: 10 * PATIENCE,
        ..post(server.url("/orders"), b"{}")
    };
    let running = begin(&transport, sent);
    has_read
        .recv_timeout(PATIENCE)
        .map_err(|_| "nothing arrived".to_owned())?;
    let unsent = running.stop.stop();
    demand(!unsent, || "the last look was never made".to_owned())?;
    server.end()?.into_iter().collect()
}

fn stop_before_the_answer(make: Make<'_>) -> Check {
    stops(make, b"")
}

fn stop_within_the_answer(make: Make<'_>) -> Check {
    stops(make, b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{")
}
