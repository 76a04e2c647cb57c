use std::io::ErrorKind;

use super::*;

#[test]
fn no_network_is_told_from_a_host_that_cannot_be_reached() {
    assert!(is_offline(ErrorKind::NetworkUnreachable));
    assert!(is_offline(ErrorKind::NetworkDown));
    for kind in [
        ErrorKind::HostUnreachable,
        ErrorKind::ConnectionRefused,
        ErrorKind::TimedOut,
    ] {
        assert!(!is_offline(kind), "{kind}");
    }
}

#[test]
fn only_the_validity_of_a_certificate_hangs_on_the_clock() {
    for clock in [CertificateError::Expired, CertificateError::NotValidYet] {
        assert_eq!(tls_fault(&clock.into()), Fault::TlsClock);
    }
    for other in [
        CertificateError::UnknownIssuer,
        CertificateError::NotValidForName,
        CertificateError::ApplicationVerificationFailure,
        CertificateError::Revoked,
    ] {
        assert_eq!(tls_fault(&other.into()), Fault::Tls);
    }
}

#[test]
fn errors_are_found_inside_of_others() {
    let tls = rustls::Error::from(CertificateError::Expired);
    let wrapped = io::Error::other(io::Error::other(tls));
    assert_eq!(first_known(&wrapped), Some(Fault::TlsClock));
}
