//! The inbox: what is done once on this side stays done, what runs runs alone, and what may have
//! happened is never repeated where that would harm.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Inbox, InboxAnswer, InboxDecision, InboxError, InboxFailure, InboxItem, InboxPolicy, InboxRun,
    Limits, OpenError, Outbox,
};

use crate::common::Place;
use crate::common::sim::{World, simulate};

pub const MINUTE: Duration = Duration::from_secs(60);

pub fn inbox(outbox: &Arc<Outbox>) -> Arc<Inbox> {
    Arc::clone(outbox).inbox()
}

pub fn most(key: &str) -> InboxItem {
    InboxItem::new("push", key, InboxPolicy::AtMostOnce)
}

pub fn least(key: &str) -> InboxItem {
    InboxItem::new("push", key, InboxPolicy::AtLeastOnce)
}

pub fn run(inbox: &Inbox, item: InboxItem) -> InboxRun {
    match inbox.begin(item).unwrap() {
        InboxAnswer::Run { run } => run,
        other => panic!("{other:?}"),
    }
}

pub fn result(inbox: &Inbox, item: InboxItem) -> Option<Vec<u8>> {
    match inbox.begin(item).unwrap() {
        InboxAnswer::Done {
            result,
            dropped: false,
            ..
        } => result,
        other => panic!("{other:?}"),
    }
}

pub fn is_busy(inbox: &Inbox, item: InboxItem) -> bool {
    matches!(inbox.begin(item).unwrap(), InboxAnswer::Busy { .. })
}

pub fn is_uncertain(inbox: &Inbox, item: InboxItem) -> bool {
    matches!(inbox.begin(item).unwrap(), InboxAnswer::Uncertain { .. })
}

fn is_lost(answer: &Result<(), InboxError>) -> bool {
    matches!(answer, Err(InboxError::RunLost { .. }))
}

/// Gives all that runs to a process that was killed: its row is there, and nobody holds its lock.
pub fn kill(place: &Place, lock: bool) {
    let sql = place.sql();
    let token = format!("killed-{lock}");
    sql.execute(
        "INSERT INTO owner (token, boot, lease_uptime) SELECT ?1, max(id), 0 FROM boot",
        [&token],
    )
    .unwrap();
    if lock {
        let folder = place.folder().join("outbox.sqlite3-owners");
        std::fs::write(folder.join(token), "").unwrap();
    }
    sql.execute(
        "UPDATE inbox SET owner = ?1 WHERE state = 'running'",
        [sql.last_insert_rowid()],
    )
    .unwrap();
}

fn alone(body: impl FnOnce(&World, &Place)) {
    let place = Place::new();
    simulate(1, |world| async move { body(&world, &place) });
}

#[test]
fn what_is_done_is_done_with_its_first_result_after_a_restart_too() {
    alone(|world, place| {
        let outbox = world.open(place);
        let bytes: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        let one = run(&inbox(&outbox), most("a"));
        assert_eq!(one.number, 1);
        assert!(is_busy(&inbox(&outbox), most("a")));
        inbox(&outbox)
            .finish(one.clone(), Some(bytes.clone()))
            .unwrap();
        // The same call again, and another one, change nothing.
        inbox(&outbox)
            .finish(one.clone(), Some(bytes.clone()))
            .unwrap();
        inbox(&outbox)
            .finish(one.clone(), Some(b"other".to_vec()))
            .unwrap();
        assert!(is_lost(
            &inbox(&outbox).fail(one.clone(), InboxFailure::NothingHappened)
        ));
        assert!(is_lost(&inbox(&outbox).extend(one, MINUTE)));
        let none = run(&inbox(&outbox), least("none"));
        inbox(&outbox).finish(none, None).unwrap();
        outbox.close();
        let outbox = world.open(place);
        assert_eq!(result(&inbox(&outbox), most("a")), Some(bytes));
        assert_eq!(result(&inbox(&outbox), least("none")), None);
        let other = InboxItem::new("local", "a", InboxPolicy::AtMostOnce);
        run(&inbox(&outbox), other);
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.inbox_runs, stats.inbox_repeats), (3, 3));
        assert_eq!(stats.inbox_uncertain, 0);
    });
}

