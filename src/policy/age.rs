//! How old a key is, by clocks that may lie.
//!
//! Within a boot the uptime decides. Across boots only the wall clock is left; it may have been
//! set, so an age is never less than one that was recorded before, and a wall clock that is behind
//! the highest ever seen makes the age unknown, which counts as too old.

use std::time::Duration;

use crate::clock::{UptimeMs, WallMs};
use crate::model::submission::Effect;
use crate::weakness::{self, Weakness};

use super::profile::ServerProfile;

/// When an attempt began, as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    /// In which boot, by the database's number for it.
    pub boot: i64,
    /// The uptime then.
    pub uptime: UptimeMs,
    /// The device's wall clock then.
    pub device: WallMs,
    /// The best known wall time then.
    pub wall: WallMs,
    /// The greatest age that was recorded since.
    pub at_least: Duration,
}

/// The clocks now, as the database relates them to what it has seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// This boot.
    pub boot: i64,
    /// The uptime.
    pub uptime: UptimeMs,
    /// The device's wall clock.
    pub device: WallMs,
    /// The best known wall time: the server's last `Date` carried forward by the uptime where
    /// there is one from this boot, else the wall clock.
    pub wall: WallMs,
    /// The wall clock is behind the highest ever stored, and no server has said better.
    pub behind: bool,
}

/// The age of an attempt, or `None` if it can't be known.
pub fn age(began: &Began, now: &Reading) -> Option<Duration> {
    if began.boot == now.boot {
        return Some(now.uptime.since(began.uptime).max(began.at_least));
    }
    // Each clock against itself: a device that is hours behind its server must not make a key
    // younger by being asked at one end only.
    if now.behind || now.device < began.device {
        return None;
    }
    let by_device = now.device.since(began.device);
    let by_best = now.wall.since(began.wall);
    Some(by_device.max(by_best).max(began.at_least))
}

/// How long a key may be re-sent while in doubt, counted from the earliest attempt in doubt.
/// `None`: for ever.
pub fn key_lifetime(
    effect: Effect,
    profile: &ServerProfile,
    horizon: Duration,
) -> Option<Duration> {
    match effect {
        Effect::Safe | Effect::Overwrite => None,
        Effect::Unkeyed => Some(Duration::ZERO),
        Effect::Keyed if profile.aborts_handlers => Some(Duration::ZERO),
        Effect::Keyed => {
            let margin = horizon.max(LEAST_MARGIN);
            Some(profile.retention?.saturating_sub(margin))
        }
    }
}

/// The least margin before the end of a server's retention: a request that is under way then must
/// still arrive in time, and clocks differ.
const LEAST_MARGIN: Duration = Duration::from_secs(10 * 60);

/// True if a submission whose earliest attempt in doubt began then must not be sent again blindly.
pub fn lifetime_over(
    earliest_in_doubt: Option<&Began>,
    now: &Reading,
    lifetime: Option<Duration>,
) -> bool {
    match (earliest_in_doubt, lifetime) {
        (None, _) | (_, None) => false,
        (Some(began), Some(lifetime)) => match age(began, now) {
            Some(age) => age >= lifetime,
            None => !weakness::is_out(Weakness::UnknownAgeIsYoung),
        },
    }
}

/// When an attempt ended, as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// In which boot; `None` if only the wall clock was recorded.
    pub boot: Option<i64>,
    /// The uptime then.
    pub uptime: UptimeMs,
    /// The device's wall clock then.
    pub device: WallMs,
    /// The best known wall time then.
    pub wall: WallMs,
}

/// How long ago that was at least, or `None` if it can't be known. Where an age must not be too small,
/// this must not be too great: of two clocks the one that says less counts.
pub fn passed(ended: &Ended, now: &Reading) -> Option<Duration> {
    if ended.boot == Some(now.boot) {
        return Some(now.uptime.since(ended.uptime));
    }
    if now.behind || now.device < ended.device {
        return None;
    }
    let by_device = now.device.since(ended.device);
    let by_best = now.wall.since(ended.wall);
    Some(by_device.min(by_best))
}
