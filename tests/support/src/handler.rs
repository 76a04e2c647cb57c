//! The half of a request that runs to its end, whoever is still there: it reads the body, makes
//! the effect and hands over its answer.

use std::sync::Arc;

use hyper::body::Incoming;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::behaviour::{Behaviour, HANG};
use crate::database::{Outcome, Write};
use crate::gzip::Gzip;
use crate::intake::{Payload, skim};
use crate::key_place;
use crate::ledger::Arrival;
use crate::playbook::Head;
use crate::raw::{End, RawAnswer};
use crate::server::Shared;
use crate::service::{Delivery, Reply};
use crate::store::StoreError;

/// The part that runs to its end.
pub(crate) struct Handler {
    pub(crate) shared: Arc<Shared>,
    pub(crate) head: Head,
    pub(crate) arrival: Arrival,
    pub(crate) http2: bool,
}

impl Handler {
    /// `None` when there is nobody or nothing to answer.
    pub(crate) async fn run(
        &self,
        body: Incoming,
        reply: &mut oneshot::Sender<Reply>,
    ) -> Option<Reply> {
        let behaviour = &self.arrival.behaviour;
        match behaviour {
            Behaviour::CutRequest { after_bytes, end } => {
                skim(body, *after_bytes, |bytes| self.count(bytes)).await;
                return self.cut(*end);
            }
            Behaviour::ErrorEarly { .. } => return self.answer_before(),
            _ => {}
        }
        let payload = self.read_body(body).await?;
        if self.arrival.stranger {
            return Some(self.refuse(Answer::unauthorized()));
        }
        match behaviour {
            Behaviour::Raw(_) if self.http2 => {
                let reason = "a raw answer cannot be sent over HTTP/2";
                return Some(self.refuse(Answer::broken(reason)));
            }
            Behaviour::Raw(raw) => {
                if let Err(reason) = raw.check() {
                    return Some(self.refuse(Answer::broken(&reason)));
                }
            }
            Behaviour::CloseAfterRead => return None,
            _ => {}
        }
        if let Some(reply) = self.answer_before() {
            return Some(reply);
        }
        let outcome = if self.head.is_write() {
            let write = match self.plan(payload) {
                Ok(write) => write,
                Err(answer) => return Some(self.refuse(answer)),
            };
            let _lock = match write.stored_key() {
                Some(key) if self.shared.options.locks => match self.shared.ledger.lock_key(&key) {
                    Some(lock) => Some(lock),
                    None => return Some(self.refuse(Answer::in_progress())),
                },
                Some(_) | None => None,
            };
            let outcome = self.act(write, reply).await?;
            self.note(&outcome);
            self.stand_after().await?;
            outcome
        } else {
            self.stand_before(reply).await?;
            let outcome = self.look().await.map(|answer| Outcome::Fresh {
                effect: None,
                answer,
            });
            self.stand_after().await?;
            outcome
        };
        match outcome {
            Ok(outcome) => self.reply(outcome),
            Err(error) => Some(self.refuse(Answer::broken(&error.to_string()))),
        }
    }

    /// What a script answers without looking at key or effect.
    fn answer_before(&self) -> Option<Reply> {
        let behaviour = &self.arrival.behaviour;
        let answer = behaviour
            .answer_before()?
            .unless_known(self.head.if_none_match.as_deref());
        let delivery = match behaviour {
            Behaviour::Raw(raw) => Delivery::Raw(raw.clone()),
            _ => Delivery::Whole,
        };
        Some(Reply { answer, delivery })
    }

    /// Ends the connection without a word; over HTTP/2, which has many requests on it, the stream.
    fn cut(&self, end: End) -> Option<Reply> {
        let raw = RawAnswer {
            end,
            ..RawAnswer::default()
        };
        (!self.http2).then(|| Reply {
            answer: Answer::scripted_error(503),
            delivery: Delivery::Raw(raw),
        })
    }

    async fn read_body(&self, body: Incoming) -> Option<Payload> {
        let options = &self.shared.options;
        let mut payload = Payload::read(body, options, |bytes| self.count(bytes))
            .await
            .ok()?;
        if !options.key_place.is_in_body() {
            payload.key.clone_from(&self.head.key);
        }
        self.update(|record| {
            record.key.clone_from(&payload.key);
            record.body_sha256 = Some(payload.hex.clone());
            record.body_complete = true;
        });
        Some(payload)
    }

    fn count(&self, bytes: u64) {
        self.update(|record| record.body_bytes = bytes);
    }

    /// What a complete write asks the store for, or why it is refused.
    fn plan(&self, payload: Payload) -> Result<Write, Answer> {
        let options = &self.shared.options;
        if options
            .max_body_bytes
            .is_some_and(|most| payload.bytes > most)
        {
            return Err(Answer::too_large());
        }
        let key = payload.key;
        let overwrite = key.is_none() && options.allow_plain_put && self.head.method == "PUT";
        if key.is_none() && options.require_key && !overwrite {
            let place = options.key_place.describe(&options.key_header);
            return Err(Answer::key_missing(&place));
        }
        let freeze = match &self.arrival.behaviour {
            Behaviour::FreezeError { status } => Some(Answer::scripted_error(*status)),
            _ => None,
        };
        let fingerprint = Sha256::new()
            .chain_update(self.head.method.as_bytes())
            .chain_update([0])
            .chain_update(self.head.path.as_bytes())
            .chain_update([0])
            .chain_update(payload.sha256)
            .finalize()
            .into();
        Ok(Write {
            epoch: self.arrival.epoch,
            key,
            scope: self
                .head
                .principal
                .clone()
                .filter(|_| options.key_scope_token),
            method: self.head.method.clone(),
            path: self.head.path.clone(),
            fingerprint,
            body_sha256: payload.hex,
            body_bytes: payload.bytes,
            body: payload.body,
            overwrite,
            freeze,
            unchecked: false,
        })
    }