#[test]
fn one_of_two_processes_runs_it_and_the_other_is_told_the_result() {
    alone(|world, place| {
        let (one, two) = (world.open_apart(place), world.open_apart(place));
        let first = run(&inbox(&one), most("a"));
        assert!(is_busy(&inbox(&two), most("a")));
        assert!(is_busy(&inbox(&two), least("a")));
        assert_eq!(inbox(&two).uncertain(None, 10).unwrap(), []);
        inbox(&one).finish(first, Some(b"x".to_vec())).unwrap();
        assert_eq!(result(&inbox(&two), most("a")), Some(b"x".to_vec()));
    });
}

/// Done, under way or in doubt costs no write, and doesn't wait for those of others.
#[test]
fn what_stands_is_answered_while_another_process_writes() {
    alone(|world, place| {
        let limits = Limits {
            busy_timeout: Duration::from_millis(10),
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(place).limits(limits));
        let inbox = inbox(&outbox);
        let done = run(&inbox, most("done"));
        inbox.finish(done, None).unwrap();
        run(&inbox, most("busy"));
        let doubt = run(&inbox, most("doubt"));
        inbox.fail(doubt, InboxFailure::MayHaveHappened).unwrap();
        let other = place.sql();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(result(&inbox, most("done")), None);
        assert!(is_busy(&inbox, most("busy")));
        assert!(is_uncertain(&inbox, most("doubt")));
        assert_eq!(inbox.uncertain(None, 10).unwrap().len(), 1);
        let reused = inbox.begin(most("done").content("other"));
        assert!(matches!(reused, Err(InboxError::KeyReused { .. })));
        let busy = InboxError::Storage {
            storage: submit_once::StorageError::Busy,
        };
        assert_eq!(inbox.begin(most("new")), Err(busy));
    });
}

#[test]
fn a_run_whose_process_is_gone_runs_again_or_is_uncertain_as_the_policy_says() {
    for (case, gone) in ["closed", "killed", "rebooted"].into_iter().enumerate() {
        alone(|world, place| {
            let one = world.open_apart(place);
            let two = world.open_apart(place);
            let again = run(&inbox(&one), least("again"));
            run(&inbox(&one), most("once"));
            run(&inbox(&one), most("asked as the other"));
            run(&inbox(&one), least("begun as the other"));
            match case {
                0 => one.close(),
                1 => kill(place, true),
                _ => {
                    kill(place, false);
                    assert!(is_busy(&inbox(&two), most("once")), "nothing is known");
                    two.close();
                    one.close();
                    world.clock.reboot();
                }
            }
            let two = world.open(place);
            let second = run(&inbox(&two), least("again"));
            assert_eq!(second.number, 2, "{gone}");
            assert!(is_lost(&inbox(&two).finish(again.clone(), None)));
            assert!(is_lost(
                &inbox(&two).fail(again.clone(), InboxFailure::NothingHappened)
            ));
            assert!(is_lost(&inbox(&two).extend(again, MINUTE)));
            inbox(&two).finish(second, None).unwrap();
            assert!(is_uncertain(&inbox(&two), most("once")));
            assert!(is_uncertain(&inbox(&two), least("once")));
            assert!(is_uncertain(&inbox(&two), least("asked as the other")));
            assert!(is_uncertain(&inbox(&two), most("begun as the other")));
            assert_eq!(two.stats().unwrap().inbox_uncertain, 3, "{gone}");
        });
    }
}

/// A handle that was closed and opened anew in one process is another outbox.
#[test]
fn a_run_of_an_outbox_that_was_closed_is_lost_in_the_same_process_too() {
    alone(|world, place| {
        let outbox = world.open(place);
        let other = world.open(place);
        run(&inbox(&outbox), most("a"));
        outbox.close();
        assert!(is_busy(&inbox(&other), most("a")), "the same outbox");
        other.close();
        let outbox = world.open(place);
        assert!(is_uncertain(&inbox(&outbox), most("a")));
        let closed = inbox(&other);
        assert_eq!(closed.begin(most("a")), Err(InboxError::Closed));
        assert_eq!(closed.uncertain(None, 1), Err(InboxError::Closed));
    });
}

