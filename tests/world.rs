//! The world as it is: real sockets, real files, real processes that are killed and frozen. What
//! the server counts decides, never what the client believes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

use common::agents;

#[path = "world/accepting.rs"]
mod accepting;
#[path = "world/agent_chain.rs"]
mod agent_chain;
#[path = "world/big_upload.rs"]
mod big_upload;
#[path = "world/bodies.rs"]
mod bodies;
#[path = "world/by_profile.rs"]
mod by_profile;
#[path = "world/canaries.rs"]
mod canaries;
#[path = "world/certificates.rs"]
mod certificates;
#[path = "world/classify.rs"]
mod classify;
#[path = "world/crowds.rs"]
mod crowds;
#[path = "world/demo.rs"]
mod demo;
#[path = "world/encodings.rs"]
mod encodings;
#[path = "world/families.rs"]
mod families;
#[path = "world/faults.rs"]
mod faults;
#[path = "world/faults_in_doubt.rs"]
mod faults_in_doubt;
#[path = "world/fetched.rs"]
mod fetched;
#[path = "world/field_day.rs"]
mod field_day;
#[path = "world/files.rs"]
mod files;
#[path = "world/idle.rs"]
mod idle;
#[path = "world/killed.rs"]
mod killed;
#[path = "world/log_day.rs"]
mod log_day;
#[path = "world/old_files.rs"]
mod old_files;
#[path = "world/portals.rs"]
mod portals;
#[path = "world/probes.rs"]
mod probes;
#[path = "world/processes.rs"]
mod processes;
#[path = "world/pushes.rs"]
mod pushes;
#[path = "world/recipe.rs"]
mod recipe;
#[path = "world/scenario/mod.rs"]
mod scenario;
#[path = "world/scenarios.rs"]
mod scenarios;
#[path = "world/sockets.rs"]
mod sockets;
#[path = "world/stage.rs"]
mod stage;
#[path = "world/statuses.rs"]
mod statuses;
#[path = "world/tokens.rs"]
mod tokens;
#[path = "world/wire.rs"]
mod wire;
