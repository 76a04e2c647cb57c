//! Rules that can be taken out, to see what each is for.

/// A rule of the design. With one taken out the model behaves as an earlier wording did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// An answer "not applied" closes its own attempt only.
    DoubtPerAttempt,
    /// C1. A cancel in flight ends as cancelled only if no earlier attempt is in doubt.
    CancelAsksEveryAttempt,
    /// C2. A cancel in flight outlives the loss of the lease.
    CancelOutlivesLease,
    /// C3. A cancel in flight beats a refusal in doubt.
    CancelBeatsRefusal,
    /// C4. What is held in doubt takes a cancel.
    HeldTakesCancel,
    /// C5. A late success beats the answer of the attempt in flight.
    LateSuccessWins,
    /// C5. A late success waits for the attempt in flight.
    LateSuccessWaits,
    /// C6 a). A probe is judged by when it was asked.
    ProbeJudgedWhenAsked,
    /// C6 b). A lost lease is not an end: only the owner's lock tells that it is dead.
    OwnerLock,
    /// C6 c), d). A probe waits for the horizon, not for the quiet time.
    ProbeWaitsHorizon,
    /// C6 e). Past the lifetime a record of the key that is gone says nothing.
    ForgottenRecordSaysNothing,
    /// C6. A probe is bound to the attempts that had begun.
    ProbeBoundToAttempts,
    /// C7. A hold for doubt ends with the last doubt.
    HoldEndsWithDoubt,
    /// C8 a). A decision to retry clears the expiry.
    RetryClearsExpiry,
    /// C8 b). The consent is stored until the next claim.
    ConsentIsStored,
    /// C9 a). A stored refusal speaks for the attempts since the last consent.
    MarkerSinceConsent,
    /// C9 b). It speaks for earlier attempts only where the server locks.
    MarkerNeedsLock,
    /// C10. With other credentials the key is another one where it belongs to them.
    OtherTokenOtherKey,
    /// C11. A server without keys, or one that aborts handlers: a lifetime of zero.
    LifetimeZero,
    /// P13. Past the lifetime nothing is sent again blindly.
    LifetimeAsked,
    /// C12. A decision waits out the quiet time, too.
    DecisionWaitsQuiet,
    /// C13, W1. One of a latest-wins key is in flight at a time.
    OneInFlightPerKey,
    /// C13, W2, W3. The newer waits out the quiet time of the older.
    QuietAcrossPair,
    /// C13, W4. That of an older that has ended, too.
    QuietAfterEnd,
    /// C13, W7. From acceptance of the newer on, the older waits for it.
    OlderWaits,
    /// C13, W8. What is in doubt is superseded once the newer has succeeded.
    SuccessSupersedesDoubt,
    /// C13, W9b. The quiet time across the pair isn't that of a server that locks one key.
    PairQuietIsFull,
    /// C14. Where a gateway re-sends, an answer "not applied" speaks for one copy.
    GatewayFlag,
    /// C15. The last look comes after the connection is chosen.
    LookAfterConnect,
    /// C16. The margin of the lifetime is longer than a request may wander.
    LifetimeMargin,
    /// Settling is guarded by the attempt's number.
    Fence,
    /// The attempt's row is committed before the first byte.
    RowBeforeSend,
    /// A process takes nothing over from itself.
    NotFromOneself,
    /// A lease is longer than the way from the last look to the first byte.
    LeaseOutlastsSend,
    /// The database refuses to change a final state.
    FinalGuard,
}

/// Some rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules(u64);

impl Rules {
    /// None.
    pub const NONE: Self = Self(0);

    /// Those.
    pub fn of(rules: &[Rule]) -> Self {
        Self(rules.iter().fold(0, |all, rule| all | 1 << *rule as u32))
    }

    /// This is one of them.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
