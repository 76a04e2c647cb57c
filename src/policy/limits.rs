//! Every default number, with its reason. `None` means no limit.

use std::time::Duration;

/// The numbers an app may tune. The defaults are meant to be right for most.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct Limits {
    /// Requests on the wire at once.
    pub max_in_flight: u32,
    /// Submissions that are not settled, held ones included; more are refused with `QueueFull`.
    pub max_queued: u32,
    /// The largest body, in bytes.
    pub max_body_bytes: u64,
    /// Bodies up to this size, in bytes, are kept inside the database; larger ones in files beside
    /// it.
    pub inline_body_bytes: u32,
    /// The largest answer that is kept, in bytes.
    pub max_answer_bytes: u32,
    /// How long the answer to a request may take, from the last byte of its body that went.
    pub request_timeout: Duration,
    /// How long the body of an answer may pause.
    pub idle_timeout: Duration,
    /// How long connecting may take, the TLS handshake included.
    pub connect_timeout: Duration,
    /// How long a claim holds without being renewed.
    pub lease: Duration,
    /// How long a statement waits for another process's transaction.
    pub busy_timeout: Duration,
    /// The first wait after a failure; it doubles from there.
    pub backoff_first: Duration,
    /// The longest wait that backoff grows to.
    pub backoff_most: Duration,
    /// The longest wait that a server may ask for.
    pub server_wait_most: Duration,
    /// Used instead of the quiet time of the server profile. Left out, the profile decides. Meant
    /// for tests and demos: too short a time lets two requests with one key overlap.
    pub quiet_time: Option<Duration>,
    /// Answered attempts before a submission is given up or held. Counts only together with
    /// `retry_time`.
    pub retry_attempts: u32,
    /// The waits that were set after answered attempts, added up, before a submission is given up
    /// or held. Counts only together with `retry_attempts`.
    pub retry_time: Duration,
    /// "In progress" answers before a submission is held. Counts only together with `busy_time`.
    pub busy_attempts: u32,
    /// The waits that were set after "in progress" answers, added up, before a submission is held.
    /// Counts only together with `busy_attempts`.
    pub busy_time: Duration,
    /// How long a request may wander in the network before it can be believed gone.
    pub horizon: Duration,
    /// How long results are kept whole.
    pub keep_results: Duration,
    /// Settled submissions whose results are kept whole, at most; older ones go first.
    pub keep_results_count: u32,
    /// Bytes of the results that are kept whole, at most; older ones go first.
    pub keep_results_bytes: u64,
    /// How long the memory of a settled submission is kept after that, to converge late
    /// duplicates. Never shorter than `retention` of its server profile, where that has an end.
    pub keep_tombstones: Duration,
    /// Entries of the change feed that are kept; an older cursor gets `Resync`.
    pub keep_changes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_in_flight: MAX_IN_FLIGHT,
            max_queued: MAX_QUEUED,
            max_body_bytes: MAX_BODY_BYTES,
            inline_body_bytes: INLINE_BODY_BYTES,
            max_answer_bytes: MAX_ANSWER_BYTES,
            request_timeout: REQUEST_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            lease: LEASE,
            busy_timeout: BUSY_TIMEOUT,
            backoff_first: BACKOFF_FIRST,
            backoff_most: BACKOFF_MOST,
            server_wait_most: SERVER_WAIT_MOST,
            quiet_time: None,
            retry_attempts: RETRY_ATTEMPTS,
            retry_time: RETRY_TIME,
            busy_attempts: BUSY_ATTEMPTS,
            busy_time: BUSY_TIME,
            horizon: HORIZON,
            keep_results: KEEP_RESULTS,
            keep_results_count: KEEP_RESULTS_COUNT,
            keep_results_bytes: KEEP_RESULTS_BYTES,
            keep_tombstones: KEEP_TOMBSTONES,
            keep_changes: KEEP_CHANGES,
        }
    }
}

