//! What waits for others goes on whatever becomes of those: purged, dropped by retention, unreadable.

use std::time::Duration;

use submit_once::{
    Effect, LanePolicy, Limits, Outbox, ReceiptKind, SignOut, Submission, SubmissionState,
    WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{Play, created, drain, order, simulate, status, status_with, takes};
use crate::credentials::{of, supply};
use crate::probes::{self, Server, probe, sent, there};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn draft(outbox: &Outbox, version: u32) -> Submission {
    let id = outbox.begin(format!("draft {version}")).unwrap();
    Submission::new(id, "PUT", "/drafts/42")
        .json(format!(r#"{{"version":{version}}}"#))
        .effect(Effect::Overwrite)
        .replaces("draft/42")
}

fn in_lane(outbox: &Outbox, name: &str, policy: LanePolicy) -> Submission {
    let id = outbox.begin(name.to_owned()).unwrap();
    let submission = Submission::post(id, &format!("/{name}")).json("{}");
    submission.lane("orders").lane_policy(policy)
}

fn sign_in(outbox: &Outbox, token: &str) {
    outbox.sign_in("ann".to_owned()).unwrap();
    supply(outbox, "ann", token);
}

/// C13, W4: the older version was purged with its request on the wire, and the account is back at once.
#[test]
fn a_purge_keeps_the_wait_for_an_older_version() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        sign_in(&outbox, "one");
        world.network.play([Play::HandOver { confirm: true }]);
        outbox.submit(of("ann", draft(&outbox, 1))).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        assert_eq!(outbox.sign_out(SignOut::Purge).unwrap().abandoned, 1);
        sign_in(&outbox, "two");
        let two = of("ann", draft(&outbox, 2));
        outbox.submit(two.clone()).unwrap();
        world.pass(SECOND * 14).await;
        assert_eq!(world.network.seen().len(), 1);
        outbox.wait(two.id, HOUR).await.unwrap();
        let keys = || -> i64 {
            let sql = "SELECT count(*) FROM latest";
            place.sql().query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(keys(), 1);
        outbox.sign_out(SignOut::Purge).unwrap();
        world.pass(SECOND * 20).await;
        while outbox.retain().unwrap() {}
        assert_eq!(keys(), 0, "a key isn't remembered for ever");
    });
}

/// A purge that broke off; what was submitted into the lane since then gets its turn.
#[test]
fn what_was_submitted_during_a_purge_gets_its_turn() {
    for policy in [
        LanePolicy::Block,
        LanePolicy::Continue,
        LanePolicy::RejectRest,
    ] {
        let place = Place::new();
        simulate(2, |world| async move {
            let outbox = world.open_apart(&place);
            sign_in(&outbox, "one");
            world.network.play([Play::HandOver { confirm: true }]);
            let first = in_lane(&outbox, "first", policy);
            outbox.submit(of("ann", first)).unwrap();
            outbox.start().unwrap();
            world.pass(Duration::from_millis(10)).await;
            outbox.suspend().unwrap();
            let mark = "UPDATE account SET signed_in = 0, purging = 1 + (SELECT seq
                FROM sqlite_sequence WHERE name = 'submission') WHERE name = 'ann'";
            assert_eq!(place.sql().execute(mark, []).unwrap(), 1);
            let new = of("ann", in_lane(&outbox, "new", policy));
            outbox.submit(new.clone()).unwrap();
            sign_in(&outbox, "two");
            world.network.always(|_| created());
            outbox.start().unwrap();
            world.pass(HOUR).await;
            let snapshot = outbox.snapshot(new.id).unwrap();
            assert_eq!(snapshot.state, SubmissionState::Succeeded, "{policy:?}");
        });
    }
}

/// What is rejected with the rest never had its turn: its own policy stops nobody.
#[test]
fn what_is_rejected_with_the_rest_stops_no_lane() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(403)]);
        let a = in_lane(&outbox, "a", LanePolicy::RejectRest);
        let b = in_lane(&outbox, "b", LanePolicy::Block);
        outbox.submit_all(vec![a, b.clone()]).unwrap();
        drain(&outbox).await;
        let state = outbox.snapshot(b.id).unwrap().state;
        assert!(matches!(state, SubmissionState::Rejected { .. }));
        let later = in_lane(&outbox, "c", LanePolicy::Block);
        outbox.submit(later.clone()).unwrap();
        drain(&outbox).await;
        let state = outbox.snapshot(later.id).unwrap().state;
        assert_eq!(state, SubmissionState::Succeeded);
    });
}

