//! Randomness, passed in so that a simulation can own it.

/// Where the core takes random bytes from: for IDs and for jitter, never for secrets.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            // No randomness is left to take: a fresh UUID's bytes would need it too. The hasher's
            // keys were drawn when the process started, and with the time they still tell two
            // devices apart.
            use std::hash::{BuildHasher, RandomState};
            for (index, chunk) in bytes.chunks_mut(8).enumerate() {
                let word = RandomState::new()
                    .hash_one((index, std::time::SystemTime::now()))
                    .to_le_bytes();
                chunk.copy_from_slice(word.get(..chunk.len()).unwrap_or(&[]));
            }
        }
    }
}

/// A number in `0 ..= most`, for jitter.
pub(crate) fn up_to(entropy: &dyn Entropy, most: u64) -> u64 {
    let mut bytes = [0; 8];
    entropy.fill(&mut bytes);
    let random = u128::from(u64::from_le_bytes(bytes));
    // Scaling instead of a remainder: without bias that matters, and without a division by zero.
    u64::try_from((random * (u128::from(most) + 1)) >> 64).unwrap_or(most)
}
