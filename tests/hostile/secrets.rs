//! Secrets, each a word of its own, and where they may be found afterwards: credentials and what a server
//! tried to plant nowhere, what was submitted and answered in the database's own files alone.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use submit_once::{Header, Outbox, Submission, SubmissionId};

use crate::common::Place;
use crate::ear;

pub const ACCOUNT: &str = "canary-account";
pub const TOKEN: &str = "canary-token";
const BODY: &str = "canary-body";
const VALUE: &str = "canary-value";
const QUERY: &str = "canary-query";
/// In the bodies and kept headers of answers.
pub const ANSWER: &str = "canary-answer";
/// In headers that nobody asked for: cookies, challenges, places to go.
pub const PLANTED: &str = "canary-planted";

const NOWHERE: [&str; 2] = [TOKEN, PLANTED];
const STORED: [&str; 5] = [ACCOUNT, BODY, VALUE, QUERY, ANSWER];

/// An order with a secret in each of its parts.
pub fn order(outbox: &Outbox) -> SubmissionId {
    let id = SubmissionId::new().unwrap();
    let order = Submission::post(id, &format!("/orders?name={QUERY}"))
        .json(format!(r#"{{"note":"{BODY}"}}"#))
        .header("X-Note", VALUE)
        .account(ACCOUNT);
    outbox.submit(order).unwrap();
    id
}

pub fn sign_in(outbox: &Outbox) {
    outbox.sign_in(ACCOUNT.to_owned()).unwrap();
    let header = Header {
        name: "Authorization".to_owned(),
        value: format!("Bearer {TOKEN}"),
    };
    outbox
        .supply_credentials(ACCOUNT.to_owned(), vec![header], None)
        .unwrap();
}

/// Every text that the library made for one case.
#[derive(Default)]
pub struct Said(String);

impl Said {
    pub fn note(&mut self, value: impl Debug) {
        self.0 += &format!("{value:?}\n{value:#?}\n");
    }

    pub fn text(&mut self, text: &str) {
        self.0 += text;
    }

    /// The secrets that are where they don't belong.
    pub fn leaks(&self, place: &Place) -> Vec<String> {
        assert!(self.0.len() > 500, "there is something to look at");
        let logged = ear::heard();
        let mut leaks = Vec::new();
        for word in NOWHERE.iter().chain(&STORED) {
            let bytes = format!("{:?}", word.as_bytes());
            let bytes = bytes.trim_matches(['[', ']']);
            if self.0.contains(word) || self.0.contains(bytes) {
                leaks.push(format!("{word} in a text"));
            }
            if logged.contains(word) || logged.contains(bytes) {
                leaks.push(format!("{word} in the log"));
            }
        }
        let files = files(&place.folder());
        assert!(files.len() >= 3, "there is something to look at");
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let allowed = ["outbox.sqlite3", "outbox.sqlite3-wal"];
            let is_database = allowed.iter().any(|name| file.ends_with(name));
            let stored = STORED.iter().filter(|_| !is_database);
            for word in NOWHERE.iter().chain(stored) {
                if bytes
                    .windows(word.len())
                    .any(|found| found == word.as_bytes())
                {
                    leaks.push(format!("{word} in {}", file.display()));
                }
            }
        }
        leaks
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

/// The search finds what is planted, in each of the places where it looks.
#[test]
fn a_secret_in_any_place_is_found() {
    ear::listen();
    let place = Place::in_memory();
    for name in [
        "outbox.sqlite3",
        "outbox.sqlite3-wal",
        "outbox.sqlite3-highwater",
    ] {
        place.file(name, b"nothing");
    }
    let leaks_of = |said: &str| {
        let padded = Said(format!("{said} {}", " ".repeat(500)));
        padded.leaks(&place).len()
    };
    assert_eq!(leaks_of(""), 0);
    assert_eq!(leaks_of("Bearer canary-token"), 1);
    assert_eq!(leaks_of(&format!("{:?}", QUERY.as_bytes())), 1);
    // A database may keep what was submitted, and no file credentials.
    place.file("outbox.sqlite3", b"canary-body");
    assert_eq!(leaks_of(""), 0);
    place.file("outbox.sqlite3-highwater", b"canary-body");
    place.file("outbox.sqlite3-wal", b"Bearer canary-token");
    assert_eq!(leaks_of(""), 2);
}
