//! Parents: what depends on others is sent after they have succeeded, and only then.

use std::sync::Arc;
use std::time::Duration;

use submit_once::{
    Effect, HoldReason, NetworkKind, Outbox, OutboxError, PartSource, PartTarget, ReceiptKind,
    RejectReason, Resolution, Submission, SubmissionId, SubmissionState, WaitingFor,
};

use crate::common::Place;
use crate::common::sim::{
    BIRTH, Play, World, answer, created, drain, lost, simulate, status, unreachable,
};

const HOUR: Duration = Duration::from_secs(3_600);
const REJECTED: SubmissionState = SubmissionState::Rejected {
    reason: RejectReason::Dependency,
};

/// A submission with a path of its own, so that the network's trace tells which it was.
fn numbered(outbox: &Outbox, name: &str) -> Submission {
    let id = outbox.begin(name.to_owned()).unwrap();
    Submission::post(id, &format!("/{name}")).json("{}")
}

fn after(outbox: &Outbox, name: &str, parents: &[SubmissionId]) -> Submission {
    let child = numbered(outbox, name);
    parents
        .iter()
        .fold(child, |child, parent| child.after(*parent))
}

fn with_part(outbox: &Outbox, name: &str, parent: SubmissionId) -> Submission {
    let from = PartSource::JsonPointer {
        pointer: "/n".to_owned(),
    };
    let into = PartTarget::Json {
        pointer: "/of".to_owned(),
    };
    numbered(outbox, name).part(parent, from, into)
}

/// The paths of the requests, in their order.
fn trace(world: &World) -> Vec<String> {
    let path = |url: &str| url.rsplit_once('/').unwrap().1.to_owned();
    let seen = world.network.seen();
    seen.iter().map(|seen| path(&seen.request.url)).collect()
}

fn state(outbox: &Outbox, id: SubmissionId) -> SubmissionState {
    outbox.snapshot(id).unwrap().state
}

fn waits(outbox: &Outbox, id: SubmissionId) -> Option<WaitingFor> {
    outbox.snapshot(id).unwrap().waiting_for
}

fn count(place: &Place, table: &str) -> i64 {
    let query = format!("SELECT count(*) FROM {table}");
    place.sql().query_row(&query, [], |row| row.get(0)).unwrap()
}

fn unsettled(place: &Place) -> i64 {
    let query = "SELECT unsettled FROM meta";
    place.sql().query_row(query, [], |row| row.get(0)).unwrap()
}

async fn forget_results(world: &World, outbox: &Arc<Outbox>) {
    world.pass(Duration::from_secs(86_400 * 31)).await;
    while outbox.retain().unwrap() {}
}

#[test]
fn a_child_goes_after_its_parent_has_succeeded_and_not_before() {
    let place = Place::new();
    simulate(1, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        outbox.submit(parent.clone()).unwrap();
        let mut child = after(&outbox, "child", &[parent.id]);
        child.priority = 100;
        let receipt = outbox.submit(child.clone()).unwrap();
        let waiting = Some(WaitingFor::Parent { id: parent.id });
        assert_eq!(receipt.snapshot.waiting_for, waiting);
        assert_eq!(receipt.snapshot.state, SubmissionState::Pending);
        // Not even on request.
        outbox.wake(child.id).unwrap();
        world.network.play([unreachable(), lost(), status(500)]);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(
            trace(&world),
            ["parent", "parent", "parent", "parent", "child"]
        );
        assert_eq!(state(&outbox, child.id), SubmissionState::Succeeded);
        assert_eq!(count(&place, "dependency"), 0);
    });
}

#[test]
fn a_child_goes_in_the_drain_of_its_parent_without_a_wait() {
    let place = Place::new();
    simulate(2, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        let child = after(&outbox, "child", &[parent.id]);
        outbox.submit_all(vec![parent, child]).unwrap();
        drain(&outbox).await;
        let seen = world.network.seen();
        assert_eq!(seen.len(), 2);
        assert!(seen[1].at - seen[0].at < Duration::from_secs(1));
    });
}

