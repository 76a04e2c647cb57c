//! What a `tracing` subscriber is told: the life of a submission, and no secret in it.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{Limits, Outbox, SignOut, Submission};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::common::Place;
use crate::common::sim::{
    Play, World, answer, created, drain, header, lost, order, simulate, status,
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Keeps every event and span, of whatever crate, as a line of text.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    lines: Vec<String>,
    /// The names of the spans, by their numbers.
    spans: Vec<&'static str>,
    /// The spans that the thread is in.
    inside: Vec<u64>,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Ear {
    fn heard(&self) -> Vec<String> {
        self.0.lock().unwrap().lines.clone()
    }

    fn keep(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Line)) {
        let mut line = Line(format!("{} {}", metadata.level(), metadata.target()));
        record(&mut line);
        self.0.lock().unwrap().lines.push(line.0);
    }
}

impl Subscriber for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let name = span.metadata().name();
        self.keep(span.metadata(), |line| {
            write!(line.0, " message=span of {name}").unwrap();
            span.record(line);
        });
        let mut heard = self.0.lock().unwrap();
        heard.spans.push(name);
        Id::from_u64(heard.spans.len() as u64)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = Line("span".to_owned());
        values.record(&mut line);
        self.0.lock().unwrap().lines.push(line.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.keep(event.metadata(), |line| event.record(line));
        let mut heard = self.0.lock().unwrap();
        let span = heard.inside.last().map(|id| heard.spans[*id as usize - 1]);
        if let (Some(name), Some(line)) = (span, heard.lines.last_mut()) {
            line.insert_str(0, &format!("{name}: "));
        }
    }

    fn enter(&self, id: &Id) {
        self.0.lock().unwrap().inside.push(id.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().inside.pop();
    }
}

fn listening<F: Future<Output = ()>>(seed: u64, body: impl FnOnce(World, Ear) -> F) {
    let ear = Ear::default();
    // As long as a process has had one subscriber only, `tracing` asks that of the thread which comes to
    // an event first, once for all: a test beside this one, without any.
    let _second = tracing::Dispatch::new(Ear::default());
    tracing::subscriber::with_default(ear.clone(), || {
        simulate(seed, |world| body(world, ear));
    });
}

