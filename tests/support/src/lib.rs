//! An HTTP server with idempotency keys that counts what really happened, and misbehaves on
//! request.
//!
//! It is the judge in tests of clients that retry. A client may believe what it likes about its
//! own success; this server knows how many effects each key had, how many keys each path saw, and
//! how many requests with one key were in flight at once.
//!
//! # The story
//!
//! *All is well.* `POST /orders` with the header `Idempotency-Key: k-1` arrives. The server makes
//! an effect, stores its answer under the key in the same transaction, and answers 201. The same
//! request again gets the same bytes again, with `Idempotency-Replayed: true`, and no second
//! effect.
//!
//! *Something fails.* A script or a seed picks a [`Behaviour`]: the effect happens but the
//! connection closes, half the answer comes, an error covers a success, the handler stands still.
//! The client has to cope; the server records what it did and what the client got to see.
//!
//! *Somebody dies.* A handler runs to its end when its client is gone. Its flight lasts until
//! then, so a client that is killed and comes back too early is found out. If the server dies,
//! keys and effects are still together in its database, and it goes on from there.
//!
//! # In a test
//!
//! ```
//! use std::time::Duration;
//! use submit_once_reference_server::{Behaviour, Matcher, Options, ReferenceServer};
//!
//! let server = ReferenceServer::start(Options::default())?;
//! server.script(Matcher::path("/orders"), vec![Behaviour::CommitThenDrop]);
//!
//! // … let your client send an order to `server.url()` …
//! # let timeout = Duration::ZERO;
//! # let _ =
//! server.wait_for(|records| records.iter().filter(|r| r.answered_at_ns.is_some()).count() == 1,
//!                 timeout);
//!
//! let summary = server.summary()?;
//! assert_eq!(summary.duplicate_effects, 0);
//! assert!(summary.max_in_flight_per_key <= 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tests in other languages start the program (`cargo run --example reference-server`) and use the
//! same controls over HTTP, under `/_control/`.

mod answer;
mod behaviour;
mod certificates;
pub mod cli;
mod clock;
mod control;
mod database;
mod door;
mod faults;
mod flight;
mod forms;
mod gzip;
mod handler;
pub mod history;
mod hostile;
mod intake;
mod judge;
mod key_place;
mod ledger;
mod options;
mod playbook;
mod raw;
mod records;
mod server;
mod service;
mod socket;
mod store;
mod summary;
mod takeover;
mod tls;
mod transport;

pub use behaviour::{Behaviour, HANG, Matcher};
pub use certificates::{CertificateError, Identity, TestCa};
pub use faults::{Faults, FaultsError};
pub use gzip::Gzip;
pub use judge::JudgeError;
pub use key_place::KeyPlace;
pub use options::{Options, StartError};
pub use raw::{End, Piece, RawAnswer};
pub use records::{EffectBody, EffectRecord, RequestRecord};
pub use server::ReferenceServer;
pub use summary::Summary;
pub use tls::{TlsOptions, TlsSeen};
