//! Of the fetches of a key one is on the wire at a time, and what is older never takes the place of what
//! is newer.

use std::time::Duration;

use submit_once::{Effect, ListFilter, Outbox, PageRequest, Submission, SubmissionState};

use super::fetched::{current, fetch, get, tagged, text, unchanged, value};
use crate::common::Place;
use crate::common::sim::{Play, World, lost, simulate, status};

const HOUR: Duration = Duration::from_secs(3_600);
/// Longer than any lease.
const NAP: Duration = Duration::from_secs(200);

async fn moment(world: &World) {
    world.pass(Duration::from_millis(10)).await;
}

/// P4: one on the wire at a time; the newer one waits, and ends as the current one.
#[test]
fn a_newer_fetch_waits_for_the_older_one_on_the_wire() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let (older, newer) = (get(&outbox, 1), get(&outbox, 2));
        outbox.submit(older.clone()).unwrap();
        outbox.start().unwrap();
        moment(&world).await;
        outbox.submit(newer.clone()).unwrap();
        world.pass(Duration::from_secs(5)).await;
        assert_eq!(world.network.sent(), 1);
        world.network.play([value("two", r#""b""#)]);
        let answer = tagged(200, "one", r#""a""#);
        world.network.take().answered(answer);
        outbox.wait(newer.id, HOUR).await.unwrap();
        assert_eq!(text(&outbox).unwrap(), "two");
        assert_eq!(current(&outbox).unwrap().id, newer.id);
        let older = outbox.snapshot(older.id).unwrap();
        assert_eq!(older.state, SubmissionState::Succeeded);
    });
}

/// F116: a fetch that got no answer is never in doubt: the newer one doesn't wait for the server.
#[test]
fn a_newer_fetch_does_not_wait_for_one_that_got_no_answer() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let (older, newer) = (get(&outbox, 1), get(&outbox, 2));
        outbox.submit(older.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_millis(100)).await;
        assert_eq!(world.network.sent(), 1);
        world.network.play([value("two", r#""b""#)]);
        outbox.submit(newer.clone()).unwrap();
        world.pass(Duration::from_millis(100)).await;
        assert_eq!(text(&outbox).unwrap(), "two");
        let superseded = SubmissionState::Superseded { by: newer.id };
        assert_eq!(outbox.snapshot(older.id).unwrap().state, superseded);
    });
}

/// C13: a process that froze on the wire answers when a newer one has succeeded elsewhere.
#[test]
fn the_late_answer_of_an_older_fetch_changes_nothing() {
    let place = Place::new();
    simulate(9, |world| async move {
        let sleeper = world.open_apart(&place);
        world.network.play([Play::HandOver { confirm: true }]);
        let older = get(&sleeper, 1);
        sleeper.submit(older.clone()).unwrap();
        sleeper.start().unwrap();
        moment(&world).await;
        let late = world.network.take();
        world.clock.sleep_device(NAP);
        let other = world.open_apart(&place);
        world.network.always(|_| value("two", r#""b""#));
        let newer = get(&other, 2);
        other.submit(newer.clone()).unwrap();
        other.wait(newer.id, HOUR).await.unwrap();
        other.start().unwrap();
        other.wait(newer.id, HOUR).await.unwrap();
        let before = current(&other).unwrap();
        assert_eq!(
            (before.id, text(&other).unwrap().as_str()),
            (newer.id, "two")
        );
        late.answered(tagged(200, "one", r#""a""#));
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(current(&other).unwrap(), before);
        assert_eq!(current(&sleeper).unwrap(), before);
    });
}

/// C13: the order of things lets no older one answer after a newer one. Where it were broken, the value would
/// stand all the same, in the code and in the file.
#[test]
fn an_answer_never_takes_the_place_of_a_newer_one() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let overtaken = get(&outbox, 1).replaces("another key");
        world.network.play([Play::HandOver { confirm: true }]);
        outbox.submit(overtaken.clone()).unwrap();
        outbox.start().unwrap();
        moment(&world).await;
        world.network.play([value("two", r#""b""#), unchanged()]);
        for n in [2, 3] {
            let newer = get(&outbox, n);
            outbox.submit(newer.clone()).unwrap();
            outbox.wait(newer.id, HOUR).await.unwrap();
        }
        let before = current(&outbox);
        let sql = place.sql();
        let guards =
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'submission'";
        let names: Vec<String> = sql
            .prepare(guards)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for name in names {
            sql.execute(&format!("DROP TRIGGER {name}"), []).unwrap();
        }
        sql.execute(
            "UPDATE submission SET replaces = 'config' WHERE seq = 1",
            [],
        )
        .unwrap();
        let answer = tagged(200, "one", r#""a""#);
        world.network.take().answered(answer);
        let minute = Duration::from_secs(60);
        outbox.wait(overtaken.id, minute).await.unwrap();
        let ended = outbox.snapshot(overtaken.id).unwrap();
        assert_eq!(ended.state, SubmissionState::Succeeded);
        assert_eq!(current(&outbox), before);
        for change in ["checked_seq = 2", "seq = 1"] {
            let change = format!("UPDATE fetched SET {change}");
            let refused = sql.execute(&change, []).unwrap_err().to_string();
            assert!(refused.contains("guard"), "{refused}");
        }
    });
}

/// A failure that is newer than what was checked leaves the check where it was.
#[test]
fn a_failure_checks_nothing() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        world.network.play([value("one", r#""a""#), status(404)]);
        fetch(&outbox, get(&outbox, 1)).await;
        fetch(&outbox, get(&outbox, 2)).await;
        let checked: i64 = place
            .sql()
            .query_row("SELECT checked_seq FROM fetched", [], |row| row.get(0))
            .unwrap();
        assert_eq!(checked, 1);
    });
}

fn put(outbox: &Outbox) -> Submission {
    let id = outbox.begin("an edit".into()).unwrap();
    Submission::new(id, "PUT", "/config")
        .json("{}")
        .effect(Effect::Overwrite)
}

/// P11: what the user changed is sent, though something is fetched under the same key after it.
#[test]
fn a_fetch_and_a_write_of_one_name_are_no_versions_of_each_other() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        world.network.play([lost()]);
        let fetched = get(&outbox, 1);
        let key = fetched.replaces.clone().unwrap();
        let written = put(&outbox).replaces(&key);
        outbox.submit(written.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_millis(100)).await;
        world.network.always(|_| value("one", r#""a""#));
        outbox.submit(fetched.clone()).unwrap();
        outbox.submit(get(&outbox, 2)).unwrap();
        world.pass(HOUR).await;
        let ended = |id| outbox.snapshot(id).unwrap();
        assert_eq!(ended(written.id).state, SubmissionState::Succeeded);
        assert_eq!(ended(written.id).attempts, 2);
        assert_eq!(text(&outbox).unwrap(), "one");
        // Both are found by their name.
        let filter = ListFilter {
            replaces: Some(key.clone()),
            ..ListFilter::all()
        };
        let listed = outbox.list(filter, PageRequest::default()).unwrap();
        assert_eq!(listed.snapshots.len(), 3);
        assert!(
            listed
                .snapshots
                .iter()
                .all(|one| one.replaces.as_ref() == Some(&key))
        );
    });
}
