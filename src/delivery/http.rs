//! The default transport: reqwest over HTTP/1.1, rustls with ring and the bundled roots.
//!
//! The stack's own cleverness is off: it follows no redirect, repeats nothing, keeps no cookie and
//! no cache. The last look at the lease happens when the HTTP engine asks for the request's body,
//! or for its length if there is none: then the connection is chosen and connected, and not a byte
//! of the request has been written.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::redirect;

use super::transport::{Exchange, Transport, WireAnswer, WireBody, WireRequest};
use crate::config::TlsConfig;
use crate::model::submission::Header;
use crate::policy::classify::Fault;
use crate::policy::limits::Limits;
use crate::runtime::Executor;

/// Idle connections are closed after this: longer than a burst of taps, shorter than servers and
/// NATs keep them.
const IDLE_CONNECTIONS: Duration = Duration::from_secs(30);

/// reqwest, as a transport.
pub struct HttpTransport {
    client: reqwest::Client,
    executor: Arc<dyn Executor>,
}

impl HttpTransport {
    /// Sets the stack up. Nothing is connected yet.
    ///
    /// # Errors
    /// In words, if the TLS stack can't be set up.
    pub fn new(
        limits: &Limits,
        _tls: &TlsConfig,
        executor: Arc<dyn Executor>,
    ) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(limits.connect_timeout)
            .pool_idle_timeout(IDLE_CONNECTIONS)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| error.without_url().to_string())?;
        Ok(Self { client, executor })
    }
}

impl Transport for HttpTransport {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        let client = self.client.clone();
        self.executor.spawn(Box::pin(async move {
            run(client, request, exchange).await;
        }));
    }
}

async fn run(client: reqwest::Client, request: WireRequest, exchange: Exchange) {
    let exchange = Arc::new(exchange);
    let most = request.max_answer_bytes;
    let response = tokio::select! {
        response = send(&client, request, &exchange) => response,
        () = exchange.stopped() => Err(Fault::Stopped),
    };
    let mut response = match response {
        Ok(response) => response,
        Err(fault) => return exchange.failed(fault),
    };
    // From here on the answer's head is known, and counts even if its body never ends.
    let mut answer = head(&response);
    answer.complete = tokio::select! {
        complete = read(&mut response, &mut answer.body, most) => complete,
        () = exchange.stopped() => false,
    };
    exchange.answered(answer);
}

async fn send(
    client: &reqwest::Client,
    request: WireRequest,
    exchange: &Arc<Exchange>,
) -> Result<reqwest::Response, Fault> {
    let method =
        reqwest::Method::from_bytes(request.method.as_bytes()).map_err(|_| Fault::NotSent)?;
    let has_effect = !method.is_safe();
    let mut builder = client.request(method, request.url);
    for header in request.headers {
        builder = builder.header(header.name, header.value);
    }
    let WireBody::Bytes(body) = request.body else {
        return Err(Fault::BodyMissing);
    };
    let asks_for_body = has_effect && !body.is_empty();
    if has_effect {
        builder = builder.body(reqwest::Body::wrap(LastLook {
            exchange: Some(Arc::clone(exchange)),
            body,
            reached: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        }));
    } else {
        // A safe method has no body to ask for and nothing to lose: looking before is enough.
        if !exchange.confirm() {
            return Err(Fault::NotSent);
        }
        if !body.is_empty() {
            builder = builder.body(body);
        }
    }
    builder
        .send()
        .await
        .map_err(|error| match fault_of(&error) {
            // The connection broke before the body was asked for, so nothing was written.
            Fault::Lost if asks_for_body && !exchange.is_confirmed() => Fault::Unreachable,
            fault => fault,
        })
}

fn head(response: &reqwest::Response) -> WireAnswer {
    let headers = response
        .headers()
        .iter()
        .filter_map(|(name, value)| {
            Some(Header {
                name: name.as_str().to_owned(),
                value: value.to_str().ok()?.to_owned(),
            })
        })
        .collect();
    WireAnswer {
        status: response.status().as_u16(),
        headers,
        body: Vec::new(),
        complete: false,
    }
}

/// Reads the body. True if it arrived whole and wasn't larger than allowed.
async fn read(response: &mut reqwest::Response, body: &mut Vec<u8>, most: usize) -> bool {
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= most => body.extend_from_slice(&chunk),
            Ok(Some(_)) | Err(_) => return false,
            Ok(None) => return true,
        }
    }
}

/// What the stack can tell. [`Exchange::failed`] corrects it by whether bytes may have left.
fn fault_of(error: &reqwest::Error) -> Fault {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = source {
        if error.is::<NotConfirmed>() {
            return Fault::NotSent;
        }
        if error.is::<rustls::Error>() || wraps_tls(error) {
            return Fault::Tls;
        }
        source = error.source();
    }
    if error.is_connect() {
        Fault::Unreachable
    } else {
        Fault::Lost
    }
}

/// TLS errors come wrapped in I/O errors, more than once, which `source` looks past.
fn wraps_tls(error: &(dyn Error + 'static)) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .is_some_and(|inner| inner.is::<rustls::Error>() || wraps_tls(inner))
}

/// A body that looks at the lease when it is first asked for.
///
/// A body without bytes is never asked for: the engine takes its length, which is zero, and is
/// done. It does ask, in this order and right before it writes the head, whether the body is at
/// its end, which this one denies, and for its length. Then is the time to look. The order tells
/// the engine from middleware, which asks for the length before there is a connection.
struct LastLook {
    exchange: Option<Arc<Exchange>>,
    body: Bytes,
    /// The engine has been there.
    reached: AtomicBool,
    /// A look without a body to ask for found the lease lost.
    refused: AtomicBool,
}

/// The last look found the lease lost, or the exchange stopped.
#[derive(Debug)]
struct NotConfirmed;

impl fmt::Display for NotConfirmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lease was lost before the first byte")
    }
}

impl Error for NotConfirmed {}

impl Body for LastLook {
    type Data = Bytes;
    type Error = NotConfirmed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NotConfirmed>>> {
        if let Some(exchange) = self.exchange.take()
            && (self.refused.load(Ordering::Acquire) || !exchange.confirm())
        {
            self.body = Bytes::new();
            return Poll::Ready(Some(Err(NotConfirmed)));
        }
        let body = std::mem::take(&mut self.body);
        Poll::Ready((!body.is_empty()).then(|| Ok(Frame::data(body))))
    }

    fn is_end_stream(&self) -> bool {
        self.reached.store(true, Ordering::Release);
        self.exchange.is_none() && self.body.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.body.is_empty()
            && self.reached.load(Ordering::Acquire)
            && let Some(exchange) = &self.exchange
            && !exchange.confirm()
        {
            self.refused.store(true, Ordering::Release);
            // Of unknown length, it is asked for, and can fail before the head leaves.
            return SizeHint::default();
        }
        SizeHint::with_exact(self.body.len() as u64)
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
