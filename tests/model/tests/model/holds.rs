//! What holds with all rules in: complete searches.

use submit_once_model::{Probe, Server, Setting};

use crate::search::holds;

#[test]
fn explore() {
    let base = |server| Setting {
        kills: true,
        freezes: true,
        cancels: true,
        expires: true,
        late: true,
        probe: Probe::Effect,
        decisions: true,
        ..Setting::at(server)
    };
    for (name, setting) in [
        ("locking", base(Server::LOCKING)),
        ("unlocked", base(Server::UNLOCKED)),
        ("freezing", base(Server::FREEZING)),
        ("aborting", base(Server::ABORTING)),
        ("unkeyed", base(Server::UNKEYED)),
        ("forgetting", base(Server::FORGETTING)),
        ("overwriting", base(Server::OVERWRITING)),
        (
            "per token",
            Setting {
                renews: true,
                ..base(Server::PER_TOKEN)
            },
        ),
        (
            "pair",
            Setting {
                pair: true,
                kills: true,
                cancels: true,
                ..Setting::at(Server::OVERWRITING)
            },
        ),
        (
            "keyed pair",
            Setting {
                pair: true,
                kills: true,
                cancels: true,
                ..Setting::at(Server::LOCKING)
            },
        ),
    ] {
        let began = std::time::Instant::now();
        let states = holds(name, setting);
        println!("{name}: {states} {:?}", began.elapsed());
    }
}