/// The default limits, to change single numbers of.
#[uniffi::export]
pub fn default_limits() -> Limits {
    Limits::default()
}

impl Limits {
    /// Refuses numbers that would break a promise or make no sense.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let positive = [
            self.request_timeout,
            self.idle_timeout,
            self.connect_timeout,
            self.lease,
            self.busy_timeout,
            self.backoff_first,
            self.backoff_most,
            self.keep_results,
            self.keep_tombstones,
        ];
        if positive.iter().any(Duration::is_zero) {
            return Err("times must be longer than zero");
        }
        if positive
            .iter()
            .chain(&self.quiet_time)
            .chain([
                &self.server_wait_most,
                &self.retry_time,
                &self.busy_time,
                &self.horizon,
            ])
            .any(|time| *time > LONGEST)
        {
            return Err("times must be shorter than a hundred years");
        }
        if self.lease < self.least_lease() {
            return Err(
                "the lease must be longer than the request timeout and twice the busy timeout",
            );
        }
        if self.backoff_most < self.backoff_first {
            return Err("backoff_most must not be less than backoff_first");
        }
        if self.max_in_flight == 0 || self.max_queued == 0 || self.keep_changes == 0 {
            return Err("counts must be at least one");
        }
        if self.inline_body_bytes > INLINE_BODY_BYTES_POSSIBLE {
            return Err("inline_body_bytes is more than a row should hold; use at most 64 MiB");
        }
        Ok(())
    }

    /// A claim must outlive its request and two waits for the database, the claim's own commit and
    /// the one that renews it: shorter leases sent one request of 1,500 twice.
    pub(crate) fn least_lease(&self) -> Duration {
        self.request_timeout
            .saturating_add(self.busy_timeout.saturating_mul(2))
    }
}

/// Radios do best with a few requests at once, and HTTP/1.1 servers commonly take six to eight
/// connections of one client.
pub const MAX_IN_FLIGHT: u32 = 8;

/// A field worker offline for a week makes hundreds; a hundred thousand is a programming error
/// that would fill the disk.
pub const MAX_QUEUED: u32 = 100_000;

/// More than any photo and most films: a mistake looks like this, and fills a phone.
pub const MAX_BODY_BYTES: u64 = 1024 * 1024 * 1024;

/// SQLite reads blobs of this size about as fast as files, and a transaction with one stays short.
pub const INLINE_BODY_BYTES: u32 = 256 * 1024;

/// The most that `inline_body_bytes` may be raised to.
pub const INLINE_BODY_BYTES_POSSIBLE: u32 = 64 * 1024 * 1024;

/// Results are replayed to every later caller and so are kept: an answer to a write is small.
pub const MAX_ANSWER_BYTES: u32 = 1024 * 1024;

/// Hanging up early makes some servers repeat an effect, so this is long: gateways commonly give
/// up after 60 s themselves.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// A server that has begun to answer goes on within seconds; a connection that was lost without a
/// word never does.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A phone on a bad network needs several seconds for DNS, TCP and TLS.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// More than the request timeout and twice the busy timeout; see [`Limits::least_lease`].
pub const LEASE: Duration = Duration::from_secs(120);

/// A commit on a phone's flash takes milliseconds; five seconds of waiting means that something
/// is wrong.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Most failures of a mobile network are over within seconds.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);

/// A server that has been down for an hour is asked about once in a quarter of an hour.
pub const BACKOFF_MOST: Duration = Duration::from_secs(15 * 60);

/// A server may ask for a day of silence; more looks like a mistake.
pub const SERVER_WAIT_MOST: Duration = Duration::from_secs(24 * 60 * 60);

/// With the default backoff this many answers take about two hours.
pub const RETRY_ATTEMPTS: u32 = 16;

/// A long week-end: an outage that nobody fixes before Monday shouldn't lose Friday's orders.
pub const RETRY_TIME: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// A handler that is still at work says so; the third time it may be stuck.
pub const BUSY_ATTEMPTS: u32 = 3;

