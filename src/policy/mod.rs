//! Pure decisions: what an answer means, how long to wait, when a key is too old. No I/O.

pub mod age;
pub mod answer;
pub mod backoff;
pub mod built_in;
pub mod classify;
pub mod judgement;
pub mod limits;
mod members;
pub mod profile;
mod rate_limit;
pub mod redirect;
pub mod retry_after;
pub mod rules;
mod table;

#[cfg(test)]
mod age_tests;
#[cfg(test)]
mod backoff_tests;
#[cfg(test)]
mod classify_rules_tests;
#[cfg(test)]
mod classify_tests;
#[cfg(test)]
mod judgement_tests;
#[cfg(test)]
mod retry_after_tests;
