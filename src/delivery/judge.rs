//! From what a transport reported to what the store settles: builds the wire request, asks the
//! classifier, and turns its judgement into waits and words.

use std::sync::Arc;
use std::time::Duration;

use super::transport::{Reported, WireAnswer, WireBody, WireRequest};
use crate::clock::WallMs;
use crate::entropy::{Entropy, up_to};
use crate::model::body::FrozenBody;
use crate::model::id::SubmissionId;
use crate::model::key_place;
use crate::model::links::KEPT_HEADERS;
use crate::model::request::FrozenRequest;
use crate::model::state::Proof;
use crate::model::submission::{Effect, Header};
use crate::policy::backoff::{exponential, with_jitter};
use crate::policy::classify::{
    self, Answer, Circumstances, Counts, Fault, History, Judgement, Wait,
};
use crate::policy::limits::Limits;
use crate::policy::profile::{KeyPlace, ServerProfile};
use crate::store::{Claim, Finished, KeptAnswer, Store, Want};
use crate::trace;

/// What judging needs to know of an attempt. Outlives the exchange, for late answers.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) submission: i64,
    pub(super) attempt: i64,
    /// How often it has followed a redirect.
    pub(super) hops: u32,
    /// It asks where a 303 pointed.
    pub(super) following: bool,
    pub(super) id: SubmissionId,
    wire_key: String,
    effect: Effect,
    profile: Arc<ServerProfile>,
    account: bool,
    failures: u32,
    history: History,
}

impl About {
    pub(super) fn of(claim: &Claim) -> Self {
        Self {
            submission: claim.submission,
            attempt: claim.attempt,
            hops: 0,
            following: false,
            id: claim.request.id,
            wire_key: claim.request.wire_key.clone(),
            effect: claim.request.effect,
            profile: Arc::new(claim.request.profile.clone()),
            account: claim.credentials.is_some(),
            failures: claim.failures,
            history: claim.history,
        }
    }

    /// The same attempt, one redirect later.
    pub(super) fn redirected(&self, following: bool) -> Self {
        Self {
            hops: self.hops + 1,
            following,
            history: History {
                never_sent: false,
                ..self.history
            },
            ..self.clone()
        }
    }

    /// The key is still where the server looks for it, in a URL that the request is redirected to.
    pub(super) fn keeps_key(&self, url: &str) -> bool {
        self.effect != Effect::Keyed
            || key_place::is_in_url(url, &self.profile.key_place, &self.wire_key)
    }

    /// The header that carries the key, if one does.
    pub(super) fn key_header(&self) -> Option<String> {
        match &self.profile.key_place {
            KeyPlace::Header { name } => Some(name.to_ascii_lowercase()),
            KeyPlace::JsonPointer { .. }
            | KeyPlace::Query { .. }
            | KeyPlace::Path { .. }
            | KeyPlace::Nowhere => None,
        }
    }

    fn circumstances<'a>(&'a self, limits: &'a Limits, wall: WallMs) -> Circumstances<'a> {
        Circumstances {
            effect: self.effect,
            profile: &self.profile,
            limits,
            derived_id: self.id.is_derived(),
            account: self.account,
            following: self.following,
            redirected: self.hops > 0,
            history: self.history,
            wall,
        }
    }
}

/// The request as it goes out: the same at every attempt, but for a user agent that the submission
/// doesn't store and an update of the app may change, and for its account's credentials.
pub(super) fn wire_request(
    request: FrozenRequest,
    credentials: Vec<Header>,
    store: &Store,
    user_agent: &str,
    limits: &Limits,
) -> WireRequest {
    let mut headers = request.headers;
    // Stored before anybody knew that it is one of the credentials.
    headers.retain(|stored| !credentials.iter().any(|header| header.name == stored.name));
    if let Some(content_type) = request.content_type {
        headers.push(header("content-type", content_type));
    }
    if let KeyPlace::Header { name } = &request.profile.key_place {
        headers.push(header(&name.to_ascii_lowercase(), request.wire_key));
    }
    headers.extend(credentials);
    for (name, value) in [("accept", "*/*"), ("user-agent", user_agent)] {
        if !headers.iter().any(|stored| stored.name == name) {
            headers.push(header(name, value.to_owned()));
        }
    }
    WireRequest {
        method: request.method,
        url: request.url,
        headers,
        body: match request.body {
            FrozenBody::Inline(bytes) => WireBody::Bytes(bytes.into()),
            FrozenBody::File { name, length } => WireBody::File {
                path: store.body_path(&name),
                length,
            },
        },
        max_answer_bytes: limits.max_answer_bytes as usize,
        idle_timeout: limits.idle_timeout,
        fresh_connection: false,
    }
}

fn header(name: &str, value: String) -> Header {
    Header {
        name: name.to_owned(),
        value,
    }
}

