//! Rules that a test may take out, to see that the attacks on the promises notice.
//!
//! A test runs an attack again in a process of its own, with one rule named in the environment
//! (`SUBMIT_ONCE_WEAKNESS`), and fails unless the attack fails. Only builds with debug assertions
//! look there: in a release build every rule holds, whatever the environment says, and the compiler
//! removes the question.

/// A rule that can be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weakness {
    /// Commits are not synced (`synchronous` NORMAL).
    SyncNormal,
    /// An opening makes no synced write of its own.
    NoBootWrite,
    /// An opening leaves the log as it is.
    NoCheckpointAtOpen,
    /// A lease is over at once.
    LeaseZero,
    /// A final state may change.
    NoTerminalGuard,
    /// The last connection to close deletes the log.
    NoPersistWal,
    /// The next attempt doesn't wait for what the server may still be doing.
    NoQuietTime,
    /// An answer that proves its own attempt to be without effect says so of the earlier ones, too.
    DoubtClearedByAny,
}

impl Weakness {
    /// The name in the environment.
    #[cfg(debug_assertions)]
    const fn name(self) -> &'static str {
        match self {
            Self::SyncNormal => "sync-normal",
            Self::NoBootWrite => "no-boot-write",
            Self::NoCheckpointAtOpen => "no-checkpoint-at-open",
            Self::LeaseZero => "lease-zero",
            Self::NoTerminalGuard => "no-terminal-guard",
            Self::NoPersistWal => "no-persist-wal",
            Self::NoQuietTime => "no-quiet-time",
            Self::DoubtClearedByAny => "doubt-cleared-by-any",
        }
    }
}

/// True if a test has taken this rule out.
#[cfg(debug_assertions)]
pub(crate) fn is_out(weakness: Weakness) -> bool {
    static NAMED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("SUBMIT_ONCE_WEAKNESS").ok());
    NAMED.as_deref() == Some(weakness.name())
}

/// Every rule holds.
#[cfg(not(debug_assertions))]
pub(crate) const fn is_out(_: Weakness) -> bool {
    false
}

#[cfg(not(debug_assertions))]
const _: () = assert!(
    !is_out(Weakness::SyncNormal),
    "release builds are never weak"
);
