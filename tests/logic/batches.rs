//! Batches: which records go together, when, and as which bytes.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Batch, BatchConfig, BatchFormat, Effect, KeyPlace, Limits, Outbox, OutboxError, RecordReceipt,
    ServerProfile, SubmissionId, SubmissionState,
};

use crate::common::Place;
use crate::common::sim::{World, header, keys, simulate};

pub const SECOND: Duration = Duration::from_secs(1);

/// Logs under the key `logs`.
pub fn logs() -> BatchConfig {
    BatchConfig::new("logs", "/logs")
}

pub fn batch(outbox: &Arc<Outbox>, config: BatchConfig) -> Arc<Batch> {
    Arc::clone(outbox).batch(config).unwrap()
}

/// Appends a record of this ID.
pub fn append(batch: &Batch, id: &str) -> RecordReceipt {
    let receipt = batch.append(record(id)).unwrap();
    assert_eq!(receipt.record_id, id);
    receipt
}

pub fn record(id: &str) -> String {
    format!(r#"{{"id":"{id}"}}"#)
}

/// The bodies that left, in their order.
pub fn bodies(world: &World) -> Vec<String> {
    let seen = world.network.seen();
    let sent = seen.iter().filter(|seen| seen.sent);
    sent.map(|seen| {
        let body = seen.request.body.as_bytes().unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    })
    .collect()
}

/// A body with records of these IDs.
pub fn body(ids: &[&str]) -> String {
    let records: Vec<String> = ids.iter().map(|id| record(id)).collect();
    format!("[{}]", records.join(","))
}

pub fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

pub fn count(place: &Place, sql: &str) -> i64 {
    place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn queued_bytes(outbox: &Outbox) -> i64 {
    outbox.stats().unwrap().queued_bytes
}

/// Delivers for an hour, with all waits in it.
pub async fn deliver(world: &World, outbox: &Outbox) {
    outbox.start().unwrap();
    world.pass(3_600 * SECOND).await;
    outbox.suspend().unwrap();
}

#[test]
fn records_of_a_key_go_together_when_their_time_is_over() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        outbox.start().unwrap();
        let first = append(&batch, "a");
        world.pass(29 * SECOND).await;
        let second = append(&batch, "b");
        assert_eq!(first.batch, second.batch);
        assert_eq!(state(&outbox, first.batch), SubmissionState::Pending);
        assert_eq!(bodies(&world), [""; 0]);
        assert_eq!(queued_bytes(&outbox), 2 + 20);
        world.pass(2 * SECOND).await;
        assert_eq!(bodies(&world), [body(&["a", "b"])]);
        assert_eq!(state(&outbox, first.batch), SubmissionState::Succeeded);
        let third = append(&batch, "c");
        assert_ne!(third.batch, first.batch);
        world.pass(31 * SECOND).await;
        assert_eq!(bodies(&world), [body(&["a", "b"]), body(&["c"])]);
        let sent = keys(&world, 0);
        assert_eq!(sent, [first.batch.to_string(), third.batch.to_string()]);
        let stats = outbox.stats().unwrap();
        assert_eq!((stats.records, stats.queued_bytes), (3, 0));
        assert_eq!(count(&place, "SELECT count(*) FROM record"), 0);
    });
}

