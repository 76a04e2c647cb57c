//! Damage from outside (V12): what users, other programs, backups and media do to a database's files.
//! Whatever was done, nothing that leaves is anything but what was accepted, under its own key.

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

#[path = "damage/base.rs"]
mod base;
#[path = "damage/deliver.rs"]
mod deliver;
#[path = "damage/flips.rs"]
mod flips;
#[path = "damage/foreign.rs"]
mod foreign;
#[path = "damage/in_the_way.rs"]
mod in_the_way;
#[path = "damage/judge.rs"]
mod judge;
#[path = "damage/missing.rs"]
mod missing;
#[path = "damage/mounts.rs"]
mod mounts;
#[path = "damage/moved.rs"]
mod moved;
#[path = "damage/scenarios.rs"]
mod scenarios;
