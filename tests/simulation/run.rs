//! One simulation: a seed, and so many steps of the app, its device and its server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use submit_once::{DrainBudget, NetworkKind, OutboxConfig};
use submit_once_reference_server::history::Event;

use crate::app::App;
use crate::common::sim::simulate;
use crate::coverage::{Reached, counting};
use crate::device::Device;
use crate::dice::Dice;
use crate::kinds::setting;
use crate::log::Log;
use crate::server::Server;
use crate::wire::Net;

/// Steps of a whole simulation.
pub const STEPS: u64 = 200;

/// What came of a simulation.
pub struct Ran {
    pub hash: String,
    pub lines: Vec<String>,
    /// What it broke.
    pub broken: Vec<String>,
    pub reached: BTreeSet<Reached>,
}

/// Runs a seed.
pub fn run(seed: u64, steps: u64) -> Ran {
    let ran = Arc::new(Mutex::new(None));
    let out = Arc::clone(&ran);
    let reached = counting(|| {
        simulate(seed, |world| async move {
            let mut dice = Dice::new(seed);
            let setting = setting(seed, &mut dice);
            let log = Log::new(&world.clock);
            world
                .clock
                .names_boots
                .store(setting.names_boots, Ordering::SeqCst);
            let mut config = OutboxConfig::at("")
                .base_url("https://api.example.com")
                .profile(setting.profile.clone())
                .limits(setting.limits.clone());
            config.install_id = Some("device".to_owned());
            log.say(format_args!("seed {seed}: {}", setting.profile.name));
            let server = Server::new(setting, &world.clock, &log, Dice::new(dice.next()));
            let net = Net::new(server, &world.clock, &log);
            let mut app = App {
                device: Device::new(&world, &net, config),
                dice,
                log: Arc::clone(&log),
                known: Vec::new(),
                account: None,
                tokens: BTreeMap::new(),
                generation: 0,
                made: 0,
                batches_spoilt: false,
                damaged: false,
                appended: Vec::new(),
            };
            app.device.open().unwrap();
            app.device.app().outbox.start().unwrap();
            for _ in 0..steps {
                app.step().await;
            }
            app.finish().await;
            *out.lock().unwrap() = Some((log.hash(), log.lines(), log.judge()));
        });
    });
    let (hash, lines, broken) = ran.lock().unwrap().take().unwrap();
    Ran {
        hash,
        lines,
        broken,
        reached,
    }
}

#[derive(Clone, Copy)]
enum Act {
    Submit,
    SubmitAll,
    SubmitAgain,
    Append,
    Pass(u64),
    Cancel,
    Wake,
    Resolve,
    ResolveAll,
    ReleaseLanes,
    Look,
    List,
    Wait,
    Drain,
    Start,
    Suspend,
    Network,
    SignIn,
    SignOut,
    Revoke,
    Refresh,
    Reopen,
    Crash,
    Reboot,
    Second,
    Freeze,
    Clock,
    Sleep,
    Disk,
    Mend,
    Restore,
    Damage,
    Retain,
}

const ACTS: &[(u64, Act)] = &[
    (300, Act::Submit),
    (15, Act::SubmitAll),
    (60, Act::SubmitAgain),
    (40, Act::Append),
    (150, Act::Pass(2_000)),
    (100, Act::Pass(30_000)),
    (50, Act::Pass(600_000)),
    (16, Act::Pass(20_000_000)),
    (50, Act::Cancel),
    (30, Act::Wake),
    (50, Act::Resolve),
    (8, Act::ResolveAll),
    (10, Act::ReleaseLanes),
    (40, Act::Look),
    (20, Act::List),
    (8, Act::Wait),
    (25, Act::Drain),
    (40, Act::Start),
    (10, Act::Suspend),
    (20, Act::Network),
    (25, Act::SignIn),
    (6, Act::SignOut),
    (6, Act::Revoke),
    (12, Act::Refresh),
    (4, Act::Reopen),
    (6, Act::Crash),
    (4, Act::Reboot),
    (6, Act::Second),
    (12, Act::Freeze),
    (10, Act::Clock),
    (10, Act::Sleep),
    (6, Act::Disk),
    (12, Act::Mend),
    (1, Act::Restore),
    (6, Act::Damage),
    (5, Act::Retain),
];

