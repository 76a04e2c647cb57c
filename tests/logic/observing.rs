//! Observers: the change feed, the nudge, and `wait` for what happened before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use submit_once::{
    ChangeListener, ChangePage, Limits, ListFilter, ListenerError, Outbox, OutboxError,
    PageRequest, SubmissionState, Waited, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{drain, order, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn the_feed_tells_every_change_once_and_in_order() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(503)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        let mut states = Vec::new();
        let mut revisions = Vec::new();
        let mut cursor = 0;
        loop {
            let ChangePage::Changes {
                changes,
                next,
                more,
            } = outbox.changes(cursor, 2).unwrap()
            else {
                panic!("nothing was trimmed");
            };
            states.extend(changes.iter().map(|change| change.state));
            revisions.extend(changes.iter().map(|change| change.revision));
            cursor = next;
            if !more {
                break;
            }
        }
        let flight = [SubmissionState::Pending, SubmissionState::InFlight];
        let expected = [
            flight[0],
            flight[1],
            flight[0],
            flight[1],
            SubmissionState::Succeeded,
        ];
        assert_eq!(states, expected);
        assert_eq!(revisions, [1, 2, 3, 4, 5]);
        let nothing = outbox.changes(cursor, 10).unwrap();
        assert!(matches!(nothing, ChangePage::Changes { changes, .. } if changes.is_empty()));
    });
}

#[test]
fn a_cursor_older_than_the_feed_or_from_another_database_gets_resync() {
    let place = Place::new();
    simulate(2, |world| async move {
        let limits = Limits {
            keep_changes: 10,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        for n in 0..20 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        while outbox.retain().unwrap() {}
        let last = outbox.stats().unwrap().last_cursor;
        assert_eq!(
            outbox.changes(5, 100).unwrap(),
            ChangePage::Resync { next: last }
        );
        assert_eq!(
            outbox.changes(last + 7, 100).unwrap(),
            ChangePage::Resync { next: last }
        );
        let kept = outbox.changes(last - 10, 100).unwrap();
        assert!(matches!(kept, ChangePage::Changes { changes, .. } if changes.len() == 10));
        assert!(matches!(
            outbox.changes(-1, 1),
            Err(OutboxError::Invalid { .. })
        ));
    });
}

struct Counter {
    calls: AtomicUsize,
    outbox: Weak<Outbox>,
    fails: bool,
}

impl ChangeListener for Counter {
    fn changed(&self) -> Result<(), ListenerError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(outbox) = self.outbox.upgrade() {
            // It may call back in.
            outbox.stats().unwrap();
        }
        if self.fails {
            Err(ListenerError::Failed)
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_listener_is_nudged_may_call_back_in_and_may_fail() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let listener = Arc::new(Counter {
            calls: AtomicUsize::new(0),
            outbox: Arc::downgrade(&outbox),
            fails: true,
        });
        outbox
            .set_listener(Some(Arc::clone(&listener) as _))
            .unwrap();
        outbox.submit(order(&outbox, "a")).unwrap();
        world.pass(Duration::from_secs(2)).await;
        let calls = listener.calls.load(Ordering::SeqCst);
        assert!(calls >= 1);
        drain(&outbox).await;
        world.pass(Duration::from_secs(2)).await;
        assert!(listener.calls.load(Ordering::SeqCst) > calls);
        outbox.set_listener(None).unwrap();
        world.pass(Duration::from_secs(2)).await;
        let calls = listener.calls.load(Ordering::SeqCst);
        outbox.submit(order(&outbox, "b")).unwrap();
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(listener.calls.load(Ordering::SeqCst), calls);
        outbox.close();
    });
}

/// Two parts of an app that open the same path don't take each other's listener away.
#[test]
fn each_handle_has_a_listener_and_an_end_of_its_own() {
    let place = Place::new();
    simulate(9, |world| async move {
        let (first, second) = (world.open(&place), world.open(&place));
        let listener = |outbox: &Arc<submit_once::Outbox>| {
            let counter = Arc::new(Counter {
                calls: AtomicUsize::new(0),
                outbox: Arc::downgrade(outbox),
                fails: false,
            });
            outbox
                .set_listener(Some(Arc::clone(&counter) as _))
                .unwrap();
            counter
        };
        let counters = [listener(&first), listener(&second)];
        let calls = |n: usize| counters[n].calls.load(Ordering::SeqCst);
        let order = order(&first, "a");
        first.submit(order.clone()).unwrap();
        world.pass(Duration::from_secs(2)).await;
        assert!(calls(0) >= 1 && calls(1) >= 1);
        let waiting = first.wait(order.id, Duration::from_secs(3_600));
        let (waited, before) = tokio::join!(waiting, async {
            world.pass(Duration::from_secs(1)).await;
            first.close();
            (calls(0), calls(1))
        });
        assert_eq!(waited, Err(submit_once::OutboxError::Closed));
        drain(&second).await;
        world.pass(Duration::from_secs(2)).await;
        assert_eq!(calls(0), before.0);
        assert!(calls(1) > before.1);
    });
}

