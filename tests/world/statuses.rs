//! Every row of the table of statuses over real sockets, each twice: when nothing is in doubt, and when
//! an attempt before may have taken effect (F17, F47, F48, F50, F51, F54, F57, F58, F61, F62, F63).
//!
//! The table is written by hand. Behind each row: the attempt's mark as the database has it, what
//! becomes of the submission, how long it waits at least and at most, whether others to the host
//! still go out, how the attempt is counted, and the requests that the server saw.

use std::time::Duration;

use submit_once::{HoldReason, RejectReason, SubmissionState};
use submit_once_reference_server::{Behaviour, Matcher, ReferenceServer};

use crate::agents::server;
use crate::stage::Stage;

use End::{Again, Done, Held, Refused};
use HoldReason::{Conflict, OutcomeUnknown};
use RejectReason::{Configuration, Invalid, KeyReused, Unauthorized};
use Wait::{Asked, Backoff, Long, Quiet};

const APPLIED: &str = "applied";
const NOT_APPLIED: &str = "not_applied";
const UNKNOWN: &str = "unknown";

const HOUR: &str = "3600";

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Refused(RejectReason),
    Held(HoldReason),
    /// Another attempt, not before.
    Again(Wait),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Wait {
    Backoff,
    /// The server may still be at work.
    Quiet,
    Long,
    /// So many seconds.
    Asked(u64),
}

struct Row {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: &'static str,
    mark: &'static str,
    clean: End,
    doubtful: End,
    closes_host: bool,
    counted: bool,
}

/// What is the same in doubt and out of it, but for refusals: what may have happened isn't refused.
fn row(status: u16, mark: &'static str, clean: End) -> Row {
    Row {
        status,
        headers: Vec::new(),
        body: "{}",
        mark,
        clean,
        doubtful: match clean {
            Refused(_) | Held(_) => Held(OutcomeUnknown),
            Done | Again(_) => clean,
        },
        closes_host: false,
        counted: matches!(clean, Again(_)),
    }
}

impl Row {
    fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn body(mut self, body: &'static str) -> Self {
        self.body = body;
        self
    }

    fn closes_host(mut self) -> Self {
        self.closes_host = true;
        self
    }

    /// Not against the budget of answers.
    fn uncounted(mut self) -> Self {
        self.counted = false;
        self
    }

    fn behaviour(&self) -> Behaviour {
        let has_body = !matches!(self.status, 204 | 205 | 304);
        let pair = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Behaviour::Respond {
            status: self.status,
            headers: self.headers.iter().map(pair).collect(),
            body: self.body.as_bytes().repeat(usize::from(has_body)),
            content_type: has_body.then(|| "application/json".to_owned()),
        }
    }

    fn name(&self) -> String {
        format!("{} {:?} {}", self.status, self.headers, self.body)
    }
}