#[test]
fn a_stopped_lane_says_what_stopped_it_as_long_as_something_waits() {
    let place = Place::new();
    simulate(3, |world| async move {
        let limits = Limits {
            keep_results_count: 1,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        world.network.play([status(400)]);
        let [a, b] = ["a", "b"].map(|name| in_lane(&outbox, name, LanePolicy::Block));
        outbox.submit_all(vec![a.clone(), b.clone()]).unwrap();
        drain(&outbox).await;
        for n in 0..3 {
            outbox.submit(order(&outbox, &format!("x{n}"))).unwrap();
        }
        drain(&outbox).await;
        while outbox.retain().unwrap() {}
        let waits = outbox.snapshot(b.id).unwrap().waiting_for;
        assert_eq!(waits, Some(WaitingFor::Lane { id: a.id }));
    });
}

/// It had to give way once; what it has done is done.
#[test]
fn an_older_version_that_succeeded_can_become_a_parent() {
    let place = Place::new();
    simulate(4, |world| async move {
        let outbox = world.open(&place);
        world.network.always(takes(5));
        let one = draft(&outbox, 1);
        outbox.submit(one.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        outbox.submit(draft(&outbox, 2)).unwrap();
        world.pass(SECOND * 60).await;
        let id = outbox.begin("child".to_owned()).unwrap();
        let child = Submission::post(id, "/children").json("{}").after(one.id);
        outbox.submit(child).unwrap();
    });
}

/// One row that can't be read is put aside, and nothing else with it.
#[test]
fn an_unreadable_row_keeps_no_other_from_moving_on() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        world.network.play([status(400)]);
        let all = ["a", "b", "c"].map(|name| in_lane(&outbox, name, LanePolicy::RejectRest));
        outbox.submit_all(all.to_vec()).unwrap();
        let id = outbox.begin("child".to_owned()).unwrap();
        let child = Submission::post(id, "/children")
            .json("{}")
            .after(all[0].id);
        outbox.submit(child).unwrap();
        let damage = "UPDATE submission SET attempts = -1 WHERE seq = 2";
        assert_eq!(place.sql().execute(damage, []).unwrap(), 1);
        drain(&outbox).await;
        let states: Vec<(String, Option<String>)> = {
            let sql = place.sql();
            let mut statement = sql
                .prepare("SELECT state, reason FROM submission ORDER BY seq")
                .unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
            rows.unwrap().map(Result::unwrap).collect()
        };
        let is = |state: &str, reason: &str| (state.to_owned(), Some(reason.to_owned()));
        assert_eq!(
            states,
            [
                is("rejected", "configuration"),
                is("held", "damaged"),
                is("rejected", "dependency"),
                is("rejected", "dependency")
            ]
        );
    });
}

/// A probe that meets a busy host waits as everybody does, and burns none of its tries.
#[test]
fn a_probe_waits_as_long_as_the_host_asks_everybody() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = probes::unkeyed(&world, &place);
        let busy = status_with(503, "retry-after", "120");
        let server = Server::of(&world, crate::common::sim::lost(), busy);
        let submission = probes::submit(&outbox, "order");
        outbox.start().unwrap();
        world.pass(SECOND * 100).await;
        assert_eq!(sent(&world, "GET").len(), 1);
        world.pass(HOUR).await;
        let state = outbox.snapshot(submission.id).unwrap().state;
        assert_eq!(state, SubmissionState::Pending, "no try was burned");
        server.tell(there());
        let waited = outbox.wait(submission.id, HOUR).await.unwrap();
        assert!(matches!(waited, submit_once::Waited::Settled { .. }));
    });
}

/// Past the horizon, a short outage doesn't end the asking.
#[test]
fn an_outage_ends_no_question() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let server = Server::of(&world, crate::common::sim::lost(), status(503));
        let id = outbox.begin("order".to_owned()).unwrap();
        let submission = Submission::post(id, "/orders").json("{}").probe(probe());
        outbox.submit(submission.clone()).unwrap();
        drain(&outbox).await;
        outbox.suspend().unwrap();
        world.pass(HOUR * 30).await;
        outbox.start().unwrap();
        world.pass(SECOND * 60).await;
        server.tell(there());
        world.pass(HOUR).await;
        let state = outbox.snapshot(submission.id).unwrap().state;
        assert_eq!(state, SubmissionState::Succeeded);
    });
}

/// The credentials of a question are refused: others are asked for, and no try is burned.
#[test]
fn a_question_whose_credentials_are_refused_waits_for_others() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = probes::unkeyed(&world, &place);
        sign_in(&outbox, "old");
        let server = Server::of(&world, crate::common::sim::lost(), status(401));
        let submission = of("ann", order(&outbox, "order").probe(probe()));
        outbox.submit(submission.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(sent(&world, "GET").len(), 1);
        let waits = outbox.snapshot(submission.id).unwrap().waiting_for;
        assert_eq!(waits, Some(WaitingFor::Credentials));
        server.tell(there());
        supply(&outbox, "ann", "new");
        let waited = outbox.wait(submission.id, HOUR).await.unwrap();
        assert!(matches!(waited, submit_once::Waited::Settled { .. }));
    });
}

/// F08: an order and its note; the note fails, and the button is tapped again.
#[test]
fn a_second_tap_makes_no_step_again_that_has_been_made() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        world.network.play([created(), status(500), created()]);
        let tap = || {
            let first = outbox.begin("order".to_owned()).unwrap();
            let second = outbox.begin("order/note".to_owned()).unwrap();
            vec![
                Submission::post(first, "/orders").json("{}"),
                Submission::post(second, "/notes").json("{}").after(first),
            ]
        };
        let steps = tap();
        outbox.submit_all(steps.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(SECOND).await;
        let kinds: Vec<_> = outbox
            .submit_all(steps.clone())
            .unwrap()
            .iter()
            .map(|receipt| receipt.kind)
            .collect();
        assert_eq!(kinds, [ReceiptKind::Replayed, ReceiptKind::Joined]);
        outbox.wait(steps[1].id, HOUR).await.unwrap();
        let paths: Vec<_> = world
            .network
            .seen()
            .iter()
            .map(|seen| seen.request.url.rsplit('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(paths, ["orders", "notes", "notes"]);
    });
}
