//! Secrets, each a word of its own, and where they may be found afterwards: credentials nowhere at all;
//! what a submission and its answer hold in the database alone, and in no text that the library makes
//! (F77).

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use submit_once::{
    Body, CertificatePin, Header, ListFilter, OpenError, Outbox, OutboxConfig, OutboxError,
    PageRequest, Reported, Resolution, ServerProfile, Submission, SubmissionId, SubmissionState,
    TlsConfig, WireAnswer, WireBody, WireRequest,
};
use submit_once_reference_server::{Behaviour, Matcher};

use crate::agents::{Agent, QUICK, binary, server};
use crate::common::Place;
use crate::sockets::block_on;
use crate::stage::Stage;

const TOKEN: &str = "canary-token";
const COOKIE: &str = "canary-cookie";
const BODY: &str = "canary-body";
const VALUE: &str = "canary-value";
const QUERY: &str = "canary-query";
const ANSWER: &str = "canary-answer";
const ETAG: &str = "canary-etag";
const RESULT: &str = "canary-result";

/// Never stored.
const NOWHERE: [&str; 2] = [TOKEN, COOKIE];
/// Stored in the database alone.
const STORED: [&str; 6] = [BODY, VALUE, QUERY, ANSWER, ETAG, RESULT];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|window| window == word.as_bytes())
}

