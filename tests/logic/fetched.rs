//! Fetched values: what is current, what is asked conditionally, and what a 304 means.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use submit_once::{
    Clock, Effect, Fetched, Limits, Outbox, OutboxError, Submission, SubmissionState, WireAnswer,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, header, lost, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);
pub const KEY: &str = "config";
pub const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

pub fn get(outbox: &Outbox, n: u32) -> Submission {
    let id = outbox.begin(format!("fetch {n}")).unwrap();
    Submission::new(id, "GET", "/config").replaces(KEY)
}

pub fn current(outbox: &Outbox) -> Option<Fetched> {
    outbox.current(None, KEY.to_owned()).unwrap()
}

/// The text of the current value.
pub fn text(outbox: &Outbox) -> Option<String> {
    current(outbox).map(|value| String::from_utf8(value.body).unwrap())
}

pub fn tagged(status: u16, body: &str, tag: &str) -> WireAnswer {
    let mut answer = answer(status, body);
    answer.headers.push(header("etag", tag));
    answer
}

pub fn plays(answer: WireAnswer) -> Play {
    Play::Answer(Duration::from_millis(50), answer)
}

pub fn value(body: &str, tag: &str) -> Play {
    plays(tagged(200, body, tag))
}

/// Nothing has changed.
pub fn unchanged() -> Play {
    plays(WireAnswer {
        status: 304,
        headers: Vec::new(),
        body: Vec::new(),
        complete: true,
    })
}

/// What the requests asked by, from one on: `If-None-Match` and `If-Modified-Since`.
pub fn asked(world: &World, from: usize) -> Vec<Vec<String>> {
    let asks = |name: &str| matches!(name, "if-none-match" | "if-modified-since");
    world.network.seen()[from..]
        .iter()
        .map(|seen| {
            let headers = seen.request.headers.iter();
            headers
                .filter(|header| asks(&header.name))
                .map(|header| header.value.clone())
                .collect()
        })
        .collect()
}

/// Fetches, and gives how it ended.
pub async fn fetch(outbox: &Outbox, submission: Submission) -> SubmissionState {
    outbox.submit(submission.clone()).unwrap();
    outbox.start().unwrap();
    outbox.wait(submission.id, HOUR * 24).await.unwrap();
    outbox.suspend().unwrap();
    outbox.snapshot(submission.id).unwrap().state
}

const DONE: SubmissionState = SubmissionState::Succeeded;
const NOTHING: Vec<String> = Vec::new();

