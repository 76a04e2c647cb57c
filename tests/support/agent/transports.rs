//! Transports that stop between the steps of an exchange.

use std::sync::{Arc, Mutex};

use submit_once::{
    Exchange, Executor, HttpTransport, Limits, OwnRuntime, Reported, TlsConfig, Transport,
    WireRequest,
};
use tokio::sync::Notify;

use crate::{points, say};

fn http(executor: Arc<OwnRuntime>) -> HttpTransport {
    HttpTransport::new(&Limits::default(), &TlsConfig::default(), executor).expect("TLS")
}

/// Takes requests and keeps them back until it is told to send: what lies between a claim and its
/// first byte.
pub struct Mute {
    kept: Mutex<Vec<(WireRequest, Exchange)>>,
    http: HttpTransport,
}

impl Transport for Mute {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        self.kept
            .lock()
            .expect("no panic")
            .push((request, exchange));
        say("claimed");
    }
}

impl Mute {
    pub fn new() -> Self {
        Self {
            kept: Mutex::default(),
            http: http(Arc::new(OwnRuntime::start().expect("threads"))),
        }
    }

    /// Hands everything over that was kept back. Says how much that was.
    pub fn unmute(&self) -> String {
        let kept = std::mem::take(&mut *self.kept.lock().expect("no panic"));
        let count = kept.len();
        for (request, exchange) in kept {
            self.http.start(request, exchange);
        }
        count.to_string()
    }
}

/// The default transport, with a point before each of its steps: `claimed`, `checked` (after a look at
/// the lease; the last look is the second one), `answered`.
pub struct Stepwise {
    http: HttpTransport,
    executor: Arc<OwnRuntime>,
}

impl Stepwise {
    pub fn new() -> Self {
        let executor = Arc::new(OwnRuntime::start().expect("threads"));
        Self {
            http: http(Arc::clone(&executor)),
            executor,
        }
    }
}

impl Transport for Stepwise {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        points::pass("claimed");
        let exchange = Arc::new(exchange);
        let ended = Arc::new(Notify::new());
        let (asked, told, end) = (
            Arc::clone(&exchange),
            Arc::clone(&exchange),
            Arc::clone(&ended),
        );
        let (inner, stop) = Exchange::observed(
            move || {
                let holds = asked.confirm();
                if holds {
                    points::pass("checked");
                }
                holds
            },
            move |reported| {
                match reported {
                    Reported::Answered(answer) => {
                        points::pass("answered");
                        points::from_here("settle");
                        told.answered(answer);
                    }
                    Reported::Failed(fault) => told.failed(fault),
                }
                end.notify_one();
            },
        );
        // One that stands past its last look hears of nothing before its first byte is gone.
        if !points::stands() {
            self.executor.spawn(Box::pin(async move {
                tokio::select! {
                    () = exchange.stopped() => {
                        stop.stop();
                    }
                    () = ended.notified() => {}
                }
            }));
        }
        self.http.start(request, inner);
    }
}
