//! What Kotlin and Swift get, and what a phone gets with it: the bindings are generated from the
//! library as it ships, and hold everything that the sources export.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that can't go on stops, and says why"
)]

#[path = "bindings/exports.rs"]
mod exports;
#[path = "bindings/generated.rs"]
mod generated;
#[path = "bindings/settings.rs"]
mod settings;
#[path = "bindings/tree.rs"]
mod tree;
#[path = "bindings/workshop.rs"]
mod workshop;
