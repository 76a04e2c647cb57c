//! The real core in a simulated world: paused time, seeded randomness, a scripted network and one
//! thread. The same seed gives the same trace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    BoxFuture, Clock, Entropy, Exchange, Executor, Fault, Header, Now, Outbox, OutboxConfig, Seams,
    Transport, UptimeMs, WallMs, WireAnswer, WireRequest,
};
use tokio::time::Instant;

use super::Place;

/// A wall time in 2025, far from every epoch.
pub const BIRTH: i64 = 1_750_000_000_000;

/// The simulated outside world of one device.
#[derive(Clone)]
pub struct World {
    pub clock: Arc<SimClock>,
    pub network: Arc<SimNetwork>,
    pub entropy: Arc<SimEntropy>,
    pub vfs: Option<String>,
}

/// Runs a test body on one thread, with time paused: it jumps to the next timer when nothing else
/// can run.
pub fn simulate<F: Future<Output = ()>>(seed: u64, body: impl FnOnce(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async move {
        let clock = Arc::new(SimClock::new());
        let world = World {
            network: Arc::new(SimNetwork::new(&clock)),
            clock,
            entropy: Arc::new(SimEntropy::new(seed)),
            vfs: None,
        };
        body(world).await;
    });
}

impl World {
    pub fn seams(&self) -> Seams {
        Seams {
            clock: Some(Arc::clone(&self.clock) as Arc<dyn Clock>),
            entropy: Some(Arc::clone(&self.entropy) as Arc<dyn Entropy>),
            executor: Some(Arc::new(SimExecutor)),
            transport: Some(Arc::clone(&self.network) as Arc<dyn Transport>),
            vfs: self.vfs.clone(),
            apart: false,
        }
    }

    /// Opens the same file once more, as another process would.
    pub fn open_apart(&self, place: &Place) -> Arc<Outbox> {
        self.open_apart_with(self.config(place))
    }

    pub fn open_apart_with(&self, config: OutboxConfig) -> Arc<Outbox> {
        let seams = Seams {
            apart: true,
            ..self.seams()
        };
        Outbox::open_with(config, seams).unwrap()
    }

    pub fn config(&self, place: &Place) -> OutboxConfig {
        OutboxConfig::at(place.path()).base_url("https://api.example.com")
    }

    pub fn open(&self, place: &Place) -> Arc<Outbox> {
        self.open_with(self.config(place))
    }

    pub fn open_with(&self, config: OutboxConfig) -> Arc<Outbox> {
        Outbox::open_with(config, self.seams()).unwrap()
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// Uptime from tokio's paused clock; a wall clock that can be set; boots.
pub struct SimClock {
    start: Instant,
    wall_offset: AtomicI64,
    boot_offset: AtomicI64,
    boot: AtomicU64,
    slept: AtomicI64,
    pub names_boots: AtomicBool,
}

impl SimClock {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            wall_offset: AtomicI64::new(BIRTH),
            // A device that has been up for a day.
            boot_offset: AtomicI64::new(86_400_000),
            boot: AtomicU64::new(1),
            slept: AtomicI64::new(0),
            names_boots: AtomicBool::new(true),
        }
    }

    /// The true time since the beginning, in milliseconds: whatever the device believes.
    pub fn elapsed(&self) -> i64 {
        let awake = i64::try_from(self.start.elapsed().as_millis()).unwrap();
        awake + self.slept.load(Ordering::SeqCst)
    }

    /// The device sleeps: time passes, and timers stand still.
    pub fn sleep_device(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).unwrap();
        self.slept.fetch_add(millis, Ordering::SeqCst);
    }

    /// What a server's `Date` says: the true time, whatever the device believes.
    pub fn date(&self) -> String {
        let millis = u64::try_from(BIRTH + self.elapsed()).unwrap();
        httpdate::fmt_http_date(std::time::UNIX_EPOCH + Duration::from_millis(millis))
    }

    /// Somebody sets the wall clock, forward or back.
    pub fn set_wall_by(&self, millis: i64) {
        self.wall_offset.fetch_add(millis, Ordering::SeqCst);
    }

    /// The device restarts: another boot, an uptime from zero.
    pub fn reboot(&self) {
        self.boot.fetch_add(1, Ordering::SeqCst);
        self.boot_offset.store(-self.elapsed(), Ordering::SeqCst);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Now {
        Now {
            wall: WallMs(self.elapsed() + self.wall_offset.load(Ordering::SeqCst)),
            uptime: UptimeMs(self.elapsed() + self.boot_offset.load(Ordering::SeqCst)),
            boot: self
                .names_boots
                .load(Ordering::SeqCst)
                .then(|| format!("boot-{}", self.boot.load(Ordering::SeqCst))),
        }
    }
}

/// SplitMix64.
pub struct SimEntropy(AtomicU64);

