//! Random misbehaviour that a seed makes repeatable.
//!
//! A fault depends on the seed, the key and how often this key arrived before, and on nothing
//! else. Two runs whose threads interleave differently therefore still give each key the same
//! faults in the same order.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::behaviour::Behaviour;

/// The share of writes that meet each fault. All shares default to 0; together they stay within 1.
///
/// As JSON every field may be left out: `{"commit_then_drop": 0.1, "late": 0.2, "late_max_ms": 50}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// The effect happens, then the connection closes without an answer
    /// ([`Behaviour::CommitThenDrop`]).
    pub commit_then_drop: f64,
    /// 503 with `Retry-After`, no effect ([`Behaviour::ErrorBefore`]).
    pub unavailable_503_retry_after: f64,
    /// The value of that `Retry-After`, in seconds. Default: 1.
    pub retry_after_seconds: u64,
    /// The effect happens, its answer comes late ([`Behaviour::AnswerLate`]).
    pub late: f64,
    /// The longest such delay, in milliseconds; delays are spread evenly below it. Default: 200.
    pub late_max_ms: u64,
    /// The effect happens, the answer is 500 ([`Behaviour::ErrorAfter`]).
    pub error_500_after_effect: f64,
    /// The effect happens, half the answer comes ([`Behaviour::AnswerHalf`]).
    pub half: f64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            commit_then_drop: 0.0,
            unavailable_503_retry_after: 0.0,
            retry_after_seconds: 1,
            late: 0.0,
            late_max_ms: 200,
            error_500_after_effect: 0.0,
            half: 0.0,
        }
    }
}

/// Why a set of [`Faults`] cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// A share is below 0, above 1 or not a number.
    #[error("the fault share `{0}` is not between 0 and 1")]
    Share(&'static str),
    /// The shares add up to more than every request.
    #[error("the fault shares add up to more than 1")]
    Sum,
}

impl Faults {
    /// Says whether each share, and their sum, lies between 0 and 1.
    ///
    /// # Errors
    ///
    /// Names the share that does not, or says that the sum does not.
    pub fn check(&self) -> Result<(), FaultsError> {
        let shares = [
            ("commit_then_drop", self.commit_then_drop),
            (
                "unavailable_503_retry_after",
                self.unavailable_503_retry_after,
            ),
            ("late", self.late),
            ("error_500_after_effect", self.error_500_after_effect),
            ("half", self.half),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(FaultsError::Share(name));
            }
        }
        // Decimal shares such as ten times 0.1 miss 1 by a rounding error.
        if shares.iter().map(|(_, share)| share).sum::<f64>() > 1.0 + 1e-9 {
            return Err(FaultsError::Sum);
        }
        Ok(())
    }

    /// The behaviour for arrival number `nth` (from 0) of `key`.
    pub(crate) fn draw(&self, seed: u64, key: &str, nth: u64) -> Behaviour {
        let dice = Dice::throw(seed, key, nth);
        let mut limit = 0.0;
        let mut falls_in = |share: f64| {
            limit += share;
            dice.choice < limit
        };
        if falls_in(self.commit_then_drop) {
            Behaviour::CommitThenDrop
        } else if falls_in(self.unavailable_503_retry_after) {
            Behaviour::unavailable(self.retry_after_seconds)
        } else if falls_in(self.late) {
            let longest = Duration::from_millis(self.late_max_ms);
            Behaviour::AnswerLate(longest.mul_f64(dice.amount))
        } else if falls_in(self.error_500_after_effect) {
            Behaviour::ErrorAfter { status: 500 }
        } else if falls_in(self.half) {
            Behaviour::AnswerHalf
        } else {
            Behaviour::Normal
        }
    }
}

/// Two numbers in `0.0..1.0` that are a pure function of their inputs.
struct Dice {
    choice: f64,
    amount: f64,
}

impl Dice {
    fn throw(seed: u64, key: &str, nth: u64) -> Self {
        // A hash instead of a running generator: no state, so no order of threads to depend on.
        let hash = Sha256::new()
            .chain_update(seed.to_le_bytes())
            .chain_update(nth.to_le_bytes())
            .chain_update(key.as_bytes())
            .finalize();
        let mut halves = hash.chunks_exact(8).map(|chunk| {
            let number = chunk
                .iter()
                .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
            // The upper 53 bits are what an f64 can hold exactly.
            (number >> 11) as f64 / (1_u64 << 53) as f64
        });
        Self {
            choice: halves.next().unwrap_or_default(),
            amount: halves.next().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
