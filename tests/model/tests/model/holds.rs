//! What holds with all rules in: complete searches.

use submit_once_model::invariants::{ONE_EFFECT, SINGLE_FLIGHT};
use submit_once_model::{Probe, Quiet, Rule, Server, Setting};

use crate::attack::{Attack, depth};
use crate::search::{breaks, holds, holds_but_for};

/// Every fault and every call of the app, with two attempts.
pub const fn all(server: Server) -> Setting {
    Setting {
        kills: true,
        freezes: true,
        cancels: true,
        expires: true,
        late: true,
        probe: Probe::Effect,
        decisions: true,
        ..Setting::at(server)
    }
}

/// An older and a newer version.
pub const fn pair(server: Server) -> Setting {
    Setting {
        pair: true,
        kills: true,
        cancels: true,
        ..Setting::at(server)
    }
}

/// Seven kinds of server, pairs, and what else can go wrong in the network and with leases.
const SEARCHES: [(&str, Setting); 20] = [
    ("locking server", all(Server::LOCKING)),
    ("server without locks", all(Server::UNLOCKED)),
    ("server that stores refusals", all(Server::FREEZING)),
    (
        "server that forgets keys",
        Setting {
            late: false,
            expires: false,
            ..all(Server::FORGETTING)
        },
    ),
    (
        "server that aborts handlers",
        Setting {
            decisions: false,
            ..all(Server::ABORTING)
        },
    ),
    (
        "server without keys",
        Setting {
            decisions: false,
            ..all(Server::UNKEYED)
        },
    ),
    ("overwriting server", all(Server::OVERWRITING)),
    (
        "keys that belong to the token",
        Setting {
            renews: true,
            expires: false,
            decisions: false,
            ..all(Server::PER_TOKEN)
        },
    ),
    (
        "gateway that re-sends",
        Setting {
            copies: true,
            freezes: false,
            ..all(Server::LOCKING)
        },
    ),
    (
        "leases that run out at any time, answers that come twice",
        Setting {
            lapses: true,
            twice: true,
            expires: false,
            decisions: false,
            ..all(Server::UNLOCKED)
        },
    ),
    (
        "locking server without a quiet time",
        Setting {
            quiet: Quiet::Off,
            expires: false,
            ..all(Server::LOCKING)
        },
    ),
    (
        "three attempts, refusals stored without a lock",
        Setting {
            attempts: 3,
            budget: 2,
            freezes: false,
            ..all(Server::FREEZING_UNLOCKED)
        },
    ),
    (
        "three attempts, frozen, locking",
        Setting {
            attempts: 3,
            decisions: false,
            late: false,
            ..all(Server::LOCKING)
        },
    ),
    (
        "three attempts, frozen, refusals stored without a lock",
        Setting {
            attempts: 3,
            expires: false,
            decisions: false,
            late: false,
            ..all(Server::FREEZING_UNLOCKED)
        },
    ),
    ("pair, overwriting", pair(Server::OVERWRITING)),
    ("pair, keyed", pair(Server::LOCKING)),
    (
        "pair, overwriting, given up",
        Setting {
            decisions: true,
            refusals: false,
            ..pair(Server::OVERWRITING)
        },
    ),
    (
        "pair, overwriting, no quiet time for repeats",
        Setting {
            quiet: Quiet::Off,
            ..pair(Server::OVERWRITING)
        },
    ),
    (
        "pair, overwriting, late",
        Setting {
            late: true,
            kills: false,
            refusals: false,
            faults: false,
            ..pair(Server::OVERWRITING)
        },
    ),
    (
        "pair, overwriting, frozen",
        Setting {
            freezes: true,
            kills: false,
            cancels: false,
            ..pair(Server::OVERWRITING)
        },
    ),
];

/// The same with more attempts and with everything at once: for long runs.
const DEEP: [(&str, Setting); 5] = [
    (
        "three processes, killed",
        Setting {
            kills: true,
            cancels: true,
            retries: true,
            ..THREE_PROCESSES
        },
    ),
    ("server that forgets keys, all", all(Server::FORGETTING)),
    (
        "keys that belong to the token, all",
        Setting {
            renews: true,
            ..all(Server::PER_TOKEN)
        },
    ),
    ("server that aborts handlers, all", all(Server::ABORTING)),
    (
        "pair, overwriting, frozen and killed",
        Setting {
            freezes: true,
            cancels: false,
            refusals: false,
            ..pair(Server::OVERWRITING)
        },
    ),
];

fn search(name: &'static str, setting: Setting) {
    let attack = Attack::begin("V7", name);
    let states = holds(name, setting);
    attack.report(&format!("{states} states, complete; every invariant holds"));
}

#[test]
fn every_invariant_holds_in_every_state() {
    for (name, setting) in SEARCHES {
        search(name, setting);
    }
}

/// The third one is who takes over from whoever took over.
const THREE_PROCESSES: Setting = Setting {
    processes: 3,
    attempts: 3,
    budget: 3,
    freezes: true,
    refusals: false,
    faults: false,
    retries: false,
    ..Setting::at(Server::UNLOCKED)
};

#[test]
fn three_processes_break_nothing_either() {
    search("three processes", THREE_PROCESSES);
}

#[test]
fn more_of_everything_breaks_nothing_either() {
    if depth() > 1 {
        for (name, setting) in DEEP {
            search(name, setting);
        }
    }
}

/// The trigger is the second line of defence: with the fence, nothing ever gets to it.
#[test]
fn with_the_fence_no_step_would_change_a_final_state() {
    let setting = Setting {
        kills: true,
        freezes: true,
        cancels: true,
        late: true,
        ..Setting::at(Server::LOCKING)
    };
    holds("no guard", setting.without(&[Rule::FinalGuard]));
}

/// C12: inherent. Without a lock the server can only be kept from working twice by waiting long enough;
/// what is called undone is undone all the same.
#[test]
fn on_a_server_without_locks_one_effect_needs_the_quiet_time_and_the_rest_does_not() {
    for quiet in [Quiet::ServerOnly, Quiet::Off] {
        let setting = Setting {
            quiet,
            freezes: true,
            cancels: true,
            late: true,
            ..Setting::at(Server::UNLOCKED)
        };
        let path = breaks(setting, ONE_EFFECT).expect("two requests overlap");
        println!("{quiet:?}: two effects in {} steps", path.len());
        holds_but_for("too short a quiet time", setting, &[ONE_EFFECT]);
    }
}

/// C15: inherent. A process that is frozen between its last look and its first byte overlaps its successor,
/// and where the server doesn't lock, that is a second effect.
#[test]
fn the_documented_exception_is_there_and_is_as_small_as_documented() {
    let strict = |server| Setting {
        freezes: true,
        cancels: true,
        strict: true,
        ..Setting::at(server)
    };
    for (server, invariant) in [
        (Server::LOCKING, SINGLE_FLIGHT),
        (Server::UNLOCKED, ONE_EFFECT),
    ] {
        let path = breaks(strict(server), invariant).expect("the exception");
        println!("“{invariant}” breaks in {} steps", path.len());
    }
    let locking = strict(Server::LOCKING);
    holds_but_for("one effect with a lock", locking, &[SINGLE_FLIGHT]);
}
