//! Attacks on the disk: failing calls, cut power, kills, lost pages, interrupted upgrades. The real
//! core, in a simulated world, on real files under a VFS of the test's own.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "disk/app.rs"]
mod app;
#[path = "disk/calls.rs"]
mod calls;
#[path = "disk/cuts.rs"]
mod cuts;
#[path = "disk/ending.rs"]
mod ending;
#[path = "disk/found.rs"]
mod found;
#[path = "disk/kills.rs"]
mod kills;
#[path = "disk/life.rs"]
mod life;
#[path = "disk/medium.rs"]
mod medium;
#[path = "disk/server.rs"]
mod server;
#[path = "disk/stages.rs"]
mod stages;
#[path = "disk/syncs.rs"]
mod syncs;
#[path = "disk/tape.rs"]
mod tape;
#[path = "disk/upgrades.rs"]
mod upgrades;
#[path = "disk/workers.rs"]
mod workers;
