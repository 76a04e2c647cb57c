//! Each rule is needed: the search finds how a promise breaks without it, and that it holds with it.
//!
//! The settings are the smallest that have what the sequence needs.

use submit_once_model::invariants::{
    CANCEL_STOPS, FINAL_IS_FINAL, HELD_IN_DOUBT, NEWEST_WINS, ONE_EFFECT, RETRY_IS_SENT,
    SINGLE_FLIGHT, UNDONE_IS_UNDONE,
};
use submit_once_model::{Probe, Rule, Server, Setting};

use crate::attack::Attack;
use crate::search::{breaks, holds};

/// What breaks without a rule.
struct Need {
    rules: &'static [Rule],
    setting: Setting,
    breaks: &'static str,
}

const fn need(rule: &'static [Rule], breaks: &'static str, setting: Setting) -> Need {
    Need {
        rules: rule,
        setting,
        breaks,
    }
}

const LOCKING: Setting = Setting::at(Server::LOCKING);

const CANCELLING: Setting = Setting {
    cancels: true,
    ..LOCKING
};

const PROBED: Setting = Setting {
    probe: Probe::Effect,
    ..CANCELLING
};

/// Without answers that are errors, where the sequence needs none.
const fn calm(setting: Setting) -> Setting {
    Setting {
        refusals: false,
        faults: false,
        ..setting
    }
}

const THREE: Setting = Setting {
    attempts: 3,
    budget: 3,
    ..LOCKING
};

const PAIR: Setting = Setting {
    pair: true,
    ..Setting::at(Server::OVERWRITING)
};

const FORGETTING: Setting = calm(Setting::at(Server::FORGETTING_PLAIN));

/// Doubt, cancel and expiry.
const DOUBT: [Need; 12] = [
    need(&[Rule::DoubtPerAttempt], UNDONE_IS_UNDONE, LOCKING),
    need(
        &[Rule::CancelAsksEveryAttempt],
        UNDONE_IS_UNDONE,
        CANCELLING,
    ),
    need(
        &[Rule::CancelOutlivesLease],
        CANCEL_STOPS,
        Setting {
            kills: true,
            ..calm(CANCELLING)
        },
    ),
    need(
        &[Rule::CancelBeatsRefusal],
        CANCEL_STOPS,
        Setting {
            cancels: true,
            late: true,
            faults: false,
            ..THREE
        },
    ),
    need(
        &[Rule::HeldTakesCancel],
        CANCEL_STOPS,
        Setting {
            cancels: true,
            late: true,
            faults: false,
            ..THREE
        },
    ),
    need(
        &[Rule::LateSuccessWins],
        UNDONE_IS_UNDONE,
        Setting {
            late: true,
            ..LOCKING
        },
    ),
    need(
        &[Rule::LateSuccessWaits],
        NEWEST_WINS,
        calm(Setting { late: true, ..PAIR }),
    ),
    need(
        &[Rule::HoldEndsWithDoubt],
        HELD_IN_DOUBT,
        Setting {
            late: true,
            ..CANCELLING
        },
    ),
    need(
        &[Rule::RetryClearsExpiry],
        RETRY_IS_SENT,
        Setting {
            expires: true,
            ..LOCKING
        },
    ),
    need(
        &[Rule::ConsentIsStored],
        RETRY_IS_SENT,
        Setting::at(Server::UNKEYED),
    ),
    need(
        &[Rule::MarkerSinceConsent],
        UNDONE_IS_UNDONE,
        Setting {
            server: Server::FORGETTING,
            faults: false,
            ..THREE
        },
    ),
    need(
        &[Rule::MarkerNeedsLock],
        UNDONE_IS_UNDONE,
        Setting {
            server: Server::FREEZING_UNLOCKED,
            freezes: true,
            faults: false,
            ..THREE
        },
    ),
];

/// Probes.
const PROBES: [Need; 5] = [
    need(&[Rule::ProbeJudgedWhenAsked], UNDONE_IS_UNDONE, PROBED),
    need(
        &[Rule::OwnerLock],
        UNDONE_IS_UNDONE,
        Setting {
            freezes: true,
            ..calm(PROBED)
        },
    ),
    need(&[Rule::ProbeWaitsHorizon], UNDONE_IS_UNDONE, PROBED),
    need(
        &[Rule::ForgottenRecordSaysNothing],
        UNDONE_IS_UNDONE,
        Setting {
            cancels: true,
            probe: Probe::KeyRecord,
            ..FORGETTING
        },
    ),
    need(&[Rule::ProbeBoundToAttempts], UNDONE_IS_UNDONE, PROBED),
];