    /// Stands as scripted, then replays or makes the effect.
    async fn act(
        &self,
        mut write: Write,
        reply: &mut oneshot::Sender<Reply>,
    ) -> Option<Result<Outcome, StoreError>> {
        let store = &self.shared.store;
        if write.key.is_some() && !self.shared.options.locks {
            // Looks first and acts later, as servers without locks do: two requests at once both
            // see a new key.
            let asked = write.clone();
            let seen = store.run(move |database| database.look(&asked)).await;
            match seen {
                Ok(None) => write.unchecked = true,
                Ok(Some(known)) => {
                    self.stand_before(reply).await?;
                    return Some(Ok(known));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        self.stand_before(reply).await?;
        Some(store.run(move |database| database.write(&write)).await)
    }

    /// What a `GET` answers.
    async fn look(&self) -> Result<Answer, StoreError> {
        let (path, query) = self
            .head
            .path
            .split_once('?')
            .unwrap_or((&self.head.path, ""));
        if path == "/_effect" {
            return self.find(query).await;
        }
        if path != "/_effects" {
            let value = json!({ "method": self.head.method, "path": self.head.path });
            return Ok(Answer::json(200, &value));
        }
        let key = key_place::query(query, "key");
        let asked = key.clone();
        let effects = self
            .shared
            .store
            .run(move |database| database.count_effects(asked.as_deref()))
            .await?;
        Ok(Answer::json(
            200,
            &json!({ "key": key, "effects": effects }),
        ))
    }

    /// The first effect of a path or a key, as an API would show what was made.
    async fn find(&self, query: &str) -> Result<Answer, StoreError> {
        let path = key_place::query(query, "path");
        let key = key_place::query(query, "key");
        let found = self
            .shared
            .store
            .run(move |database| database.find_effect(path.as_deref(), key.as_deref()))
            .await?;
        Ok(found.map_or_else(Answer::not_found, |effect| Answer::json(200, &effect)))
    }

    async fn stand_before(&self, reply: &mut oneshot::Sender<Reply>) -> Option<()> {
        let go_on = match &self.arrival.behaviour {
            Behaviour::WorkLate(time) => {
                tokio::time::sleep(*time).await;
                true
            }
            Behaviour::HoldBefore(name) => self.shared.ledger.stand(&self.arrival, name).await,
            Behaviour::Hang { commit: false } => tokio::select! {
                released = self.shared.ledger.stand(&self.arrival, HANG) => released,
                () = reply.closed() => false,
            },
            _ => true,
        };
        go_on.then_some(())
    }

    async fn stand_after(&self) -> Option<()> {
        let go_on = match &self.arrival.behaviour {
            Behaviour::HoldAfter(name) => self.shared.ledger.stand(&self.arrival, name).await,
            _ => true,
        };
        go_on.then_some(())
    }

    /// Records the effect as soon as it is committed.
    fn note(&self, outcome: &Result<Outcome, StoreError>) {
        let (effect, replayed) = match outcome {
            Ok(Outcome::Fresh { effect, .. }) => (*effect, false),
            Ok(Outcome::Known { effect, .. }) => (*effect, true),
            Ok(Outcome::Reused | Outcome::Outdated) | Err(_) => return,
        };
        let now = self.shared.ledger.now_ns();
        self.update(|record| {
            record.effect = effect;
            record.effect_at_ns = effect.map(|_| now);
            record.replayed = replayed;
        });
    }

    /// The true answer, as far as the script lets the client see it.
    fn reply(&self, outcome: Outcome) -> Option<Reply> {
        let (effect, mut answer) = match outcome {
            Outcome::Fresh { effect, answer } => (effect, answer),
            Outcome::Known { effect, mut answer } => {
                if let Some(marker) = &self.shared.options.replay_marker {
                    answer.headers.push((marker.clone(), "true".to_owned()));
                }
                (effect, answer)
            }
            Outcome::Reused => return Some(self.refuse(Answer::key_reused())),
            Outcome::Outdated => return None,
        };
        let delivery = match &self.arrival.behaviour {
            Behaviour::CommitThenDrop => Delivery::Never,
            Behaviour::AnswerLate(delay) => Delivery::Late(*delay),
            Behaviour::AnswerHalf => Delivery::Half,
            Behaviour::Hang { commit: true } => Delivery::Hang,
            Behaviour::Raw(raw) => Delivery::Raw(raw.clone()),
            Behaviour::Gzip(gzip) => {
                answer = gzip.wrap(answer);
                if matches!(gzip, Gzip::Truncated(_)) {
                    self.update(|record| record.answer_lost = effect.is_some());
                }
                Delivery::Whole
            }
            Behaviour::ErrorAfter { status } => {
                answer = Answer::scripted_error(*status);
                self.update(|record| record.answer_lost = effect.is_some());
                Delivery::Whole
            }
            _ => Delivery::Whole,
        };
        Some(Reply { answer, delivery })
    }

    /// An answer of the server's own, to which no script applies.
    fn refuse(&self, answer: Answer) -> Reply {
        self.update(|record| record.behaviour = Behaviour::Normal);
        Reply {
            answer,
            delivery: Delivery::Whole,
        }
    }

    fn update(&self, change: impl FnOnce(&mut crate::RequestRecord)) {
        self.shared.ledger.update(self.arrival.number, change);
    }
}
