//! Malformed input of every kind: nothing panics, and what is read means what it says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "fuzz/answers.rs"]
mod answers;
#[path = "fuzz/databases.rs"]
mod databases;
#[path = "fuzz/engine.rs"]
mod engine;
#[path = "fuzz/headers.rs"]
mod headers;
#[path = "fuzz/mutator.rs"]
mod mutator;
#[path = "fuzz/strings.rs"]
mod strings;
#[path = "fuzz/urls.rs"]
mod urls;
#[path = "fuzz/waits.rs"]
mod waits;