#[test]
fn waiting_resolves_for_what_happened_before_and_times_out_without_a_change() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        let waited = outbox.wait(order.id, Duration::from_secs(5)).await.unwrap();
        let Waited::TimedOut { snapshot } = waited else {
            panic!("{waited:?}");
        };
        assert_eq!(snapshot.revision, 1);
        drain(&outbox).await;
        for _ in 0..3 {
            let waited = outbox.wait(order.id, Duration::ZERO).await.unwrap();
            assert!(matches!(waited, Waited::Settled { .. }));
        }
        let unknown = submit_once::SubmissionId::derived(None, "a", "b");
        assert_eq!(
            outbox.wait(unknown, HOUR).await,
            Err(OutboxError::UnknownId { id: unknown })
        );
    });
}

#[test]
fn lists_are_paged_and_filtered() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(201), status(406), status(201)]);
        for n in 0..3 {
            outbox.submit(order(&outbox, &format!("form {n}"))).unwrap();
        }
        drain(&outbox).await;
        outbox.submit(order(&outbox, "last")).unwrap();
        let all = |filter| {
            let mut page = PageRequest { after: 0, limit: 2 };
            let mut found = Vec::new();
            loop {
                let part = outbox.list(ListFilter::clone(&filter), page).unwrap();
                found.extend(part.snapshots);
                match part.next {
                    Some(next) => page.after = next,
                    None => break found,
                }
            }
        };
        assert_eq!(all(ListFilter::all()).len(), 4);
        assert_eq!(all(ListFilter::of(submit_once::ListState::Moving)).len(), 1);
        assert_eq!(all(ListFilter::of(submit_once::ListState::Held)).len(), 1);
        let settled = all(ListFilter::of(submit_once::ListState::Settled));
        assert_eq!(settled.len(), 2);
        let outcome = settled[0].outcome.as_ref().unwrap();
        assert_eq!((outcome.status, &outcome.body), (Some(201), &None));
        let negative = PageRequest {
            after: -1,
            limit: 1,
        };
        assert!(outbox.list(ListFilter::all(), negative).is_err());
    });
}

/// The three rates, by their formulas.
#[test]
fn the_rates_count_what_they_say() {
    let place = Place::new();
    simulate(6, |world| async move {
        use crate::common::sim::{lost, unreachable};
        let outbox = world.open(&place);
        let none = outbox.stats().unwrap();
        assert_eq!(
            (none.duplicate_hit_rate, none.abnormal_retry_rate),
            (0.0, 0.0)
        );
        world
            .network
            .play([unreachable(), lost(), status(503), status(201)]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        outbox.submit(order.clone()).unwrap();
        outbox.submit(order.json("7")).unwrap_err();
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.joined, stats.replayed), (1, 1));
        assert_eq!(stats.duplicate_hit_rate, 2.0 / 4.0);
        assert_eq!(stats.reuse_refused_rate, 1.0 / 4.0);
        assert_eq!(stats.attempts, 4);
        assert_eq!(stats.abnormal_retry_rate, 2.0 / 4.0);
    });
}

/// Retention needs no call of the app: an idle pump does it.
#[test]
fn an_idle_pump_forgets_by_itself() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        outbox.submit(order(&outbox, "form")).unwrap();
        drain(&outbox).await;
        world.pass(HOUR * 24 * 40).await;
        drain(&outbox).await;
        let rows: i64 = place
            .sql()
            .query_row("SELECT count(*) FROM submission", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 0);
    });
}

/// What a submission waits for can change without anything being written down.
#[test]
fn who_listens_is_told_of_credentials_and_networks() {
    let place = Place::new();
    simulate(32, |world| async move {
        let outbox = world.open(&place);
        let photo = submit_once::Submission {
            unmetered_only: true,
            ..crate::credentials::of("ann", order(&outbox, "photo"))
        };
        outbox.submit(photo.clone()).unwrap();
        outbox.sign_in("ann".to_owned()).unwrap();
        let listener = Arc::new(Counter {
            calls: AtomicUsize::new(0),
            outbox: Arc::downgrade(&outbox),
            fails: false,
        });
        outbox
            .set_listener(Some(Arc::clone(&listener) as _))
            .unwrap();
        let waiting_for = || outbox.snapshot(photo.id).unwrap().waiting_for.unwrap();
        assert_eq!(waiting_for(), WaitingFor::Credentials);
        world.pass(Duration::from_secs(5)).await;
        let mut told = listener.calls.load(Ordering::SeqCst);
        crate::credentials::supply(&outbox, "ann", "token");
        world.pass(Duration::from_secs(1)).await;
        assert_eq!(waiting_for(), WaitingFor::Unmetered);
        assert!(listener.calls.load(Ordering::SeqCst) > told);
        told = listener.calls.load(Ordering::SeqCst);
        outbox
            .network_available(submit_once::NetworkKind::Unmetered)
            .unwrap();
        world.pass(Duration::from_secs(1)).await;
        assert!(matches!(waiting_for(), WaitingFor::Due { .. }));
        assert!(listener.calls.load(Ordering::SeqCst) > told);
    });
}
