//! All cases in one table: how each ends, and that nothing leaks.

use crate::case::Case;
use crate::common::attack::{Attack, assert_noticed};
use crate::{answers, ear, elsewhere, handshakes};

fn cases() -> Vec<Case> {
    [elsewhere::cases(), handshakes::cases(), answers::cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn no_hostile_server_gets_more_than_one_request_or_learns_a_secret() {
    let attack = Attack::begin("V14", "hostile servers");
    ear::listen();
    let cases = cases();
    let mut wrong = Vec::new();
    let mut leaks = 0;
    for case in &cases {
        let began = std::time::Instant::now();
        let (end, leaked) = case.run();
        println!("{}: {end:?}, {:?}", case.name, began.elapsed());
        if end != case.end {
            wrong.push(format!("{}: {end:?} in place of {:?}", case.name, case.end));
        }
        leaks += leaked.len();
        wrong.extend(leaked.iter().map(|leak| format!("{}: {leak}", case.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cases.len() >= 40);
    assert!(ear::heard().contains("submit_once"), "the ear is deaf");
    attack.report(&format!("{} scenarios, {leaks} leaks", cases.len()));
}

#[test]
fn a_redirect_that_is_followed_anywhere_is_noticed() {
    assert_noticed(
        "redirects-anywhere",
        "table::no_hostile_server_gets_more_than_one_request_or_learns_a_secret",
        "a request went to another server",
    );
}
