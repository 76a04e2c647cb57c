//! One outbox before real sockets, with a clock that the test moves: what would be due in an hour is
//! due at once, and nothing sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use submit_once::{
    Clock, DrainBudget, DrainReport, Limits, Now, Outbox, OutboxConfig, Seams, Snapshot,
    Submission, SubmissionId, SystemClock, UptimeMs, WallMs,
};

use crate::agents::PATIENCE;
use crate::common::Place;
use crate::sockets::block_on;

/// The system's clocks, moved ahead by hand.
pub struct Hands {
    system: SystemClock,
    ahead: AtomicI64,
}

impl Clock for Hands {
    fn now(&self) -> Now {
        let ahead = self.ahead.load(Ordering::SeqCst);
        let now = self.system.now();
        Now {
            wall: WallMs(now.wall.0 + ahead),
            uptime: UptimeMs(now.uptime.0 + ahead),
            boot: now.boot,
        }
    }
}

/// Waits that tell the reasons for them apart: backoff 20 s (the second 40 s), quiet time 120 s, the
/// longest backoff 300 s. What a server asks for is 600 s.
pub fn telling_limits() -> Limits {
    Limits {
        backoff_first: Duration::from_secs(20),
        backoff_most: Duration::from_secs(300),
        quiet_time: Some(Duration::from_secs(120)),
        ..crate::sockets::limits()
    }
}

/// Fills the queue of connections that a listener has not accepted: the next one gets no answer as long
/// as these are kept.
pub fn fill_queue(address: std::net::SocketAddr) -> Vec<std::net::TcpStream> {
    let mut waiting = Vec::new();
    while let Ok(socket) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        waiting.push(socket);
        assert!(waiting.len() < 10_000, "the queue has no end");
    }
    waiting
}

pub struct Stage {
    pub place: Place,
    pub outbox: Arc<Outbox>,
    hands: Arc<Hands>,
}

impl Stage {
    pub fn new(url: &str) -> Self {
        Self::with(url, |config| config)
    }

    pub fn with(url: &str, change: impl FnOnce(OutboxConfig) -> OutboxConfig) -> Self {
        let place = Place::new();
        let hands = Arc::new(Hands {
            system: SystemClock::new(None),
            ahead: AtomicI64::new(0),
        });
        let config = OutboxConfig::at(place.path())
            .base_url(url)
            .limits(telling_limits());
        let seams = Seams {
            clock: Some(Arc::clone(&hands) as Arc<dyn Clock>),
            ..Seams::default()
        };
        Self {
            outbox: Outbox::open_with(change(config), seams).unwrap(),
            place,
            hands,
        }
    }

    pub fn submit(&self, path: &str) -> SubmissionId {
        let id = self.outbox.begin(path.to_owned()).unwrap();
        self.outbox
            .submit(Submission::post(id, path).json(r#"{"item":"tea"}"#))
            .unwrap();
        id
    }

    /// Sends what is due now, and returns when all of it is answered.
    pub fn drain(&self) -> DrainReport {
        block_on(self.outbox.drain(DrainBudget::of(PATIENCE))).unwrap()
    }

    /// Two hours pass: longer than every wait, far shorter than the life of a key.
    pub fn hours_later(&self) {
        self.pass(Duration::from_secs(7_200));
    }

    pub fn pass(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).unwrap();
        self.hands.ahead.fetch_add(millis, Ordering::SeqCst);
    }

    pub fn snapshot(&self, id: SubmissionId) -> Snapshot {
        self.outbox.snapshot(id).unwrap()
    }

    /// What the database knows of each attempt, by a connection of the test's own.
    pub fn marks(&self, id: SubmissionId) -> Vec<String> {
        let sql = self.place.sql();
        let mut rows = sql
            .prepare(
                "SELECT mark FROM attempt JOIN submission ON seq = submission
                 WHERE submission.id = ?1 ORDER BY number",
            )
            .unwrap();
        rows.query_map([id_bytes(id)], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    /// From the beginning of the last attempt to when the next is due; nothing if none is.
    pub fn wait_of(&self, id: SubmissionId) -> Option<Duration> {
        let millis: Option<i64> = self
            .place
            .sql()
            .query_row(
                "SELECT due_uptime - (SELECT began_uptime FROM attempt WHERE submission = seq
                     ORDER BY number DESC LIMIT 1)
                 FROM submission WHERE id = ?1",
                [id_bytes(id)],
                |row| row.get(0),
            )
            .unwrap();
        millis.map(|millis| Duration::from_millis(millis.try_into().unwrap()))
    }

    /// A number of the submission's row.
    pub fn number(&self, id: SubmissionId, column: &str) -> i64 {
        let sql = format!("SELECT {column} FROM submission WHERE id = ?1");
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        self.place
            .sql()
            .query_row(&sql, [id_bytes(id)], read)
            .unwrap()
    }

    /// A host has asked everybody to wait.
    pub fn host_is_closed(&self) -> bool {
        self.place
            .sql()
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM host WHERE closed_uptime IS NOT NULL)",
                [],
                |row| row.get(0),
            )
            .unwrap()
    }
}

fn id_bytes(id: SubmissionId) -> Vec<u8> {
    let hex: String = id.to_string().chars().filter(|c| *c != '-').collect();
    (0..16)
        .map(|n| u8::from_str_radix(&hex[n * 2..n * 2 + 2], 16).unwrap())
        .collect()
}
