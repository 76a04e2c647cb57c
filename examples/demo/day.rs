//! The day, in four phases.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use submit_once::Waited;
use submit_once_reference_server::{Behaviour, Faults, Matcher, ReferenceServer};

use crate::app::{App, Replay};
use crate::dice::Dice;
use crate::failure::{Failure, trouble};
use crate::screen::Screen;
use crate::worker::Crew;

/// When the app leaves the screen at the latest.
const MORNING: Duration = Duration::from_secs(3);

/// Kills in the second phase, if the first so many suffice for [`ON_WIRE`].
const ROUNDS: usize = 12;
const MOST_ROUNDS: usize = 30;

/// Kills with a request at the server that the second phase goes on for.
const ON_WIRE: u64 = 7;

/// The airplane mode's length.
const OFFLINE: Duration = Duration::from_millis(1_500);

/// How long a worker's request is waited for.
const REQUEST: Duration = Duration::from_secs(1);

/// When settling is given up, and this much more for each order.
const SETTLE: Duration = Duration::from_secs(60);
const SETTLE_EACH: Duration = Duration::from_millis(50);

/// One order in this many is slow the first time.
const SLOW: u64 = 8;

/// What the server does wrong, at random.
pub fn faults() -> Faults {
    Faults {
        commit_then_drop: 0.20,
        unavailable_503_retry_after: 0.10,
        retry_after_seconds: 1,
        late: 0.10,
        // Some exceed the request timeout of two seconds.
        late_max_ms: 2_200,
        error_500_after_effect: 0.05,
        half: 0.0,
    }
}

pub fn print_faults() {
    let faults = faults();
    println!("the server, in each hundred requests:");
    for (share, what) in [
        (faults.commit_then_drop, "take effect, then lose the answer"),
        (
            faults.unavailable_503_retry_after,
            "refused with 503 and Retry-After",
        ),
        (faults.late, "take effect, then answer late"),
        (
            faults.error_500_after_effect,
            "take effect, then answer 500",
        ),
    ] {
        println!("  {:>3.0} {what}", share * 100.0);
    }
    println!(
        "  and one order in {SLOW} is worked on for a while before its effect, the first time"
    );
}

fn counted(orders: &Range<usize>) -> String {
    match orders.len() {
        1 => "1 order".to_owned(),
        n => format!("{n} orders"),
    }
}

pub struct Day<'a> {
    pub app: &'a App,
    pub server: &'a ReferenceServer,
    pub screen: &'a Screen,
}