#[test]
fn a_full_batch_is_due_at_once_and_the_next_record_opens_another() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        outbox.start().unwrap();
        let by_count = batch(
            &outbox,
            BatchConfig {
                max_records: 2,
                ..logs()
            },
        );
        let receipts: Vec<_> = ["a", "b", "c"].map(|id| append(&by_count, id)).into();
        assert_eq!(receipts[0].batch, receipts[1].batch);
        assert_ne!(receipts[1].batch, receipts[2].batch);
        world.pass(SECOND).await;
        assert_eq!(bodies(&world), [body(&["a", "b"])]);
        // The brackets, two records of ten bytes and a comma: exactly full. The third is another's.
        let by_bytes = batch(
            &outbox,
            BatchConfig {
                key: "exact".to_owned(),
                max_bytes: 23,
                ..logs()
            },
        );
        by_bytes
            .append_all(["d", "e", "f"].map(record).into())
            .unwrap();
        world.pass(SECOND).await;
        assert_eq!(bodies(&world)[1..], [body(&["d", "e"])]);
        // Three would fit but for what stands between them.
        let between = BatchConfig {
            key: "between".to_owned(),
            max_bytes: 33,
            ..logs()
        };
        let receipts = batch(&outbox, between)
            .append_all(["x", "y", "z"].map(record).into())
            .unwrap();
        assert_ne!(receipts[1].batch, receipts[2].batch);
        world.pass(SECOND).await;
        assert_eq!(bodies(&world)[2..], [body(&["x", "y"])]);
        // One that doesn't fit closes the batch before it.
        append(&by_bytes, "g-is-long");
        world.pass(SECOND).await;
        assert_eq!(bodies(&world)[3..], [body(&["f"])]);
        deliver(&world, &outbox).await;
    });
}

#[test]
fn a_flush_sends_what_is_there_and_never_an_empty_batch() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let batch = batch(&outbox, logs());
        assert_eq!(batch.flush().unwrap(), None);
        let first = append(&batch, "a");
        assert_eq!(batch.flush().unwrap(), Some(first.batch));
        // Until it is claimed it takes more.
        assert_eq!(append(&batch, "b").batch, first.batch);
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "b"])]);
        assert_eq!(batch.flush().unwrap(), None);
        assert_eq!(batch.append_all(Vec::new()).unwrap(), []);
        deliver(&world, &outbox).await;
        assert_eq!(world.network.sent(), 1);
    });
}

/// What other terms have opened goes as it is.
#[test]
fn keys_accounts_and_terms_have_batches_of_their_own() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let plain = batch(&outbox, logs());
        let other_key = batch(
            &outbox,
            BatchConfig {
                key: "metrics".to_owned(),
                ..logs()
            },
        );
        let anns = batch(
            &outbox,
            BatchConfig {
                account: Some("ann".to_owned()),
                ..logs()
            },
        );
        let other_terms = batch(
            &outbox,
            BatchConfig {
                headers: vec![header("x-version", "2")],
                ..logs()
            },
        );
        let ids = [&plain, &other_key, &anns, &other_terms].map(|it| append(it, "a").batch);
        let mut different = ids.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 4);
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(
            keys(&world, 0),
            [ids[0].to_string()],
            "closed by other terms"
        );
        assert_eq!(append(&other_terms, "b").batch, ids[3]);
        // The same configuration, made anew.
        assert_eq!(append(&batch(&outbox, logs()), "c").batch, {
            let opened = append(&plain, "d");
            opened.batch
        });
    });
}

#[test]
fn each_format_has_its_bytes() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let member = BatchFormat::JsonObject {
            member: "ev\"ents".to_owned(),
        };
        let records = ["{\"id\":1,\n \"a\":\"\\n\"}", "{ }", r#" {"id":"é"} "#];
        for (format, content_type, expected) in [
            (
                BatchFormat::JsonArray,
                "application/json",
                "[{\"id\":1,\n \"a\":\"\\n\"},{\"id\":\"ID\" },{\"id\":\"é\"}]",
            ),
            (
                member,
                "application/json",
                "{\"ev\\\"ents\":[{\"id\":1,\n \"a\":\"\\n\"},{\"id\":\"ID\" },{\"id\":\"é\"}]}",
            ),
            (
                BatchFormat::Ndjson,
                "application/x-ndjson",
                "{\"id\":1, \"a\":\"\\n\"}\n{\"id\":\"ID\" }\n{\"id\":\"é\"}\n",
            ),
        ] {
            // So many bytes as there are: one less would make two of it.
            let expected = expected.replace("ID", &"x".repeat(36));
            let config = BatchConfig {
                key: format!("{format:?}"),
                format: Some(format),
                max_bytes: expected.len() as u32,
                ..logs()
            };
            let batch = batch(&outbox, config);
            let receipts = batch.append_all(records.map(str::to_owned).into()).unwrap();
            let ids: Vec<_> = receipts.iter().map(|it| it.record_id.as_str()).collect();
            assert_eq!((ids[0], ids[2]), ("1", "é"));
            assert!(ids[1].parse::<SubmissionId>().is_ok());
            deliver(&world, &outbox).await;
            let seen = world.network.seen();
            let request = &seen.last().unwrap().request;
            let types = request
                .headers
                .iter()
                .filter(|it| it.name == "content-type");
            let types: Vec<_> = types.map(|it| it.value.as_str()).collect();
            assert_eq!(types, [content_type]);
            let expected = expected.replace(&"x".repeat(36), ids[1]);
            assert_eq!(bodies(&world).last(), Some(&expected));
        }
        assert_eq!(world.network.sent(), 3);
    });
}

