//! Signing out: what waits for its account, and what goes with it.

use std::time::Duration;

use submit_once::{
    ChangePage, Fault, Limits, ListFilter, Outbox, OutboxConfig, ReceiptKind, ServerProfile,
    SignOut, SignedOutReport, Submission, SubmissionState, Waited, WaitingFor, WireAnswer,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, lost, order, simulate, status_with};
use crate::credentials::{of, supply, token};

const SECOND: Duration = Duration::from_secs(1);

fn sign_in(outbox: &Outbox, account: &str, token: &str) {
    outbox.sign_in(account.to_owned()).unwrap();
    supply(outbox, account, token);
}

fn hand_over() -> Play {
    Play::HandOver { confirm: true }
}

fn state(outbox: &Outbox, submission: &Submission) -> SubmissionState {
    outbox.snapshot(submission.id).unwrap().state
}

fn count(place: &Place, sql: &str) -> i64 {
    place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Something recognisable, in a body, a URL and an intent.
fn secret(outbox: &Outbox, account: &str, n: usize) -> Submission {
    let id = outbox.begin(format!("slot-of-{account}-{n}")).unwrap();
    let url = format!("/url-of-{account}/{n}");
    of(
        account,
        Submission::post(id, &url).json(format!(r#""body-of-{account}""#)),
    )
}

/// F80, F81: who signs out loses nothing, and nobody else's session sends it.
#[test]
fn what_is_kept_is_counted_and_goes_when_its_account_is_back() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let nothing = outbox.sign_out(SignOut::Keep).unwrap();
        assert_eq!(nothing, SignedOutReport::default());
        sign_in(&outbox, "ann", "anns");
        world.network.play([lost(), hand_over()]);
        let orders = [1, 2, 3].map(|n| secret(&outbox, "ann", n));
        for order in &orders {
            outbox.submit(order.clone()).unwrap();
        }
        outbox.submit(order(&outbox, "nobody's")).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let report = outbox.sign_out(SignOut::Keep).unwrap();
        let expected = SignedOutReport {
            account: Some("ann".into()),
            kept: 2,
            ..SignedOutReport::default()
        };
        assert_eq!(report, expected, "in doubt and on the wire");
        sign_in(&outbox, "bob", "bobs");
        world.pass(SECOND * 3_600).await;
        assert_eq!(
            outbox.snapshot(orders[0].id).unwrap().waiting_for,
            Some(WaitingFor::SignedOut)
        );
        assert!(
            world
                .network
                .seen()
                .iter()
                .all(|seen| token(&seen.request) != Some("bobs".into()))
        );
        world.network.take().answered(answer(201, "{}"));
        sign_in(&outbox, "ann", "anew");
        world.pass(SECOND * 60).await;
        for order in &orders {
            assert_eq!(state(&outbox, order), SubmissionState::Succeeded);
        }
    });
}