#[test]
fn a_run_takes_its_time_and_no_longer_whether_its_process_lives_or_not() {
    let place = Place::new();
    simulate(2, |world| async move {
        let one = world.open_apart(&place);
        let two = world.open_apart(&place);
        let long = most("long").lease(3 * MINUTE);
        let first = run(&inbox(&one), long.clone());
        run(&inbox(&one), least("default"));
        world.pass(3 * MINUTE - Duration::from_millis(1)).await;
        assert!(is_busy(&inbox(&two), long.clone()));
        inbox(&one).extend(first.clone(), MINUTE).unwrap();
        world.pass(MINUTE - Duration::from_millis(1)).await;
        assert!(is_busy(&inbox(&two), long.clone()));
        // Time counts while the device sleeps.
        world.clock.sleep_device(Duration::from_millis(1));
        assert!(is_uncertain(&inbox(&two), long.clone()));
        assert!(is_busy(&inbox(&one), least("default")));
        world.pass(6 * MINUTE).await;
        assert!(is_busy(&inbox(&one), least("default")));
        world.pass(Duration::from_millis(1)).await;
        assert_eq!(run(&inbox(&one), least("default")).number, 2);
        // It lives, and says so: at work again, and then done.
        inbox(&one).extend(first.clone(), MINUTE).unwrap();
        assert!(is_busy(&inbox(&two), long.clone()));
        world.pass(MINUTE).await;
        assert!(is_uncertain(&inbox(&two), long.clone()));
        inbox(&one).finish(first, Some(b"late".to_vec())).unwrap();
        assert_eq!(result(&inbox(&two), long), Some(b"late".to_vec()));
    });
}

/// Where the system names no boots, the lock of the other tells that there was no reboot.
#[test]
fn a_run_of_another_process_is_not_taken_for_one_of_another_boot() {
    let place = Place::new();
    simulate(3, |world| async move {
        world
            .clock
            .names_boots
            .store(false, std::sync::atomic::Ordering::SeqCst);
        let one = world.open_apart(&place);
        let two = world.open_apart(&place);
        run(&inbox(&one), most("a"));
        assert!(is_busy(&inbox(&two), most("a")));
        world.pass(10 * MINUTE).await;
        assert!(is_uncertain(&inbox(&two), most("a")));
    });
}

#[test]
fn another_content_under_a_key_is_refused_in_every_state() {
    alone(|world, place| {
        let outbox = world.open(place);
        let inbox = inbox(&outbox);
        let with = |content: &str| most("k").content(content);
        let refused = |policy: &str| {
            for other in [with("b"), with(""), most("k")] {
                let error = inbox.begin(other).unwrap_err();
                assert!(matches!(error, InboxError::KeyReused { .. }), "{policy}");
            }
        };
        let one = run(&inbox, with("a"));
        refused("running");
        inbox.fail(one, InboxFailure::NothingHappened).unwrap();
        refused("free");
        let two = run(&inbox, with("a"));
        assert_eq!(two.number, 2);
        inbox
            .fail(two.clone(), InboxFailure::MayHaveHappened)
            .unwrap();
        refused("uncertain");
        inbox.finish(two, None).unwrap();
        refused("done");
        assert_eq!(result(&inbox, with("a")), None);
    });
}

#[test]
fn a_run_that_fails_says_whether_anything_may_have_happened() {
    alone(|world, place| {
        let outbox = world.open(place);
        let inbox = inbox(&outbox);
        let (nothing, perhaps) = (InboxFailure::NothingHappened, InboxFailure::MayHaveHappened);
        for (item, failure, runs) in [
            (most("1"), nothing, true),
            (least("2"), nothing, true),
            (most("3"), perhaps, false),
            (least("4"), perhaps, true),
        ] {
            let one = run(&inbox, item.clone());
            inbox.fail(one.clone(), failure).unwrap();
            inbox.fail(one.clone(), failure).unwrap();
            if runs {
                assert!(is_lost(&inbox.finish(one.clone(), None)), "it gave up");
                assert!(is_lost(&inbox.extend(one.clone(), MINUTE)));
                assert_eq!(run(&inbox, item).number, 2);
                assert!(is_lost(&inbox.fail(one, failure)));
            } else {
                assert!(is_uncertain(&inbox, item.clone()));
                // Who ran it knows better by now.
                inbox.fail(one, nothing).unwrap();
                assert_eq!(run(&inbox, item).number, 2);
            }
        }
        // The policy of a new run is the one that it is asked with.
        let one = run(&inbox, most("5"));
        inbox.fail(one, nothing).unwrap();
        let two = run(&inbox, least("5"));
        inbox.fail(two, perhaps).unwrap();
        assert_eq!(run(&inbox, least("5")).number, 3);
    });
}

