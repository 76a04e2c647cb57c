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
    /// An owner counts as dead though its lock is held.
    HeldLockIsDead,
    /// A final state may change.
    NoTerminalGuard,
    /// The last connection to close deletes the log.
    NoPersistWal,
    /// Group commit: a caller isn't woken for its turn.
    NoWakeUp,
    /// Group commit: a leader leaves those that came meanwhile without one.
    NoHandOver,
    /// Group commit: the last leader leaves the lead taken.
    LeadNeverEnds,
    /// The row checksum isn't compared before a send.
    UncheckedRows,
    /// A redirect is followed to any origin.
    RedirectsAnywhere,
    /// A cancel looks at the open attempt alone.
    CancelForgetsDoubt,
    /// A refusal says something of earlier attempts, too.
    RefusalForgetsDoubt,
    /// An attempt whose lease was lost had no effect.
    LostLeaseProves,
    /// An age that can't be known is young.
    UnknownAgeIsYoung,
    /// A stored error is asked for again.
    StoredErrorIsRetried,
    /// A key is as good as new for ever.
    NoKeyLifetime,
    /// A consent is good for every claim after it.
    ConsentStays,
    /// Whoever answers ends the attempt that is on the wire.
    NoFence,
    /// The result isn't kept with the final state.
    ResultIsDropped,
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
            Self::HeldLockIsDead => "held-lock-is-dead",
            Self::NoTerminalGuard => "no-terminal-guard",
            Self::NoPersistWal => "no-persist-wal",
            Self::NoWakeUp => "no-wake-up",
            Self::NoHandOver => "no-hand-over",
            Self::LeadNeverEnds => "lead-never-ends",
            Self::UncheckedRows => "unchecked-rows",
            Self::RedirectsAnywhere => "redirects-anywhere",
            Self::CancelForgetsDoubt => "cancel-forgets-doubt",
            Self::RefusalForgetsDoubt => "refusal-forgets-doubt",
            Self::LostLeaseProves => "lost-lease-proves",
            Self::UnknownAgeIsYoung => "unknown-age-is-young",
            Self::StoredErrorIsRetried => "stored-error-is-retried",
            Self::NoKeyLifetime => "no-key-lifetime",
            Self::ConsentStays => "consent-stays",
            Self::NoFence => "no-fence",
            Self::ResultIsDropped => "result-is-dropped",
            Self::NoQuietTime => "no-quiet-time",
            Self::DoubtClearedByAny => "doubt-cleared-by-any",
        }
    }
}

/// What a test has named in the environment.
#[cfg(debug_assertions)]
static NAMED: std::sync::LazyLock<Option<String>> =
    std::sync::LazyLock::new(|| std::env::var("SUBMIT_ONCE_WEAKNESS").ok());

/// True if a test has taken this rule out.
#[cfg(debug_assertions)]
pub(crate) fn is_out(weakness: Weakness) -> bool {
    NAMED.as_deref() == Some(weakness.name())
}

/// True if a test has turned what the classifier says of this status (`turned-429`) or fault
/// (`turned-Lost`).
#[cfg(debug_assertions)]
pub(crate) fn is_turned(what: &dyn std::fmt::Debug) -> bool {
    let named = NAMED
        .as_deref()
        .and_then(|name| name.strip_prefix("turned-"));
    named.is_some_and(|named| named == format!("{what:?}"))
}

/// Every rule holds.
#[cfg(not(debug_assertions))]
pub(crate) const fn is_turned(_: &dyn std::fmt::Debug) -> bool {
    false
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
