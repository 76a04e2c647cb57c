//! Clocks that lie: jumps by years, reboots, gaps, steps of NTP, boots without a name. What is waited for is
//! measured in true time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{
    Clock, Entropy, Executor, Fault, Limits, Outbox, OutboxConfig, Seams, Submission, SubmissionId,
    SubmissionState, Transport, WireRequest,
};

use crate::common::attack::Attack;
use crate::common::sim::{Play, SimClock, SimExecutor, World, created, simulate, status_with};
use crate::device::fresh_folder;
use crate::dice::Dice;

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// What the server of each submission does until the end.
const HOSTS: [&str; 5] = ["done", "lost", "asked", "refused", "silent"];

/// What is known of one submission's requests, in true time.
#[derive(Default)]
struct Sent {
    first: Option<i64>,
    /// Nothing may be sent before.
    floor: i64,
    times: u64,
    /// Since that was set the wall clock went ahead, and another boot began: then what is left of a wait
    /// can't be known.
    ahead: bool,
    another_boot: bool,
}

#[derive(Default)]
struct Watch {
    sent: BTreeMap<String, Sent>,
    calm: bool,
    broken: Vec<String>,
}

impl Watch {
    /// A request is sent: was it time? Gives what becomes of it.
    fn send(&mut self, host: &str, now: i64) -> Play {
        let calm = self.calm;
        let sent = self.sent.entry(host.to_owned()).or_default();
        sent.times += 1;
        if now < sent.floor && !(sent.ahead && sent.another_boot) {
            let early = sent.floor - now;
            self.broken
                .push(format!("{host} was sent {early} ms early"));
        }
        let first = *sent.first.get_or_insert(now);
        if matches!(host, "lost" | "silent") && now >= first + DAY {
            self.broken
                .push(format!("{host} was sent when its key was forgotten"));
        }
        let (play, wait) = match host {
            "lost" if !calm => {
                let lost = Play::Fail {
                    after: Duration::from_millis(50),
                    sent: true,
                    fault: Fault::Lost,
                };
                (lost, 15 * SECOND)
            }
            "asked" if sent.times == 1 => (status_with(429, "retry-after", "600"), 600 * SECOND),
            "refused" if !calm => {
                let refused = Play::Fail {
                    after: Duration::from_millis(50),
                    sent: false,
                    fault: Fault::Unreachable,
                };
                (refused, SECOND)
            }
            "silent" if sent.times == 1 => (Play::Silence, 15 * SECOND),
            _ => (created(), 0),
        };
        sent.floor = now + wait;
        sent.ahead = false;
        sent.another_boot = false;
        play
    }
}

struct Script {
    world: World,
    config: OutboxConfig,
    outbox: Arc<Outbox>,
    dice: Dice,
    watch: Arc<Mutex<Watch>>,
    said: Vec<String>,
}

fn open(world: &World, config: &OutboxConfig) -> Arc<Outbox> {
    let seams = Seams {
        clock: Some(Arc::clone(&world.clock) as Arc<dyn Clock>),
        entropy: Some(Arc::clone(&world.entropy) as Arc<dyn Entropy>),
        executor: Some(Arc::new(SimExecutor) as Arc<dyn Executor>),
        transport: Some(Arc::clone(&world.network) as Arc<dyn Transport>),
        vfs: None,
        apart: true,
    };
    Outbox::open_with(config.clone(), seams).unwrap()
}

impl Script {
    async fn event(&mut self) {
        let clock = Arc::clone(&self.world.clock);
        match self.dice.below(9) {
            0..=1 => {
                let by = *self.dice.pick(&[10 * YEAR, YEAR, 40 * DAY]);
                let by = if self.dice.one_in(2) { by } else { -by };
                self.set_wall(by);
            }
            // Steps of NTP: in all less than the margin of a key's lifetime.
            2 => {
                let by = self.dice.between(1, 60) as i64 * SECOND;
                let by = if self.dice.one_in(2) { by } else { -by };
                self.set_wall(by);
            }
            3 => self.reopen(true).await,
            4 => self.reopen(false).await,
            5 => {
                let most = *self.dice.pick(&[100, 7_200, 40_000]);
                let gap = Duration::from_secs(self.dice.between(1, most));
                self.said.push(format!("gap {gap:?}"));
                clock.sleep_device(gap);
            }
            _ => {}
        }
        let most = *self.dice.pick(&[3_000, 60_000, 600_000]);
        let pass = Duration::from_millis(self.dice.between(1, most));
        self.said.push(format!("pass {pass:?}"));
        tokio::time::sleep(pass).await;
        self.outbox.retain().unwrap();
    }

    fn set_wall(&mut self, by: i64) {
        self.said.push(format!("wall {by}"));
        self.world.clock.set_wall_by(by);
        for sent in self.watch.lock().unwrap().sent.values_mut() {
            sent.ahead |= by > 0;
        }
    }