/// The lines about one submission, without its ID, times and targets.
fn about(ear: &Ear, id: submit_once::SubmissionId) -> Vec<String> {
    let id = format!(" id={id}");
    let lines = ear.heard().into_iter().filter(|line| line.contains(&id));
    lines
        .map(|line| {
            let words = line.replace(&id, "").replace(" submit_once message=", " ");
            words.split(" took=").next().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn the_life_of_a_submission_is_told_from_its_acceptance_to_its_end() {
    let place = Place::new();
    listening(1, |world, ear| async move {
        let outbox = world.open(&place);
        world.network.play([lost(), created()]);
        let order = order(&outbox, "form");
        outbox.submit(order.clone()).unwrap();
        outbox.submit(order.clone()).unwrap();
        outbox.start().unwrap();
        outbox.wait(order.id, HOUR).await.unwrap();
        outbox.submit(order.clone()).unwrap();
        outbox.submit(order.clone().json("7")).unwrap_err();
        assert_eq!(
            about(&ear, order.id),
            [
                r#"DEBUG changed state="pending" revision=1"#,
                r#"DEBUG submitted met="accepted""#,
                r#"DEBUG submitted met="joined""#,
                "DEBUG attempt begun attempt=1 number=1",
                r#"DEBUG changed state="in_flight" revision=2"#,
                "DEBUG span of attempt attempt=1",
                "attempt: DEBUG attempt ended attempt=1 proves=Unknown",
                r#"DEBUG changed state="pending" revision=3"#,
                "DEBUG attempt begun attempt=2 number=2",
                r#"DEBUG changed state="in_flight" revision=4"#,
                "DEBUG span of attempt attempt=2",
                "attempt: DEBUG attempt ended attempt=2 status=201 proves=Applied",
                r#"DEBUG changed state="succeeded" revision=5"#,
                r#"DEBUG submitted met="replayed""#,
                r#"WARN not accepted error="key_reused""#,
            ]
        );
    });
}

#[test]
fn openings_drains_holds_takeovers_and_retention_are_told() {
    let place = Place::new();
    listening(2, |world, ear| async move {
        let limits = Limits {
            keep_results_count: 0,
            ..Limits::default()
        };
        let outbox = world.open_with(world.config(&place).limits(limits));
        let told = |what: &str| ear.heard().iter().any(|line| line.contains(what));
        assert!(told("opened created=true shared=false"));
        outbox.submit(order(&outbox, "done")).unwrap();
        drain(&outbox).await;
        assert!(told("span of drain budget=3600s"));
        let ended = "drain: INFO submit_once message=drain ended attempts=1 succeeded=1";
        assert!(told(ended));
        while outbox.retain().unwrap() {}
        assert!(told("dropped results=1 tombstones=0"));
        world.network.play([lost()]);
        let doubtful = order(&outbox, "doubtful");
        outbox.submit(doubtful.clone()).unwrap();
        drain_shortly(&outbox).await;
        outbox.cancel(doubtful.id).unwrap();
        let held = about(&ear, doubtful.id).pop().unwrap();
        assert_eq!(held, r#"WARN held reason="cancel_requested" revision=4"#);
        world.network.play([Play::Silence]);
        outbox.submit(order(&outbox, "taken")).unwrap();
        outbox.start().unwrap();
        world.pass(Duration::from_secs(1)).await;
        // As after a kill: its lease is out, and its owner is nowhere.
        world.clock.sleep_device(Duration::from_secs(200));
        let copy = Place::new();
        std::fs::copy(place.database(), copy.database()).unwrap();
        let wal = |place: &Place| place.database().with_extension("sqlite3-wal");
        std::fs::copy(wal(&place), wal(&copy)).unwrap();
        drain_shortly(&world.open(&copy)).await;
        assert!(told("taken over"));
    });
}

async fn drain_shortly(outbox: &Outbox) {
    let budget = submit_once::DrainBudget::of(Duration::from_secs(1));
    outbox.drain(budget).await.unwrap();
}

/// Nothing that comes from an app or a server is told, but IDs and statuses.
#[test]
fn no_secret_is_told_whatever_happens() {
    let place = Place::new();
    listening(3, |world, ear| async move {
        const CANARY: &str = "canary7f3a";
        let outbox = world.open(&place);
        let account = format!("{CANARY}-account");
        outbox.sign_in(account.clone()).unwrap();
        let token = header("authorization", &format!("Bearer {CANARY}"));
        outbox
            .supply_credentials(account.clone(), vec![token], None)
            .unwrap();
        for (number, play) in [
            created(),
            lost(),
            status(400),
            status(500),
            Play::Answer(Duration::ZERO, answer(302, CANARY)),
            Play::Answer(Duration::ZERO, answer(409, CANARY)),
            status(401),
        ]
        .into_iter()
        .enumerate()
        {
            let play = match play {
                Play::Answer(after, mut answer) => {
                    answer.body = CANARY.as_bytes().to_vec();
                    answer.headers.push(header("location", CANARY));
                    answer.headers.push(header("set-cookie", CANARY));
                    Play::Answer(after, answer)
                }
                other => other,
            };
            world.network.play([play]);
            let id = outbox.begin(format!("{CANARY}-{number}")).unwrap();
            let submission = Submission::post(id, &format!("/{CANARY}?q={CANARY}"))
                .json(format!("\"{CANARY}\""))
                .account(account.clone())
                .header("x-note", CANARY);
            outbox.submit(submission.clone()).unwrap();
            outbox.submit(submission.clone()).unwrap();
            outbox.submit(submission.json("7")).unwrap_err();
            drain_shortly(&outbox).await;
            let _cancelled = outbox.cancel(id).unwrap();
            // Whatever gate it has closed is open again.
            world.pass(HOUR).await;
        }
        outbox
            .submit(Submission::post(
                outbox.begin("bad".into()).unwrap(),
                &format!("ftp://{CANARY}"),
            ))
            .unwrap_err();
        outbox.sign_out(SignOut::Keep).unwrap();
        while outbox.retain().unwrap() {}
        outbox.close();
        world.open(&place).close();
        let heard = ear.heard();
        let ended = heard.iter().filter(|line| line.contains("attempt ended"));
        assert_eq!(ended.count(), 7, "each of the answers was heard of");
        for line in heard {
            assert!(!line.contains(CANARY), "{line}");
        }
    });
}
