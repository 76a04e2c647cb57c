//! Parts of a request that are taken from the results of parents: taken once, frozen then (P2), and
//! asked for where a result lacks them.

use std::time::Duration;

use submit_once::{
    Body, HoldReason, NetworkKind, Outbox, OutboxError, PartSource, PartTarget, PartValue,
    Resolution, Snapshot, Submission, SubmissionState, WaitingFor, WireAnswer, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain, header, lost, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);
const MISSING: SubmissionState = SubmissionState::Held {
    reason: HoldReason::ParentResultMissing,
};

fn at(pointer: &str) -> PartSource {
    PartSource::JsonPointer {
        pointer: pointer.to_owned(),
    }
}

fn from_header(name: &str) -> PartSource {
    PartSource::Header {
        name: name.to_owned(),
    }
}

fn json(pointer: &str) -> PartTarget {
    PartTarget::Json {
        pointer: pointer.to_owned(),
    }
}

fn query(name: &str) -> PartTarget {
    PartTarget::Query {
        name: name.to_owned(),
    }
}

fn order(outbox: &Outbox, slot: &str) -> Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    Submission::post(id, "/orders").json(format!(r#"{{"order":"{slot}"}}"#))
}

fn photo(outbox: &Outbox, slot: &str, url: &str) -> Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    Submission::post(id, url).json(r#"{ "size": 1.0e2 }"#)
}

fn says(answer: WireAnswer) -> Play {
    Play::Answer(Duration::from_millis(50), answer)
}

fn body(request: &WireRequest) -> String {
    String::from_utf8(request.body.as_bytes().unwrap().to_vec()).unwrap()
}

fn last(world: &World) -> WireRequest {
    world.network.seen().pop().unwrap().request
}

fn value(into: PartTarget, json: &str) -> PartValue {
    PartValue {
        into,
        json: json.to_owned(),
    }
}

fn fill(
    outbox: &Outbox,
    held: &Snapshot,
    values: impl IntoIterator<Item = PartValue>,
) -> Result<Snapshot, OutboxError> {
    let values = values.into_iter().collect();
    outbox.resolve(held.id, held.revision, Resolution::FillParts { values })
}

#[test]
fn parts_of_every_kind_reach_the_wire() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let path = PartTarget::Path {
            placeholder: "{order}".to_owned(),
        };
        let if_match = PartTarget::Header {
            name: "If-Match".to_owned(),
        };
        let photo = photo(&outbox, "photo", "/orders/{order}/photos?a=1")
            .part(order.id, at("/order/id"), path)
            .part(order.id, from_header("Location"), query("at"))
            .part(order.id, from_header("ETag"), if_match)
            .part(order.id, at("/order"), json("/order"));
        outbox.submit_all(vec![order, photo.clone()]).unwrap();
        let template = outbox.snapshot(photo.id).unwrap().url;
        assert_eq!(
            template,
            "https://api.example.com/orders/%7Border%7D/photos?a=1"
        );
        let mut created = answer(201, r#"{"order": {"id" : "A/17", "total":1.50e+2}}"#);
        created.headers.push(header("location", "/orders/17"));
        created.headers.push(header("etag", "\"v1\""));
        world.network.play([says(created), lost(), status(500)]);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        let seen = world.network.seen();
        let request = &seen[1].request;
        let url = "https://api.example.com/orders/A%2F17/photos?a=1&at=%2Forders%2F17";
        assert_eq!(request.url, url);
        assert_eq!(
            body(request),
            r#"{"order":{"id" : "A/17", "total":1.50e+2}, "size": 1.0e2 }"#
        );
        assert!(request.headers.contains(&header("if-match", "\"v1\"")));
        // P2: frozen then; retries are the same, byte for byte.
        assert_eq!(seen[2].request, *request);
        assert_eq!(seen[3].request, *request);
        let settled = outbox.snapshot(photo.id).unwrap();
        assert_eq!(
            (settled.state, settled.url.as_str()),
            (SubmissionState::Succeeded, url)
        );
    });
}

#[test]
fn a_parent_that_took_effect_by_decision_gives_the_result_that_was_found() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/id"), json("/of"));
        outbox
            .submit_all(vec![order.clone(), photo.clone()])
            .unwrap();
        world.network.play([lost(), status(400)]);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        let held = outbox.snapshot(order.id).unwrap();
        let waiting = Some(WaitingFor::Parent { id: order.id });
        assert_eq!(outbox.snapshot(photo.id).unwrap().waiting_for, waiting);
        let happened = Resolution::ItHappened {
            result: Some(r#"{"id":17}"#.to_owned()),
        };
        outbox.resolve(held.id, held.revision, happened).unwrap();
        drain(&outbox).await;
        assert_eq!(body(&last(&world)), r#"{"of":17, "size": 1.0e2 }"#);
    });
}

