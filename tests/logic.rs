//! The rules, on the real core in a simulated world: time, randomness, network and executor are
//! fake, the database files are real.

mod common;

#[path = "logic/smoke.rs"]
mod smoke;