#[test]
fn chains_and_diamonds_go_in_their_order() {
    let place = Place::new();
    simulate(3, |world| async move {
        let outbox = world.open(&place);
        let top = numbered(&outbox, "top");
        let left = after(&outbox, "left", &[top.id]);
        let right = after(&outbox, "right", &[top.id, top.id]);
        let bottom = after(&outbox, "bottom", &[right.id, left.id]);
        let last = after(&outbox, "last", &[bottom.id]);
        let all = vec![top, left.clone(), right, bottom.clone(), last];
        outbox.submit_all(all).unwrap();
        // Left takes long.
        world.network.always(|request| {
            let seconds = if request.url.ends_with("left") { 9 } else { 1 };
            Play::Answer(Duration::from_secs(seconds), answer(201, "{}"))
        });
        outbox.start().unwrap();
        world.pass(Duration::from_secs(5)).await;
        // The first that hasn't ended is named.
        let id = left.id;
        assert_eq!(waits(&outbox, bottom.id), Some(WaitingFor::Parent { id }));
        world.pass(Duration::from_secs(15)).await;
        assert_eq!(trace(&world), ["top", "left", "right", "bottom", "last"]);
        assert_eq!(count(&place, "dependency"), 0);
    });
}

/// F53: what comes after never overtakes what it needs; and when that is refused for good, it ends
/// instead of being sent or waiting for ever.
#[test]
fn when_a_parent_ends_without_success_its_children_and_theirs_are_rejected() {
    for how in ["refused", "cancelled", "expired", "abandoned"] {
        let place = Place::new();
        simulate(4, |world| async move {
            let outbox = world.open(&place);
            let mut parent = numbered(&outbox, "parent");
            if how == "expired" {
                let soon = BIRTH.unsigned_abs() + 5_000;
                parent = parent.expires_at(std::time::UNIX_EPOCH + Duration::from_millis(soon));
                world.network.play([unreachable()]);
            }
            let other = numbered(&outbox, "other");
            let child = after(&outbox, "child", &[other.id, parent.id]);
            let grandchild = after(&outbox, "grandchild", &[child.id]);
            outbox
                .submit_all(vec![parent.clone(), other.clone()])
                .unwrap();
            outbox
                .submit_all(vec![child.clone(), grandchild.clone()])
                .unwrap();
            match how {
                "cancelled" => {
                    outbox.cancel(parent.id).unwrap();
                }
                "refused" => world.network.play([status(422)]),
                "abandoned" => world.network.play([status(412)]),
                _ => {}
            }
            drain(&outbox).await;
            if how == "abandoned" {
                let held = outbox.snapshot(parent.id).unwrap();
                let waiting = Some(WaitingFor::Parent { id: parent.id });
                assert_eq!(waits(&outbox, child.id), waiting, "{how}");
                outbox
                    .resolve(held.id, held.revision, Resolution::GiveUp)
                    .unwrap();
            }
            world.pass(HOUR).await;
            drain(&outbox).await;
            assert!(state(&outbox, parent.id).is_final(), "{how}");
            assert_ne!(
                state(&outbox, parent.id),
                SubmissionState::Succeeded,
                "{how}"
            );
            assert_eq!(
                state(&outbox, other.id),
                SubmissionState::Succeeded,
                "{how}"
            );
            for id in [child.id, grandchild.id] {
                assert_eq!(state(&outbox, id), REJECTED, "{how}");
                assert!(outbox.snapshot(id).unwrap().last_problem.is_some(), "{how}");
            }
            let sent = trace(&world);
            assert!(
                !sent.iter().any(|path| path.ends_with("child")),
                "{how}: {sent:?}"
            );
            assert_eq!(count(&place, "dependency"), 0, "{how}");
            assert_eq!(unsettled(&place), 0, "{how}");
        });
    }
}