#[test]
fn what_a_result_lacks_is_asked_for_and_then_sent() {
    let text = || WireAnswer {
        headers: vec![header("content-type", "text/plain")],
        ..answer(201, r#"{"id":17}"#)
    };
    let too_long = format!(r#"{{"id":"{}"}}"#, "x".repeat(9_000));
    for (n, result) in [
        answer(201, r#"{"ID":17}"#),
        answer(201, r#"{"id":null}"#),
        answer(201, r#"{"id":[17]}"#),
        answer(201, ""),
        answer(201, &too_long),
        text(),
    ]
    .into_iter()
    .enumerate()
    {
        let place = Place::new();
        simulate(3, |world| async move {
            let outbox = world.open(&place);
            let order = order(&outbox, "order");
            let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/id"), query("of"));
            outbox
                .submit_all(vec![order.clone(), photo.clone()])
                .unwrap();
            world.network.play([says(result)]);
            drain(&outbox).await;
            let held = outbox.snapshot(photo.id).unwrap();
            assert_eq!(held.state, MISSING, "{n}");
            assert!(
                held.last_problem
                    .as_deref()
                    .unwrap()
                    .starts_with("of in the query: "),
                "{n}"
            );
            assert_eq!(world.network.sent(), 1, "{n}");
            let filled = fill(&outbox, &held, [value(query("of"), r#" "A 17" "#)]).unwrap();
            assert_eq!(filled.state, SubmissionState::Pending);
            drain(&outbox).await;
            assert!(last(&world).url.ends_with("/photos?of=A%2017"), "{n}");
            assert_eq!(
                outbox.snapshot(photo.id).unwrap().state,
                SubmissionState::Succeeded
            );
        });
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_and_nothing_changes() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let photo = photo(&outbox, "photo", "/photos")
            .part(order.id, at("/id"), query("of"))
            .part(order.id, at("/n"), query("n"))
            .part(order.id, at("/a"), json("/a"));
        outbox
            .submit_all(vec![order.clone(), photo.clone()])
            .unwrap();
        // It has one of three.
        drain(&outbox).await;
        let held = outbox.snapshot(photo.id).unwrap();
        assert_eq!(held.state, MISSING);
        let of = || value(query("of"), "17");
        let a = || value(json("/a"), "null");
        for values in [
            vec![],
            vec![of()],
            vec![a()],
            vec![of(), a(), a()],
            vec![of(), a(), value(query("n"), "2")],
            vec![of(), a(), value(query("other"), "2")],
            vec![value(query("of"), "A-17"), a()],
            vec![value(query("of"), "1 2"), a()],
            vec![value(query("of"), ""), a()],
            vec![value(query("of"), "{}"), a()],
            vec![value(query("of"), r#""""#), a()],
        ] {
            let refused = fill(&outbox, &held, values.clone());
            assert!(
                matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "values"),
                "{values:?}: {refused:?}"
            );
        }
        let stale = Resolution::FillParts {
            values: vec![of(), a()],
        };
        let refused = outbox.resolve(held.id, held.revision - 1, stale);
        assert!(matches!(refused, Err(OutboxError::Stale { .. })));
        // C8: a retry that could never send is refused.
        let retry = Resolution::RetrySameKey {
            accept_second_effect: true,
        };
        let refused = outbox.resolve(held.id, held.revision, retry);
        assert!(matches!(refused, Err(OutboxError::CannotRetry { .. })));
        assert_eq!(outbox.snapshot(photo.id).unwrap(), held);
        fill(&outbox, &held, [of(), a()]).unwrap();
        drain(&outbox).await;
        assert!(last(&world).url.ends_with("/photos?of=17&n=1"));
        assert_eq!(body(&last(&world)), r#"{"a":null, "size": 1.0e2 }"#);
    });
}

#[test]
fn parts_fill_only_what_is_held_for_them() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        outbox.submit(order.clone()).unwrap();
        world.network.play([status(412)]);
        drain(&outbox).await;
        let held = outbox.snapshot(order.id).unwrap();
        let refused = fill(&outbox, &held, []);
        assert!(
            matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "resolution"),
            "{refused:?}"
        );
        assert_eq!(outbox.snapshot(order.id).unwrap(), held);
    });
}

#[test]
fn a_child_is_held_once_all_parents_have_succeeded_and_keeps_what_they_gave() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let (first, second) = (order(&outbox, "first"), order(&outbox, "second"));
        let photo = photo(&outbox, "photo", "/photos")
            .part(first.id, at("/id"), query("first"))
            .part(second.id, at("/n"), query("second"));
        outbox.submit(first.clone()).unwrap();
        outbox.submit(second.clone()).unwrap();
        outbox.submit(photo.clone()).unwrap();
        world.network.always(|request| {
            let late = body(request).contains("second");
            let seconds = if late { 60 } else { 1 };
            Play::Answer(Duration::from_secs(seconds), answer(201, r#"{"n":2}"#))
        });
        outbox.start().unwrap();
        world.pass(Duration::from_secs(10)).await;
        let waiting = Some(WaitingFor::Parent { id: second.id });
        assert_eq!(outbox.snapshot(photo.id).unwrap().waiting_for, waiting);
        world.pass(Duration::from_secs(60)).await;
        let held = outbox.snapshot(photo.id).unwrap();
        assert_eq!(held.state, MISSING);
        outbox.close();
        let outbox = world.open(&place);
        fill(&outbox, &held, [value(query("first"), "1")]).unwrap();
        drain(&outbox).await;
        assert!(last(&world).url.ends_with("/photos?first=1&second=2"));
    });
}

/// What a child needs is taken at once, so that retention may drop the parent before the child goes.
#[test]
fn retention_drops_no_part_that_an_unsent_child_needs() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let mut photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
        photo.unmetered_only = true;
        outbox
            .submit_all(vec![order.clone(), photo.clone()])
            .unwrap();
        drain(&outbox).await;
        world.pass(Duration::from_secs(86_400 * 31)).await;
        while outbox.retain().unwrap() {}
        let dropped = outbox.snapshot(order.id).unwrap().outcome.unwrap();
        assert!(dropped.result_missing);
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        drain(&outbox).await;
        assert!(last(&world).url.ends_with("/photos?n=1"));
    });
}

/// A result whose bytes aren't those that came has no parts, and keeps nobody waiting.
#[test]
fn a_result_that_is_damaged_has_no_parts() {
    for damage in ["body = x'7b7d'", "headers = '['", "checksum = x'00'"] {
        let place = Place::new();
        simulate(8, |world| async move {
            let outbox = world.open(&place);
            let order = order(&outbox, "order");
            outbox.submit(order.clone()).unwrap();
            drain(&outbox).await;
            place
                .sql()
                .execute_batch(&format!(
                    "DROP TRIGGER answer_frozen; UPDATE answer SET {damage}"
                ))
                .unwrap();
            let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
            let receipt = outbox.submit(photo.clone()).unwrap();
            assert_eq!(receipt.snapshot.state, MISSING, "{damage}");
            fill(&outbox, &receipt.snapshot, [value(query("n"), "2")]).unwrap();
            drain(&outbox).await;
            assert!(last(&world).url.ends_with("/photos?n=2"), "{damage}");
        });
    }
}

/// P11: what is stored is checked before it is sent.
#[test]
fn damaged_parts_are_held_and_never_sent() {
    for damage in [
        "UPDATE resolved SET url = replace(url, 'n=1', 'n=2')",
        "UPDATE resolved SET headers = '[{\"name\":\"x\",\"value\":\"y\"}]'",
        "UPDATE resolved SET body = x'7b7d'",
        "UPDATE resolved SET body_digest = x'00'",
        "UPDATE request SET parts = replace(parts, '/n', '/m') WHERE parts IS NOT NULL",
        "UPDATE request SET parts = NULL",
        "UPDATE request SET parts = '[' WHERE parts IS NOT NULL",
    ] {
        let place = Place::new();
        simulate(9, |world| async move {
            let outbox = world.open(&place);
            let order = order(&outbox, "order");
            let mut photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
            photo.unmetered_only = true;
            outbox.submit_all(vec![order, photo.clone()]).unwrap();
            drain(&outbox).await;
            let sql = place.sql();
            sql.execute_batch("DROP TRIGGER request_frozen; DROP TRIGGER resolved_frozen")
                .unwrap();
            assert!(sql.execute(damage, []).unwrap() > 0);
            outbox.network_available(NetworkKind::Unmetered).unwrap();
            drain(&outbox).await;
            let damaged = SubmissionState::Held {
                reason: HoldReason::Damaged,
            };
            assert_eq!(
                outbox.snapshot(photo.id).unwrap().state,
                damaged,
                "{damage}"
            );
            assert_eq!(world.network.sent(), 1, "{damage}");
        });
    }
}

/// A template is never sent, whatever the row says; nor does it stop the others.
#[test]
fn a_template_never_reaches_the_wire() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
        outbox
            .submit_all(vec![order.clone(), photo.clone()])
            .unwrap();
        place
            .sql()
            .execute_batch("UPDATE submission SET ready = 1, blockers = 0")
            .unwrap();
        drain(&outbox).await;
        let held = outbox.snapshot(photo.id).unwrap();
        assert_eq!(held.state, MISSING);
        assert_eq!(world.network.sent(), 1);
        // Meanwhile its parent has given the part: there is nothing to supply.
        fill(&outbox, &held, []).unwrap();
        drain(&outbox).await;
        assert!(last(&world).url.ends_with("/photos?n=1"));
    });
}

