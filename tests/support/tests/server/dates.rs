//! The `Date` of an answer, from which clients learn how wrong their clock is.

use std::time::{Duration, SystemTime};

use submit_once_reference_server::{Behaviour, Matcher};

use crate::client::Answer;
use crate::{post, server};

const PAST: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn dates(answer: &Answer) -> Vec<&str> {
    let date = |header: &&(String, String)| header.0 == "date";
    let found = answer.headers.iter().filter(date);
    found.map(|(_, value)| value.as_str()).collect()
}

fn respond(date: &str) -> Behaviour {
    Behaviour::Respond {
        status: 200,
        headers: vec![("Date".into(), date.into())],
        body: vec![],
        content_type: None,
    }
}

#[test]
fn each_answer_has_the_time() {
    let server = server();
    let answer = post(&server, "/orders", "k", "{}").unwrap();
    let [date] = dates(&answer)[..] else {
        panic!("{answer:?}");
    };
    let date = httpdate::parse_http_date(date).unwrap();
    let age = SystemTime::now().duration_since(date).unwrap();
    assert!(age < Duration::from_secs(60));
}

#[test]
fn a_script_has_a_date_of_its_own_or_none() {
    let server = server();
    let error = Behaviour::ErrorBefore {
        status: 503,
        headers: vec![
            ("Retry-After".into(), PAST.into()),
            ("Date".into(), PAST.into()),
        ],
    };
    server.script(Matcher::Any, vec![respond(PAST), error, respond("")]);
    for expected in [&[PAST][..], &[PAST], &[]] {
        let answer = post(&server, "/orders", "k", "{}").unwrap();
        assert_eq!(dates(&answer), expected);
    }
}
