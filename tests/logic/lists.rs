//! Lists: every filter alone and together, a page at a time, and no call that looks at everything.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use submit_once::{
    Clock as _, HoldReason, ListFilter, ListState, Outbox, PageRequest, Snapshot, Submission,
    SubmissionId, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{World, drain, lost, order, simulate, status};
use crate::credentials::of;

/// Every page of a list, and the number of pages.
fn all(outbox: &Outbox, filter: &ListFilter, limit: u32) -> (Vec<Snapshot>, usize) {
    let mut page = PageRequest { after: 0, limit };
    let mut found = Vec::new();
    for pages in 1.. {
        let part = outbox.list(filter.clone(), page).unwrap();
        assert!(part.snapshots.len() <= limit as usize);
        found.extend(part.snapshots);
        match part.next {
            Some(next) => {
                assert!(next > page.after, "it goes on");
                page.after = next;
            }
            None => return (found, pages),
        }
    }
    unreachable!("a list ends");
}

fn fits(filter: &ListFilter, snapshot: &Snapshot) -> bool {
    let held = match snapshot.state {
        SubmissionState::Held { reason } => Some(reason),
        _ => None,
    };
    filter.state.is_none_or(|state| match state {
        ListState::Held => held.is_some(),
        ListState::Settled => snapshot.state.is_final(),
        ListState::Moving => held.is_none() && !snapshot.state.is_final(),
    }) && filter.reason.is_none_or(|reason| held == Some(reason))
        && (filter.account.is_none() || filter.account == snapshot.account)
        && (filter.lane.is_none() || filter.lane == snapshot.lane)
        && (filter.replaces.is_none() || filter.replaces == snapshot.replaces)
}

/// Rows as they may be after a while; the columns are written past the library, so that every
/// combination is there.
fn populated(world: &World, place: &Place, rows: i64) -> std::sync::Arc<Outbox> {
    let outbox = world.open(place);
    for account in [None, Some("ann"), Some("bob")] {
        for n in 0..rows {
            let id = SubmissionId::derived(account, "order", &n.to_string());
            let order = Submission::post(id, "/orders").json("{}");
            let order = match account {
                Some(account) => of(account, order),
                None => order,
            };
            outbox.submit(order).unwrap();
        }
    }
    place
        .sql()
        .execute_batch(
            "DROP TRIGGER submission_frozen;
             UPDATE submission SET
                lane = CASE WHEN seq % 5 < 2 THEN 'l' || (seq % 5) END,
                replaces = CASE WHEN seq % 7 < 2 THEN 'r' || (seq % 7) END;
             UPDATE submission SET state = 'held', ready = 0,
                reason = CASE WHEN seq % 2 THEN 'outcome_unknown' ELSE 'conflict' END
             WHERE seq % 3 = 0;
             UPDATE submission SET state = 'abandoned', ready = 0, settled_wall = 5
             WHERE seq % 3 = 1;",
        )
        .unwrap();
    outbox
}

fn filters() -> impl Strategy<Value = ListFilter> {
    use proptest::option::of;
    let state = prop_oneof![
        Just(ListState::Moving),
        Just(ListState::Held),
        Just(ListState::Settled)
    ];
    let reason = prop_oneof![
        Just(HoldReason::OutcomeUnknown),
        Just(HoldReason::Conflict),
        Just(HoldReason::Restored)
    ];
    let one = |names: &'static [&'static str]| {
        of(proptest::sample::select(names).prop_map(str::to_owned))
    };
    (
        of(state),
        of(reason),
        one(&["ann", "bob", "nobody", ""]),
        one(&["l0", "l1", "none"]),
        one(&["r0", "r1", "none"]),
    )
        .prop_map(|(state, reason, account, lane, replaces)| ListFilter {
            state,
            reason,
            account,
            lane,
            replaces,
        })
}

/// Whatever is asked for, and however it is paged: the same as looking at all of them.
#[test]
fn every_filter_gives_what_fits_it_once_and_in_order() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = populated(&world, &place, 40);
        let (everything, _) = all(&outbox, &ListFilter::all(), 1_000);
        assert_eq!(everything.len(), 120);
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let sizes = RefCell::new(BTreeSet::new());
        runner
            .run(&(filters(), 1..50_u32), |(filter, limit)| {
                let (found, _) = all(&outbox, &filter, limit);
                let expected: Vec<_> = everything
                    .iter()
                    .filter(|snapshot| fits(&filter, snapshot))
                    .cloned()
                    .collect();
                sizes.borrow_mut().insert(found.len());
                prop_assert_eq!(found, expected);
                Ok(())
            })
            .unwrap();
        assert!(sizes.borrow().len() > 10, "many found something: {sizes:?}");
    });
}

