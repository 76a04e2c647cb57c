//! The page about answers says what the code decides, and is written by people: where nobody has
//! to write it, it can't disagree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::agents::binary;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Exit status, standard output, standard error.
fn classify(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(binary("classify"))
        .args(args)
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn page() -> String {
    std::fs::read_to_string(Path::new(ROOT).join("docs/classification.md")).unwrap()
}

/// The cells of the rows that are compared.
fn rows(page: &str) -> Vec<Vec<&str>> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|inside| inside.split(" | ").collect::<Vec<_>>())
        .filter(|cells| cells.len() == 5 && cells[0] != "answer" && cells[0] != "---")
        .collect()
}

fn check_copy(text: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.md");
    std::fs::write(&copy, text).unwrap();
    let (status, output, _) = classify(&["--check", copy.to_str().unwrap()]);
    (status, output)
}

#[test]
fn the_page_says_what_the_code_decides() {
    let (status, output, errors) = classify(&["--check"]);
    assert_eq!((status, errors.as_str()), (0, ""), "{output}");
    assert_eq!(check_copy(&page()).0, 0);
}

#[test]
fn a_page_that_differs_is_found_out_by_line() {
    let page = page();
    let changed = |from: &str, to: &str| {
        assert!(page.contains(from), "{from}");
        check_copy(&page.replacen(from, to, 1))
    };
    let row = "| 429 | no effect | pending: host waits | pending: host waits | Too many requests";
    assert!(page.contains(row));
    for (from, to, says) in [
        (
            row,
            "| 429 | unknown | pending: host waits | pending: host waits | Too many requests",
            "Every status, 429",
        ),
        (
            row,
            "| 429 | no effect | pending: retry | pending: host waits | Too many requests",
            "Every status, 429",
        ),
        (
            row,
            "| 429 | no effect | pending: host waits | pending: retry | Too many requests",
            "Every status, 429",
        ),
        (
            "| 204, 205 |",
            "| 205 |",
            "Every status, 204: the page has no row",
        ),
        (
            "| 204, 205 | effect",
            "| 203–205 | effect",
            "Every status, 203: there are two rows",
        ),
        (
            "527–599 | unknown",
            "527–600 | unknown",
            "Every status, 600: the program has no such row",
        ),
        (
            "| 403, 413 |",
            "| 413 |",
            "`Retry-After`, 403: the page has no row",
        ),
        (
            "## `ietf`\n",
            "## `ietf`\n\n| answer | proves | not in doubt | in doubt | why |\n| --- | --- | --- | --- | --- |\n| 404 | no effect | pending: retry | pending: retry | x |\n",
            "`ietf`, 404: the program has no such row",
        ),
        (
            "## `unkeyed`\n",
            "## `keyless`\n",
            "the program has no table “`keyless`”",
        ),
        (
            "## `unkeyed`\n",
            "## `keyless`\n",
            "there is no heading “`unkeyed`”",
        ),
        (
            "| Too many requests, and the others would be as well. |",
            "| |",
            "a row has a reason",
        ),
        (
            "| no network | no effect |",
            "| no network |",
            "a row has 5 cells",
        ),
        (
            "| no network | no effect |",
            "| nothing | no effect |",
            "No answer, nothing: the program has no such row",
        ),
    ] {
        let (status, output) = changed(from, to);
        assert_eq!(status, 1, "{to}: {output}");
        assert!(output.contains(says), "{to}: {output}");
    }
    let (_, output) = changed(row, &row.replace("no effect", "unknown"));
    let line = 1 + page.lines().position(|line| line.starts_with(row)).unwrap();
    assert!(output.contains(&format!("copy.md:{line}: ")), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

/// The tables that the program prints have no reasons, and the page has one in every row: it isn't
/// what the program printed.
#[test]
fn the_page_has_reasons_that_the_program_does_not_know() {
    let (status, tables, _) = classify(&["--table"]);
    assert_eq!(status, 0);
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() > 80, "{}", rows.len());
    let said: std::collections::BTreeSet<&str> = rows.iter().map(|cells| cells[4]).collect();
    assert!(said.len() > 60, "{}", said.len());
    for reason in said {
        assert!(reason.len() > 4, "{reason}");
        assert!(!tables.contains(reason), "{reason}");
    }
    assert!(!tables.contains("why"));
    // The printed tables alone are no page.
    assert_eq!(check_copy(&tables).0, 1);
}

/// What makes a file, in Rust and in scripts.
const WRITES: [&str; 12] = [
    "fs::write",
    "File::create",
    "File::options",
    "OpenOptions",
    "fs::copy",
    "fs::rename",
    "write_all",
    "writeln!",
    "persist(",
    "tee ",
    " >",
    "sed -i",
];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != ".git" {
                sources(&path, into);
            }
        } else if !name.ends_with(".md") {
            into.push(path);
        }
    }
}

