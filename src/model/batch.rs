//! What a batch is: one submission that is put together from many small records.

use std::time::Duration;

use super::id::SubmissionId;
use super::submission::{Effect, Header};

/// Where small records go, and when: logs, measurements, analytics. The records of one key are gathered
/// in one open batch; it is sent when it is full, when its time is over, or when it is flushed.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, uniffi::Record)]
#[uniffi::export(Debug)]
pub struct BatchConfig {
    /// The name of the batches, for example `logs`. 1 to 1,024 bytes.
    pub key: String,
    /// Where they go: an absolute URL, or a path that is joined to the outbox's base URL.
    pub url: String,
    /// Whose they are. Left out: nobody's, and they are sent whoever is signed in.
    #[uniffi(default = None)]
    pub account: Option<String>,
    /// The HTTP method in capitals.
    #[uniffi(default = "POST")]
    pub method: String,
    /// How the server treats a repeat of a whole batch; see `Submission`.
    #[uniffi(default = None)]
    pub effect: Option<Effect>,
    /// Headers to store and send. Never credentials.
    #[uniffi(default = [])]
    pub headers: Vec<Header>,
    /// How the records stand in the body. Left out: `JsonArray`.
    #[uniffi(default = None)]
    pub format: Option<BatchFormat>,
    /// The member of a record that holds its own ID. A record that has it keeps it; one that hasn't is
    /// given a new UUID.
    #[uniffi(default = "id")]
    pub id_member: String,
    /// Records in a batch at most; 1 to 10,000.
    #[uniffi(default = 500)]
    pub max_records: u32,
    /// Bytes of a batch's body at most. A record alone has to fit.
    #[uniffi(default = 262144)]
    pub max_bytes: u32,
    /// A batch is due this long after its first record at the latest. Left out: 30 seconds.
    #[uniffi(default = None)]
    pub max_age: Option<Duration>,
    /// Higher goes first, as for submissions.
    #[uniffi(default = 0)]
    pub priority: i32,
    /// Wait for a network that costs nothing by the byte.
    #[uniffi(default = false)]
    pub unmetered_only: bool,
}

impl BatchConfig {
    /// Batches with the defaults: JSON arrays of up to 500 records and 256 KiB, sent after 30 seconds at
    /// the latest.
    pub fn new(key: &str, url: &str) -> Self {
        Self {
            key: key.to_owned(),
            url: url.to_owned(),
            account: None,
            method: "POST".to_owned(),
            effect: None,
            headers: Vec::new(),
            format: None,
            id_member: "id".to_owned(),
            max_records: 500,
            max_bytes: 262_144,
            max_age: None,
            priority: 0,
            unmetered_only: false,
        }
    }
}

impl std::fmt::Debug for BatchConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the URL, which may name a person.
        f.debug_struct("BatchConfig")
            .field("key", &self.key)
            .field("format", &self.format)
            .field("max_records", &self.max_records)
            .field("max_bytes", &self.max_bytes)
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}

/// How records stand in a batch's body.
#[derive(
    Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, uniffi::Enum,
)]
#[serde(rename_all = "snake_case")]
pub enum BatchFormat {
    /// A JSON array of the records.
    #[default]
    JsonArray,
    /// A JSON object with one member, an array of the records.
    JsonObject {
        /// The member's name, for example `events`.
        member: String,
    },
    /// A record in each line, `application/x-ndjson`.
    Ndjson,
}

/// What `append` returns, once the record is durable.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct RecordReceipt {
    /// The record's own ID, as it stands in its `id_member`.
    pub record_id: String,
    /// The submission that it goes with. If the server refuses that for one of its records, or for its
    /// size, the others go on in new ones.
    pub batch: SubmissionId,
    /// True if the caller has to schedule a background run; see `Receipt`.
    pub run_requested: bool,
}