/// The names of the files beside the database, and it, that hold a word.
fn found_in(place: &Place, word: &str) -> Vec<String> {
    let mut names: Vec<String> = files(&place.folder())
        .into_iter()
        .filter(|path| contains(&std::fs::read(path).unwrap(), word))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

pub fn assert_not_on_disk(place: &Place, words: &[&str]) {
    assert!(
        files(&place.folder()).len() >= 3,
        "there is something to look at"
    );
    for word in words {
        assert_eq!(found_in(place, word), Vec::<String>::new(), "{word}");
    }
}

fn assert_only_in_the_database(place: &Place, words: &[&str]) {
    for word in words {
        let found = found_in(place, word);
        assert!(!found.is_empty(), "{word} is nowhere: the search is blind");
        let database = |name: &String| name == "outbox.sqlite3" || name == "outbox.sqlite3-wal";
        assert!(found.iter().all(database), "{word} in {found:?}");
    }
}

/// Every text that the library made.
#[derive(Default)]
struct Said(String);

impl Said {
    fn note(&mut self, value: impl Debug) {
        self.0 += &format!("{value:?}\n{value:#?}\n");
    }

    fn fails<T: Debug>(&mut self, result: Result<T, OutboxError>) -> OutboxError {
        let error = result.unwrap_err();
        self.0 += &format!("{error}\n");
        self.note(&error);
        error
    }

    fn fails_to_open(&mut self, config: OutboxConfig) -> OpenError {
        self.note(&config);
        let error = Outbox::open(config).unwrap_err();
        self.0 += &format!("{error}\n");
        self.note(&error);
        error
    }

    fn is_clean(&self) {
        assert!(self.0.len() > 500);
        for word in NOWHERE.iter().chain(&STORED) {
            assert!(!self.0.contains(word), "{word} in {}", self.0);
            // As a list of bytes, too.
            let bytes = format!("{:?}", word.as_bytes());
            let bytes = bytes.trim_matches(['[', ']']);
            assert!(!self.0.contains(bytes), "{word} as bytes");
            let lines = bytes.replace(' ', "\n");
            assert!(
                !self
                    .0
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join("\n")
                    .contains(&lines)
            );
        }
    }
}

fn order(path: &str) -> Submission {
    let id = SubmissionId::new().unwrap();
    Submission {
        account: Some("ann".to_owned()),
        ..Submission::post(id, &format!("{path}?name={QUERY}"))
            .json(format!(r#"{{"note":"{BODY}"}}"#))
            .header("X-Note", VALUE)
    }
}

fn answer(status: u16) -> Behaviour {
    Behaviour::Respond {
        status,
        headers: vec![
            ("Set-Cookie".to_owned(), COOKIE.to_owned()),
            ("ETag".to_owned(), format!("\"{ETAG}\"")),
        ],
        body: format!(r#"{{"secret":"{ANSWER}"}}"#).into_bytes(),
        content_type: Some("application/json".to_owned()),
    }
}

fn credentials() -> Vec<Header> {
    vec![Header {
        name: "Authorization".to_owned(),
        value: format!("Bearer {TOKEN}"),
    }]
}

/// Success, refusal, hold, damage, and every call that is refused.
#[test]
fn secrets_stay_where_they_belong() {
    let server = server();
    let stage = Stage::new(&server.url());
    let outbox = &stage.outbox;
    let mut said = Said::default();
    said.note(credentials());
    outbox.sign_in("ann".into()).unwrap();
    outbox
        .supply_credentials("ann".into(), credentials(), None)
        .unwrap();
    server.script(Matcher::path("/good"), vec![answer(201)]);
    server.script(Matcher::path("/bad"), vec![answer(422)]);
    server.script(
        Matcher::path("/held"),
        vec![Behaviour::CommitThenDrop, answer(400)],
    );
    server.script(Matcher::path("/again"), vec![answer(500)]);
    server.script(Matcher::path("/refused"), vec![answer(401)]);
    let orders: Vec<_> = ["/good", "/bad", "/held", "/again", "/refused", "/damaged"]
        .map(order)
        .into();
    for order in &orders[..5] {
        said.note(order);
        said.note(outbox.submit(order.clone()).unwrap());
    }
    said.note(stage.drain());
    stage.hours_later();
    outbox
        .supply_credentials("ann".into(), credentials(), None)
        .unwrap();
    said.note(stage.drain());
    said.note(outbox.submit(orders[5].clone()).unwrap());
    let sql = stage.place.sql();
    sql.execute_batch(
        "DROP TRIGGER request_frozen; UPDATE request SET body = x'00' WHERE url LIKE '%damaged%'",
    )
    .unwrap();
    said.note(stage.drain());
    let state = |n: usize| stage.snapshot(orders[n].id).state;
    assert_eq!(state(0), SubmissionState::Succeeded);
    assert!(matches!(state(1), SubmissionState::Rejected { .. }));
    assert!(matches!(state(2), SubmissionState::Held { .. }));
    assert!(matches!(state(5), SubmissionState::Held { .. }));
    for order in &orders {
        let snapshot = stage.snapshot(order.id);
        said.0 += snapshot.last_problem.as_deref().unwrap_or_default();
        said.0 += snapshot.late_evidence.as_deref().unwrap_or_default();
        said.note(&snapshot);
        said.note(&snapshot.outcome);
        said.note(outbox.submit(order.clone()));
        said.note(block_on(outbox.wait(order.id, std::time::Duration::ZERO)).unwrap());
    }
    said.note(
        outbox
            .list(ListFilter::all(), PageRequest::default())
            .unwrap(),
    );
    said.note(outbox.changes(0, 1_000).unwrap());
    said.note(outbox.stats().unwrap());
    said.note(
        outbox
            .reconcile(orders.iter().map(|order| order.id).collect())
            .unwrap(),
    );
    said.note(outbox.open_report());
    said.note(outbox);
    refusals(&stage, &orders, &mut said);
    outbox.close();
    said.is_clean();
    assert_not_on_disk(&stage.place, &NOWHERE);
    assert_only_in_the_database(&stage.place, &STORED);
}

/// What is refused says why, and shows nothing.
fn refusals(stage: &Stage, orders: &[Submission], said: &mut Said) {
    let outbox = &stage.outbox;
    let reused = orders[0].clone().json(format!(r#""{BODY}""#));
    said.fails(outbox.submit(reused));
    let fresh = || order("/never");
    for (name, value) in [
        ("Authorization", TOKEN),
        ("Cookie", COOKIE),
        ("X-Note", &format!("{VALUE}\r\n")),
        ("X-Note", &format!("{VALUE}\u{e9}")),
    ] {
        said.fails(outbox.submit(fresh().header(name, value)));
    }
    said.fails(outbox.submit(fresh().json(format!("{{{BODY}"))));
    for url in [
        format!("http://ann:{QUERY}@localhost/"),
        format!("ftp://localhost/{QUERY}"),
        QUERY.to_owned(),
        format!("http://localhost/?{QUERY} {QUERY}"),
        format!("http://[{QUERY}]/"),
    ] {
        said.fails(outbox.submit(Submission { url, ..fresh() }));
    }
    let mut broken = credentials();
    broken[0].value += "\r\n";
    said.fails(outbox.supply_credentials("ann".into(), broken, None));
    said.fails(outbox.supply_credentials("bob".into(), credentials(), None));
    let retry = Resolution::RetrySameKey {
        accept_second_effect: false,
    };
    let happened = Resolution::ItHappened {
        result: Some(RESULT.to_owned()),
    };
    said.note(&happened);
    let (held, damaged) = (orders[2].id, orders[5].id);
    said.fails(outbox.resolve(held, 0, retry.clone()));
    said.fails(outbox.resolve(
        orders[0].id,
        stage.snapshot(orders[0].id).revision,
        retry.clone(),
    ));
    said.fails(outbox.resolve(damaged, stage.snapshot(damaged).revision, retry));
    let revision = stage.snapshot(held).revision;
    said.note(outbox.resolve(held, revision, happened).unwrap());
    said.note(outbox.cancel(held).unwrap());
}

/// What goes over the seam of the transport.
#[test]
fn the_types_of_the_transport_show_no_secrets() {
    let mut said = Said::default();
    let header = |value: &str| Header {
        name: "x-note".to_owned(),
        value: value.to_owned(),
    };
    for body in [
        WireBody::Bytes(BODY.into()),
        WireBody::File {
            path: PathBuf::from(BODY),
            length: 7,
        },
    ] {
        said.note(&body);
        said.note(WireRequest {
            method: "POST".to_owned(),
            url: format!("http://localhost/?{QUERY}"),
            headers: vec![header(VALUE), credentials().remove(0)],
            body,
            max_answer_bytes: 1,
            idle_timeout: std::time::Duration::ZERO,
            fresh_connection: false,
        });
    }
    let answer = WireAnswer {
        status: 200,
        headers: vec![header(COOKIE), header(ETAG)],
        body: ANSWER.as_bytes().to_vec(),
        complete: true,
    };
    said.note(&answer);
    said.note(Reported::Answered(answer));
    for body in [
        Body::Json {
            text: BODY.to_owned(),
        },
        Body::Bytes {
            content_type: "text/plain".to_owned(),
            bytes: BODY.as_bytes().to_vec(),
        },
        Body::File {
            content_type: "text/plain".to_owned(),
            path: BODY.to_owned(),
        },
    ] {
        said.note(body);
    }
    said.is_clean();
}

/// A configuration with a mistake in it: a password in the URL, a private key among the roots.
#[test]
fn bad_configurations_and_files_show_no_secrets() {
    let place = Place::new();
    let mut said = Said::default();
    let at = || OutboxConfig::at(place.path());
    said.note(ServerProfile::standard());
    said.fails_to_open(at().base_url(format!("https://ann:{TOKEN}@localhost")));
    said.fails_to_open(at().base_url(format!("https://localhost/?{QUERY}")));
    said.fails_to_open(at().user_agent(format!("{VALUE}\r\n")));
    let tls = TlsConfig {
        extra_roots: vec![TOKEN.as_bytes().to_vec()],
        pins: vec![CertificatePin {
            host: "localhost".to_owned(),
            sha256: vec![7],
        }],
        ..TlsConfig::default()
    };
    said.note(&tls);
    said.note(at().tls(tls));
    let text = format!("no database: {TOKEN} {BODY}").repeat(100);
    std::fs::write(place.database(), text).unwrap();
    said.fails_to_open(at());
    said.is_clean();
}

/// A process with everything that it prints.
#[test]
fn nothing_is_printed() {
    let (place, server) = (Place::new(), server());
    let errors = place.folder().join("errors.txt");
    let mut command = Command::new(binary("agent"));
    command
        .env("RUST_LOG", "trace")
        .stderr(Stdio::from(std::fs::File::create(&errors).unwrap()));
    let options = ["--base", &server.url(), "--limits", QUICK];
    let mut agent = Agent::spawn(command, &place, &options);
    server.script(
        Matcher::Any,
        vec![answer(500), Behaviour::CommitThenDrop, answer(400)],
    );
    let mut printed = String::new();
    let mut ask = |command: &str| {
        let answer = agent.ask(command);
        printed += &answer;
        answer
    };
    ask("sign-in ann");
    ask(&format!("supply ann {TOKEN}"));
    ask(&format!("supply bob {TOKEN}"));
    let id = ask("begin form");
    let path = format!("/orders?{QUERY}");
    ask(&format!("submit-as ann {id} {path} {BODY}"));
    ask(&format!("submit-as ann {id} {path} other-{BODY}"));
    ask("start");
    assert_eq!(ask(&format!("wait {id} 60000")), "Held");
    ask(&format!("snapshot {id}"));
    ask("drain 1000");
    agent.kill();
    printed += &std::fs::read_to_string(&errors).unwrap();
    for word in NOWHERE.iter().chain(&STORED) {
        assert!(!printed.contains(word), "{printed}");
    }
    std::fs::remove_file(errors).unwrap();
    assert_not_on_disk(&place, &NOWHERE);
    assert_only_in_the_database(&place, &[BODY, QUERY]);
}
