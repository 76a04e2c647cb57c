//! Answers that send the client to another place. A second server, to which nothing may ever come, counts.

use std::sync::OnceLock;

use submit_once_reference_server::{
    Behaviour, Matcher, Options, Piece, ReferenceServer, TestCa, TlsOptions,
};

use crate::case::{Case, End, end_of, own, stage};
use crate::common::agents::server;
use crate::secrets::{Said, order};
use crate::stage::Stage;

pub fn cases() -> Vec<Case> {
    vec![
        own("moved to another server", End::Refused, |said| {
            sent_away(said, 307, "{url}/orders")
        }),
        own("moved for good", End::Refused, |said| {
            sent_away(said, 308, "{url}/orders")
        }),
        own("moved in the old way", End::Refused, |said| {
            sent_away(said, 301, "{url}/orders")
        }),
        own("a result elsewhere", End::Held, |said| {
            sent_away(said, 303, "{url}/results/7")
        }),
        own("another server without a scheme", End::Refused, |said| {
            sent_away(said, 307, "//{host}/orders")
        }),
        own("credentials in the place to go", End::Refused, |said| {
            sent_away(said, 307, "http://canary@{host}/orders")
        }),
        own("another scheme", End::Refused, |said| {
            sent_away(said, 307, "file:///etc/passwd")
        }),
        own("a script", End::Refused, |said| {
            sent_away(said, 308, "javascript:alert(1)")
        }),
        own("nowhere", End::Refused, |said| {
            sent_away(said, 307, "http://[::1")
        }),
        own("round in circles", End::Refused, |said| {
            sent_away(said, 307, "/orders")
        }),
        own("from TLS to plain HTTP", End::Refused, downgraded),
        own("an answer to the next request", End::Done, smuggled),
    ]
}

/// The server that nothing may reach.
fn other() -> &'static ReferenceServer {
    static OTHER: OnceLock<ReferenceServer> = OnceLock::new();
    OTHER.get_or_init(server)
}

fn nobody_came() {
    assert!(
        other().records().is_empty(),
        "a request went to another server"
    );
}

fn sent_away(said: &mut Said, status: u16, to: &str) -> (Option<Stage>, End) {
    let server = server();
    let url = other().url();
    let host = url.strip_prefix("http://").unwrap();
    let to = to.replace("{url}", &url).replace("{host}", host);
    server.always(Matcher::Any, Behaviour::redirect(status, &to));
    let stage = stage(&server.url(), |config| config);
    let id = order(&stage.outbox);
    said.note(stage.drain());
    let end = end_of(&stage, id);
    stage.hours_later();
    said.note(stage.drain());
    assert_eq!(end_of(&stage, id), end);
    assert!(server.records().len() <= 4, "a few hops at most");
    nobody_came();
    (Some(stage), end)
}

/// A server whose certificate is good may not send a client where there is none.
fn downgraded(said: &mut Said) -> (Option<Stage>, End) {
    let ca = TestCa::new().unwrap();
    let server = ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(ca.localhost().unwrap())),
        ..Options::default()
    })
    .unwrap();
    let plain = server.url().replace("https:", "http:");
    for to in [
        format!("{plain}/orders"),
        format!("{}/orders", other().url()),
    ] {
        server.script(Matcher::Any, vec![Behaviour::redirect(307, &to)]);
    }
    let tls = submit_once::TlsConfig {
        extra_roots: vec![ca.pem().into_bytes()],
        ..submit_once::TlsConfig::default()
    };
    let stage = stage(&server.url(), |config| config.tls(tls));
    let ids = [order(&stage.outbox), order(&stage.outbox)];
    said.note(stage.drain());
    assert_eq!(server.records().len(), 2);
    nobody_came();
    let ends = ids.map(|id| end_of(&stage, id));
    assert_eq!(ends[0], ends[1]);
    (Some(stage), ends[0])
}

/// A second answer behind the first, for a request that has not been made: nobody gets it.
fn smuggled(said: &mut Said) -> (Option<Stage>, End) {
    let server = server();
    let second = "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 16\r\n\r\n{\"canary-evil\":1}";
    let pieces = vec![
        Piece::StatusLine,
        Piece::Headers,
        Piece::ContentLength(0),
        Piece::EndOfHead,
        Piece::Body,
        Piece::text(second),
    ];
    let both = Behaviour::raw_delivered(pieces).ending(submit_once_reference_server::End::Hang);
    server.script(Matcher::Any, vec![both]);
    let stage = stage(&server.url(), |config| config);
    let mut end = End::Done;
    for n in 1..=2 {
        let id = order(&stage.outbox);
        said.note(stage.drain());
        end = end_of(&stage, id);
        let body = stage.snapshot(id).outcome.unwrap().body.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["effect"], n, "an answer of its own");
    }
    assert_eq!(server.records().len(), 2);
    server.release_all();
    (Some(stage), end)
}
