//! The default transport does everything that is demanded of a transport.

#![allow(
    clippy::unwrap_used,
    reason = "a test that panics has failed, and says where"
)]

use std::sync::Arc;

use submit_once::{HttpTransport, Limits, OwnRuntime, TlsConfig, Transport};
use submit_once_transport_conformance::points;

fn default_transport() -> Arc<dyn Transport> {
    let executor = Arc::new(OwnRuntime::start().unwrap());
    let tls = TlsConfig::default();
    Arc::new(HttpTransport::new(&Limits::default(), &tls, executor).unwrap())
}

#[test]
fn the_default_transport_passes_the_conformance_suite() {
    let failed: Vec<String> = points()
        .iter()
        .filter_map(|point| {
            let problem = (point.check)(&default_transport).err()?;
            Some(format!("{}: {problem}", point.name))
        })
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
