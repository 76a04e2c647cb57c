//! A body in a file: checked before each send, outside of any transaction and of any async thread,
//! piece by piece.

use std::path::Path;
use std::sync::Arc;

use super::transport::{Exchange, Transport, WireBody, WireRequest};
use crate::policy::classify::Fault;
use crate::runtime::Executor;
use crate::store::{NotOpened, hash, open_regular};

/// Hands a request to the transport, once its body is known to be the one that was accepted.
pub(super) fn send(
    request: WireRequest,
    digest: [u8; 32],
    exchange: Exchange,
    transport: Arc<dyn Transport>,
    executor: &dyn Executor,
) {
    let (path, length) = match &request.body {
        WireBody::Bytes(_) => return transport.start(request, exchange),
        WireBody::File { path, length } => (path.clone(), *length),
    };
    executor.blocking(Box::new(move || match check(&path, length, &digest) {
        Err(fault) => exchange.failed(fault),
        // It has been reported already.
        Ok(()) if exchange.is_stopped() => {}
        Ok(()) => transport.start(request, exchange),
    }));
}

/// Compares length and SHA-256 of a file with what was accepted.
fn check(path: &Path, length: u64, digest: &[u8; 32]) -> Result<(), Fault> {
    let file = open_regular(path).map_err(|why| match why {
        NotOpened::Missing => Fault::BodyMissing,
        NotOpened::NotRegular(_) => Fault::BodyChanged,
        NotOpened::Io(_) => Fault::BodyUnreadable,
    })?;
    // The length first: it costs nothing.
    let is = file.metadata().map_err(|_| Fault::BodyUnreadable)?.len();
    if is != length {
        return Err(Fault::BodyChanged);
    }
    match hash(file, length + 1, |_| Ok(())) {
        Ok(found) if found == (length, *digest) => Ok(()),
        Ok(_) => Err(Fault::BodyChanged),
        Err(_) => Err(Fault::BodyUnreadable),
    }
}
