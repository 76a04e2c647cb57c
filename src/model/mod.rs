//! Pure values: what a submission is, what became of it, and the rules that change it. No I/O.

pub mod batch;
pub mod body;
pub(crate) mod envelope;
pub mod fingerprint;
pub mod headers;
pub mod id;
pub mod inbox;
pub(crate) mod json_text;
pub mod key_place;
pub mod links;
pub mod outcome;
pub(crate) mod parts;
pub(crate) mod record;
pub mod request;
pub mod state;
pub mod submission;
#[deny(
    clippy::wildcard_enum_match_arm,
    reason = "a new state or event must be decided here before it compiles"
)]
pub mod transition;
#[cfg(any(test, debug_assertions))]
pub(crate) mod transition_table;

#[cfg(test)]
mod counterexample_tests;
#[cfg(test)]
mod fingerprint_tests;
#[cfg(test)]
mod frozen_tests;
#[cfg(test)]
mod id_tests;
#[cfg(test)]
mod invariant_tests;
#[cfg(test)]
mod key_place_tests;
#[cfg(test)]
mod parts_tests;
#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod transition_space;
#[cfg(test)]
mod transition_tests;
#[cfg(test)]
mod url_tests;
