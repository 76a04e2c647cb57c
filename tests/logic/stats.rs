//! What `stats` counts, and that it survives: restarts, other processes, retention.

use std::time::Duration;

use submit_once::{
    HeldCount, HoldReason, Limits, Outbox, OutboxError, ReceiptKind, Resolution, Stats, Submission,
};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, lost, order, simulate, status, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// The totals alone: what never goes down.
fn totals(stats: &Stats) -> Vec<i64> {
    let mut totals = vec![
        stats.submit_calls,
        stats.accepted,
        stats.joined,
        stats.replayed,
        stats.reuse_refused,
        stats.succeeded,
        stats.rejected,
        stats.cancelled,
        stats.expired,
        stats.superseded,
        stats.abandoned,
        stats.attempts,
        stats.retries_after_answer,
        stats.retries_after_silence,
        stats.retries_after_no_connection,
        stats.doubts_raised,
        stats.doubts_settled,
    ];
    totals.extend(stats.time_to_settle.iter().map(|times| times.count));
    totals
}

/// How many settled within at most so many milliseconds, of the entry of that name alone.
fn within(stats: &Stats, millis: u64) -> i64 {
    let entry = stats
        .time_to_settle
        .iter()
        .find(|times| times.at_most == Some(Duration::from_millis(millis)));
    entry.unwrap().count
}

/// One of each: succeeds after three failures, is refused, is cancelled, is given up in doubt.
async fn busy_run(outbox: &Outbox, world: &World) {
    world
        .network
        .play([unreachable(), lost(), status(503), created()]);
    let retried = order(outbox, "retried");
    outbox.submit(retried.clone()).unwrap();
    outbox.start().unwrap();
    outbox.wait(retried.id, HOUR).await.unwrap();
    world.network.play([status(422)]);
    let refused = order(outbox, "refused");
    outbox.submit(refused.clone()).unwrap();
    outbox.wait(refused.id, HOUR).await.unwrap();
    outbox.suspend().unwrap();
    let cancelled = order(outbox, "cancelled");
    outbox.submit(cancelled.clone()).unwrap();
    outbox.cancel(cancelled.id).unwrap();
    let doubtful = order(outbox, "doubtful");
    world.network.play([lost()]);
    outbox.submit(doubtful.clone()).unwrap();
    drain(outbox).await;
    world.pass(Duration::from_secs(1)).await;
    outbox.cancel(doubtful.id).unwrap();
}

#[test]
fn a_busy_run_is_told_in_numbers_and_a_restart_changes_none() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        busy_run(&outbox, &world).await;
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.accepted, stats.submit_calls), (4, 4));
        assert_eq!(
            (stats.succeeded, stats.rejected, stats.cancelled),
            (1, 1, 1)
        );
        assert_eq!(
            stats.held_by_reason,
            [HeldCount {
                reason: HoldReason::CancelRequested,
                count: 1
            }]
        );
        assert_eq!((stats.pending, stats.in_flight, stats.held), (0, 0, 1));
        assert_eq!(stats.attempts, 6);
        assert_eq!(stats.retries_after_no_connection, 1);
        assert_eq!(stats.retries_after_silence, 1);
        assert_eq!(stats.retries_after_answer, 1);
        assert_eq!(stats.abnormal_retry_rate, 2.0 / 6.0);
        // The lost one and the 503 of the first were settled with its end.
        assert_eq!((stats.doubts_raised, stats.doubts_settled), (3, 2));
        assert_eq!(stats.in_doubt, 1);
        assert_eq!(
            stats.queued_bytes,
            r#"{"order":"doubtful"}"#.len() as i64,
            "only the held one is unsettled"
        );
        // The kept answers: of the success, and of the refusal.
        assert_eq!(stats.result_bytes, 2 * r#"{"n":1}"#.len() as i64);
        assert!(stats.oldest_age.unwrap() >= Duration::from_secs(1));
        assert!(stats.database_bytes > 4_096);
        let settled: i64 = stats.time_to_settle.iter().map(|times| times.count).sum();
        assert_eq!(settled, 3);
        assert_eq!(within(&stats, 100), 2, "the refusal and the cancel");
        outbox.close();
        let outbox = world.open(&place);
        let after = outbox.stats().unwrap();
        assert_eq!(
            Stats {
                oldest_age: stats.oldest_age,
                database_bytes: stats.database_bytes,
                ..after
            },
            stats
        );
        let held = &outbox.list(
            Default::default(),
            submit_once::PageRequest { after: 0, limit: 9 },
        );
        let held = held.as_ref().unwrap().snapshots.last().unwrap();
        outbox
            .resolve(held.id, held.revision, Resolution::GiveUp)
            .unwrap();
        let stats = outbox.stats().unwrap();
        assert_eq!(stats.abandoned, 1);
        assert_eq!((stats.doubts_raised, stats.doubts_settled), (3, 3));
        assert_eq!((stats.in_doubt, stats.held, stats.queued_bytes), (0, 0, 0));
        assert_eq!(stats.oldest_age, None);
    });
}

/// Doubt that is raised and not settled is that of the attempts that are unknown now.
#[test]
fn doubts_add_up_through_a_takeover_a_late_answer_and_a_settling_answer() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        outbox.start().unwrap();
        world.network.play([Play::HandOver { confirm: true }]);
        let late = order(&outbox, "late");
        outbox.submit(late.clone()).unwrap();
        world.pass(Duration::from_secs(1)).await;
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.in_flight, stats.in_doubt), (1, 1));
        assert_eq!(stats.doubts_raised, 0, "it has not ended");
        // It is cut off, and answers all the same.
        outbox.suspend().unwrap();
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.doubts_raised, stats.doubts_settled), (1, 0));
        assert_eq!((stats.in_flight, stats.in_doubt), (0, 1));
        world.network.take().answered(answer(201, "{}"));
        outbox.start().unwrap();
        outbox.wait(late.id, HOUR).await.unwrap();
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.doubts_raised, stats.doubts_settled), (1, 1));
        assert_eq!((stats.succeeded, stats.in_doubt), (1, 0));
    });
}

