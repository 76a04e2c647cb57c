//! What the stack's errors say about why there is no answer.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use crate::policy::classify::Fault;

/// What is known of a failed request. `confirmed`: the last look has let it pass, so that bytes may
/// have left.
pub(super) fn fault_of(error: &reqwest::Error, confirmed: bool) -> Fault {
    let fault = first_known(error).unwrap_or(if error.is_connect() {
        Fault::Unreachable
    } else {
        Fault::Lost
    });
    match fault {
        // The connection broke before the engine turned to the request, so nothing was written.
        Fault::Lost | Fault::BadAnswer | Fault::NotProcessed if !confirmed => Fault::Unreachable,
        fault => fault,
    }
}

/// The outermost error of the chain that says something. I/O errors wrap others, more than once,
/// which `source` looks past.
fn first_known(error: &(dyn Error + 'static)) -> Option<Fault> {
    known(error).or_else(|| {
        let wrapped = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        match wrapped {
            Some(inner) => first_known(inner),
            None => first_known(error.source()?),
        }
    })
}

fn known(error: &(dyn Error + 'static)) -> Option<Fault> {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(tls_fault(error));
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return error.is_parse().then_some(Fault::BadAnswer);
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return is_offline(error.kind()).then_some(Fault::Offline);
    }
    #[cfg(feature = "http2")]
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return http2_fault(error);
    }
    None
}

/// There is no way out at all, as in airplane mode. A host that can't be reached is another matter.
fn is_offline(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown
    )
}

fn tls_fault(error: &rustls::Error) -> Fault {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => Fault::TlsClock,
        _ => Fault::Tls,
    }
}

/// RFC 9113, section 8.7: what the server says that it hasn't begun with. The engine gives the error
/// of a `GOAWAY` to those streams alone that are above the last one that it names.
#[cfg(feature = "http2")]
fn http2_fault(error: &h2::Error) -> Option<Fault> {
    let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    if error.is_remote() && (refused || error.is_go_away()) {
        return Some(Fault::NotProcessed);
    }
    // Found by this side: what came breaks the protocol.
    let broken = error.is_library() && (error.is_reset() || error.is_go_away());
    broken.then_some(Fault::BadAnswer)
}

#[cfg(test)]
#[path = "http_faults_tests.rs"]
mod tests;
