//! When the records of a refused batch go on in smaller ones.

use std::time::Duration;

use super::backoff::exponential;
use super::limits::Limits;
use crate::model::state::RejectReason;

/// What the halves of a batch are to be the half of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitBy {
    /// Its bytes: the server found it too large.
    Bytes,
    /// Its records: the server found something wrong with the content, of one of them maybe.
    Records,
}

/// Whether a refusal is about the size or the content of a body. Others would be the same for a half.
pub fn split_by(status: u16, reason: RejectReason) -> Option<SplitBy> {
    use RejectReason::{
        BodyMissing, Configuration, Dependency, GaveUp, Invalid, KeyReused, Refused, Split,
        Unauthorized,
    };
    match (status, reason) {
        (_, KeyReused | Unauthorized | GaveUp | BodyMissing | Dependency | Split) => None,
        (413, _) => Some(SplitBy::Bytes),
        // A 400 counts as a mistake in the app, which it is; one record may have made it.
        (400, Configuration | Refused) | (_, Invalid) => Some(SplitBy::Records),
        (_, Configuration | Refused) => None,
    }
}

/// How long the halves wait. A server that refuses everything is asked no more often than with the
/// backoff of one submission, at each depth.
pub fn split_wait(by: SplitBy, depth: u32, limits: &Limits) -> Duration {
    match by {
        SplitBy::Bytes => Duration::ZERO,
        SplitBy::Records => exponential(depth.saturating_add(1), limits),
    }
}

/// How many records go into the first half: at least one, and not all. Of fewer than two there is no
/// half.
pub fn first_half(lengths: &[usize], by: SplitBy) -> Option<usize> {
    let last = lengths.len().checked_sub(1).filter(|last| *last > 0)?;
    let half = match by {
        SplitBy::Records => lengths.len() / 2,
        SplitBy::Bytes => {
            let all: usize = lengths.iter().sum();
            let mut so_far = 0;
            // As long as it makes the larger half smaller.
            let takes = |length: &&usize| {
                let before = all - so_far;
                so_far += **length;
                so_far <= before
            };
            lengths.iter().take_while(takes).count()
        }
    };
    Some(half.clamp(1, last))
}