impl Day<'_> {
    /// Lives the day to its end. Returns the results that taps met.
    pub fn live(&self, crew: &mut Crew<'_>, dice: &mut Dice) -> Result<Vec<Replay>, Failure> {
        let orders = self.app.entries.len();
        let (noon, evening) = (orders * 35 / 100, orders * 80 / 100);
        self.morning(0..noon, crew, dice)?;
        self.background(noon..evening, crew, dice)?;
        self.airplane(evening..orders, crew, dice)?;
        self.settle(crew)?;
        Ok(self.app.take_replays())
    }

    fn morning(
        &self,
        orders: Range<usize>,
        crew: &mut Crew<'_>,
        dice: &mut Dice,
    ) -> Result<(), Failure> {
        self.screen.phase(&format!(
            "phase 1: {} tapped; the app in the foreground and the worker deliver at once",
            counted(&orders)
        ));
        self.foreground(true)?;
        crew.start()?;
        let noon = orders.len();
        self.while_tapping(orders, dice, |dice| {
            for _ in 0..2 {
                self.kill_at_random(crew, dice)?;
                crew.start()?;
            }
            Ok(())
        })?;
        // A good part is delivered by both before the app leaves the screen.
        let most = noon * 2 / 3;
        self.server.wait_for(
            |records| records.iter().filter(|record| record.made_effect()).count() >= most,
            MORNING,
        );
        self.screen.standing();
        Ok(())
    }

    fn background(
        &self,
        orders: Range<usize>,
        crew: &mut Crew<'_>,
        dice: &mut Dice,
    ) -> Result<(), Failure> {
        self.screen.phase(&format!(
            "phase 2: the app is suspended and takes taps only, {} more; the worker delivers and is \
             killed over and over",
            counted(&orders)
        ));
        self.foreground(false)?;
        let batch = orders.len().div_ceil(ROUNDS);
        let mut rest = orders;
        for round in 0..MOST_ROUNDS {
            if round >= ROUNDS && crew.count().killed_with_request_on_wire >= ON_WIRE {
                break;
            }
            let next = rest.start..rest.end.min(rest.start + batch);
            rest.start = next.end;
            let idle = next.is_empty() && !self.moving()?;
            if round >= ROUNDS && idle {
                break;
            }
            self.while_tapping(next, dice, |dice| {
                if round % 4 == 3 || idle {
                    return self.kill_at_random(crew, dice);
                }
                // Just started, or in full swing.
                thread::sleep(dice.millis(0, 200));
                // Rather a request that the server stands over, else any.
                if crew.wait_for_slow_request(REQUEST) || crew.wait_for_request(REQUEST) {
                    // Before the effect or after it, as it falls.
                    thread::sleep(dice.millis(0, 60));
                }
                self.screen.line(&crew.kill()?);
                Ok(())
            })?;
            crew.start()?;
        }
        self.screen.standing();
        Ok(())
    }

    fn airplane(
        &self,
        orders: Range<usize>,
        crew: &mut Crew<'_>,
        dice: &mut Dice,
    ) -> Result<(), Failure> {
        self.screen.phase(&format!(
            "phase 3: airplane mode with the app in the foreground; the last {} tapped",
            counted(&orders)
        ));
        self.server.go_offline();
        let landing = Instant::now() + OFFLINE;
        self.foreground(true)?;
        self.while_tapping(orders, dice, |dice| self.kill_at_random(crew, dice))?;
        crew.start()?;
        thread::sleep(landing.saturating_duration_since(Instant::now()));
        self.server
            .go_online()
            .map_err(|error| trouble("the server did not come back", error))?;
        self.screen.standing();
        Ok(())
    }

    fn settle(&self, crew: &mut Crew<'_>) -> Result<(), Failure> {
        self.screen
            .phase("phase 4: the network is back; everything settles");
        let orders = u32::try_from(self.app.entries.len()).unwrap_or(u32::MAX);
        let deadline = Instant::now() + SETTLE + SETTLE_EACH * orders;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| trouble("no runtime", error))?;
        for id in self.app.entries.iter().filter_map(|entry| entry.id()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = runtime
                .block_on(self.app.outbox.wait(id, left))
                .map_err(|error| trouble(&format!("waiting for submission {id}"), error))?;
            match waited {
                // Neither is an end; the verdict will name them.
                Waited::Settled { .. } | Waited::Held { .. } | Waited::TimedOut { .. } => {}
            }
        }
        crew.dismiss()?;
        self.screen.standing();
        self.screen
            .line("  every button is tapped once more: the result is replayed, nothing is sent");
        self.app.tap_all_again()
    }

    /// Starts or stops the delivery of the app's own process.
    fn foreground(&self, on: bool) -> Result<(), Failure> {
        let outbox = &self.app.outbox;
        if on { outbox.start() } else { outbox.suspend() }
            .map_err(|error| trouble("the app's delivery", error))
    }

    /// Whether a submission is neither settled nor held.
    fn moving(&self) -> Result<bool, Failure> {
        let stats = self
            .app
            .outbox
            .stats()
            .map_err(|error| trouble("the outbox's numbers", error))?;
        Ok(stats.pending + stats.in_flight > 0)
    }

    /// Opens forms and taps on other threads while `meanwhile` goes on here.
    fn while_tapping(
        &self,
        orders: Range<usize>,
        dice: &mut Dice,
        meanwhile: impl FnOnce(&mut Dice) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut fingers = dice.fork();
        thread::scope(|scope| {
            let tapping = scope.spawn(move || {
                self.app.begin(orders.clone())?;
                self.slow_down(orders.clone(), &mut fingers);
                self.app.tap(orders, &mut fingers)
            });
            let result = meanwhile(dice);
            tapping
                .join()
                .unwrap_or_else(|_| Err(trouble("tapping", "it panicked")))
                .and(result)
        })
    }

    /// Tells the server which orders take it a while. Their handlers run on when the client is
    /// dead: who comes back too early is found out.
    fn slow_down(&self, orders: Range<usize>, dice: &mut Dice) {
        let first = dice.between(0, SLOW - 1);
        for (index, entry) in self.app.entries.iter().enumerate() {
            if orders.contains(&index)
                && index as u64 % SLOW == first
                && let Some(id) = entry.id()
            {
                let work = Behaviour::WorkLate(dice.millis(80, 300));
                self.server.script(Matcher::key(id.to_string()), vec![work]);
            }
        }
    }

    fn kill_at_random(&self, crew: &mut Crew<'_>, dice: &mut Dice) -> Result<(), Failure> {
        thread::sleep(dice.millis(10, 350));
        self.screen.line(&crew.kill()?);
        Ok(())
    }
}