    async fn reopen(&mut self, reboots: bool) {
        self.said.push(format!("reopen, reboot {reboots}"));
        self.outbox.close();
        if reboots {
            let off = self.dice.between(20, 300);
            self.world.clock.sleep_device(Duration::from_secs(off));
            self.world.clock.reboot();
        }
        let named = self.world.clock.names_boots.load(Ordering::SeqCst);
        for sent in self.watch.lock().unwrap().sent.values_mut() {
            sent.another_boot |= reboots || !named;
        }
        self.outbox = open(&self.world, &self.config);
        self.outbox.start().unwrap();
    }
}

fn host_of(request: &WireRequest) -> String {
    let host = request.url.split('/').nth(2).unwrap();
    host.split('.').next().unwrap().to_owned()
}

fn submit(outbox: &Outbox) -> Vec<SubmissionId> {
    HOSTS
        .iter()
        .map(|host| {
            let id = outbox.begin((*host).to_owned()).unwrap();
            let url = format!("https://{host}.example.com/orders");
            outbox
                .submit(Submission::post(id, &url).json("{}"))
                .unwrap();
            id
        })
        .collect()
}

/// One clock, and five submissions under it. Gives what broke, and after which events.
fn script(seed: u64) -> Option<String> {
    let broken = Arc::new(Mutex::new(None));
    let out = Arc::clone(&broken);
    simulate(seed, |world| async move {
        let folder = fresh_folder();
        let mut dice = Dice::new(seed);
        world
            .clock
            .names_boots
            .store(!dice.one_in(4), Ordering::SeqCst);
        let watch = Arc::new(Mutex::new(Watch::default()));
        let (watching, clock): (_, Arc<SimClock>) = (Arc::clone(&watch), Arc::clone(&world.clock));
        world.network.always(move |request| {
            watching
                .lock()
                .unwrap()
                .send(&host_of(request), clock.elapsed())
        });
        let path = folder.path().join("outbox.sqlite3");
        let config = OutboxConfig::at(path.to_str().unwrap()).limits(Limits::default());
        let outbox = open(&world, &config);
        let ids = submit(&outbox);
        outbox.start().unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut script = Script {
            world,
            config,
            outbox,
            dice,
            watch,
            said: Vec::new(),
        };
        for _ in 0..6 {
            script.event().await;
        }
        script.watch.lock().unwrap().calm = true;
        // The longest wait, jittered; then a second one, of a submission that was on the wire.
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let mut all = std::mem::take(&mut script.watch.lock().unwrap().broken);
        for (id, host) in ids.iter().zip(HOSTS) {
            let snapshot = script.outbox.snapshot(*id).unwrap();
            let held = matches!(snapshot.state, SubmissionState::Held { .. });
            let doubtful = matches!(host, "lost" | "silent");
            if snapshot.state != SubmissionState::Succeeded && !(held && doubtful) {
                all.push(format!("{host} waits too long: {snapshot:?}"));
            }
            if host == "done"
                && snapshot
                    .outcome
                    .is_none_or(|outcome| outcome.body.is_none())
            {
                all.push("the result was forgotten early".to_owned());
            }
        }
        script.outbox.close();
        if !all.is_empty() {
            *out.lock().unwrap() = Some(format!("{all:#?} after {:?}", script.said));
        }
    });
    broken.lock().unwrap().take()
}

/// V15: time may delay or hasten an attempt; it never loses, finishes or doubles one.
#[test]
fn the_clocks() {
    let attack = Attack::begin("V15", "clocks");
    let each = HOSTS.len() as u64;
    let worlds = attack.count(10_000 / each);
    let next = AtomicU64::new(0);
    let broken = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= worlds || !broken.lock().unwrap().is_empty() {
                        return;
                    }
                    let seed = attack.seed() + number;
                    if let Some(words) = script(seed) {
                        broken.lock().unwrap().insert(seed, words);
                    }
                }
            });
        }
    });
    if let Some((seed, words)) = broken.lock().unwrap().first_key_value() {
        panic!(
            "seed {seed}: {words}\nrun it again: SUBMIT_ONCE_SEED={seed} cargo test --test simulation \
             the_clocks"
        );
    }
    attack.report(&format!(
        "{} scripts, {worlds} clocks, 0 broken",
        worlds * each
    ));
}

#[test]
fn waits_that_the_clock_cuts_short_are_noticed() {
    let mut watch = Watch::default();
    watch.send("asked", 0);
    watch.send("asked", 599_999);
    assert_eq!(watch.broken, ["asked was sent 1 ms early"]);
    let mut old = Watch::default();
    old.send("lost", 0);
    old.send("lost", DAY);
    assert_eq!(old.broken, ["lost was sent when its key was forgotten"]);
}