impl App {
    async fn step(&mut self) {
        if self
            .device
            .processes
            .iter()
            .all(|process| process.life.is_frozen())
        {
            self.thaw();
        }
        match self.dice.weighted(ACTS) {
            Act::Submit => self.submit(),
            Act::SubmitAll => self.submit_all(),
            Act::SubmitAgain => self.submit_again(),
            Act::Append => self.append(),
            Act::Pass(most) => {
                let millis = self.dice.between(1, most);
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            Act::Cancel => self.cancel(),
            Act::Wake => self.wake(),
            Act::Resolve => self.resolve(),
            Act::ResolveAll => self.resolve_all(),
            Act::ReleaseLanes => self.release_lanes(),
            Act::Look => self.look(),
            Act::List => self.list(),
            Act::Wait => self.wait(),
            Act::Drain => self.drain(),
            Act::Start => {
                let (outbox, by) = self.process();
                let started = outbox.start();
                self.heard(&format!("start {by}"), &started);
            }
            Act::Suspend => {
                let (outbox, by) = self.process();
                let suspended = outbox.suspend();
                self.heard(&format!("suspend {by}"), &suspended);
            }
            Act::Network => {
                let kinds = [
                    NetworkKind::Offline,
                    NetworkKind::Metered,
                    NetworkKind::Unmetered,
                ];
                let kind = *self.dice.pick(&kinds);
                let (outbox, by) = self.process();
                let told = outbox.network_available(kind);
                self.heard(&format!("{by} has a network: {kind:?}"), &told);
            }
            Act::SignIn => self.sign_in(),
            Act::SignOut => self.sign_out(),
            Act::Revoke => self.revoke(),
            Act::Refresh => self.refresh(),
            Act::Reopen => self.reopen(),
            Act::Crash => self.crash(),
            Act::Reboot => {
                self.kill();
                let time = self.dice.between(20, 300);
                self.device.net.device_sleeps(Duration::from_secs(time));
                self.device.world.clock.reboot();
                self.say("reboot");
                self.boot();
            }
            Act::Second if self.device.processes.len() == 1 => {
                let opened = self.device.open().is_ok();
                self.say(format_args!("a second process: {opened}"));
                if let (true, Some(second)) = (opened, self.device.processes.get(1)) {
                    drop(second.outbox.start());
                }
            }
            Act::Second => {
                self.say("the second process ends");
                self.device.close(1);
            }
            Act::Freeze => {
                if self
                    .device
                    .processes
                    .iter()
                    .any(|process| process.life.is_frozen())
                {
                    self.thaw();
                } else {
                    let process = self.dice.pick(&self.device.processes);
                    process.life.freeze();
                    let number = process.number;
                    self.stands_still(number);
                }
            }
            Act::Clock => self.set_clock(),
            Act::Sleep => {
                let most = *self.dice.pick(&[30, 600, 30_000]);
                let time = self.dice.between(1, most);
                self.say(format_args!("the device sleeps for {time} s"));
                for number in self.device.processes.iter().map(|process| process.number) {
                    self.stands_still(number);
                }
                self.device.net.device_sleeps(Duration::from_secs(time));
            }
            Act::Disk => {
                let disk = self.device.disk();
                let fault = self.dice.below(3);
                self.say(format_args!("disk fault {fault}"));
                match fault {
                    0 => disk.full.store(true, Ordering::SeqCst),
                    1 => disk.fails_sync.store(true, Ordering::SeqCst),
                    _ => disk.unreachable.store(true, Ordering::SeqCst),
                }
            }
            Act::Mend => self.mend(),
            Act::Restore => {
                // The device is another one, as far as it can tell.
                self.device.config.install_id = Some(format!("device {}", self.made));
                self.say("another installation");
                self.kill();
                self.boot();
            }
            Act::Damage => self.damage(),
            Act::Retain => {
                let (outbox, _) = self.process();
                let more = outbox.retain();
                self.heard("retain", &more);
            }
        }
    }

    /// Its requests may outlive their leases.
    fn stands_still(&self, number: u64) {
        self.device.net.server().freezes += 1;
        self.log.note(Event::Frozen {
            by: format!("p{number}"),
        });
    }

    fn thaw(&self) {
        for process in &self.device.processes {
            process.life.thaw();
        }
        self.say("all run again");
    }

    pub fn mend(&self) {
        let disk = self.device.disk();
        for fault in [&disk.full, &disk.fails_sync, &disk.unreachable] {
            fault.store(false, Ordering::SeqCst);
        }
    }

    fn set_clock(&mut self) {
        const HOUR: i64 = 3_600_000;
        if !self.device.world.clock.names_boots.load(Ordering::SeqCst) {
            // Then a wait of another process goes by the wall clock alone.
            self.device.net.device_sleeps(Duration::from_secs(30));
        }
        let by = *self
            .dice
            .pick(&[HOUR, 25 * HOUR, 9_000 * HOUR, 88_000 * HOUR]);
        let by = if self.dice.one_in(2) { by } else { -by };
        self.device.world.clock.set_wall_by(by);
        self.say(format_args!("the wall clock is set by {by} ms"));
    }

    fn reopen(&mut self) {
        while !self.device.processes.is_empty() {
            self.device.close(0);
        }
        self.say("closed in order");
        self.boot();
    }

    fn crash(&mut self) {
        self.kill();
        self.boot();
    }

    fn kill(&mut self) {
        self.log.note(Event::Crashed { by: None });
        self.device.crash();
    }

    fn boot(&mut self) {
        if let Err(error) = self.device.open() {
            let text = format!("{error:?}");
            self.say(format_args!(
                "not opened: {}",
                text.split(' ').next().unwrap_or_default()
            ));
            self.mend();
            if let Err(error) = self.device.open() {
                self.log
                    .broken(format_args!("not opened on a sound disk: {error:?}"));
            }
        }
        let report = self.device.app().outbox.open_report();
        self.say(format_args!(
            "opened: lost {} restored {}",
            report.lost_changes, report.restored
        ));
        if report.lost_changes != 0 || report.salvaged.is_some() {
            self.log.broken(format_args!("a loss: {report:?}"));
        }
        if self.dice.one_in(2) {
            drop(self.device.app().outbox.start());
        }
        self.list();
    }

    fn drain(&mut self) {
        let (outbox, by) = self.process();
        let budget = DrainBudget {
            ends_with_caller: self.dice.one_in(4),
            ..DrainBudget::of(Duration::from_secs(self.dice.between(1, 300)))
        };
        let log = Arc::clone(&self.log);
        log.say(format_args!("drain {by} {budget:?}"));
        drop(tokio::spawn(async move {
            let report = outbox.drain(budget).await;
            log.say(format_args!("drained {by} {:?}", report.ok()));
        }));
    }

    fn wait(&mut self) {
        let Some(which) = self.pick() else { return };
        let id = self.known[which].id;
        let (outbox, by) = self.process();
        let log = Arc::clone(&self.log);
        drop(tokio::spawn(async move {
            let waited = outbox.wait(id, Duration::from_secs(40)).await;
            let state = waited.map(|waited| format!("{waited:?}"));
            let state = state.unwrap_or_default();
            log.say(format_args!(
                "{by} waited for {id}: {}",
                state.split(' ').next().unwrap_or_default()
            ));
        }));
    }

    /// A bit flips on the disk, or somebody deletes a file.
    fn damage(&mut self) {
        if self.device.disk().unreachable.load(Ordering::SeqCst) {
            return;
        }
        if self.dice.one_in(2) {
            let folder = self.device.folder.path().join("outbox.sqlite3-bodies");
            let Ok(entries) = std::fs::read_dir(folder) else {
                return;
            };
            let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            files.sort();
            if !files.is_empty() {
                let file = self.dice.pick(&files);
                std::fs::remove_file(file).unwrap();
                self.say("a body is gone");
            }
            return;
        }
        let Some(which) = self.pick() else { return };
        let id = self.known[which].id;
        let (table, column) = match self.known[which].submission {
            Some(_) => ("request", "method"),
            None => ("record", "body"),
        };
        let sql = rusqlite::Connection::open(self.device.database()).unwrap();
        sql.busy_timeout(Duration::from_secs(5)).unwrap();
        let trigger: String = sql
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE name = ?1",
                [format!("{table}_frozen")],
                |row| row.get(0),
            )
            .unwrap();
        let key = if table == "record" { "batch" } else { "seq" };
        let hex = id.to_string().replace('-', "");
        sql.execute_batch(&format!(
            "BEGIN IMMEDIATE; DROP TRIGGER {table}_frozen;
             UPDATE {table} SET {column} = {column} || 'X' WHERE {key} =
                (SELECT seq FROM submission WHERE id = x'{hex}' AND settled_wall IS NULL);
             {trigger}; COMMIT"
        ))
        .unwrap();
        self.damaged = true;
        self.say(format_args!("{id} is damaged"));
    }
}
