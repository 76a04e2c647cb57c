//! HTTP/2 over TLS: many requests on one connection, and what a script can do to one of them.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use submit_once_reference_server::{
    Behaviour, Matcher, Options, ReferenceServer, TestCa, TlsOptions,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::client::PATIENCE;
use crate::tls::trusting;

type Sender = SendRequest<Full<Bytes>>;

/// Runs `test` with a server and a connection to it.
fn connected<F: Future<Output = ()>>(test: impl FnOnce(Arc<ReferenceServer>, Sender) -> F) {
    let ca = TestCa::new().unwrap();
    let server = ReferenceServer::start(Options {
        tls: Some(TlsOptions::new(ca.localhost().unwrap()).with_http2()),
        ..Options::default()
    });
    let server = Arc::new(server.unwrap());
    let mut config = trusting(&ca);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tcp = TcpStream::connect(server.addr()).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let stream = connector.connect(name, tcp).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        tokio::time::timeout(PATIENCE, test(server, sender))
            .await
            .unwrap();
    });
}

/// The status and the body; `None` when the stream is reset before an answer or in its body.
async fn call(mut sender: Sender, method: Method, key: &str) -> Option<(u16, Bytes)> {
    let request = Request::builder()
        .method(method)
        .uri("https://localhost/orders")
        .header("Idempotency-Key", key)
        .body(Full::new(Bytes::from_static(b"{}")))
        .unwrap();
    let response = sender.send_request(request).await.ok()?;
    assert!(response.headers().contains_key("date"));
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.ok()?;
    Some((status, body.to_bytes()))
}

#[test]
fn requests_share_a_connection_and_each_has_its_record() {
    connected(|server, sender| async move {
        server.script(Matcher::key("a"), vec![Behaviour::HoldBefore("a".into())]);
        let held = tokio::spawn(call(sender.clone(), Method::POST, "a"));
        let at_hold = {
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || server.wait_until_held("a", PATIENCE))
        };
        at_hold.await.unwrap().unwrap();
        let (status, _) = call(sender.clone(), Method::POST, "b").await.unwrap();
        assert_eq!(status, 201);
        server.release("a");
        assert_eq!(held.await.unwrap().unwrap().0, 201);
        let (_, body) = call(sender, Method::HEAD, "c").await.unwrap();
        assert!(body.is_empty());

        // No wait: an answer that is here is over.
        assert!(server.in_flight().is_empty());
        let records = server.records();
        let places: Vec<_> = records
            .iter()
            .map(|record| (record.connection, record.nth_on_connection))
            .collect();
        assert_eq!(places, [(1, 1), (1, 2), (1, 3)]);
        assert!(records.iter().all(|record| record.answered_at_ns.is_some()));
        assert!(server.tls_seen().application_bytes > 0);
    });
}

#[test]
fn a_script_ends_the_stream_and_not_the_connection() {
    connected(|server, sender| async move {
        for behaviour in [
            Behaviour::CommitThenDrop,
            Behaviour::AnswerHalf,
            Behaviour::cut_request(1),
            Behaviour::CloseAfterRead,
        ] {
            server.script(Matcher::Any, vec![behaviour]);
            assert_eq!(call(sender.clone(), Method::POST, "k").await, None);
        }
        server.script(Matcher::Any, vec![Behaviour::cut_after_headers()]);
        let (status, _) = call(sender.clone(), Method::POST, "raw").await.unwrap();
        assert_eq!(status, 500);
        assert_eq!(
            call(sender, Method::POST, "k").await.map(|answer| answer.0),
            Some(201)
        );
        let records = server.records();
        assert!(records.iter().all(|record| record.connection == 1));
        let summary = server.summary().unwrap();
        assert_eq!((summary.effects, summary.answers_lost), (1, 2));
    });
}
