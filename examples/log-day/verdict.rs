//! What the server's bodies say in the end.

use std::collections::HashMap;

use submit_once::{ListFilter, ListState, Outbox, PageRequest};
use submit_once_reference_server::ReferenceServer;

use crate::args::DayArgs;
use crate::crew::Crew;
use crate::failure::{Failure, trouble};
use crate::records::{Record, config};

/// The figures of the day.
#[derive(Debug, Default, serde::Serialize)]
pub struct Verdict {
    /// Records that a thread was told were durable.
    acknowledged: u64,
    /// Different records in the bodies that took effect.
    arrived: u64,
    /// Acknowledged, and in no body.
    lost: u64,
    /// Records that stand in the bodies more often than they were appended.
    duplicates: u64,
    /// Records that were appended a second time, since their thread was killed before it heard of the first,
    /// and that stand in the bodies twice: the server drops one by its ID.
    repeated_appends: u64,
    /// Records in the bodies that nobody appended like this.
    wrong_records: u64,
    /// Effects of a batch's key beyond the first.
    duplicate_effects: u64,
    /// Batches that neither arrived nor were split.
    unsettled: u64,
    batches: u64,
    requests: u64,
    /// Requests that were answered 413.
    too_large: u64,
    answers_lost: u64,
    kills: u64,
    pub append_us_p50: u64,
    pub append_us_p99: u64,
    pub fdatasync_us_p50: u64,
}

pub fn judge(crew: &Crew, server: &ReferenceServer) -> Result<Verdict, Failure> {
    let failed = |error| trouble("the server's database", error);
    let summary = server.summary().map_err(failed)?;
    let requests = server.records();
    let bodies = server.bodies().map_err(failed)?;
    let mut verdict = Verdict {
        acknowledged: crew.times.len() as u64,
        duplicate_effects: summary.duplicate_effects,
        unsettled: unsettled(crew)?,
        batches: bodies.len() as u64,
        requests: requests.len() as u64,
        too_large: requests
            .iter()
            .filter(|request| request.status == Some(413))
            .count() as u64,
        answers_lost: summary.answers_lost,
        kills: crew.killed,
        ..Verdict::default()
    };
    let mut arrived: HashMap<Record, u64> = HashMap::new();
    for body in &bodies {
        let records: Vec<Box<serde_json::value::RawValue>> = serde_json::from_slice(&body.body)
            .map_err(|error| trouble("a body is no array", error))?;
        for record in records {
            match recognise(record.get()) {
                Some(record) => *arrived.entry(record).or_default() += 1,
                None => verdict.wrong_records += 1,
            }
        }
    }
    verdict.arrived = arrived.len() as u64;
    verdict.compare(crew, &arrived);
    Ok(verdict)
}

/// The record that has exactly this text.
fn recognise(text: &str) -> Option<Record> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let record = Record::parse(value.get("id")?.as_str()?)?;
    (record.text() == text).then_some(record)
}

/// What the outbox itself holds to be unfinished.
fn unsettled(crew: &Crew) -> Result<u64, Failure> {
    let failed = |error| trouble("the list", error);
    let args = &crew.args;
    let outbox = Outbox::open(config(&args.folder, &args.base_url))
        .map_err(|error| trouble("the outbox did not open", error))?;
    let mut count = 0;
    for state in [ListState::Moving, ListState::Held] {
        let page = PageRequest {
            after: 0,
            limit: 1_000,
        };
        let page = outbox.list(ListFilter::of(state), page).map_err(failed)?;
        count += page.snapshots.len() as u64;
    }
    Ok(count)
}

impl Verdict {
    fn compare(&mut self, crew: &Crew, arrived: &HashMap<Record, u64>) {
        for (thread, next) in crew.args.next.into_iter().enumerate() {
            for number in 0..next {
                self.lost += u64::from(!arrived.contains_key(&Record { thread, number }));
            }
        }
        for (record, times) in arrived {
            let again = crew.in_question.iter().filter(|of| *of == record).count() as u64;
            self.repeated_appends += (times - 1).min(again);
            self.duplicates += (times - 1).saturating_sub(again);
        }
    }

    /// A sentence for each figure that isn't the promised one.
    pub fn broken(&self, args: &DayArgs) -> Vec<String> {
        let records = args.records as u64;
        let mut broken = Vec::new();
        let mut expect = |name: &str, is: u64, wanted: u64| {
            if is != wanted {
                broken.push(format!("{name} is {is}, not {wanted}"));
            }
        };
        expect("acknowledged", self.acknowledged, records);
        expect("arrived", self.arrived, records);
        expect("lost", self.lost, 0);
        expect("duplicates", self.duplicates, 0);
        expect("wrong_records", self.wrong_records, 0);
        expect("duplicate_effects", self.duplicate_effects, 0);
        expect("unsettled", self.unsettled, 0);
        expect("kills", self.kills, args.kills);
        if self.requests >= 1_000 {
            broken.push(format!("requests is {}, not below 1000", self.requests));
        }
        // The day was as bad as it is meant to be.
        for (name, is) in [
            ("answers_lost", self.answers_lost),
            ("too_large", self.too_large),
        ] {
            if is == 0 {
                broken.push(format!("{name} is 0"));
            }
        }
        broken
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn print(&self) {
        if let Ok(serde_json::Value::Object(figures)) = serde_json::to_value(self) {
            for (name, figure) in figures {
                println!("{name:<22} {figure}");
            }
        }
    }
}
