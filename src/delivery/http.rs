//! The default transport: reqwest, rustls with ring, and the bundled roots.
//!
//! The stack's own cleverness is off: it follows no redirect, repeats nothing, keeps no cookie and
//! no cache, asks no proxy. Connections are kept and used again. The last look at the lease is the
//! body's matter.
//!
//! It asks for gzip and decodes it. The head of an answer may have 100 fields and, over HTTP/1.1, 400
//! KiB; the stack reads in large pieces and lets up to twice that pass. Over HTTP/2 it is 64 KiB. Beyond
//! that it is [`Fault::BadAnswer`].
//!
//! Over `https` and with the feature `http2`, a server that speaks HTTP/2 gets it, but for requests
//! with an effect and without a body: those are whole with their head, and HTTP/2 can't keep the head
//! of a request back whose last look failed.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response, redirect};
use rustls::ClientConfig;

use super::http_body::{Outgoing, Refused};
use super::http_faults::fault_of;
use super::http_tls::{client_config, setup};
use super::transport::{Exchange, Transport, WireAnswer, WireRequest};
use crate::config::TlsConfig;
use crate::error::OpenError;
use crate::model::submission::Header;
use crate::policy::classify::Fault;
use crate::policy::limits::Limits;
use crate::runtime::Executor;

/// Idle connections are closed after this: longer than a burst of taps, shorter than servers and
/// NATs keep them.
const IDLE_CONNECTIONS: Duration = Duration::from_secs(30);

/// The most fields in the head of an answer.
const MOST_HEADERS: usize = 100;

/// The largest head of an answer over HTTP/2, in bytes.
#[cfg(feature = "http2")]
const LARGEST_HEAD: u32 = 64 * 1024;

/// reqwest, as a transport.
pub struct HttpTransport {
    clients: Clients,
    executor: Arc<dyn Executor>,
}

#[derive(Clone)]
struct Clients {
    http1: Client,
    /// Keeps no connection.
    fresh: Client,
    #[cfg(feature = "http2")]
    http2: Client,
}

impl Clients {
    fn choose(&self, fresh: bool, whole_without_body: bool) -> &Client {
        match (fresh, whole_without_body) {
            (true, _) => &self.fresh,
            (false, true) => &self.http1,
            #[cfg(feature = "http2")]
            (false, false) => &self.http2,
            #[cfg(not(feature = "http2"))]
            (false, false) => &self.http1,
        }
    }
}

impl HttpTransport {
    /// Sets the stack up. Nothing is connected yet.
    ///
    /// # Errors
    /// [`OpenError::InvalidConfig`] if a TLS setting can't be used; `field` names it, for example
    /// `tls.pins[0].host`. [`OpenError::Setup`] if the stack can't be set up.
    pub fn new(
        limits: &Limits,
        tls: &TlsConfig,
        executor: Arc<dyn Executor>,
    ) -> Result<Self, OpenError> {
        let tls = client_config(tls)?;
        #[cfg(feature = "http2")]
        let http2 = {
            let tls = super::http_tls::with_http2(tls.clone());
            build(limits, tls, |builder| {
                builder.http2_max_header_list_size(LARGEST_HEAD)
            })?
        };
        let clients = Clients {
            fresh: build(limits, tls.clone(), |builder| {
                builder.pool_max_idle_per_host(0)
            })?,
            http1: build(limits, tls, |builder| builder)?,
            #[cfg(feature = "http2")]
            http2,
        };
        Ok(Self { clients, executor })
    }
}

fn build(
    limits: &Limits,
    tls: ClientConfig,
    more: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<Client, OpenError> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .gzip(true)
        .connect_timeout(limits.connect_timeout)
        .pool_idle_timeout(IDLE_CONNECTIONS)
        .http1_max_headers(MOST_HEADERS)
        .tcp_nodelay(true);
    more(builder)
        .build()
        .map_err(|error| setup(&error.without_url()))
}

impl Transport for HttpTransport {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        let clients = self.clients.clone();
        let executor = Arc::clone(&self.executor);
        self.executor.spawn(Box::pin(async move {
            run(clients, executor, request, exchange).await;
        }));
    }
}

async fn run(
    clients: Clients,
    executor: Arc<dyn Executor>,
    request: WireRequest,
    exchange: Exchange,
) {
    let exchange = Arc::new(exchange);
    let most = request.max_answer_bytes;
    let idle = request.idle_timeout;
    let Ok(method) = Method::from_bytes(request.method.as_bytes()) else {
        return exchange.failed(Fault::NotSent);
    };
    let (request, refused) = prepare(&clients, &executor, method, request, &exchange);
    let response = tokio::select! {
        response = request.send() => {
            response.map_err(|error| match refused.get() {
                Some(fault) => *fault,
                None => fault_of(&error, exchange.is_confirmed()),
            })
        }
        () = exchange.stopped() => Err(Fault::Stopped),
    };
    let mut response = match response {
        Ok(response) => response,
        Err(fault) => return exchange.failed(fault),
    };
    // From here on the answer's head is known, and counts even if its body never ends.
    let mut answer = head(&response);
    let sleep = || executor.sleep(idle);
    answer.complete = tokio::select! {
        complete = read(&mut response, &mut answer.body, most, sleep) => complete,
        () = exchange.stopped() => false,
    };
    exchange.answered(answer);
}

fn prepare(
    clients: &Clients,
    executor: &Arc<dyn Executor>,
    method: Method,
    request: WireRequest,
    exchange: &Arc<Exchange>,
) -> (RequestBuilder, Refused) {
    let safe = method.is_safe();
    let client = clients.choose(request.fresh_connection, !safe && request.body.is_empty());
    let mut builder = client.request(method, request.url);
    for header in request.headers {
        builder = builder.header(header.name, header.value);
    }
    let body = Outgoing::new(
        request.body,
        safe,
        Arc::clone(exchange),
        Arc::clone(executor),
    );
    let refused = body.refused();
    (builder.body(reqwest::Body::wrap(body)), refused)
}

fn head(response: &Response) -> WireAnswer {
    let headers = response.headers().iter();
    WireAnswer {
        status: response.status().as_u16(),
        headers: headers
            .map(|(name, value)| Header {
                name: name.as_str().to_owned(),
                value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
            })
            .collect(),
        body: Vec::new(),
        complete: false,
    }
}

/// An encoding that the stack has decoded is no longer in the headers.
fn is_encoded(response: &Response) -> bool {
    let encodings = response.headers().get_all("content-encoding");
    encodings
        .iter()
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Reads the body, up to `most` decoded bytes. True if it arrived whole, could be decoded and wasn't
/// larger. A pause that is as long as a `sleep` ends it.
async fn read(
    response: &mut Response,
    body: &mut Vec<u8>,
    most: usize,
    sleep: impl Fn() -> crate::runtime::BoxFuture<()>,
) -> bool {
    loop {
        let chunk = tokio::select! {
            biased;
            chunk = response.chunk() => chunk,
            () = sleep() => return false,
        };
        match chunk {
            Ok(Some(chunk)) => {
                let room = most.saturating_sub(body.len());
                if let Some(fitting) = chunk.get(..room)
                    && room < chunk.len()
                {
                    body.extend_from_slice(fitting);
                    return false;
                }
                body.extend_from_slice(&chunk);
            }
            Ok(None) => return body.is_empty() || !is_encoded(response),
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;

#[cfg(test)]
#[cfg(feature = "http2")]
#[path = "http2_tests.rs"]
mod http2_tests;