#[test]
fn what_may_have_happened_is_uncertain_under_at_most_once_whatever_ran_since() {
    alone(|world, place| {
        let outbox = world.open(place);
        let inbox = inbox(&outbox);
        let (nothing, perhaps) = (InboxFailure::NothingHappened, InboxFailure::MayHaveHappened);
        let gave_up = run(&inbox, least("gave up"));
        inbox.fail(gave_up.clone(), perhaps).unwrap();
        run(&inbox, least("lost"));
        kill(place, true);
        for key in ["gave up", "lost"] {
            let second = run(&inbox, least(key));
            inbox.fail(second.clone(), nothing).unwrap();
            assert!(is_uncertain(&inbox, most(key)), "{key}");
            assert!(is_uncertain(&inbox, least(key)), "it was told");
            // It speaks for itself alone.
            inbox.fail(second, nothing).unwrap();
            assert!(is_uncertain(&inbox, most(key)), "{key}");
            let again = InboxDecision::RunAgain;
            inbox
                .decide("push".to_owned(), key.to_owned(), again)
                .unwrap();
            let decided = run(&inbox, most(key));
            inbox.fail(decided, nothing).unwrap();
            let last = run(&inbox, most(key));
            inbox.finish(last, Some(b"r".to_vec())).unwrap();
            assert_eq!(result(&inbox, most(key)), Some(b"r".to_vec()));
        }
    });
}

#[test]
fn a_decision_ends_the_doubt_and_the_say_of_the_run_that_was_lost() {
    alone(|world, place| {
        let one = world.open_apart(place);
        let two = world.open_apart(place);
        let happened = run(&inbox(&one), most("happened"));
        let again = run(&inbox(&one), most("again"));
        run(&inbox(&one), least("least"));
        let busy = inbox(&two).decide(
            "push".to_owned(),
            "again".to_owned(),
            InboxDecision::RunAgain,
        );
        assert!(matches!(busy, Err(InboxError::NotUncertain { .. })));
        kill(place, true);
        let decide = |key: &str, decision: InboxDecision| {
            inbox(&two).decide("push".to_owned(), key.to_owned(), decision)
        };
        let refused = |decided: Result<(), InboxError>| {
            assert!(matches!(decided, Err(InboxError::NotUncertain { .. })));
        };
        refused(decide("least", InboxDecision::RunAgain));
        refused(decide("unknown", InboxDecision::RunAgain));
        // Found by the decision itself, and by the list.
        let result_known = InboxDecision::Happened {
            result: Some(b"seen".to_vec()),
        };
        decide("happened", result_known.clone()).unwrap();
        refused(decide("happened", result_known));
        let listed = inbox(&two).uncertain(Some("push".to_owned()), 10).unwrap();
        let keys: Vec<_> = listed
            .iter()
            .map(|item| (item.key.as_str(), item.runs))
            .collect();
        assert_eq!(keys, [("again", 1)]);
        decide("again", InboxDecision::RunAgain).unwrap();
        assert!(is_lost(&inbox(&two).finish(happened, None)));
        assert!(is_lost(&inbox(&two).finish(again.clone(), None)));
        assert!(is_lost(
            &inbox(&two).fail(again.clone(), InboxFailure::MayHaveHappened)
        ));
        assert_eq!(
            result(&inbox(&two), most("happened")),
            Some(b"seen".to_vec())
        );
        let later = run(&inbox(&two), most("again"));
        assert!(later.number > again.number);
        inbox(&two)
            .fail(later, InboxFailure::MayHaveHappened)
            .unwrap();
        assert_eq!(inbox(&two).uncertain(None, 10).unwrap()[0].runs, 2);
    });
}

