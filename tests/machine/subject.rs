//! The real core, asked the same as the reference, and compared with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use submit_once::{
    CancelOutcome, Clock, Effect, Limits, Outbox, OutboxError, Receipt, ReceiptKind, Resolution,
    SignOut, Submission, SubmissionId, SubmissionState, Waited, WireBody, WireRequest,
};

use crate::common::Place;
use crate::common::sim::{Play, World, answer, drain};
use crate::model::{EXPIRES_AFTER, KEEP_RESULTS, KEEP_TOMBSTONES, Model};
use crate::steps::{Decision, Reply, Step};
use crate::terms::{Account, Answer, Entry, Intent, Kept, Kind, State};

const INSTANT: Duration = Duration::from_millis(1);

/// The replies of the drain under way, and the requests so far of each submission.
#[derive(Default)]
struct Script {
    replies: Vec<Reply>,
    requests: HashMap<usize, u32>,
}

pub struct Subject {
    world: World,
    place: Place,
    pub outbox: Arc<Outbox>,
    pub ids: Vec<SubmissionId>,
    script: Arc<Mutex<Script>>,
    seen: usize,
    pub cursor: i64,
    /// What the feed has told of each.
    pub fed: HashMap<SubmissionId, Vec<SubmissionState>>,
    pub revisions: HashMap<SubmissionId, i64>,
}

pub fn name(account: Account) -> Option<String> {
    account.map(|account| format!("account-{account}"))
}

pub fn lane(lane: u8) -> String {
    format!("lane-{lane}")
}

pub fn key(key: u8) -> String {
    format!("draft-{key}")
}

