//! Retention by count, by bytes and by the server's memory; what it gives back, and what it leaves.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Limits, Outbox, OutboxError, ReceiptKind, ServerProfile, Submission, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{BIRTH, Play, World, answer, drain, lost, order, simulate};

const DAY: Duration = Duration::from_secs(86_400);

fn forget(outbox: &Outbox) {
    while outbox.retain().unwrap() {}
}

fn rows(place: &Place, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let count = place.sql().query_row(&sql, [], |row| row.get(0));
    count.unwrap()
}

fn open(world: &World, place: &Place, limits: Limits) -> Arc<Outbox> {
    world.open_with(world.config(place).limits(limits))
}

fn few(keep_results_count: u32) -> Limits {
    Limits {
        keep_results_count,
        ..Limits::default()
    }
}

/// Delivers some, one after the other.
async fn deliver(world: &World, outbox: &Outbox, slots: std::ops::Range<u32>) -> Vec<Submission> {
    let mut orders = Vec::new();
    for number in slots {
        let order = order(outbox, &format!("order-{number}"));
        outbox.submit(order.clone()).unwrap();
        drain(outbox).await;
        world.pass(Duration::from_secs(1)).await;
        orders.push(order);
    }
    orders
}

/// Which of them still have their result whole.
fn kept(outbox: &Outbox, orders: &[Submission]) -> Vec<bool> {
    let whole = |order: &Submission| {
        let snapshot = outbox.snapshot(order.id).unwrap();
        assert_eq!(snapshot.state, SubmissionState::Succeeded);
        snapshot.outcome.unwrap().body.is_some()
    };
    orders.iter().map(whole).collect()
}

#[test]
fn above_the_count_the_oldest_become_tombstones_and_still_converge() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = open(&world, &place, few(3));
        let waiting = order(&outbox, "waiting");
        world.network.play([lost()]);
        outbox.submit(waiting.clone()).unwrap();
        drain(&outbox).await;
        let orders = deliver(&world, &outbox, 0..5).await;
        world.pass(DAY).await;
        forget(&outbox);
        assert_eq!(kept(&outbox, &orders), [false, false, true, true, true]);
        for order in &orders {
            let receipt = outbox.submit(order.clone()).unwrap();
            assert_eq!(receipt.kind, ReceiptKind::Replayed);
            let reuse = outbox.submit(order.clone().json("7"));
            assert!(matches!(reuse, Err(OutboxError::KeyReused { .. })));
        }
        assert_eq!(outbox.submit(waiting).unwrap().kind, ReceiptKind::Joined);
        assert_eq!(world.network.sent(), 6);
    });
}

#[test]
fn above_the_bytes_the_oldest_go_until_the_rest_fits() {
    let place = Place::new();
    simulate(2, |world| async move {
        let limits = Limits {
            keep_results_bytes: 2_500,
            ..Limits::default()
        };
        let outbox = open(&world, &place, limits);
        world
            .network
            .always(|_| Play::Answer(Duration::ZERO, answer(201, &"a".repeat(1_000))));
        let orders = deliver(&world, &outbox, 0..4).await;
        assert_eq!(outbox.stats().unwrap().result_bytes, 4_000);
        forget(&outbox);
        assert_eq!(kept(&outbox, &orders), [false, false, true, true]);
        assert_eq!(outbox.stats().unwrap().result_bytes, 2_000);
    });
}

/// A clock that nobody vouches for drops nothing by age, and count and bytes don't ask it.
#[test]
fn without_the_time_of_a_server_only_count_and_bytes_drop_something() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = open(&world, &place, few(2));
        deliver(&world, &outbox, 0..5).await;
        outbox.close();
        // No server has told the time in this boot.
        world.pass(DAY * 1_000).await;
        world.clock.reboot();
        let outbox = open(&world, &place, few(2));
        forget(&outbox);
        assert_eq!(
            (rows(&place, "submission"), rows(&place, "tombstone")),
            (2, 3)
        );
    });
}

