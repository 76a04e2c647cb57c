//! Mutants (V17): rules of the state function, the classifier, the claim and the settling are taken out
//! or turned, one at a time, and a test notices each. The tests that notice are those of `logic` and the
//! page of the classifier, run here in processes of their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "mutants/classifier.rs"]
mod classifier;
#[path = "logic/doubt.rs"]
mod doubt;
#[path = "logic/lapses.rs"]
mod lapses;
#[path = "logic/lifetime.rs"]
mod lifetime;
#[path = "logic/replay.rs"]
mod replay;
#[path = "mutants/seeded.rs"]
mod seeded;
#[path = "mutants/takeovers.rs"]
mod takeovers;
