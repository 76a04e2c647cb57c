//! One case: an order with secrets meets a hostile server, and after it an honest one.

use std::time::Duration;

use submit_once::{
    Limits, ListFilter, OutboxConfig, PageRequest, RejectReason, Resolution, SubmissionId,
    SubmissionState,
};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::common::agents::{PATIENCE, assert_converged, server};
use crate::secrets::{Said, order, sign_in};
use crate::stage::{Stage, telling_limits};

/// What becomes of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It took effect, and the result is the true one.
    Done,
    /// It took effect, and its result couldn't be read.
    NoResult,
    /// It may have taken effect: it waits, and goes again.
    Doubt,
    /// It had no effect: it waits, and goes again.
    Again,
    /// It is for a person to decide.
    Held,
    /// It had no effect, and won't have any.
    Refused,
}

/// What is the server's part.
pub enum Server {
    /// The reference server, once, with this behaviour.
    Behaves(Behaviour),
    /// The same, always.
    AlwaysBehaves(Behaviour),
    /// Something of its own: runs, and gives how it ended.
    Own(fn(&mut Said) -> (Option<Stage>, End)),
}

pub struct Case {
    pub name: &'static str,
    pub server: Server,
    pub end: End,
}

pub fn once(name: &'static str, end: End, behaviour: Behaviour) -> Case {
    Case {
        name,
        server: Server::Behaves(behaviour),
        end,
    }
}

pub fn always(name: &'static str, end: End, behaviour: Behaviour) -> Case {
    Case {
        name,
        server: Server::AlwaysBehaves(behaviour),
        end,
    }
}

pub fn own(name: &'static str, end: End, run: fn(&mut Said) -> (Option<Stage>, End)) -> Case {
    Case {
        name,
        server: Server::Own(run),
        end,
    }
}

/// A stage with the account signed in.
pub fn stage(url: &str, change: impl FnOnce(OutboxConfig) -> OutboxConfig) -> Stage {
    let stage = Stage::with(url, |config| {
        change(config.limits(Limits {
            quiet_time: Some(Duration::from_secs(20)),
            ..telling_limits()
        }))
    });
    sign_in(&stage.outbox);
    stage
}

/// How an order stands, in the words above.
pub fn end_of(stage: &Stage, id: SubmissionId) -> End {
    let snapshot = stage.snapshot(id);
    let missing = snapshot
        .outcome
        .as_ref()
        .is_none_or(|outcome| outcome.result_missing);
    match snapshot.state {
        SubmissionState::Succeeded if missing => End::NoResult,
        SubmissionState::Succeeded => End::Done,
        SubmissionState::Pending if snapshot.in_doubt => End::Doubt,
        SubmissionState::Pending => End::Again,
        SubmissionState::Held { .. } => End::Held,
        SubmissionState::Rejected { reason } => {
            assert_ne!(reason, RejectReason::GaveUp);
            End::Refused
        }
        other => panic!("{other:?}"),
    }
}

impl Case {
    /// Runs it: how it ended, and what leaked.
    pub fn run(&self) -> (End, Vec<String>) {
        let mut said = Said::default();
        let (stage, end) = match &self.server {
            Server::Own(run) => run(&mut said),
            Server::Behaves(behaviour) => {
                let server = server();
                server.script(Matcher::Any, vec![behaviour.clone()]);
                let (stage, end) = meet(&server, false, &mut said);
                (Some(stage), end)
            }
            Server::AlwaysBehaves(behaviour) => {
                let server = server();
                server.always(Matcher::Any, behaviour.clone());
                let (stage, end) = meet(&server, true, &mut said);
                (Some(stage), end)
            }
        };
        let leaks = stage.map_or_else(Vec::new, |stage| {
            look_around(&stage, &mut said);
            said.leaks(&stage.place)
        });
        (end, leaks)
    }
}

/// The order goes out, and what waits goes again: there is never a second effect, or a second key.
fn meet(server: &ReferenceServer, stays_hostile: bool, said: &mut Said) -> (Stage, End) {
    let stage = stage(&server.url(), |config| config);
    let id = order(&stage.outbox);
    said.note(stage.drain());
    let end = end_of(&stage, id);
    said.note(stage.snapshot(id));
    server.release_all();
    // The clock jumps over the quiet time, and the server hasn't heard of that.
    assert!(server.wait_until_quiet(PATIENCE));
    // The longest wait that a server gets is a day, and half of it more.
    for _ in 0..20 {
        if !waits(&stage, id) {
            break;
        }
        stage.hours_later();
        sign_in(&stage.outbox);
        said.note(stage.drain());
    }
    assert!(stays_hostile || !waits(&stage, id), "it never ends");
    let summary = server.summary().unwrap();
    assert!(summary.keys <= 1 && summary.effects <= 1, "{summary:?}");
    assert!(summary.max_in_flight_per_key <= 1, "{summary:?}");
    if end_of(&stage, id) == End::Done {
        assert_converged(server, 1);
    }
    (stage, end)
}

fn waits(stage: &Stage, id: SubmissionId) -> bool {
    matches!(end_of(stage, id), End::Doubt | End::Again)
}

/// Whatever can be asked is asked, and written down.
fn look_around(stage: &Stage, said: &mut Said) {
    let outbox = &stage.outbox;
    said.note(
        outbox
            .list(ListFilter::all(), PageRequest::default())
            .unwrap(),
    );
    said.note(outbox.changes(0, 1_000).unwrap());
    said.note(outbox.stats().unwrap());
    said.note(outbox.open_report());
    let all = outbox
        .list(ListFilter::all(), PageRequest::default())
        .unwrap();
    for one in all.snapshots {
        let snapshot = stage.snapshot(one.id);
        said.text(snapshot.last_problem.as_deref().unwrap_or_default());
        said.text(snapshot.late_evidence.as_deref().unwrap_or_default());
        said.note(&snapshot.outcome);
        let stale = outbox.resolve(one.id, -1, Resolution::GiveUp);
        said.text(
            &stale
                .as_ref()
                .map_or_else(ToString::to_string, |_| String::new()),
        );
        said.note(stale);
    }
    outbox.close();
}