fn successes() -> Vec<Row> {
    let mut rows: Vec<Row> = [200, 201, 202, 203, 204, 205]
        .into_iter()
        .map(|status| row(status, APPLIED, Done))
        .collect();
    rows.extend(
        [206, 209, 225, 226, 227, 299].map(|status| row(status, UNKNOWN, Held(OutcomeUnknown))),
    );
    for status in [207, 208] {
        rows.push(row(status, UNKNOWN, Held(OutcomeUnknown)));
        rows.push(
            row(status, UNKNOWN, Held(OutcomeUnknown)).body(r#"[{"status":201},{"status":422}]"#),
        );
        rows.push(row(status, APPLIED, Done).body(r#"[{"status":201},{"status":204}]"#));
    }
    rows
}

fn elsewhere() -> Vec<Row> {
    let mut rows: Vec<Row> = [300, 303, 304, 309, 399]
        .into_iter()
        .map(|status| row(status, UNKNOWN, Held(OutcomeUnknown)))
        .collect();
    // Redirects that point nowhere; those that point somewhere have tests of their own.
    rows.extend(
        [301, 302, 305, 306, 307, 308]
            .map(|status| row(status, NOT_APPLIED, Refused(Configuration))),
    );
    rows
}

fn refusals() -> Vec<Row> {
    let mut rows: Vec<Row> = [400, 405, 411, 414, 415, 416, 417, 426, 428, 431]
        .into_iter()
        .map(|status| row(status, NOT_APPLIED, Refused(Configuration)))
        .collect();
    rows.extend(
        [402, 403, 404, 410, 413, 418, 420, 451, 498]
            .map(|status| row(status, NOT_APPLIED, Refused(RejectReason::Refused))),
    );
    rows.extend(
        [501, 505, 506, 508, 510].map(|status| row(status, NOT_APPLIED, Refused(Configuration))),
    );
    rows.push(row(401, NOT_APPLIED, Refused(Unauthorized)));
    rows.push(row(422, NOT_APPLIED, Refused(Invalid)));
    rows.push(
        row(422, NOT_APPLIED, Refused(KeyReused)).body(r#"{"code":"idempotency_key_reused"}"#),
    );
    // A vendor's word on a frozen key: the stored refusal closes its own attempt alone.
    rows.push(row(400, NOT_APPLIED, Refused(Configuration)).header("Idempotent-Replayed", "true"));
    rows.push(row(500, UNKNOWN, Held(OutcomeUnknown)).header("Idempotent-Replayed", "true"));
    rows.push(row(500, UNKNOWN, Held(OutcomeUnknown)).header("Stripe-Should-Retry", "false"));
    rows
}

fn held() -> Vec<Row> {
    vec![
        row(406, UNKNOWN, Held(OutcomeUnknown)),
        row(412, NOT_APPLIED, Held(Conflict)),
        row(424, UNKNOWN, Held(OutcomeUnknown)),
    ]
}

fn retried() -> Vec<Row> {
    let mut rows: Vec<Row> = [
        408, 444, 460, 499, 500, 502, 504, 520, 522, 524, 527, 529, 530, 599,
    ]
    .into_iter()
    .map(|status| row(status, UNKNOWN, Again(Quiet)))
    .collect();
    rows.extend(
        [421, 425, 521, 523, 525, 526].map(|status| row(status, NOT_APPLIED, Again(Backoff))),
    );
    rows.extend([
        row(407, NOT_APPLIED, Again(Backoff)).uncounted(),
        row(511, NOT_APPLIED, Again(Backoff)).uncounted(),
        // Counted as "in progress" instead.
        row(409, UNKNOWN, Again(Quiet)).uncounted(),
        row(409, UNKNOWN, Again(Asked(600)))
            .header("Retry-After", "600")
            .uncounted(),
        row(423, NOT_APPLIED, Again(Backoff)).uncounted(),
        row(507, UNKNOWN, Again(Long)),
        row(429, NOT_APPLIED, Again(Backoff)).closes_host(),
        row(503, UNKNOWN, Again(Quiet)).closes_host(),
    ]);
    rows
}

/// F57, F59: any status that is asked about again may say when, in each form; junk is nothing.
fn waits() -> Vec<Row> {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let mut rows = Vec::new();
    for (status, mark) in [
        (408, UNKNOWN),
        (500, UNKNOWN),
        (529, UNKNOWN),
        (403, NOT_APPLIED),
        (413, NOT_APPLIED),
    ] {
        rows.push(row(status, mark, Again(Asked(600))).header("Retry-After", "600"));
    }
    rows.push(
        row(429, NOT_APPLIED, Again(Asked(600)))
            .header("Retry-After", "600")
            .closes_host(),
    );
    rows.push(
        row(503, UNKNOWN, Again(Asked(600)))
            .header("Retry-After", "600")
            .closes_host(),
    );
    for date in [
        "Sun, 06 Nov 1994 09:49:37 GMT",
        "Sunday, 06-Nov-94 09:49:37 GMT",
        "Sun Nov  6 09:49:37 1994",
    ] {
        let waits = row(500, UNKNOWN, Again(Asked(3_600)));
        rows.push(waits.header("Date", DATE).header("Retry-After", date));
    }
    rows.push(row(500, UNKNOWN, Again(Asked(1_000))).header("Retry-After", "1000.5"));
    for junk in [
        "-1",
        "soon",
        "1e3",
        "",
        "0",
        "Sun, 06 Nov 1994 08:49:37 GMT",
    ] {
        rows.push(row(500, UNKNOWN, Again(Quiet)).header("Retry-After", junk));
    }
    rows.push(
        row(429, NOT_APPLIED, Again(Asked(700)))
            .header("RateLimit", r#""day";r=0;t=700"#)
            .closes_host(),
    );
    rows.push(
        row(403, NOT_APPLIED, Again(Asked(700)))
            .header("RateLimit", "limit=9, remaining=0, reset=700"),
    );
    rows.push(
        row(403, NOT_APPLIED, Again(Asked(3_600)))
            .header("X-RateLimit-Remaining", "0")
            .header("X-RateLimit-Reset", HOUR),
    );
    rows
}

/// What the outbox must have done after the answer, and what it does two hours later.
fn check(server: &ReferenceServer, row: &Row, number: usize, in_doubt: bool) {
    let stage = Stage::new(&server.url());
    let name = format!("{} in doubt: {in_doubt}", row.name());
    let path = format!("/{number}/{in_doubt}/order");
    let before = match (in_doubt, number % 2) {
        (false, _) => Vec::new(),
        (true, 0) => vec![Behaviour::CommitThenDrop],
        (true, _) => vec![Behaviour::reset_after_read().without_effect()],
    };
    let attempts = before.len() + 1;
    server.script(
        Matcher::path(&path),
        [before, vec![row.behaviour()]].concat(),
    );
    let id = stage.submit(&path);
    if in_doubt {
        stage.drain();
        assert_eq!(stage.marks(id), [UNKNOWN], "{name}");
        stage.hours_later();
    }
    let requests = || {
        let records = server.records();
        records.iter().filter(|record| record.path == path).count()
    };
    stage.drain();
    assert_eq!(requests(), attempts, "{name}");
    let marks = stage.marks(id);
    assert_eq!(marks.last().unwrap(), row.mark, "{name}");
    let end = if in_doubt { row.doubtful } else { row.clean };
    check_end(&stage, id, end, &name);
    let snapshot = stage.snapshot(id);
    if end != Done {
        assert_eq!(
            snapshot.in_doubt,
            marks.iter().any(|mark| mark == UNKNOWN),
            "{name}"
        );
    }
    if matches!(end, Again(_)) {
        assert_eq!(
            stage.number(id, "answered"),
            i64::from(row.counted),
            "{name}"
        );
    }
    // Whether others to the host still go out.
    let other = format!("/{number}/{in_doubt}/neighbour");
    stage.submit(&other);
    stage.drain();
    assert_eq!(stage.host_is_closed(), row.closes_host, "{name}");
    let neighbours = server
        .records()
        .iter()
        .filter(|record| record.path == other)
        .count();
    assert_eq!(neighbours, usize::from(!row.closes_host), "{name}");
    assert_eq!(requests(), attempts, "not due yet: {name}");
    // What is to be sent again is, with the same key, and ends well; nothing else is sent any more.
    stage.hours_later();
    stage.drain();
    let again = matches!(end, Again(_));
    assert_eq!(requests(), attempts + usize::from(again), "{name}");
    if again {
        assert_eq!(
            stage.snapshot(id).state,
            SubmissionState::Succeeded,
            "{name}"
        );
    } else {
        assert_eq!(stage.snapshot(id), snapshot, "{name}");
    }
}

fn check_end(stage: &Stage, id: submit_once::SubmissionId, end: End, name: &str) {
    let state = match end {
        Done => SubmissionState::Succeeded,
        Refused(reason) => SubmissionState::Rejected { reason },
        Held(reason) => SubmissionState::Held { reason },
        Again(_) => SubmissionState::Pending,
    };
    assert_eq!(stage.snapshot(id).state, state, "{name}");
    let wait = stage.wait_of(id);
    let Again(least) = end else {
        assert_eq!(wait, None, "{name}");
        return;
    };
    let (least, most) = match least {
        Backoff => (20, 60),
        Quiet => (120, 180),
        Long => (300, 450),
        Asked(seconds) => (seconds, seconds * 3 / 2),
    };
    // A little more: the exchange itself takes a moment.
    let range = Duration::from_secs(least)..Duration::from_secs(most + 15);
    assert!(
        range.contains(&wait.unwrap()),
        "{name}: {wait:?} of {range:?}"
    );
}

fn check_all(rows: &[Row]) {
    let server = server();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let Some(row) = rows.get(number) else { return };
                    check(&server, row, number, false);
                    check(&server, row, number, true);
                }
            });
        }
    });
    let summary = server.summary().unwrap();
    assert_eq!(summary.duplicate_effects, 0, "{summary:?}");
    assert_eq!(summary.max_keys_per_path, 1, "{summary:?}");
}

#[test]
fn successes_and_what_only_looks_like_them() {
    check_all(&successes());
}

#[test]
fn what_points_elsewhere() {
    check_all(&elsewhere());
}

/// F48, F50, F51, F54: a refusal is final, with its status; in doubt it is held, and never sent again
/// by itself.
#[test]
fn refusals_end_a_submission_only_if_nothing_is_in_doubt() {
    check_all(&refusals());
}

#[test]
fn what_a_person_has_to_look_at() {
    check_all(&held());
}

/// F58, F61, F63.
#[test]
fn what_is_sent_again_with_the_same_key() {
    check_all(&retried());
}

#[test]
fn waits_that_the_server_asks_for() {
    check_all(&waits());
}