#[test]
fn uncertain_items_are_listed_oldest_first_by_scope_and_up_to_a_limit() {
    let place = Place::new();
    simulate(4, |world| async move {
        let one = world.open_apart(&place);
        let two = world.open_apart(&place);
        for n in 0..300 {
            run(&inbox(&one), most(&format!("{n}")));
            world.pass(Duration::from_millis(1)).await;
        }
        run(
            &inbox(&one),
            InboxItem::new("agent", "last", InboxPolicy::AtMostOnce),
        );
        run(&inbox(&two), most("mine"));
        one.close();
        let list = |scope: Option<&str>, limit: u32| -> Vec<String> {
            let listed = inbox(&two).uncertain(scope.map(str::to_owned), limit);
            listed.unwrap().into_iter().map(|item| item.key).collect()
        };
        assert_eq!(list(None, 2), ["0", "1"]);
        assert_eq!(list(None, 1_000).len(), 301);
        assert_eq!(list(Some("push"), 1_000).len(), 300);
        assert_eq!(list(Some("agent"), 1_000), ["last"]);
        assert_eq!(two.stats().unwrap().inbox_uncertain, 301);
    });
}

#[test]
fn input_that_is_no_use_is_refused_by_its_field() {
    alone(|world, place| {
        let limits = Limits {
            max_body_bytes: 10,
            max_answer_bytes: 5,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(place).limits(limits));
        let inbox = inbox(&outbox);
        let field = |refused: Result<(), InboxError>| match refused {
            Err(InboxError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let begin = |item: InboxItem| inbox.begin(item).map(|_| ());
        let item = |scope: &str, key: &str| InboxItem::new(scope, key, InboxPolicy::AtMostOnce);
        let long = "x".repeat(1_025);
        assert_eq!(field(begin(item("", "k"))), "scope");
        assert_eq!(field(begin(item(&long, "k"))), "scope");
        assert_eq!(field(begin(item("s", ""))), "key");
        assert_eq!(field(begin(item("s", &long))), "key");
        assert_eq!(field(begin(most("k").lease(Duration::ZERO))), "lease");
        let week = Duration::from_secs(7 * 86_400);
        let over = week + Duration::from_nanos(1);
        assert_eq!(field(begin(most("k").lease(over))), "lease");
        assert_eq!(field(begin(most("k").content("12345678901"))), "content");
        let one = run(&inbox, most("k").content("1234567890").lease(week));
        assert_eq!(field(inbox.extend(one.clone(), over)), "lease");
        assert_eq!(
            field(inbox.finish(one.clone(), Some(b"123456".to_vec()))),
            "result"
        );
        inbox.finish(one, Some(b"12345".to_vec())).unwrap();
        for limit in [0, 1_001] {
            let refused = inbox.uncertain(None, limit).map(|_| ());
            assert_eq!(field(refused), "limit");
        }
    });
}

#[test]
fn scopes_that_make_no_sense_are_refused_at_opening() {
    alone(|world, place| {
        let scope = |name: &str, days: u64, keys: Option<u64>| submit_once::InboxScope {
            name: name.to_owned(),
            keep_results: Duration::from_secs(days * 86_400),
            keep_keys: keys.map(|days| Duration::from_secs(days * 86_400)),
        };
        for scopes in [
            vec![scope("", 1, None)],
            vec![scope(&"x".repeat(1_025), 1, None)],
            vec![
                scope("a", 1, None),
                scope("b", 1, None),
                scope("a", 2, None),
            ],
            vec![scope("a", 36_501, None)],
            vec![scope("a", 1, Some(36_501))],
        ] {
            let mut config = world.config(place);
            config.inbox_scopes = scopes;
            let opened = Outbox::open_with(config, world.seams());
            assert!(
                matches!(opened, Err(OpenError::InvalidConfig { field, .. }) if field == "inbox_scopes")
            );
        }
    });
}
