//! A large body goes through the server without staying in it. A process of its own, so that the
//! memory is that of this test alone.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{Read, Write};
use std::net::TcpStream;

use sha2::{Digest, Sha256};
use submit_once_reference_server::{Options, ReferenceServer};

const MIB: usize = 1024 * 1024;
const BODY: usize = 200 * MIB;

/// The most memory that this process ever had.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

#[test]
fn two_hundred_megabytes_are_hashed_and_not_held() {
    let server = ReferenceServer::start(Options::default()).unwrap();
    let mut client = TcpStream::connect(server.addr()).unwrap();
    let head = format!(
        "POST /films HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\n\
         Content-Length: {BODY}\r\nConnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).unwrap();
    let mut digest = Sha256::new();
    let mut part = vec![0_u8; MIB];
    for number in 0..BODY / MIB {
        part.fill(number.to_le_bytes()[0]);
        digest.update(&part);
        client.write_all(&part).unwrap();
    }
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created"), "{answer}");

    let record = server.records().remove(0);
    assert!(record.body_complete);
    assert_eq!(record.body_bytes, BODY as u64);
    let sha256: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(record.body_sha256.as_deref(), Some(sha256.as_str()));
    assert!(peak() < 64 * MIB, "{} MiB", peak() / MIB);
}