/// Each step is bounded; a thousand are gone after a few of them.
#[test]
fn a_step_drops_a_hundred_or_so_and_says_that_there_is_more() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let orders: Vec<Submission> = (0..300)
            .map(|number| order(&outbox, &format!("order-{number}")))
            .collect();
        outbox.submit_all(orders).unwrap();
        drain(&outbox).await;
        outbox.close();
        let outbox = open(&world, &place, few(0));
        assert!(outbox.retain().unwrap());
        assert_eq!(rows(&place, "tombstone"), 128);
        forget(&outbox);
        assert_eq!(
            (rows(&place, "submission"), rows(&place, "tombstone")),
            (0, 300)
        );
    });
}

/// What an idle pump does by itself keeps up with what settles between two of its looks.
#[test]
fn a_pump_that_did_not_finish_goes_on_at_its_next_turn() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = open(&world, &place, few(0));
        let soon = std::time::UNIX_EPOCH + Duration::from_millis(BIRTH.unsigned_abs() + 1);
        let orders: Vec<Submission> = (0..1_500)
            .map(|number| order(&outbox, &format!("order-{number}")).expires_at(soon))
            .collect();
        outbox.submit_all(orders).unwrap();
        world.pass(Duration::from_secs(1)).await;
        drain(&outbox).await;
        assert_eq!(outbox.stats().unwrap().expired, 1_500);
        for _ in 0..3 {
            drain(&outbox).await;
        }
        assert_eq!(rows(&place, "submission"), 0, "within the hour of one look");
    });
}

#[test]
fn the_file_shrinks_after_a_few_steps() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = open(&world, &place, few(0));
        world
            .network
            .always(|_| Play::Answer(Duration::ZERO, answer(201, &"a".repeat(100_000))));
        deliver(&world, &outbox, 0..30).await;
        outbox.close();
        let outbox = open(&world, &place, few(0));
        let size = || std::fs::metadata(place.database()).unwrap().len();
        let (bytes, before) = (outbox.stats().unwrap().database_bytes, size());
        assert!(before > 3_000_000, "{before}");
        assert_eq!(before, u64::try_from(bytes).unwrap());
        let mut steps = 0;
        while outbox.retain().unwrap() {
            steps += 1;
        }
        assert!(steps > 5, "a bounded share in each of {steps} steps");
        // An empty database has some 310,000 bytes.
        assert!(outbox.stats().unwrap().database_bytes < 400_000);
        outbox.close();
        open(&world, &place, few(0)).close();
        assert!(size() < 400_000, "{}", size());
    });
}

/// What was sent and answered leaves no trace in the files once it is dropped.
#[test]
fn the_bytes_of_a_dropped_body_and_result_are_nowhere_in_the_files() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = open(&world, &place, few(0));
        // Small ones lie within a page, large ones on pages of their own.
        let secrets: Vec<String> = [1, 10, 400, 4_000]
            .iter()
            .map(|times| format!("secret-{times}-").repeat(*times))
            .collect();
        for (number, secret) in secrets.iter().enumerate() {
            let text = format!("\"result-{secret}\"");
            world
                .network
                .play([Play::Answer(Duration::ZERO, answer(201, &text))]);
            let id = outbox.begin(format!("form-{number}")).unwrap();
            let body = format!("\"body-{secret}\"");
            outbox
                .submit(Submission::post(id, &format!("/path-{number}")).json(body))
                .unwrap();
            drain(&outbox).await;
        }
        let bytes = |path: std::path::PathBuf| std::fs::read(path).unwrap();
        let wal = place.database().with_extension("sqlite3-wal");
        let found = |what: &str| {
            let all = [bytes(place.database()), bytes(wal.clone())].concat();
            all.windows(what.len())
                .any(|window| window == what.as_bytes())
        };
        assert!(found("secret-1-") && found("result-secret-4000-"));
        forget(&outbox);
        outbox.close();
        // Opening writes the log back and empties it.
        let outbox = open(&world, &place, few(0));
        assert_eq!(rows(&place, "tombstone"), 4);
        for what in ["secret-", "/path-"] {
            assert!(!found(what), "{what}");
        }
        outbox.close();
    });
}

