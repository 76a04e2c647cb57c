//! Certificates for the tests of the default transport, and a server's settings with them.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PublicKeyData};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::config::{TlsConfig, TrustRoots};

/// A certificate with its key, and those above it that the server sends along.
pub(super) struct Signed {
    params: CertificateParams,
    key: KeyPair,
    pub(super) certificate: rcgen::Certificate,
}

impl Signed {
    pub(super) fn root(name: &str) -> Self {
        let (params, key) = authority(name);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            params,
            key,
            certificate,
        }
    }

    fn under(above: &Self, (params, key): (CertificateParams, KeyPair)) -> Self {
        let issuer = Issuer::from_params(&above.params, &above.key);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Self {
            params,
            key,
            certificate,
        }
    }

    pub(super) fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    pub(super) fn pin(&self) -> Vec<u8> {
        Sha256::digest(self.key.subject_public_key_info()).to_vec()
    }
}

fn authority(name: &str) -> (CertificateParams, KeyPair) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params, KeyPair::generate().unwrap())
}

pub(super) fn leaf(host: &str) -> (CertificateParams, KeyPair) {
    let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    (params, KeyPair::generate().unwrap())
}

/// A server with a certificate for `localhost`, below an intermediate one, below a root.
pub(super) struct Chain {
    pub(super) root: Signed,
    pub(super) middle: Signed,
    pub(super) leaf: Signed,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self::of(leaf("localhost"))
    }

    pub(super) fn of(leaf: (CertificateParams, KeyPair)) -> Self {
        let root = Signed::root("root");
        let middle = Signed::under(&root, authority("middle"));
        let leaf = Signed::under(&middle, leaf);
        Self { root, middle, leaf }
    }

    pub(super) fn sent(&self) -> Vec<CertificateDer<'static>> {
        vec![self.leaf.der(), self.middle.der()]
    }

    pub(super) fn trusting(&self) -> TlsConfig {
        TlsConfig {
            roots: Some(TrustRoots::ExtraOnly),
            extra_roots: vec![self.root.der().to_vec()],
            pins: Vec::new(),
        }
    }
}

/// A server that shows these certificates, and speaks these protocols.
pub(super) fn server_config(
    leaf: &Signed,
    sent: Vec<CertificateDer<'static>>,
    protocols: &[&[u8]],
) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf.key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(sent, key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}
