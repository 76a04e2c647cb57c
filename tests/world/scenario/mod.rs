//! The player of the scenarios in `tests/conformance`: its README tells the format, which other
//! languages play as well. Whatever it doesn't know is a failure, so that nothing is skipped.

pub mod catalogue;
mod copying;
mod format;
mod forms;
mod inbox;
mod judge;
mod matching;
mod notation;
mod outboxes;
mod player;
mod read;
mod records;
mod strictness;
mod submitting;

pub use format::kinds;
pub use player::play;
