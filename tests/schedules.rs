//! The group commit's threads, schedule by schedule: the real file, with locks whose every step is
//! chosen by a scheduler.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

#[path = "common/attack.rs"]
#[allow(dead_code, reason = "each test binary uses its part")]
mod attack;
#[path = "../src/store/group_commit.rs"]
mod group_commit;
#[path = "../src/weakness.rs"]
#[allow(dead_code, reason = "the rules of other files")]
mod weakness;

/// The locks that the group commit is given here.
mod sync {
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub use std::sync::PoisonError;
}

#[path = "schedules/crowds.rs"]
mod crowds;
#[path = "schedules/rig.rs"]
mod rig;