/// A safe method leaves no doubt, and an attempt after its time-out is one after silence.
#[test]
fn a_fetch_that_got_no_answer_is_repeated_after_silence() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), unreachable(), created()]);
        let id = outbox.begin("fetch".into()).unwrap();
        outbox
            .submit(Submission::new(id, "GET", "/configuration"))
            .unwrap();
        outbox.start().unwrap();
        outbox.wait(id, HOUR).await.unwrap();
        let stats = outbox.stats().unwrap();
        assert_eq!(stats.retries_after_silence, 1);
        assert_eq!(stats.retries_after_no_connection, 1);
        assert_eq!((stats.doubts_raised, stats.doubts_settled), (0, 0));
        assert_eq!(stats.abnormal_retry_rate, 1.0 / 3.0);
    });
}

/// Calls that only read are counted at no cost, and written with what is written anyway, by `retain`
/// and at the end.
#[test]
fn two_processes_add_up_and_what_is_only_read_is_written_later() {
    let place = Place::new();
    simulate(4, |world| async move {
        let (one, two) = (world.open_apart(&place), world.open_apart(&place));
        let shared = order(&one, "shared");
        let joins = |outbox: &Outbox, times: usize| {
            for _ in 0..times {
                let kind = outbox.submit(shared.clone()).unwrap().kind;
                assert_eq!(kind, ReceiptKind::Joined);
            }
        };
        let joined = |outbox: &Outbox| outbox.stats().unwrap().joined;
        one.submit(shared.clone()).unwrap();
        let version = || -> i64 {
            let watch = place.sql();
            watch
                .query_row("SELECT coalesce(sum(count), 0) FROM total", [], |row| {
                    row.get(0)
                })
                .unwrap()
        };
        let before = version();
        joins(&one, 2);
        joins(&two, 3);
        assert_eq!(version(), before, "nothing was written for them");
        assert_eq!((joined(&one), joined(&two)), (2, 3));
        one.retain().unwrap();
        assert_eq!((joined(&one), joined(&two)), (2, 5));
        two.submit(order(&two, "another")).unwrap();
        assert_eq!((joined(&one), joined(&two)), (5, 5));
        joins(&two, 1);
        let reused = two.submit(shared.clone().json("7"));
        assert!(matches!(reused, Err(OutboxError::KeyReused { .. })));
        two.close();
        drain(&one).await;
        let stats = one.stats().unwrap();
        assert_eq!((stats.joined, stats.reuse_refused), (6, 1));
        assert_eq!((stats.accepted, stats.submit_calls), (2, 9));
        assert_eq!(stats.succeeded, 2);
        assert_eq!(stats.duplicate_hit_rate, 6.0 / 9.0);
        assert_eq!(stats.reuse_refused_rate, 1.0 / 9.0);
    });
}

/// What stands in no row any more is still counted.
#[test]
fn no_total_goes_down_when_retention_drops_everything() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        busy_run(&outbox, &world).await;
        let before = outbox.stats().unwrap();
        let limits = Limits::default();
        for time in [limits.keep_results, limits.keep_tombstones] {
            world.pass(time + DAY).await;
            while outbox.retain().unwrap() {}
        }
        let rows: i64 = place
            .sql()
            .query_row(
                "SELECT (SELECT count(*) FROM submission WHERE settled_wall IS NOT NULL)
                    + (SELECT count(*) FROM tombstone)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(rows, 0);
        let after = outbox.stats().unwrap();
        assert_eq!(totals(&after), totals(&before));
        assert_eq!(after.result_bytes, 0);
        assert_eq!(after.queued_bytes, before.queued_bytes);
    });
}

/// F95: a full queue refuses the newest, in words and in the numbers; nothing is dropped.
#[test]
fn what_a_full_queue_turns_away_is_refused_and_counted() {
    let place = Place::new();
    simulate(6, |world| async move {
        let limits = Limits {
            max_queued: 10,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        for number in 0..10 {
            let slot = format!("order-{number}");
            outbox.submit(order(&outbox, &slot)).unwrap();
        }
        let refused = outbox.submit(order(&outbox, "more"));
        assert_eq!(refused, Err(OutboxError::QueueFull { most: 10 }));
        let refused = outbox.submit_all(vec![order(&outbox, "more")]);
        assert_eq!(refused, Err(OutboxError::QueueFull { most: 10 }));
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.submit_calls, stats.accepted), (12, 10));
        assert_eq!((stats.pending, stats.joined, stats.replayed), (10, 0, 0));
        drain(&outbox).await;
        assert_eq!(outbox.stats().unwrap().succeeded, 10);
        assert_eq!(world.network.sent(), 10);
    });
}

#[test]
fn bytes_count_bodies_in_files_too_and_go_with_the_end() {
    let place = Place::new();
    simulate(7, |world| async move {
        let limits = Limits {
            inline_body_bytes: 64,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let id = outbox.begin("photo".into()).unwrap();
        let body = "x".repeat(100);
        let text = format!("\"{body}\"");
        outbox
            .submit(Submission::post(id, "/photos").json(&text))
            .unwrap();
        outbox
            .submit(Submission::post(outbox.begin("small".into()).unwrap(), "/orders").json("7"))
            .unwrap();
        assert_eq!(outbox.stats().unwrap().queued_bytes, 102 + 1);
        drain(&outbox).await;
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.queued_bytes, stats.result_bytes), (0, 14));
    });
}
