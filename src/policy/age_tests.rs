use std::time::Duration;

use super::age::{Began, Ended, Reading, age, key_lifetime, lifetime_over, passed};
use super::profile::ServerProfile;
use crate::clock::{UptimeMs, WallMs};
use crate::model::submission::Effect;

const HOUR: i64 = 3_600_000;

fn began() -> Began {
    Began {
        boot: 1,
        uptime: UptimeMs(10 * HOUR),
        device: WallMs(1_000 * HOUR),
        wall: WallMs(1_000 * HOUR),
        at_least: Duration::ZERO,
    }
}

fn reading(boot: i64, uptime: i64, wall: i64) -> Reading {
    Reading {
        boot,
        uptime: UptimeMs(uptime),
        device: WallMs(wall),
        wall: WallMs(wall),
        behind: false,
    }
}

fn hours(hours: i64) -> Duration {
    Duration::from_secs(3_600 * u64::try_from(hours).unwrap())
}

#[test]
fn within_a_boot_the_uptime_decides_whatever_the_wall_clock_says() {
    for wall in [-5_000 * HOUR, 0, 900 * HOUR, 90_000 * HOUR] {
        let now = reading(1, 13 * HOUR, wall);
        assert_eq!(age(&began(), &now), Some(hours(3)));
    }
}

#[test]
fn across_boots_the_wall_clock_decides() {
    assert_eq!(age(&began(), &reading(2, 0, 1_025 * HOUR)), Some(hours(25)));
}

#[test]
fn a_wall_clock_that_was_set_back_makes_the_age_unknown_and_the_lifetime_over() {
    let before_it_began = reading(2, HOUR, 999 * HOUR);
    let behind = Reading {
        behind: true,
        ..reading(2, HOUR, 1_001 * HOUR)
    };
    for now in [before_it_began, behind] {
        assert_eq!(age(&began(), &now), None);
        assert!(lifetime_over(Some(&began()), &now, Some(hours(23))));
    }
}

#[test]
fn an_age_is_never_less_than_one_that_was_recorded() {
    let older = Began {
        at_least: hours(30),
        ..began()
    };
    assert_eq!(age(&older, &reading(1, 11 * HOUR, 0)), Some(hours(30)));
    assert_eq!(age(&older, &reading(2, 0, 1_001 * HOUR)), Some(hours(30)));
}

#[test]
fn the_lifetime_ends_a_margin_before_the_retention() {
    let horizon = Duration::from_secs(600);
    let profile = ServerProfile::standard();
    let lifetime = key_lifetime(Effect::Keyed, &profile, horizon);
    assert_eq!(lifetime, Some(hours(24) - horizon));
    assert!(!lifetime_over(
        Some(&began()),
        &reading(1, 33 * HOUR, 0),
        lifetime
    ));
    assert!(lifetime_over(
        Some(&began()),
        &reading(1, 34 * HOUR, 0),
        lifetime
    ));
    assert!(!lifetime_over(None, &reading(1, 99 * HOUR, 0), lifetime));
}

#[test]
fn overwriting_keys_never_get_too_old_and_unkeyed_ones_always_are() {
    let profile = ServerProfile::standard();
    let horizon = Duration::from_secs(600);
    assert_eq!(key_lifetime(Effect::Overwrite, &profile, horizon), None);
    assert_eq!(key_lifetime(Effect::Safe, &profile, horizon), None);
    assert_eq!(
        key_lifetime(Effect::Unkeyed, &profile, horizon),
        Some(Duration::ZERO)
    );
    let aborting = ServerProfile {
        aborts_handlers: true,
        ..profile
    };
    assert_eq!(
        key_lifetime(Effect::Keyed, &aborting, horizon),
        Some(Duration::ZERO)
    );
    let now = reading(1, 10 * HOUR, 0);
    assert!(lifetime_over(Some(&began()), &now, Some(Duration::ZERO)));
}

#[test]
fn a_device_that_is_behind_its_server_makes_no_key_younger() {
    // Two hours behind; the server's clock was known then and isn't now.
    let then = Began {
        device: WallMs(998 * HOUR),
        ..began()
    };
    assert_eq!(age(&then, &reading(2, 0, 1_022 * HOUR)), Some(hours(24)));
}

fn ended() -> Ended {
    Ended {
        boot: Some(1),
        uptime: UptimeMs(10 * HOUR),
        device: WallMs(1_000 * HOUR),
        wall: WallMs(1_000 * HOUR),
    }
}

/// An age must not be too small, what has passed not too great.
#[test]
fn what_has_passed_is_never_more_than_a_clock_that_can_be_trusted_says() {
    // In its boot the uptime, whatever the wall clock says.
    for wall in [0, 90_000 * HOUR] {
        let now = reading(1, 13 * HOUR, wall);
        assert_eq!(passed(&ended(), &now), Some(hours(3)));
    }
    // In another one, the clock that says less.
    let now = Reading {
        wall: WallMs(1_002 * HOUR),
        ..reading(2, HOUR, 1_005 * HOUR)
    };
    assert_eq!(passed(&ended(), &now), Some(hours(2)));
    let now = Reading {
        wall: WallMs(1_009 * HOUR),
        ..now
    };
    assert_eq!(passed(&ended(), &now), Some(hours(5)));
    // Of an end without a boot, too.
    let unnamed = Ended {
        boot: None,
        ..ended()
    };
    assert_eq!(
        passed(&unnamed, &reading(1, 99 * HOUR, 1_001 * HOUR)),
        Some(hours(1))
    );
    // A clock that was set back knows nothing.
    assert_eq!(passed(&ended(), &reading(2, HOUR, 999 * HOUR)), None);
    let behind = Reading {
        behind: true,
        ..reading(2, HOUR, 1_005 * HOUR)
    };
    assert_eq!(passed(&ended(), &behind), None);
}
