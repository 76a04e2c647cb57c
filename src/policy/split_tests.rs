use std::time::Duration;

use super::limits::Limits;
use super::split::{SplitBy, first_half, split_by, split_wait};
use crate::model::state::RejectReason;

/// F62.
#[test]
fn a_refusal_of_size_or_content_splits_and_no_other_does() {
    let reason = |status| match status {
        400 | 405 | 411 | 414..=417 | 426 | 428 | 431 => RejectReason::Configuration,
        401 => RejectReason::Unauthorized,
        422 => RejectReason::Invalid,
        _ => RejectReason::Refused,
    };
    for status in 300..600 {
        let by = match status {
            413 => Some(SplitBy::Bytes),
            400 | 422 => Some(SplitBy::Records),
            _ => None,
        };
        assert_eq!(split_by(status, reason(status)), by, "{status}");
    }
    // By a rule of the server's profile.
    assert_eq!(split_by(460, RejectReason::Invalid), Some(SplitBy::Records));
    for reason in [RejectReason::KeyReused, RejectReason::Unauthorized] {
        assert_eq!(split_by(400, reason), None);
        assert_eq!(split_by(422, reason), None);
    }
}

#[test]
fn each_half_has_at_least_one_record() {
    use SplitBy::{Bytes, Records};
    for (lengths, by, half) in [
        (vec![], Bytes, None),
        (vec![9], Bytes, None),
        (vec![9], Records, None),
        (vec![1, 1], Records, Some(1)),
        (vec![1, 1, 1, 1, 1], Records, Some(2)),
        (vec![1, 1], Bytes, Some(1)),
        (vec![100, 1, 1, 1], Bytes, Some(1)),
        (vec![1, 1, 1, 100], Bytes, Some(3)),
        (vec![10, 10, 10, 10], Bytes, Some(2)),
        (vec![4, 10, 4], Bytes, Some(1)),
    ] {
        assert_eq!(first_half(&lengths, by), half, "{lengths:?} {by:?}");
    }
}

#[test]
fn halves_of_bad_content_wait_longer_each_time() {
    let limits = Limits::default();
    let wait = |depth| split_wait(SplitBy::Records, depth, &limits);
    assert_eq!(wait(0), Duration::from_secs(1));
    assert_eq!(wait(3), Duration::from_secs(8));
    assert_eq!(wait(60), limits.backoff_most);
    assert_eq!(split_wait(SplitBy::Bytes, 9, &limits), Duration::ZERO);
}
