//! The TLS settings, as rustls understands them.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::http_pins::{PinningVerifier, read_pins};
use crate::config::{TlsConfig, TrustRoots};
use crate::error::OpenError;

/// The names of the protocols in the handshake (RFC 7301).
const HTTP1: &[u8] = b"http/1.1";
#[cfg(feature = "http2")]
const HTTP2: &[u8] = b"h2";

/// The settings of a client. Its application protocol is HTTP/1.1.
///
/// # Errors
/// [`OpenError::InvalidConfig`] names the field that can't be used; [`OpenError::Setup`] says why
/// the platform's verifier can't be had.
pub(super) fn client_config(tls: &TlsConfig) -> Result<ClientConfig, OpenError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pins = read_pins(&tls.pins).map_err(|(field, problem)| invalid(&field, problem))?;
    let extra = read_roots(&tls.extra_roots)?;
    let mut roots = RootCertStore::empty();
    for (field, certificate) in &extra {
        let bad = |_| invalid(field, "this is no certificate that can be a root");
        roots.add(certificate.clone()).map_err(bad)?;
    }
    let source = tls.roots.unwrap_or_default();
    if source == TrustRoots::Bundled {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let known = roots.roots.clone();
    let verifier: Arc<dyn ServerCertVerifier> = match source {
        TrustRoots::Platform => platform(
            extra.into_iter().map(|(_, root)| root),
            Arc::clone(&provider),
        )?,
        TrustRoots::ExtraOnly if roots.is_empty() => {
            return Err(invalid("tls.extra_roots", "with no other roots, name some"));
        }
        TrustRoots::ExtraOnly | TrustRoots::Bundled => {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| setup(&error))?
        }
    };
    let verifier: Arc<dyn ServerCertVerifier> = if pins.is_empty() {
        verifier
    } else {
        Arc::new(PinningVerifier::new(
            verifier,
            pins,
            known,
            Arc::clone(&provider),
        ))
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?
        .dangerous()
        // Both are real verifiers: "dangerous" is only that they are named here.
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok(config)
}

/// The same settings for a client that prefers HTTP/2.
#[cfg(feature = "http2")]
pub(super) fn with_http2(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    config
}

/// Certificates in PEM or DER, each with the name of its field.
fn read_roots(texts: &[Vec<u8>]) -> Result<Vec<(String, CertificateDer<'static>)>, OpenError> {
    let mut roots = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let field = format!("tls.extra_roots[{index}]");
        if !text.windows(PEM_MARK.len()).any(|part| part == PEM_MARK) {
            roots.push((field, CertificateDer::from(text.clone())));
            continue;
        }
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let bad = |_| invalid(&field, "the PEM text is damaged");
            roots.push((field.clone(), certificate.map_err(bad)?));
        }
        if roots.len() == before {
            return Err(invalid(&field, "there is no certificate in the PEM text"));
        }
    }
    Ok(roots)
}

const PEM_MARK: &[u8] = b"-----BEGIN ";

#[cfg(all(feature = "platform-verifier", not(target_os = "android")))]
fn platform(
    extra: impl Iterator<Item = CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, OpenError> {
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(extra, provider)
        .map_err(|error| setup(&error))?;
    Ok(Arc::new(verifier))
}

#[cfg(all(feature = "platform-verifier", target_os = "android"))]
fn platform(
    mut extra: impl Iterator<Item = CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, OpenError> {
    if extra.next().is_some() {
        return Err(invalid(
            "tls.extra_roots",
            "Android's verifier takes none; name them in the app's network security configuration",
        ));
    }
    let verifier =
        rustls_platform_verifier::Verifier::new(provider).map_err(|error| setup(&error))?;
    Ok(Arc::new(verifier))
}

#[cfg(not(feature = "platform-verifier"))]
fn platform(
    _: impl Iterator<Item = CertificateDer<'static>>,
    _: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, OpenError> {
    Err(invalid(
        "tls.roots",
        "the library was built without the feature platform-verifier",
    ))
}

fn invalid(field: &str, problem: &str) -> OpenError {
    OpenError::InvalidConfig {
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

pub(super) fn setup(error: &dyn std::fmt::Display) -> OpenError {
    OpenError::Setup {
        detail: error.to_string(),
    }
}

#[cfg(test)]
#[path = "http_tls_tests.rs"]
mod tests;
