//! URLs of submissions, and the base that they are joined to.

use submit_once::{
    OpenError, Outbox, OutboxConfig, OutboxError, ReceiptKind, Submission, SubmissionId,
};
use url::Url;

use crate::common::Place;
use crate::engine::fuzz;
use crate::headers::refusal;

/// What is taken is an absolute URL in its one spelling: given back, it is the same submission.
#[test]
fn urls_are_refused_or_have_one_spelling() {
    let place = Place::in_memory();
    let config = OutboxConfig::at(place.path()).base_url("https://api.example.com/v2");
    let outbox = Outbox::open(config).unwrap();
    let mut taken = 0_u64;
    fuzz("urls", "malformed URLs", 200_000, |input| {
        let text = String::from_utf8_lossy(input);
        check_base(&text);
        let id = SubmissionId::derived(None, "fuzz", &text);
        let submission = Submission::post(id, &text).json("{}");
        match refusal(&outbox, submission.clone()) {
            Some(OutboxError::Invalid { field, .. }) => assert_eq!(field, "url"),
            Some(other) => panic!("{other:?}"),
            None => {
                taken += 1;
                // To store each would take minutes.
                if taken.is_multiple_of(64) {
                    check_stored(&outbox, submission);
                }
            }
        }
    });
    assert!(taken > 1_000, "{taken} were taken");
}

fn check_stored(outbox: &Outbox, submission: Submission) {
    let receipt = outbox.submit(submission.clone()).unwrap();
    let url = receipt.snapshot.url;
    let read = Url::parse(&url).unwrap();
    assert_eq!(read.as_str(), url, "not its one spelling");
    assert!(["http", "https"].contains(&read.scheme()) && read.has_host());
    assert!(
        read.username().is_empty() && read.password().is_none(),
        "a password"
    );
    assert_eq!(read.fragment(), None);
    let again = Submission { url, ..submission };
    let met = outbox.submit(again).unwrap();
    assert_ne!(met.kind, ReceiptKind::Accepted);
}

/// Nothing can be opened there, so that an answer about the base costs no file.
fn check_base(text: &str) {
    let config = OutboxConfig::at("/dev/null/outbox.sqlite3").base_url(text);
    match Outbox::open(config).unwrap_err() {
        OpenError::InvalidConfig { field, problem } => {
            assert_eq!(field, "base_url");
            let is_long = text.len() > 12;
            assert!(!is_long || !problem.contains(text), "the base in an error");
        }
        OpenError::NotAnOutbox { .. } | OpenError::Storage { .. } | OpenError::ReadOnly => {
            assert!(Url::parse(text).is_ok(), "a base that is no URL: {text:?}");
        }
        other => panic!("{other:?}"),
    }
}
