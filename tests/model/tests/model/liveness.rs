//! What must stay possible.

use submit_once_model::liveness::walk;
use submit_once_model::{Delivery, Rule, Server, Setting};

use crate::attack::Attack;

/// With every fault, and what holds submissions.
const FAULTS: Setting = Setting {
    kills: true,
    freezes: true,
    cancels: true,
    expires: true,
    ..Setting::at(Server::LOCKING)
};

fn ends(setting: Setting) -> usize {
    let walk = walk(&Delivery::new(setting));
    assert_eq!(
        walk.dead_ends, 0,
        "from here nothing ends: {:#?}",
        walk.first
    );
    walk.states
}

#[test]
fn without_further_faults_everything_comes_to_an_end() {
    let attack = Attack::begin("V7", "liveness");
    let with_all = ends(Setting {
        decisions: true,
        ..FAULTS
    });
    let with_retry = ends(FAULTS);
    let with_consent = ends(Setting {
        server: Server::UNKEYED,
        ..FAULTS
    });
    attack.report(&format!(
        "0 dead ends in {with_all} states with every decision, {with_retry} with retries alone and \
         {with_consent} with consents"
    ));
}

/// C8: the same walk finds the retries that could never send.
#[test]
fn a_retry_that_can_never_send_is_a_dead_end() {
    for (rule, server) in [
        (Rule::RetryClearsExpiry, Server::LOCKING),
        (Rule::ConsentIsStored, Server::UNKEYED),
    ] {
        let setting = Setting {
            expires: true,
            kills: true,
            ..Setting::at(server)
        };
        assert_eq!(walk(&Delivery::new(setting)).dead_ends, 0);
        let walk = walk(&Delivery::new(setting.without(&[rule])));
        assert!(walk.dead_ends > 0, "{rule:?} isn't missed");
        println!(
            "{rule:?}: {} dead ends in {} states",
            walk.dead_ends, walk.states
        );
    }
}
