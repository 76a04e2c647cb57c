//! The rows of a table, as the library decides them.

use submit_once::classification::{Case, judge};
use submit_once::{Effect, Reported, WallMs};

use crate::scenarios::Scenario;
use crate::words;

/// What a row says: what the exchange proves, and the states it leads to without and with earlier
/// doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    pub proves: String,
    pub not_in_doubt: String,
    pub in_doubt: String,
}

/// What happened, a status or an event, and what the row says of it.
pub type Row = (String, Cells);

/// The rows of a scenario: all, or those that differ from the table that it refers to.
pub fn of(scenario: &Scenario) -> Vec<Row> {
    let safe = scenario.case.effect == Effect::Safe;
    let mut rows = all(scenario, safe);
    if let Some(other) = &scenario.differs_from {
        let others = all(other, safe);
        rows.retain(|row| !others.contains(row));
    }
    rows
}

fn all(scenario: &Scenario, never_in_doubt: bool) -> Vec<Row> {
    let row = |(name, reported): (String, Reported)| {
        let mut cells = cells(&scenario.case, &reported);
        if never_in_doubt {
            cells.in_doubt = "never".to_owned();
        }
        (name, cells)
    };
    scenario.exchanges().into_iter().map(row).collect()
}

fn cells(case: &Case, reported: &Reported) -> Cells {
    let ask = |in_doubt| {
        let case = Case {
            in_doubt,
            ..case.clone()
        };
        judge(&case, reported, WallMs(0))
    };
    Cells {
        proves: words::proves(ask(false).proves).to_owned(),
        not_in_doubt: words::verdict(&ask(false)),
        in_doubt: words::verdict(&ask(true)),
    }
}

/// The table of a scenario in Markdown, with equal neighbours in one row.
pub fn table(scenario: &Scenario) -> String {
    let mut text = format!("## {}\n\n", scenario.title);
    let rows = of(scenario);
    if rows.is_empty() {
        text.push_str("No row differs.\n");
        return text;
    }
    text.push_str("| answer | proves | not in doubt | in doubt |\n| --- | --- | --- | --- |\n");
    for group in rows.chunk_by(|a, b| follows(&a.0, &b.0) && a.1 == b.1) {
        if let [(first, cells), .., (last, _)] = group {
            text.push_str(&line(&format!("{first}–{last}"), cells));
        } else if let [(only, cells)] = group {
            text.push_str(&line(only, cells));
        }
    }
    text
}

fn line(name: &str, cells: &Cells) -> String {
    format!(
        "| {name} | {} | {} | {} |\n",
        cells.proves, cells.not_in_doubt, cells.in_doubt
    )
}

/// The second is the next status after the first.
pub fn follows(first: &str, second: &str) -> bool {
    match (first.parse::<u16>(), second.parse::<u16>()) {
        (Ok(first), Ok(second)) => first.checked_add(1) == Some(second),
        _ => false,
    }
}
