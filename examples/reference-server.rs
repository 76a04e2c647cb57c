//! The reference server as a program, for tests in other languages and for a look with `curl`.
//!
//! ```text
//! cargo run --example reference-server -- --listen 127.0.0.1:8080 --database judge.sqlite
//! ```
//!
//! See `docs/reference-server.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    submit_once_reference_server::cli::run(std::env::args_os().skip(1))
}