/// Longer than gateways let a handler work.
pub const BUSY_TIME: Duration = Duration::from_secs(2 * 60);

/// The longest that proxies and queues are known to hold a request back, and so the margin that
/// is kept before a key's lifetime ends.
pub const HORIZON: Duration = Duration::from_secs(10 * 60);

/// A month of "my orders" on the device.
pub const KEEP_RESULTS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// More than any list on a phone shows, and a few megabytes of rows.
pub const KEEP_RESULTS_COUNT: u32 = 10_000;

/// What an app may take for things that are done, without a user asking where the space went.
pub const KEEP_RESULTS_BYTES: u64 = 64 * 1024 * 1024;

/// Longer than any server of the survey keeps its keys (31 days), with a year for devices that
/// come back from a drawer.
pub const KEEP_TOMBSTONES: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// An observer that has been away for this many changes reads the list anew in less time.
pub const KEEP_CHANGES: u32 = 10_000;

/// Waits are stored in milliseconds; this keeps every sum of them far from overflow.
pub const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Claims and settlements of one transaction: long enough to share a sync, short enough that
/// another process never waits long for its turn.
pub const STEP_ROWS: usize = 128;

/// Files of settled submissions that are deleted at once: as many as are on the wire, and some.
/// Deleting a film takes a phone a tenth of a second.
pub const RELEASED_AT_ONCE: usize = 16;

/// Bodies from this size on tell of their progress, in bytes: smaller ones are gone at once.
pub const PROGRESS_FROM: u64 = 64 * 1024;

/// The pause between two calls of a progress listener: smooth to the eye, and cheap.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Attempts of one submission whose lack of effect is certain, and that are kept for support: a week
/// without a network makes hundreds.
pub const KEEP_ATTEMPTS: u32 = 16;

/// How often an idle pump drops what retention no longer keeps.
pub const RETAIN_EVERY: Duration = Duration::from_secs(60 * 60);

/// Steps of retention at once: a bounded share of a worker's time.
pub const RETAIN_STEPS: usize = 8;

/// Free pages that one step of retention gives back to the file system: a quarter of a megabyte.
pub const VACUUM_PAGES: i64 = 64;

/// How often an observer in this process looks for what other processes have done. Only while
/// somebody waits or observes.
pub const OBSERVE_EVERY: Duration = Duration::from_secs(1);

/// How often a pump looks whether another process that has submissions in flight has died. Only
/// while one has.
pub const LOOK_FOR_DEAD_EVERY: Duration = Duration::from_secs(1);

/// How long closing waits for another process's transaction, each of the two times that it writes. What
/// it can't write, the next opening finds out; the caller may be a screen.
pub const CLOSING_BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// The wait after a failed step of the pump (disk full, database busy); doubles up to a minute.
pub const STORE_RETRY_FIRST: Duration = Duration::from_secs(1);

/// See [`STORE_RETRY_FIRST`].
pub const STORE_RETRY_MOST: Duration = Duration::from_secs(60);

/// Given up when the disk is full, so that an answer can still be recorded: a few commits' worth
/// of WAL.
pub const BALLAST_BYTES: usize = 256 * 1024;

/// Ends of names and values that come from an app: far above real use, far below trouble.
pub const MAX_NAME_BYTES: usize = 1024;

/// Priorities from the negative of this to this: few enough levels to look at each of them.
pub const MAX_PRIORITY: i32 = 100;

/// Of so many claims one goes to what was accepted first, whatever its priority.
pub const FAIR_EVERY: i64 = 8;

/// Parents of one submission, and parts that it takes from them, at most.
pub const MAX_PARENTS: usize = 16;

/// Submissions that wait for one parent, at most: they are moved in the transaction that records its
/// end.
pub const MAX_CHILDREN: u32 = 1_000;

