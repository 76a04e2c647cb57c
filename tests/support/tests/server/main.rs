//! The judge is judged: each promise of the reference server, over real sockets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod behaviours;
mod bodies;
mod client;
mod connections;
mod control;
mod credentials;
mod dates;
mod faults;
mod flights;
mod gzip;
mod holds;
mod http2;
mod key_places;
mod keys;
mod lifecycle;
mod raw;
mod tls;

use submit_once_reference_server::{Options, ReferenceServer};

use client::Client;

fn server() -> ReferenceServer {
    ReferenceServer::start(Options::default()).unwrap()
}

fn client(server: &ReferenceServer) -> Client {
    Client::connect(server.addr())
}

/// A request of its own connection.
fn post(server: &ReferenceServer, path: &str, key: &str, body: &str) -> Option<client::Answer> {
    client(server).post(path, key, body)
}
