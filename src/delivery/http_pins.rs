//! Pinned public keys, demanded in the handshake: a server that can't show one gets no byte of a
//! request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::config::CertificatePin;

/// SHA-256 of a SubjectPublicKeyInfo.
type Pin = [u8; 32];

/// Verifies as another verifier does, and then demands a pinned key of the hosts that have pins.
///
/// Anybody may send a pinned CA's certificate along with a chain of his own, so a certificate that
/// was merely sent proves nothing. The server's own certificate counts, since the handshake proves
/// its key; one above it counts if the server's certificate can be verified with it as the only root.
#[derive(Debug)]
pub(super) struct PinningVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    pins: HashMap<String, Vec<Pin>>,
    /// Roots that are known here and needn't be sent.
    roots: Vec<TrustAnchor<'static>>,
    provider: Arc<CryptoProvider>,
}

impl PinningVerifier {
    pub(super) fn new(
        inner: Arc<dyn ServerCertVerifier>,
        pins: HashMap<String, Vec<Pin>>,
        roots: Vec<TrustAnchor<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Self {
        Self {
            inner,
            pins,
            roots,
            provider,
        }
    }

    fn shows_pinned_key(
        &self,
        pins: &[Pin],
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        now: UnixTime,
    ) -> bool {
        if key_of(end_entity).is_some_and(|key| pins.contains(&key)) {
            return true;
        }
        let mut pinned = RootCertStore::empty();
        for certificate in intermediates {
            if key_of(certificate).is_some_and(|key| pins.contains(&key)) {
                // One that can't be a root isn't above anything.
                pinned.add_parsable_certificates([certificate.clone()]);
            }
        }
        let roots = self.roots.iter();
        pinned.extend(
            roots
                .filter(|root| pins.contains(&key_of_root(root)))
                .cloned(),
        );
        if pinned.is_empty() {
            return false;
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(pinned), Arc::clone(&self.provider))
            .build()
            .is_ok_and(|above| {
                above
                    .verify_server_cert(end_entity, intermediates, server_name, &[], now)
                    .is_ok()
            })
    }
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        match self.pins.get(&spelled(&server_name.to_str())) {
            Some(pins)
                if !self.shows_pinned_key(pins, end_entity, intermediates, server_name, now) =>
            {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(verified),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Reads the pins, by host.
///
/// # Errors
/// The field, and what is wrong with it.
pub(super) fn read_pins(
    pins: &[CertificatePin],
) -> Result<HashMap<String, Vec<Pin>>, (String, &'static str)> {
    let mut read: HashMap<String, Vec<Pin>> = HashMap::new();
    for (index, pin) in pins.iter().enumerate() {
        let host = read_host(&pin.host).ok_or_else(|| {
            (
                format!("tls.pins[{index}].host"),
                "use a host name or an IP address, without scheme, port and wildcard",
            )
        })?;
        let sha256 = Pin::try_from(pin.sha256.as_slice()).map_err(|_| {
            (
                format!("tls.pins[{index}].sha256"),
                "use the 32 bytes of a SHA-256",
            )
        })?;
        read.entry(host).or_default().push(sha256);
    }
    Ok(read)
}

/// A host as URLs write it: international names in their ASCII form.
fn read_host(host: &str) -> Option<String> {
    let name = match host.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => match url::Host::parse(host).ok()? {
            url::Host::Domain(name) => name,
            url::Host::Ipv4(address) => address.to_string(),
            url::Host::Ipv6(address) => address.to_string(),
        },
    };
    ServerName::try_from(name.as_str()).ok()?;
    Some(spelled(&name))
}

/// One spelling for a name: a dot at its end and capitals are the same host.
pub(super) fn spelled(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn key_of(certificate: &CertificateDer<'_>) -> Option<Pin> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    Some(Sha256::digest(parsed.subject_public_key_info().as_ref()).into())
}

/// A root keeps the content of its SubjectPublicKeyInfo; the hash is of the whole, with the tag and
/// the length in front (X.690, sections 8.1.2 and 8.1.3).
fn key_of_root(root: &TrustAnchor<'_>) -> Pin {
    const SEQUENCE: u8 = 0x30;
    let content = root.subject_public_key_info.as_ref();
    let length = content.len().to_be_bytes();
    let skipped = length.iter().take_while(|byte| **byte == 0).count();
    let digits = length.get(skipped..).unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update([SEQUENCE]);
    if content.len() >= 0x80 {
        // At most eight digits, in a number of 64 bits.
        hash.update([0x80 | digits.len() as u8]);
    }
    hash.update(digits);
    hash.update(content);
    hash.finalize().into()
}
