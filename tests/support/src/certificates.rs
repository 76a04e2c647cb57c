//! Certificates for tests: good ones, and those that a client must refuse.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

/// How long a good certificate lives. Some platforms refuse more than 398 days.
const LIFETIME: Duration = Duration::days(90);
/// How far a bad certificate's validity is from today.
const FAR: Duration = Duration::days(30);

/// A certificate could not be made: a name that is no DNS name, for example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificate cannot be made: {0}")]
pub struct CertificateError(String);

/// A private certificate authority. Each has a key of its own: a certificate of another authority
/// is one of another `TestCa`.
///
/// ```
/// use submit_once_reference_server::{Options, ReferenceServer, TestCa, TlsOptions};
///
/// let ca = TestCa::new()?;
/// let options = Options {
///     tls: Some(TlsOptions::new(ca.localhost()?)),
///     ..Options::default()
/// };
/// let server = ReferenceServer::start(options)?;
/// assert!(server.url().starts_with("https://localhost:"));
/// // Trust `ca.pem()` in the client; nothing has connected yet.
/// assert_eq!(server.tls_seen().connections, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TestCa {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// A certificate and its private key, as a server shows them.
#[derive(Clone)]
pub struct Identity {
    der: Vec<u8>,
    pem: String,
    spki_sha256: [u8; 32],
    key: Vec<u8>,
}

impl TestCa {
    /// Makes an authority.
    ///
    /// # Errors
    ///
    /// When the machine has no randomness.
    pub fn new() -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        // A name of its own: with one name for all, a client would blame the signature of another
        // authority's certificate, and not its issuer.
        let name: String = spki_sha256(&key)
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        params
            .distinguished_name
            .push(DnType::CommonName, format!("Reference server CA {name}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // Older and younger than every certificate below, so that only theirs can be the fault.
        let now = OffsetDateTime::now_utc();
        params.not_before = now - Duration::days(3650);
        params.not_after = now + Duration::days(3650);
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
        })
    }

    /// The authority's certificate as PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The authority's certificate as DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        self.certificate.der()
    }

    /// The SHA-256 of the authority's public key (SubjectPublicKeyInfo), as pins use it.
    #[must_use]
    pub fn spki_sha256(&self) -> [u8; 32] {
        spki_sha256(self.issuer.key())
    }

    /// A good certificate for `localhost` and the loopback addresses. Each has a new key.
    ///
    /// # Errors
    ///
    /// See [`CertificateError`].
    pub fn localhost(&self) -> Result<Identity, CertificateError> {
        let now = OffsetDateTime::now_utc();
        self.sign(&LOCAL, now - Duration::DAY, now + LIFETIME)
    }

    /// A certificate for `localhost` that expired a month ago.
    ///
    /// # Errors
    ///
    /// See [`CertificateError`].
    pub fn expired(&self) -> Result<Identity, CertificateError> {
        let now = OffsetDateTime::now_utc();
        self.sign(&LOCAL, now - FAR - LIFETIME, now - FAR)
    }

    /// A certificate for `localhost` that will be valid in a month.
    ///
    /// # Errors
    ///
    /// See [`CertificateError`].
    pub fn not_yet_valid(&self) -> Result<Identity, CertificateError> {
        let now = OffsetDateTime::now_utc();
        self.sign(&LOCAL, now + FAR, now + FAR + LIFETIME)
    }

    /// A certificate that is good for this host name or IP address, and for no other.
    ///
    /// # Errors
    ///
    /// See [`CertificateError`].
    pub fn for_host(&self, host: &str) -> Result<Identity, CertificateError> {
        let now = OffsetDateTime::now_utc();
        self.sign(&[host], now - Duration::DAY, now + LIFETIME)
    }

    fn sign(
        &self,
        hosts: &[&str],
        not_before: OffsetDateTime,
        not_after: OffsetDateTime,
    ) -> Result<Identity, CertificateError> {
        let key = KeyPair::generate()?;
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Reference server");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = not_before;
        params.not_after = not_after;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity::new(&certificate, &key))
    }
}

/// What a good certificate is for.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Identity {
    /// A certificate for `localhost` that no authority vouches for: it is signed with its own key.
    ///
    /// # Errors
    ///
    /// See [`CertificateError`].
    pub fn self_signed() -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let names = LOCAL.map(str::to_owned).to_vec();
        let certificate = CertificateParams::new(names)?.self_signed(&key)?;
        Ok(Self::new(&certificate, &key))
    }

    fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Self {
            der: certificate.der().to_vec(),
            pem: certificate.pem(),
            spki_sha256: spki_sha256(key),
            key: key.serialize_der(),
        }
    }

    /// The certificate as DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate as PEM.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The SHA-256 of its public key (SubjectPublicKeyInfo), as pins use it.
    #[must_use]
    pub fn spki_sha256(&self) -> [u8; 32] {
        self.spki_sha256
    }

    /// The private key, PKCS#8 in DER.
    pub(crate) fn key_der(&self) -> &[u8] {
        &self.key
    }
}

/// Even a test's private key stays out of the logs.
impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Identity").finish_non_exhaustive()
    }
}

impl From<rcgen::Error> for CertificateError {
    fn from(error: rcgen::Error) -> Self {
        Self(error.to_string())
    }
}

fn spki_sha256(key: &KeyPair) -> [u8; 32] {
    Sha256::digest(key.subject_public_key_info()).into()
}
