//! What one seed is about: a server with its profile, the numbers of the app, and how its device tells
//! the time.

use std::time::Duration;

use submit_once::{
    AnswerRule, KeyPlace, KeyScope, Limits, RejectReason, ReplayedErrors, RuleVerdict,
    ServerProfile,
};

use crate::dice::Dice;

pub struct Setting {
    pub profile: ServerProfile,
    pub limits: Limits,
    pub names_boots: bool,
    /// The server marks what it replays.
    pub marks: bool,
    /// Of a hundred requests this many meet some trouble.
    pub trouble: u64,
}

/// The code with which the server of [`ruled`] refuses a key for good.
pub const NEVER: &str = "never";

/// A profile with a rule for each verdict, on statuses that the server uses for nothing else.
fn ruled() -> ServerProfile {
    let on = AnswerRule::on;
    let refused = RuleVerdict::Refused {
        reason: RejectReason::Invalid,
    };
    let never = AnswerRule {
        settles: true,
        ..on(422, refused).member("/code", Some(NEVER))
    };
    let reused = RuleVerdict::Refused {
        reason: RejectReason::KeyReused,
    };
    ServerProfile {
        rules: vec![
            never,
            on(200, refused).member("/errors", None),
            on(409, RuleVerdict::Applied).member("/code", Some("done")),
            on(432, RuleVerdict::Held),
            on(433, RuleVerdict::Conflict),
            on(434, RuleVerdict::Wait),
            on(435, RuleVerdict::Retry),
            on(436, RuleVerdict::RetryInDoubt),
            on(437, RuleVerdict::Busy),
            on(438, RuleVerdict::Credentials),
            on(439, reused),
        ],
        expected_member: Some("/id".to_owned()),
        errors_are_replayed: ReplayedErrors::ClientErrors,
        replays_success: true,
        locks: true,
        quiet_time: Duration::from_secs(2),
        retention: Some(Duration::from_secs(7_200)),
        ..ServerProfile::custom("ruled")
    }
}

fn profile(seed: u64) -> ServerProfile {
    let custom = ServerProfile::custom;
    match seed % 16 {
        0 => ServerProfile::standard(),
        1 => ServerProfile::ietf(),
        2 => ServerProfile::stripe(),
        3 => ServerProfile::paypal(),
        4 => ServerProfile::adyen(),
        5 => ServerProfile::square(),
        6 => ServerProfile::google_aip155(),
        7 => ServerProfile::matrix(),
        8 => ServerProfile::plain_put(),
        9 => ServerProfile::unkeyed(),
        10 => ServerProfile {
            key_scope: KeyScope::Token,
            locks: true,
            ..custom("by token")
        },
        11 => ServerProfile {
            aborts_handlers: true,
            ..custom("aborts")
        },
        12 => ServerProfile {
            gateway_may_resend: true,
            locks: true,
            ..custom("gateway")
        },
        13 => ruled(),
        14 => ServerProfile {
            latest_wins: true,
            errors_are_replayed: ReplayedErrors::Nothing,
            ..custom("latest")
        },
        _ => ServerProfile {
            retention: Some(Duration::from_secs(1_800)),
            ..custom("forgetful")
        },
    }
}

pub fn setting(seed: u64, dice: &mut Dice) -> Setting {
    let mut limits = Limits {
        request_timeout: Duration::from_secs(*dice.pick(&[20, 60, 90])),
        ..Limits::default()
    };
    if dice.one_in(2) {
        limits.inline_body_bytes = 64;
    }
    if dice.one_in(3) {
        limits.max_in_flight = 2;
    }
    if dice.one_in(2) {
        limits.retry_attempts = 3;
        limits.retry_time = Duration::from_secs(20);
        limits.busy_attempts = 2;
        limits.busy_time = Duration::from_secs(4);
    }
    if dice.one_in(6) {
        limits.keep_results_count = 8;
    }
    Setting {
        profile: profile(seed),
        limits,
        names_boots: !dice.one_in(5),
        marks: !dice.one_in(3),
        trouble: *dice.pick(&[10, 30, 45]),
    }
}

/// Where a request of this profile goes.
pub fn url(profile: &ServerProfile, path: &str) -> String {
    match &profile.key_place {
        KeyPlace::Path { placeholder } => format!("{path}/{placeholder}"),
        KeyPlace::Header { .. }
        | KeyPlace::Query { .. }
        | KeyPlace::JsonPointer { .. }
        | KeyPlace::Nowhere => path.to_owned(),
    }
}