/// A needle in a long list costs several short calls, and not one long one.
#[test]
fn a_page_looks_at_so_many_and_says_where_to_go_on() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let template = order(&outbox, "template");
        outbox.submit(template).unwrap();
        place
            .sql()
            .execute_batch(
                "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
                 INSERT INTO submission (seq, id, fingerprint, account, profile, channel, effect,
                    priority, lane, accepted_wall, state, reason, revision, ready)
                 SELECT i, randomblob(16), fingerprint, 'ann', profile, channel, effect, 0, 'lane',
                    accepted_wall, 'held', CASE i WHEN 11000 THEN 'restored' ELSE 'conflict' END, 1, 0
                 FROM n, submission WHERE seq = 1;
                 INSERT INTO request (seq, wire_key, method, url, headers, checksum, body_digest)
                 SELECT s.seq, wire_key, method, url, headers, checksum, body_digest
                 FROM submission s, request r WHERE r.seq = 1 AND s.seq > 1;
                 INSERT INTO channel (account, origin) VALUES ('ann', 'x');",
            )
            .unwrap();
        let restored = ListFilter {
            reason: Some(HoldReason::Restored),
            ..ListFilter::default()
        };
        let (found, pages) = all(&outbox, &restored, 10);
        assert_eq!((found.len(), pages), (1, 3));
        let in_lane = ListFilter {
            lane: Some("lane".into()),
            ..restored
        };
        let (found, pages) = all(&outbox, &in_lane, 10);
        assert_eq!(found.len(), 1);
        assert!((3..=6).contains(&pages), "{pages}");
        let (found, pages) = all(&outbox, &ListFilter::of(ListState::Moving), 10);
        assert_eq!((found.len(), pages), (1, 3));
        let (found, pages) = all(&outbox, &ListFilter::all(), 1_000);
        assert_eq!((found.len(), pages), (12_000, 13));
    });
}

/// What a screen shows of one that waits: since when, and until when.
#[test]
fn age_and_the_next_attempt_go_by_this_devices_clock() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), status(201)]);
        let order = order(&outbox, "form");
        let receipt = outbox.submit(order.clone()).unwrap();
        let age = |snapshot: &Snapshot| {
            let now = u64::try_from(world.clock.now().wall.0).unwrap();
            snapshot.age_at(std::time::UNIX_EPOCH + Duration::from_millis(now))
        };
        assert_eq!(age(&receipt.snapshot), Duration::ZERO);
        assert!(receipt.snapshot.next_attempt_at.is_some(), "now");
        drain(&outbox).await;
        let waiting = outbox.snapshot(order.id).unwrap();
        let left = waiting
            .next_attempt_at
            .unwrap()
            .duration_since(waiting.accepted_at + age(&waiting))
            .unwrap();
        assert!((1..=20).contains(&left.as_secs()), "{left:?}");
        let before = age(&waiting);
        world.pass(left).await;
        let later = outbox.list(ListFilter::all(), Default::default()).unwrap();
        assert_eq!(age(&later.snapshots[0]), before + left);
        assert_eq!(outbox.snapshot(order.id), outbox.snapshot(order.id));
        world.clock.set_wall_by(-3_600_000);
        let (found, _) = all(&outbox, &ListFilter::all(), 10);
        assert_eq!(age(&found[0]), Duration::ZERO, "the clock was set back");
        drain(&outbox).await;
        let done = outbox.snapshot(order.id).unwrap();
        assert_eq!(done.state, SubmissionState::Succeeded);
        assert_eq!(done.next_attempt_at, None);
    });
}

#[test]
fn the_next_attempt_is_not_before_the_hosts_gate_opens_and_has_no_time_without_its_account() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world
            .network
            .play([crate::common::sim::status_with(429, "retry-after", "600")]);
        outbox.submit(order(&outbox, "first")).unwrap();
        drain(&outbox).await;
        let second = order(&outbox, "second");
        let behind = outbox.submit(second).unwrap().snapshot;
        let wait = behind
            .next_attempt_at
            .unwrap()
            .duration_since(behind.accepted_at)
            .unwrap();
        assert!(wait >= Duration::from_secs(599), "{wait:?}");
        let anns = of("ann", order(&outbox, "anns"));
        let signed_out = outbox.submit(anns.clone()).unwrap().snapshot;
        assert_eq!(signed_out.next_attempt_at, None);
        outbox.sign_in("ann".into()).unwrap();
        let without = outbox.snapshot(anns.id).unwrap();
        assert_eq!(without.next_attempt_at, None, "credentials are no time");
    });
}