/// One of each, in a word what becomes of it.
#[test]
fn a_purge_ends_each_by_what_is_known_of_it_and_leaves_no_others_touched() {
    let place = Place::new();
    simulate(2, |world| async move {
        let limits = Limits {
            inline_body_bytes: 1_000,
            ..Limits::default()
        };
        let config = OutboxConfig {
            profile: Some(ServerProfile {
                replays_success: true,
                ..ServerProfile::default()
            }),
            ..world.config(&place).limits(limits)
        };
        let outbox = world.open_with(config);
        sign_in(&outbox, "bob", "bobs");
        let bobs = secret(&outbox, "bob", 1);
        outbox.submit(bobs.clone()).unwrap();
        sign_in(&outbox, "ann", "anns");
        let cut = WireAnswer {
            complete: false,
            ..answer(201, "{")
        };
        world.network.play([
            Play::Answer(SECOND, answer(201, r#""result-of-ann""#)),
            lost(),
            Play::Answer(SECOND, cut),
            hand_over(),
            Play::HandOver { confirm: false },
            status_with(429, "retry-after", "3600"),
        ]);
        let large = {
            let large = secret(&outbox, "ann", 5);
            Submission {
                body: submit_once::Body::Bytes {
                    bytes: b"body-of-ann".repeat(1_000),
                    content_type: "text/plain".into(),
                },
                ..large
            }
        };
        let [done, doubtful, fetching, sent, unsent] =
            [1, 2, 3, 4, 6].map(|n| secret(&outbox, "ann", n));
        let all = [&done, &doubtful, &fetching, &sent, &unsent, &large];
        for order in all {
            outbox.submit((*order).clone()).unwrap();
        }
        outbox.start().unwrap();
        // The cut answer is asked for again.
        world.network.always(|_| hand_over());
        world.pass(SECOND * 3).await;
        assert_eq!(place.bodies().len(), 1);
        let waiting = outbox.wait(sent.id, SECOND * 60);
        let (waited, report) =
            tokio::join!(waiting, async { outbox.sign_out(SignOut::Purge).unwrap() });
        let expected = SignedOutReport {
            account: Some("ann".into()),
            kept: 0,
            cancelled: 2,
            abandoned: 2,
            succeeded: 1,
        };
        assert_eq!(report, expected);
        assert!(matches!(waited, Ok(Waited::Settled { .. })), "{waited:?}");
        let ends = all.map(|order| state(&outbox, order));
        let expected = [
            SubmissionState::Succeeded,
            SubmissionState::Abandoned,
            SubmissionState::Succeeded,
            SubmissionState::Abandoned,
            SubmissionState::Cancelled,
            SubmissionState::Cancelled,
        ];
        assert_eq!(ends, expected);
        // What comes now is too late for anything.
        let (late, never) = (world.network.take(), world.network.take());
        late.answered(answer(201, r#""result-of-ann""#));
        assert!(!never.confirm(), "it was stopped before it was sent");
        world.pass(SECOND * 7_200).await;
        for (order, end) in all.into_iter().zip(expected) {
            let receipt = outbox.submit(order.clone()).unwrap();
            assert_eq!(receipt.kind, ReceiptKind::Replayed);
            assert_eq!(
                (receipt.snapshot.state, receipt.snapshot.url),
                (end, String::new())
            );
        }
        // The feed ends with the same.
        let ChangePage::Changes { changes, .. } = outbox.changes(0, 1_000).unwrap() else {
            panic!("nothing was trimmed");
        };
        for (order, end) in all.into_iter().zip(expected) {
            let last = changes.iter().rfind(|change| change.id == order.id);
            assert_eq!(last.unwrap().state, end);
        }
        assert_eq!(state(&outbox, &bobs), SubmissionState::Pending);
        assert_eq!(outbox.stats().unwrap().pending, 1);
        assert_eq!(outbox.stats().unwrap().in_flight, 0);
        let listed = outbox.list(ListFilter::all(), Default::default()).unwrap();
        assert_eq!(listed.snapshots.len(), 1);
        assert_eq!(place.bodies().len(), 0);
        assert!(
            !file_has(&place, "-of-ann"),
            "bodies, URLs, results, intents"
        );
        assert!(
            file_has(&place, "body-of-bob"),
            "the look finds what is there"
        );
    });
}

/// True if a text is anywhere in the database or its log.
fn file_has(place: &Place, text: &str) -> bool {
    ["outbox.sqlite3", "outbox.sqlite3-wal"].iter().any(|file| {
        let bytes = std::fs::read(place.folder().join(file)).unwrap_or_default();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    })
}

const MANY: usize = 300;

/// So many of ann's, the first in doubt, and a purge that breaks off in the middle of them.
async fn broken_off(world: &World, place: &Place) -> Vec<Submission> {
    let outbox = world.open(place);
    sign_in(&outbox, "ann", "anns");
    let orders: Vec<_> = (0..MANY).map(|n| secret(&outbox, "ann", n)).collect();
    world.network.play([lost()]);
    world.network.always(|_| crate::common::sim::unreachable());
    outbox.submit_all(orders.clone()).unwrap();
    drain(&outbox).await;
    place
        .sql()
        .execute_batch(
            "CREATE TRIGGER broken BEFORE UPDATE OF purging ON account
             WHEN OLD.purging IS NOT NULL AND (SELECT count(*) FROM tombstone) > 200
             BEGIN SELECT RAISE(ABORT, 'broken off'); END",
        )
        .unwrap();
    outbox.sign_out(SignOut::Purge).unwrap_err();
    let left = count(place, "SELECT count(*) FROM submission");
    assert!((1..MANY as i64).contains(&left), "in the middle: {left}");
    place.sql().execute_batch("DROP TRIGGER broken").unwrap();
    outbox.close();
    orders
}

fn check_purged(place: &Place, outbox: &Outbox, orders: &[Submission]) {
    assert_eq!(count(place, "SELECT count(*) FROM submission"), 0);
    assert_eq!(count(place, "SELECT count(*) FROM slot"), 0);
    assert_eq!(outbox.stats().unwrap().pending, 0);
    assert_eq!(state(outbox, &orders[0]), SubmissionState::Abandoned);
    for order in &orders[1..] {
        assert_eq!(state(outbox, order), SubmissionState::Cancelled);
    }
    assert!(!file_has(place, "-of-ann"));
}

#[test]
fn a_purge_that_breaks_off_goes_on_with_the_next_opening_and_its_steps() {
    let place = Place::new();
    simulate(3, |world| async move {
        let orders = broken_off(&world, &place).await;
        let sent = world.network.sent();
        let outbox = world.open(&place);
        outbox.start().unwrap();
        world.pass(SECOND).await;
        check_purged(&place, &outbox, &orders);
        assert_eq!(world.network.sent(), sent, "nothing is sent any more");
    });
}

#[test]
fn a_purge_that_breaks_off_is_gone_on_with_by_calls_of_retain() {
    let place = Place::new();
    simulate(4, |world| async move {
        let orders = broken_off(&world, &place).await;
        let outbox = world.open(&place);
        while outbox.retain().unwrap() {}
        check_purged(&place, &outbox, &orders);
    });
}

#[test]
fn a_purge_that_is_called_again_counts_all_of_it() {
    let place = Place::new();
    simulate(5, |world| async move {
        let orders = broken_off(&world, &place).await;
        let outbox = world.open(&place);
        let report = outbox.sign_out(SignOut::Purge).unwrap();
        let expected = SignedOutReport {
            account: Some("ann".into()),
            kept: 0,
            cancelled: MANY as u32 - 1,
            abandoned: 1,
            succeeded: 0,
        };
        assert_eq!(report, expected);
        check_purged(&place, &outbox, &orders);
        let nothing = outbox.sign_out(SignOut::Purge).unwrap();
        assert_eq!(nothing, SignedOutReport::default());
    });
}

/// Who comes back finds nothing of what was purged, and loses nothing of what is new.
#[test]
fn signing_in_again_first_finishes_the_purge_and_takes_nothing_new_along() {
    let place = Place::new();
    simulate(6, |world| async move {
        let orders = broken_off(&world, &place).await;
        world.network.always(|_| crate::common::sim::created());
        let outbox = world.open(&place);
        let early = of("ann", order(&outbox, "while it is purged"));
        outbox.submit(early.clone()).unwrap();
        sign_in(&outbox, "ann", "anew");
        let slot = outbox.begin("slot-of-ann-1".into()).unwrap();
        assert_ne!(slot, orders[1].id);
        outbox.start().unwrap();
        outbox.wait(early.id, SECOND * 60).await.unwrap();
        assert_eq!(state(&outbox, &early), SubmissionState::Succeeded);
        assert_eq!(count(&place, "SELECT count(*) FROM submission"), 1);
        assert_eq!(state(&outbox, &orders[0]), SubmissionState::Abandoned);
    });
}

/// P10 across processes: what the other one has on the wire ends there, and what it still has of the
/// credentials is of no use.
#[test]
fn what_another_process_sends_for_the_account_is_stopped_and_its_token_is_void() {
    let place = Place::new();
    simulate(7, |world| async move {
        let (first, second) = (world.open(&place), world.open_apart(&place));
        sign_in(&first, "ann", "of the first");
        supply(&second, "ann", "of the second");
        world.network.play([hand_over(), hand_over()]);
        let orders = [1, 2].map(|n| secret(&second, "ann", n));
        for order in &orders {
            second.submit(order.clone()).unwrap();
        }
        second.start().unwrap();
        world.pass(SECOND).await;
        let report = first.sign_out(SignOut::Purge).unwrap();
        assert_eq!(report.abandoned, 2);
        // A redirect of what was purged is not followed.
        let exchanges = [world.network.take(), world.network.take()];
        let mut moved = answer(307, "");
        moved
            .headers
            .push(crate::common::sim::header("location", "/elsewhere"));
        let [redirected, stopped] = exchanges;
        redirected.answered(moved);
        world.pass(SECOND).await;
        assert_eq!(world.network.seen().len(), 2);
        tokio::time::timeout(SECOND, stopped.stopped())
            .await
            .expect("its process has noticed");
        stopped.failed(Fault::Lost);

        sign_in(&first, "ann", "anew");
        first.close();
        let later = of("ann", order(&second, "later"));
        second.submit(later.clone()).unwrap();
        world.pass(SECOND * 3_600).await;
        assert_eq!(world.network.seen().len(), 2, "the old token is void");
        assert_eq!(
            second.snapshot(later.id).unwrap().waiting_for,
            Some(WaitingFor::Credentials)
        );
        supply(&second, "ann", "fresh");
        second.wait(later.id, SECOND * 60).await.unwrap();
        assert_eq!(state(&second, &later), SubmissionState::Succeeded);
        assert_eq!(state(&second, &orders[0]), SubmissionState::Abandoned);
    });
}

/// A safe method has no effect, so it can't be in doubt.
#[test]
fn a_safe_request_on_the_wire_is_cancelled() {
    let place = Place::new();
    simulate(8, |world| async move {
        let (first, second) = (world.open(&place), world.open_apart(&place));
        sign_in(&first, "ann", "anns");
        supply(&second, "ann", "anns");
        world.network.play([hand_over()]);
        let id = second.begin("look".into()).unwrap();
        let look = of("ann", Submission::new(id, "GET", "/orders"));
        second.submit(look.clone()).unwrap();
        second.start().unwrap();
        world.pass(SECOND).await;
        let report = first.sign_out(SignOut::Purge).unwrap();
        assert_eq!((report.cancelled, report.abandoned), (1, 0));
        assert_eq!(state(&first, &look), SubmissionState::Cancelled);
    });
}

/// P11: one row that can't be read stops no purge, and is not dropped unseen.
#[test]
fn a_row_that_cannot_be_read_stops_no_purge() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        sign_in(&outbox, "ann", "anns");
        for n in 0..3 {
            outbox.submit(secret(&outbox, "ann", n)).unwrap();
        }
        place
            .sql()
            .execute_batch("UPDATE submission SET attempts = -1 WHERE seq = 2")
            .unwrap();
        let report = outbox.sign_out(SignOut::Purge).unwrap();
        assert_eq!(report.cancelled, 2);
        assert_eq!(
            count(
                &place,
                "SELECT count(*) FROM submission WHERE state = 'held'"
            ),
            1
        );
    });
}
