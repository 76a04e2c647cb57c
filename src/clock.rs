//! Time, as the core sees it: the wall clock, which people and networks set, and the uptime,
//! which only runs forward but starts anew at each boot.
//!
//! Nothing else in the crate asks the system for the time, so that tests own it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch by the wall clock. May jump either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallMs(pub i64);

/// Milliseconds since the boot, time asleep included. Only comparable within one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UptimeMs(pub i64);

/// One reading of all clocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The wall clock.
    pub wall: WallMs,
    /// Time since the boot.
    pub uptime: UptimeMs,
    /// Which boot: equal texts mean that two uptimes can be compared. `None` where the system
    /// doesn't tell; then only the wall clock is believed across processes.
    pub boot: Option<String>,
}

/// Where the core reads the time.
pub trait Clock: Send + Sync + 'static {
    /// Reads all clocks at once.
    fn now(&self) -> Now;
}

impl WallMs {
    pub(crate) fn from_system_time(time: SystemTime) -> Self {
        Self(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => whole_millis(after),
            Err(before) => -whole_millis(before.duration()),
        })
    }

    pub(crate) fn to_system_time(self) -> SystemTime {
        let distance = Duration::from_millis(self.0.unsigned_abs());
        let time = if self.0 >= 0 {
            UNIX_EPOCH.checked_add(distance)
        } else {
            UNIX_EPOCH.checked_sub(distance)
        };
        time.unwrap_or(UNIX_EPOCH)
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_millis(duration)))
    }

    pub(crate) fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(whole_millis(duration)))
    }

    /// The time from `earlier` to here; zero if it is the other way round.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl UptimeMs {
    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(whole_millis(duration)))
    }

    /// The time from `earlier` to here; zero if it is the other way round.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A duration in whole milliseconds, rounded up, as the database keeps it.
pub(crate) fn whole_millis(duration: Duration) -> i64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// A duration as the database keeps it.
pub(crate) fn from_millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// The clocks of the operating system.
#[derive(Debug, Clone)]
pub struct SystemClock {
    boot: Option<String>,
}

impl SystemClock {
    /// Takes the boot's identity from the host where it knows one (Android: the boot count), else
    /// from the system.
    pub fn new(boot: Option<String>) -> Self {
        let from_system = || {
            let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        Self {
            boot: boot.or_else(from_system),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now {
            wall: WallMs::from_system_time(SystemTime::now()),
            uptime: uptime(),
            boot: self.boot.clone(),
        }
    }
}

/// The clock that goes on while the device sleeps. On Apple systems that is `CLOCK_MONOTONIC`.
fn uptime() -> UptimeMs {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    UptimeMs(
        time.tv_sec
            .saturating_mul(1_000)
            .saturating_add(time.tv_nsec / 1_000_000),
    )
}
