//! Pure decisions: what an answer means, how long to wait, when a key is too old. No I/O.

pub mod age;
pub mod answer;
pub mod backoff;
pub mod built_in;
pub mod classify;
pub mod judgement;
pub mod limits;
mod members;
pub mod probe;
pub mod profile;
mod rate_limit;
pub mod redirect;
pub mod retry_after;
pub mod rules;
pub mod split;
mod table;
pub(crate) mod validator;

#[cfg(test)]
mod age_tests;
#[cfg(test)]
mod any_answer_tests;
#[cfg(test)]
mod backoff_tests;
#[cfg(test)]
mod built_in_tests;
#[cfg(test)]
mod classify_rules_tests;
#[cfg(test)]
mod classify_tests;
#[cfg(test)]
mod credentials_tests;
#[cfg(test)]
mod expectation_tests;
#[cfg(test)]
mod fetching_tests;
#[cfg(test)]
mod frozen_error_tests;
#[cfg(test)]
mod judgement_tests;
#[cfg(test)]
mod members_tests;
#[cfg(test)]
mod profile_json_tests;
#[cfg(test)]
mod rate_limit_tests;
#[cfg(test)]
mod redirect_tests;
#[cfg(test)]
mod retry_after_tests;
#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod split_tests;
#[cfg(test)]
mod validator_tests;
