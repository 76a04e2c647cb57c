//! The judge: what was accepted, as the test handed it over, and what the network saw of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use submit_once::{Header, WireBody, WireRequest};

use crate::common::sim::{World, created};

/// What may leave under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    pub url: String,
    pub content_type: String,
    pub note: String,
    pub body: Vec<u8>,
}

/// Everything that was accepted, by key.
pub type Accepted = Arc<BTreeMap<String, Expected>>;

/// Looks at each request at the moment when it is handed to the network.
#[derive(Clone)]
pub struct Judge {
    accepted: Accepted,
    sent: Arc<Mutex<Vec<String>>>,
    bad: Arc<Mutex<Vec<String>>>,
}

impl Judge {
    /// A judge beside the network: every request is answered with 201.
    pub fn beside(world: &World, accepted: &Accepted) -> Self {
        let judge = Self {
            accepted: Arc::clone(accepted),
            sent: Arc::default(),
            bad: Arc::default(),
        };
        let looking = judge.clone();
        world.network.always(move |request| {
            looking.look(request);
            created()
        });
        judge
    }

    fn look(&self, request: &WireRequest) {
        let key = header(&request.headers, "idempotency-key").unwrap_or_default();
        let wrong = match self.accepted.get(&key) {
            None => Some("a key that nobody accepted".to_owned()),
            Some(expected) => differs(request, expected),
        };
        if let Some(wrong) = wrong {
            self.bad.lock().unwrap().push(format!("{key}: {wrong}"));
        }
        self.sent.lock().unwrap().push(key);
    }

    /// The keys of the requests so far.
    pub fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }

    /// Everything that left was accepted like that.
    pub fn is_content(&self) {
        let bad = self.bad.lock().unwrap();
        assert!(bad.is_empty(), "bad rows were sent: {bad:?}");
    }
}

fn header(headers: &[Header], name: &str) -> Option<String> {
    let found = headers.iter().find(|header| header.name == name)?;
    Some(found.value.clone())
}

fn differs(request: &WireRequest, expected: &Expected) -> Option<String> {
    let body = match &request.body {
        WireBody::Bytes(bytes) => bytes.to_vec(),
        WireBody::File { path, .. } => std::fs::read(path).unwrap(),
    };
    let sent = Expected {
        url: request.url.clone(),
        content_type: header(&request.headers, "content-type").unwrap_or_default(),
        note: header(&request.headers, "x-note").unwrap_or_default(),
        body,
    };
    let same = request.method == "POST" && sent == *expected;
    (!same).then(|| format!("{} {sent:?} in place of {expected:?}", request.method))
}