#[test]
fn a_damaged_template_is_put_aside_when_its_parent_succeeds() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
        let other = self::photo(&outbox, "other", "/photos").part(order.id, at("/n"), query("n"));
        outbox
            .submit_all(vec![order, photo.clone(), other.clone()])
            .unwrap();
        let sql = place.sql();
        sql.execute_batch("DROP TRIGGER request_frozen").unwrap();
        let damage = "UPDATE request SET url = 'https://api.example.com/x' WHERE seq = 2";
        assert_eq!(sql.execute(damage, []).unwrap(), 1);
        drain(&outbox).await;
        let damaged = SubmissionState::Held {
            reason: HoldReason::Damaged,
        };
        assert_eq!(outbox.snapshot(photo.id).unwrap().state, damaged);
        assert_eq!(
            outbox.snapshot(other.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}

/// As after a salvage that found the child and not its parent: held and still blocked. What the app
/// supplies is what it goes with, and another parent is still waited for.
#[test]
fn a_child_whose_parent_was_lost_goes_with_what_the_app_supplies() {
    let place = Place::new();
    simulate(15, |world| async move {
        let outbox = world.open(&place);
        let (lost, other) = (order(&outbox, "lost"), order(&outbox, "other"));
        let photo = photo(&outbox, "photo", "/photos")
            .part(lost.id, at("/n"), query("lost"))
            .part(other.id, at("/n"), query("other"));
        let sole = self::photo(&outbox, "sole", "/soles").after(lost.id);
        outbox
            .submit_all(vec![lost, other, photo.clone(), sole.clone()])
            .unwrap();
        place
            .sql()
            .execute_batch(
                "DELETE FROM dependency WHERE parent = 1;
                 UPDATE submission SET state = 'held', reason = 'parent_result_missing', ready = 0
                    WHERE seq IN (1, 3, 4)",
            )
            .unwrap();
        let held = outbox.snapshot(photo.id).unwrap();
        fill(&outbox, &held, []).unwrap_err();
        fill(&outbox, &held, [value(query("lost"), "7")]).unwrap();
        let held = outbox.snapshot(sole.id).unwrap();
        fill(&outbox, &held, []).unwrap();
        drain(&outbox).await;
        let seen = world.network.seen();
        let urls: Vec<_> = seen.iter().map(|seen| seen.request.url.as_str()).collect();
        assert_eq!(
            urls,
            [
                "https://api.example.com/orders",
                "https://api.example.com/soles",
                "https://api.example.com/photos?lost=7&other=1"
            ]
        );
    });
}

/// P2: the database itself refuses to change what was resolved.
#[test]
fn what_was_taken_is_frozen() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
        outbox.submit_all(vec![order, photo]).unwrap();
        drain(&outbox).await;
        for change in [
            "UPDATE part_value SET value = '2'",
            "UPDATE resolved SET url = ''",
        ] {
            assert!(place.sql().execute(change, []).is_err(), "{change}");
        }
    });
}

#[test]
fn a_header_of_credentials_takes_no_part() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        outbox.submit(order.clone()).unwrap();
        outbox.sign_in("alice".to_owned()).unwrap();
        let token = vec![header("X-Token", "secret")];
        outbox
            .supply_credentials("alice".to_owned(), token, None)
            .unwrap();
        let into = PartTarget::Header {
            name: "x-token".to_owned(),
        };
        let photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), into);
        let refused = outbox.submit(photo);
        assert!(
            matches!(refused, Err(OutboxError::HeaderRefused { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn a_body_in_a_file_keeps_its_bytes_while_the_url_takes_parts() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open(&place);
        let order = order(&outbox, "order");
        let mut photo = photo(&outbox, "photo", "/photos").part(order.id, at("/n"), query("n"));
        photo.body = Body::File {
            content_type: "image/jpeg".to_owned(),
            path: place.file("photo.jpg", &b"jpeg".repeat(100_000)),
        };
        outbox.submit_all(vec![order, photo.clone()]).unwrap();
        drain(&outbox).await;
        assert!(last(&world).url.ends_with("/photos?n=1"));
        assert_eq!(
            outbox.snapshot(photo.id).unwrap().state,
            SubmissionState::Succeeded
        );
    });
}
