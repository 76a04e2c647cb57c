//! What the day is made of: the records, and what the app and its server agree on.

use std::path::PathBuf;
use std::time::Duration;

use submit_once::{
    AnswerRule, BatchConfig, Limits, OutboxConfig, RejectReason, RuleVerdict, ServerProfile,
    default_limits,
};

/// Who appends.
pub const THREADS: usize = 4;

/// Where batches go.
pub const PATH: &str = "/logs";

/// The longest body that the server takes. The app was built for twice that, and isn't changed.
pub const SERVER_LIMIT: u64 = 128 * 1024;

/// A record, by its thread and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record {
    pub thread: usize,
    pub number: usize,
}

impl Record {
    pub fn id(self) -> String {
        format!("{}-{}", self.thread, self.number)
    }

    pub fn parse(id: &str) -> Option<Self> {
        let (thread, number) = id.split_once('-')?;
        Some(Self {
            thread: thread.parse().ok()?,
            number: number.parse().ok()?,
        })
    }

    /// A short line mostly. Now and then comes a burst with traces, as after a crash: a batch of these is
    /// larger than the server takes.
    pub fn text(self) -> String {
        let trace = if self.number / 100 % 8 == 3 {
            "at com.example.app.Checkout.submit(Checkout.kt:117)\\n".repeat(12)
        } else {
            String::new()
        };
        let Self { thread, number } = self;
        format!(
            r#"{{"id":"{}","level":"info","thread":{thread},"message":"screen {number} was shown","trace":"{trace}"}}"#,
            self.id()
        )
    }
}

/// The library's defaults, with some times shortened so that a day fits into a minute.
pub fn config(folder: &str, base_url: &str) -> OutboxConfig {
    let database = PathBuf::from(folder).join("app").join("outbox.sqlite3");
    // This server looks at the size before anything else, so a batch that is too large was too large at
    // each attempt before, also at one that got no answer.
    let too_large = AnswerRule::on(
        413,
        RuleVerdict::Refused {
            reason: RejectReason::Refused,
        },
    )
    .member("/code", Some("body_too_large"))
    .settles();
    OutboxConfig::at(database.to_string_lossy())
        .base_url(base_url)
        .profile(ServerProfile {
            replays_success: true,
            rules: vec![too_large],
            ..ServerProfile::standard()
        })
        .limits(Limits {
            quiet_time: Some(Duration::from_millis(600)),
            request_timeout: Duration::from_secs(5),
            backoff_first: Duration::from_millis(100),
            backoff_most: Duration::from_millis(800),
            ..default_limits()
        })
}

/// The defaults, up to 500 records and 256 KiB, but for the age, shortened as the other times.
pub fn batches() -> BatchConfig {
    BatchConfig {
        max_age: Some(Duration::from_secs(1)),
        ..BatchConfig::new("logs", PATH)
    }
}
