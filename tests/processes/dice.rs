//! What a seed decides.

use std::time::Duration;

use crate::common::sim::SimEntropy;

pub struct Dice(SimEntropy);

impl Dice {
    /// Those of one part of an attack.
    pub fn of(seed: u64, part: u64) -> Self {
        let root = SimEntropy::seeded(seed).next();
        Self(SimEntropy::seeded(
            root ^ part.wrapping_mul(0x2545_f491_4f6c_dd1d),
        ))
    }

    pub fn below(&self, end: u64) -> u64 {
        self.0.next() % end
    }

    /// True once in so many times.
    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        let length = u64::try_from(from.len()).unwrap();
        (length > 0).then(|| &from[usize::try_from(self.below(length)).unwrap()])
    }

    /// Shorter than this.
    pub fn moment(&self, most: Duration) -> Duration {
        let micros = u64::try_from(most.as_micros()).unwrap();
        Duration::from_micros(self.below(micros.max(1)))
    }
}
