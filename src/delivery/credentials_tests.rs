use std::sync::Mutex;

use super::*;
use crate::clock::SystemClock;

#[derive(Default)]
struct Host(Mutex<u32>);

impl CredentialsListener for Host {
    fn credentials_needed(&self, _: String, _: CredentialsReason) -> Result<(), ListenerError> {
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

fn desk() -> Desk {
    let clock = Arc::new(SystemClock::new(None));
    let desk = Desk::new(clock, Limits::default());
    desk.set_listener(1, Some(Arc::new(Host::default())));
    desk
}

fn ann() -> SignedIn {
    SignedIn {
        name: "ann".to_owned(),
        refusals: 0,
        refused: 0,
        closed: false,
    }
}

#[test]
fn what_is_missing_is_asked_for() {
    let desk = desk();
    let asking = desk.ask(&ann(), 1, desk.supplies());
    let (_, reason) = asking.nudge.unwrap();
    assert_eq!(reason, CredentialsReason::Missing);
}

/// What was asked for one account is no answer for another.
#[test]
fn each_account_is_asked_for() {
    let desk = desk();
    assert!(desk.ask(&ann(), 1, desk.supplies()).nudge.is_some());
    assert!(desk.ask(&ann(), 1, desk.supplies()).nudge.is_none());
    let bob = SignedIn {
        name: "bob".to_owned(),
        ..ann()
    };
    assert!(desk.ask(&bob, 1, desk.supplies()).nudge.is_some());
}

/// A turn looks for credentials, finds none, and they come before it asks: the host has answered
/// already.
#[test]
fn what_came_meanwhile_is_not_asked_for() {
    let desk = desk();
    let before = desk.supplies();
    let supplying = desk.begin_supply();
    let during = desk.ask(&ann(), 1, before);
    assert!(during.nudge.is_none() && during.awaited);
    desk.supply(&ann(), 1, Vec::new(), None);
    drop(supplying);
    let after = desk.ask(&ann(), 1, before);
    assert!(after.nudge.is_none() && after.awaited);
    // A turn that began later and found them refused asks.
    let refused = SignedIn {
        refused: 1,
        ..ann()
    };
    assert!(desk.note(Some(&refused)) && desk.usable().is_none());
    let (_, reason) = desk.ask(&refused, 1, desk.supplies()).nudge.unwrap();
    assert_eq!(reason, CredentialsReason::Refused);
}

/// P10: between a claim and its launch, another account may have signed in.
#[test]
fn headers_are_given_for_what_was_claimed_with_and_for_nothing_else() {
    let desk = desk();
    let header = |value: &str| {
        vec![Header {
            name: "authorization".to_owned(),
            value: value.to_owned(),
        }]
    };
    desk.supply(&ann(), 1, header("anns"), None);
    let claimed = desk.usable().unwrap();
    assert_eq!(desk.headers(&claimed), Some(header("anns")));
    desk.forget();
    assert_eq!(desk.headers(&claimed), None);
    let bob = SignedIn {
        name: "bob".to_owned(),
        ..ann()
    };
    desk.supply(&bob, 1, header("bobs"), None);
    assert_eq!(desk.headers(&claimed), None);
    desk.supply(&ann(), 2, header("newer"), None);
    assert_eq!(desk.headers(&claimed), None);
}