/// F73: what can't go is refused at once, and nothing of the call is stored.
#[test]
fn a_bad_record_is_refused_with_its_number_and_stores_nothing() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let config = BatchConfig {
            max_bytes: 30,
            ..logs()
        };
        let batch = batch(&outbox, config);
        for bad in ["[]", "nonsense", r#"{"id":null}"#, r#"{"id":1,"id":2}"#] {
            let refused = batch.append_all(vec![record("a"), bad.to_owned()]);
            let Err(OutboxError::Invalid { field, .. }) = refused else {
                panic!("{bad}: {refused:?}");
            };
            assert_eq!(field, "record 2");
        }
        let large = batch.append(record(&"x".repeat(20)));
        let too_large = OutboxError::BodyTooLarge {
            bytes: 31,
            most: 30,
        };
        assert_eq!(large, Err(too_large));
        assert_eq!(append(&batch, &"x".repeat(19)).record_id.len(), 19);
        deliver(&world, &outbox).await;
        assert_eq!(world.network.sent(), 1);
        outbox.close();
        assert_eq!(batch.append(record("a")), Err(OutboxError::Closed));
        assert_eq!(batch.flush(), Err(OutboxError::Closed));
    });
}

#[test]
fn a_configuration_that_no_batch_can_be_made_by_is_refused() {
    let place = Place::new();
    simulate(7, |world| async move {
        let limits = Limits {
            max_body_bytes: 1_000_000,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let refused = |config: BatchConfig| match Arc::clone(&outbox).batch(config) {
            Err(OutboxError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        let long = "k".repeat(1_025);
        for key in ["", &long] {
            assert_eq!(refused(BatchConfig::new(key, "/logs")), "key");
        }
        assert_eq!(refused(BatchConfig::new("logs", "logs")), "url");
        for max_records in [0, 10_001] {
            assert_eq!(
                refused(BatchConfig {
                    max_records,
                    ..logs()
                }),
                "max_records"
            );
        }
        for max_bytes in [1, 1_000_001] {
            assert_eq!(
                refused(BatchConfig {
                    max_bytes,
                    ..logs()
                }),
                "max_bytes"
            );
        }
        let id_member = String::new();
        assert_eq!(
            refused(BatchConfig {
                id_member,
                ..logs()
            }),
            "id_member"
        );
        let member = String::new();
        let format = Some(BatchFormat::JsonObject { member });
        assert_eq!(refused(BatchConfig { format, ..logs() }), "format.member");
        let max_age = Some(Duration::MAX);
        assert_eq!(refused(BatchConfig { max_age, ..logs() }), "max_age");
        let account = Some(String::new());
        assert_eq!(refused(BatchConfig { account, ..logs() }), "account");
        let headers = vec![header("authorization", "Bearer x")];
        let of = Arc::clone(&outbox).batch(BatchConfig { headers, ..logs() });
        assert!(matches!(of, Err(OutboxError::HeaderRefused { .. })));
    });
}

/// The key in a body would have to stand among the records; everywhere else it works.
#[test]
fn the_key_goes_wherever_the_profile_has_it_but_into_the_body() {
    simulate(8, |world| async move {
        let with = |place: &Place, key_place| {
            let profile = ServerProfile {
                key_place,
                ..ServerProfile::standard()
            };
            world.open_with(world.config(place).profile(profile))
        };
        let place = Place::new();
        let pointer = "/key".to_owned();
        let outbox = with(&place, KeyPlace::JsonPointer { pointer });
        let refused = Arc::clone(&outbox).batch(logs()).unwrap_err();
        assert!(matches!(refused, OutboxError::Invalid { field, .. } if field == "effect"));
        let effect = Some(Effect::Overwrite);
        append(&batch(&outbox, BatchConfig { effect, ..logs() }), "a");
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a"])]);

        let place = Place::new();
        let placeholder = "{key}".to_owned();
        let outbox = with(&place, KeyPlace::Path { placeholder });
        let config = BatchConfig::new("logs", "/logs/{key}");
        let receipt = append(&batch(&outbox, config), "a");
        deliver(&world, &outbox).await;
        let seen = world.network.seen();
        let url = format!("https://api.example.com/logs/{}", receipt.batch);
        assert_eq!(seen[1].request.url, url);
    });
}

/// A batch takes its records in two processes at once, and each record once.
#[test]
fn two_outboxes_append_to_one_key() {
    let place = Place::new();
    simulate(9, |world| async move {
        let (one, two) = (world.open(&place), world.open_apart(&place));
        let config = BatchConfig {
            max_records: 3,
            ..logs()
        };
        let (first, second) = (batch(&one, config.clone()), batch(&two, config));
        let ids: Vec<SubmissionId> = (0..8)
            .map(|n| append([&first, &second][n % 2], &n.to_string()).batch)
            .collect();
        assert!(ids[..3].iter().all(|id| *id == ids[0]));
        assert!(ids[3..6].iter().all(|id| *id == ids[3]));
        assert_eq!(ids[6], ids[7]);
        assert_eq!(second.flush().unwrap(), Some(ids[6]));
        deliver(&world, &two).await;
        let sent = [
            body(&["0", "1", "2"]),
            body(&["3", "4", "5"]),
            body(&["6", "7"]),
        ];
        assert_eq!(bodies(&world), sent);
        assert_eq!(first.flush().unwrap(), None);
        assert_eq!(append(&first, "8").batch, append(&second, "9").batch);
    });
}

#[test]
fn a_full_queue_refuses_a_batch_and_no_record_of_an_open_one() {
    let place = Place::new();
    simulate(10, |world| async move {
        let limits = Limits {
            max_queued: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let config = BatchConfig {
            max_records: 2,
            ..logs()
        };
        let batch = batch(&outbox, config);
        append(&batch, "a");
        let all = batch.append_all(vec![record("b"), record("c")]);
        assert_eq!(all, Err(OutboxError::QueueFull { most: 1 }));
        append(&batch, "b");
        let full = Err(OutboxError::QueueFull { most: 1 });
        assert_eq!(batch.append(record("c")), full);
        deliver(&world, &outbox).await;
        append(&batch, "c");
        deliver(&world, &outbox).await;
        assert_eq!(bodies(&world), [body(&["a", "b"]), body(&["c"])]);
    });
}

/// A clock that was set back makes no old ID: the records would be refused, or in doubt.
#[test]
fn a_clock_that_was_set_back_refuses_no_record() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        let sql = place.sql();
        sql.execute_batch(
            "UPDATE meta SET remembers_since = 1750000000001, doubt_before = 1750000000002",
        )
        .unwrap();
        world.clock.set_wall_by(-86_400_000);
        let receipt = append(&batch(&outbox, logs()), "a");
        assert!(!outbox.snapshot(receipt.batch).unwrap().in_doubt);
        deliver(&world, &outbox).await;
        assert_eq!(state(&outbox, receipt.batch), SubmissionState::Succeeded);
    });
}
