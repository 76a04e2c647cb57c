//! A hostile network (V14): servers that can't be trusted, answers that no server should send, and
//! secrets that must not be found anywhere but where they belong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that panics has failed, and says where"
)]

mod common;

use common::agents;

#[path = "hostile/answers.rs"]
mod answers;
#[path = "hostile/case.rs"]
mod case;
#[path = "hostile/ear.rs"]
mod ear;
#[path = "hostile/elsewhere.rs"]
mod elsewhere;
#[path = "hostile/handshakes.rs"]
mod handshakes;
#[path = "hostile/secrets.rs"]
mod secrets;
#[path = "hostile/sockets.rs"]
mod sockets;
#[path = "world/stage.rs"]
#[allow(dead_code, reason = "shared with another binary")]
mod stage;
#[path = "hostile/table.rs"]
mod table;
