//! What the server's tables say in the end.

use std::collections::{BTreeMap, HashMap};

use submit_once::{ListFilter, ListState, PageRequest, SubmissionState};
use submit_once_reference_server::{EffectRecord, ReferenceServer};

use crate::app::App;
use crate::day::token;
use crate::failure::{Failure, trouble};
use crate::plan::{FINDINGS, INSPECTORS, Inspection, SAVES, sha256};

/// The figures of the day.
#[derive(Debug, Default, serde::Serialize)]
pub struct Verdict {
    /// Effects of inspections.
    inspections: u64,
    /// Findings that carry the ID of their own inspection.
    children_linked: u64,
    /// Findings and photos that carry another.
    orphans: u64,
    photos: u64,
    /// Each photo arrived as it was taken, at its inspection.
    photos_digest_equal: bool,
    /// What was written last is what was saved last.
    drafts_final_equal: bool,
    lane_order_violations: u64,
    /// Requests with the token of another than the one whose they are.
    cross_account_sends: u64,
    duplicate_effects: u64,
    /// Submissions that say that they succeeded, and have no effect; or are gone.
    lost: u64,
    held: u64,
    requests: u64,
    answers_lost: u64,
    kills: u64,
}

/// The path's parts and what its query says.
struct Place<'a> {
    parts: Vec<&'a str>,
    number: usize,
    by: &'a str,
}

fn place(path: &str) -> Option<Place<'_>> {
    let (path, query) = path.split_once('?')?;
    let query: HashMap<&str, &str> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .collect();
    Some(Place {
        parts: path.trim_start_matches('/').split('/').collect(),
        number: query.get("n")?.parse().ok()?,
        by: query.get("by")?,
    })
}

pub fn judge(
    app: &App,
    server: &ReferenceServer,
    made: &[Inspection],
    kills: u64,
) -> Result<Verdict, Failure> {
    let failed = |error| trouble("the judge", error);
    let effects = server.effects().map_err(failed)?;
    let summary = server.summary().map_err(failed)?;
    let records = server.records();
    let mut verdict = Verdict {
        duplicate_effects: summary.duplicate_effects,
        requests: records.len() as u64,
        answers_lost: records.iter().filter(|record| record.answer_lost).count() as u64,
        kills,
        ..Verdict::default()
    };
    verdict.count(&effects, made);
    let whose = principals();
    verdict.cross_account_sends = records
        .iter()
        .filter(|record| {
            let by = place(&record.path).map(|place| place.by);
            let sender = record.principal.as_ref().and_then(|of| whose.get(of));
            by != sender.copied()
        })
        .count() as u64;
    verdict.compare(app, &effects)?;
    Ok(verdict)
}

/// Whose a recorded principal is: the server keeps the first half of the digest of a token.
fn principals() -> HashMap<String, &'static str> {
    let digest = |inspector: &str, number| {
        let mut text = sha256(token(inspector, number).as_bytes());
        text.truncate(16);
        text
    };
    INSPECTORS
        .iter()
        .flat_map(|inspector| [1, 2].map(|number| (digest(inspector, number), *inspector)))
        .collect()
}

impl Verdict {
    fn count(&mut self, effects: &[EffectRecord], made: &[Inspection]) {
        // Which inspection has which ID.
        let mut ids: HashMap<u64, usize> = HashMap::new();
        let mut lanes: BTreeMap<(&str, String), usize> = BTreeMap::new();
        let mut drafts: HashMap<usize, &str> = HashMap::new();
        let mut photos_equal = true;
        for effect in effects {
            let Some(at) = place(&effect.path) else {
                continue;
            };
            let Some(inspection) = made.get(at.number).filter(|of| of.inspector == at.by) else {
                self.orphans += 1;
                continue;
            };
            let is_its_id = |id: &str| {
                id.parse()
                    .is_ok_and(|id: u64| ids.get(&id) == Some(&at.number))
            };
            match at.parts.as_slice() {
                ["inspections"] => {
                    self.inspections += 1;
                    ids.insert(effect.effect, at.number);
                    let last = lanes.entry((at.by, inspection.lane())).or_insert(at.number);
                    self.lane_order_violations += u64::from(*last > at.number);
                    *last = at.number;
                }
                ["inspections", id, "findings", _] if is_its_id(id) => self.children_linked += 1,
                ["inspections", id, "photo"] if is_its_id(id) => {
                    self.photos += 1;
                    photos_equal &= effect.body_sha256 == sha256(&inspection.photo());
                }
                ["drafts"] => {
                    drafts.insert(at.number, &effect.body_sha256);
                }
                _ => self.orphans += 1,
            }
        }
        self.photos_digest_equal = photos_equal && self.photos == made.len() as u64;
        self.drafts_final_equal = made.iter().all(|of| {
            drafts.get(&of.number).copied()
                == Some(sha256(of.draft_body(SAVES).as_bytes()).as_str())
        });
    }

    /// What the outbox believes against what the server did.
    fn compare(&mut self, app: &App, effects: &[EffectRecord]) -> Result<(), Failure> {
        let keys: HashMap<&str, u64> = effects
            .iter()
            .filter_map(|effect| Some((effect.key.as_deref()?, effect.effect)))
            .collect();
        for inspector in INSPECTORS {
            self.held += app.count(inspector, ListState::Held)?;
        }
        let mut after = 0;
        loop {
            let page = PageRequest {
                after,
                limit: 1_000,
            };
            let page = app
                .outbox
                .list(ListFilter::all(), page)
                .map_err(|error| trouble("the list", error))?;
            for snapshot in page.snapshots {
                let has_effect = keys.contains_key(snapshot.id.to_string().as_str());
                self.lost += match snapshot.state {
                    SubmissionState::Succeeded => u64::from(!has_effect),
                    SubmissionState::Superseded { .. } => 0,
                    SubmissionState::Pending
                    | SubmissionState::InFlight
                    | SubmissionState::Held { .. }
                    | SubmissionState::Rejected { .. }
                    | SubmissionState::Cancelled
                    | SubmissionState::Expired
                    | SubmissionState::Abandoned => 1,
                };
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// A sentence for each figure that isn't the promised one.
    pub fn broken(&self, inspections: usize) -> Vec<String> {
        let made = inspections as u64;
        let mut broken = Vec::new();
        let mut expect = |name: &str, is: u64, wanted: u64| {
            if is != wanted {
                broken.push(format!("{name} is {is}, not {wanted}"));
            }
        };
        expect("inspections", self.inspections, made);
        expect(
            "children_linked",
            self.children_linked,
            made * FINDINGS as u64,
        );
        expect("orphans", self.orphans, 0);
        expect("photos", self.photos, made);
        expect(
            "photos_digest_equal",
            u64::from(self.photos_digest_equal),
            1,
        );
        expect("drafts_final_equal", u64::from(self.drafts_final_equal), 1);
        expect("lane_order_violations", self.lane_order_violations, 0);
        expect("cross_account_sends", self.cross_account_sends, 0);
        expect("duplicate_effects", self.duplicate_effects, 0);
        expect("lost", self.lost, 0);
        expect("held", self.held, 0);
        // The day was as bad as it is meant to be: half an answer lost for each inspection.
        for (name, is, least) in [
            ("answers_lost", self.answers_lost, made / 2),
            ("kills", self.kills, 10),
        ] {
            if is < least {
                broken.push(format!("{name} is {is}, less than {least}"));
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
