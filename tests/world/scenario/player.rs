//! Plays one scenario: its steps in order, each with what it must give, and the server's verdict.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use submit_once::{
    DrainBudget, IdError, NetworkKind, Outbox, OutboxError, PageRequest, RunNetwork, SignOut,
    built_in_profile, default_limits, derive_submission_id, new_submission_id, parse_submission_id,
};

use super::format::{
    APART, Apart, Ear, Leaving, Needs, Network, ON_INBOX, OnOutbox, RunKind, Scenario, Step,
};
use super::judge::Judge;
use super::matching::misfit;
use super::notation::{self, Known, Problem};
use super::outboxes::Handle;
use super::{copying, forms, inbox, read, records, submitting};
use crate::agents::PATIENCE;
use crate::common::Place;
use crate::sockets::block_on;

/// What came of a scenario that went well.
#[derive(Default)]
pub struct Played {
    /// The steps that need strings that Rust doesn't have.
    pub not_expressible: Vec<String>,
}

/// What a step gave: a value, or the JSON form of an error.
type Given = Result<Value, Value>;

struct Player<'a> {
    scenario: &'a Scenario,
    judge: Judge,
    place: Place,
    handles: HashMap<String, Handle>,
    known: Known,
}

/// Plays a scenario. Panics with the step that went another way.
pub fn play(scenario: &Scenario) -> Played {
    let judge = Judge::start(&scenario.server);
    let mut player = Player {
        scenario,
        known: Known::from([("server".to_owned(), json!(judge.url()))]),
        judge,
        place: Place::new(),
        handles: HashMap::new(),
    };
    let mut played = Played::default();
    for (number, step) in scenario.steps.iter().enumerate() {
        let title = format!("{}, step {}: {}", scenario.name, number + 1, step.kind);
        player.step(step, &title, &mut played);
    }
    for handle in player.handles.values() {
        handle.outbox.close();
    }
    if let Some(misfit) = player.judge.verdict(&scenario.end) {
        panic!("{}, the end:\n{misfit}", scenario.name);
    }
    played
}

impl Player<'_> {
    fn step(&mut self, step: &Step, title: &str, played: &mut Played) {
        let resolve = |value: &Value| notation::resolve(value, &self.known);
        let needed = step.needs == Some(Needs::Utf16Strings);
        let arguments = match resolve(&step.arguments) {
            Ok(_) if needed => panic!("{title}: it can be expressed in Rust, and says it can't"),
            Err(Problem::NotExpressible) if needed => {
                played.not_expressible.push(title.to_owned());
                return;
            }
            Ok(arguments) => arguments,
            Err(problem) => panic!("{title}: {problem}"),
        };
        let result = |value: &Option<Value>| match value.as_ref().map(resolve) {
            Some(Err(problem)) => panic!("{title}: {problem}"),
            resolved => resolved.and_then(Result::ok),
        };
        let (expect, error) = (result(&step.expect), result(&step.error));
        let action = json!({ step.kind.as_str(): arguments });
        let kind = step.kind.as_str();
        let given = if APART.contains(&kind) {
            self.apart(read_action(action, title), &step.on, title)
        } else {
            let Some(handle) = self.handles.get_mut(&step.on) else {
                panic!("{title}: {} is not open", step.on);
            };
            if ON_INBOX.contains(&kind) {
                inbox::play(read_action(action, title), &handle.outbox)
                    .map_err(|error| inbox::error(&error))
            } else {
                on_outbox(
                    read_action(action, title),
                    handle,
                    &self.place,
                    expect.as_ref(),
                )
                .map_err(|error| forms::outbox_error(&error))
            }
        };
        match (given, error) {
            (Ok(value), None) => {
                if let Some(misfit) = expect.and_then(|expect| misfit(&expect, &value)) {
                    panic!("{title}\n{misfit}");
                }
                if let Some(name) = &step.keep_as {
                    self.known.insert(name.clone(), value);
                }
            }
            (Err(given), Some(error)) => {
                if let Some(misfit) = misfit(&error, &given) {
                    panic!("{title}\n{misfit}");
                }
            }
            (Ok(value), Some(error)) => panic!("{title}\nexpected {error}\n     got {value}"),
            (Err(given), None) => panic!("{title}\nfailed with {given}"),
        }
    }

    fn apart(&mut self, action: Apart, on: &str, title: &str) -> Given {
        Ok(match action {
            Apart::Let(of) => of.value,
            Apart::Server(of) => match (of.get, of.post) {
                (Some(command), None) => self.judge.ask("GET", &command, None),
                (None, Some(command)) => self.judge.ask("POST", &command, of.body.as_ref()),
                _ => panic!("the server is asked by get or by post"),
            },
            Apart::NewId(_) => text(new_submission_id().map_err(id_error)?),
            Apart::DeriveId(of) => {
                text(derive_submission_id(of.account, of.action, of.business_key))
            }
            Apart::ParseId(of) => text(parse_submission_id(of.text).map_err(id_error)?),
            Apart::BuiltIn(of) => forms::profile(&built_in_profile(read::built_in(&of.which))),
            Apart::FromJson(of) => {
                let profile = read::profile(&of.profile);
                forms::profile(&profile.map_err(|error| forms::outbox_error(&error))?)
            }
            Apart::DefaultLimits(_) => forms::limits(&default_limits()),
            Apart::Open(of) => {
                let file = of.file.unwrap_or_else(|| format!("{on}.sqlite3"));
                let path = self.place.folder().join(&file);
                let path = path.to_str().unwrap().to_owned();
                let config = read::config(path, self.judge.url(), &self.scenario.outbox, &of.with);
                let config = config.map_err(|error| forms::outbox_error(&error))?;
                let outbox = Outbox::open(config).map_err(|error| forms::open_error(&error))?;
                let report = forms::open_report(&outbox.open_report());
                self.handles
                    .insert(on.to_owned(), Handle::new(outbox, file));
                report
            }
            Apart::CopyFiles(of) => {
                let mut handles = self.handles.values();
                if handles.any(|handle| handle.open && handle.file == of.from) {
                    panic!("{title}: {} is open", of.from);
                }
                let copied = copying::database(&self.place.folder(), &of.from, &of.to);
                copied.unwrap_or_else(|problem| panic!("{title}: {problem}"));
                Value::Null
            }
        })
    }
}

