//! What the simulations reach: rows of the state table and verdicts, as the core tells a subscriber of the
//! `tracing` crate.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A row of the state table, or something that a judgement said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    Row(String),
    Verdict(String),
}

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<BTreeSet<Reached>>>);

#[derive(Default)]
struct Fields {
    row: Option<String>,
    verdict: String,
    proves: String,
    others: Vec<String>,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "row" {
            self.row = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "proves" => write!(self.proves, "{value:?}").unwrap(),
            "then" => write!(self.verdict, "{value:?}").unwrap(),
            "settles" | "counts" | "closes" => {
                self.others.push(format!("{} {value:?}", field.name()));
            }
            _ => {}
        }
    }
}

impl Subscriber for Ear {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "submit_once" && *metadata.level() == Level::TRACE
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut reached = self.0.lock().unwrap();
        if let Some(row) = fields.row {
            reached.insert(Reached::Row(row));
        }
        if !fields.verdict.is_empty() {
            let verdict = format!("{} {}", fields.proves, fields.verdict);
            reached.insert(Reached::Verdict(verdict));
            reached.extend(fields.others.into_iter().map(Reached::Verdict));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Runs something, and tells what it reached.
pub fn counting(run: impl FnOnce()) -> BTreeSet<Reached> {
    // As long as a process has had one subscriber only, `tracing` asks that of the thread which comes to
    // an event first, once for all.
    static SECOND: LazyLock<tracing::Dispatch> =
        LazyLock::new(|| tracing::Dispatch::new(Ear::default()));
    LazyLock::force(&SECOND);
    let ear = Ear::default();
    tracing::subscriber::with_default(ear.clone(), run);
    let reached = ear.0.lock().unwrap();
    reached.clone()
}

/// Rows of the table that the seeds of CI don't meet: what can't happen, what the store never asks for, and
/// what takes more chance than they have. The walk of the whole table sees them all.
const UNREACHED: &[(&str, &str)] = &[
    ("11", "it can't happen"),
    ("12", "it can't happen"),
    ("62", "it can't happen"),
    ("63", "it can't happen"),
    ("37", "expiry isn't looked for while an attempt is open"),
    ("38", "nor a newer one"),
    ("39", "nor its success"),
    ("2", "a result that is asked for past the key's lifetime"),
    ("5", "one that expires while its result is asked for"),
    ("7", "one that is superseded while its result is asked for"),
    ("8", "a batch that is damaged while its result is asked for"),
    ("9", "a batch that is damaged while its result is asked for"),
    ("10", "one that is damaged while its result is asked for"),
    (
        "17",
        "a batch that is damaged, never sent, and in doubt after a loss",
    ),
    ("18", "a batch that is damaged after it was sent"),
    ("21", "a parent that failed after a loss"),
    ("24", "a child that was held before its parent ended"),
    ("25", "a purge while a result is asked for"),
    ("53", "a hold for a doubt that a late answer ended"),
    ("59", "a stored refusal that comes late"),
];

/// All that a judgement can say.
const VERDICTS: &[&str] = &[
    "Applied FetchResult",
    "Applied Retry",
    "NotApplied FetchResult",
    "NotApplied Hold(Conflict)",
    "NotApplied Hold(Damaged)",
    "NotApplied Hold(KeyUsedElsewhere)",
    "NotApplied Hold(OutcomeUnknown)",
    "NotApplied Refuse(BodyMissing)",
    "NotApplied Refuse(Configuration)",
    "NotApplied Refuse(Invalid)",
    "NotApplied Refuse(KeyReused)",
    "NotApplied Refuse(Refused)",
    "NotApplied Refuse(Unauthorized)",
    "NotApplied Retry",
    "Unknown FetchResult",
    "Unknown Hold(Conflict)",
    "Unknown Hold(OutcomeUnknown)",
    "Unknown Refuse(Configuration)",
    "Unknown Refuse(Invalid)",
    "Unknown Refuse(Refused)",
    "Unknown Retry",
    "closes Account",
    "closes Host",
    "closes Nothing",
    "counts Answered",
    "counts Busy",
    "counts Nothing",
    "counts Transport",
    "settles Everything",
    "settles Nothing",
    "settles SinceConsent",
];

/// What was reached, as a figure, and what wasn't.
pub fn missed(reached: &BTreeSet<Reached>) -> (String, Vec<String>) {
    let mut rows = BTreeSet::new();
    let mut all = 0;
    let mut verdicts = BTreeSet::new();
    for reached in reached {
        match reached {
            Reached::Row(row) => {
                let (number, rest) = row.split_once('/').unwrap();
                all = rest.split(' ').next().unwrap().parse().unwrap();
                rows.insert(number.to_owned());
            }
            Reached::Verdict(verdict) => {
                verdicts.insert(verdict.as_str());
            }
        }
    }
    let exempt = |row: &String| UNREACHED.iter().any(|(number, _)| number == row);
    let wanted: Vec<String> = (0..all)
        .map(|row: u32| row.to_string())
        .filter(|row| !exempt(row))
        .collect();
    let mut missed: Vec<String> = wanted
        .iter()
        .filter(|row| !rows.contains(*row))
        .map(|row| format!("row {row} of RULES"))
        .collect();
    missed.extend(
        VERDICTS
            .iter()
            .filter(|verdict| !verdicts.contains(*verdict))
            .map(|v| (*v).to_owned()),
    );
    let figure = format!(
        "{} of {all} rows of the state table, {} of {} verdicts",
        wanted.len(),
        VERDICTS.len(),
        VERDICTS.len()
    );
    (figure, missed)
}