#[test]
fn a_parent_that_is_not_known_is_refused_and_nothing_is_stored() {
    let place = Place::new();
    simulate(5, |world| async move {
        let outbox = world.open(&place);
        let unknown = SubmissionId::derived(None, "nobody", "knows");
        let child = after(&outbox, "child", &[unknown]);
        let refused = Err(OutboxError::UnknownParent { id: unknown });
        assert_eq!(outbox.submit(child.clone()), refused);
        // Nor can anything wait for itself, directly or around a corner.
        let own = child.clone().after(child.id);
        assert!(matches!(
            outbox.submit(own),
            Err(OutboxError::UnknownParent { .. })
        ));
        let first = numbered(&outbox, "first");
        let second = after(&outbox, "second", &[first.id]);
        let circle = vec![first.clone().after(second.id), second];
        let refused = Err(OutboxError::UnknownParent { id: circle[1].id });
        assert_eq!(outbox.submit_all(circle), refused);
        assert_eq!(count(&place, "submission"), 0);
        let mut many = first;
        many.after = (0..17)
            .map(|n| SubmissionId::derived(None, "p", &n.to_string()))
            .collect();
        assert!(
            matches!(outbox.submit(many), Err(OutboxError::Invalid { field, .. }) if field == "after")
        );
    });
}

/// P10, F80: nobody waits for what belongs to somebody else.
#[test]
fn a_parent_of_another_account_is_refused() {
    let place = Place::new();
    simulate(6, |world| async move {
        let outbox = world.open(&place);
        let mine = numbered(&outbox, "mine").account("alice");
        let nobodys = numbered(&outbox, "nobodys");
        outbox
            .submit_all(vec![mine.clone(), nobodys.clone()])
            .unwrap();
        for (parent, account) in [
            (mine.id, Some("bob")),
            (mine.id, None),
            (nobodys.id, Some("alice")),
        ] {
            let mut child = after(&outbox, "child", &[parent]);
            child.account = account.map(str::to_owned);
            let refused = outbox.submit(child);
            assert!(
                matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "after"),
                "{refused:?}"
            );
        }
        let child = after(&outbox, "child", &[mine.id]).account("alice");
        outbox.submit(child).unwrap();
    });
}

#[test]
fn a_parent_that_has_ended_already_lets_the_child_go_or_ends_it_at_once() {
    let place = Place::new();
    simulate(7, |world| async move {
        let outbox = world.open(&place);
        let (good, bad) = (numbered(&outbox, "good"), numbered(&outbox, "bad"));
        outbox.submit_all(vec![good.clone(), bad.clone()]).unwrap();
        outbox.cancel(bad.id).unwrap();
        drain(&outbox).await;
        for forgotten in [false, true] {
            if forgotten {
                forget_results(&world, &outbox).await;
                assert_eq!(count(&place, "submission"), 0);
            }
            let name = |what: &str| format!("{what}-{forgotten}");
            let child = after(&outbox, &name("child"), &[good.id]);
            let receipt = outbox.submit(child.clone()).unwrap();
            assert!(matches!(
                receipt.snapshot.waiting_for,
                Some(WaitingFor::Due { .. })
            ));
            let taker = with_part(&outbox, &name("taker"), good.id);
            let held = outbox.submit(taker.clone()).unwrap().snapshot.state;
            let missing = SubmissionState::Held {
                reason: HoldReason::ParentResultMissing,
            };
            assert_eq!(held == missing, forgotten, "{held:?}");
            let late = after(&outbox, &name("late"), &[good.id, bad.id]);
            let receipt = outbox.submit(late).unwrap();
            assert_eq!(
                (receipt.kind, receipt.snapshot.state),
                (ReceiptKind::Accepted, REJECTED)
            );
            drain(&outbox).await;
            assert_eq!(state(&outbox, child.id), SubmissionState::Succeeded);
            let expected = if forgotten {
                held
            } else {
                SubmissionState::Succeeded
            };
            assert_eq!(state(&outbox, taker.id), expected);
        }
        let sent = trace(&world);
        assert!(
            !sent.iter().any(|path| path.starts_with("late")),
            "{sent:?}"
        );
    });
}