fn read_action<A: serde::de::DeserializeOwned>(action: Value, title: &str) -> A {
    serde_json::from_value(action).unwrap_or_else(|problem| panic!("{title}: {problem}"))
}

fn on_outbox(
    action: OnOutbox,
    handle: &mut Handle,
    place: &Place,
    expect: Option<&Value>,
) -> Result<Value, OutboxError> {
    let outbox = &handle.outbox;
    Ok(match action {
        OnOutbox::OpenReport(_) => forms::open_report(&outbox.open_report()),
        OnOutbox::Close(_) => {
            handle.close();
            Value::Null
        }
        OnOutbox::Begin(of) => text(outbox.begin(of.slot)?),
        OnOutbox::Discard(of) => done(outbox.discard(of.slot))?,
        OnOutbox::Submit(of) => submitting::one(outbox, &of.submission, place)?,
        OnOutbox::SubmitAll(of) => submitting::all(outbox, &of.submissions, place)?,
        OnOutbox::SubmitAtOnce(of) => {
            submitting::at_once(outbox, &of.submission, of.callers, place)?
        }
        OnOutbox::Snapshot(of) => forms::snapshot(&outbox.snapshot(read::id(&of.id)?)?),
        OnOutbox::Reconcile(of) => {
            let ids = of.ids.iter().map(|id| read::id(id));
            let found = outbox.reconcile(ids.collect::<Result<_, _>>()?)?;
            found.iter().map(forms::reconciled).collect()
        }
        OnOutbox::List(of) => {
            let mut page = PageRequest::default();
            page.after = of.after.unwrap_or(page.after);
            page.limit = of.limit.unwrap_or(page.limit);
            forms::page(&outbox.list(read::filter(of.filter), page)?)
        }
        OnOutbox::Wait(of) => {
            let timeout = of.timeout_ms.map_or(PATIENCE, Duration::from_millis);
            forms::waited(&block_on(outbox.wait(read::id(&of.id)?, timeout))?)
        }
        OnOutbox::Drain(of) => {
            let time = of.budget_ms.map_or(PATIENCE, Duration::from_millis);
            forms::drained(&block_on(outbox.drain(DrainBudget::of(time)))?)
        }
        OnOutbox::Start(_) => done(outbox.start())?,
        OnOutbox::Suspend(_) => done(outbox.suspend())?,
        OnOutbox::Cancel(of) => forms::cancelled(&outbox.cancel(read::id(&of.id)?)?),
        OnOutbox::Resolve(of) => {
            let (id, decision) = (read::id(&of.id)?, read::decision(of.decision));
            forms::snapshot(&outbox.resolve(id, of.revision, decision)?)
        }
        OnOutbox::ResolveAll(of) => {
            let (reason, decision) = (read::hold_reason(of.reason), read::decision(of.decision));
            forms::resolved_all(outbox.resolve_all(reason, decision)?)
        }
        OnOutbox::ReleaseLane(of) => json!(outbox.release_lane(of.account, of.lane)?),
        OnOutbox::Wake(of) => forms::snapshot(&outbox.wake(read::id(&of.id)?)?),
        OnOutbox::Changes(of) => {
            forms::changes(&outbox.changes(of.after, of.limit.unwrap_or(1_000))?)
        }
        OnOutbox::Stats(_) => forms::stats(&outbox.stats()?),
        OnOutbox::Retain(_) => {
            while outbox.retain()? {}
            Value::Null
        }
        OnOutbox::SignIn(of) => done(outbox.sign_in(of.account))?,
        OnOutbox::SignOut(of) => forms::signed_out(&outbox.sign_out(match of.how {
            Leaving::Keep => SignOut::Keep,
            Leaving::Purge => SignOut::Purge,
        })?),
        OnOutbox::SignedIn(_) => json!(outbox.signed_in()?),
        OnOutbox::SupplyCredentials(of) => {
            let until = of
                .valid_for_ms
                .map(|millis| read::from_now(millis.try_into().unwrap()));
            done(outbox.supply_credentials(of.account, read::headers(&of.headers), until))?
        }
        OnOutbox::NetworkAvailable(of) => done(outbox.network_available(match of.network {
            Network::Offline => NetworkKind::Offline,
            Network::Metered => NetworkKind::Metered,
            Network::Unmetered => NetworkKind::Unmetered,
        }))?,
        OnOutbox::RequestRun(of) => json!(outbox.request_run(run(of.network))?),
        OnOutbox::RunScheduled(of) => done(outbox.run_scheduled(run(of.network)))?,
        OnOutbox::ClearRunRequest(of) => done(outbox.clear_run_request(run(of.network)))?,
        OnOutbox::AdoptRunRequests(_) => {
            let adopted = outbox.adopt_run_requests()?;
            adopted.into_iter().map(forms::snake).collect()
        }
        OnOutbox::SetListener(of) => {
            let heard = handle.listen(Ear::Listener, of.listening);
            done(handle.outbox.set_listener(heard.map(|heard| heard as _)))?
        }
        OnOutbox::SetCredentialsListener(of) => {
            let heard = handle.listen(Ear::CredentialsListener, of.listening);
            let heard = heard.map(|heard| heard as _);
            done(handle.outbox.set_credentials_listener(heard))?
        }
        OnOutbox::SetProgressListener(of) => {
            let heard = handle.listen(Ear::ProgressListener, of.listening);
            let heard = heard.map(|heard| heard as _);
            done(handle.outbox.set_progress_listener(heard))?
        }
        OnOutbox::MakeBatch(of) => {
            let batch = Arc::clone(outbox).batch(records::batch(of.config))?;
            handle.name_batch(of.name, batch);
            Value::Null
        }
        OnOutbox::Append(of) => forms::record(&handle.batch(&of.batch).append(of.record)?),
        OnOutbox::AppendAll(of) => {
            let receipts = handle.batch(&of.batch).append_all(of.records)?;
            receipts.iter().map(forms::record).collect()
        }
        OnOutbox::Flush(of) => handle.batch(&of.batch).flush()?.map_or(Value::Null, text),
        OnOutbox::Current(of) => {
            let value = outbox.current(of.account, of.key)?;
            value.as_ref().map_or(Value::Null, forms::fetched)
        }
        OnOutbox::Heard(of) => handle.wait_to_hear(of.by, expect.unwrap_or(&json!({}))),
    })
}

fn run(kind: RunKind) -> RunNetwork {
    match kind {
        RunKind::Any => RunNetwork::Any,
        RunKind::Unmetered => RunNetwork::Unmetered,
    }
}

/// What a call gives that gives nothing.
fn done(result: Result<(), OutboxError>) -> Result<Value, OutboxError> {
    result.map(|()| Value::Null)
}

fn id_error(error: IdError) -> Value {
    json!({"name": format!("{error:?}")})
}

fn text(id: submit_once::SubmissionId) -> Value {
    Value::String(id.to_string())
}
