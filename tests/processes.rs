//! Real processes that are killed and frozen while they accept and drain, thousands of times. What the
//! server and this process have seen makes one history for each database, and one checker judges it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod common;

#[path = "processes/crowd.rs"]
mod crowd;
#[path = "processes/diary.rs"]
mod diary;
#[path = "processes/dice.rs"]
mod dice;
#[path = "processes/ends.rs"]
mod ends;
#[path = "processes/killed.rs"]
mod killed;
#[path = "processes/quiet.rs"]
mod quiet;
#[path = "processes/round.rs"]
mod round;
#[path = "processes/rounds.rs"]
mod rounds;
#[path = "processes/session.rs"]
mod session;
#[path = "processes/story.rs"]
mod story;