/// P3: the same parts are a repeat, others a reuse.
#[test]
fn a_repeat_of_a_child_joins_and_one_with_other_parts_is_refused() {
    let place = Place::new();
    simulate(8, |world| async move {
        let outbox = world.open(&place);
        let (parent, other) = (numbered(&outbox, "parent"), numbered(&outbox, "other"));
        outbox
            .submit_all(vec![parent.clone(), other.clone()])
            .unwrap();
        let child = with_part(&outbox, "child", parent.id);
        outbox.submit(child.clone()).unwrap();
        let mut reuses = vec![
            with_part(&outbox, "child", other.id),
            numbered(&outbox, "child"),
        ];
        reuses.push(reuses[1].clone().after(parent.id));
        for turn in 0..2 {
            let kind = outbox.submit(child.clone()).unwrap().kind;
            assert_eq!(kind == ReceiptKind::Replayed, turn == 1, "{kind:?}");
            for reuse in &reuses {
                let refused = outbox.submit(reuse.clone());
                let Err(OutboxError::KeyReused { differs, .. }) = refused else {
                    panic!("{refused:?}");
                };
                assert_eq!(differs, ["parts"]);
            }
            drain(&outbox).await;
        }
        assert_eq!(world.network.sent(), 3);
    });
}

/// The parent's success is recorded, and then the process ends; or the parent's answer is lost with it.
#[test]
fn a_restart_between_parent_and_child_changes_nothing() {
    let place = Place::new();
    simulate(9, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        let mut child = with_part(&outbox, "child", parent.id);
        child.unmetered_only = true;
        outbox
            .submit_all(vec![parent.clone(), child.clone()])
            .unwrap();
        outbox.close();
        let outbox = world.open(&place);
        let waiting = Some(WaitingFor::Parent { id: parent.id });
        assert_eq!(waits(&outbox, child.id), waiting);
        drain(&outbox).await;
        assert_eq!(waits(&outbox, child.id), Some(WaitingFor::Unmetered));
        outbox.close();
        let outbox = world.open(&place);
        outbox.network_available(NetworkKind::Unmetered).unwrap();
        world.network.play([lost()]);
        outbox.start().unwrap();
        world.pass(HOUR).await;
        let seen = world.network.seen();
        assert_eq!(trace(&world), ["parent", "child", "child"]);
        assert_eq!(seen[1].request.body.as_bytes().unwrap(), br#"{"of":1}"#);
        assert_eq!(seen[1].request, seen[2].request);
    });
}

#[test]
fn a_chain_of_thousands_ends_in_one_step_without_a_stack() {
    let place = Place::new();
    simulate(10, |world| async move {
        let outbox = world.open(&place);
        let mut parent = numbered(&outbox, "first").id;
        let mut all = vec![numbered(&outbox, "first")];
        for n in 0..3_000 {
            let id = SubmissionId::derived(None, "chain", &n.to_string());
            all.push(Submission::post(id, "/next").after(parent));
            parent = id;
        }
        let (first, last) = (all[0].id, all[3_000].id);
        for some in all.chunks(1_000) {
            outbox.submit_all(some.to_vec()).unwrap();
        }
        outbox.cancel(first).unwrap();
        assert_eq!(state(&outbox, last), REJECTED);
        assert_eq!(unsettled(&place), 0);
        assert_eq!(count(&place, "dependency"), 0);
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 0);
    });
}

