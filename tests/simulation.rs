//! The real core in a deterministic simulation: an app, its device and its server act at random, by a
//! seed, and everything that happens is one trace. The same seed gives the same trace, to the byte.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "simulation/app.rs"]
mod app;
#[path = "simulation/clocks.rs"]
mod clocks;
#[path = "simulation/coverage.rs"]
mod coverage;
#[path = "simulation/decide.rs"]
mod decide;
#[path = "simulation/device.rs"]
mod device;
#[path = "simulation/dice.rs"]
mod dice;
#[path = "simulation/honest.rs"]
mod honest;
#[path = "simulation/kinds.rs"]
mod kinds;
#[path = "simulation/log.rs"]
mod log;
#[path = "simulation/run.rs"]
mod run;
#[path = "simulation/seeds.rs"]
mod seeds;
#[path = "simulation/server.rs"]
mod server;
#[path = "simulation/wire.rs"]
mod wire;