/// Judges what came of an attempt.
pub(super) fn judge(
    about: &About,
    reported: Reported,
    limits: &Limits,
    wall: WallMs,
    entropy: &dyn Entropy,
) -> Finished {
    let circumstances = about.circumstances(limits, wall);
    match reported {
        Reported::Failed(fault) => {
            let judgement = classify::fault(fault, &circumstances);
            let problem = Some(words(fault).to_owned());
            Finished {
                want: want(fault),
                silent: may_have_left(fault),
                ..finished(about, judgement, problem, limits, entropy)
            }
        }
        Reported::Answered(answer) => {
            let seen = seen(&answer);
            let judgement = classify::answer(&seen, &circumstances);
            let problem = (judgement.proves != Proof::Applied)
                .then(|| format!("the server answered {}", answer.status));
            let server_time = seen.server_time(&about.profile);
            // A portal answers instead of the server: another network may have none.
            let want = if judgement.counts == Counts::Transport {
                Want::Network
            } else {
                Want::Nothing
            };
            Finished {
                want,
                server_time,
                answer: Some(keep(answer)),
                ..finished(about, judgement, problem, limits, entropy)
            }
        }
    }
}

fn finished(
    about: &About,
    judgement: Judgement,
    problem: Option<String>,
    limits: &Limits,
    entropy: &dyn Entropy,
) -> Finished {
    trace::judged(&judgement);
    let quiet = about.profile.quiet(limits.quiet_time);
    let (wait, asked) = match judgement.wait {
        Wait::Nothing => (Duration::ZERO, Duration::ZERO),
        Wait::Backoff => (exponential(about.failures + 1, limits), Duration::ZERO),
        Wait::Server(asked) => (exponential(about.failures + 1, limits), asked),
        Wait::Long => (limits.backoff_most, Duration::ZERO),
    };
    let floor = match judgement.proves {
        Proof::Unknown => asked.max(quiet),
        Proof::NotApplied | Proof::Applied => asked,
    };
    Finished {
        submission: about.submission,
        attempt: about.attempt,
        delay: with_jitter(wait, floor, entropy),
        floor,
        spread: u32::try_from(up_to(entropy, 500)).unwrap_or_default(),
        judgement,
        want: Want::Nothing,
        silent: false,
        problem,
        answer: None,
        server_time: None,
    }
}

/// An answer as the policy reads it.
pub(super) fn seen(answer: &WireAnswer) -> Answer<'_> {
    Answer {
        status: answer.status,
        headers: &answer.headers,
        body: &answer.body,
        complete: answer.complete,
    }
}

fn keep(answer: WireAnswer) -> KeptAnswer {
    KeptAnswer {
        status: answer.status,
        content_type: find(&answer, "content-type").map(str::to_owned),
        headers: answer
            .headers
            .into_iter()
            .filter(|header| KEPT_HEADERS.contains(&header.name.as_str()))
            .collect(),
        body: answer.complete.then_some(answer.body),
    }
}

pub(super) fn find<'a>(answer: &'a WireAnswer, name: &str) -> Option<&'a str> {
    answer
        .headers
        .iter()
        .find(|header| header.name == name)
        .map(|header| header.value.as_str())
}

/// Some of the request may have left before it.
fn may_have_left(fault: Fault) -> bool {
    match fault {
        Fault::TimedOut | Fault::Lost | Fault::BadAnswer | Fault::Stopped => true,
        Fault::Offline
        | Fault::Unreachable
        | Fault::Tls
        | Fault::TlsClock
        | Fault::NotSent
        | Fault::NotProcessed
        | Fault::BodyMissing
        | Fault::BodyChanged
        | Fault::BodyUnreadable => false,
    }
}

/// What it lacked that a network may bring.
fn want(fault: Fault) -> Want {
    match fault {
        Fault::Offline | Fault::Unreachable | Fault::TimedOut | Fault::Lost => Want::Network,
        Fault::Tls => Want::Certificate,
        Fault::TlsClock => Want::Clock,
        Fault::NotSent
        | Fault::NotProcessed
        | Fault::BodyMissing
        | Fault::BodyChanged
        | Fault::BodyUnreadable
        | Fault::BadAnswer
        | Fault::Stopped => Want::Nothing,
    }
}

/// A fault in words for a log or a support screen.
fn words(fault: Fault) -> &'static str {
    match fault {
        Fault::Offline => "there is no network",
        Fault::Unreachable => "the server could not be reached",
        Fault::Tls => "the server's certificate could not be verified",
        Fault::TlsClock => {
            "the server's certificate is not valid at this device's time: is its clock right?"
        }
        Fault::NotSent => "stopped before anything was sent",
        Fault::NotProcessed => "the server didn't begin with the request",
        Fault::BodyMissing => "the stored body is no longer there",
        Fault::BodyChanged => "the stored body is not the one that was accepted",
        Fault::BodyUnreadable => "the stored body can't be read now",
        Fault::TimedOut => "no answer came within the time",
        Fault::Lost => "the connection was lost before the answer",
        Fault::BadAnswer => "what the server answered can't be read",
        Fault::Stopped => "stopped while the request was under way",
    }
}