#[test]
fn a_thousand_may_wait_for_one_parent_and_no_more() {
    let place = Place::new();
    simulate(11, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        outbox.submit(parent.clone()).unwrap();
        let child = |n: u32| {
            let id = SubmissionId::derived(None, "child", &n.to_string());
            Submission::post(id, "/child").after(parent.id)
        };
        outbox.submit_all((0..1_000).map(child).collect()).unwrap();
        let full = Err(OutboxError::QueueFull { most: 1_000 });
        assert_eq!(outbox.submit(child(1_000)), full);
        // One that has ended doesn't wait any more.
        outbox.cancel(child(0).id).unwrap();
        outbox.submit(child(1_000)).unwrap();
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 1_001);
        outbox.submit(child(1_001)).unwrap();
    });
}

/// After a loss a child that was never sent is in doubt like everything else: when its parent fails it
/// is held, and no decision sends it.
#[test]
fn a_child_in_doubt_is_never_sent_after_its_parent_failed() {
    let place = Place::new();
    simulate(12, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        outbox.submit(parent.clone()).unwrap();
        let child = after(&outbox, "child", &[parent.id]);
        let late = after(&outbox, "late", &[parent.id]);
        place
            .sql()
            .execute("UPDATE meta SET doubt_before = ?1", [BIRTH + 1_000_000])
            .unwrap();
        assert!(outbox.submit(child.clone()).unwrap().snapshot.in_doubt);
        outbox.cancel(parent.id).unwrap();
        outbox.submit(late.clone()).unwrap();
        for id in [child.id, late.id] {
            let held = outbox.snapshot(id).unwrap();
            let unknown = SubmissionState::Held {
                reason: HoldReason::OutcomeUnknown,
            };
            assert_eq!(held.state, unknown);
            let retry = Resolution::RetrySameKey {
                accept_second_effect: true,
            };
            let refused = outbox.resolve(id, held.revision, retry);
            assert!(
                matches!(refused, Err(OutboxError::CannotRetry { .. })),
                "{refused:?}"
            );
            outbox
                .resolve(id, held.revision, Resolution::GiveUp)
                .unwrap();
        }
        drain(&outbox).await;
        assert_eq!(world.network.sent(), 0);
    });
}

/// A bit that flips doesn't let a child go before its parent.
#[test]
fn a_child_that_is_marked_as_ready_by_mistake_still_waits() {
    let place = Place::new();
    simulate(13, |world| async move {
        let outbox = world.open(&place);
        let parent = numbered(&outbox, "parent");
        outbox.submit(parent.clone()).unwrap();
        let mut child = after(&outbox, "child", &[parent.id]);
        child.priority = 100;
        outbox.submit(child.clone()).unwrap();
        place
            .sql()
            .execute("UPDATE submission SET ready = 1", [])
            .unwrap();
        world.network.play([created()]);
        drain(&outbox).await;
        assert_eq!(trace(&world), ["parent", "child"]);
    });
}

/// With children it would go before the newer version, which may have been sent.
#[test]
fn a_version_that_waits_for_a_newer_one_is_no_parent_any_more() {
    let place = Place::new();
    simulate(14, |world| async move {
        let outbox = world.open(&place);
        let draft = |name: &str| {
            let draft = numbered(&outbox, name).effect(Effect::Overwrite);
            draft.replaces("draft")
        };
        let (older, newer) = (draft("older"), draft("newer"));
        outbox.submit(older.clone()).unwrap();
        world.network.play([lost()]);
        drain(&outbox).await;
        outbox.submit(newer.clone()).unwrap();
        let id = newer.id;
        assert_eq!(waits(&outbox, older.id), Some(WaitingFor::Newer { id }));
        let refused = outbox.submit(after(&outbox, "child", &[older.id]));
        assert!(
            matches!(&refused, Err(OutboxError::Invalid { field, .. }) if field == "after"),
            "{refused:?}"
        );
        let child = after(&outbox, "child", &[newer.id]);
        outbox.submit(child.clone()).unwrap();
        outbox.start().unwrap();
        world.pass(HOUR).await;
        assert_eq!(trace(&world), ["older", "newer", "child"]);
    });
}
