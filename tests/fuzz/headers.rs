//! Headers of submissions: what is taken can be sent as it is, and smuggles nothing.

use submit_once::{Outbox, OutboxConfig, OutboxError, Submission, SubmissionId};

use crate::common::Place;
use crate::engine::fuzz;
use crate::waits::header;

const NEVER: [&str; 9] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "connection",
    "transfer-encoding",
    "host",
    "content-length",
    "content-type",
    "idempotency-key",
];

/// What becomes of a submission, without storing it: one beside it that is always refused takes it
/// back. `None` if it alone would be stored.
pub fn refusal(outbox: &Outbox, submission: Submission) -> Option<OutboxError> {
    let never = Submission::new(submission.id, "NO METHOD", "/");
    match outbox.submit_all(vec![submission, never]).unwrap_err() {
        OutboxError::Invalid { field, .. } if field == "method" => None,
        refused => Some(refused),
    }
}

#[test]
fn headers_are_refused_or_can_be_sent() {
    let place = Place::in_memory();
    let config = OutboxConfig::at(place.path()).base_url("https://api.example.com");
    let outbox = Outbox::open(config).unwrap();
    let id = SubmissionId::new().unwrap();
    fuzz("headers", "malformed headers", 150_000, |input| {
        let text = String::from_utf8_lossy(input);
        let mut submission = Submission::post(id, "/orders").json("{}");
        submission.headers = text
            .split('\u{1e}')
            .flat_map(|part| part.split('\n'))
            .map(header)
            .collect();
        let headers = submission.headers.clone();
        let Some(refused) = refusal(&outbox, submission) else {
            let mut names: Vec<&str> = headers.iter().map(|header| header.name.as_str()).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "twice");
            for header in &headers {
                let is_token =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
                assert!(!header.name.is_empty() && header.name.bytes().all(is_token));
                assert!(!NEVER.contains(&header.name.as_str()), "{}", header.name);
                let is_text = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
                assert!(header.value.bytes().all(is_text), "{:?}", header.value);
            }
            return;
        };
        let words = refused.to_string();
        assert!(
            matches!(
                refused,
                OutboxError::Invalid { .. } | OutboxError::HeaderRefused { .. }
            ),
            "{refused:?}"
        );
        for header in headers.iter().filter(|header| header.value.len() > 12) {
            assert!(!words.contains(&header.value), "a value in an error");
        }
    });
}
