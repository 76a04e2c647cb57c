//! The figures, and which of them were promised.

use crate::plan::all_stages;

#[derive(Debug, Default, serde::Serialize)]
pub struct Verdict {
    /// Rows in the app's table.
    pub rows: u64,
    /// Effects at the server.
    pub confirmations: u64,
    /// Lines at the bell.
    pub rings: u64,
    /// Steps that the user was asked about.
    pub uncertain: u64,
    /// Kills after which nobody could know.
    pub uncertain_expected: u64,
    /// Results of a step that differ from its first one.
    pub wrong_results: u64,
    /// Agents that were started.
    pub runs: u64,
    pub kills: u64,
    /// Steps that an agent planned again and was told that they were done.
    pub replayed: u64,
    pub answers_lost: u64,
}

impl Verdict {
    /// A sentence for each figure that isn't the promised one.
    pub fn broken(&self, plans: usize) -> Vec<String> {
        let plans = plans as u64;
        let kills = plans * all_stages().count() as u64;
        let mut broken = Vec::new();
        let mut expect = |name: &str, is: u64, wanted: u64| {
            if is != wanted {
                broken.push(format!("{name} is {is}, not {wanted}"));
            }
        };
        expect("rows", self.rows, plans);
        expect("confirmations", self.confirmations, plans);
        expect("rings", self.rings, plans);
        expect("uncertain", self.uncertain, self.uncertain_expected);
        expect("wrong_results", self.wrong_results, 0);
        // It was as bad as it is meant to be.
        expect("kills", self.kills, kills);
        expect("uncertain_expected", self.uncertain_expected, 2 * plans);
        expect("answers_lost", self.answers_lost, plans);
        // A life that is killed at the fifth step has replayed four.
        if self.replayed < 2 * kills {
            broken.push(format!(
                "replayed is {}, less than {}",
                self.replayed,
                2 * kills
            ));
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