#[test]
fn the_first_value_is_current_and_a_304_keeps_it() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        assert_eq!(current(&outbox), None);
        world.network.play([value("one", r#""a""#), unchanged()]);
        let first = get(&outbox, 1);
        assert_eq!(fetch(&outbox, first.clone()).await, DONE);
        let stands = current(&outbox).unwrap();
        assert_eq!((stands.id, stands.status), (first.id, 200));
        assert_eq!(stands.body, b"one");
        assert_eq!(stands.content_type.as_deref(), Some("application/json"));
        assert_eq!(stands.headers, [header("etag", r#""a""#)]);
        assert_eq!(stands.fetched_at, stands.checked_at);

        world.pass(Duration::from_secs(60)).await;
        let second = get(&outbox, 2);
        assert_eq!(fetch(&outbox, second.clone()).await, DONE);
        let outcome = outbox.snapshot(second.id).unwrap().outcome.unwrap();
        assert_eq!((outcome.status, outcome.result_missing), (Some(304), false));
        assert_eq!(outcome.body.unwrap_or_default(), b"");
        let kept = current(&outbox).unwrap();
        let moved = kept.checked_at.duration_since(stands.checked_at).unwrap();
        assert!(moved >= Duration::from_secs(60), "{moved:?}");
        let checked_at = stands.checked_at;
        assert_eq!(Fetched { checked_at, ..kept }, stands, "all but the check");
        assert_eq!(
            asked(&world, 0),
            [NOTHING, vec![r#""a""#.to_owned()]],
            "the second asks whether it has changed"
        );
    });
}

#[test]
fn what_has_changed_takes_the_place_and_is_asked_by_next() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let tags = [r#""a""#, r#"W/"b""#, r#""c""#];
        for (n, tag) in (1..).zip(tags) {
            world.network.play([value(&format!("v{n}"), tag)]);
            assert_eq!(fetch(&outbox, get(&outbox, n)).await, DONE);
            assert_eq!(text(&outbox), Some(format!("v{n}")));
        }
        let by = |tag: &str| vec![tag.to_owned()];
        assert_eq!(asked(&world, 0), [NOTHING, by(tags[0]), by(tags[1])]);
    });
}

/// 204 and 205 say that the value is empty; other statuses of success say no value.
#[test]
fn an_empty_value_is_one_and_an_accepted_request_is_none() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        for (n, (status, is_value)) in (1..).zip([
            (200, true),
            (203, true),
            (204, true),
            (205, true),
            (201, false),
            (202, false),
        ]) {
            let body = if matches!(status, 204 | 205) { "" } else { "v" };
            world.network.play([plays(tagged(status, body, r#""a""#))]);
            assert_eq!(fetch(&outbox, get(&outbox, n)).await, DONE, "{status}");
            let stands = current(&outbox).unwrap();
            assert_eq!(stands.status == status, is_value, "{status}");
            if is_value {
                assert_eq!(stands.body, body.as_bytes());
            }
        }
    });
}

#[test]
fn another_request_under_the_key_is_not_asked_by_the_tag() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1).header("Accept", "text/a")).await;
        let mut elsewhere = get(&outbox, 2).header("Accept", "text/a");
        elsewhere.url = "/config?v=2".to_owned();
        for (n, other) in [
            elsewhere,
            get(&outbox, 3),
            get(&outbox, 4).header("Accept", "text/b"),
        ]
        .into_iter()
        .enumerate()
        {
            world.network.play([status(404)]);
            fetch(&outbox, other).await;
            assert_eq!(asked(&world, n + 1), [NOTHING]);
        }
        world.network.play([value("two", r#""b""#)]);
        fetch(&outbox, get(&outbox, 5).header("Accept", "text/b")).await;
        assert_eq!(text(&outbox).unwrap(), "two");
        fetch(&outbox, get(&outbox, 6).header("Accept", "text/b")).await;
        assert_eq!(asked(&world, 5), [vec![r#""b""#.to_owned()]]);
    });
}

/// The app's own condition goes as it is, and its 304 says nothing of a value that it didn't ask by.
#[test]
fn a_condition_of_the_apps_own_is_respected() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1)).await;
        let before = current(&outbox);
        for (n, (name, own)) in (2..).zip([
            ("If-None-Match", r#""z""#),
            ("If-Modified-Since", DATE),
            ("Range", "bytes=0-9"),
            ("If-Range", r#""a""#),
        ]) {
            world.pass(Duration::from_secs(1)).await;
            world.network.play([unchanged()]);
            assert_eq!(
                fetch(&outbox, get(&outbox, n).header(name, own)).await,
                DONE
            );
            let seen = world.network.seen();
            let headers = &seen.last().unwrap().request.headers;
            let sent = headers
                .iter()
                .filter(|header| header.name.starts_with("if-"));
            let values: Vec<_> = sent.map(|header| header.value.as_str()).collect();
            let expected = if name == "Range" { vec![] } else { vec![own] };
            assert_eq!(values, expected, "{name}");
            assert_eq!(current(&outbox), before, "{name}");
        }
        // By the value's own tag it does.
        world.network.play([unchanged()]);
        fetch(&outbox, get(&outbox, 9).header("If-None-Match", r#""a""#)).await;
        assert!(current(&outbox).unwrap().checked_at > before.unwrap().checked_at);
    });
}

#[test]
fn a_tag_that_cannot_be_sent_back_gives_way_to_the_date() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        for (n, tag, date, by) in [
            (1, Some(r#""a b""#), Some(DATE), vec![DATE]),
            (3, Some("no quotes"), None, vec![]),
            (5, Some("\"\u{e4}\""), None, vec![]),
            (7, None, Some(DATE), vec![DATE]),
            (9, None, Some("tomorrow"), vec![]),
            (11, None, None, vec![]),
            (13, Some(r#"W/"a""#), Some(DATE), vec![r#"W/"a""#]),
        ] {
            let mut whole = answer(200, "v");
            whole.headers.extend(tag.map(|tag| header("etag", tag)));
            let date = date.map(|date| header("last-modified", date));
            whole.headers.extend(date);
            world.network.play([plays(whole), status(404)]);
            let before = world.network.sent();
            fetch(&outbox, get(&outbox, n)).await;
            fetch(&outbox, get(&outbox, n + 1)).await;
            assert_eq!(asked(&world, before + 1), [by], "{tag:?}");
        }
    });
}

#[test]
fn a_304_that_nothing_was_asked_by_makes_no_value() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.play([unchanged(), value("one", r#""a""#)]);
        assert_eq!(fetch(&outbox, get(&outbox, 1)).await, DONE);
        assert_eq!(current(&outbox), None);
        assert_eq!(fetch(&outbox, get(&outbox, 2)).await, DONE);
        assert_eq!(asked(&world, 0), [NOTHING, NOTHING]);
        assert_eq!(text(&outbox).unwrap(), "one");
    });
}

/// P2: a retry asks by the same, also where the value has changed meanwhile.
#[test]
fn retries_are_byte_identical() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1)).await;
        world.network.play([lost(), status(503), unchanged()]);
        let second = get(&outbox, 2);
        outbox.submit(second.clone()).unwrap();
        outbox.close();
        let outbox = world.open(&place);
        outbox.start().unwrap();
        outbox.wait(second.id, HOUR).await.unwrap();
        let seen = world.network.seen();
        assert_eq!(seen.len(), 4);
        assert_eq!(asked(&world, 1), vec![vec![r#""a""#.to_owned()]; 3]);
        for retry in &seen[2..] {
            assert_eq!(retry.request.headers, seen[1].request.headers);
        }
        // What was added is no part of the identity.
        let again = outbox.submit(second.clone()).unwrap();
        assert_eq!(again.kind, submit_once::ReceiptKind::Replayed);
    });
}

#[test]
fn a_failure_never_removes_a_value() {
    let place = Place::new();
    simulate(9, |world| async move {
        let limits = Limits {
            retry_attempts: 2,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1)).await;
        let before = current(&outbox);
        // The page of a captive portal, too.
        let mut page = tagged(200, "<html>", r#""p""#);
        page.headers[0] = header("content-type", "text/html");
        let failures = [404, 410, 500, 403].map(status).into_iter();
        for (n, play) in (2..).zip(failures.chain([lost(), plays(page)])) {
            world.network.always(move |_| play.clone());
            let now = Duration::from_millis(world.clock.now().wall.0.cast_unsigned());
            let in_a_minute = UNIX_EPOCH + now + Duration::from_secs(60);
            let failed = get(&outbox, n).expires_at(in_a_minute);
            assert_ne!(fetch(&outbox, failed).await, DONE);
            assert_eq!(current(&outbox), before);
        }
    });
}

/// An answer that was cut never takes the value's place, and the next asks by what stands.
#[test]
fn what_is_not_whole_is_no_value() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let cut = |tag: &str| WireAnswer {
            complete: false,
            ..tagged(200, "half", tag)
        };
        let halves = cut(r#""h""#);
        world.network.always(move |_| plays(halves.clone()));
        assert_eq!(fetch(&outbox, get(&outbox, 1)).await, DONE);
        assert_eq!(current(&outbox), None);
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 2)).await;
        let second = get(&outbox, 3);
        assert_eq!(fetch(&outbox, second.clone()).await, DONE);
        let outcome = outbox.snapshot(second.id).unwrap().outcome.unwrap();
        assert!(outcome.result_missing);
        assert_eq!(text(&outbox).unwrap(), "one");
        let from = world.network.sent();
        world.network.play([unchanged()]);
        fetch(&outbox, get(&outbox, 4)).await;
        assert_eq!(asked(&world, from), [vec![r#""a""#.to_owned()]]);
    });
}

#[test]
fn only_a_get_without_an_effect_and_what_overwrites_can_be_replaced() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        for (method, effect, fits) in [
            ("GET", None, true),
            ("GET", Some(Effect::Safe), true),
            ("HEAD", None, false),
            ("OPTIONS", None, false),
            ("POST", Some(Effect::Safe), false),
            ("GET", Some(Effect::Unkeyed), false),
        ] {
            let mut one = get(&outbox, 1);
            (one.method, one.effect) = (method.to_owned(), effect);
            let result = outbox.submit(one);
            match result {
                Err(OutboxError::Invalid { field, .. }) => {
                    assert_eq!((field.as_str(), fits), ("replaces", false))
                }
                other => assert!(other.is_ok() && fits, "{method}: {other:?}"),
            }
        }
        for (account, key) in [(None, ""), (Some(""), KEY)] {
            let refused = outbox.current(account.map(str::to_owned), key.to_owned());
            assert!(matches!(refused, Err(OutboxError::Invalid { .. })));
        }
    });
}

/// A write of the same key is no value, and doesn't take one away.
#[test]
fn the_result_of_a_write_is_no_value() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox: Arc<Outbox> = world.open(&place);
        world.network.play([value("one", r#""a""#)]);
        fetch(&outbox, get(&outbox, 1)).await;
        let write = Submission::new(outbox.begin("w".to_owned()).unwrap(), "PUT", "/config")
            .effect(Effect::Overwrite)
            .replaces(KEY);
        world
            .network
            .play([value("written", r#""b""#), unchanged()]);
        assert_eq!(fetch(&outbox, write).await, DONE);
        assert_eq!(text(&outbox).unwrap(), "one");
        fetch(&outbox, get(&outbox, 2)).await;
        assert_eq!(asked(&world, 2), [vec![r#""a""#.to_owned()]]);
    });
}
