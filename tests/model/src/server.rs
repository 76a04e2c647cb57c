//! The kinds of server, and what their answers mean.

use std::time::Duration;

use submit_once::rules::{Answer, Circumstances, History, Judgement, answer, fault, key_lifetime};
use submit_once::{Effect, Fault, Header, KeyScope, Limits, ReplayedErrors, ServerProfile, WallMs};

use crate::world::Heard;

/// How a server treats keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// It looks at the key.
    pub keyed: bool,
    /// A repeat overwrites what the request before wrote.
    pub overwrites: bool,
    /// It locks a key in use, and stores the record together with the effect.
    pub locks: bool,
    /// It stores refusals under the key, and marks them when it gives them again.
    pub freezes_errors: bool,
    /// A lost connection ends the handler, perhaps between the effect and the record.
    pub aborts: bool,
    /// It forgets a key after a time.
    pub forgets: bool,
    /// The key belongs to the credentials.
    pub per_token: bool,
}

impl Server {
    /// Locks a key in use, stores key and effect together, and replays.
    pub const LOCKING: Self = Self {
        keyed: true,
        overwrites: false,
        locks: true,
        freezes_errors: false,
        aborts: false,
        forgets: false,
        per_token: false,
    };
    /// Replays after completion, and doesn't lock.
    pub const UNLOCKED: Self = Self {
        locks: false,
        ..Self::LOCKING
    };
    /// Stores refusals, too.
    pub const FREEZING: Self = Self {
        freezes_errors: true,
        ..Self::LOCKING
    };
    /// Stores refusals and doesn't lock.
    pub const FREEZING_UNLOCKED: Self = Self {
        freezes_errors: true,
        ..Self::UNLOCKED
    };
    /// Ends the handler with the connection.
    pub const ABORTING: Self = Self {
        aborts: true,
        ..Self::LOCKING
    };
    /// Stores refusals, and forgets keys.
    pub const FORGETTING: Self = Self {
        forgets: true,
        ..Self::FREEZING
    };
    /// Forgets keys, and stores no refusals.
    pub const FORGETTING_PLAIN: Self = Self {
        forgets: true,
        ..Self::LOCKING
    };
    /// Overwrites, without a key.
    pub const OVERWRITING: Self = Self {
        keyed: false,
        overwrites: true,
        locks: false,
        ..Self::LOCKING
    };
    /// Without any idempotency.
    pub const UNKEYED: Self = Self {
        keyed: false,
        locks: false,
        ..Self::LOCKING
    };
    /// Keeps keys per token.
    pub const PER_TOKEN: Self = Self {
        per_token: true,
        ..Self::LOCKING
    };

    pub(crate) fn effect(&self) -> Effect {
        match (self.overwrites, self.keyed) {
            (true, _) => Effect::Overwrite,
            (false, true) => Effect::Keyed,
            (false, false) => Effect::Unkeyed,
        }
    }

    /// The profile that an app would write for it.
    pub(crate) fn profile(&self, gateway_may_resend: bool) -> ServerProfile {
        ServerProfile {
            effect: self.effect(),
            retention: self.forgets.then_some(Duration::from_secs(24 * 3_600)),
            locks: self.locks,
            aborts_handlers: self.aborts,
            gateway_may_resend,
            key_scope: if self.per_token {
                KeyScope::Token
            } else {
                KeyScope::Account
            },
            errors_are_replayed: if self.freezes_errors {
                ReplayedErrors::ClientErrors
            } else {
                ReplayedErrors::Nothing
            },
            ..ServerProfile::default()
        }
    }
}

/// How long a key may be sent again while in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// For ever.
    Endless,
    /// For a time.
    Limited,
    /// Not at all.
    Zero,
}

/// By the core's own rule.
pub(crate) fn lifetime(profile: &ServerProfile) -> Lifetime {
    let horizon = Limits::default().horizon;
    match key_lifetime(profile.effect, profile, horizon) {
        None => Lifetime::Endless,
        Some(Duration::ZERO) => Lifetime::Zero,
        Some(_) => Lifetime::Limited,
    }
}

/// What the core makes of it, by its own rule.
pub(crate) fn judge(profile: &ServerProfile, heard: Heard) -> Judgement {
    let limits = Limits::default();
    let of = Circumstances {
        effect: profile.effect,
        profile,
        limits: &limits,
        derived_id: false,
        account: false,
        following: false,
        redirected: false,
        history: History::default(),
        wall: WallMs(0),
    };
    let json = Header {
        name: "content-type".to_owned(),
        value: "application/json".to_owned(),
    };
    let marker = Header {
        name: "idempotent-replayed".to_owned(),
        value: "true".to_owned(),
    };
    let says = |status, headers: &[Header]| {
        let said = Answer {
            status,
            headers,
            body: b"{}",
            complete: true,
        };
        answer(&said, &of)
    };
    match heard {
        Heard::Applied => says(201, &[json]),
        Heard::Refused => says(400, &[json]),
        Heard::StoredRefusal => says(400, &[json, marker]),
        Heard::Wait => says(429, &[json]),
        Heard::InProgress => says(409, &[json]),
        Heard::ServerError => says(500, &[json]),
        Heard::NoConnection => fault(Fault::Unreachable, &of),
        Heard::NotSent => fault(Fault::NotSent, &of),
        Heard::Nothing => fault(Fault::TimedOut, &of),
    }
}