/// No program, script or test of this repository writes the page.
#[test]
fn nothing_generates_the_page() {
    let mut files = Vec::new();
    sources(Path::new(ROOT), &mut files);
    let mut mentions = 0;
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if !line.contains("classification.md") {
                continue;
            }
            mentions += 1;
            let near = &lines[index.saturating_sub(3)..(index + 4).min(lines.len())];
            for write in WRITES {
                let found = near.iter().find(|line| line.contains(write));
                assert_eq!(found, None, "{}:{}", file.display(), index + 1);
            }
        }
    }
    assert!(mentions >= 3, "the name is looked for");
    // And the program that knows the tables writes no file at all.
    let mut program = Vec::new();
    sources(&Path::new(ROOT).join("examples/classify"), &mut program);
    assert!(program.len() > 5);
    for file in program {
        let text = std::fs::read_to_string(&file).unwrap();
        for write in WRITES.iter().filter(|write| **write != " >") {
            assert!(!text.contains(write), "{}: {write}", file.display());
        }
    }
    let (_, help, _) = classify(&["--help"]);
    for option in ["--write", "--output", "--fix", "--update", "--bless"] {
        assert!(!help.contains(option), "{option}");
        assert_eq!(classify(&[option]).0, 2, "{option}");
    }
}

#[test]
fn one_answer_is_told_in_sentences() {
    let says = |args: &[&str]| {
        let (status, output, errors) = classify(args);
        assert_eq!((status, errors.as_str()), (0, ""), "{args:?}");
        output
    };
    let busy = says(&["--status", "409", "--profile", "stripe"]);
    assert!(busy.contains("proves nothing"), "{busy}");
    assert!(busy.contains("pending: in progress"), "{busy}");
    for (args, verdict) in [
        (vec!["--status", "201"], "succeeded"),
        (vec!["--status", "404"], "rejected (refused)"),
        (
            vec!["--status", "404", "--in-doubt"],
            "held (outcome unknown)",
        ),
        (
            vec![
                "--status",
                "404",
                "--header",
                "Idempotent-Replayed: true",
                "--in-doubt",
                "--profile",
                "ietf",
            ],
            "rejected (refused)",
        ),
        (
            vec![
                "--status",
                "400",
                "--profile",
                "stripe",
                "--body",
                r#"{"error":{"type":"idempotency_error"}}"#,
            ],
            "rejected (key reused)",
        ),
        (
            vec!["--status", "200", "--header", "Content-Type: text/html"],
            "pending: network",
        ),
        (
            vec!["--status", "200", "--cut", "--profile", "square"],
            "pending: asks for the result",
        ),
        (vec!["--status", "401", "--account"], "pending: credentials"),
        (
            vec!["--status", "500", "--profile", "unkeyed"],
            "held (outcome unknown)",
        ),
        (vec!["--status", "406", "--safe"], "rejected (refused)"),
        (
            vec!["--status", "503", "--header", "Retry-After: 7"],
            "asked to wait 7 s",
        ),
    ] {
        let said = says(&args);
        assert!(said.contains(verdict), "{args:?}: {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.json");
    let rule = r#"{"name":"orders","rules":[{"first_status":409,"last_status":409,
        "member":{"pointer":"/code","value":"done"},"verdict":"applied"}]}"#;
    std::fs::write(&file, rule).unwrap();
    let own = file.to_str().unwrap();
    let done = says(&[
        "--profile",
        own,
        "--status",
        "409",
        "--body",
        r#"{"code":"done"}"#,
    ]);
    assert!(
        done.contains("“orders”") && done.contains("succeeded"),
        "{done}"
    );
    std::fs::write(&file, "{").unwrap();
    assert_eq!(classify(&["--profile", own, "--status", "409"]).0, 2);
}

#[test]
fn a_mistake_on_the_command_line_is_told() {
    for args in [vec![], vec!["--help"], vec!["--status", "409", "-h"]] {
        let (status, output, _) = classify(&args);
        assert_eq!(status, 0);
        assert!(output.contains("usage: classify"));
    }
    for wrong in [
        vec!["--tables"],
        vec!["--table", "x"],
        vec!["--check", "a", "b"],
        vec!["--check", "/nowhere/page.md"],
        vec!["--status"],
        vec!["--status", "99"],
        vec!["--status", "600"],
        vec!["--status", "ok"],
        vec!["--in-doubt"],
        vec!["--status", "409", "--profile", "strpe"],
        vec!["--status", "409", "--header", "x"],
        vec!["--status", "409", "--profile", "/nowhere/profile.json"],
    ] {
        let (status, output, errors) = classify(&wrong);
        assert_eq!((status, output.as_str()), (2, ""), "{wrong:?}");
        assert!(errors.starts_with("classify: "), "{wrong:?}: {errors}");
    }
}

/// A reader that has seen enough, such as `head`, is no trouble.
#[test]
fn a_reader_that_closes_the_pipe_ends_it_quietly() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(crate::agents::binary("classify"))
        .arg("--table")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
