//! A good archive is accepted; one that is broken in one way is refused, and told which.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that can't go on stops, and says why"
)]

#[path = "aar/classes.rs"]
mod classes;
#[path = "aar/command.rs"]
mod command;
#[path = "aar/entries.rs"]
mod entries;
#[path = "aar/fixture.rs"]
mod fixture;
#[path = "aar/library.rs"]
mod library;
#[path = "aar/linker.rs"]
mod linker;
#[path = "aar/manifest.rs"]
mod manifest;
#[path = "aar/rules.rs"]
mod rules;
#[cfg(unix)]
#[path = "aar/script.rs"]
mod script;