impl SimEntropy {
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    pub fn next(&self) -> u64 {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self
            .0
            .fetch_add(GOLDEN, Ordering::SeqCst)
            .wrapping_add(GOLDEN);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Entropy for SimEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// Everything on the runtime of the test's thread.
pub struct SimExecutor;

impl Executor for SimExecutor {
    fn spawn(&self, future: BoxFuture<()>) {
        drop(tokio::spawn(future));
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn blocking(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

/// What the network does with one request.
#[derive(Clone, Debug)]
pub enum Play {
    /// Answers after a while.
    Answer(Duration, WireAnswer),
    /// Fails after a while; before a byte was sent if `sent` is false.
    Fail {
        after: Duration,
        sent: bool,
        fault: Fault,
    },
    /// Sends and never reports.
    Silence,
    /// Gives the exchange to the test, confirmed or not.
    HandOver { confirm: bool },
}

/// One request that reached the network.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Duration,
    pub request: WireRequest,
    pub sent: bool,
}

type Rule = Box<dyn Fn(&WireRequest) -> Play + Send>;

/// A scripted network: plays in order, then the rule, then success. Its servers tell the time.
pub struct SimNetwork {
    clock: Arc<SimClock>,
    plays: Mutex<VecDeque<Play>>,
    rule: Mutex<Option<Rule>>,
    seen: Mutex<Vec<Seen>>,
    held: Mutex<VecDeque<Exchange>>,
    start: Mutex<Option<Instant>>,
}

impl SimNetwork {
    fn new(clock: &Arc<SimClock>) -> Self {
        Self {
            clock: Arc::clone(clock),
            plays: Mutex::default(),
            rule: Mutex::default(),
            seen: Mutex::default(),
            held: Mutex::default(),
            start: Mutex::default(),
        }
    }

    pub fn play(&self, plays: impl IntoIterator<Item = Play>) {
        self.plays.lock().unwrap().extend(plays);
    }

    pub fn always(&self, rule: impl Fn(&WireRequest) -> Play + Send + 'static) {
        *self.rule.lock().unwrap() = Some(Box::new(rule));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Requests that left.
    pub fn sent(&self) -> usize {
        self.seen().iter().filter(|seen| seen.sent).count()
    }

    /// The oldest exchange that was handed over.
    pub fn take(&self) -> Exchange {
        self.held.lock().unwrap().pop_front().unwrap()
    }

    pub fn held(&self) -> usize {
        self.held.lock().unwrap().len()
    }

    fn note(&self, request: &WireRequest, sent: bool) {
        let start = *self.start.lock().unwrap().get_or_insert_with(Instant::now);
        self.seen.lock().unwrap().push(Seen {
            at: start.elapsed(),
            request: request.clone(),
            sent,
        });
    }

    fn next_play(&self, request: &WireRequest) -> Play {
        if let Some(play) = self.plays.lock().unwrap().pop_front() {
            return play;
        }
        match &*self.rule.lock().unwrap() {
            Some(rule) => rule(request),
            None => created(),
        }
    }
}

impl Transport for SimNetwork {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        match self.next_play(&request) {
            Play::Answer(after, answer) => {
                let sent = exchange.confirm();
                self.note(&request, sent);
                if !sent {
                    exchange.failed(Fault::NotSent);
                    return;
                }
                let clock = Arc::clone(&self.clock);
                drop(tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    let mut answer = answer;
                    answer.headers.push(header("date", &clock.date()));
                    exchange.answered(answer);
                }));
            }
            Play::Fail { after, sent, fault } => {
                let sent = sent && exchange.confirm();
                self.note(&request, sent);
                drop(tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    exchange.failed(fault);
                }));
            }
            Play::Silence => {
                let sent = exchange.confirm();
                self.note(&request, sent);
                self.held.lock().unwrap().push_back(exchange);
            }
            Play::HandOver { confirm } => {
                let sent = confirm && exchange.confirm();
                self.note(&request, sent);
                self.held.lock().unwrap().push_back(exchange);
            }
        }
    }
}

/// The keys of the requests that the network has seen, after so many.
pub fn keys(world: &World, after: usize) -> Vec<String> {
    let seen = world.network.seen();
    let key = |header: &&Header| header.name == "idempotency-key";
    seen[after..]
        .iter()
        .map(|seen| seen.request.headers.iter().find(key).unwrap().value.clone())
        .collect()
}

/// A JSON answer.
pub fn answer(status: u16, body: &str) -> WireAnswer {
    WireAnswer {
        status,
        headers: vec![header("content-type", "application/json")],
        body: body.as_bytes().to_vec(),
        complete: true,
    }
}

pub fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// 201 after 50 ms.
pub fn created() -> Play {
    status(201)
}

/// A status after 50 ms.
pub fn status(status: u16) -> Play {
    Play::Answer(Duration::from_millis(50), answer(status, r#"{"n":1}"#))
}

/// 201 to every request, after so long.
pub fn takes(seconds: u64) -> impl Fn(&WireRequest) -> Play {
    move |_| Play::Answer(Duration::from_secs(seconds), answer(201, "{}"))
}

/// A status with a header.
pub fn status_with(code: u16, name: &str, value: &str) -> Play {
    let mut answer = answer(code, "{}");
    answer.headers.push(header(name, value));
    Play::Answer(Duration::from_millis(50), answer)
}

/// The bytes left, then the connection broke.
pub fn lost() -> Play {
    Play::Fail {
        after: Duration::from_millis(50),
        sent: true,
        fault: Fault::Lost,
    }
}

/// Nothing could be sent.
pub fn unreachable() -> Play {
    Play::Fail {
        after: Duration::from_millis(50),
        sent: false,
        fault: Fault::Unreachable,
    }
}

/// A drain of an hour.
pub async fn drain(outbox: &Outbox) -> submit_once::DrainReport {
    outbox
        .drain(submit_once::DrainBudget::of(Duration::from_secs(3_600)))
        .await
        .unwrap()
}

/// An order of its own kind, under an ID from a slot.
pub fn order(outbox: &Outbox, slot: &str) -> submit_once::Submission {
    let id = outbox.begin(slot.to_owned()).unwrap();
    submit_once::Submission::post(id, "/orders").json(format!(r#"{{"order":"{slot}"}}"#))
}
