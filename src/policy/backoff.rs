//! How long to wait after a failure. The only place that uses the `backoff` crate, and only as a
//! calculator: its own clock and randomness are off.

use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff;

use crate::entropy::{Entropy, up_to};

use super::limits::Limits;

/// After this many doublings every backoff has reached its end.
const MOST_STEPS: u32 = 64;

/// The wait before the next attempt, after `failures` failures in a row (1 for the first).
/// Exponential growth without randomness.
pub fn exponential(failures: u32, limits: &Limits) -> Duration {
    let mut backoff = ExponentialBackoff {
        current_interval: limits.backoff_first,
        initial_interval: limits.backoff_first,
        randomization_factor: 0.0,
        multiplier: 2.0,
        max_interval: limits.backoff_most,
        max_elapsed_time: None,
        ..ExponentialBackoff::default()
    };
    let mut wait = limits.backoff_first;
    for _ in 0..failures.clamp(1, MOST_STEPS) {
        wait = backoff.next_backoff().unwrap_or(limits.backoff_most);
    }
    wait.min(limits.backoff_most)
}

/// The same with up to half of it added at random, so that devices that failed together don't
/// come back together. Never shorter than `floor`, and jittered upward from it.
pub fn with_jitter(wait: Duration, floor: Duration, entropy: &dyn Entropy) -> Duration {
    let base = wait.max(floor);
    let half = u64::try_from(base.as_millis() / 2).unwrap_or(u64::MAX);
    base.saturating_add(Duration::from_millis(up_to(entropy, half)))
}
