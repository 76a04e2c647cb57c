//! Status probes on the wire: a `GET` with the account's credentials and nothing else of the
//! submission. It has no key and no body, opens no attempt, and follows no redirect.

use std::sync::Arc;

use bytes::Bytes;

use super::engine::Engine;
use super::gate::{Gate, Report};
use super::judge::{find, seen};
use super::transport::{Ears, Exchange, Reported, Shared, WireBody, WireRequest};
use crate::entropy::up_to;
use crate::model::submission::Header;
use crate::policy::classify::Fault;
use crate::policy::probe::{StatusProbe, Told, judge};
use crate::policy::profile::ServerProfile;
use crate::store::{Bound, Probed, Question};

/// A question on the wire.
pub(super) struct Asking {
    asked: Arc<Asked>,
    shared: Arc<Shared>,
}

/// What judging an answer needs.
pub(super) struct Asked {
    about: Bound,
    probe: StatusProbe,
    profile: ServerProfile,
}

impl Engine {
    /// Puts a question on the wire. One that is there already will answer for it.
    pub(super) fn ask(self: &Arc<Self>, gate: &mut Gate, question: Question) {
        let submission = question.about.submission;
        if gate.asking.contains_key(&submission) {
            return;
        }
        let credentials = match &question.credentials {
            None => Some(Vec::new()),
            // Looked at again: they may have gone with their account since the claim.
            Some(usable) => self.parts.desk.headers(usable),
        };
        let Some(credentials) = credentials else {
            let unreached = Some(Told::Unreached);
            return gate.probed.push(self.probed(question.about, unreached));
        };
        let request = self.wire_question(&question.probe, credentials);
        let asked = Arc::new(Asked {
            about: question.about,
            probe: question.probe,
            profile: question.profile,
        });
        let shared = {
            let asked = Arc::clone(&asked);
            let reports = self.reports.clone();
            let nudge = Arc::clone(&self.nudge);
            Shared::new(Ears {
                // It needs no lease: two at once only find the same.
                holds: Box::new(|| true),
                reported: Box::new(move |reported| {
                    drop(reports.send(Report::Probe(Arc::clone(&asked), reported)));
                    nudge.notify_one();
                }),
                progressed: Box::new(|_| {}),
            })
        };
        let asking = Asking {
            asked,
            shared: Arc::clone(&shared),
        };
        gate.asking.insert(submission, asking);
        let executor = Arc::clone(&self.parts.executor);
        let patience = self.parts.limits.request_timeout;
        let sleep = move || executor.sleep(patience);
        self.parts
            .executor
            .spawn(Box::pin(Arc::clone(&shared).time_out(sleep)));
        self.parts.transport.start(request, Exchange::new(shared));
    }

    fn wire_question(&self, probe: &StatusProbe, credentials: Vec<Header>) -> WireRequest {
        let mut headers = credentials;
        let own = [
            ("accept", "*/*"),
            ("user-agent", self.parts.user_agent.as_str()),
        ];
        for (name, value) in own {
            if !headers.iter().any(|header| header.name == name) {
                headers.push(Header {
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            }
        }
        let limits = &self.parts.limits;
        WireRequest {
            method: "GET".to_owned(),
            url: probe.url.clone(),
            headers,
            body: WireBody::Bytes(Bytes::new()),
            max_answer_bytes: limits.max_answer_bytes as usize,
            idle_timeout: limits.idle_timeout,
            fresh_connection: false,
        }
    }

    /// Takes what came of a question, unless it was given up before.
    pub(super) fn hear(&self, gate: &mut Gate, asked: &Arc<Asked>, reported: Reported) {
        let submission = asked.about.submission;
        let current = gate.asking.get(&submission);
        if !current.is_some_and(|current| Arc::ptr_eq(&current.asked, asked)) {
            return;
        }
        gate.asking.remove(&submission);
        let probed = match reported {
            Reported::Failed(fault) => self.probed(asked.about, heard(fault)),
            Reported::Answered(answer) => {
                let seen = seen(&answer);
                let wall = self.parts.clock.now().wall;
                let told = judge(&asked.probe, &asked.profile, &seen, wall);
                Probed {
                    status: answer.status,
                    content_type: find(&answer, "content-type").map(str::to_owned),
                    server_time: seen.server_time(&asked.profile),
                    ..self.probed(asked.about, Some(told))
                }
            }
        };
        gate.probed.push(probed);
    }

    /// Ends all questions from this side.
    pub(super) fn stop_asking(&self, gate: &mut Gate) {
        for (_, asking) in std::mem::take(&mut gate.asking) {
            asking.shared.stop(Fault::Stopped);
            gate.probed.push(self.probed(asking.asked.about, None));
        }
    }

    fn probed(&self, about: Bound, told: Option<Told>) -> Probed {
        Probed {
            about,
            told,
            status: 0,
            content_type: None,
            server_time: None,
            spread: u32::try_from(up_to(self.parts.entropy.as_ref(), 500)).unwrap_or_default(),
        }
    }
}

/// What the lack of an answer says. `None`: it was stopped from this side.
fn heard(fault: Fault) -> Option<Told> {
    match fault {
        Fault::Stopped => None,
        Fault::Offline
        | Fault::Unreachable
        | Fault::Tls
        | Fault::TlsClock
        | Fault::NotSent
        | Fault::NotProcessed
        | Fault::BodyMissing
        | Fault::BodyChanged
        | Fault::BodyUnreadable => Some(Told::Unreached),
        Fault::TimedOut | Fault::Lost | Fault::BadAnswer => Some(Told::NoAnswer),
    }
}