fn body(content: u8) -> String {
    format!(r#"{{"content":{content}}}"#)
}

fn open(world: &World, place: &Place) -> Arc<Outbox> {
    let limits = Limits {
        keep_results: Duration::from_secs(KEEP_RESULTS),
        keep_tombstones: Duration::from_secs(KEEP_TOMBSTONES),
        // Longer than all drains between two passages of time, shorter than any of these.
        backoff_first: Duration::from_secs(20),
        backoff_most: Duration::from_secs(20),
        ..Limits::default()
    };
    world.open_with(world.config(place).limits(limits))
}

impl Subject {
    pub fn new(world: World) -> Self {
        let place = Place::in_memory();
        let script = Arc::new(Mutex::new(Script::default()));
        let rule = Arc::clone(&script);
        world
            .network
            .always(move |request| play(&mut rule.lock().unwrap(), request));
        Self {
            outbox: open(&world, &place),
            world,
            place,
            ids: Vec::new(),
            script,
            seen: 0,
            cursor: 0,
            fed: HashMap::new(),
            revisions: HashMap::new(),
        }
    }

    /// Makes the call, and compares its answer and all that can be seen after it.
    pub async fn take(&mut self, step: &Step, before: &Model, model: &Model) {
        // No two IDs are minted at one time.
        self.world.pass(INSTANT).await;
        let given = self.make(step, before, model).await;
        assert_eq!(given, model.answer, "the answer to {step:?}");
        self.compare(model);
    }

    async fn make(&mut self, step: &Step, before: &Model, model: &Model) -> Answer {
        match step {
            Step::Begin { slot } => Answer::Intent(self.begin(*slot)),
            Step::Order {
                slot,
                kind,
                content,
            } => {
                let intent = self.begin(*slot);
                self.submit(before.entries.get(intent), intent, *kind, *content)
            }
            Step::Submit(item) => match before.pick(item.back) {
                Some(intent) => {
                    self.submit(before.entries.get(intent), intent, item.kind, item.content)
                }
                None => Answer::Nothing,
            },
            Step::SubmitAll(items) => match before.items(items) {
                Some(items) => {
                    let items = items.into_iter();
                    let items = items
                        .map(|(intent, item)| self.submission(intent, item.kind, item.content));
                    match self.outbox.submit_all(items.collect()) {
                        Ok(receipts) => Answer::Several(
                            receipts
                                .iter()
                                .map(|receipt| self.receipt(receipt))
                                .collect(),
                        ),
                        Err(error) => self.refusal(error),
                    }
                }
                None => Answer::Nothing,
            },
            Step::Discard { slot } => {
                self.outbox.discard(slot.to_string()).unwrap();
                Answer::Nothing
            }
            Step::Cancel { back } => match before.pick(*back) {
                Some(intent) => self.cancel(intent),
                None => Answer::Nothing,
            },
            Step::Resolve {
                back,
                fresh,
                decision,
            } => match before.pick(*back) {
                Some(intent) => self.resolve(intent, *fresh, *decision),
                None => Answer::Nothing,
            },
            Step::Drain { replies } => self.drain(replies, model).await,
            Step::Wait { back } => {
                if let Some(intent) = before.pick(*back) {
                    self.wait(intent, model).await;
                }
                Answer::Nothing
            }
            Step::List { listed, limit } => {
                self.list(*listed, *limit, model);
                Answer::Nothing
            }
            Step::Feed { limit } => {
                self.feed(*limit);
                Answer::Nothing
            }
            Step::Pass { seconds } => {
                self.world.pass(Duration::from_secs(*seconds)).await;
                Answer::Nothing
            }
            Step::Retain => {
                while self.outbox.retain().unwrap() {}
                Answer::Nothing
            }
            Step::Reopen => {
                self.outbox.close();
                assert_eq!(self.outbox.signed_in(), Err(OutboxError::Closed));
                self.outbox = open(&self.world, &self.place);
                Answer::Nothing
            }
            Step::SignIn { who } => {
                let who = name(Some(*who)).unwrap();
                self.outbox.sign_in(who.clone()).unwrap();
                self.outbox
                    .supply_credentials(who, Vec::new(), None)
                    .unwrap();
                Answer::Nothing
            }
            Step::SignOut { purge } => self.sign_out(*purge),
            Step::Release {
                account,
                lane: number,
            } => {
                let released = self.outbox.release_lane(name(*account), lane(*number));
                Answer::Released(released.unwrap())
            }
        }
    }

    fn begin(&mut self, slot: u8) -> Intent {
        let id = self.outbox.begin(slot.to_string()).unwrap();
        self.intent(id).unwrap_or_else(|| {
            self.ids.push(id);
            self.ids.len() - 1
        })
    }

    pub fn intent(&self, id: SubmissionId) -> Option<Intent> {
        self.ids.iter().position(|known| *known == id)
    }

    fn submission(&self, intent: Intent, kind: Kind, content: u8) -> Submission {
        let id = self.ids[intent];
        let url = format!("/things/{intent}");
        let mut submission = match kind.replaces {
            Some(name) => Submission::new(id, "PUT", &url)
                .effect(Effect::Overwrite)
                .replaces(key(name)),
            None => Submission::post(id, &url),
        };
        submission.account = name(kind.account);
        submission.lane = kind.lane.map(lane);
        if kind.expires {
            let now = self.world.clock.now().wall;
            let now = Duration::from_millis(now.0.unsigned_abs());
            submission =
                submission.expires_at(UNIX_EPOCH + now + Duration::from_secs(EXPIRES_AFTER));
        }
        submission.json(body(content))
    }

    fn submit(
        &mut self,
        known: Option<&Option<Entry>>,
        intent: Intent,
        kind: Kind,
        content: u8,
    ) -> Answer {
        let kind = known
            .and_then(Option::as_ref)
            .map_or(kind, |entry| entry.kind);
        match self.outbox.submit(self.submission(intent, kind, content)) {
            Ok(receipt) => self.receipt(&receipt),
            Err(error) => self.refusal(error),
        }
    }

    fn receipt(&self, receipt: &Receipt) -> Answer {
        match receipt.kind {
            ReceiptKind::Accepted => Answer::Accepted,
            ReceiptKind::Joined => Answer::Joined,
            ReceiptKind::Replayed => Answer::Replayed,
        }
    }

    fn refusal(&self, error: OutboxError) -> Answer {
        match error {
            OutboxError::KeyReused {
                id,
                existing,
                differs,
            } => {
                // Of two in one call, neither is there.
                if let Ok(there) = self.outbox.snapshot(id) {
                    assert_eq!(*existing, there);
                }
                let differs: Vec<&str> = differs.iter().map(String::as_str).collect();
                let differs = match differs[..] {
                    ["body"] => "body",
                    ["fingerprint"] => "fingerprint",
                    _ => panic!("differs in {differs:?}"),
                };
                Answer::KeyReused(self.intent(id).unwrap(), differs)
            }
            OutboxError::IdTooOld { id } => Answer::IdTooOld(self.intent(id).unwrap()),
            OutboxError::UnknownId { .. } => Answer::UnknownId,
            OutboxError::Stale { .. } => Answer::Stale,
            OutboxError::NotHeld { .. } => Answer::NotHeld,
            OutboxError::NeedsConsent { .. } => Answer::NeedsConsent,
            other => panic!("{other:?}"),
        }
    }

    fn cancel(&self, intent: Intent) -> Answer {
        match self.outbox.cancel(self.ids[intent]) {
            Ok(CancelOutcome::Cancelled) => Answer::Cancelled,
            Ok(CancelOutcome::AlreadyFinal { .. }) => Answer::AlreadyFinal,
            Ok(CancelOutcome::MayHaveHappened { .. }) => Answer::MayHaveHappened,
            Err(error) => self.refusal(error),
        }
    }

    fn resolve(&self, intent: Intent, fresh: bool, decision: Decision) -> Answer {
        let id = self.ids[intent];
        let revision = self
            .outbox
            .snapshot(id)
            .map_or(1, |snapshot| snapshot.revision);
        let revision = if fresh { revision } else { revision - 1 };
        let resolution = match decision {
            Decision::Retry { accept } => Resolution::RetrySameKey {
                accept_second_effect: accept,
            },
            Decision::Happened => Resolution::ItHappened {
                result: Some("told".to_owned()),
            },
            Decision::GiveUp => Resolution::GiveUp,
        };
        match self.outbox.resolve(id, revision, resolution) {
            Ok(snapshot) => {
                assert_eq!(snapshot, self.outbox.snapshot(id).unwrap());
                Answer::Decided
            }
            Err(error) => self.refusal(error),
        }
    }

    async fn drain(&mut self, replies: &[Reply], model: &Model) -> Answer {
        replies.clone_into(&mut self.script.lock().unwrap().replies);
        let report = drain(&self.outbox).await;
        let requests = self.world.network.seen().split_off(self.seen);
        self.seen += requests.len();
        assert_eq!(report.attempts as usize, requests.len());
        let mut sent: Vec<Intent> = requests
            .iter()
            .map(|seen| self.check_request(&seen.request, model))
            .collect();
        sent.sort_unstable();
        Answer::Drained(sent)
    }

    /// The same bytes under the same key, every time.
    fn check_request(&self, request: &WireRequest, model: &Model) -> Intent {
        let intent = number(request);
        let entry = model.entry(intent);
        let keys = request
            .headers
            .iter()
            .filter(|header| header.name == "idempotency-key");
        let keys: Vec<&str> = keys.map(|header| header.value.as_str()).collect();
        assert_eq!(keys, [self.ids[intent].to_string()], "the key of {intent}");
        let WireBody::Bytes(bytes) = &request.body else {
            panic!("a file");
        };
        assert_eq!(bytes.as_ref(), body(entry.content).as_bytes());
        intent
    }

    async fn wait(&self, intent: Intent, model: &Model) {
        let waited = self.outbox.wait(self.ids[intent], INSTANT).await;
        let Some(entry) = model.entries[intent]
            .as_ref()
            .filter(|entry| entry.kept != Kept::Nothing)
        else {
            assert!(
                matches!(waited, Err(OutboxError::UnknownId { .. })),
                "{waited:?}"
            );
            return;
        };
        let snapshot = match waited.unwrap() {
            Waited::Settled { snapshot } => {
                assert!(entry.state.is_final());
                snapshot
            }
            Waited::Held { snapshot } => {
                assert!(matches!(entry.state, State::Held(_)));
                snapshot
            }
            Waited::TimedOut { snapshot } => {
                assert_eq!(entry.state, State::Pending);
                snapshot
            }
        };
        self.check(intent, &snapshot, model, true);
    }

    fn sign_out(&self, purge: bool) -> Answer {
        let how = if purge { SignOut::Purge } else { SignOut::Keep };
        let report = self.outbox.sign_out(how).unwrap();
        assert_eq!(report.succeeded, 0);
        Answer::SignedOut {
            who: report
                .account
                .map(|who| who.strip_prefix("account-").unwrap().parse().unwrap()),
            kept: report.kept,
            cancelled: report.cancelled,
            abandoned: report.abandoned,
        }
    }
}

fn number(request: &WireRequest) -> usize {
    request.url.rsplit_once('/').unwrap().1.parse().unwrap()
}

fn play(script: &mut Script, request: &WireRequest) -> Play {
    let number = number(request);
    let requests = script.requests.entry(number).or_default();
    *requests += 1;
    let reply = script.replies[number % script.replies.len()];
    match reply.status() {
        Some(status) => Play::Answer(INSTANT, answer(status, &reply.body(number, *requests))),
        None => Play::Fail {
            after: INSTANT,
            sent: reply == Reply::Lost,
            fault: match reply {
                Reply::Lost => submit_once::Fault::Lost,
                _ => submit_once::Fault::Unreachable,
            },
        },
    }
}
