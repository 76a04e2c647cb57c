//! The API against a small reference model: random calls on the real core in a simulated world, with each
//! answer compared.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "machine/model.rs"]
mod model;
#[path = "machine/model_moves.rs"]
mod model_moves;
#[path = "machine/names.rs"]
mod names;
#[path = "machine/seen.rs"]
mod seen;
#[path = "machine/steps.rs"]
mod steps;
#[path = "machine/subject.rs"]
mod subject;
#[path = "machine/terms.rs"]
mod terms;
#[path = "machine/walks.rs"]
mod walks;