/// The life of keys, the quiet time, gateways.
const KEYS: [Need; 9] = [
    need(
        &[Rule::OtherTokenOtherKey],
        ONE_EFFECT,
        Setting {
            renews: true,
            ..Setting::at(Server::PER_TOKEN)
        },
    ),
    need(
        &[Rule::LifetimeZero],
        ONE_EFFECT,
        Setting::at(Server::UNKEYED),
    ),
    need(
        &[Rule::LifetimeZero],
        ONE_EFFECT,
        Setting {
            kills: true,
            ..Setting::at(Server::ABORTING)
        },
    ),
    need(&[Rule::LifetimeAsked], ONE_EFFECT, FORGETTING),
    need(
        &[Rule::DecisionWaitsQuiet],
        ONE_EFFECT,
        Setting {
            cancels: true,
            ..Setting::at(Server::UNLOCKED)
        },
    ),
    need(
        &[Rule::GatewayFlag],
        UNDONE_IS_UNDONE,
        Setting {
            copies: true,
            ..LOCKING
        },
    ),
    need(
        &[Rule::LookAfterConnect],
        ONE_EFFECT,
        Setting {
            freezes: true,
            ..FORGETTING
        },
    ),
    // Inherent: a request that wanders longer than the margin.
    need(&[Rule::LifetimeMargin], ONE_EFFECT, FORGETTING),
    need(
        &[Rule::LookAfterConnect],
        ONE_EFFECT,
        Setting {
            freezes: true,
            ..Setting::at(Server::FORGETTING)
        },
    ),
];

/// Latest wins.
const LATEST: [Need; 6] = [
    need(&[Rule::OneInFlightPerKey], NEWEST_WINS, calm(PAIR)),
    need(&[Rule::QuietAcrossPair], NEWEST_WINS, calm(PAIR)),
    need(
        &[Rule::QuietAfterEnd],
        NEWEST_WINS,
        calm(Setting {
            cancels: true,
            decisions: true,
            retries: false,
            ..PAIR
        }),
    ),
    need(
        &[Rule::OlderWaits],
        NEWEST_WINS,
        calm(Setting {
            server: Server::LOCKING,
            ..PAIR
        }),
    ),
    need(&[Rule::SuccessSupersedesDoubt], NEWEST_WINS, calm(PAIR)),
    need(&[Rule::PairQuietIsFull], NEWEST_WINS, calm(PAIR)),
];

/// Processes.
const PROCESSES: [Need; 5] = [
    need(
        &[Rule::Fence],
        CANCEL_STOPS,
        Setting {
            freezes: true,
            ..CANCELLING
        },
    ),
    need(
        &[Rule::Fence, Rule::FinalGuard],
        FINAL_IS_FINAL,
        Setting {
            freezes: true,
            ..CANCELLING
        },
    ),
    need(
        &[Rule::RowBeforeSend],
        UNDONE_IS_UNDONE,
        Setting {
            kills: true,
            ..calm(CANCELLING)
        },
    ),
    need(
        &[Rule::NotFromOneself],
        SINGLE_FLIGHT,
        Setting {
            lapses: true,
            ..LOCKING
        },
    ),
    need(
        &[Rule::LeaseOutlastsSend],
        SINGLE_FLIGHT,
        Setting {
            lapses: true,
            ..LOCKING
        },
    ),
];

fn noticed(name: &'static str, needs: &[Need]) {
    let attack = Attack::begin("V7", name);
    let (mut longest, mut states) = (0, 0);
    for need in needs {
        let rules = need.rules;
        let path = breaks(need.setting.without(rules), need.breaks);
        let Some(path) = path else {
            panic!(
                "{rules:?} can be taken out, and “{}” still holds",
                need.breaks
            );
        };
        states += holds(&format!("{rules:?}"), need.setting);
        println!(
            "{rules:?}: “{}” breaks in {} steps",
            need.breaks,
            path.len()
        );
        longest = longest.max(path.len());
    }
    attack.report(&format!(
        "{} of {} found when a rule is taken out, in {longest} steps at most; {states} states without \
         one when it is in",
        needs.len(),
        needs.len(),
    ));
}

#[test]
fn the_rules_of_doubt() {
    noticed("rules of doubt", &DOUBT);
}

#[test]
fn the_rules_of_probes() {
    noticed("rules of probes", &PROBES);
}

#[test]
fn the_rules_of_keys() {
    noticed("rules of keys", &KEYS);
}

#[test]
fn the_rules_of_latest_wins() {
    noticed("rules of latest wins", &LATEST);
}

#[test]
fn the_rules_of_processes() {
    noticed("rules of processes", &PROCESSES);
}
