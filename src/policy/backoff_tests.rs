use std::time::Duration;

use super::backoff::{exponential, with_jitter};
use super::limits::Limits;
use crate::entropy::Entropy;

struct Fixed(u8);

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

/// F56.
#[test]
fn backoff_doubles_from_its_first_wait_and_stops_at_its_longest() {
    let limits = Limits::default();
    let waits: Vec<u64> = (1..=12)
        .map(|failures| exponential(failures, &limits).as_secs())
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    assert_eq!(exponential(u32::MAX, &limits), limits.backoff_most);
    assert_eq!(exponential(0, &limits), limits.backoff_first);
}

#[test]
fn jitter_adds_up_to_half_and_never_goes_below_the_floor() {
    let wait = Duration::from_secs(10);
    let none = Duration::ZERO;
    assert_eq!(with_jitter(wait, none, &Fixed(0)), wait);
    assert_eq!(
        with_jitter(wait, none, &Fixed(0xff)),
        Duration::from_secs(15)
    );
    assert_eq!(
        with_jitter(wait, Duration::from_secs(60), &Fixed(0)),
        Duration::from_secs(60)
    );
}