/// A late duplicate converges here for at least as long as it would at its server.
#[test]
fn a_tombstone_is_kept_as_long_as_its_server_remembers_the_key() {
    let place = Place::new();
    simulate(8, |world| async move {
        let limits = Limits {
            keep_results: DAY,
            keep_tombstones: DAY,
            ..Limits::default()
        };
        let config = world.config(&place).limits(limits);
        let outbox = world.open_with(config.clone().profile(ServerProfile {
            retention: Some(DAY * 30),
            ..ServerProfile::default()
        }));
        let remembered = order(&outbox, "remembered");
        outbox.submit(remembered.clone()).unwrap();
        drain(&outbox).await;
        outbox.close();
        let outbox = world.open_with(config);
        let plain = order(&outbox, "plain");
        outbox.submit(plain.clone()).unwrap();
        drain(&outbox).await;
        for _ in 0..10 {
            world.pass(DAY).await;
            forget(&outbox);
        }
        assert_eq!(
            outbox.submit(plain.clone()),
            Err(OutboxError::IdTooOld { id: plain.id })
        );
        let receipt = outbox.submit(remembered.clone()).unwrap();
        assert_eq!(receipt.kind, ReceiptKind::Replayed);
        world.pass(DAY * 21).await;
        forget(&outbox);
        assert!(matches!(
            outbox.submit(remembered),
            Err(OutboxError::IdTooOld { .. })
        ));
    });
}

/// Names of lanes and latest-wins keys go with the last submission that has them.
#[test]
fn a_name_goes_with_its_last_submission_unless_somebody_still_needs_it() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = open(&world, &place, few(0));
        deliver(&world, &outbox, 0..5).await;
        let uptime = 86_400_000 + 3_600_000;
        place
            .sql()
            .execute_batch(&format!(
                "DROP TRIGGER submission_frozen;
                 UPDATE submission SET lane = 'done' WHERE seq IN (1, 2);
                 UPDATE submission SET lane = 'stopped' WHERE seq = 3;
                 UPDATE submission SET replaces = 'done' WHERE seq = 4;
                 UPDATE submission SET replaces = 'floor' WHERE seq = 5;
                 INSERT INTO lane (account, name) VALUES ('', 'done');
                 INSERT INTO lane (account, name, stopped) VALUES ('', 'stopped', 3);
                 INSERT INTO latest (account, name) VALUES ('', 'done');
                 INSERT INTO latest (account, name, floor_seq, floor_uptime, delay, boot)
                    VALUES ('', 'floor', 5, {uptime}, 0, 1);"
            ))
            .unwrap();
        forget(&outbox);
        let names = |table: &str| -> String {
            let sql = format!("SELECT coalesce(group_concat(name), '') FROM {table}");
            place.sql().query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(
            (names("lane"), names("latest")),
            ("stopped".into(), "floor".into())
        );
        assert_eq!(
            rows(&place, "submission"),
            2,
            "the one whose floor isn't over, and the one that stopped its lane"
        );
        world.pass(Duration::from_secs(3_600)).await;
        forget(&outbox);
        assert_eq!(
            (names("latest"), rows(&place, "submission")),
            (String::new(), 1)
        );
        assert!(outbox.release_lane(None, "stopped".to_owned()).unwrap());
        forget(&outbox);
        assert_eq!(
            (names("lane"), rows(&place, "submission")),
            (String::new(), 0)
        );
    });
}

/// A result that an unsettled child still takes something from stays.
#[test]
fn a_parent_stays_until_its_children_are_settled() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let parent = deliver(&world, &outbox, 0..1).await;
        world.network.play([lost()]);
        let child = order(&outbox, "child");
        outbox.submit(child.clone()).unwrap();
        drain(&outbox).await;
        place
            .sql()
            .execute_batch("INSERT INTO dependency (child, parent) VALUES (2, 1)")
            .unwrap();
        outbox.close();
        let outbox = open(&world, &place, few(0));
        forget(&outbox);
        assert_eq!(kept(&outbox, &parent), [true]);
        outbox.start().unwrap();
        outbox.wait(child.id, DAY).await.unwrap();
        outbox.suspend().unwrap();
        forget(&outbox);
        assert_eq!(
            (rows(&place, "submission"), rows(&place, "dependency")),
            (0, 0)
        );
    });
}