/// The least time that a newer submission of a latest-wins key waits after the last attempt of an older
/// one that nobody knows the effect of. A lock of the server is per key, and theirs differ.
pub const NEWER_WAITS: Duration = Duration::from_secs(15);

/// How long the records of a batch wait for each other. A radio stays awake some ten seconds after each
/// request, so that sending much more often costs as much as never letting it sleep.
pub const BATCH_AGE: Duration = Duration::from_secs(30);

/// Records of one batch at most: they are moved in the transaction in which a server refuses it.
pub const MAX_BATCH_RECORDS: u32 = 10_000;

/// Submissions that one page of a list looks at, at most.
pub const LIST_LOOKS: u32 = 5_000;

/// How often a status probe that got no answer is asked before a person decides.
pub const PROBE_TRIES: u32 = 3;

/// Servers commonly refuse more than 8 KiB in one header, and more than 16 to 32 KiB in all.
pub const MAX_HEADERS_BYTES: usize = 16 * 1024;

/// Common servers refuse longer request targets.
pub const MAX_URL_BYTES: usize = 8 * 1024;

/// How often the same error must come in a row before its key counts as frozen to it. Counts only
/// together with [`FROZEN_TIME`], and while others get through.
pub const FROZEN_ATTEMPTS: u32 = 4;

/// See [`FROZEN_ATTEMPTS`]: longer than a deployment or a fail-over takes.
pub const FROZEN_TIME: Duration = Duration::from_secs(10 * 60);

/// How often a result that was cut is asked for again: a connection that cuts it three times cuts it
/// for a reason.
pub const FETCH_RESULT_ATTEMPTS: u32 = 3;

/// Credentials are renewed this long before they expire, or half of their time if that is less: a
/// request must arrive while they are good.
pub const CREDENTIALS_MARGIN: Duration = Duration::from_secs(60);

/// How long a host may take to answer that credentials are needed before it is asked again; the wait
/// doubles from there.
pub const CREDENTIALS_PATIENCE: Duration = Duration::from_secs(30);

/// Devices that get their network back together are spread over this long.
pub const NETWORK_JITTER: Duration = Duration::from_secs(2);

/// How often a submission's credentials must have been refused, each time with others, before that
/// is its own affair, as those of other submissions work.
pub const FROZEN_REFUSALS: u32 = 2;

/// How long a run of the inbox may take that doesn't say: the time that Android gives a worker.
pub const INBOX_LEASE: Duration = Duration::from_secs(10 * 60);

/// The longest that a run of the inbox may take without being extended: an agent that waits for a
/// person over a week.
pub const INBOX_LEASE_MOST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a scope of the inbox keeps results that doesn't say: as long as submissions' are kept.
pub const KEEP_INBOX_RESULTS: Duration = KEEP_RESULTS;

/// How long a scope of the inbox remembers after that what was done, if it doesn't say: push services
/// keep a message for four weeks, and a device may lie in a drawer for a season.
pub const KEEP_INBOX_KEYS: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Uncertain items that are listed at once: more than a person decides.
pub const INBOX_LIST: u32 = 1_000;

/// Scopes of the inbox that one step of retention looks at: more than most apps have.
pub const INBOX_SCOPES_AT_ONCE: usize = 32;

/// Bytes of one statement of the app's: far above what anybody writes by hand. A longer text was put
/// together by a program, with its values in it, and is parsed within the one write transaction.
pub const STATEMENT_BYTES: usize = 16 * 1024;

/// How long the app's statements of one call may take: they hold the one write transaction, and others wait
/// for it for [`BUSY_TIMEOUT`] at most.
pub const STATEMENTS_TIME: Duration = Duration::from_secs(2);

/// Rows of the app's own tables that are read at once: more than a screen shows, and a few megabytes.
pub const QUERY_ROWS: usize = 10_000;

/// Bytes of the app's own tables that are read at once: they are copied on their way to Kotlin and Swift.
pub const QUERY_BYTES: usize = 16 * 1024 * 1024;
