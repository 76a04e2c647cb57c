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
    desk.set_listener(Some(Arc::new(Host::default())));
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
