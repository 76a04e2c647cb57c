//! Reads the page and compares it with what the library decides. Each table has four columns that
//! are compared and one with reasons, which is for people alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{self, Cells};
use crate::scenarios::Scenario;

/// The head of a table that is compared.
const HEAD: [&str; 5] = ["answer", "proves", "not in doubt", "in doubt", "why"];

/// A row of the page: where it is and what it says.
struct Written {
    line: usize,
    cells: Cells,
}

/// The tables of the page by their headings; a row for each status or event.
type Tables<'a> = BTreeMap<&'a str, (usize, BTreeMap<String, Written>)>;

/// What differs, each as "line: what".
pub fn compare(text: &str, scenarios: &[Scenario]) -> Vec<String> {
    let mut differences = Vec::new();
    let tables = read(text, &mut differences);
    let titles: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.title).collect();
    for (title, (line, written)) in &tables {
        if !titles.contains(title) && !written.is_empty() {
            differences.push(format!("{line}: the program has no table “{title}”"));
        }
    }
    for scenario in scenarios {
        match tables.get(scenario.title) {
            Some((line, written)) => {
                differences.extend(compare_table(scenario, *line, written));
            }
            None => differences.push(format!("1: there is no heading “{}”", scenario.title)),
        }
    }
    differences
}

fn read<'a>(text: &'a str, differences: &mut Vec<String>) -> Tables<'a> {
    let mut tables = Tables::new();
    let mut title = "";
    let mut compared = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(heading) = line.strip_prefix('#') {
            title = heading.trim_start_matches('#').trim();
            compared = false;
            tables.entry(title).or_insert((number, BTreeMap::new()));
            continue;
        }
        let Some(cells) = cells(line) else {
            compared = false;
            continue;
        };
        if cells == HEAD {
            compared = true;
            continue;
        }
        let ruler = cells
            .iter()
            .all(|cell| cell.chars().all(|char| char == '-'));
        if !compared || ruler {
            continue;
        }
        let [names, proves, not_in_doubt, in_doubt, why] = cells.as_slice() else {
            differences.push(format!("{number}: a row has {} cells", HEAD.len()));
            continue;
        };
        if why.is_empty() {
            differences.push(format!("{number}: a row has a reason"));
        }
        let Some((_, table)) = tables.get_mut(title) else {
            differences.push(format!("{number}: a table has a heading"));
            continue;
        };
        for name in expand(names) {
            let cells = Cells {
                proves: (*proves).to_owned(),
                not_in_doubt: (*not_in_doubt).to_owned(),
                in_doubt: (*in_doubt).to_owned(),
            };
            let row = Written {
                line: number,
                cells,
            };
            if table.insert(name.clone(), row).is_some() {
                differences.push(format!("{number}: {title}, {name}: there are two rows"));
            }
        }
    }
    tables
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

/// `404, 408–410` are four names.
fn expand(names: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in names.split(',').map(str::trim) {
        let range = part.split_once('–').and_then(|(first, last)| {
            Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)
        });
        match range {
            Some(range) => all.extend(range.map(|status| status.to_string())),
            None => all.push(part.to_owned()),
        }
    }
    all
}

/// What differs about one status or event.
#[derive(PartialEq)]
enum Difference {
    Missing(Cells),
    TooMuch,
    Other(Cells, Cells),
}

fn compare_table(
    scenario: &Scenario,
    heading: usize,
    written: &BTreeMap<String, Written>,
) -> Vec<String> {
    let decided = rows::of(scenario);
    let mut found: Vec<(String, usize, Difference)> = Vec::new();
    for (name, cells) in &decided {
        match written.get(name) {
            None => found.push((name.clone(), heading, Difference::Missing(cells.clone()))),
            Some(row) if row.cells != *cells => found.push((
                name.clone(),
                row.line,
                Difference::Other(row.cells.clone(), cells.clone()),
            )),
            Some(_) => {}
        }
    }
    for (name, row) in written {
        if !decided.iter().any(|(decided, _)| decided == name) {
            found.push((name.clone(), row.line, Difference::TooMuch));
        }
    }
    // One sentence for a range, not one for each status of it.
    found
        .chunk_by(|a, b| rows::follows(&a.0, &b.0) && a.1 == b.1 && a.2 == b.2)
        .filter_map(|group| {
            let (first, line, difference) = group.first()?;
            let name = match group {
                [_, .., (last, ..)] => format!("{first}–{last}"),
                _ => first.clone(),
            };
            let what = describe(difference);
            Some(format!("{line}: {}, {name}: {what}", scenario.title))
        })
        .collect()
}

fn describe(difference: &Difference) -> String {
    let say = |cells: &Cells| {
        format!(
            "“{} | {} | {}”",
            cells.proves, cells.not_in_doubt, cells.in_doubt
        )
    };
    match difference {
        Difference::Missing(cells) => {
            format!("the page has no row; the program says {}", say(cells))
        }
        Difference::TooMuch => "the program has no such row".to_owned(),
        Difference::Other(page, program) => {
            format!(
                "the page says {}; the program says {}",
                say(page),
                say(program)
            )
        }
    }
}
