//! TLS in front of the server, and what it saw of its clients.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

use crate::certificates::Identity;

/// How the server speaks TLS.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// What it shows its clients.
    pub identity: Identity,
    /// Offer HTTP/2 besides HTTP/1.1 (ALPN).
    pub http2: bool,
}

impl TlsOptions {
    /// TLS with this certificate, and HTTP/1.1.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            http2: false,
        }
    }

    /// The same with HTTP/2.
    #[must_use]
    pub fn with_http2(mut self) -> Self {
        self.http2 = true;
        self
    }

    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, rustls::Error> {
        let chain = vec![CertificateDer::from(self.identity.der().to_vec())];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.identity.key_der().to_vec()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if self.http2 {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        Ok(Arc::new(config))
    }
}

/// What came through the TLS port since the server started. A reset does not change it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSeen {
    /// Accepted connections.
    pub connections: u64,
    /// Handshakes that were finished: the client trusts the certificate.
    pub handshakes: u64,
    /// Handshakes that ended in an error: the client refused, hung up, or spoke no TLS.
    pub failed_handshakes: u64,
    /// Decrypted bytes that clients sent after their handshakes: requests. 0 means that not one
    /// byte of a request was sent.
    pub application_bytes: u64,
}
